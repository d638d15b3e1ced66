//! Gives the shared library its SONAME, which cargo has no setting for.

use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    images();
    println!("cargo:rustc-env=FZGM_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo:rerun-if-changed=include/fzgm.h");
    // The number is written in src/capi/status.rs; the header is generated from there, and a test compares the two.
    let header = fs::read_to_string("include/fzgm.h").unwrap_or_default();
    let abi = header.lines().find_map(|line| line.strip_prefix("#define FZ_ABI_VERSION "));
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfzgm.so.{}", abi.unwrap_or("0").trim());
    }
}

fn images() {
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-env-changed=FZGM_CUDA");
    let out = std::path::PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut text = String::from(
        "pub(crate) const BUILD: &str = \"emulated\";\n#[repr(C, align(64))] struct Fake([u8; 8]);\nstatic FAKE: Fake = Fake([0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0]);\npub(super) static IMAGES: &[Image] = &[",
    );
    for e in fs::read_dir("kernels").into_iter().flatten().flatten() {
        let s = fs::read_to_string(e.path()).unwrap_or_default();
        if e.path().extension().is_none_or(|x| x != "cu") {
            continue;
        }
        let mut names = vec![];
        for line in s.lines() {
            if let Some(rest) = line.split("__global__").nth(1) {
                if let Some(open) = rest.find("(FZ_ARGS)") {
                    names.push(rest[..open].split_whitespace().last().unwrap_or("").to_string());
                }
            }
        }
        text += &format!("Image {{ bytes: &FAKE.0, functions: &{names:?} }},\n");
    }
    text += "];\n";
    let _ = fs::write(out.join("images.rs"), text);
}
