//! lorenzo_quant on the device: shapes that end anywhere, lists of every length and in any order.

use crate::common::fixture::{Fixture, lossy, options};
use crate::common::gpu;
use crate::common::rng::Rng;
use crate::common::run::{every_way, forms};
use crate::common::samples::{self, Content, Sample};
use crate::cuda::need_gpu;
use fzgm::{Array, Container, DType, Device, Generation, Options, Pipeline, Status, compress, decompress};

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
            if dims.len() == 1 {
                let mut centered = p.clone();
                centered.set_everywhere("centering", |args| args.set_text("centering", "true")).unwrap();
                forms.iter().filter(with_means).for_each(|form| agrees(&centered, &sample, form));
            }
        }
    }
}

/// The forms that hold tiles around their means.
fn with_means(form: &&Options) -> bool {
    form.generation == Generation::G2026_08 || form.container == Container::Compact
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
                if dims.len() == 1 {
                    let p = stage(&[("mode", "noa"), ("outlier_capacity", "1"), ("centering", "true")]);
                    forms().iter().filter(with_means).for_each(|form| agrees(&p, &sample, form));
                }
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
    for (dims, dtype, centering) in [
        (&[3000u64][..], DType::F32, "false"),
        (&[3000], DType::F32, "true"),
        (&[3000], DType::F64, "true"),
        (&[60, 50], DType::F32, "false"),
        (&[15, 20, 10], DType::F64, "false"),
        (&[15, 20, 10], DType::F32, "false"),
    ] {
        let Sample { array, bytes, name } = samples::make(dtype, dims, Content::Specials, 5);
        let sets = [("error_bound", "1e-2"), ("quant_radius", "4"), ("outlier_capacity", "1")];
        let p = stage(&[&sets[..], &[("centering", centering)]].concat());
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
            let end = frame.len() - if centering == "true" { lengths(3) } else { 0 };
            let (errors, indices) = (end - entries * (4 + width), end - entries * 4);
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

/// Whether the device reads the header or the host: a number of exact values that the lists do not hold is damage, and so is the one
/// whose bits stand for a header that says nothing.
#[test]
fn numbers_of_exact_values_are_checked() {
    need_gpu!();
    let array = Array::new(DType::F32, &[40, 50]).unwrap();
    let mut fixture =
        Fixture::new(&lossy("fz", DType::F32), &array, &Options { checksum: false, ..options() });
    let src = fixture.data(Content::Specials, 6);
    fixture.src.put(0, &src);
    let (compressed, _) = fixture.both();
    fixture.check(&src);
    let file = fixture.container.get()[..compressed.bytes as usize].to_vec();
    let at = 80 + 232;
    let pairs = u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert!(pairs > 0);
    for (number, ok) in
        [(pairs, true), (pairs - 1, true), (pairs + 1, false), (1 << 40, false), (u64::MAX, false)]
    {
        fixture.container.put(at, &number.to_le_bytes());
        fixture.decompress(fixture.stream.raw());
        fixture.stream.wait();
        let want = if ok { Status::Ok } else { Status::Corrupt };
        assert_eq!(fixture.results[1].result().status, want as i32, "{number} pairs");
        let other = [&file[..at], &number.to_le_bytes(), &file[at + 8..]].concat();
        for device in [Device::Cpu, options().device] {
            let plain = Options { device, checksum: false, ..options() };
            let status = decompress(&other, &plain).map_or_else(|e| e.status(), |_| Status::Ok);
            assert_eq!(status, want, "{number} pairs on {device}");
        }
    }
}

/// With means a header has the bound twice, and the device reads it as the host does: the f64 counts, and an f64 that is none, or of which
/// the f32 knows nothing, is damage.
#[test]
fn both_bounds_of_a_head_with_means_are_checked() {
    need_gpu!();
    let sample = samples::make(DType::F64, &[3000], Content::Walk, 7);
    let p = stage(&[("error_bound", "0.25"), ("centering", "true"), ("outlier_capacity", "1")]);
    let mut fixture = Fixture::new(&p, &sample.array, &Options { checksum: false, ..options() });
    fixture.src.put(0, &sample.bytes);
    let (compressed, _) = fixture.both();
    let file = fixture.container.get()[..compressed.bytes as usize].to_vec();
    let config = file.windows(4).position(|w| w == 0.25f32.to_le_bytes()).unwrap();
    assert_eq!(file[config + 48..config + 56], 0.25f64.to_le_bytes());
    let (mut read, mut refused) = (0, 0);
    let f64s = [0.25, 0.3, 1e-300, 0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    for (narrow, wide) in
        [0.25f32, 0.0, -0.0, -1.0, f32::INFINITY, f32::NAN].into_iter().flat_map(|n| f64s.map(|w| (n, w)))
    {
        let mut other = file.clone();
        // The record of the stage and those of its ports.
        let mut at = config;
        while let Some(next) = (at..other.len() - 4).find(|&i| file[i..].starts_with(&0.25f32.to_le_bytes()))
        {
            at = next + 4;
            if file.get(next + 48..next + 56) == Some(&0.25f64.to_le_bytes()) {
                other[next..next + 4].copy_from_slice(&narrow.to_le_bytes());
                other[next + 48..next + 56].copy_from_slice(&wide.to_le_bytes());
            }
        }
        let on_cpu = decompress(&other, &Options { checksum: false, ..Options::default() });
        fixture.container.put(0, &other);
        fixture.decompress(fixture.stream.raw());
        fixture.stream.wait();
        let status = fixture.results[1].result().status;
        match on_cpu {
            Ok((_, restored)) => {
                read += 1;
                assert_eq!(status, Status::Ok as i32, "{narrow:?} {wide:?}");
                assert!(fixture.restored.get() == restored, "{narrow:?} {wide:?}");
            }
            Err(e) => {
                refused += 1;
                assert_eq!(
                    (e.status(), status),
                    (Status::Corrupt, Status::Corrupt as i32),
                    "{narrow:?} {wide:?}: {e}"
                );
            }
        }
    }
    assert!(read > 8 && refused > 20, "{read} read, {refused} refused");
}
