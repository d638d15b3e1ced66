//! The launches of a run part by part, with other operations of the stream in between.

use super::{FIRST_STEP, Run, WorkspaceLayout};
use crate::base::error::Result;
use crate::ir::device::KernelLaunch;
use crate::ir::value::Val;
use std::ops::Range;

impl Run<'_> {
    /// Launches all steps but the last one.
    pub(crate) fn run_first(&self) -> Result<()> {
        let steps = self.plan.steps.split_last().map_or(&[][..], |(_, first)| first);
        steps
            .iter()
            .zip(FIRST_STEP..)
            .try_for_each(|(step, place)| self.put(&step.device.launches, &self.args(step, place)?))
    }

    /// Launches these blocks of the last step, which has one launch. They wait for all earlier operations of the stream,
    /// and so does the next launch.
    pub(crate) fn run_part(&self, blocks: Range<u64>) -> Result<()> {
        let (Some(step), false) = (self.plan.steps.last(), blocks.is_empty()) else { return Ok(()) };
        let place = FIRST_STEP + self.plan.steps.len() as u32 - 1;
        let (grid, tag) = (blocks.end - blocks.start, blocks.start as u32 + 1);
        let parts = step.device.launches.iter().map(|l| KernelLaunch { grid, tag, ..l.clone() });
        self.begun.set(false);
        self.put(&parts.collect::<Vec<_>>(), &self.args(step, place)?)?;
        self.begun.set(false);
        Ok(())
    }

    /// Where the length of a value is.
    pub(crate) fn length_at(&self, v: Val) -> u64 {
        self.at(WorkspaceLayout::word(self.plan.root(v)))
    }
}
