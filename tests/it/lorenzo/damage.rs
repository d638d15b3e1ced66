//! Containers of preset fz that no encoder of ours writes, for fields that a device decodes in one launch:
//! entries in any order, damaged streams, invalid bounds.

use super::*;
use crate::common::agreement::bare;
use crate::common::decoders::Decoders;
use crate::common::gpu::mine;
use crate::common::rare::{Rare, field};
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use fzgm::{Status, info};

const DIMS: [[u64; 3]; 3] = [[16, 512, 9], [512, 16, 2], [128, 64, 17]];

/// Where segments of a container begin: the payload of RZE, the entries' values and their indices.
fn places(container: &[u8]) -> [usize; 3] {
    let segments = info(container).unwrap().segments;
    let start = |k: usize| container.len() - segments[k..].iter().map(|s| s.bytes as usize).sum::<usize>();
    let stream = segments.iter().position(|s| s.stage == 2).unwrap();
    // Without lists, the lists are not read.
    let at = |port: &str| segments.iter().position(|s| s.port == port).unwrap_or(0);
    [stream, at("outlier_errors"), at("outlier_indices")].map(start)
}

fn with_lists(zigzag: &str) -> Pipeline {
    let sets = [("mode", "abs"), ("error_bound", "0.5"), ("zigzag_codes", zigzag), ("outlier_capacity", "1")];
    stage("fz", &sets)
}

#[test]
fn entries_in_any_order_and_of_one_index() {
    let mut rng = Rng(0xe9b5_dba5);
    // The last one has more tiles than `FEW_GROUPS`, and its outliers are marked.
    for dims in DIMS.into_iter().chain([[16, 1, 4608]]) {
        for (k, container) in both_containers().into_iter().enumerate() {
            let sample = field(DType::F32, &dims, (1.0, 32768.0), Rare::Edges, 7);
            let is_mine = mine(k + dims[0] as usize / 16);
            let mut case = Decoders::new(&with_lists("true"), &sample, &bare(container), is_mine);
            let [_, errors, indices] = places(&case.bytes);
            let entries = (indices - errors) / 4;
            assert!(entries > 50, "{dims:?}: {entries} entries");
            let whole = case.bytes.clone();
            assert_eq!(case.restore_and_open(&whole, "as written"), Status::Ok);
            for round in 0..4 {
                let mut b = whole.clone();
                for _ in 0..[1, entries][round % 2] {
                    let (i, j) = (rng.below(entries), rng.below(entries));
                    for k in 0..4 {
                        b.swap(errors + i * 4 + k, errors + j * 4 + k);
                        b.swap(indices + i * 4 + k, indices + j * 4 + k);
                    }
                    if round >= 2 {
                        b.copy_within(indices + i * 4..indices + i * 4 + 4, indices + j * 4);
                    }
                }
                assert_eq!(case.restore_and_open(&b, &format!("{dims:?} round {round}")), Status::Ok);
                // And in order again, in the same workspace.
                assert_eq!(case.restore_and_open(&whole, "as written"), Status::Ok);
            }
            let mut b = whole.clone();
            let n = dims.iter().product::<u64>() as u32;
            b[indices..indices + 4].copy_from_slice(&n.to_le_bytes());
            assert_eq!(case.restore_and_open(&b, "an index behind the array"), Status::Corrupt);
        }
    }
}

fn truncated(case: &mut Decoders, payloads: usize) {
    let whole = case.bytes.clone();
    assert_eq!(case.restore_and_open(&whole, "as written"), Status::Ok);
    for short in [1, 4, 100, whole.len() / 2, whole.len() - payloads] {
        assert_eq!(case.restore_and_open(&whole[..whole.len() - short], "truncated"), Status::Corrupt);
    }
}

