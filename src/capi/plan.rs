//! Plans: how it is done for one type and shape.
//!
//! Section of the header: Plans.

use std::ffi::c_void;
use std::sync::Arc;

use super::ffi_guard::{FfiError, FfiResult, ffi_guard, ffi_guard_drop};
use super::handle::{handle, numbers, out, region, release};
use super::handle_registry::Handle;
use super::options::{chosen, fz_options};
use super::pipeline::fz_pipeline;
use crate::{Array, DType, Decoder, Encoder};

/// A pipeline prepared for one element type, one shape, and one direction: an encoder or a decoder.
/// Plans are immutable; any number of threads may use a plan at the same time. Create a plan with
/// fz_pipeline_finalize(), fz_plan_decoder(), or fz_plan_open(); free it with fz_plan_free() when
/// no function call uses it. Work that an asynchronous call has enqueued does not require the plan.
pub struct fz_plan {
    pub(super) task: Task,
    /// What tells this plan from all others.
    pub(super) identity: Arc<()>,
}

impl Handle for fz_plan {
    const NAME: &'static str = "fz_plan";
}

/// The two kinds of plans that C sees as one. Batches keep those of their arrays.
pub(super) enum Task {
    Compress(Arc<Encoder>),
    Restore(Arc<Decoder>),
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
                Err(FfiError::argument("plan is a decoder; expected an encoder from fz_pipeline_finalize()"))
            }
        }
    }

    pub(super) fn decoder(&self) -> FfiResult<&Decoder> {
        match &self.task {
            Task::Restore(decoder) => Ok(decoder),
            Task::Compress(_) => Err(FfiError::argument(
                "plan is an encoder; expected a decoder from fz_plan_decoder() or fz_plan_open()",
            )),
        }
    }
}

/// Creates the plan (encoder) that compresses arrays of one element type and shape.
///
/// Parameters:
///   `pipeline`  In: copied; it may be changed or freed afterwards.
///   `dtype`     In: element type, an fz_dtype.
///   `dims`      In: `ndim` lengths in elements, the fastest dimension (x) first: a C array
///               `a[nz][ny][nx]` has {nx, ny, nz}.
///   `ndim`      In: 1 to FZ_MAX_DIMS. Stages distinguish at most 3 dimensions; of more, the
///               slowest are joined.
///   `options`   In: may be NULL for the defaults.
///   `plan`      Out: the plan; unchanged on failure.
///
/// Returns:
///   FZ_NO_DEVICE  options->device is a GPU that is not available.
///   FZ_INVALID_PIPELINE, FZ_TYPE_MISMATCH, FZ_UNSUPPORTED, FZ_TOO_LARGE, FZ_INVALID_ARGUMENT.
///
/// All defects of a pipeline, and of its fit to the array, are reported here, with one exception:
/// whether codes are too wide for a later stage, such as huffman, depends on the values.
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
        plan.give(fz_plan::new(Task::Compress(Arc::new(Encoder::new(&pipeline.0, &array, &options)?))))
    })
}

/// Creates the plan (decoder) that restores the containers of an encoder, with the options of the
/// encoder. The decoder restores all containers of the encoder; it saves the work that
/// fz_decompress() without a plan repeats for each container.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `encoder` is a decoder.
///   FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_decoder(encoder: *const fz_plan, decoder: *mut *mut fz_plan) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (encoder, decoder) = unsafe { (handle(encoder, "encoder")?, out(decoder, "decoder")?) };
        decoder.give(fz_plan::new(Task::Restore(Arc::new(encoder.encoder()?.decoder()?))))
    })
}

/// Creates the plan (decoder) that restores a container, from the header of the container.
///
/// Parameters:
///   `container`        In: memory of any kind; the header is copied from device memory.
///   `container_bytes`  In: length of the whole container in bytes.
///   `options`          In: may be NULL for the defaults. Only checksum, threads, device, and
///                      max_memory_bytes are used.
///   `decoder`          Out: the plan.
///
/// The plan reserves memory for this container only. It also restores other containers of the same
/// pipeline, element type, and shape if they require no more memory; fz_plan_decoder() creates a
/// plan for all of them.
///
/// The plan also supports asynchronous calls, with the same containers; any other container results
/// in FZ_PLAN_MISMATCH. Exception: if the header is not in the form that fzgm writes, as in some
/// files of the reference, the plan supports blocking calls only.
///
/// Returns:
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_UNSUPPORTED, FZ_MEMORY_LIMIT, FZ_NO_DEVICE.
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
        decoder.give(fz_plan::new(Task::Restore(Arc::new(opened))))
    })
}

/// Frees a plan. NULL is permitted. Workspaces created for the plan must not be used afterwards;
/// they may be freed before or after the plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_free(plan: *mut fz_plan) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(plan, "plan") });
}

/// Returns the largest number of bytes that fz_compress() can write with this plan, for any array,
/// in `*bytes`. A destination of this size is never too small.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `plan` is a decoder.
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
