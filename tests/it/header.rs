//! `include/fzgm.h` is what cbindgen makes of `src/capi`. After a change there:
//!
//! ```text
//! FZGM_UPDATE_HEADER=1 cargo test --test it header::
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// In the order of the header.
const SOURCES: [&str; 13] = [
    "status",
    "about",
    "pipeline",
    "text",
    "stages",
    "options",
    "plan",
    "workspace",
    "codec",
    "simple",
    "device",
    "info",
    "file",
];

/// Sections of types: the start of their first line of code.
const TYPES: [(&str, &str); 3] = [
    ("typedef enum {", "Enumerations"),
    ("typedef struct fz_pipeline fz_pipeline;", "Handles"),
    ("typedef struct {", "Structures"),
];

#[test]
fn the_committed_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut made = Vec::new();
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    SOURCES
        .iter()
        .fold(cbindgen::Builder::new(), |b, name| b.with_src(root.join(format!("src/capi/{name}.rs"))))
        .with_config(config)
        .generate()
        .expect("cbindgen reads src/capi")
        .write(&mut made);
    let mut made = short_comments(&String::from_utf8(made).expect("a header is text"));
    for (before, title) in TYPES {
        made = ruled(&made, |line| line.starts_with(before), title);
    }
    for name in SOURCES {
        let source =
            std::fs::read_to_string(root.join(format!("src/capi/{name}.rs"))).expect("a source is text");
        let title = behind(&source, "//! Section of the header: ", '.');
        let first = source.split("extern \"C\" fn ").nth(1).and_then(|rest| rest.split('(').next());
        if let ([title], Some(first)) = (&title[..], first) {
            let declared = [format!(" {first}("), format!("*{first}(")];
            made = ruled(&made, |line| declared.iter().any(|call| line.contains(call)), title);
        }
    }

    compare(&root.join("include/fzgm.h"), &made);
}

/// The macros and constants of the version are those of the package.
#[test]
fn the_header_has_the_version_of_the_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("a header can be read");
    let (c, fortran) = (read("include/fzgm.h"), read("include/fzgm.f90"));
    let parts = [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ];
    for (part, number) in parts {
        assert!(c.contains(&format!("#define FZ_VERSION_{part} {number}\n")), "fzgm.h: {part}");
        let line = format!("parameter :: FZ_VERSION_{part} = {number}\n");
        assert!(fortran.contains(&line), "fzgm.f90: {part}");
    }
}

/// What is committed is what was made, or becomes it.
fn compare(path: &Path, made: &str) {
    let mut committed = std::fs::read_to_string(path).unwrap_or_default();
    // A file that is current keeps its time, so that nothing is compiled again for it.
    if std::env::var_os("FZGM_UPDATE_HEADER").is_some() && committed != made {
        let written = std::fs::create_dir_all(path.parent().expect("a folder"))
            .and_then(|()| std::fs::write(path, made));
        written.unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        committed = made.into();
    }
    let difference = committed.lines().zip(made.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert!(
        committed == made,
        "{} is not what its source says (first difference: {difference:?}); \
         run FZGM_UPDATE_HEADER=1 cargo test --test it header::",
        path.display()
    );
}

/// All files below a folder with this extension, in order.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|x| x == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The header that is generated from a Rust file, as its module documentation says.
fn header_of(source: &str) -> Option<String> {
    let docs = source.lines().map_while(|line| line.strip_prefix("//!")).collect::<String>();
    Some(docs.split_once("` is generated from this file")?.0.split('`').next_back()?.to_owned())
}

/// The text between `before` and `end` in each line that starts with `before`.
fn behind<'a>(text: &'a str, before: &str, end: char) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(before)?.split(end).next()).collect()
}

/// The header that cbindgen makes of these sources, in the namespace `fz`, or `fz::STAGE` for a stage. Rust's assertions on sizes become assertions in C++.
fn device_header(root: &Path, header: &str, sources: &[(PathBuf, String)]) -> String {
    let mut config =
        cbindgen::Config::from_file(root.join("kernels/cbindgen.toml")).expect("kernels/cbindgen.toml");
    let paths: Vec<_> =
        sources.iter().map(|(path, _)| path.strip_prefix(root).expect("a path in the crate")).collect();
    let names = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    config.header =
        Some(format!("// Generated by cbindgen from {names}; change it there (tests/it/header.rs)."));
    let mut namespaces = vec!["fz".to_owned()];
    let folder = header.split('/').nth(1).expect("a folder below kernels");
    namespaces.extend((folder != "common").then(|| folder.to_owned()));
    let scope = namespaces.join("::");
    config.namespaces = Some(namespaces);
    for (_, source) in sources {
        config
            .export
            .include
            .extend(behind(source, "pub(crate) struct ", ' ').into_iter().map(str::to_owned));
        let sizes = behind(source, "const _: () = assert!(size_of::<", ';');
        for (name, bytes) in sizes.iter().filter_map(|size| size.strip_suffix(')')?.split_once(">() == ")) {
            let name = config.export.rename.get(name).map_or(name, String::as_str);
            let line = format!("static_assert(sizeof({scope}::{name}) == {bytes}, \"as in Rust\");\n");
            config.trailer.get_or_insert_default().push_str(&line);
        }
    }
    let sources =
        paths.iter().fold(cbindgen::Builder::new(), |builder, path| builder.with_src(root.join(path)));
    let mut made = Vec::new();
    sources.with_config(config).generate().expect("cbindgen reads the sources").write(&mut made);
    String::from_utf8(made).expect("a header is text")
}

