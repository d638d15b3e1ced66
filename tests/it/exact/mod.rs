//! Stage exact: every bit of every type is restored, its choices are used, and containers that no encoder writes are rejected.

mod damage;
mod values;

use crate::common::agreement::stage;
use crate::common::rng::Rng;
use crate::common::samples::Sample;
use fzgm::{Array, DType, Pipeline};

fn pipeline() -> Pipeline {
    stage("exact", &[])
}

/// The contents of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Noise,
    Walk,
    /// A smooth function that changes its sign.
    Waves,
    /// A walk with many zeros between.
    Background,
    /// Few values in any order.
    Levels,
    /// Few values in any order, some of them frequent ones.
    Frequent,
    Constant,
    /// Numbers that ascend by random steps.
    Sorted,
    /// Numbers that ascend by almost equal steps.
    Clock,
    /// Multiples of a number, or floats that had fewer bits.
    Coarse,
    /// A walk with a NaN, infinities, and negative zeros for floats, and the ends of the range for integers.
    Ends,
}

const ALL: [With; 11] = [
    With::Noise,
    With::Walk,
    With::Waves,
    With::Background,
    With::Levels,
    With::Frequent,
    With::Constant,
    With::Sorted,
    With::Clock,
    With::Coarse,
    With::Ends,
];

/// The bits of a number in an element type.
fn bits(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F32 => u64::from((x as f32).to_bits()),
        DType::F64 => x.to_bits(),
        _ => (x * 100.0) as i64 as u64,
    }
}

fn array(dtype: DType, dims: &[u64], with: With, rng: &mut Rng) -> Sample {
    let n: u64 = dims.iter().product();
    let width = dtype.bytes() as usize;
    let (mut bytes, mut walk, mut sum) = (vec![], 0.0, 0.0);
    for i in 0..n {
        walk += rng.unit() - 0.5;
        sum += 1e3 * rng.unit().powi(4);
        let word = match with {
            With::Noise => rng.word(),
            With::Walk => bits(dtype, walk),
            With::Waves => bits(dtype, (i as f64 / 17.0).sin() + 1e-3 * rng.unit()),
            With::Background if rng.below(400) > 0 && i / 50 % 3 > 0 => 0,
            With::Background => bits(dtype, 20.0 + walk),
            With::Levels => bits(dtype, f64::from(rng.below(9) as u32 * 3) + 0.1),
            With::Frequent => bits(dtype, f64::from((40.0 * rng.unit().powi(4)) as u32 * 7919 % 101)),
            With::Constant => bits(dtype, 1.5),
            With::Sorted => bits(dtype, sum),
            With::Clock => bits(dtype, 1e6 * i as f64 + rng.unit()),
            With::Coarse if dtype.is_float() => bits(dtype, walk) & !0x3ff,
            With::Coarse => bits(dtype, walk).wrapping_mul(30).wrapping_add(7),
            With::Ends if rng.below(30) > 0 => bits(dtype, walk),
            With::Ends if dtype.is_float() => {
                let x = *rng.pick(&[-0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-310, f64::NAN, 1e-39]);
                // A NaN with bits of its own.
                bits(dtype, x) | if x.is_nan() { rng.word() & 0xffff } else { 0 }
            }
            With::Ends => *rng.pick(&[0, u64::MAX, 1 << (8 * width - 1), (1 << (8 * width - 1)) - 1]),
        };
        bytes.extend_from_slice(&word.to_le_bytes()[..width]);
    }
    let array = Array::new(dtype, dims).unwrap();
    Sample { name: format!("{with:?} {dtype} {dims:?}"), array, bytes }
}
