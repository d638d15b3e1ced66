//! How the shared library is linked.

use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../include/fzgm.h");
    // The number is written in src/capi/status.rs; the header is generated from there, and a test compares the two.
    let header = fs::read_to_string("../include/fzgm.h").unwrap_or_default();
    let abi = header.lines().find_map(|line| line.strip_prefix("#define FZ_ABI_VERSION "));
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfzgm.so.{}", abi.unwrap_or("0").trim());
        // dlclose must not unmap code that destructors of threads, workers and the driver still call.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
