//! Finds the device functions of a step.

use super::pad::{PAD, UNPAD};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::fusion::ChainedKernel;
use crate::ir::step::Step;
use crate::stages::STAGES;

/// How a step runs on a device, with the kernels that are chained to it; `None`: not at all.
pub(super) fn find(step: &Step, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    if step.links.is_empty() {
        return (step.kernel.device)(shape);
    }
    let chained: Vec<ChainedKernel<'_>> = step.links.iter().map(|l| (l.kernel, &l.params)).collect();
    // Padding comes first when encoding and last when decoding.
    let chained = match &chained[..] {
        [(first, _), rest @ ..] if std::ptr::eq(*first, &PAD) => rest,
        [rest @ .., (last, _)] if std::ptr::eq(*last, &UNPAD) => rest,
        all => all,
    };
    let rows = STAGES.iter().flat_map(|stage| stage.fusions().iter().copied().flatten());
    rows.filter_map(|fusion| fusion.device_launch(step.kernel, chained, shape)).next()
}
