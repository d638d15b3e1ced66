//! Regions and previews from memory of any kind to memory of any kind.
#![allow(unsafe_code)]

use super::DeviceSlice;
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::codec::{restore_preview, restore_region};
use crate::format::{Header, read_from, read_front};

/// [`crate::decompress_region`] with memory of any kind. The CPU decodes. From a container on a device the
/// function copies only the bytes that it reads.
///
/// # Errors
/// As [`crate::decompress_region`]; [`crate::Error::Device`].
///
/// # Safety
/// `container` and `dst` must have the lengths that they state and must not overlap. No other code may change
/// them during the call.
pub unsafe fn decompress_region_at(
    container: DeviceSlice,
    origin: &[u64],
    extent: &[u64],
    dst: DeviceSlice,
) -> Result<usize> {
    let restore = |header: &Header, source: &dyn Source, dst: &mut [u8]| {
        restore_region(header, source, (origin, extent), dst)
    };
    // SAFETY: the caller's promise.
    unsafe { restore_part(container, read_from, restore, dst) }
}

/// [`crate::decompress_preview`] with memory of any kind. The CPU decodes. From a container on a device the
/// function copies only the bytes that it reads.
///
/// # Errors
/// As [`crate::decompress_preview`]; [`crate::Error::Device`].
///
/// # Safety
/// As for [`decompress_region_at`].
pub unsafe fn decompress_preview_at(container: DeviceSlice, step: u64, dst: DeviceSlice) -> Result<usize> {
    let restore =
        |header: &Header, source: &dyn Source, dst: &mut [u8]| restore_preview(header, source, step, dst);
    // SAFETY: the caller's promise.
    unsafe { restore_part(container, read_front, restore, dst) }
}

/// # Safety
/// As for [`decompress_region_at`].
unsafe fn restore_part(
    container: DeviceSlice,
    read: fn(&dyn Source) -> Result<Header>,
    restore: impl FnOnce(&Header, &dyn Source, &mut [u8]) -> Result<usize>,
    dst: DeviceSlice,
) -> Result<usize> {
    let from = |source: &dyn Source| {
        let header = read(source)?;
        let most = header.bound.array.bytes();
        // SAFETY: the caller's promise.
        unsafe { dst.write(most, |dst| restore(&header, source, dst)) }
    };
    // SAFETY: the caller's promise.
    in_default_environment(|| unsafe { container.read(from) })
}
