//! Plans: pipelines prepared for one element type and shape.
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
/// fz_pipeline_finalize(), fz_plan_decoder(), or fz_plan_open(). Free it with fz_plan_free() when
/// no function is using it. Enqueued work and captured graphs do not use the plan.
pub struct fz_plan {
    pub(super) task: Task,
    /// Distinguishes this plan from all others, including later plans at the same address.
    pub(super) identity: Arc<()>,
}

impl Handle for fz_plan {
    const NAME: &'static str = "fz_plan";
}

/// The two kinds of plans that C sees as one type. A batch keeps the plans of its arrays.
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

/// Creates an encoder: a plan that compresses arrays of one element type and shape.
///
/// Parameters:
///   `pipeline`  In: copied; you may change or free it afterwards.
///   `dtype`     In: element type, an fz_dtype.
///   `dims`      In: `ndim` lengths in elements, the fastest dimension (x) first: a C array
///               `a[nz][ny][nx]` has {nx, ny, nz}. A length may be 0; the array then has no
///               elements.
///   `ndim`      In: 1 to FZ_MAX_DIMS. Stages distinguish 3 dimensions. If an array has more, they
///               treat the third dimension and all slower ones as one dimension.
///   `options`   In: may be NULL for the defaults.
///   `plan`      Out: the plan.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  An option is out of range, the array has more than 2^56 bytes, or no GPU
///                        has the number options->device.
///   FZ_UNSUPPORTED       A stage does not support a parameter. Also if options->device is the
///                        number of a GPU, and a stage has no device code.
///   FZ_NO_DEVICE         options->device is the number of a GPU, all stages have device code, and
///                        no GPU can be used.
///   FZ_INVALID_PIPELINE, FZ_TYPE_MISMATCH, FZ_TOO_LARGE.
///
/// The function detects every defect of the pipeline. It also fails if the pipeline cannot process
/// arrays of this type and shape. Two conditions depend on the values, so the compression checks
/// them:
/// - The parameters of stages huffman and bitpack limit the elements of their input. If an element
///   is above the limit, the compression fails with FZ_INVALID_ARGUMENT.
/// - Outlier lists have a capacity; see fz_compress().
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

/// Creates a decoder for the containers of `encoder`, with the options of `encoder`.
/// fz_decompress() and fz_decompress_async() with this decoder restore every container of
/// `encoder`. fz_decompress() without a plan creates a decoder in each call.
///
/// Exception: if outlier lists feed a stage, as in preset "lc_cr", and a blocking call has enlarged
/// them, fz_decompress_async() reports FZ_PLAN_MISMATCH. fz_decompress() restores the container.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `encoder` is a decoder.
///   FZ_UNSUPPORTED       options->device is the number of a GPU, and a stage has no device code
///                        for decompression.
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

/// Creates a decoder from the header of a container. This call does not compare checksums; calls
/// with the decoder compare them if options->checksum is not 0.
///
/// Parameters:
///   `container`        In: the container. If it is in device memory, the call copies only its
///                      header to the host.
///   `container_bytes`  In: length of the whole container in bytes.
///   `options`          In: may be NULL for the defaults. Only checksum, threads, device, and
///                      max_memory_bytes are used.
///   `decoder`          Out: the plan.
///
/// The container is called the opened container. The decoder has enough memory for it. For all
/// containers of an encoder, use fz_plan_decoder() instead. A stage output is any output of a stage,
/// such as its codes or an outlier list. A container fits the decoder if it has the element type and
/// shape of the opened container, was written with the same fz_options::strict and
/// fz_options::generation, and is one of these containers:
/// - the opened container;
/// - a container of the same pipeline and parameters, if every stage output is at most as long as in
///   the opened container. Numbers that an encoder computes from the array may differ, such as the
///   value range;
/// - a container that stores its array uncompressed.
///
/// The form of a container is FZM file or compact frame (fz_container). Results:
/// - The container fits, and has the form of the opened container: it is restored.
/// - The container fits, and has the other form: fz_decompress_async() reports FZ_NOT_A_CONTAINER.
///   fz_decompress() restores the container.
/// - The container does not fit, and has the form of the opened container: fz_decompress_async()
///   reports FZ_PLAN_MISMATCH. fz_decompress() returns FZ_PLAN_MISMATCH, or restores the container
///   correctly.
/// - The container does not fit, and has the other form: fz_decompress_async() reports
///   FZ_NOT_A_CONTAINER. fz_decompress() returns FZ_PLAN_MISMATCH, or restores the container
///   correctly.
///
/// If the element type, the shape, or the stages differ from those of the opened container,
/// fz_decompress() returns FZ_PLAN_MISMATCH.
///
/// A foreign header is a header that is not encoded exactly as fzgm encodes it, as in some files of
/// other programs. Only the host reads foreign headers:
/// - If the opened container has a foreign header, every call of fz_decompress_async() with the
///   decoder returns FZ_UNSUPPORTED.
/// - If the opened container has no foreign header, fz_decompress_async() restores no container with
///   a foreign header. It reports FZ_PLAN_MISMATCH if this container has the form of the opened
///   container, and FZ_NOT_A_CONTAINER if it has the other form.
/// - fz_decompress() also restores containers with foreign headers.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  An option is out of range, or no GPU has the number options->device. Also
///                        if `container` is in device memory, and options->device is FZ_DEVICE_CPU
///                        or another GPU.
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_MEMORY_LIMIT.
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

/// Frees a plan. NULL is permitted. Do not free a plan while a function is using it.
///
/// Workspaces of the plan may be freed before or after the plan. After the plan is freed, do not
/// pass these workspaces to new calls. Enqueued work and captured graphs may still use them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_free(plan: *mut fz_plan) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(plan, "plan") });
}

/// Returns in `*bytes` the largest number of bytes that fz_compress() can write with this plan, for
/// any array. A `dst` of this size is never too small.
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
