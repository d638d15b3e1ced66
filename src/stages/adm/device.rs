//! How the kernels run on a GPU.

use super::params::{AdmParams, GROUP};
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::read_params;
use crate::stages::params::{CODER_THREADS, CODER_TILE};

pub(super) fn encode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let width = u64::from(read_params::<AdmParams>(shape.params).width.max(1));
    let groups = (shape.input(0) / width).div_ceil(u64::from(GROUP));
    let tiles = groups.div_ceil(CODER_TILE.into());
    let device_launch = DeviceLaunch::one("adm_code", tiles, CODER_THREADS).then(
        "adm_gather",
        groups.div_ceil(CODER_THREADS.into()),
        CODER_THREADS,
    );
    // The size of `AdmScratch` in kernels/adm/adm.cu.
    Some(device_launch.with(0, 64 + 4 * (tiles + groups + 8) + groups * u64::from(GROUP) * width))
}

pub(super) fn decode(shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    let width = u64::from(read_params::<AdmParams>(shape.params).width.max(1));
    let groups = (shape.output(0) / width).div_ceil(u64::from(GROUP));
    Some(DeviceLaunch::one("adm_decode", groups.div_ceil(CODER_TILE.into()), CODER_THREADS))
}
