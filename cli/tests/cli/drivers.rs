//! Unusable drivers: a stub, an old driver, a driver without devices, a driver with unknown error codes, and a file that is not a
//! library. Each gives a message and an exit code, and runs on the CPU still succeed.

use crate::fixture::{Fixture, PROGRAM, Run};
use std::process::Command;

/// The functions of the driver that the library looks up.
fn functions() -> impl Iterator<Item = &'static str> {
    let table = include_str!("../../../src/gpu/driver/table.rs");
    table.lines().filter_map(|l| l.trim().strip_suffix(';').filter(|name| name.starts_with("cu")))
}

/// Builds a libcuda.so.1 whose `cuInit` returns `code` and whose `cuDeviceGetCount` reports `devices`, without the function `missing`.
fn driver(fixture: &Fixture, code: i32, devices: i32, missing: &str) {
    let defined = ["cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuGetErrorName", "cuGetErrorString"];
    let mut source = format!(
        "int cuInit(unsigned f) {{ (void)f; return {code}; }}\n\
         int cuDriverGetVersion(int *v) {{ *v = 12000; return 0; }}\n\
         int cuDeviceGetCount(int *n) {{ *n = {devices}; return 0; }}\n\
         int cuGetErrorName(int e, const char **s) {{ *s = e == 34 ? \"CUDA_ERROR_STUB_LIBRARY\" : 0; return e != 34; }}\n\
         int cuGetErrorString(int e, const char **s) {{ *s = 0; return e != 34; }}\n"
    );
    for name in functions().filter(|name| !defined.contains(name) && *name != missing) {
        source += &format!("int {name}(void) {{ return 999; }}\n");
    }
    fixture.write("libcuda.c", source.as_bytes());
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "libcuda.so.1", "libcuda.c"])
        .current_dir(&fixture.0)
        .status();
    assert!(cc.unwrap().success());
}

fn run(fixture: &Fixture, line: &str) -> Run {
    let mut command = Command::new(PROGRAM);
    command.args(line.split(' ')).current_dir(&fixture.0).env("LD_LIBRARY_PATH", fixture.0.path());
    Run::new(line, command.output().unwrap())
}

/// Fails unless the reason for the missing GPU contains all of `says`, and runs on the CPU succeed.
fn check_unusable(fixture: &Fixture, says: &[&str]) {
    let devices = run(fixture, "devices --json").json();
    assert_eq!(devices["devices"].as_array().unwrap().len(), 0);
    let why = devices["why_none"].as_str().unwrap();
    assert!(why.contains("no usable GPU"), "{why}");
    // A library without kernels does not open the driver.
    let has_code = !why.contains("contains no GPU kernels");
    for text in says.iter().filter(|_| has_code) {
        assert!(why.contains(text), "no `{text}` in {why}");
    }
    let failed = run(fixture, "compress egm96.f32 -o x.fzm --dtype f32 --eb 1e-3 --device cuda");
    assert_eq!(failed.code, Some(5), "{}", failed.err);
    assert!(failed.err.starts_with("fzgm: ") && failed.err.contains(why), "{} without {why}", failed.err);
    assert!(!fixture.path("x.fzm").exists());
    run(fixture, "compress egm96.f32 -o a.fzm --dtype f32 --eb 1e-3 --force").ok();
    run(fixture, "decompress a.fzm -o a.f32 --force").ok();
}

#[test]
fn unusable_drivers_are_reported() {
    let fixture = Fixture::new();
    assert!(functions().count() > 30);
    for (code, devices, missing, says) in [
        (34, 1, "", &["cuInit", "34", "CUDA_ERROR_STUB_LIBRARY"][..]),
        (100, 0, "", &["cuInit", "100"]),
        (987_654, 1, "", &["cuInit", "987654: the driver has no name for it"]),
        (-1, 1, "", &["cuInit", "-1"]),
        (0, 0, "", &["found no device"]),
        (0, -7, "", &["found no device"]),
        (0, 1, "cuLibraryLoadData", &["no function cuLibraryLoadData", "12.0"]),
        (0, 1, "cuLaunchKernelEx", &["no function cuLaunchKernelEx", "12.0"]),
    ] {
        driver(&fixture, code, devices, missing);
        check_unusable(&fixture, says);
    }
    fixture.write("libcuda.so.1", b"not a library");
    check_unusable(&fixture, &["libcuda.so.1", "install an NVIDIA driver"]);
}

/// The driver starts, but all its other calls fail. Each command that requires a GPU reports the number of the error.
#[test]
fn drivers_that_fail_after_the_start_are_errors() {
    let fixture = Fixture::new();
    driver(&fixture, 0, 1, "");
    let listed = run(&fixture, "devices").ok();
    let failed = run(&fixture, "compress egm96.f32 -o x.fzm --dtype f32 --eb 1e-3 --device cuda");
    assert_eq!(failed.code, Some(5), "{}", failed.err);
    for said in [listed, failed.err] {
        let fails = said.contains("CUDA error 999: the driver has no name for it");
        assert!(fails || said.contains("contains no GPU kernels"), "{said}");
    }
    assert!(!fixture.path("x.fzm").exists());
    run(&fixture, "compress egm96.f32 -o a.fzm --dtype f32 --eb 1e-3").ok();
}
