//! The choice of the interpolated axes, or of differences, from samples of the array.

use super::grid::Levels;
use super::params::{AXIS_SAMPLE, MOST_DIFFERENCE, MultilevelMetadata, SAMPLE};
use super::predict::{Formula, Predictor};
use super::stencil::{cost, stride};
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
        let (mut sums, mut looked) = ([0u64; 2], 0);
        for i in (0..count).step_by(stride(count, AXIS_SAMPLE)) {
            looked += 1;
            let at = [i % points[0], i / points[0] % points[1], i / points[0] / points[1]];
            let odd = at[axis];
            let coordinates: [usize; 3] =
                std::array::from_fn(|d| if d == axis { (2 * at[d] + 1) * s } else { at[d] * s });
            let place: usize = (0..3).map(|d| coordinates[d] * strides[d]).sum();
            let value = all[place];
            if !predictor.is_bounded(value) {
                continue;
            }
            let first = place - (2 * odd + 1) * s * strides[axis];
            let window: [T; 8] = std::array::from_fn(|j| {
                let tap = (odd + j).checked_sub(3).filter(|&t| t < known);
                tap.map_or(T::ZERO, |t| all[first + 2 * t * s * strides[axis]])
            });
            for (sum, stencil) in sums.iter_mut().zip([2, 4]) {
                let (p, _) = predictor.point(Formula::new(stencil, odd + 1, known - odd - 1), window);
                *sum += u64::from(cost(value - p, predictor.rate));
            }
        }
        256 * sums[0].min(sums[1]) / looked.max(1)
    }
}

/// The cost of differences, times 256, and the number of axes with the least cost. `None` if the array cannot be coded by differences.
fn differences<T: LevelValue>(all: &[T], dims: [usize; 3], predictor: &Predictor<T>) -> Option<(u64, u8)> {
    let (mut sums, mut others) = ([0u64; 3], [0u64; 3]);
    let mut looked = 0u64;
    let quotient = |x: T| {
        let sum = (x - predictor.center) * predictor.rate + T::MAGIC;
        let q = sum - T::MAGIC;
        let few = q.abs() < T::from_int(MOST_DIFFERENCE as i32) && predictor.is_bounded(x);
        if few { Some(i64::from(T::magic_int(sum))) } else { None }
    };
    for i in (0..all.len()).step_by(stride(all.len(), SAMPLE)).take(SAMPLE as usize) {
        looked += 1;
        let own = quotient(all[i])?;
        let has = [i % dims[0] > 0, i / dims[0] % dims[1] > 0, i / dims[0] / dims[1] > 0];
        // The quotient of the neighbor at the distance of one along each axis of `back`; 0 outside the array.
        let at = |back: [bool; 3]| {
            let strides = [1, dims[0], dims[0] * dims[1]];
            if (0..3).any(|d| back[d] && !has[d]) {
                return 0;
            }
            let back: usize = (0..3).filter(|&d| back[d]).map(|d| strides[d]).sum();
            if back == 0 { own } else { quotient(all[i - back]).unwrap_or(0) }
        };
        let line = |y, z| at([false, y, z]) - at([true, y, z]);
        let d = [
            line(false, false),
            line(false, false) - line(true, false),
            line(false, false) - line(true, false) - line(false, true) + line(true, true),
        ];
        for ((sum, others), d) in sums.iter_mut().zip(&mut others).zip(d) {
            *sum += u64::from(u64::BITS - (4 * d.unsigned_abs()).leading_zeros());
            *others += u64::from(d != 0);
        }
    }
    for (sum, others) in sums.iter_mut().zip(others).filter(|(_, others)| *others > 0) {
        *sum += others * u64::from((looked / others).ilog2().saturating_sub(1));
    }
    let rank = 1 + (1..3).filter(|&d| dims[d] > 1).count();
    let best = (0..rank).min_by_key(|&k| sums[k])?;
    let total = u128::from(sums[best]) * 256 * all.len() as u128 / u128::from(looked.max(1));
    Some((u64::try_from(total).ok()?, best as u8 + 1))
}
