//! Tuning: how levels are predicted and how their steps shrink, from errors in a sample.
//!
//! Errors are summed as integers, so that neither order nor device decides.

use super::code::{Coding, Numbers};
use super::grid::TileGrid;
use super::params::{
    CANDIDATES, FRACTION, GinterpMetadata, GinterpParams, PAIRS, SAMPLE_STRIDE, SAMPLE_STRIDE_2D, SATURATION,
    SUMS,
};
use super::predict::{Arithmetic, LevelFlags, Place};
use super::steps::{HalfStep, set_steps};
use super::value::SplineValue;
use super::walk::{Points, Row, Walk, Window};
use super::window::load_values;

/// Alpha and beta of mode 4.
pub(super) const OF_PAIRS: [(f64, f64); PAIRS as usize] = [
    (1.0, 2.0),
    (1.25, 2.0),
    (1.5, 2.0),
    (1.5, 3.0),
    (1.5, 4.0),
    (1.75, 2.0),
    (1.75, 3.0),
    (1.75, 4.0),
    (2.0, 2.0),
    (2.0, 3.0),
    (2.0, 4.0),
];

/// Errors as integers.
#[derive(Clone, Copy)]
pub(super) struct Scale(f64);

impl Scale {
    /// Where errors of the size of `bound` have some twenty bits.
    pub(super) fn new(bound: f64) -> Scale {
        let exponent = (bound.to_bits() >> 52) as i64 - 1023;
        let power = (i64::from(FRACTION) - exponent).clamp(-1022, 1023);
        Scale(f64::from_bits(((power + 1023) as u64) << 52))
    }

    /// NaN counts nothing.
    pub(super) fn of(self, error: f64) -> u64 {
        let most = (1u64 << SATURATION) as f64;
        let scaled = error * self.0;
        if scaled < most {
            scaled as u64
        } else if scaled.is_nan() {
            0
        } else {
            most as u64
        }
    }
}

/// The sums of a sample: errors of the candidates of each level (modes 3 and 4), or of axes and splines (1
/// and 2); and the number of codes other than that of a hit for each pair of alpha and beta.
#[derive(Debug, PartialEq)]
pub(super) struct Tally {
    pub(super) sums: [u64; SUMS as usize],
    pub(super) counts: [u64; PAIRS as usize],
}

/// The candidate of this number.
fn candidate(i: usize) -> LevelFlags {
    LevelFlags { natural: i >= 3, reverse: i % 3 == 1, md: i % 3 == 2 }
}

/// The array, and the placeholder for values without a bound.
pub(super) struct Sample<'a, C: Coding> {
    pub(super) src: &'a [u8],
    pub(super) grid: &'a TileGrid,
    pub(super) coding: &'a C,
    pub(super) scale: Scale,
}

