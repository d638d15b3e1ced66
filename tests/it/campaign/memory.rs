//! Device memory: a workspace allocates the bytes of its plan, and calls with a workspace allocate none.

use super::{at_full_size, device_alone, note, pipelines};
use crate::common::fixture::{Fixture, options};
use crate::common::gpu::cuda;
use crate::common::samples::Content;
use fzgm::{Array, Encoder, Options};

/// The driver hands memory out in pages; the emulator does it by the byte.
fn page() -> u64 {
    if cuda().is_real() { 2 << 20 } else { 1 }
}

/// The free memory, after the driver has finished its delayed work.
fn free() -> i64 {
    assert_eq!(unsafe { (cuda().cuStreamSynchronize)(0) }, 0);
    cuda().free_bytes() as i64
}

fn as_said(took: i64, said: u64, what: &str) {
    let (least, most) = (said as i64, said.next_multiple_of(page()) as i64);
    // Blocks of less than a page come out of pages that are there already.
    let least = if said < page() { 0 } else { least };
    assert!((least..=most).contains(&took), "{what}: the driver gave {took} bytes, the plan says {said}");
}

#[test]
fn workspaces_allocate_the_bytes_of_plans_and_calls_allocate_none() {
    let Some(_alone) = device_alone("workspaces_take_what_plans_say") else { return };
    let elements = if at_full_size() { (1 << 27) + 333 } else { 5_000 };
    for (name, pipeline, dtype) in pipelines() {
        let array = Array::new(dtype, &[elements]).unwrap();
        for fuse in [true, false] {
            let options = Options { fuse, ..options() };
            let what = format!("{name} {dtype} {}", if fuse { "in chains" } else { "apart" });
            // Loads the device code, which stays.
            let mut warm = Fixture::new(&pipeline, &Array::new(dtype, &[3_000]).unwrap(), &options);
            let small = warm.data(Content::Walk, 1);
            warm.src.put(0, &small);
            warm.both();
            let encoder = Encoder::new(&pipeline, &array, &options).unwrap();
            let decoder = encoder.decoder().unwrap();
            let before = free();
            let encoding = encoder.workspace().unwrap();
            let between = free();
            let decoding = decoder.workspace().unwrap();
            let after = free();
            as_said(before - between, encoder.workspace_bytes(), &what);
            as_said(between - after, decoder.workspace_bytes(), &what);
            note(&format!(
                "{what}, array of {} bytes: compress says {} takes {}, decompress says {} takes {}",
                array.bytes(),
                encoder.workspace_bytes(),
                before - between,
                decoder.workspace_bytes(),
                between - after
            ));
            drop((encoding, decoding));
            // The driver may keep a page for blocks that are smaller.
            let kept = before - free();
            assert!((0..=page() as i64).contains(&kept), "{what}: {kept} bytes did not come back");
        }
    }
}

#[test]
fn asynchronous_calls_allocate_nothing() {
    let Some(_alone) = device_alone("asynchronous_calls_allocate_nothing") else { return };
    let elements = if at_full_size() { (1 << 26) + 5 } else { 5_000 };
    for (name, pipeline, dtype) in pipelines() {
        let mut fixture = Fixture::new(&pipeline, &Array::new(dtype, &[elements]).unwrap(), &options());
        let stream = fixture.stream.raw();
        fixture.encoder.preload(&mut fixture.encoding, stream).unwrap();
        fixture.decoder.preload(&mut fixture.decoding, stream).unwrap();
        let src = fixture.data(Content::Walk, 3);
        fixture.src.put(0, &src);
        // A kernel of this context that spills takes its stack when it first runs: that is no allocation of the call, and
        // the second round shows that it is none.
        for round in 0..2 {
            let before = free();
            let results = fixture.both();
            let took = before - free();
            assert_eq!([results.0.status, results.1.status], [0, 0], "{name} {dtype}");
            assert!(round == 0 || took == 0, "{name} {dtype}: round {round} takes {took} bytes");
            note(&format!("{name} {dtype}: round {round} of both calls takes {took} bytes"));
        }
        fixture.check(&src);
    }
}
