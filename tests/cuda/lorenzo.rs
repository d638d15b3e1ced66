//! lorenzo_quant on the device: shapes that end anywhere, lists of every length and in any order.

use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::run::{every_way, forms};
use crate::common::samples::{self, Content, Sample};
use crate::need_gpu;
use crate::rig::{Rig, lossy, options};
use fzgm::{Array, Container, DType, Generation, Options, Pipeline, Status, compress, decompress};

const SHAPES: &[&[u64]] = &[
    &[1],
    &[3],
    &[1023],
    &[1025],
    &[5000],
    &[1, 70],
    &[2, 3],
    &[31, 33],
    &[33, 31],
    &[64, 60],
    &[5, 300],
    &[300, 5],
    &[1, 1, 5],
    &[8, 8, 8],
    &[33, 17, 9],
    &[9, 10, 11],
    &[40, 3, 20],
    &[130, 5, 3],
];

const CONTENTS: [Content; 7] = [
    Content::Walk,
    Content::Specials,
    Content::Fills,
    Content::Sparse,
    Content::Random,
    Content::Ones,
    Content::Constant,
];

fn stage(sets: &[(&str, &str)]) -> Pipeline {
    let mut p = Pipeline::new();
    let node = p.add("lorenzo_quant").unwrap();
    sets.iter().for_each(|(name, value)| p.args_mut(node).unwrap().set_text(name, value).unwrap());
    p
}

/// Files in the exact form of the reference forget the shape, and come back padded.
fn agrees(p: &Pipeline, sample: &Sample, form: &Options) {
    if form.strict || form.generation != Generation::G2026_05 {
        every_way(p, sample, form).unwrap_or_else(|e| panic!("{} {form:?}: {e}", sample.name));
        return;
    }
    let container = compress(p, &sample.array, form, &sample.bytes).unwrap();
    let (_, restored) = decompress(&container, form).unwrap();
    gpu::agrees(p, sample, form, (&container, &restored));
}

#[test]
fn every_shape_and_type_of_code() {
    need_gpu!();
    let mut rng = Rng(0x1f83_d9ab);
    let mut pick = |n: usize| rng.below(n);
    for &dims in SHAPES {
        for (dtype, code) in [
            (DType::F32, "u8"),
            (DType::F32, "u16"),
            (DType::F32, "u32"),
            (DType::F64, "u16"),
            (DType::F64, "u32"),
        ] {
            let sample = samples::make(dtype, dims, CONTENTS[pick(CONTENTS.len())], pick(1000) as u64);
            let p = stage(&[
                ("mode", ["abs", "noa", "prel"][pick(3)]),
                ("code_type", code),
                ("error_bound", ["1e-1", "1e-3", "1e-6"][pick(3)]),
                ("quant_radius", ["0", "2", "100"][pick(3)]),
                ("zigzag_codes", ["true", "false"][pick(2)]),
                ("outlier_threshold", ["1e19", "inf"][pick(2)]),
                ("outlier_capacity", ["1", "0.3"][pick(2)]),
            ]);
            let forms = forms();
            let form = &forms[pick(forms.len())];
            agrees(&p, &sample, form);
        }
    }
}

/// Exact values one beside the other, through tiles and over their borders.
#[test]
fn runs_of_exact_values() {
    need_gpu!();
    for dtype in [DType::F32, DType::F64] {
        for dims in [&[6000][..], &[70, 40], &[20, 18, 10]] {
            for (first, every, run) in
                [(0, 1, 1), (1, 2, 1), (5, 3, 1), (40, 700, 1), (2000, 1, 1), (40, 40, 520)]
            {
                let mut sample = samples::make(dtype, dims, Content::Walk, 3);
                let width = dtype.bytes() as usize;
                // Runs that grow if they are short, with as many good values between them as `every` says. Long ones
                // fill what a warp has of a tile.
                let (mut at, mut run) = (first, run);
                while at < sample.bytes.len() / width {
                    let end = (at + run).min(sample.bytes.len() / width);
                    sample.bytes[at * width..end * width].fill(0xff);
                    at = end + every;
                    run += if run < 500 { 1 + run / 2 } else { 0 };
                }
                let p = stage(&[("mode", "noa"), ("outlier_capacity", "1")]);
                forms().iter().for_each(|form| agrees(&p, &sample, form));
            }
        }
    }
}

