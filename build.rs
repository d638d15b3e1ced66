//! Compiles the kernels for NVIDIA GPUs where the feature `cuda` is on.

use std::{
    env,
    path::{Path, PathBuf},
    process,
};

#[path = "kernels/build/fatbins.rs"]
mod fatbins;
#[path = "kernels/build/nvcc.rs"]
mod nvcc;

use fatbins::Fatbin;
use nvcc::Nvcc;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=FZGM_TARGET={}", env::var("TARGET").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let built = kernels(&out).and_then(|(backends, fatbins)| {
        println!("cargo:rustc-env=FZGM_BACKENDS={backends}");
        fatbins::write(&out.join("fatbins.rs"), fatbins::table(&fatbins)?.as_bytes())
    });
    if let Err(why) = built {
        eprintln!("{why}");
        process::exit(1);
    }
}

/// The backends that this build has, for people, and the compiled kernels, as far as they are wanted and can be had.
///
/// A compiler that is missing makes a library for the CPU; a kernel that does not compile is an error, or a mistake in
/// it would pass for a machine without nvcc.
fn kernels(out: &Path) -> Result<(String, Vec<Fatbin>), String> {
    println!("cargo:rerun-if-changed=kernels");
    // Not PATH, which changes for many reasons: each would compile everything again.
    for name in ["FZGM_CUDA", "CXX"].iter().chain(nvcc::VARIABLES) {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(("CPU".into(), Vec::new()));
    }
    let cpu = |why: &str| Ok((format!("CPU ({why})"), Vec::new()));
    match env::var("FZGM_CUDA").as_deref().unwrap_or("auto") {
        "off" => cpu("built with FZGM_CUDA=off"),
        // For tests on the emulator of tests/emu, which has the kernels in it: names alone.
        "emulated" => Ok(("CPU, CUDA kernels of the emulator".into(), fatbins::named(out)?)),
        wish @ ("auto" | "require") => match Nvcc::find() {
            Ok(nvcc) => Ok((format!("CPU, CUDA kernels by {}", nvcc.text()), fatbins::compile(&nvcc, out)?)),
            Err(why) if wish == "require" => Err(format!("FZGM_CUDA=require: {why}")),
            Err(why) => {
                println!("cargo:warning=fzgm is built for the CPU only: {why}");
                cpu("built without nvcc")
            }
        },
        other => Err(format!("FZGM_CUDA is {other:?}; give auto, off or require")),
    }
}
