//! Plans: how it is done for one type and shape.

use std::ffi::c_void;

use super::handle::{elements, input, out, release, shared};
use super::options::{chosen, fz_options};
use super::pipeline::fz_pipeline;
use super::wall::{Answer, Refusal, quiet_wall, wall};
use crate::codec::Plan;
use crate::dtype::DType;

/// A pipeline made ready for one element type, one shape and one direction. Immutable: any number of threads may use one
/// plan at the same time. Made by fz_pipeline_finalize(), fz_plan_decoder() or fz_plan_open(), given back with
/// fz_plan_free() when no call uses it any more.
pub struct fz_plan(pub(super) Plan);

/// Makes the plan that compresses arrays of type `dtype` (an fz_dtype) and shape `dims`.
///
/// `dims`     `ndim` lengths in elements, the fastest-running dimension (x) first: a C array a[nz][ny][nx] is {nx, ny, nz}.
/// `ndim`     1 to 3.
/// `options`  NULL for the defaults.
///
/// The pipeline is copied: it may be changed or freed afterwards. `*plan` is untouched on failure.
///
/// Errors: FZ_INVALID_PIPELINE, FZ_TYPE_MISMATCH, FZ_UNSUPPORTED, FZ_TOO_LARGE, FZ_INVALID_ARGUMENT; FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_pipeline_finalize(
    pipeline: *const fz_pipeline,
    dtype: i32,
    dims: *const u64,
    ndim: u32,
    options: *const fz_options,
    plan: *mut *mut fz_plan,
) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (pipeline, plan) = unsafe { (shared(pipeline, "pipeline")?, out(plan, "plan")?) };
        // SAFETY: the caller's promise.
        let (dims, options) = unsafe { (shape(dims, ndim)?, chosen(options)?) };
        let dtype = DType::from_number(dtype.into())?;
        plan.give(fz_plan(Plan::encoder(&pipeline.0, dtype, dims, options)?));
        Ok(())
    })
}

/// Makes the plan that restores what plan `encoder` compresses, with the same options. One decoder serves all containers of
/// that plan, so it saves the work that fz_decompress() without a plan does for each.
///
/// Errors: FZ_INVALID_ARGUMENT when `encoder` is itself a decoder.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_decoder(encoder: *const fz_plan, decoder: *mut *mut fz_plan) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (encoder, decoder) = unsafe { (shared(encoder, "encoder")?, out(decoder, "decoder")?) };
        decoder.give(fz_plan(encoder.0.decoder()?));
        Ok(())
    })
}

/// Makes the plan that restores a container, from its head. It serves all containers of the same pipeline, type and shape.
///
/// `container_bytes`  length of the whole container.
/// `options`          NULL for the defaults. Of the others, checksum, threads and max_memory_bytes matter.
///
/// Errors: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_UNSUPPORTED; FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_open(
    container: *const c_void,
    container_bytes: u64,
    options: *const fz_options,
    decoder: *mut *mut fz_plan,
) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (container, options, decoder) = unsafe {
            (input(container, container_bytes, "container")?, chosen(options)?, out(decoder, "decoder")?)
        };
        decoder.give(fz_plan(Plan::open(container, options)?));
        Ok(())
    })
}

/// Frees a plan; NULL is allowed. Workspaces made for it may be freed before or after, but no longer be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_free(plan: *mut fz_plan) {
    // SAFETY: the caller's promise.
    quiet_wall(|| unsafe { release(plan) });
}

/// The most bytes that fz_compress() with this plan can write, whatever the array holds: a destination of that size is never
/// too small.
///
/// Errors: FZ_INVALID_ARGUMENT for a decoder.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_max_compressed_bytes(plan: *const fz_plan, bytes: *mut u64) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (plan, bytes) = unsafe { (shared(plan, "plan")?, out(bytes, "bytes")?) };
        bytes.put(plan.0.max_compressed_bytes()?);
        Ok(())
    })
}

/// The lengths that C passed, when they are as many as an array can have.
///
/// # Safety
/// As for [`elements`].
unsafe fn shape<'a>(dims: *const u64, ndim: u32) -> Answer<&'a [u64]> {
    if !(1..=3).contains(&ndim) {
        return Err(Refusal::argument(format!("ndim is {ndim}; expected 1 to 3")));
    }
    // SAFETY: the caller's promise, passed on; the length was checked above.
    unsafe { elements(dims, ndim.into(), "dims") }
}
