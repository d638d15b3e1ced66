//! Boxes of two and three dimensions: differences to seven neighbors, and sums along each axis.

use super::params::LorenzoParams;
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::tile::{TILE, at};
use crate::ir::kernel::HostCall;
use crate::stages::words::Word;

/// Elements: to the next in y and in z, and in all.
#[derive(Clone, Copy)]
struct Cuboid {
    nx: usize,
    ny: usize,
    plane: usize,
    all: usize,
}

impl Cuboid {
    fn new(p: &LorenzoParams, bytes: usize) -> Result<Cuboid, Fault> {
        let [nx, ny, nz] = p.dims.map(|d| d as usize);
        let b = Cuboid { nx, ny, plane: nx * ny, all: nx * ny * nz };
        if b.all > bytes / p.width as usize { Err(Fault::BadLaunch) } else { Ok(b) }
    }
}

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<LorenzoParams>().width, T => differences::<T>(call), else Err(Fault::BadLaunch))
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<LorenzoParams>().width, T => sums::<T>(call), else Err(Fault::BadLaunch))
}

fn put<T: Word>(bytes: &mut [u8], i: usize, value: T) {
    let w = size_of::<T>();
    bytes[i * w..(i + 1) * w].copy_from_slice(bytemuck::bytes_of(&value));
}

/// Row by row: the differences to the rows above and in the plane before, and then their differences along
/// the row.
fn differences<T: Word>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LorenzoParams>();
    let (src, dst) = call.byte_for_byte()?;
    let (b, width) = (Cuboid::new(&p, dst.len())?, size_of::<T>());
    call.threads.tiles(dst, TILE, |k, out| {
        let from = k * TILE;
        // Elements after the grid are copied.
        out.copy_from_slice(src.get(from..from + out.len()).ok_or(Fault::BadLaunch)?);
        let (mut i, end) = (from / width, b.all.min((from + out.len()) / width));
        while i < end {
            let (x, y, z) = (i % b.nx, i / b.nx % b.ny, i / b.plane);
            let stop = end.min(i - x + b.nx);
            let get = |i: usize| at::<T>(src, i).unwrap_or(T::zeroed());
            let left = |i: usize| {
                let above = if y > 0 { get(i - b.nx) } else { T::zeroed() };
                let behind = if z > 0 { get(i - b.plane) } else { T::zeroed() };
                let both = if y > 0 && z > 0 { get(i - b.plane - b.nx) } else { T::zeroed() };
                get(i).sub(above).sub(behind).add(both) // seed: lorenzo-corner
            };
            let mut before = if x > 0 { left(i - 1) } else { T::zeroed() };
            for i in i..stop {
                let here = left(i);
                put(out, i - from / width, here.sub(before));
                before = here;
            }
            i = stop;
        }
        Ok(())
    })
}

/// Sums along x and y plane by plane, then along z.
fn sums<T: Word>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LorenzoParams>();
    let (src, dst) = call.byte_for_byte()?;
    let (b, width) = (Cuboid::new(&p, dst.len())?, size_of::<T>());
    let (planes, rest) = dst.split_at_mut(b.all * width);
    rest.copy_from_slice(src.get(b.all * width..b.all * width + rest.len()).ok_or(Fault::BadLaunch)?);
    if b.plane == 0 {
        return Ok(());
    }
    let bytes = b.plane * width;
    call.threads.tiles(planes, bytes, |k, plane| {
        let src = src.get(k * bytes..(k + 1) * bytes).ok_or(Fault::BadLaunch)?;
        for row in 0..b.ny {
            let mut sum = T::zeroed();
            for i in row * b.nx..(row + 1) * b.nx {
                sum = sum.add(at::<T>(src, i).ok_or(Fault::BadLaunch)?);
                let above = if row > 0 { at::<T>(plane, i - b.nx) } else { None };
                put(plane, i, sum.add(above.unwrap_or(T::zeroed())));
            }
        }
        Ok(())
    })?;
    // seed: lorenzo-second-plane
    for from in (bytes..planes.len()).step_by(bytes) {
        let (before, plane) = planes.split_at_mut(from);
        let before = &before[from - bytes..];
        for i in 0..b.plane {
            let (x, y) = (at::<T>(before, i), at::<T>(plane, i));
            let (x, y) = x.zip(y).ok_or(Fault::BadLaunch)?;
            put(plane, i, y.add(x));
        }
    }
    Ok(())
}
