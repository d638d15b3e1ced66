//! The compiler for kernels: its place, and its arguments.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Variables that select a compiler or change its output. nvcc itself reads `NVCC_CCBIN`, the host compiler, and [`FLAGS`].
pub(crate) const VARIABLES: &[&str] = &[
    "NVCC",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "NVCC_CCBIN",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "FZGM_CUDA_ARCHS",
    "FZGM_PTX_ARCH",
    "FZGM_CUDA_CACHE",
];

/// Variables with flags that nvcc itself adds to its command line.
pub(crate) const FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// An nvcc that runs.
pub(crate) struct Nvcc {
    /// The program.
    pub(crate) path: PathBuf,
    /// Such as `13.0`.
    version: String,
}

impl Nvcc {
    /// The first that runs, in the order of docs/install.md; else why there is none.
    pub(crate) fn find() -> Result<Nvcc, String> {
        let mut broken = Vec::new();
        for path in candidates().into_iter().filter(|path| path.is_file()) {
            match version(&path) {
                Some(version) => return Ok(Nvcc { path, version }),
                None => broken.push(path.display().to_string()),
            }
        }
        let found = if broken.is_empty() {
            "found no nvcc".into()
        } else {
            format!("{} does not run", broken.join(", "))
        };
        Err(format!(
            "{found}; run scripts/setup-nvcc.sh, or set NVCC or CUDA_HOME (searched: those, CUDA_PATH, CUDA_ROOT, .nvcc, PATH, /usr/local/cuda, /opt/cuda)"
        ))
    }

    /// Flags, except for the names of files.
    ///
    /// Nothing is contracted, since the CPU does not either and bytes must be equal. Machine code for the two
    /// architectures of data centers, which also runs on later chips of the same generation, and PTX for all others. No
    /// -lineinfo: it writes the paths of this machine into the result.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags: Vec<String> = "-std=c++17 -O3 -fmad=false -Ikernels -fatbin --Werror all-warnings"
            .split(' ')
            .map(str::to_owned)
            .collect();
        for arch in archs() {
            flags.extend(["-gencode".into(), format!("arch=compute_{arch},code=sm_{arch}")]);
        }
        flags.extend(["-gencode".into(), format!("arch=compute_{0},code=compute_{0}", ptx_arch())]);
        // An eighth of the size. nvcc 12.8 supports it too, but its results may have to run with drivers that
        // cannot read it.
        if self.version.split('.').next().and_then(|major| major.parse().ok()) >= Some(13) {
            flags.push("--compress-mode=size".into());
        }
        flags
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let machine: String = archs().iter().map(|arch| format!("sm_{arch} ")).collect();
        format!("nvcc {} for {machine}PTX {}", self.version, ptx_arch())
    }
}

/// Architectures with machine code; none if the variable is empty.
fn archs() -> Vec<String> {
    let archs = env::var("FZGM_CUDA_ARCHS").unwrap_or_else(|_| "80,90".into());
    archs.split([',', ';']).filter(|arch| !arch.is_empty()).map(str::to_owned).collect()
}

fn ptx_arch() -> String {
    env::var("FZGM_PTX_ARCH").unwrap_or_else(|_| "80".into())
}

/// Explicit settings first; then the pinned wheels of this project, because results should not depend on
/// other installed software.
fn candidates() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = env::var_os("NVCC").map(PathBuf::from).into_iter().collect();
    for home in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"] {
        paths.extend(env::var_os(home).map(|home| Path::new(&home).join("bin/nvcc")));
    }
    for python in fs::read_dir(".nvcc/lib").into_iter().flatten().flatten() {
        paths.push(python.path().join("site-packages/nvidia/cu13/bin/nvcc"));
    }
    paths.extend(env::var_os("PATH").iter().flat_map(env::split_paths).map(|folder| folder.join("nvcc")));
    paths.extend(["/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"].map(PathBuf::from));
    paths
}

/// From "Cuda compilation tools, release 13.0, V13.0.88".
fn version(nvcc: &Path) -> Option<String> {
    let run = Command::new(nvcc).arg("--version").output().ok().filter(|run| run.status.success())?;
    let text = String::from_utf8_lossy(&run.stdout);
    Some(text.split("release ").nth(1)?.split(',').next()?.to_owned())
}
