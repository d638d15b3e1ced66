//! Smooth fields with values in them that a kernel may take for others.

use super::rng::Rng;
use super::samples::{Sample, beside};
use fzgm::DType;

/// How many of the values are rare.
#[derive(Clone, Copy, Debug)]
pub enum Rare {
    No,
    /// At the edges of lanes, bricks and bands.
    Edges,
    Many,
    All,
}

/// `x` or one of the four floats around it.
pub fn around(dtype: DType, x: f64, rng: &mut Rng) -> f64 {
    beside(dtype, x, rng.below(5) as i64 - 2)
}

/// A value that a kernel may take for another, in units of a step that is `step` in the type of the array. `guard` is the
/// largest multiple.
fn rare(dtype: DType, step: f64, guard: f64, radius: f64, rng: &mut Rng) -> f64 {
    let near = |m: f64, rng: &mut Rng| around(dtype, m * step, rng);
    let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
    sign * match rng.below(14) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 1e30,
        3 => 0.0,
        4 => f64::from(f32::MIN_POSITIVE) / 4.0,
        5 => f64::from(f32::MAX),
        // Where rounding decides between two multiples; the first one is 0 or 1.
        6 => near(0.5, rng),
        7 => near(1.5, rng),
        8 => near(rng.below(1 << 20) as f64 + 0.5, rng),
        // The last value with a multiple, and the first one without.
        9 => near(guard + rng.below(5) as f64 - 2.0, rng),
        10 => near(guard * 0.9999, rng),
        11 => near(guard - 0.5 + rng.below(3) as f64, rng),
        // The last value with a code, and the first one without.
        12 => near(radius + rng.below(3) as f64 - 1.0, rng),
        _ => near(rng.below(3) as f64, rng),
    }
}

/// The largest multiple in three dimensions.
pub fn guard_of(dtype: DType) -> f64 {
    (1u64 << if dtype == DType::F32 { 21 } else { 50 }) as f64
}

/// A smooth field with rare values; `step` is rounded to the type.
pub fn field(dtype: DType, dims: &[u64], (step, radius): (f64, f64), which: Rare, seed: u64) -> Sample {
    let mut rng = Rng(seed);
    let guard = guard_of(dtype);
    let edge =
        |i: u64, n: u64| i + 1 == n || matches!(i % 8, 0 | 7) || matches!(i % 128, 3 | 4 | 63 | 64 | 124);
    let [nx, ny, nz] = [0, 1, 2].map(|d| dims.get(d).copied().unwrap_or(1));
    let value = |i| {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let smooth = ((x as f64 * 0.05).sin() * 40.0 + y as f64 * 0.3 - z as f64 * 1.7 + rng.unit()) * step;
        let at_edge = edge(x, nx) && edge(y, ny) && edge(z, nz);
        let is_rare = match which {
            Rare::No => false,
            Rare::Edges => at_edge && rng.below(6) == 0,
            Rare::Many => rng.below(4) == 0,
            Rare::All => true,
        };
        if is_rare { rare(dtype, step, guard, radius, &mut rng) } else { smooth }
    };
    Sample::of(dtype, dims, (0..nx * ny * nz).map(value))
}
