//! The stencil of a level: the one that predicts a sample of its points best from what is restored.

use super::encode::Source;
use super::grid::Levels;
use super::known::{Known, Predicted};
use super::params::SAMPLE;
use super::predict::Predictor;
use super::value::LevelValue;
use crate::stages::wide::Work;

/// Every which of so many points is looked at, so that there are about `most`.
pub(super) fn stride(count: usize, most: u32) -> usize {
    (count / most as usize).max(1) | 1
}

/// The approximate cost of an error.
pub(super) fn cost<T: LevelValue>(error: T, rate: T) -> u32 {
    u32::BITS - (error.abs() * (rate * T::of(4.0))).floor_int().leading_zeros()
}

/// The level of which nothing is coded yet.
pub(super) struct Vote<'a, T> {
    pub(super) source: &'a Source<'a, T>,
    pub(super) levels: &'a Levels,
    pub(super) known: &'a Known<T>,
    pub(super) level: u32,
    pub(super) predictor: &'a Predictor<T>,
}

impl<T: LevelValue> Work for Vote<'_, T> {
    type Result = u8;

    /// Its stencil.
    #[inline(always)]
    fn run(self) -> u8 {
        let Vote { source, levels, known, level, predictor } = self;
        let mut sums = [0u64; 4];
        for mut pass in levels.passes(level) {
            // Only points whose taps are coarse: as if this pass were the first one.
            for d in (0..3).filter(|&d| d != pass.axis && levels.axes[d]) {
                pass.spacing[d] = 2 << (level - 1);
                pass.points[d] = levels.dims[d].div_ceil(pass.spacing[d]);
            }
            let count = pass.count();
            for i in (0..count).step_by(stride(count, SAMPLE)) {
                let (row, x) = (i / pass.points[0], i % pass.points[0]);
                let (first, next) = pass.row(levels.dims, row);
                let value = source.values[first + x * next];
                if !predictor.is_bounded(value) {
                    continue;
                }
                for (sum, stencil) in sums.iter_mut().zip([2, 4, 6, 8]) {
                    let (mut p, mut context) = ([T::ZERO], [0]);
                    let out = Predicted { p: &mut p, contexts: &mut context };
                    known.predict_coarse(predictor, stencil, &pass, (row, x), out);
                    *sum += u64::from(cost(value - p[0], predictor.rate));
                }
            }
        }
        let best = (0..4).min_by_key(|&i| sums[i]).unwrap_or(0);
        [2, 4, 6, 8][best]
    }
}
