//! Stage multilevel: containers that no encoder writes, and the bound in exact arithmetic.

mod damage;
mod parts;
mod values;

use crate::common::agreement::{bare, stage};
use crate::common::rng::Rng;
use crate::common::samples::{Sample, elements, walk};
use fzgm::{Container, DType, Options, Pipeline, compress, info};

/// The special values of an array besides a smooth function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Nothing,
    Noise,
    Walk,
    Spikes,
    Specials,
    Fills,
    NanFills,
    Ties,
    /// Multiples of 1/8, which the lattice is for.
    Eighths,
    /// Constant stretches, which differences are for.
    Blocks,
    /// Rows that have nothing to do with each other.
    Rows,
    Offset,
    /// Values from one end of the type to the other.
    Ends,
    Denormals,
}

const ALL: [With; 14] = [
    With::Nothing,
    With::Noise,
    With::Walk,
    With::Spikes,
    With::Specials,
    With::Fills,
    With::NanFills,
    With::Ties,
    With::Eighths,
    With::Blocks,
    With::Rows,
    With::Offset,
    With::Ends,
    With::Denormals,
];

fn array(dtype: DType, dims: &[u64], with: With, rng: &mut Rng) -> Sample {
    let shape: [usize; 3] = std::array::from_fn(|d| dims.get(d).map_or(1, |&n| n as usize));
    let n = elements(dims);
    let noise = walk(n, 2.0, rng);
    let most = if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
    let (mut block, mut last, mut row) = (0, 0.0, 0.0);
    let mut values = vec![];
    for (i, &noise) in noise.iter().enumerate() {
        let [x, y, z] = [i % shape[0], i / shape[0] % shape[1], i / (shape[0] * shape[1])];
        let smooth = 50.0 * (0.11 * x as f64).sin() * (0.13 * y as f64).cos() * (0.07 * z as f64 + 1.0).sin();
        let rare = rng.below(40);
        if x == 0 {
            row = rng.unit() * 1e3;
        }
        if block == 0 {
            (block, last) = (1 + rng.below(60), rng.unit() * 20.0);
        }
        block -= 1;
        values.push(match with {
            With::Noise => smooth + rng.unit(),
            With::Walk => noise,
            With::Spikes if rare == 0 => smooth + [1e4, -1e6, 1e12, 3e38][rng.below(4)],
            With::Specials if rare < 4 => {
                [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-40, 3e38, -3e38][rng.below(7)]
            }
            With::Fills if smooth > 5.0 => 1e20,
            With::NanFills if smooth > 5.0 => f64::NAN,
            With::Ties => (smooth * 8.0).round() / 8.0 + 0.0625,
            With::Eighths => (smooth * 8.0).round() / 8.0,
            With::Blocks => last,
            With::Rows => row + 0.01 * smooth,
            With::Offset => 1e6 + 1e-2 * smooth,
            With::Ends => most * [1.0, -1.0, 0.5, 1e-3, 0.0][rng.below(5)],
            With::Denormals => smooth * if dtype == DType::F32 { 1e-42 } else { 1e-320 },
            _ => smooth,
        });
    }
    let sample = Sample::of(dtype, dims, values);
    Sample { name: format!("{} {with:?}", sample.name), ..sample }
}

fn pipeline(mode: &str, eb: f64, sets: &[(&str, &str)]) -> Pipeline {
    let eb = format!("{eb:?}");
    stage("multilevel", &[&[("mode", mode), ("error_bound", &eb)][..], sets].concat())
}

/// The bytes that 1 and 3 threads write.
fn write(p: &Pipeline, sample: &Sample, container: Container) -> Vec<u8> {
    let with = |threads| Options { threads, ..bare(container) };
    let made = compress(p, &sample.array, &with(1), &sample.bytes).unwrap();
    let again = compress(p, &sample.array, &with(3), &sample.bytes).unwrap();
    assert!(made == again, "{}, {}: three threads write other bytes", sample.name, p.to_text().unwrap());
    made
}

/// A field of `info` for a container of the stage.
fn said(container: &[u8], name: &str) -> Option<String> {
    let info = info(container).unwrap();
    info.stages[0].params.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
}
