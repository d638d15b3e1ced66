//! Blocks around their means: the rest of each element, and a mean for each block.

use super::params::LorenzoMeanParams;
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::device::{DeviceLaunch, LaunchShape};
use crate::ir::kernel::{HostCall, Kernel, alone, read_params};
use crate::stages::words::{Word, copy_tail};

pub(super) static CENTER: Kernel =
    Kernel { name: "lorenzo_center", host: center, role: alone, device: |s| by_blocks("lorenzo_center", s) };
pub(super) static MOVE_BACK: Kernel = Kernel {
    name: "lorenzo_move_back",
    host: move_back,
    role: alone,
    device: |s| by_blocks("lorenzo_move_back", s),
};

/// A warp to each block.
fn by_blocks(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    const THREADS: u64 = 256;
    let p = read_params::<LorenzoMeanParams>(shape.params);
    let blocks = shape.output(0).div_ceil(u64::from(p.block) * u64::from(p.width));
    Some(DeviceLaunch::one(entry, (32 * blocks).div_ceil(THREADS).min(1 << 20), THREADS as u32))
}

/// Bytes of the means of `of` bytes of elements.
pub(super) fn bytes(of: u64, p: &LorenzoMeanParams) -> u64 {
    let width = u64::from(p.width);
    (of / width).div_ceil(p.block.into()) * width
}

/// Words of two's complement, as sums take them.
trait Signed: Word {
    fn wide(self) -> i64;
    fn narrow(sum: i64) -> Self;
}

macro_rules! signed {
    ($($U:ty, $I:ty);*) => {$(
        impl Signed for $U {
            fn wide(self) -> i64 {
                i64::from(self as $I)
            }
            fn narrow(sum: i64) -> Self {
                sum as $U
            }
        }
    )*};
}
signed!(u8, i8; u16, i16; u32, i32; u64, i64);

fn center(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<LorenzoMeanParams>().width, T => center_as::<T>(call), else Err(Fault::BadLaunch))
}

fn move_back(call: &mut HostCall<'_>) -> Result<(), Fault> {
    by_width!(call.params::<LorenzoMeanParams>().width, T => move_back_as::<T>(call), else Err(Fault::BadLaunch))
}

/// The mean, half of a unit away from zero; sums that leave 64 bits wrap around.
fn mean<T: Signed>(block: &[u8]) -> T {
    let sum = words::<T>(block).fold(0i64, |sum, x| sum.wrapping_add(x.wide()));
    let n = (block.len() / size_of::<T>()) as i64;
    let half = if sum >= 0 { n / 2 } else { -(n / 2) };
    T::narrow(sum.wrapping_add(half).checked_div(n).unwrap_or(0))
}

fn words<T: Word>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// `f` of all whole elements of a block, and the bytes behind them.
fn shift<T: Word>(src: &[u8], out: &mut [u8], f: impl Fn(T) -> T) {
    for (o, x) in out.chunks_exact_mut(size_of::<T>()).zip(words::<T>(src)) {
        o.copy_from_slice(bytemuck::bytes_of(&f(x)));
    }
    copy_tail(src, out, size_of::<T>());
}

fn center_as<T: Signed>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<LorenzoMeanParams>();
    let (src, dst) = call.byte_for_byte()?;
    let needed = bytes(dst.len() as u64, &p);
    let means = call.output(1)?.get_mut(..needed as usize).ok_or(Fault::BadLaunch)?;
    call.publish(1, needed)?;
    let block = p.block as usize * size_of::<T>();
    // The blocks of a task have their means side by side.
    let each = 64;
    let work: Vec<_> = src.chunks(each * block).zip(dst.chunks_mut(each * block)).enumerate().collect();
    let parts = call.threads.each(
        work,
        || (),
        |(), (_, (src, dst))| {
            let mut means = vec![];
            for (src, dst) in src.chunks(block).zip(dst.chunks_mut(block)) {
                let mean = mean::<T>(src);
                shift::<T>(src, dst, |x| x.sub(mean));
                if src.len() >= size_of::<T>() {
                    means.push(mean);
                }
            }
            means
        },
    );
    for (to, mean) in means.chunks_exact_mut(size_of::<T>()).zip(parts.iter().flatten()) {
        to.copy_from_slice(bytemuck::bytes_of(mean));
    }
    Ok(())
}

fn move_back_as<T: Signed>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (p, means) = (call.params::<LorenzoMeanParams>(), call.input(1)?);
    let (src, dst) = call.byte_for_byte()?;
    if means.len() as u64 != bytes(dst.len() as u64, &p) {
        return Err(Fault::Corrupt);
    }
    let block = p.block as usize * size_of::<T>();
    call.threads.tiles(dst, block, |k, out| {
        let src = src.get(k * block..k * block + out.len()).ok_or(Fault::BadLaunch)?;
        let mean = at::<T>(means, k).unwrap_or(T::zeroed());
        shift::<T>(src, out, |x| x.add(mean));
        Ok(())
    })
}