impl<T: SplineValue, C: Coding<Value = T>> Sample<'_, C> {
    fn value(&self, at: [usize; 3]) -> T {
        let mut x = [T::ZERO];
        load_values(self.src, self.grid.element(at), 1, &mut x);
        x[0]
    }

    /// Mode 1: of linear predictions along the slowest axis, and along x, of two points in each of 4 x 4 x 4 places.
    pub(super) fn lines(&self) -> Tally {
        let mut tally = Tally::zero();
        let slow = (0..3).rev().find(|&d| self.grid.dims[d] > 1).unwrap_or(0);
        for place in places(self.grid.dims) {
            for point in [1, 2] {
                let at: [usize; 3] = std::array::from_fn(|d| {
                    place[d] * (self.grid.dims[d] / 4) + if self.grid.dims[d] > 1 { point } else { 0 }
                });
                if (0..3).any(|d| at[d] + usize::from(self.grid.dims[d] > 1) >= self.grid.dims[d]) {
                    continue;
                }
                // Along x there may be one element alone (not strict).
                let axes = [slow, 0].into_iter().filter(|&d| self.grid.dims[d] > 1);
                for (sum, d) in tally.sums.iter_mut().zip(axes) {
                    let beside = |by: isize| self.value(moved(at, d, by));
                    let p = C::Arithmetic::both(beside(-1), beside(1));
                    *sum += self.error(self.value(at), p);
                }
            }
        }
        tally
    }

    /// Mode 2: of both splines along each axis, z first, at 4 x 4 x 4 points.
    pub(super) fn splines(&self) -> Tally {
        let mut tally = Tally::zero();
        let axes: Vec<usize> = (0..3).rev().filter(|&d| self.grid.dims[d] > 1).collect();
        for place in places(self.grid.dims) {
            let dims = self.grid.dims;
            let at: [usize; 3] = std::array::from_fn(|d| place[d] * (dims[d] / 4) + dims[d] / 8);
            if axes.iter().any(|&d| at[d] < 3 || at[d] + 3 >= dims[d]) {
                continue;
            }
            for &d in &axes {
                let beside = |by: isize| self.value(moved(at, d, by));
                let [a, b, c, e] = [-3, -1, 1, 3].map(beside);
                for natural in [false, true] {
                    let place = Place { md: true, cube: false, natural };
                    let p = C::Arithmetic::cubic(a, b, c, e, place);
                    tally.sums[2 * (2 - d) + usize::from(natural)] += self.error(self.value(at), p);
                }
            }
        }
        tally
    }

    /// Modes 3 and 4: the errors of all candidates of every level, predicted from unquantized values.
    pub(super) fn candidates(&self) -> Tally {
        let mut tally = Tally::zero();
        let mut walk = Walk::new();
        for window in self.windows(true) {
            for level in 0..self.grid.levels {
                walk.fill(&window, level + 1, |at| self.coding.anchor(self.at(&window, at)));
                for i in 0..CANDIDATES as usize {
                    let mut errors = Errors { sample: self, window: &window, sum: 0 };
                    walk.level::<C::Arithmetic>(&window, level, candidate(i), &mut errors);
                    tally.sums[level * CANDIDATES as usize + i] += errors.sum;
                }
            }
        }
        tally
    }

    fn error(&self, x: T, p: T) -> u64 {
        if self.coding.restores(x) { 0 } else { self.scale.of(x.sub(p).abs().to_f64()) }
    }

    fn at(&self, window: &Window, at: [usize; 3]) -> T {
        self.value(std::array::from_fn(|d| window.origin[d] + at[d]))
    }

    /// Tiles at constant distances through the middle of the array.
    fn windows(&self, closed: bool) -> Vec<Window> {
        let (dims, body) = (self.grid.dims, self.grid.body);
        let stride = (if body[2] > 1 { SAMPLE_STRIDE } else { SAMPLE_STRIDE_2D }) as usize;
        let starts: [Vec<usize>; 3] = std::array::from_fn(|d| {
            if body[d] == 1 {
                return vec![0];
            }
            let (middle, half) = (dims[d] / 2, body[d] / 2);
            let before = middle.saturating_sub(half) / stride;
            let behind = dims[d].saturating_sub(half + 1 + middle) / stride;
            (0..before + behind + 1).map(|i| middle - before * stride + i * stride).collect()
        });
        let mut windows = vec![];
        for &z in &starts[2] {
            for &y in &starts[1] {
                for &x in &starts[0] {
                    let origin = [x, y, z];
                    let extent = std::array::from_fn(|d| {
                        (body[d] + usize::from(body[d] > 1)).min(dims[d] - origin[d])
                    });
                    windows.push(Window { origin, extent, body, closed });
                }
            }
        }
        windows
    }
}

