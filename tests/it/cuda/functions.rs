//! Device functions as the library has them.

use fzgm::device_functions;
use std::fs;
use std::path::PathBuf;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");

/// Names in `extern "C" __global__ void name(FZ_ARGS)` in all `.cu` files. Functions that macros declare are left out.
fn written() -> Vec<String> {
    let (mut names, mut folders) = (Vec::new(), vec![PathBuf::from(KERNELS)]);
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|x| x != "cu") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let declared = text.split("(FZ_ARGS)").filter(|before| before.contains("__global__"));
        names.extend(declared.filter_map(|before| before.split_whitespace().last()).map(str::to_owned));
    }
    // Parameters of macros have capitals, or are joined to other words.
    names.retain(|name| name.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_'));
    names
}

#[test]
fn every_device_function_is_in_the_library() {
    let functions = device_functions();
    if functions.is_empty() {
        assert!(crate::common::gpu::device().is_none(), "this build has no device functions");
        return;
    }
    // A bundle of tests runs where the sources are not.
    if fs::metadata(KERNELS).is_ok() {
        for name in written() {
            assert!(functions.contains(&name.as_str()), "{name} is not in the library");
        }
    }
    assert!(functions.is_sorted() && functions.windows(2).all(|w| w[0] != w[1]), "{functions:?}");
}
