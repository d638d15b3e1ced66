//! The description of a container, read from its header.
//!
//! Section of the header: Container headers.

use std::ffi::c_void;

use super::ffi_guard::ffi_guard;
use super::handle::{out, place_for, region};
use super::pipeline::fz_pipeline;
use super::status::{FZ_MAX_DIMS, fz_container, fz_mode};
use crate::{Container, Error, Info};

/// Result of fz_container_info().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_info {
    /// Set to sizeof(fz_info) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// Form of the container, an fz_container.
    pub container: i32,
    /// Element type, an fz_dtype.
    pub dtype: i32,
    /// Number of dimensions, 1 to 3. If the array has more, the third dimension and all slower ones
    /// count as one; fz_container_shape() returns all dimensions.
    pub ndim: u32,
    /// Lengths in elements, x first; 1 for unused dimensions.
    pub dims: [u64; 3],
    /// Length of the array in bytes.
    pub original_bytes: u64,
    /// Length of the container in bytes.
    pub container_bytes: u64,
    /// Number of stages.
    pub stages: u32,
    /// 1: the error bound holds for every bounded value. 0: the error bound may be exceeded. -1: not
    /// recorded in the container.
    pub strict: i32,
    /// Mode of the error bound, an fz_mode. FZ_MODE_LOSSLESS: no stage is lossy. FZ_MODE_UNBOUNDED:
    /// lossy without a bound on the error.
    pub mode: i32,
    /// Requested error bound; 0 if lossless. The bound has the precision of a float in compact frames
    /// and in the exact form of the reference (fz_options::strict), and of a double in all other FZM
    /// files.
    pub bound: f64,
    /// Values of this magnitude or above were stored exactly; infinity: no threshold. The threshold
    /// has the precision of `bound`. Exception: a compact frame of stage lorenzo_quant does not
    /// record the threshold; this field is then infinity.
    pub outlier_threshold: f64,
}

/// Reads the header of a container. Checksums are not compared. Blocking.
///
/// Parameters:
///   `container`        In: the container. The call copies the header from device memory.
///   `container_bytes`  In: length of the whole container in bytes.
///   `info`             In/out: the result; set info->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  struct_bytes is wrong.
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_container_info(
    container: *const c_void,
    container_bytes: u64,
    info: *mut fz_info,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(info, "info", "fz_info") }?;
        let container = region(container, container_bytes, "container")?;
        // SAFETY: the caller's promise.
        place.put(fz_info::from(&unsafe { crate::info_at(container) }?));
        Ok(())
    })
}

/// Reads the shape of the array of a container, with all of its dimensions.
///
/// Parameters:
///   `container`        In: the container, as for fz_container_info().
///   `container_bytes`  In: length of the whole container in bytes.
///   `dims`             Out: FZ_MAX_DIMS lengths in elements, x first; 1 for unused dimensions.
///   `ndim`             Out: number of dimensions, 1 to FZ_MAX_DIMS.
///
/// Returns the statuses of fz_container_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_container_shape(
    container: *const c_void,
    container_bytes: u64,
    dims: *mut u64,
    ndim: *mut u32,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (dims, ndim) =
            unsafe { (out(dims.cast::<[u64; FZ_MAX_DIMS as usize]>(), "dims")?, out(ndim, "ndim")?) };
        let container = region(container, container_bytes, "container")?;
        let (dims, ndim) =
            (dims.apart_from(container, "container")?, ndim.apart_from(container, "container")?);
        // SAFETY: the caller's promise.
        let array = unsafe { crate::info_at(container) }?.array;
        let mut all = [1; FZ_MAX_DIMS as usize];
        all[..array.dims().len()].copy_from_slice(array.dims());
        dims.put(all);
        ndim.put(array.dims().len() as u32);
        Ok(())
    })
}

/// Reads the header of a container from the first bytes of the container, for example while it
/// arrives from a network.
///
/// Parameters:
///   `beginning`        In: the first bytes of the container, in host memory.
///   `beginning_bytes`  In: number of bytes at `beginning`.
///   `info`             In/out: the result; set info->struct_bytes before the call.
///   `needed_bytes`     Out: on success, the length of the header. On FZ_TRUNCATED, the number of
///                      bytes to pass to the next call: more than `beginning_bytes`, and at most
///                      the length of the container. On other failures unchanged.
///
/// Repeat the call with `*needed_bytes` bytes until it succeeds. The longest headers require
/// about ten calls. The call does not read bytes after the header; info->container_bytes is the
/// length of the container that the header states.
///
/// Returns:
///   FZ_TRUNCATED  `beginning_bytes` is too small.
///
/// Also returns the statuses of fz_container_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_container_info_partial(
    beginning: *const c_void,
    beginning_bytes: u64,
    info: *mut fz_info,
    needed_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(info, "info", "fz_info") }?;
        // SAFETY: the caller's promise.
        let needed = unsafe { out(needed_bytes, "needed_bytes") }?;
        let beginning = region(beginning, beginning_bytes, "beginning")?;
        let needed = needed.apart_from(beginning, "beginning")?;
        // SAFETY: the caller's promise.
        match crate::info_partial(unsafe { beginning.host() }) {
            Ok(info) => {
                needed.put(info.header_bytes);
                place.put(fz_info::from(&info));
                Ok(())
            }
            Err(e) => {
                if let Error::Truncated { needed: bytes } = e {
                    needed.put(bytes);
                }
                Err(e.into())
            }
        }
    })
}

/// Creates the pipeline that wrote a container, to use it again or to write it as text.
///
/// Parameters:
///   `container`        In: the container. The call copies it from device memory.
///   `container_bytes`  In: length of the whole container in bytes.
///   `pipeline`         Out: the pipeline.
///
/// The header does not record all parameters. In this pipeline, unrecorded parameters have their
/// defaults. If these parameters also have their defaults in the original pipeline, this pipeline
/// writes the same container for the same array and options. The header of an FZM file does not
/// record:
/// - outlier_capacity;
/// - encode_mode of stage huffman;
/// - fixed_step of stages fast, quantizer, and lorenzo_quant;
/// - value_base: the pipeline computes the value from the array.
///
/// In addition, the header of a compact frame lacks two things: outlier_threshold of stage
/// lorenzo_quant, and the digits of the error bound after the seventh.
///
/// If the container stores the array uncompressed, the pipeline consists of stage "stored".
///
/// Returns:
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_from_container(
    container: *const c_void,
    container_bytes: u64,
    pipeline: *mut *mut fz_pipeline,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { out(pipeline, "pipeline") }?;
        let container = region(container, container_bytes, "container")?;
        // SAFETY: the caller's promise.
        place.give(fz_pipeline(unsafe { crate::pipeline_at(container) }?))
    })
}

impl From<&Info> for fz_info {
    fn from(info: &Info) -> Self {
        let mut dims = [1; 3];
        let shape = info.array.joined_dims();
        dims[..shape.len()].copy_from_slice(shape);
        fz_info {
            struct_bytes: size_of::<fz_info>() as u32,
            container: match info.container {
                Container::Fzm => fz_container::FZ_CONTAINER_FZM,
                Container::Compact => fz_container::FZ_CONTAINER_COMPACT,
            } as i32,
            dtype: info.array.dtype() as i32,
            ndim: shape.len() as u32,
            dims,
            original_bytes: info.array.bytes(),
            container_bytes: info.container_bytes,
            stages: info.stages.len() as u32,
            strict: info.strict.map_or(-1, i32::from),
            mode: fz_mode::of(info.mode) as i32,
            bound: info.bound,
            outlier_threshold: info.outlier_threshold,
        }
    }
}
