//! Compression without a plan, and the search for fill values.
//!
//! Section of the header: Compression in one call, and fill values.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiError, ffi_guard};
use super::handle::{Bytes, numbers, out, place_for, region, regions, text};
use super::status::fz_mode;
use crate::metrics::suspected_fills_at;
use crate::{Array, DType, Encoder, Error, Options, preset_within};

/// Compresses an array with a preset, without a plan. Blocking, with default options.
///
/// Parameters:
///   `preset`              In: name of a preset of fz_pipeline_from_preset(), such as "fast".
///   `dtype`               In: element type, an fz_dtype.
///   `dims`, `ndim`        In: shape, x first, as for fz_pipeline_finalize().
///   `mode`                In: mode of `bound`, an fz_mode; FZ_MODE_LOSSLESS for lossless presets.
///   `bound`               In: error bound; 0 for lossless presets.
///   `src`                 In: the array.
///   `src_bytes`           In: length of the array in bytes.
///   `dst`                 Out: the container. Must not overlap `src`. NULL with a capacity of 0:
///                         the call compresses nothing, `src` may be NULL, and `*compressed_bytes`
///                         is set to a capacity that is sufficient for every array of this type and
///                         shape.
///   `dst_capacity_bytes`  In: capacity of `dst`. Nothing is written beyond it.
///   `compressed_bytes`    Out: length of the container in bytes.
///
/// fz_compress() with the same pipeline writes the same container. fz_decompress() restores it,
/// with NULL for plan and workspace. For several arrays of one shape, a plan and a workspace are
/// faster.
///
/// Returns:
///   FZ_UNKNOWN_NAME      No such preset.
///   FZ_INVALID_ARGUMENT  The preset does not accept the mode or the bound.
///   FZ_DST_TOO_SMALL     The error text contains the required length.
///
/// Also returns the statuses of fz_pipeline_finalize() and fz_compress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_simple(
    preset: *const c_char,
    dtype: i32,
    dims: *const u64,
    ndim: u32,
    mode: i32,
    bound: f64,
    src: *const c_void,
    src_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    compressed_bytes: *mut u64,
) -> i32 {
    let measure = dst.is_null() && dst_capacity_bytes == 0;
    let given = src_bytes;
    let (src, dst) = (Bytes::new(src, src_bytes, "src"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (preset, dims) = unsafe { (text(preset, "preset")?, numbers(dims, ndim, "dims")?) };
        // SAFETY: the caller's promise.
        let length = unsafe { out(compressed_bytes, "compressed_bytes") }?;
        let array = Array::new(DType::from_number(dtype.into())?, dims)?;
        let pipeline = preset_within(preset, array.dtype(), word(mode)?, bound)?;
        let encoder = Encoder::new(&pipeline, &array, &Options::default())?;
        if given != array.bytes() {
            let what = format!("src has {given} bytes, but dims and dtype require {}", array.bytes());
            return Err(FfiError::mismatch(what));
        }
        if measure {
            length.put(encoder.max_compressed_bytes());
            return Ok(());
        }
        let (src, dst) = regions(src, dst)?;
        let length = length.apart_from(dst, "dst")?.apart_from(src, "src")?;
        let mut workspace = encoder.workspace()?;
        // SAFETY: the caller's promise: both are memory of their lengths; `regions` checked that they do not overlap.
        let written = unsafe { encoder.compress_at(&mut workspace, src, dst) }?;
        length.put(written as u64);
        Ok(())
    })
}

/// The word of an fz_mode that a preset can have.
pub(super) fn word(mode: i32) -> crate::Result<&'static str> {
    let known = fz_mode::WORDS.iter().find(|(known, _)| *known as i32 == mode);
    known
        .map(|(_, word)| *word)
        .filter(|word| *word != "unbounded")
        .ok_or_else(|| Error::argument("mode", mode, "an fz_mode from FZ_MODE_LOSSLESS to FZ_MODE_PREL"))
}

/// Result of fz_find_fill_value().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_fill {
    /// Set to sizeof(fz_fill) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// Number of groups of suspected fill values, at most 8. Values near each other form a group. 0:
    /// none, and all other fields are 0.
    pub found: u32,
    /// The suspected fill value with the largest magnitude.
    pub value: f64,
    /// Number of elements with the magnitude of `value`.
    pub count: u64,
    /// A value for outlier_threshold. With this value, all suspected fill values are stored exactly,
    /// and so are all other values of at least this magnitude.
    pub threshold: f64,
    /// Smallest value with a magnitude below `threshold`.
    pub min: f64,
    /// Largest value with a magnitude below `threshold`.
    pub max: f64,
}

/// Searches an array for undeclared fill values, such as 1e20 among values near 1.
///
/// A fill value is declared if its magnitude is at least outlier_threshold. In modes "noa" and
/// "prel", an undeclared fill value makes the error bound so large that all other values are lost.
/// docs/fill-values.md of the sources defines when a value is suspected.
///
/// Parameters:
///   `dtype`              In: element type, an fz_dtype. For integers, fill->found is 0.
///   `src`                In: the array. The call copies device memory to the host in pieces.
///   `src_bytes`          In: length of the array in bytes.
///   `outlier_threshold`  In: outlier_threshold of the pipeline; infinity if it is not set.
///   `fill`               In/out: the result; set fill->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `src_bytes` is not a multiple of the element size, `outlier_threshold` is
///                        not positive, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_find_fill_value(
    dtype: i32,
    src: *const c_void,
    src_bytes: u64,
    outlier_threshold: f64,
    fill: *mut fz_fill,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(fill, "fill", "fz_fill") }?;
        let src = region(src, src_bytes, "src")?;
        let place = place.apart_from(src, "src")?;
        let dtype = DType::from_number(dtype.into())?;
        if src.bytes % dtype.bytes() != 0 {
            let expected = format!("a multiple of the {} bytes of {dtype}", dtype.bytes());
            return Err(Error::argument("src_bytes", src.bytes, expected).into());
        }
        if outlier_threshold.is_nan() || outlier_threshold <= 0.0 {
            return Err(Error::argument("outlier_threshold", outlier_threshold, "a number above 0").into());
        }
        // SAFETY: the caller's promise: memory of `src_bytes` bytes.
        let suspects = unsafe { suspected_fills_at(dtype, src, outlier_threshold) }?;
        let (first, last) = (suspects.first(), suspects.last());
        place.put(fz_fill {
            struct_bytes: size_of::<fz_fill>() as u32,
            found: suspects.len() as u32,
            value: first.map_or(0.0, |s| s.value),
            count: first.map_or(0, |s| s.count),
            threshold: last.map_or(0.0, |s| s.threshold),
            min: last.map_or(0.0, |s| s.others.0),
            max: last.map_or(0.0, |s| s.others.1),
        });
        Ok(())
    })
}