/// The headers below `kernels` are up to date.
#[test]
fn the_committed_parameter_blocks_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut headers: BTreeMap<String, Vec<(PathBuf, String)>> = BTreeMap::new();
    for path in files_below(&root.join("src"), "rs") {
        let source = std::fs::read_to_string(&path).expect("a source is text");
        if let Some(header) = header_of(&source) {
            headers.entry(header).or_default().push((path, source));
        }
    }
    let committed: Vec<_> = files_below(&root.join("kernels"), "h")
        .iter()
        .map(|path| path.strip_prefix(root).expect("a path in the crate").display().to_string())
        .collect();
    assert!(
        committed.iter().all(|path| headers.contains_key(path)),
        "a header in {committed:?} has no source among {:?}",
        headers.keys()
    );
    for (header, sources) in &headers {
        compare(&root.join(header), &device_header(root, header, sources));
    }
}

/// The header with a ruler before the first declaration that matches and its comment.
fn ruled(header: &str, matches: impl Fn(&str) -> bool, title: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let code = |line: &str| !line.trim_start().starts_with(['*', '/']);
    let declaration = lines.iter().position(|line| code(line) && matches(line)).expect("a declaration");
    let start = lines[..declaration].iter().rposition(|line| line.starts_with("/**")).expect("a comment");
    let ruler = format!("/* ---- {title} {:-<1$} */\n", "", 88 - title.len());
    let join = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    join(&lines[..start]) + &ruler + "\n" + &join(&lines[start..])
}

/// A comment of one line takes one line, not the three that cbindgen gives it.
fn short_comments(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < lines.len() {
        match lines[i..] {
            [open, text, close, ..] if open.trim() == "/**" && close.trim() == "*/" => {
                out += &open.replace("/**", &format!("/** {} */", text.trim().trim_start_matches("* ")));
                i += 3;
            }
            _ => {
                out += lines[i];
                i += 1;
            }
        }
        out.push('\n');
    }
    out
}

/// The functions and constants of a C header, comments aside.
fn names(header: &str) -> (Vec<String>, Vec<(String, String)>) {
    let mut code = String::new();
    for part in header.split("*/") {
        code += part.split_once("/*").map_or(part, |(before, _)| before);
    }
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(');
    let functions = words.filter_map(|w| w.split_once('(')).map(|(name, _)| name.to_string());
    let functions = functions.filter(|name| name.starts_with("fz_")).collect();
    let constants = code.lines().filter_map(|l| l.trim().trim_end_matches(',').split_once(" = "));
    // An assignment in a macro is no constant.
    let constants = constants.filter(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    (functions, constants.map(|(name, value)| (name.into(), value.into())).collect())
}

/// `fzgm.hpp` and `fzgm.f90` are written by hand: what is new in the header is missed here.
#[test]
fn cpp_and_fortran_have_everything() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join("include").join(name)).expect("a header");
    let (c, cpp, fortran) = (read("fzgm.h"), read("fzgm.hpp"), read("fzgm.f90"));
    let (functions, constants) = names(&c);
    assert!(functions.len() > 40 && constants.len() > 40, "{functions:?} {constants:?}");
    // An old name is a function of C alone; in C++ it calls what the new name calls.
    let old: Vec<&str> = c
        .split("Deprecated name of")
        .skip(1)
        .filter_map(|rest| rest.split_once("int32_t ")?.1.split_once('(').map(|(name, _)| name))
        .collect();
    for name in functions {
        let wrapped = name.trim_start_matches("fz_").to_string();
        if old.contains(&name.as_str()) {
            assert!(cpp.contains("[[deprecated") && cpp.contains(&format!("> {wrapped}(")), "{name}");
            continue;
        }
        let called = [format!("{name}("), format!("{name}>"), format!("{name})")];
        assert!(called.iter().any(|c| cpp.contains(c)), "fzgm.hpp does not call {name}");
        assert!(fortran.contains(&format!("bind(C, name=\"{name}\")")), "fzgm.f90 does not declare {name}");
    }
    for (name, value) in constants {
        let line = format!("parameter :: {name} = {value}\n");
        assert!(fortran.contains(&line), "fzgm.f90 has no {name} = {value}");
    }
    let abi = c.lines().find_map(|l| l.strip_prefix("#define FZ_ABI_VERSION ")).expect("an ABI");
    assert!(fortran.contains(&format!("FZ_ABI = {abi}\n")), "FZ_ABI of fzgm.f90 is not {abi}");
}
