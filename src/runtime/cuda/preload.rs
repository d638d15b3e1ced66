//! The device functions of a run.

use super::Grouping;
use super::batch::NOT_BATCHED;
use crate::base::error::Result;
use crate::gpu::{Context, ViewArgs, batched, function};
use crate::ir::step::Step;
use crate::plan::{Direction, Plan};

/// Device functions that a run of the plan launches, besides those that read and write containers.
pub(super) fn steps_of(plan: &Plan, rows: bool) -> impl Iterator<Item = &'static str> {
    let of = move |step: &'_ Step| -> Vec<&'static str> {
        let all = step.device.launches(rows).iter().chain(&step.device.second_try);
        all.map(|launch| launch.entry).collect()
    };
    plan.steps.iter().flat_map(of)
}

/// Looks up every function that a run of the plan launches, so that none is loaded during a call: for the arrays of a batch, or for one
/// array, which may be strided.
pub(crate) fn preload(context: &Context, plan: &Plan, batch: Option<Grouping>) -> Result<()> {
    let container_kernels = match (plan.direction, batch) {
        (Direction::Encode, Some(Grouping::OneByOne)) => &["fz_admit", "fz_seal", "fz_sum"][..],
        (Direction::Encode, _) => &["fz_seal", "fz_sum"],
        (Direction::Decode, _) => &["fz_open", "fz_load", "fz_close"],
    };
    if batch.is_none() {
        for name in ViewArgs::entries(plan.direction == Direction::Encode) {
            function(context, name)?;
        }
    }
    let rows = batch == Some(Grouping::Rows);
    let load = |name, version: bool| {
        let name = if version { batched(name).ok_or(NOT_BATCHED)? } else { name };
        function(context, name).map(|_| ())
    };
    steps_of(plan, rows).try_for_each(|name| load(name, rows))?;
    if let Some((_, launch)) = plan.single().filter(|_| batch.is_none()) {
        load(launch.entry, false)?;
    }
    container_kernels.iter().try_for_each(|name| load(name, batch.is_some()))
}
