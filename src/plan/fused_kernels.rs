//! Finds the device functions of a step.

use super::pad::{PAD, UNPAD};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::fusion::FusedKernelRef;
use crate::ir::step::Step;
use crate::stages::STAGES;

/// How a step runs on a device, with the kernels that are fused to it; `None`: not at all.
pub(super) fn find(step: &Step, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    if step.fused.is_empty() {
        return (step.kernel.device)(shape);
    }
    let fused: Vec<FusedKernelRef<'_>> = step.fused.iter().map(|l| (l.kernel, &l.params)).collect();
    // Padding comes first when encoding and last when decoding.
    let fused = match &fused[..] {
        [(first, _), rest @ ..] if std::ptr::eq(*first, &PAD) => rest,
        [rest @ .., (last, _)] if std::ptr::eq(*last, &UNPAD) => rest,
        all => all,
    };
    let rows = STAGES.iter().flat_map(|stage| stage.fusions().iter().copied().flatten());
    rows.filter_map(|fusion| fusion.device_launch(step.kernel, fused, shape)).next()
}
