//! The bound in exact arithmetic over content, shapes, modes, and bounds, from 1 and 3 threads.

use super::{ALL, With, array, pipeline, said, write};
use crate::common::agreement::{agrees, bare, holds};
use crate::common::corpus::Case;
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::{FLOATS, Sample, elements};
use crate::reference_reader::read_by_reference;
use fzgm::{Container, DType, Options, Pipeline, decompress};

const SHAPES: [&[u64]; 14] = [
    &[7, 3, 2],
    &[33, 17, 16],
    &[48, 19, 33],
    &[1, 40, 70],
    &[40, 1, 33],
    &[300, 2, 3],
    &[2, 3, 400],
    &[64, 64],
    &[131, 97],
    &[3, 700],
    &[1, 300],
    &[700],
    &[4097],
    &[5000],
];

fn long() -> bool {
    std::env::var_os("FZGM_LONG").is_some()
}

/// The bound, equal bytes from 1 and 3 threads, and equal values for them.
fn keeps(p: &Pipeline, sample: &Sample, k: usize) -> Vec<u8> {
    let container = both_containers()[k % 2];
    let made = write(p, sample, container);
    let (again, restored) = holds(p, sample, &bare(container));
    assert!(made == again, "{}, {}: other bytes in another run", sample.name, p.to_text().unwrap());
    for threads in [1, 3] {
        let (_, other) = decompress(&made, &Options { threads, ..bare(container) }).unwrap();
        assert!(other == restored, "{}, {}: {threads} threads", sample.name, p.to_text().unwrap());
    }
    made
}

