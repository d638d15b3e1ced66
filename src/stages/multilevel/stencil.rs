//! The stencil of a level: the one that predicts a sample of its points best from restored points.

use super::costs::Costs;
use super::encode::Source;
use super::grid::{Levels, Pass};
use super::known::Known;
use super::params::SAMPLE;
use super::predict::Predictor;
use super::value::LevelValue;
use crate::base::parallel::Parallel;
use crate::stages::wide::{Work, widest};

const STENCILS: [u8; 4] = [2, 4, 6, 8];
/// Tasks of a level.
const TASKS: usize = 12;

/// The distance between the points of a sample of about `most` out of `count` points.
pub(super) fn stride(count: usize, most: u32) -> usize {
    (count / most as usize).max(1) | 1
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
        let tasks = if threads.count() > 1 { TASKS } else { 1 };
        let parts = threads.map(tasks, |task| widest(Part { of: self, passes: &passes, task, tasks }));
        let sum = |i: usize| parts.iter().map(|sums| sums[i]).sum::<u64>();
        let best = (0..4).min_by_key(|&i| sum(i)).unwrap_or(0);
        STENCILS[best]
    }
}

/// The work of summing the costs of a part of the sampled points of each pass, for each stencil.
struct Part<'a, T> {
    of: &'a Vote<'a, T>,
    passes: &'a [Pass],
    task: usize,
    tasks: usize,
}

impl<T: LevelValue> Work for Part<'_, T> {
    type Result = [u64; 4];

    #[inline(always)]
    fn run(self) -> [u64; 4] {
        let Part { of: Vote { source, levels, known, predictor, .. }, passes, task, tasks } = self;
        let mut costs = Costs::new(predictor, STENCILS);
        for pass in passes {
            let step = stride(pass.count(), SAMPLE);
            let looked = pass.count().div_ceil(step);
            let (mut at, end) = (task * looked / tasks * step, (task + 1) * looked / tasks * step);
            while at < end {
                let row = at / pass.points[0];
                let taps = known.coarse_row(pass, row);
                let (first, next) = pass.row(levels.dims, row);
                let begin = row * pass.points[0];
                for at in (at..end.min(begin + pass.points[0])).step_by(step) {
                    let value = source.values[first + (at - begin) * next];
                    if predictor.is_bounded(value) {
                        let (taps, left, right) = taps.of(at - begin);
                        costs.add(value, &taps, left, right);
                    }
                }
                at += (begin + pass.points[0] - at).div_ceil(step) * step;
            }
        }
        costs.sums()
    }
}
