//! Any bytes as calls of the C interface, against the model of `tests/calls`.
#![no_main]

#[path = "../../tests/calls/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;
use std::sync::Once;

fuzz_target!(|data: &[u8]| {
    static START: Once = Once::new();
    // Calls on a GPU are not tested here.
    // SAFETY: no other thread reads the environment yet.
    START.call_once(|| unsafe { std::env::set_var("FZGM_DISABLE_CUDA", "1") });
    model::run(data);
});
