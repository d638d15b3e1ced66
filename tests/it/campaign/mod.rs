//! Guarantees of a GPU at full size: one hash in a hundred repeats, a graph replayed fifty times, arrays
//! beyond 4 and 16 GiB, four streams at once, device memory to the byte. `FZGM_LONG` on a real device selects
//! the full sizes; on the emulator and without it, smaller arrays run through the same code.
//!
//! Device memory is counted for the whole process, and the arrays of two tests would not fit side by side:
//! one at a time.
// Its unsafe calls are those of the driver, on memory that lives until the test has waited.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

mod large;
mod limits;
mod memory;
mod repeats;
mod streams;

use crate::common::fixture::lossy;
use fzgm::{DType, Pipeline};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The right to use the device; without a device nothing, and a message.
fn device_alone(test: &str) -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if crate::common::gpu::device().is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: FZGM_REQUIRE_GPU is not set");
        return None;
    }
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    crate::common::gpu::cuda();
    Some(guard)
}

/// True if arrays have the sizes of the guarantees.
fn at_full_size() -> bool {
    std::env::var_os("FZGM_LONG").is_some() && crate::common::gpu::cuda().is_real()
}

/// The pipelines of the campaign, with room for all outliers.
fn pipelines() -> Vec<(&'static str, Pipeline, DType)> {
    let rel = |dtype| {
        let mut p = lossy("pfpl", dtype);
        p.set_everywhere("mode", |args| args.set_text("mode", "rel")).unwrap();
        p
    };
    let mut all = vec![];
    for dtype in [DType::F32, DType::F64] {
        all.push(("pfpl", lossy("pfpl", dtype), dtype));
        all.push(("fz", lossy("fz", dtype), dtype));
        all.push(("rel", rel(dtype), dtype));
    }
    for name in ["cusz", "cusz_ans", "lc_speed", "lc_ratio", "lc_tp", "lc_cr"] {
        all.push((name, lossy(name, DType::F32), DType::F32));
    }
    all.extend([DType::U16, DType::U32].map(|dtype| ("bits", lossy("bits", dtype), dtype)));
    all
}

/// Writes results of a real device to its log.
fn note(text: &str) {
    // In one piece: other tests write too.
    let _ = std::io::stderr().write_all(format!("NOTE {text}\n").as_bytes());
}
