//! Calls of the C interface in random order, legal and illegal, against a model of their results: see
//! `model`. The fuzz target `calls` has the same model, and finds strings that reach more; the strings that
//! it once found are below.

#![cfg(feature = "capi")]
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[allow(unreachable_pub)]
mod model;

use model::{Tally, run};
use proptest::collection::vec;
use proptest::num::u8::ANY;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;

/// Strings of a run; the same in each.
const STRINGS: u32 = 2000;
const LONGEST: usize = 600;

#[test]
fn every_call_answers_as_it_must() {
    // Calls on a GPU are tested by tests/cuda_calls.rs.
    unsafe { std::env::set_var("FZGM_DISABLE_CUDA", "1") };
    let config =
        Config { cases: STRINGS, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let total = RefCell::new(Tally::new());
    let result = runner.run(&vec(ANY, 0..LONGEST), |bytes| {
        for (function, [done, failed]) in run(&bytes) {
            let mut total = total.borrow_mut();
            let [all_done, all_failed] = total.entry(function).or_default();
            (*all_done, *all_failed) = (*all_done + done, *all_failed + failed);
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    let total = total.into_inner();
    for (function, [done, failed]) in &total {
        println!("{function}: {done} succeed, {failed} fail");
        assert!(*done > 50 || GPU.contains(function), "{function} succeeds {done} times");
        assert!(*failed > 5 || function.ends_with("_stage_count"), "{function} fails {failed} times");
    }
    assert!(total.len() > 40, "{} functions are called", total.len());
}

const GPU: &[&str] = &[
    "fz_device_count",
    "fz_device_info",
    "fz_plan_preload",
    "fz_compress_async",
    "fz_decompress_async",
    "fz_compress_view_async",
    "fz_decompress_view_async",
];
