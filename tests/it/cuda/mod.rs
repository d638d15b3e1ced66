//! The GPU backend where it differs from the CPU's: streams, graphs, results on the device, pointers. That both write the
//! same bytes is for the contract tests to show: with FZGM_REQUIRE_GPU=1 they run everything on the device too.
//!
//! A GPU, or the emulator of `tests/emu` in its place (`scripts/test.sh emu`).
// Its unsafe calls are those of the driver, on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod asynchrony;
mod bands;
mod bins;
mod bounds;
mod bricks;
mod counts;
mod fast;
mod fast_decoding;
mod fast_fills;
mod fast_near;
mod flips;
mod functions;
mod graphs;
mod halfway;
mod hostile;
mod lorenzo;
mod mutants;
mod opened;
mod pointers;
mod rel;
mod reuse;
mod steps;
mod streams;

/// Leaves a test that needs a device, and says so.
macro_rules! need_gpu {
    () => {
        if crate::common::gpu::device().is_none() {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: {}: FZGM_REQUIRE_GPU is not set", module_path!());
            return;
        }
        crate::common::gpu::cuda();
    };
}
pub(crate) use need_gpu;