/// Lists that go through another stage: in the exact form of the reference, with all of their room.
#[test]
fn lists_that_feed_a_stage() {
    need_gpu!();
    for dtype in [DType::F32, DType::F64] {
        let sample = samples::make(dtype, &[50, 40], Content::Specials, 4);
        let mut p = stage(&[
            ("mode", "abs"),
            ("error_bound", "1e-2"),
            ("quant_radius", "20"),
            ("outlier_capacity", "1"),
        ]);
        for port in ["codes", "outlier_errors", "outlier_indices"] {
            let rze = p.add("rze").unwrap();
            p.connect(0, port, rze).unwrap();
        }
        forms().iter().for_each(|form| agrees(&p, &sample, form));
    }
}

/// Entries in any order, several with one index, and where there are codes already: what the CPU makes of it.
#[test]
fn lists_of_other_writers() {
    need_gpu!();
    let mut rng = Rng(0x5be0_cd19);
    for (dims, dtype) in [
        (&[3000u64][..], DType::F32),
        (&[60, 50], DType::F32),
        (&[15, 20, 10], DType::F64),
        (&[15, 20, 10], DType::F32),
    ] {
        let Sample { array, bytes, name } = samples::make(dtype, dims, Content::Specials, 5);
        let p = stage(&[("error_bound", "1e-2"), ("quant_radius", "4"), ("outlier_capacity", "1")]);
        for strict in [true, false] {
            let on_cpu = Options {
                strict,
                container: Container::Compact,
                generation: Generation::G2026_08,
                checksum: false,
                store_incompressible: false,
                ..Options::default()
            };
            let frame = compress(&p, &array, &on_cpu, &bytes).unwrap();
            let lengths = |i: usize| fzgm::info(&frame).unwrap().segments[i].bytes as usize;
            let width = dtype.bytes() as usize;
            let entries = lengths(2) / 4;
            let (errors, indices) = (frame.len() - entries * (4 + width), frame.len() - entries * 4);
            assert!(entries > 100, "{name}: {entries} entries");
            for round in 0..8 {
                let mut other = frame.clone();
                for _ in 0..[2, 40, entries, 4 * entries][round % 4] {
                    let (i, j) = (rng.below(entries), rng.below(entries));
                    for k in 0..width {
                        other.swap(errors + i * width + k, errors + j * width + k);
                    }
                    for k in 0..4 {
                        other.swap(indices + i * 4 + k, indices + j * 4 + k);
                    }
                    if round >= 4 {
                        other.copy_within(indices + i * 4..indices + i * 4 + 4, indices + j * 4);
                        // A code beside an entry.
                        let code = errors - lengths(0) + rng.below(lengths(0));
                        other[code] ^= 1;
                    }
                }
                let cpu = decompress(&other, &on_cpu).unwrap().1;
                let gpu = decompress(&other, &Options { checksum: false, ..options() }).unwrap().1;
                assert!(cpu == gpu, "{name} strict {strict} round {round}");
            }
            // An index behind the array.
            let mut other = frame.clone();
            other[indices..indices + 4].copy_from_slice(&(Array::elements(&array) as u32).to_le_bytes());
            let status = |options: &Options| decompress(&other, options).unwrap_err().status();
            assert_eq!(status(&on_cpu), status(&Options { checksum: false, ..options() }));
        }
    }
}

/// The head is read on the device: a number of exact values that the lists do not hold is damage, and so is the one whose
/// bits stand for a head that says nothing.
#[test]
fn numbers_of_exact_values_are_checked() {
    need_gpu!();
    let array = Array::new(DType::F32, &[40, 50]).unwrap();
    let mut rig = Rig::new(&lossy("fz", DType::F32), &array, &Options { checksum: false, ..options() });
    let src = rig.data(Content::Specials, 6);
    rig.src.put(0, &src);
    let (compressed, _) = rig.both();
    rig.check(&src);
    let file = rig.container.get()[..compressed.bytes as usize].to_vec();
    let at = 80 + 232;
    let pairs = u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert!(pairs > 0);
    for (number, ok) in
        [(pairs, true), (pairs - 1, true), (pairs + 1, false), (1 << 40, false), (u64::MAX, false)]
    {
        rig.container.put(at, &number.to_le_bytes());
        rig.decompress(rig.stream.raw());
        rig.stream.wait();
        let want = if ok { Status::Ok } else { Status::Corrupt };
        assert_eq!(rig.results[1].result().status, want as i32, "{number} pairs");
    }
}
