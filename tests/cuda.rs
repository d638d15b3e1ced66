//! The CUDA backend. What needs a device runs on a GPU, or on the emulator of `tests/emu` (`scripts/test.sh emu`).
#![cfg(feature = "cuda")]

use std::fs;

use fzgm::fatbins;

/// `extern "C" __global__ void name(FZ_ARGS)` in the files of kernels, as far as no macro makes them.
fn written() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir("kernels").unwrap() {
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
fn every_device_function_is_in_the_table() {
    if fatbins::images() == 0 && std::env::var_os("FZGM_REQUIRE_GPU").is_none() {
        println!("SKIPPED: this build has no kernels: {}", fatbins::BACKENDS);
        return;
    }
    for name in written() {
        let image = fatbins::image_of(&name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert!(fatbins::image(image).is_some_and(|bytes| bytes.as_ptr().addr() % 8 == 0), "image of {name}");
    }
}

#[test]
fn the_table_is_sorted_and_points_at_images() {
    let functions: Vec<_> = fatbins::functions().collect();
    assert!(functions.is_sorted(), "{functions:?}");
    for name in &functions {
        let image = fatbins::image_of(name).and_then(fatbins::image).unwrap();
        // The magic number of a fatbin.
        assert_eq!(image[..4], 0xBA55_ED50_u32.to_le_bytes(), "{name}");
    }
    assert_eq!(fatbins::image_of("none_of_this_name"), None);
}
