//! Series that are read.
//!
//! Section of the header: Series of steps: reading.

use std::ffi::{c_char, c_void};
use std::path::Path;

use super::codec::region_of;
use super::ffi_guard::{ffi_guard, ffi_guard_drop};
use super::handle::{handle, letters, out, place_for, region, release, text};
use super::handle_registry::Handle;
use super::options::{chosen, fz_options};
use super::status::FZ_MAX_DIMS;
use crate::series::Series;

/// A series that is opened for reading. A series is a file of steps. Each step is an array with its
/// own element type and shape. Open a series with fz_series_open(). Free it with fz_series_free()
/// when no function is using it. Any number of threads may read from a series at the same time.
///
/// A series has the steps that were complete when it was opened. A writer, in this process or in
/// another one, may append steps at the same time; open the series again to read them.
pub struct fz_series(Series);

impl Handle for fz_series {
    const NAME: &'static str = "fz_series";
}

/// Result of fz_series_info().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_series_summary {
    /// Set to sizeof(fz_series_summary) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// 1: the index at the end of the file was read. 0: it is missing or damaged, and the steps were
    /// found by a search.
    pub indexed: u32,
    /// Number of steps.
    pub steps: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Bytes that belong to no complete step, such as those of a writer that was interrupted; 0 if the
    /// index was read.
    pub lost_bytes: u64,
}

/// Result of fz_series_step_info().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_step {
    /// Set to sizeof(fz_step) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// Element type, an fz_dtype.
    pub dtype: i32,
    /// Number of dimensions, 1 to FZ_MAX_DIMS.
    pub ndim: u32,
    /// 0.
    pub reserved: u32,
    /// Lengths in elements, x first; 1 for unused dimensions.
    pub dims: [u64; FZ_MAX_DIMS as usize],
    /// Length of the array in bytes.
    pub original_bytes: u64,
    /// Length of the step in the file in bytes.
    pub stored_bytes: u64,
    /// Number of slabs, each with its own container; at least 1.
    pub slabs: u64,
    /// Length of a slab along the slowest dimension; the last slab may be shorter.
    pub slab_rows: u64,
    /// The name; empty if the step has none.
    pub name: [c_char; 256],
}

/// Opens a series and reads its index. If the index is missing or damaged, the function searches for
/// the steps. The search reads a few bytes of each step, and the whole last step.
///
/// Parameters:
///   `path`    In: the file.
///   `series`  Out: the series.
///
/// Returns:
///   FZ_FILE             The error text contains the path and the reason given by the system.
///   FZ_NOT_A_CONTAINER  The file is not a series.
///   FZ_CORRUPT          The header of the file is damaged.
///   FZ_UNSUPPORTED      The file has a version unknown to this library.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_open(path: *const c_char, series: *mut *mut fz_series) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (path, place) = unsafe { (text(path, "path")?, out(series, "series")?) };
        place.give(fz_series(Series::open(Path::new(path))?))
    })
}

/// Closes the file and frees a series. NULL is permitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_free(series: *mut fz_series) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(series, "series") });
}

/// Describes a series.
///
/// Parameters:
///   `series`   In: from fz_series_open().
///   `summary`  In/out: the result; set summary->struct_bytes before the call.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_info(series: *const fz_series, summary: *mut fz_series_summary) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (fz_series(series), place) =
            unsafe { (handle(series, "series")?, place_for(summary, "summary", "fz_series_summary")?) };
        place.put(fz_series_summary {
            struct_bytes: size_of::<fz_series_summary>() as u32,
            indexed: series.is_indexed().into(),
            steps: series.steps().len() as u64,
            file_bytes: series.bytes(),
            lost_bytes: series.lost_bytes(),
        });
        Ok(())
    })
}

