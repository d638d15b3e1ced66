//! Every test that does not need a process of its own. `cargo test --test it bound::` runs those of a module.
//!
//! With a process of their own: `counted` (an allocator that counts), `threads` (a limit of the process), `calls` and `abi` (handles and
//! environment variables), `border` (for Miri), `cuda_calls` and `cuda_faults` (the emulator counts and injects for all threads).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(unreachable_pub)]
#[path = "../common/mod.rs"]
mod common;

mod batch;
mod bins;
mod bound;
mod campaign;
mod centering;
mod choose;
mod coders;
mod configs;
mod container_headers;
mod containers;
mod contract;
mod cuda;
mod device_memory;
mod difference;
mod dimensions;
mod docs;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod environment;
mod exact;
mod exhaustive;
mod fast;
mod fields;
mod fills;
mod ginterp;
mod golden;
mod header;
mod header_bounds;
mod lorenzo;
mod multilevel;
mod notation;
mod oracle;
mod parameters;
mod pipelines;
mod plans;
mod presets;
mod previous_base;
mod recompression;
mod reference_reader;
mod regressions;
mod rel;
mod releases;
mod series;
mod strided;
mod vectors;
