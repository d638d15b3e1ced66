//! The choice of the interpolated axes, or of differences, from samples of the array.

use super::costs::Costs;
use super::grid::Levels;
use super::params::{AXIS_SAMPLE, MOST_DIFFERENCE, MultilevelMetadata, SAMPLE};
use super::predict::Predictor;
use super::stencil::stride;
use super::value::LevelValue;
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};

/// Sets of axes in the order in which they are tried.
const SETS: [u8; 4] = [7, 3, 5, 1];

/// Chooses axes or differences.
pub(super) fn choose_axes<T: LevelValue>(
    m: &mut MultilevelMetadata,
    all: &[T],
    dims: [usize; 3],
    predictor: Predictor<T>,
    threads: Parallel<'_>,
) {
    let long = (0..3).filter(|&d| dims[d] > 1).fold(1u8, |all, d| all | 1 << d);
    let levels = Levels::new(dims, long).levels;
    let lines = threads.map(3 * levels as usize, |i| {
        let (axis, level) = (i / levels as usize, i as u32 % levels + 1);
        widest(LineWork { all, dims, axis, level, predictor: &predictor })
    });
    let mut best = (u64::MAX, long);
    for axes in SETS.into_iter().filter(|axes| axes & !long == 0) {
        let set = Levels::new(dims, axes);
        let mut sum = 0u64;
        for pass in (1..=set.levels).flat_map(|level| set.passes(level)) {
            let each = lines[pass.axis * levels as usize + pass.level as usize - 1];
            sum = sum.saturating_add((pass.count() as u64).saturating_mul(each));
        }
        if sum < best.0 {
            best = (sum, axes);
        }
    }
    m.axes = best.1;
    if let Some((sum, axes)) = differences(all, dims, &predictor) {
        if sum + sum / 16 < best.0 {
            (m.axes, m.differences) = (0, axes);
        }
    }
}

/// Computes the cost of points along an axis on a level, times 256.
struct LineWork<'a, T> {
    all: &'a [T],
    dims: [usize; 3],
    axis: usize,
    level: u32,
    predictor: &'a Predictor<T>,
}

impl<T: LevelValue> Work for LineWork<'_, T> {
    type Result = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let LineWork { all, dims, axis, level, predictor } = self;
        let s = 1usize << (level - 1);
        if dims[axis] <= s {
            return 0;
        }
        let strides = [1, dims[0], dims[0] * dims[1]];
        let mut points = dims.map(|d| d.div_ceil(s));
        points[axis] = (dims[axis] - s).div_ceil(2 * s);
        let count: usize = points.iter().product();
        let known = dims[axis].div_ceil(2 * s);
        let mut costs = Costs::new(predictor, [2, 4]);
        let sample = Sampled::new(points, stride(count, AXIS_SAMPLE));
        let looked = sample.left as u64;
        for at in sample {
            let odd = at[axis];
            let mut place = s * strides[axis] * (odd + 1);
            for d in 0..3 {
                place += at[d] * s * strides[d];
            }
            let value = all[place];
            if !predictor.is_bounded(value) {
                continue;
            }
            // The nearest tap on the left; both stencils have two taps on a side at most.
            let (near, next) = (place - s * strides[axis], 2 * s * strides[axis]);
            let mut window = [T::ZERO; 8];
            for j in 2..6 {
                if (3..known + 3).contains(&(odd + j)) {
                    window[j] = all[near + j * next - 3 * next];
                }
            }
            costs.add(value, &window, odd + 1, known - odd - 1);
        }
        let sums = costs.sums();
        256 * sums[0].min(sums[1]) / looked.max(1)
    }
}

/// Every `step`-th point of a grid, by its coordinates.
struct Sampled {
    points: [usize; 3],
    step: [usize; 3],
    at: [usize; 3],
    left: usize,
}

impl Sampled {
    fn new(points: [usize; 3], step: usize) -> Sampled {
        let left = points.iter().product::<usize>().div_ceil(step);
        let [x, y] = [points[0].max(1), points[1].max(1)];
        Sampled { points, step: [step % x, step / x % y, step / x / y], at: [0; 3], left }
    }
}

