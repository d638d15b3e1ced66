//! Containers that no encoder writes: the CPU returns data or a status, and devices return the same.

use crate::common::agreement::{bare, stage, verdict};
use crate::common::decoders::Decoders;
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::samples::{Content, FLOATS, make};
use fzgm::{Container, DType, Options, Status, info};

fn options(strict: bool) -> Options {
    Options { strict, ..bare(Container::Compact) }
}

/// Bytes before the segments, and the lengths of these.
fn layout(container: &[u8]) -> (usize, Vec<usize>) {
    let info = info(container).unwrap();
    (info.header_bytes as usize, info.segments.iter().map(|s| s.bytes as usize).collect())
}

/// The decoders of a field with exact values.
fn decoders(dtype: DType, dims: &[u64], strict: bool, is_for_device: bool) -> Decoders {
    let sample = make(dtype, dims, Content::Specials, 5);
    let sets = [("mode", "abs"), ("error_bound", "0.25"), ("quant_radius", "64"), ("outlier_capacity", "1")];
    Decoders::new(&stage("ginterp", &sets), &sample, &options(strict), is_for_device)
}

#[test]
fn containers_that_no_encoder_writes_are_corrupt() {
    for (k, dtype) in FLOATS.into_iter().enumerate() {
        let mut case = decoders(dtype, &[20, 18, 35], true, gpu::mine(k));
        let good = case.bytes.clone();
        let (start, segments) = layout(&good);
        let [codes, anchors, values] = [0, 1, 2].map(|k| start + segments[..k].iter().sum::<usize>());
        let indices = values + segments[2];
        assert!(segments[3] > 40, "{} bytes of indices", segments[3]);
        assert_eq!(case.restore_and_open(&good, "as written"), Status::Ok);
        let mut status = |what: &str, edit: &dyn Fn(&mut [u8])| {
            let mut bad = good.clone();
            edit(&mut bad);
            case.restore_and_open(&bad, what)
        };
        let zero = good[codes..anchors].chunks_exact(2).position(|c| c == [0, 0]).unwrap();
        let coded = good[codes..anchors].chunks_exact(2).rposition(|c| c != [0, 0]).unwrap();
        let index = |i: usize| indices + 4 * i;
        assert_eq!(status("another code", &|b| b[codes + 2 * coded] ^= 1), Status::Ok);
        assert_eq!(status("another value", &|b| b[values] ^= 1), Status::Ok);
        for (what, edit) in [
            ("a code for an entry", &(|b: &mut [u8]| b[codes + 2 * zero] = 9) as &dyn Fn(&mut [u8])),
            ("a zero too many", &|b| b[codes + 2 * coded..][..2].fill(0)),
            ("the code of an anchor", &|b| b[codes] ^= 1),
            ("an index beyond the array", &|b| b[index(1)..][..4].fill(255)),
            ("an index twice", &|b| b.copy_within(index(0)..index(1), index(1))),
            ("an index of a coded element", &|b| {
                let i = u32::from_le_bytes(b[index(2)..index(3)].try_into().unwrap());
                b[index(2)..index(3)].copy_from_slice(&(i ^ 1).to_le_bytes());
            }),
            ("two indices exchanged", &|b| (0..4).for_each(|k| b.swap(index(3) + k, index(4) + k))),
        ] {
            // The neighbor of an element may be exact too.
            let allowed =
                [Status::Corrupt, if what.starts_with("an index of") { Status::Ok } else { Status::Corrupt }];
            let got = status(what, edit);
            assert!(allowed.contains(&got), "{dtype} {what}: {got:?}");
        }
        let shape: Vec<u8> = [20u32, 18, 35].iter().flat_map(|d| d.to_le_bytes()).collect();
        let shape = good.windows(12).position(|bytes| bytes == shape).unwrap();
        let mut huge = good.clone();
        huge[shape..shape + 4].fill(0);
        huge[shape + 4..shape + 12].fill(255);
        let judged = verdict(&huge, &options(true), gpu::mine(k), "two huge lengths and none");
        assert_eq!(judged.err(), Some(Status::Corrupt), "{dtype}");
    }
}

/// Its header states nearly 2^54 elements along y and z, the most that it may, and none along x.
#[test]
fn an_empty_array_with_huge_lengths_is_restored_at_once() {
    let (longest, rest) = (u64::from(u32::MAX), 1 << 22);
    for (dims, strict) in [([0, longest, rest], true), ([0, longest, 1], false), ([0, longest, rest], false)]
    {
        let sample = make(DType::F32, &dims, Content::Walk, 1);
        let options = options(strict);
        let made = fzgm::compress(&stage("ginterp", &[]), &sample.array, &options, &sample.bytes).unwrap();
        assert!(fzgm::decompress(&made, &options).unwrap().1.is_empty(), "{dims:?} {strict}");
    }
}

/// Bytes anywhere, most of them in the header and in the lists, where they do most.
#[test]
fn damaged_containers_are_data_or_a_status() {
    let rounds = if std::env::var_os("FZGM_LONG").is_some() { 1200 } else { 60 };
    let mut rng = Rng(88);
    let (mut data, mut refused) = (0, 0);
    for dtype in FLOATS {
        let shapes = [&[20, 18, 35][..], &[40, 70], &[16, 33, 16], &[130, 3], &[500]];
        for (k, dims) in shapes.into_iter().enumerate() {
            for strict in [true, false] {
                if !strict && dims.len() == 1 {
                    continue;
                }
                let is_mine = gpu::mine(k);
                let mut case = decoders(dtype, dims, strict, is_mine);
                let good = case.bytes.clone();
                let (start, segments) = layout(&good);
                let lists = start + segments[0];
                for round in 0..rounds {
                    let mut bad = good.clone();
                    let in_header = rng.below(2) == 0;
                    for _ in 0..1 + rng.below(3) {
                        let at = match rng.below(2) {
                            _ if in_header => rng.below(start),
                            0 => lists + rng.below(good.len() - lists),
                            _ => start + rng.below(good.len() - start),
                        };
                        bad[at] = match rng.below(4) {
                            0 => 0,
                            1 => 255,
                            2 => bad[at] ^ 1 << rng.below(8),
                            _ => rng.word() as u8,
                        };
                    }
                    let what = format!("{dtype} {dims:?} strict {strict} round {round}");
                    // A plan reports another header as a mismatch; a call that opens the container reports
                    // the defect.
                    let status = if in_header {
                        verdict(&bad, &options(strict), is_mine, &what)
                            .map_or_else(|status| status, |_| Status::Ok)
                    } else {
                        case.restore(&bad, &what)
                    };
                    match status {
                        Status::Ok => data += 1,
                        _ => refused += 1,
                    }
                }
            }
        }
    }
    assert!(data > rounds && refused > rounds, "{data} restored, {refused} refused");
}
