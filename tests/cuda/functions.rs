//! Device functions as the library has them.

use fzgm::device_functions;
use std::fs;

/// `extern "C" __global__ void name(FZ_ARGS)` in the files of kernels, as far as no macro makes them.
fn written() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|x| x != "cu") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let declared = text.split("(FZ_ARGS)").filter(|before| before.contains("__global__"));
        names.extend(declared.filter_map(|before| before.split_whitespace().last()).map(str::to_owned));
    }
    names.retain(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
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
    if fs::metadata(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).is_ok() {
        for name in written() {
            assert!(functions.contains(&name.as_str()), "{name} is not in the library");
        }
    }
    assert!(functions.is_sorted() && functions.windows(2).all(|w| w[0] != w[1]), "{functions:?}");
}