/// Mode 4: the codes of a sample under each pair, other than that of a hit.
pub(super) fn count_pairs<T: SplineValue, C: Coding<Value = T>>(
    p: &GinterpParams,
    sample: &Sample<'_, C>,
    metadata: &GinterpMetadata,
    flags: &[LevelFlags],
    finest: HalfStep<T>,
    tally: &mut Tally,
) {
    let mut walk = Walk::new();
    for (count, (alpha, beta)) in tally.counts.iter_mut().zip(OF_PAIRS) {
        let mut metadata = GinterpMetadata { alpha, beta, ..*metadata };
        set_steps(&mut metadata, finest, sample.grid.levels);
        let coding = C::new(Numbers::new(p, &metadata));
        for window in sample.windows(false) {
            walk.start(&window, |at| coding.anchor(sample.at(&window, at)));
            let mut codes =
                Codes { sample, coding: &coding, window: &window, radius: metadata.radius, count: 0 };
            walk.levels::<C::Arithmetic>(&window, flags, &mut codes);
            *count += codes.count;
        }
    }
}

impl Tally {
    pub(super) fn zero() -> Tally {
        Tally { sums: [0; SUMS as usize], counts: [0; PAIRS as usize] }
    }

    /// The best candidates of all levels.
    pub(super) fn best(&self, levels: usize, strict: bool, flat: bool) -> Vec<LevelFlags> {
        let of_level = |level: usize| {
            // No point of the two coarsest levels has a cubic.
            let cubic = level + 3 <= levels;
            // In planes the reference looks at one spline there.
            let one = flat && !strict && level == 1;
            let candidates = if cubic && !one { CANDIDATES as usize } else { 3 };
            let sums = &self.sums[level * CANDIDATES as usize..][..candidates];
            let best = (0..candidates).min_by_key(|&i| sums[i]).unwrap_or(0);
            let mut flags = candidate(best);
            // In planes the reference takes the other spline than it has found.
            flags.natural ^= flat && !strict && level < 3;
            flags
        };
        (0..levels).map(of_level).collect()
    }

    /// The pair with the fewest codes.
    pub(super) fn pair(&self) -> (f64, f64) {
        let best = (0..OF_PAIRS.len()).min_by_key(|&i| self.counts[i]).unwrap_or(0);
        OF_PAIRS[best]
    }
}

/// Sums of 4 places in each dimension that there is.
fn places(dims: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [x, y, z] = dims.map(|d| if d > 1 { 4 } else { 1 });
    (0..x * y * z).map(move |i| [i % x, i / x % y, i / (x * y)])
}

fn moved(mut at: [usize; 3], d: usize, by: isize) -> [usize; 3] {
    at[d] = at[d].wrapping_add_signed(by);
    at
}

/// Sums errors without changing values.
struct Errors<'a, 'b, C: Coding> {
    sample: &'a Sample<'b, C>,
    window: &'a Window,
    sum: u64,
}

impl<T: SplineValue, C: Coding<Value = T>> Points<T> for Errors<'_, '_, C> {
    fn row(&mut self, row: &Row<'_>, p: &[T], v: &mut [T]) {
        for (i, (v, &p)) in v.iter_mut().zip(p).enumerate() {
            let x = self.sample.at(self.window, row.at(i));
            self.sum += self.sample.error(x, p);
            *v = self.sample.coding.anchor(x);
        }
    }
}

/// Counts codes.
struct Codes<'a, 'b, C: Coding> {
    sample: &'a Sample<'b, C>,
    coding: &'a C,
    window: &'a Window,
    radius: u32,
    count: u64,
}

impl<T: SplineValue, C: Coding<Value = T>> Points<T> for Codes<'_, '_, C> {
    fn row(&mut self, row: &Row<'_>, p: &[T], v: &mut [T]) {
        let x: Vec<T> = (0..p.len()).map(|i| self.sample.at(self.window, row.at(i))).collect();
        let mut codes = vec![0; p.len()];
        self.coding.encode(row, &x, p, v, &mut codes);
        self.count += codes.iter().filter(|&&c| c != self.radius).count() as u64;
    }
}
