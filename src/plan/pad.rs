//! Padding of the pipeline input, as steps like any other.

use crate::device::nowhere;
use crate::error::Fault;
use crate::kernel::{HostCall, Kernel, Role};
use crate::tile::TILE;

/// Array to its padded copy, zeros behind it.
pub(super) static PAD: Kernel = Kernel { name: "pad", host: copy, role: |_| Role::Tile, device: nowhere };
/// Padded copy to array.
pub(super) static UNPAD: Kernel = Kernel { name: "unpad", host: copy, role: |_| Role::Tile, device: nowhere };

fn copy(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, dst) = (call.input(0)?, call.output(0)?);
    call.threads.tiles(dst, TILE, |k, out| {
        let from = src.get(k * TILE..).unwrap_or_default();
        let n = from.len().min(out.len());
        out[..n].copy_from_slice(&from[..n]);
        out[n..].fill(0);
        Ok(())
    })
}
