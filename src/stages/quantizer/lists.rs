//! The two lists of outliers: values, and their indices in ascending order.

use super::real::Real;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;

/// Writes the entries that `find` returns for each tile, in order, to outputs 1 and 2.
pub(super) fn write<T: Real>(
    call: &mut HostCall<'_>,
    tiles: usize,
    find: impl Fn(usize) -> Vec<(u32, T)> + Sync + Send,
) -> Result<(), Fault> {
    /// Tiles that are in memory at once, besides the lists: no more of it is taken, however many outliers there are.
    const BATCH: usize = 32;
    let (values, indices) = (call.output(1)?, call.output(2)?);
    let (w, room) = (size_of::<T>(), indices.len() / 4);
    let mut count = 0;
    for first in (0..tiles).step_by(BATCH) {
        let found = call.threads.map(BATCH.min(tiles - first), |k| find(first + k));
        for (i, x) in found.into_iter().flatten() {
            if count < room {
                values[count * w..(count + 1) * w].copy_from_slice(bytemuck::bytes_of(&x));
                indices[count * 4..(count + 1) * 4].copy_from_slice(&i.to_le_bytes());
            }
            count += 1;
        }
    }
    if count > room {
        return Err(Fault::OutlierCapacity { needed: count as u64, capacity: room as u64 });
    }
    call.publish(1, (count * w) as u64)?;
    call.publish(2, (count * 4) as u64)
}

/// Puts the values of inputs 1 and 2 in their places of `out`, an array of values of `w` bytes of which the
/// codes had `elements`. Lists that fed another stage are as long as their capacity; `count`, the header's,
/// tells how much is meant.
pub(super) fn scatter(
    call: &HostCall<'_>,
    out: &mut [u8],
    w: usize,
    elements: usize,
    count: u32,
) -> Result<(), Fault> {
    let (values, indices) = (call.input(1)?, call.input(2)?);
    let count = (count as usize).min(values.len() / w).min(indices.len() / 4);
    for (value, index) in values.chunks_exact(w).zip(indices.chunks_exact(4)).take(count) {
        let i = at::<u32>(index, 0).ok_or(Fault::Corrupt)? as usize;
        // seed: index-range
        if i >= elements {
            return Err(Fault::Corrupt);
        }
        // An index in the padding has no place in the caller's array.
        if let Some(slot) = out.get_mut(i * w..(i + 1) * w) {
            slot.copy_from_slice(value);
        }
    }
    Ok(())
}
