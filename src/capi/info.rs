//! What a container says about itself.

use std::ffi::c_void;

use super::ffi_guard::ffi_guard;
use super::handle::{out, place_for, region};
use super::pipeline::fz_pipeline;
use super::status::{FZ_MAX_DIMS, fz_container, fz_mode};
use crate::{Container, Error, Info};

/// What fz_container_info() finds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_info {
    /// sizeof(fz_info), set by the caller before the call; any other value is refused.
    pub struct_bytes: u32,
    /// Form of the container, an fz_container.
    pub container: i32,
    /// Type of the array, an fz_dtype.
    pub dtype: i32,
    /// Dimensions, 1 to 3. The slowest dimensions of an array of more are joined; fz_container_shape() returns all of them.
    pub ndim: u32,
    /// Their lengths in elements, x first; 1 where there is no such dimension.
    pub dims: [u64; 3],
    /// Length of the array in bytes.
    pub original_bytes: u64,
    /// Length of the container in bytes.
    pub container_bytes: u64,
    /// Number of stages.
    pub stages: u32,
    /// 1: the bound was kept for every value. 0: it may be exceeded. -1: the container does not say.
    pub strict: i32,
    /// What the bound is relative to, an fz_mode; FZ_MODE_LOSSLESS when no stage loses anything,
    /// FZ_MODE_UNBOUNDED when values are rounded and nothing says by how much.
    pub mode: i32,
    /// The bound as it was asked for; 0 when lossless. A double in FZM files; to the precision of a float in a compact frame
    /// and in the exact form of the reference.
    pub bound: f64,
    /// Values of this magnitude and above were stored exactly; infinity when there is no such threshold. In the
    /// precision of the bound.
    pub outlier_threshold: f64,
}

/// Reads the header of a container; checksums are not compared. Set info->struct_bytes to sizeof(fz_info) before the call.
///
/// The container may be in memory of any kind; from device memory the call copies the header to the host and waits for that.
///
/// Errors: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED; FZ_INVALID_ARGUMENT for another struct_bytes. `*info` is then
/// untouched.
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
/// `container`  in memory of any kind, as for fz_container_info(); `container_bytes` is its whole length.
/// `dims`       receives FZ_MAX_DIMS lengths in elements, x first; 1 where there is no such dimension.
/// `ndim`       becomes the number of dimensions, 1 to FZ_MAX_DIMS.
///
/// Errors: those of fz_container_info(). `dims` and `*ndim` are then untouched.
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

/// Reads the header of a container of which only the beginning is there, as when it comes from a stream. Set info->struct_bytes
/// to sizeof(fz_info) before the call.
///
/// `beginning`     host memory, from the first byte of the container on; it may be NULL when `beginning_bytes` is 0.
/// `needed_bytes`  on success becomes the length of the header. On FZ_TRUNCATED: with how many bytes to ask again, which is
///                 more than were given and never more than the container has; otherwise untouched.
///
/// Asking again with just so many leads to the end in a few steps, some ten for the longest headers. What follows on the header is
/// not looked at, and `info->container_bytes` is what the header says of the whole.
///
/// Errors: FZ_TRUNCATED; otherwise as fz_container_info(). `*info` is then untouched.
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

/// Makes the pipeline that wrote a container, to use it again or to write it as TOML or text.
///
/// The container may be in memory of any kind, as for fz_container_info(). With the same options the pipeline makes the same
/// container of the same array, as far as the header says all: not what room there was for outliers, nor in what partitions huffman codes, nor whether value_base was
/// given or measured, nor fixed_step, and in a compact frame no more than seven digits of a bound nor the outlier_threshold of
/// lorenzo_quant. An array that did not compress has the pipeline "stored". `*pipeline` is untouched on failure.
///
/// Errors: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED.
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
