//! Regions and previews from memory of any kind to memory of any kind.
#![allow(unsafe_code)]

use super::DeviceSlice;
use crate::base::byte_source::Source;
use crate::base::environment::in_default_environment;
use crate::base::error::Result;
use crate::codec::{restore_preview, restore_region};
use crate::format::{read_from, read_front};

/// [`crate::decompress_region`] with memory of any kind; the CPU decodes. Of a container on a device no more is copied than the call reads.
///
/// # Errors
/// As [`crate::decompress_region`]; [`crate::Error::Device`].
///
/// # Safety
/// `container` and `dst` are memory of as many bytes, apart from each other, that nobody else changes meanwhile.
pub unsafe fn decompress_region_at(
    container: DeviceSlice,
    origin: &[u64],
    extent: &[u64],
    dst: DeviceSlice,
) -> Result<usize> {
    let restore = |source: &dyn Source| {
        let header = read_from(source)?;
        let part = |dst: &mut [u8]| restore_region(&header, source, (origin, extent), dst);
        // SAFETY: the caller's promise.
        unsafe { dst.write(header.bound.array.bytes(), part) }
    };
    // SAFETY: the caller's promise.
    in_default_environment(|| unsafe { container.read(restore) })
}

/// [`crate::decompress_preview`] with memory of any kind; the CPU decodes. Of a container on a device no more is copied than the call reads.
///
/// # Errors
/// As [`crate::decompress_preview`]; [`crate::Error::Device`].
///
/// # Safety
/// As for [`decompress_region_at`].
pub unsafe fn decompress_preview_at(container: DeviceSlice, step: u64, dst: DeviceSlice) -> Result<usize> {
    let restore = |source: &dyn Source| {
        let header = read_front(source)?;
        let preview = |dst: &mut [u8]| restore_preview(&header, source, step, dst);
        // SAFETY: the caller's promise.
        unsafe { dst.write(header.bound.array.bytes(), preview) }
    };
    // SAFETY: the caller's promise.
    in_default_environment(|| unsafe { container.read(restore) })
}
