//! One fatbin for each file of kernels, and the table of device functions that the library is compiled with.

use std::{
    env,
    fmt::Write,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{self, Command, Output},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::nvcc::{FLAGS, Nvcc};

/// The result of compiling one file of kernels.
pub(crate) struct Fatbin {
    path: PathBuf,
    /// Its device functions.
    functions: Vec<String>,
}

/// Compiles as many files at a time as cargo allows; unchanged files are not compiled again.
pub(crate) fn compile(nvcc: &Nvcc, out: &Path) -> Result<Vec<Fatbin>, String> {
    let sources = files("cu")?;
    let flags = nvcc.flags();
    let mut hasher = DefaultHasher::new();
    (&flags, nvcc.text(), &nvcc.path, FLAGS.map(env::var_os)).hash(&mut hasher);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let jobs = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    std::thread::scope(|scope| {
        for _ in 0..sources.len().min(jobs) {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = compile_one(nvcc, &flags, source, hasher.clone(), out);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((source, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(source, _)| *source);
    let errors: Vec<_> = results.iter().filter_map(|(_, result)| result.as_ref().err().cloned()).collect();
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    results.into_iter().map(|(_, result)| result).collect()
}

/// `hasher` has seen all that goes into a result but the source.
fn compile_one(
    nvcc: &Nvcc,
    flags: &[String],
    source: &Path,
    mut hasher: DefaultHasher,
    out: &Path,
) -> Result<Fatbin, String> {
    for file in included(source)? {
        read(&file)?.hash(&mut hasher);
    }
    let functions = functions(&nvcc.path, source)?;
    // Builds of several profiles can share compiled kernels, which dominate the build time.
    let cache = env::var_os("FZGM_CUDA_CACHE").map_or_else(|| out.join("cache"), PathBuf::from);
    fs::create_dir_all(&cache).map_err(|e| format!("cannot make {}: {e}", cache.display()))?;
    let stem = stem(source);
    let compiled = cache.join(format!("{stem}-{:016x}.fatbin", hasher.finish()));
    if !compiled.exists() {
        // Written completely or not at all, also if two builds compile the same file.
        let part = cache.join(format!("{stem}-{}.part", process::id()));
        run(Command::new(&nvcc.path).args(flags).arg(source).arg("-o").arg(&part))?;
        fs::rename(&part, &compiled).map_err(|e| format!("cannot write {}: {e}", compiled.display()))?;
    }
    let path = out.join(format!("{stem}.fatbin"));
    write(&path, &read(&compiled)?)?;
    Ok(Fatbin { path, functions })
}

/// A file of kernels and all files of the folder that it includes, in the order of the first mention.
fn included(source: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![source.to_path_buf()];
    let mut next = 0;
    while let Some(file) = found.get(next) {
        let text = String::from_utf8_lossy(&read(file)?).into_owned();
        let names = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        for path in names.map(|name| Path::new("kernels").join(name)) {
            // The emulator's own headers are not here.
            if path.is_file() && !found.contains(&path) {
                found.push(path);
            }
        }
        next += 1;
    }
    Ok(found)
}

/// Stands in for fatbins where the emulator has the kernels: the names, and eight bytes that it takes for an image.
pub(crate) fn named(out: &Path) -> Result<Vec<Fatbin>, String> {
    let compiler = env::var_os("CXX").map_or_else(|| "c++".into(), PathBuf::from);
    let path = out.join("emulated.fatbin");
    write(&path, &0xBA55_ED50_u64.to_le_bytes())?;
    files("cu")?
        .iter()
        .map(|source| Ok(Fatbin { path: path.clone(), functions: functions(&compiler, source)? }))
        .collect()
}

/// The device functions of a file, read behind the preprocessor, since macros may make them:
/// `extern "C" __global__ void [__launch_bounds__(…)] name(…)`.
fn functions(compiler: &Path, source: &Path) -> Result<Vec<String>, String> {
    let text =
        run(Command::new(compiler).args(["-E", "-x", "c++", "-std=c++17", "-Ikernels"]).arg(source))?.stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let declared = text.split(r#"extern "C" __global__ void"#).skip(1);
    let names: Vec<String> = declared.filter_map(|rest| name(rest.trim_start())).collect();
    match names.is_empty() {
        true => Err(format!(
            "{} has no device function: extern \"C\" __global__ void name(FZ_ARGS)",
            source.display()
        )),
        false => Ok(names),
    }
}

/// The identifier before the parameters, or behind the bounds.
fn name(declaration: &str) -> Option<String> {
    let (name, rest) = declaration.split_once('(')?;
    if name.trim() != "__launch_bounds__" {
        return Some(name.trim().to_owned());
    }
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some(rest[end + 1..].split_once('(')?.0.trim().to_owned())
}

/// `$OUT_DIR/fatbins.rs`: the images, and the functions by name, each with the index of its image.
pub(crate) fn table(fatbins: &[Fatbin]) -> Result<String, String> {
    let mut text = String::from("const IMAGES: &[&Image] = &[\n");
    let mut functions: Vec<(&str, usize)> = Vec::new();
    for (i, fatbin) in fatbins.iter().enumerate() {
        // include_bytes! promises no alignment; the driver wants that of a long.
        let _ = writeln!(text, "    &Aligned(*include_bytes!({:?})),", fatbin.path);
        functions.extend(fatbin.functions.iter().map(|name| (name.as_str(), i)));
    }
    functions.sort_unstable();
    if let Some(pair) = functions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("two device functions are called {}; give one another name", pair[0].0));
    }
    let _ = writeln!(text, "];\nconst FUNCTIONS: &[(&str, usize)] = &{functions:?};");
    Ok(text)
}

/// Folder of the kernels, from the root of the crate.
const KERNELS: &str = "kernels";

/// The name of a source below `kernels` as one file name: `kernels/fast/encode.cu` is `fast-encode`.
fn stem(source: &Path) -> String {
    let path = source.strip_prefix(KERNELS).unwrap_or(source).with_extension("");
    path.to_string_lossy().replace(['/', '\\'], "-")
}

/// Files below `kernels` with this extension, in order.
fn files(extension: &str) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::from(KERNELS)]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|x| x == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn run(command: &mut Command) -> Result<Output, String> {
    let result = command.output().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if result.status.success() {
        return Ok(result);
    }
    // The other stream may be the preprocessed source.
    let said = String::from_utf8_lossy(&result.stderr);
    Err(format!(
        "{command:?} failed:\n{}\nThe kernels have to compile. FZGM_CUDA=off builds without them; with it, \
         FZGM_UPDATE_HEADER=1 cargo test --test it header:: writes a params.h that is missing.",
        said.trim()
    ))
}
