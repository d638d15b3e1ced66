//! The bound in exact arithmetic, with every type of code, mode of tuning, and shape; special values, fills, ties and spikes at every
//! kind of place in a tile.

use crate::common::agreement::{bare, holds, stage};
use crate::common::rng::Rng;
use crate::common::run::both_containers;
use crate::common::samples::{FLOATS, Sample, elements, walk};
use fzgm::{DType, Options, Pipeline};

/// Whole tiles, ragged ones, tiles next to ragged ones, thin arrays; planes of the stage's own tiles and of smaller ones.
const SHAPES: [&[u64]; 12] = [
    &[16, 16, 16],
    &[17, 17, 17],
    &[7, 3, 2],
    &[33, 17, 16],
    &[48, 19, 33],
    &[1, 40, 70],
    &[300, 2, 3],
    &[64, 64],
    &[131, 97],
    &[1, 300],
    &[5, 1, 9],
    &[700],
];
const CODES: [&str; 3] = ["u8", "u16", "u32"];

/// The special values of a field besides a smooth function.
#[derive(Clone, Copy, Debug)]
enum With {
    Nothing,
    Noise,
    Spikes,
    Specials,
    Fills,
    Ties,
    Offset,
}

const ALL: [With; 7] =
    [With::Nothing, With::Noise, With::Spikes, With::Specials, With::Fills, With::Ties, With::Offset];

fn field(dtype: DType, dims: &[u64], with: With, rng: &mut Rng) -> Sample {
    let shape: [usize; 3] = std::array::from_fn(|d| dims.get(d).map_or(1, |&n| n as usize));
    let noise = walk(elements(dims), 0.1, rng);
    let values = (0..elements(dims)).map(|i| {
        let [x, y, z] = [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
        let smooth = 50.0 * (0.11 * x as f64).sin() * (0.13 * y as f64).cos() * (0.07 * z as f64 + 1.0).sin();
        let rare = rng.below(40);
        match with {
            With::Nothing => smooth,
            With::Noise => smooth + noise[i],
            With::Spikes if rare == 0 => smooth + [1e4, -1e6, 1e12, 3e38][rng.below(4)],
            With::Specials if rare < 4 => {
                [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-40, 3e38, -3e38][rng.below(7)]
            }
            With::Fills if smooth > 5.0 => 1e20,
            With::Ties => (smooth * 8.0).round() / 8.0,
            With::Offset => 1e6 + 1e-2 * smooth,
            With::Spikes | With::Specials | With::Fills => smooth,
        }
    });
    let sample = Sample::of(dtype, dims, values.collect::<Vec<_>>());
    Sample { name: format!("{} {with:?}", sample.name), ..sample }
}

fn pipeline(mode: &str, eb: f64, code: &str, sets: &[(&str, &str)]) -> Pipeline {
    let eb = format!("{eb:?}");
    let all = [("mode", mode), ("error_bound", &eb), ("code_type", code), ("outlier_capacity", "1")];
    stage("ginterp", &[&all[..], sets].concat())
}

fn keeps(p: &Pipeline, sample: &Sample, k: usize) {
    holds(p, sample, &bare(both_containers()[k % 2]));
}

#[test]
fn every_content_keeps_its_bound() {
    let mut rng = Rng(61);
    let mut k = 0;
    for dtype in FLOATS {
        for dims in SHAPES {
            for with in ALL {
                let sample = field(dtype, dims, with, &mut rng);
                let fills = if matches!(with, With::Fills) { "1e20" } else { "inf" };
                for (mode, eb) in
                    [("noa", 1e-2), ("noa", 1e-4), ("noa", 1e-6), ("abs", 0.125), ("prel", 1e-3)]
                {
                    k += 1;
                    let p = pipeline(mode, eb, CODES[k % 3], &[("outlier_threshold", fills)]);
                    keeps(&p, &sample, k);
                }
            }
        }
    }
}

#[test]
fn every_mode_of_tuning_and_every_flag_keeps_it() {
    let mut rng = Rng(62);
    let mut k = 0;
    for dtype in FLOATS {
        for dims in SHAPES {
            for with in [With::Noise, With::Specials, With::Ties] {
                let sample = field(dtype, dims, with, &mut rng);
                for tuning in ["1", "2", "3", "4", "5"] {
                    k += 1;
                    let mode = ["noa", "abs", "prel"][k % 3];
                    keeps(&pipeline(mode, 1e-3, CODES[k % 3], &[("auto_tuning", tuning)]), &sample, k);
                }
                for (md, natural, reverse) in [("0", "63", "21"), ("63", "42", "0"), ("5", "0", "63")] {
                    k += 1;
                    let levels =
                        [("md_levels", md), ("natural_levels", natural), ("reverse_levels", reverse)];
                    let steps = [("auto_tuning", "5"), ("manual_alpha", "1.1"), ("manual_beta", "1.3")];
                    keeps(&pipeline("noa", 1e-3, CODES[k % 3], &[levels, steps].concat()), &sample, k);
                }
            }
        }
    }
}

#[test]
fn every_radius_keeps_it() {
    let mut rng = Rng(63);
    for dtype in FLOATS {
        for dims in [&[33, 17, 16][..], &[131, 97], &[16, 32, 16]] {
            let sample = field(dtype, dims, With::Noise, &mut rng);
            for (k, (code, radius)) in
                [("u8", "1"), ("u8", "128"), ("u16", "2"), ("u16", "32768"), ("u32", "4194304"), ("u32", "7")]
                    .into_iter()
                    .enumerate()
            {
                keeps(&pipeline("noa", 1e-4, code, &[("quant_radius", radius)]), &sample, k);
            }
        }
    }
}

#[test]
fn constants_and_arrays_of_fills_are_restored() {
    for dtype in FLOATS {
        for dims in SHAPES {
            for (k, value) in [0.0, -0.0, 3.7, -1e30, f64::NAN, f64::INFINITY, 1e20].into_iter().enumerate() {
                let sample = Sample::of(dtype, dims, vec![value; elements(dims)]);
                keeps(&pipeline("noa", 1e-3, "u16", &[]), &sample, k);
                keeps(&pipeline("prel", 1e-3, "u8", &[("outlier_threshold", "1e20")]), &sample, k + 1);
            }
        }
    }
}

/// Without lists a container has a code for each value and an anchor for each tile, and a constant needs no list.
#[test]
fn a_constant_needs_no_exact_value() {
    let sample = Sample::of(DType::F32, &[32, 32, 32], vec![0.1; 1 << 15]);
    let (container, _) = holds(&pipeline("noa", 1e-3, "u16", &[]), &sample, &bare(both_containers()[0]));
    let info = fzgm::info(&container).unwrap();
    let exact = info.stages[0].params.iter().find(|(name, _)| *name == "exact_values").unwrap();
    assert_eq!(exact.1, "0");
}

/// Strict off: the bound rounds to 0 in f32, and the range is infinite.
#[test]
fn a_product_of_zero_and_infinity_is_written_as_a_bound_that_is_read() {
    let dims = [20, 18, 17];
    let mut values = vec![1.0; elements(&dims)];
    (values[5], values[7]) = (f64::INFINITY, 2.0);
    let sample = Sample::of(DType::F32, &dims, values);
    for (mode, container) in [("noa", both_containers()[0]), ("prel", both_containers()[1])] {
        let options = Options { strict: false, ..bare(container) };
        holds(&pipeline(mode, 1e-50, "u16", &[]), &sample, &options);
    }
}
