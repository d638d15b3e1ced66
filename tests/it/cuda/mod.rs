//! The GPU backend where it differs from the CPU's: streams, graphs, results on the device, pointers. That both write the
//! same bytes is for the contract tests to show: with FZGM_REQUIRE_GPU=1 they run everything on the device too.
//!
//! A GPU, or the emulator of `tests/emu` in its place (`scripts/test.sh emu`).
// Its unsafe calls are those of the driver, on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod asynchrony;
mod bin_edges;
mod bit_flips;
mod bounds;
mod container_plans;
mod damage_on_device;
mod fast;
mod fast_decoding;
mod fast_half2;
mod fast_masked;
mod functions;
mod fused_decoder;
mod fused_histogram;
mod graphs;
mod lorenzo;
mod lorenzo_3d;
mod mutants;
mod pointers;
mod rel;
mod reuse;
mod step_choice;
mod streams;
mod ties;

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
