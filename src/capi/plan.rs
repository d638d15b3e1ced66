//! Plans: how it is done for one type and shape.

use std::ffi::c_void;
use std::sync::Arc;

use super::ffi_guard::{FfiError, FfiResult, ffi_guard, ffi_guard_drop};
use super::handle::{handle, numbers, out, region, release};
use super::handle_registry::Handle;
use super::options::{chosen, fz_options};
use super::pipeline::fz_pipeline;
use crate::{Array, DType, Decoder, Encoder};

/// A pipeline made ready for one element type, one shape and one direction. Immutable: any number of threads may use one
/// plan at the same time. Made by fz_pipeline_finalize(), fz_plan_decoder() or fz_plan_open(), given back with
/// fz_plan_free() when no call uses it any more; what an asynchronous call has put on a stream needs the plan no longer.
pub struct fz_plan {
    pub(super) task: Task,
    /// What tells this plan from all others.
    pub(super) identity: Arc<()>,
}

impl Handle for fz_plan {
    const NAME: &'static str = "fz_plan";
}

/// The two kinds of plans that C sees as one. They live in the box that C holds and are never moved.
#[allow(clippy::large_enum_variant)]
pub(super) enum Task {
    Compress(Encoder),
    Restore(Decoder),
}

impl fz_plan {
    fn new(task: Task) -> Self {
        fz_plan { task, identity: Arc::new(()) }
    }

    /// Threads of a call.
    pub(super) fn threads(&self) -> u32 {
        match &self.task {
            Task::Compress(encoder) => encoder.options().threads,
            Task::Restore(decoder) => decoder.options().threads,
        }
    }

    pub(super) fn encoder(&self) -> FfiResult<&Encoder> {
        match &self.task {
            Task::Compress(encoder) => Ok(encoder),
            Task::Restore(_) => {
                Err(FfiError::argument("the plan is a decoder; expected one of fz_pipeline_finalize"))
            }
        }
    }

    pub(super) fn decoder(&self) -> FfiResult<&Decoder> {
        match &self.task {
            Task::Restore(decoder) => Ok(decoder),
            Task::Compress(_) => {
                Err(FfiError::argument("the plan is an encoder; expected one of fz_plan_decoder or _open"))
            }
        }
    }
}

/// Makes the plan that compresses arrays of type `dtype` (an fz_dtype) and shape `dims`.
///
/// `dims`     `ndim` lengths in elements, the fastest-running dimension (x) first: a C array `a[nz][ny][nx]` is {nx, ny, nz}.
/// `ndim`     1 to FZ_MAX_DIMS. Stages tell apart 3 dimensions at most; the slowest ones of more are joined for them.
/// `options`  NULL for the defaults.
///
/// The pipeline is copied: it may be changed or freed afterwards. `*plan` is untouched on failure.
///
/// Errors: FZ_INVALID_PIPELINE, FZ_TYPE_MISMATCH, FZ_UNSUPPORTED, FZ_TOO_LARGE, FZ_INVALID_ARGUMENT; FZ_NO_DEVICE when
/// options->device is a GPU and there is none. What is wrong with a pipeline or with its fit to the array is said here, but
/// for codes that are too wide for a later stage, such as huffman: only the values decide that.
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
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (pipeline, plan) = unsafe { (handle(pipeline, "pipeline")?, out(plan, "plan")?) };
        // SAFETY: the caller's promise.
        let (dims, options) = unsafe { (numbers(dims, ndim, "dims")?, chosen(options)?) };
        let array = Array::new(DType::from_number(dtype.into())?, dims)?;
        plan.give(fz_plan::new(Task::Compress(Encoder::new(&pipeline.0, &array, &options)?)))
    })
}

/// Makes the plan that restores what plan `encoder` compresses, with the same options. One decoder serves all containers of
/// that plan, so it saves the work that fz_decompress() without a plan does for each.
///
/// Errors: FZ_INVALID_ARGUMENT when `encoder` is itself a decoder; FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_decoder(encoder: *const fz_plan, decoder: *mut *mut fz_plan) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (encoder, decoder) = unsafe { (handle(encoder, "encoder")?, out(decoder, "decoder")?) };
        decoder.give(fz_plan::new(Task::Restore(encoder.encoder()?.decoder()?)))
    })
}

/// Makes the plan that restores a container, from its header, with memory for just that one. Others of the same pipeline, type
/// and shape are served as far as they need no more of it; fz_plan_decoder() makes a plan for all of them.
///
/// `container_bytes`  length of the whole container, which may be in memory of any kind; from device memory the header is copied.
/// `options`          NULL for the defaults. Of the others, checksum, threads, device and max_memory_bytes matter.
///
/// It serves asynchronous calls too, with the same containers: another one ends with FZ_PLAN_MISMATCH. Only where the header is one
/// that fzgm would write otherwise, as some files of the reference have, it is for blocking calls alone.
///
/// Errors: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_UNSUPPORTED; FZ_MEMORY_LIMIT; FZ_NO_DEVICE.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_open(
    container: *const c_void,
    container_bytes: u64,
    options: *const fz_options,
    decoder: *mut *mut fz_plan,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (options, decoder) = unsafe { (chosen(options)?, out(decoder, "decoder")?) };
        let container = region(container, container_bytes, "container")?;
        // SAFETY: the caller's promise.
        let opened = unsafe { Decoder::open_at(container, &options) }?;
        decoder.give(fz_plan::new(Task::Restore(opened)))
    })
}

/// Frees a plan; NULL is allowed. Workspaces made for it may be freed before or after, but no longer be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_free(plan: *mut fz_plan) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(plan, "plan") });
}

/// The most bytes that fz_compress() with this plan can write, whatever the array holds: a destination of that size is never
/// too small.
///
/// Errors: FZ_INVALID_ARGUMENT for a decoder.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_max_compressed_bytes(plan: *const fz_plan, bytes: *mut u64) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, bytes) = unsafe { (handle(plan, "plan")?, out(bytes, "bytes")?) };
        bytes.put(plan.encoder()?.max_compressed_bytes());
        Ok(())
    })
}
