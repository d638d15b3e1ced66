//! Padding of the pipeline input, as steps like any other.

use crate::base::error::Fault;
use crate::base::tile::TILE;
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{HostCall, Kernel, Role};

/// Array to its padded copy, zeros behind it.
pub(super) static PAD: Kernel =
    Kernel { name: "pad", host: copy, role: |_| Role::Tile, device: |s| on_device("pad", s) };
/// Padded copy to array.
pub(super) static UNPAD: Kernel =
    Kernel { name: "unpad", host: copy, role: |_| Role::Tile, device: |s| on_device("unpad", s) };

fn on_device(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, tiles(shape.output(0)), 256))
}

fn copy(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, dst) = (call.input(0)?, call.output(0)?);
    call.threads.tiles(dst, TILE, |k, out| {
        let from = src.get(k * TILE..).unwrap_or_default();
        let n = from.len().min(out.len());
        out[..n].copy_from_slice(&from[..n]);
        out[n..].fill(0); // seed: array-padding
        Ok(())
    })
}