#[test]
fn every_content_keeps_its_bound() {
    let mut rng = Rng(71);
    let mut k = 0;
    let rounds = if long() { 12 } else { 1 };
    for _ in 0..rounds {
        for dtype in FLOATS {
            for dims in SHAPES {
                for with in ALL {
                    let sample = array(dtype, dims, with, &mut rng);
                    let fills = if with == With::Fills { "1e20" } else { "inf" };
                    let all = [
                        ("noa", 1e-1),
                        ("noa", 1e-3),
                        ("noa", 1e-7),
                        ("abs", 0.125),
                        ("abs", 1e-5),
                        ("prel", 1e-4),
                    ];
                    for (i, (mode, eb)) in all.into_iter().enumerate() {
                        k += 1;
                        // Ordinary runs have a third of them.
                        if long() || (i + k / 6) % 3 == 0 {
                            keeps(&pipeline(mode, eb, &[("outlier_threshold", fills)]), &sample, k);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn large_volumes_keep_it() {
    let mut rng = Rng(72);
    let all = if long() { &ALL[..] } else { &[With::Nothing, With::Specials][..] };
    for (k, &with) in all.iter().enumerate() {
        let dtype = FLOATS[k % 2];
        let sample = array(dtype, &[131, 97, 66], with, &mut rng);
        for (mode, eb) in
            if long() { &[("noa", 1e-3), ("abs", 1e-2), ("prel", 1e-6)][..] } else { &[("noa", 1e-3)] }
        {
            keeps(&pipeline(mode, *eb, &[("outlier_threshold", "1e20")]), &sample, k);
        }
    }
}

/// Volumes that are large enough for a GPU to code passes over y and x together. With a base of the caller, nothing limits predictions.
#[test]
fn volumes_of_wide_rows_keep_it() {
    let mut rng = Rng(79);
    let sets = [&[("outlier_threshold", "1e20")][..], &[("value_base", "100")]];
    for (with, set) in [(With::Specials, sets[0]), (With::Spikes, sets[1])] {
        let sample = array(DType::F32, &[512, 128, 64], with, &mut rng);
        agrees(&pipeline("noa", 1e-3, set), &sample, &bare(Container::Fzm), [0, 0]);
    }
}

#[test]
fn arrays_of_1_to_100_values_keep_it() {
    let mut rng = Rng(73);
    let mut k = 0;
    for dtype in FLOATS {
        for n in 1..=100 {
            k += 1;
            let with = *rng.pick(&ALL);
            let sample = array(dtype, &[n], with, &mut rng);
            let mode = ["noa", "abs", "prel"][k % 3];
            keeps(&pipeline(mode, *rng.pick(&[1e-1, 1e-3, 1e-5, 10.0]), &[]), &sample, k);
        }
    }
}

/// Bases that are too small, too large, and right.
#[test]
fn bases_of_the_caller_keep_it() {
    let mut rng = Rng(74);
    let mut k = 0;
    for dtype in FLOATS {
        for with in [With::Nothing, With::Specials, With::Walk, With::Blocks, With::Ends] {
            let sample = array(dtype, &[33, 17, 5], with, &mut rng);
            for base in ["1e-30", "0.01", "100", "1e10", "1e38", "1e300"] {
                for mode in ["noa", "prel"] {
                    k += 1;
                    let p = pipeline(mode, 1e-3, &[("value_base", base), ("outlier_threshold", "1e15")]);
                    keeps(&p, &sample, k);
                }
            }
        }
    }
}

#[test]
fn bounds_at_the_ends_of_the_types_keep_it() {
    let mut rng = Rng(75);
    let mut k = 0;
    for dtype in FLOATS {
        for with in ALL {
            let sample = array(dtype, &[40, 11], with, &mut rng);
            for eb in [5e-324, 1e-300, 1e-45, 1e-38, 1.2e-38, 1e30, 3e38, 1e300, f64::MAX] {
                for mode in ["abs", "noa", "prel"] {
                    k += 1;
                    for threshold in ["inf", "1e-3", "1e20"] {
                        keeps(&pipeline(mode, eb, &[("outlier_threshold", threshold)]), &sample, k);
                    }
                }
            }
        }
    }
}

#[test]
fn thresholds_at_and_beside_values_keep_it() {
    let mut rng = Rng(76);
    for dtype in FLOATS {
        for threshold in [1.0, 0.1, 49.99, 1e-45, 1e-300, 3.5e38, 1e308] {
            let values = (0..2000).map(|_| threshold * (0.9 + 0.2 * rng.unit()).min(1.0));
            let sample = Sample::of(dtype, &[40, 50], values.collect::<Vec<_>>());
            for (k, mode) in ["abs", "noa", "prel"].into_iter().enumerate() {
                keeps(&pipeline(mode, 1e-2, &[("outlier_threshold", &format!("{threshold:?}"))]), &sample, k);
            }
        }
    }
}

#[test]
fn constants_and_arrays_of_fills_are_restored() {
    for dtype in FLOATS {
        for dims in SHAPES {
            let ends = [f64::MAX, f64::MIN, f64::from(f32::MAX), f64::MIN_POSITIVE, 1e-45];
            let all = [0.0, -0.0, 3.7, -1e30, f64::NAN, f64::INFINITY, 1e20].into_iter().chain(ends);
            for (k, value) in all.enumerate() {
                let sample = Sample::of(dtype, dims, vec![value; elements(dims)]);
                keeps(&pipeline("noa", 1e-3, &[]), &sample, k);
                keeps(&pipeline("prel", 1e-3, &[("outlier_threshold", "1e20")]), &sample, k + 1);
                keeps(&pipeline("abs", 1e-3, &[]), &sample, k);
            }
        }
    }
}

/// Signs of zeros and payloads of NaN are bits of exact values.
#[test]
fn nans_keep_their_bits() {
    let mut rng = Rng(77);
    let words = (0..3000).map(|i| if i % 3 == 0 { 0x7fc0_0000 | rng.below(4) as u32 } else { 0x4000_0000 });
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let sample = Sample::new(DType::F32, &[100, 30], bytes);
    let made = keeps(&pipeline("abs", 1e-3, &[]), &sample, 0);
    assert!(made.len() < sample.bytes.len());
}

/// Batches of differences are in the runs as a whole: a step of zeros in one of class 1 needs a code for zero.
#[test]
fn differences_with_steps_of_zeros_are_restored() {
    let mut rng = Rng(78);
    let mut coded = 0;
    for round in 0..if long() { 3000 } else { 150 } {
        let dtype = FLOATS[round % 2];
        let dims: &[u64] = [&[5000][..], &[70, 60], &[20, 15, 14]][rng.below(3)];
        // Most of it makes the choice. Behind that, a class may have no zeros but those of its quiet steps.
        let (n, busy) = (elements(dims), 1 + rng.below(7));
        let (mut x, mut left) = (0, 0);
        let mut values = vec![0.0; n];
        for (i, value) in values.iter_mut().enumerate() {
            if i < 3 * n / 4 && left == 0 {
                (x, left) = (rng.below(100) as i64, 10 + rng.below(60));
            } else if i >= 3 * n / 4 && i / 32 % 8 < busy {
                x += [1, -1][i % 2] << (i / 256 % 10);
            }
            left = if left > 0 { left - 1 } else { 0 };
            *value = x as f64 * 0.25;
        }
        let sample = Sample::of(dtype, dims, values);
        let made = keeps(&pipeline("abs", 0.1, &[]), &sample, round);
        coded += usize::from(said(&made, "axes_of_differences").is_some());
    }
    assert!(coded > 20, "{coded} arrays of differences");
}

/// More than 4096 roots are a section with runs, in which each step begins again.
#[test]
fn many_roots_are_restored() {
    let mut rng = Rng(79);
    let mut many = 0;
    for dtype in FLOATS {
        let shapes = [&[3, 4096][..], &[3, 4097], &[2, 9001], &[70, 130, 40], &[5, 80, 70], &[2, 150, 130]];
        for dims in shapes {
            for with in [With::Rows, With::Specials, With::Fills, With::Noise, With::Blocks] {
                let sample = array(dtype, dims, with, &mut rng);
                for (k, (mode, eb)) in [("noa", 1e-4), ("abs", 1e-2)].into_iter().enumerate() {
                    let made = keeps(&pipeline(mode, eb, &[("outlier_threshold", "1e15")]), &sample, k);
                    let axes = said(&made, "interpolated_axes").unwrap_or_default();
                    let long = dims.iter().filter(|&&d| d > 1).enumerate();
                    let others = long.filter(|(d, _)| !axes.contains(["x", "y", "z"][*d]));
                    many += usize::from(!axes.is_empty() && others.map(|(_, d)| d).product::<u64>() > 4096);
                }
            }
        }
    }
    assert!(many > 20, "{many} arrays of many roots");
}

/// No step fits bounds below the normal numbers, and their products are not rounded down.
#[test]
fn ranges_of_denormals_keep_it() {
    let mut rng = Rng(80);
    for (dtype, unit) in [(DType::F32, f64::from(f32::from_bits(1))), (DType::F64, f64::from_bits(1))] {
        for scale in [1.0, 7.0, 1e3, 1e6] {
            let values = (0..1200).map(|_| (rng.unit() * scale).round() * unit).collect::<Vec<_>>();
            let sample = Sample::of(dtype, &[60, 20], values);
            for (k, mode) in ["noa", "prel"].into_iter().enumerate() {
                keeps(&pipeline(mode, 0.1, &[]), &sample, k);
            }
            for eb in [unit, 3.0 * unit, 1e3 * unit, unit * scale] {
                keeps(&pipeline("abs", eb, &[]), &sample, 0);
            }
        }
    }
}

#[test]
fn shapes_smaller_than_the_array_are_rejected() {
    let sample = array(DType::F32, &[100], With::Nothing, &mut Rng(81));
    let p = pipeline("abs", 1e-3, &[("dim_x", "7"), ("dim_y", "5")]);
    assert!(fzgm::compress(&p, &sample.array, &bare(Container::Compact), &sample.bytes).is_err());
}

#[test]
fn the_independent_reader_agrees() {
    let mut rng = Rng(82);
    let mut cases = vec![];
    for dtype in FLOATS {
        for (k, with) in ALL.into_iter().enumerate() {
            // The last one has many roots.
            let shapes = [&[30, 9, 7][..], &[21, 40], &[900], &[2, 4100]];
            let all = if long() { &shapes[..] } else { &shapes[k % 3..][..1] };
            let extra = if matches!(with, With::Rows | With::Specials) { &shapes[3..] } else { &[] };
            for dims in all.iter().chain(extra) {
                let sample = array(dtype, dims, with, &mut rng);
                let (mode, eb) = [("noa", 1e-3), ("abs", 0.125), ("prel", 1e-5)][k % 3];
                let bytes =
                    write(&pipeline(mode, eb, &[("outlier_threshold", "1e15")]), &sample, Container::Compact);
                let (_, restored) = decompress(&bytes, &bare(Container::Compact)).unwrap();
                let width = (sample.bytes.len() / elements(dims)) as u64;
                let name = format!("{} {mode}", sample.name);
                let made = Case {
                    name,
                    bytes,
                    restored,
                    made_of: None,
                    compact: true,
                    loose: false,
                    width,
                    segments: 1,
                };
                cases.push(made);
            }
        }
    }
    read_by_reference(&cases, "multilevel");
}
