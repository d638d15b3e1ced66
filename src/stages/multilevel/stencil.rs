//! The stencil of a level: the one that predicts a sample of its points best from restored points.

use super::encode::Source;
use super::grid::{Levels, Pass};
use super::known::Known;
use super::params::SAMPLE;
use super::predict::{Formula, Predictor};
use super::value::LevelValue;
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};

const STENCILS: [u8; 4] = [2, 4, 6, 8];
/// Tasks of a pass.
const PARTS: usize = 4;

/// The distance between the points of a sample of about `most` out of `count` points.
pub(super) fn stride(count: usize, most: u32) -> usize {
    (count / most as usize).max(1) | 1
}

/// The approximate cost of an error, in bits.
pub(super) fn cost<T: LevelValue>(error: T, rate: T) -> u32 {
    u32::BITS - (error.abs() * (rate * T::of(4.0))).floor_int().leading_zeros()
}

/// The choice of the stencil of a level of which no pass is coded yet.
pub(super) struct Vote<'a, T> {
    pub(super) source: &'a Source<'a, T>,
    pub(super) levels: &'a Levels,
    pub(super) known: &'a Known<T>,
    pub(super) level: u32,
    pub(super) predictor: &'a Predictor<T>,
}

impl<T: LevelValue> Vote<'_, T> {
    /// The stencil with the least cost.
    pub(super) fn best(&self, threads: Parallel<'_>) -> u8 {
        let mut passes = self.levels.passes(self.level);
        for pass in &mut passes {
            // Only points whose taps are coarse are sampled, as if each pass were the first one of the level.
            for d in (0..3).filter(|&d| d != pass.axis && self.levels.axes[d]) {
                pass.spacing[d] = 2 << (self.level - 1);
                pass.points[d] = self.levels.dims[d].div_ceil(pass.spacing[d]);
            }
        }
        let parts = threads.map(PARTS * passes.len(), |k| widest((self, &passes[k / PARTS], k % PARTS)));
        let sum = |i: usize| parts.iter().map(|sums| sums[i]).sum::<u64>();
        let best = (0..4).min_by_key(|&i| sum(i)).unwrap_or(0);
        STENCILS[best]
    }
}

/// The work of summing the costs of a part of the sampled points of a pass, for each stencil.
impl<T: LevelValue> Work for (&Vote<'_, T>, &Pass, usize) {
    type Result = [u64; 4];

    #[inline(always)]
    fn run(self) -> [u64; 4] {
        let (Vote { source, levels, known, predictor, .. }, pass, part) = self;
        let mut sums = [0; 4];
        let step = stride(pass.count(), SAMPLE);
        let looked = pass.count().div_ceil(step);
        for i in part * looked / PARTS..(part + 1) * looked / PARTS {
            let (row, x) = (i * step / pass.points[0], i * step % pass.points[0]);
            let (first, next) = pass.row(levels.dims, row);
            let value = source.values[first + x * next];
            if !predictor.is_bounded(value) {
                continue;
            }
            let (window, left, right) = known.coarse_taps(pass, (row, x));
            for (sum, stencil) in sums.iter_mut().zip(STENCILS) {
                let (p, _) = predictor.point(Formula::new(stencil, left, right), window);
                *sum += u64::from(cost(value - p, predictor.rate));
            }
        }
        sums
    }
}
