//! Tests of features that only devices have: streams, graphs, results and containers in device memory,
//! pointers, plans. Equal bytes on the CPU and on the device are tested by the modules of the stages, which
//! run every case on both (`common::agreement`, `common::run`).
//!
//! A GPU, or the emulator of `tests/emu` in its place (`scripts/test.sh emu`).
// Its unsafe calls are those of the driver, on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod asynchrony;
mod batches;
mod batches_one_by_one;
mod bit_flips;
mod buffers;
mod container_plans;
mod damage_on_device;
mod fast;
mod functions;
mod gpus;
mod graphs;
mod lorenzo;
mod mutants;
mod overlap;
mod patches;
mod pointers;
mod rel;
mod reuse;
mod room;
mod streams;
mod views;

/// Leaves a test that needs a device, with a message.
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
