//! How the plugin is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libh5fzgm.so");
        // HDF5 closes plugins in H5close, while destructors of threads may still be to run.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // A build of the whole workspace gives the library its C functions, and the plugin would export them.
        // zig has no such option; scripts/wheel.sh builds the plugin alone, and checks its exports.
        println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
        if !std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
            println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        }
    }
}