#[test]
fn damaged_streams() {
    let mut rng = Rng(0x3956_c25b);
    let mut seen = [0; 2];
    for (dims, which) in DIMS.into_iter().zip([Rare::No, Rare::Edges, Rare::No]) {
        let mut sample = field(DType::F32, &dims, (1.0, 32768.0), which, 8);
        // Two tiles that RZE stores raw, and one of zeros.
        for (i, value) in sample.bytes.chunks_exact_mut(4).enumerate() {
            match i / 8192 {
                1 | 2 => value.copy_from_slice(&(rng.below(4096) as f32).to_le_bytes()),
                3 => value.fill(0),
                _ => {}
            }
        }
        let container = if dims[0] == 512 { Container::Compact } else { Container::Fzm };
        let mut case = Decoders::new(&with_lists("false"), &sample, &bare(container), true);
        let whole = case.bytes.clone();
        let stream = places(&whole)[0];
        let number = |at: usize| u32::from_le_bytes(whole[stream + at..stream + at + 4].try_into().unwrap());
        let tiles = number(4) as usize;
        let entry = |c: usize| number(8 + 4 * c);
        assert!((0..tiles).any(|c| entry(c) >> 31 == 1), "{dims:?}: no tile is left as it is");
        let payloads = stream + 8 + 4 * tiles;
        let behind: usize = (0..tiles).map(|c| (entry(c) & 0x7fff_ffff) as usize).sum();
        for round in 0..36 {
            let mut b = whole.clone();
            let c = rng.below(tiles);
            let at = stream + 8 + 4 * c;
            let mut put = |at: usize, x: u32| b[at..at + 4].copy_from_slice(&x.to_le_bytes());
            let what = match round % 9 {
                0 => {
                    put(at, entry(c) ^ 1 << 31);
                    "raw or not"
                }
                1 => {
                    put(at, entry((c + 1) % tiles));
                    "the entry of the next tile"
                }
                2 => {
                    let next = (c + 1) % tiles;
                    put(at, entry(next));
                    put(stream + 8 + 4 * next, entry(c));
                    "two entries changed places"
                }
                3 => {
                    put(at, rng.word() as u32);
                    "any entry"
                }
                4 => {
                    put(at, entry(c).wrapping_add(1 << 15));
                    "an entry with a bit that the index has no room for"
                }
                5 => {
                    put(stream + 4 * rng.below(2), *rng.pick(&[0, 1, 16384, u32::MAX]));
                    "what stands before the table"
                }
                6 => {
                    let last = payloads + behind - 1;
                    b[last] ^= 0x80;
                    "the last tag"
                }
                _ => {
                    let at = payloads + rng.below(behind);
                    b[at] ^= 1 << rng.below(8);
                    "a bit of a payload"
                }
            };
            let ok = case.restore_and_open(&b, &format!("{dims:?} {what}, tile {c}")) == Status::Ok;
            seen[usize::from(ok)] += 1;
        }
        truncated(&mut case, payloads);
    }
    // A bit of a tile that is left as it is shows in values alone.
    assert!(seen[0] > 20 && seen[1] > 2, "{seen:?}");
}

/// Bounds that files of others have, or that damage makes.
#[test]
fn bounds_of_headers() {
    for (name, dims) in [("fz", DIMS[0]), ("lorenzo_quant", [33, 9, 10]), ("lorenzo_quant", [64, 8, 8])] {
        let sample = field(DType::F32, &dims, (1.0, 32768.0), Rare::No, 9);
        let p = stage(name, &[("mode", "abs"), ("error_bound", "0.5")]);
        let mut case = Decoders::new(&p, &sample, &bare(Container::Fzm), true);
        let whole = case.bytes.clone();
        let at = 120;
        assert_eq!(f32::from_le_bytes(whole[at..at + 4].try_into().unwrap()), 0.5);
        for bound in [0.3, f32::INFINITY, f32::NAN, -0.5, 0.0, -0.0, f32::MAX, f32::from_bits(1), 0.3] {
            let mut b = whole.clone();
            b[at..at + 4].copy_from_slice(&bound.to_le_bytes());
            case.restore_and_open(&b, &format!("{name} {dims:?} bound {bound}"));
        }
    }
}