impl Iterator for Sampled {
    type Item = [usize; 3];

    #[inline(always)]
    fn next(&mut self) -> Option<[usize; 3]> {
        self.left = self.left.checked_sub(1)?;
        let own = self.at;
        let mut carry = 0;
        for d in 0..3 {
            self.at[d] += self.step[d] + carry;
            carry = usize::from(d < 2 && self.at[d] >= self.points[d]);
            self.at[d] -= carry * self.points[d];
        }
        Some(own)
    }
}

/// The cost of differences, times 256, and the number of axes with the least cost. `None` if the array cannot be coded by differences.
fn differences<T: LevelValue>(all: &[T], dims: [usize; 3], predictor: &Predictor<T>) -> Option<(u64, u8)> {
    let (sums, looked) = widest(DifferenceWork { all, dims, predictor })?;
    let rank = 1 + (1..3).filter(|&d| dims[d] > 1).count();
    let best = (0..rank).min_by_key(|&k| sums[k])?;
    let total = u128::from(sums[best]) * 256 * all.len() as u128 / u128::from(looked.max(1));
    Some((u64::try_from(total).ok()?, best as u8 + 1))
}

/// Computes the costs of the differences of a sample along one, two, and three axes, and the number of elements of the sample.
struct DifferenceWork<'a, T> {
    all: &'a [T],
    dims: [usize; 3],
    predictor: &'a Predictor<T>,
}

impl<T: LevelValue> Work for DifferenceWork<'_, T> {
    type Result = Option<([u64; 3], u64)>;

    #[inline(always)]
    fn run(self) -> Option<([u64; 3], u64)> {
        let DifferenceWork { all, dims, predictor } = self;
        let (mut sums, mut others, mut looked) = ([0u64; 3], [0u64; 3], 0);
        // The distances of neighbors along the axes that are bits of an index.
        let mut back = [0; 8];
        for (k, back) in back.iter_mut().enumerate() {
            *back = (k & 1) + (k >> 1 & 1) * dims[0] + (k >> 2) * dims[0] * dims[1];
        }
        let step = stride(all.len(), SAMPLE);
        for (place, at) in Sampled::new(dims, step).enumerate().take(SAMPLE as usize) {
            looked += 1;
            let i = place * step;
            let exists = u32::from(at[0] > 0) | u32::from(at[1] > 0) << 1 | u32::from(at[2] > 0) << 2;
            let mut x = [all[i]; 8];
            for k in 1..8 {
                if exists == 7 || k as u32 & !exists == 0 {
                    x[k] = all[i - back[k]];
                }
            }
            // Quotients; 0 for neighbors outside the array or with a large quotient.
            let (mut q, mut few) = ([0i32; 8], [0i32; 8]);
            for k in 0..8 {
                let sum = (x[k] - predictor.center) * predictor.rate + T::MAGIC;
                let is_few = ((sum - T::MAGIC).abs() < T::from_int(MOST_DIFFERENCE as i32))
                    & predictor.is_bounded(x[k]);
                few[k] = i32::from(is_few);
                q[k] = if is_few & (k as u32 & !exists == 0) { T::magic_int(sum) } else { 0 };
            }
            if few[0] == 0 {
                return None;
            }
            let x = q[0] - q[1];
            let y = x - (q[2] - q[3]);
            let z = y - (q[4] - q[5]) + (q[6] - q[7]);
            for (k, d) in [x, y, z].into_iter().enumerate() {
                sums[k] += u64::from(u32::BITS - (4 * d.unsigned_abs()).leading_zeros());
                others[k] += u64::from(d != 0);
            }
        }
        for (sum, others) in sums.iter_mut().zip(others).filter(|(_, others)| *others > 0) {
            *sum += others * u64::from((looked / others).ilog2().saturating_sub(1));
        }
        Some((sums, looked))
    }
}