/// Describes a step.
///
/// Parameters:
///   `series`  In: from fz_series_open().
///   `step`    In: position of the step, from 0.
///   `info`    In/out: the result; set info->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The series has fewer steps, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_step_info(series: *const fz_series, step: u64, info: *mut fz_step) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (fz_series(series), place) =
            unsafe { (handle(series, "series")?, place_for(info, "info", "fz_step")?) };
        let step = series.step(step)?;
        let (array, mut dims) = (step.array(), [1; FZ_MAX_DIMS as usize]);
        dims[..array.dims().len()].copy_from_slice(array.dims());
        place.put(fz_step {
            struct_bytes: size_of::<fz_step>() as u32,
            dtype: array.dtype() as i32,
            ndim: array.dims().len() as u32,
            reserved: 0,
            dims,
            original_bytes: array.bytes(),
            stored_bytes: step.bytes(),
            slabs: step.slabs(),
            slab_rows: step.slab_rows(),
            name: letters(step.name()),
        });
        Ok(())
    })
}

/// Returns in `*step` the position of the step with a name.
///
/// Returns:
///   FZ_UNKNOWN_NAME  No step has this name; the error text lists names.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_find(
    series: *const fz_series,
    name: *const c_char,
    step: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series(series), name) = unsafe { (handle(series, "series")?, text(name, "name")?) };
        // SAFETY: the caller's promise.
        let place = unsafe { out(step, "step") }?;
        place.put(series.find(name)?);
        Ok(())
    })
}

/// Restores the array of a step. Blocking.
///
/// Parameters:
///   `series`              In: from fz_series_open().
///   `step`                In: position of the step, from 0.
///   `options`             In: options of the decoder, such as `threads`; may be NULL for the
///                         defaults.
///   `dst`                 Out: the array. Device memory is permitted.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least fz_step::original_bytes. Nothing is
///                         written beyond it.
///   `restored_bytes`      Out: length of the array in bytes.
///
/// The call allocates memory for one container and a workspace. If `dst` is device memory, the call
/// also allocates memory for the array. The call always compares the checksums of the series. If
/// options->checksum is not 0, the call also compares the checksums of the containers.
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The series has fewer steps, or an option is out of range.
///   FZ_FILE              The error text contains the path and the reason given by the system.
///   FZ_CORRUPT, FZ_CHECKSUM, FZ_DST_TOO_SMALL, FZ_MEMORY_LIMIT, FZ_UNSUPPORTED, FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_read(
    series: *const fz_series,
    step: u64,
    options: *const fz_options,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series(series), options) = unsafe { (handle(series, "series")?, chosen(options)?) };
        // SAFETY: the caller's promise.
        let place = unsafe { out(restored_bytes, "restored_bytes") }?;
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        let place = place.apart_from(dst, "dst")?;
        let most = series.step(step)?.array().bytes();
        // SAFETY: the caller's promise.
        place.put(unsafe { dst.write(most, |dst| series.read(step, &options, dst)) }? as u64);
        Ok(())
    })
}

/// Restores a region of a step. Blocking; the CPU decodes.
///
/// Parameters:
///   `series`              In: from fz_series_open().
///   `step`                In: position of the step, from 0.
///   `origin`, `extent`    In: `ndim` numbers each, as for fz_decompress_region().
///   `ndim`                In: number of dimensions of the array.
///   `dst`                 Out: the region as an array of its own, x fastest. Device memory is
///                         permitted.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the region. Nothing is
///                         written beyond it.
///   `restored_bytes`      Out: length of the region in bytes.
///
/// The call decodes only the slabs that the region overlaps, each as fz_decompress_region_file()
/// does.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The series has fewer steps, or the region is not inside the array.
///   FZ_FILE              The error text contains the path and the reason given by the system.
///   FZ_CORRUPT, FZ_CHECKSUM, FZ_DST_TOO_SMALL, FZ_MEMORY_LIMIT, FZ_UNSUPPORTED.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_read_region(
    series: *const fz_series,
    step: u64,
    origin: *const u64,
    extent: *const u64,
    ndim: u32,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series(series), place) =
            unsafe { (handle(series, "series")?, out(restored_bytes, "restored_bytes")?) };
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        let place = place.apart_from(dst, "dst")?;
        // SAFETY: the caller's promise.
        let (origin, extent) = unsafe { region_of((origin, extent, ndim), dst, place.region()) }?;
        let most = series.step(step)?.array().bytes();
        // SAFETY: the caller's promise; `region_of` checked that neither origin nor extent overlaps `dst`.
        let restored = unsafe { dst.write(most, |dst| series.read_region(step, origin, extent, dst)) }?;
        place.put(restored as u64);
        Ok(())
    })
}
