//! Bytes that change in device memory between calls.
//!
//! The contract, as in docs/cuda.md:
//!   - Containers are untrusted. After a change, a decompression ends with a status, which may be OK with wrong values, and accesses
//!     only the container, the workspace, `dst`, and the result.
//!   - Two parts of a workspace are trusted like the library's heap on the host: the plan tables, and the zeros that a compression expects
//!     from the call before it. After a change there, the results of calls with this workspace are undefined. The test leaves them alone.
//!   - All other bytes of a workspace may change: each call writes them before it reads them, and the results must be exact.
//!   - Other workspaces are not affected.

use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu::{cuda, mine};
use crate::common::rng::Rng;
use crate::common::samples::CONTENTS;
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, DeviceSlice, Options, PRESETS, Status, Stream};
use std::io::Write;

fn rounds() -> usize {
    let set = std::env::var("FZGM_FLIPS").ok().and_then(|n| n.parse().ok());
    set.unwrap_or(4)
}

/// Overwrites random bytes of the ranges in stream order: some, or in every fourth round all.
fn change(
    slices: &[DeviceSlice],
    round: usize,
    rng: &mut Rng,
    stream: &crate::common::gpu::TestStream,
) -> usize {
    let fill = |slice: &DeviceSlice, at: usize, bytes: usize, rng: &mut Rng| {
        let code = unsafe {
            (cuda().cuMemsetD8Async)(slice.address as usize + at, rng.word() as u8, bytes, stream.0)
        };
        assert_eq!(code, 0);
    };
    let mut changed = 0;
    for slice in slices {
        let all = slice.bytes as usize;
        if round % 4 == 3 {
            fill(slice, 0, all, rng);
            changed += 1;
            continue;
        }
        for _ in 0..1 + rng.below(24) {
            let bytes = 1 + rng.below(8.min(all));
            // Counters and lengths are at the start.
            let room = [all, all.min(4096)][rng.below(2)];
            fill(slice, rng.below(room - bytes + 1), bytes, rng);
            changed += 1;
        }
    }
    changed
}

#[test]
fn bits_that_flip_between_calls_do_no_harm() {
    need_gpu!();
    let kinds = PRESETS.iter().flat_map(|preset| {
        let types = if preset.lossless { [DType::U16, DType::U64] } else { [DType::F32, DType::F64] };
        types.map(|dtype| (preset.name, dtype))
    });
    let shapes =
        [(&[6_001][..], Container::Fzm), (&[30, 31, 7], Container::Compact), (&[67, 61], Container::Fzm)];
    let (mut changed, mut calls, mut statuses) = (0, 0, [0; 100]);
    for (k, (name, dtype)) in kinds.enumerate().filter(|(k, _)| mine(k + k / 2)) {
        let (dims, container) = shapes[k % shapes.len()];
        let array = Array::new(dtype, dims).unwrap();
        let options = Options { container, ..options() };
        let mut fixture = Fixture::new(&lossy(name, dtype), &array, &options);
        let mut rng = Rng(k as u64);
        for round in 0..rounds() {
            let src = fixture.data(CONTENTS[rng.below(CONTENTS.len())], rng.word());
            fixture.src.put(0, &src);
            let own = [
                fixture.encoder.device_scratch(&fixture.encoding),
                fixture.decoder.device_scratch(&fixture.decoding),
            ];
            // The encoder of a single chain has an empty arena.
            assert!(!own[1].is_empty(), "{name} {dtype}: no memory to change");
            let stream = fixture.stream.raw();
            changed += change(&own[0], round, &mut rng, &fixture.stream);
            fixture.compress(stream);
            changed += change(&own[1], round, &mut rng, &fixture.stream);
            fixture.decompress(stream);
            fixture.stream.wait();
            fixture.check(&src);

            // The container changes between two calls on the stream.
            let sound = fixture.container.first(fixture.results[0].result().bytes as usize);
            let there = [fixture.container.slice(0, sound.len())];
            changed += change(&there, rng.below(3), &mut rng, &fixture.stream);
            decompressed(&mut fixture, stream, &mut statuses);
            fixture.container.put(0, &sound);
            changed += change(&own[1], round, &mut rng, &fixture.stream);
            fixture.decompress(stream);
            fixture.stream.wait();
            fixture.check(&src);

            blocking(&mut fixture, &src, &own, round, &mut rng);
            calls += 6;
        }
        // A new workspace is not affected.
        (fixture.encoding, fixture.decoding) =
            (fixture.encoder.workspace().unwrap(), fixture.decoder.workspace().unwrap());
        let src = fixture.data(CONTENTS[k % CONTENTS.len()], 1);
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
    let said: Vec<_> = Status::ALL.iter().map(|s| (s, statuses[*s as usize])).filter(|s| s.1 > 0).collect();
    let text = format!("NOTE {changed} changes between {calls} calls; of changed containers {said:?}\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Decompresses a changed container: the result must be consistent.
fn decompressed(fixture: &mut Fixture, stream: Stream, statuses: &mut [usize; 100]) {
    fixture.decompress(stream);
    fixture.stream.wait();
    let said = fixture.results[1].result();
    assert!(Status::ALL.iter().any(|s| *s as i32 == said.status), "{said:?}");
    assert_eq!(said.bytes, if said.status == 0 { fixture.restored.bytes as u64 } else { 0 });
    statuses[said.status as usize] += 1;
}

/// The same between blocking calls, whose containers have checksums.
fn blocking(fixture: &mut Fixture, src: &[u8], own: &[Vec<DeviceSlice>; 2], round: usize, rng: &mut Rng) {
    let on_cpu = Options { device: fzgm::Device::Cpu, ..fixture.encoder.options().clone() };
    let want = fzgm::compress(fixture.encoder.pipeline(), &fixture.array, &on_cpu, src).unwrap();
    let (from, to) = (fixture.src.slice(0, src.len()), fixture.container.slice(0, fixture.container.bytes));
    change(&own[0], round, rng, &fixture.stream);
    fixture.stream.wait();
    let n = unsafe { fixture.encoder.compress_at(&mut fixture.encoding, from, to) }.unwrap();
    assert!(fixture.container.first(n) == want, "a blocking call writes another container");
    change(&own[1], round, rng, &fixture.stream);
    fixture.stream.wait();
    let (from, to) = (fixture.container.slice(0, n), fixture.restored.slice(0, fixture.restored.bytes));
    unsafe { fixture.decoder.decompress_at(&mut fixture.decoding, from, to) }.unwrap();
    assert!(
        fixture.restored.get() == fzgm::decompress(&want, &on_cpu).unwrap().1,
        "a blocking call restores another array"
    );
}
