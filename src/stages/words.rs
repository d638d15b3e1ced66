//! Word-wise kernels of the integer stages.

use super::params::UNIT_THREADS;
use crate::base::error::Fault;
use crate::base::tile::{TILE, loaded, store};
use crate::ir::device::{DeviceLaunch, LaunchShape, tiles};
use crate::ir::kernel::{HostCall, PARAM_BYTES, Role};
use bytemuck::Pod;

/// Runs `f` over all words of input 0 into output 0. Bytes after the last whole word are copied.
pub(super) fn map<T: Pod + Send + Sync>(
    call: &mut HostCall<'_>,
    f: impl Fn(T) -> T + Sync,
) -> Result<(), Fault> {
    let (src, dst) = call.byte_for_byte()?;
    call.threads.tiles(dst, TILE, |k, out| {
        let bytes = src.get(k * TILE..k * TILE + out.len()).ok_or(Fault::BadLaunch)?;
        loaded::<T, _>(bytes, |words| {
            store::<T>(out, |out| out.iter_mut().zip(words).for_each(|(o, &w)| *o = f(w)));
        });
        copy_tail(bytes, out, size_of::<T>());
        Ok(())
    })
}

/// The role of word-wise kernels.
pub(super) fn tile(_: &[u8; PARAM_BYTES]) -> Role {
    Role::Tile
}

/// A function over the tiles of output 0.
pub(super) fn over_tiles(entry: &'static str, shape: &LaunchShape<'_>) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, tiles(shape.output(0)), UNIT_THREADS))
}

/// Copies the bytes after the last whole word of `width` bytes.
pub(super) fn copy_tail(src: &[u8], dst: &mut [u8], width: usize) {
    let at = src.len() - src.len() % width;
    dst[at..].copy_from_slice(&src[at..]); // seed: ragged-end
}

/// Unsigned words of two's complement, with the codes that turn small magnitudes into small numbers.
pub(crate) trait Word: Pod + Send + Sync {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// 0, -1, 1, -2, … → 0, 1, 2, 3, …
    fn zigzag(self) -> Self;
    fn unzigzag(self) -> Self;
    /// Digits of base -2.
    fn negabinary(self) -> Self;
    fn unnegabinary(self) -> Self;
}

macro_rules! word {
    ($($U:ty, $I:ty);*) => {$(
        impl Word for $U {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn zigzag(self) -> Self {
                (self << 1) ^ ((self as $I) >> (<$U>::BITS - 1)) as $U // seed: zigzag-sign
            }
            #[inline(always)]
            fn unzigzag(self) -> Self {
                (self >> 1) ^ (0 as $U).wrapping_sub(self & 1)
            }
            #[inline(always)]
            fn negabinary(self) -> Self {
                const MASK: $U = <$U>::MAX / 3 * 2;
                self.wrapping_add(MASK) ^ MASK
            }
            #[inline(always)]
            fn unnegabinary(self) -> Self {
                const MASK: $U = <$U>::MAX / 3 * 2;
                (self ^ MASK).wrapping_sub(MASK)
            }
        }
    )*};
}
word!(u8, i8; u16, i16; u32, i32; u64, i64);
