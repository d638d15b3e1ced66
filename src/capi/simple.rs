//! The call that needs no plan, and what it does not see in an array.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiError, ffi_guard};
use super::handle::{Bytes, numbers, out, place_for, region, regions, text};
use super::status::fz_mode;
use crate::metrics::suspected_fills_at;
use crate::{Array, DType, Encoder, Error, Options, preset_within};

/// Compresses an array in one call.
///
/// `preset`              one of fz_pipeline_from_preset(), such as "fast".
/// `dtype`               type of the array, an fz_dtype.
/// `dims`, `ndim`        its shape, x first, as for fz_pipeline_finalize().
/// `mode`, `bound`       what the bound is relative to (an fz_mode), and the bound; for lossless presets FZ_MODE_LOSSLESS and 0.
/// `src`, `src_bytes`    the array, at any address.
/// `dst`                 receives the container; must not overlap with `src`. NULL with a capacity of 0: nothing is compressed, `src` may be
///                       NULL, and `*compressed_bytes` becomes a capacity that is enough for every array of this type and shape.
/// `dst_capacity_bytes`  nothing is written beyond.
/// `compressed_bytes`    becomes the length of the container; untouched on failure.
///
/// Options are the defaults, and memory may be of any kind, as for fz_compress(). Programs that compress several arrays of one shape save time
/// with a plan and a workspace. The container has the bytes that fz_compress() writes; fz_decompress() with NULL for plan and workspace restores it.
///
/// Errors: FZ_UNKNOWN_NAME for a preset that there is not; FZ_INVALID_ARGUMENT for a mode or bound that the preset does not accept; those of
/// fz_pipeline_finalize() and fz_compress(), among them FZ_DST_TOO_SMALL, with the required length in the text.
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
            let what = format!("src has {given} bytes, dims and dtype make {}", array.bytes());
            return Err(FfiError::mismatch(what));
        }
        if measure {
            length.put(encoder.max_compressed_bytes());
            return Ok(());
        }
        let (src, dst) = regions(src, dst)?;
        let length = length.apart_from(dst, "dst")?.apart_from(src, "src")?;
        let mut workspace = encoder.workspace()?;
        // SAFETY: the caller's promise: both are memory of so many bytes, and they do not overlap.
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

/// What fz_find_fill_value() finds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_fill {
    /// sizeof(fz_fill), set by the caller before the call; any other value is refused.
    pub struct_bytes: u32,
    /// How many values look like fill values; 0: none, and the other fields are 0.
    pub found: u32,
    /// The one of the largest magnitude.
    pub value: f64,
    /// How many elements have its magnitude.
    pub count: u64,
    /// The smallest magnitude among those that look like fill values, and among values beside them: the outlier_threshold that keeps all of them.
    pub threshold: f64,
    /// The smallest bounded value below that threshold.
    pub min: f64,
    /// The largest one.
    pub max: f64,
}

/// Looks for fill values that nobody declared, such as 1e20 among values near 1. Under modes noa and prel such a value makes the bound so large
/// that all others are lost, unless outlier_threshold is at most its magnitude. docs/fill-values.md has the rule. Set fill->struct_bytes to sizeof(fz_fill)
/// before the call.
///
/// `dtype`              an fz_dtype; arrays of integers have no fill values.
/// `src`, `src_bytes`   the array, in host or device memory. From a device it is copied in pieces to the host, and the call waits for that.
/// `outlier_threshold`  that of the pipeline; infinity: none is set.
///
/// Errors: FZ_INVALID_ARGUMENT for a length that is no whole number of elements, a threshold that is not positive, or another struct_bytes;
/// FZ_OUT_OF_MEMORY; FZ_DEVICE. `*fill` is then untouched.
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
        // SAFETY: the caller's promise: memory of so many bytes.
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
