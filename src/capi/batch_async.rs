//! Batches on a GPU, without waiting.
//!
//! Section of the header: Asynchronous batches.

use std::ffi::c_void;

use super::batch::{fz_batch_plan, fz_batch_workspace};
use super::device::{fz_cuda_stream, fz_result, stream_of};
use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{exclusive, handle, places};
use crate::BatchAddresses;

/// Prepares a batch plan and a workspace for asynchronous calls on a stream: loads device code,
/// allocates device memory, and waits for its own copies. Without this function, the first call does
/// this work.
///
/// Parameters:
///   `batch`      In: encoders, or decoders.
///   `workspace`  In/out: created for `batch`.
///   `stream`     In: see fz_compress_async(). Must not be capturing.
///
/// Afterwards fz_compress_batch_async() and fz_decompress_batch_async() with this workspace only
/// enqueue kernels, and can be captured. This applies to the context of `stream`.
///
/// Returns:
///   FZ_UNSUPPORTED    The device code of a plan has no version for batches; see
///                     fz_compress_batch_async().
///   FZ_PLAN_MISMATCH  `workspace` belongs to another batch plan.
///   FZ_NO_DEVICE, FZ_OUT_OF_MEMORY, FZ_DEVICE.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_preload(
    batch: *const fz_batch_plan,
    workspace: *mut fz_batch_workspace,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, exclusive(workspace, "workspace")?) };
        let workspace = workspace.serve(batch)?;
        match batch.decoders.is_empty() {
            true => batch.encoders.preload(workspace, stream_of(stream))?,
            false => batch.decoders.preload(workspace, stream_of(stream))?,
        }
        Ok(())
    })
}

/// Enqueues the compression of many arrays on a stream, and returns before the work completes. One
/// sequence of kernels compresses all arrays of one plan, for any number of arrays.
///
/// Parameters:
///   `batch`               In: encoders, from fz_batch_plan_new(), of the device of the stream.
///   `workspace`           In/out: created for `batch`; not NULL.
///   `src`                 In: the address of each array. Its length is that of its plan.
///   `dst`                 Out: the address of each container. A container must not overlap other
///                         memory of the call.
///   `dst_capacity_bytes`  In: the capacity of each container. Nothing is written beyond it.
///   `results`             Out: the result of each array, as for fz_compress_async(); not NULL.
///   `stream`              In: see fz_compress_async().
///
/// `src`, `dst`, `dst_capacity_bytes`, and `results` are arrays in device memory, aligned to 8
/// bytes, with an entry for each array of the batch. The work on the stream reads the entries, so a
/// captured graph compresses the arrays that they refer to when it is launched. They, and the memory
/// that they refer to, must remain valid and unmodified until the call completes on `stream`.
///
/// Each container has the bytes of fz_compress_async() with the plan of its array, and each array
/// has its own result: a failure does not affect the others. If `src[i]` or `dst[i]` is NULL and the
/// array has elements, array i is skipped, with the status FZ_NULL_POINTER.
///
/// Device code for batches exists for preset "fast" with arrays of up to 256 chunks, and for preset
/// "pfpl" with arrays of f32 of up to 8 MiB. A chunk of preset "fast" has 8192 elements in 1
/// dimension, 32 x 256 in 2, and 32 x 32 x 8 in 3.
///
/// Returns:
///   FZ_UNSUPPORTED  The device code of a plan has no version for batches.
///   FZ_INVALID_ARGUMENT, FZ_NULL_POINTER, FZ_PLAN_MISMATCH, FZ_NO_DEVICE, FZ_OUT_OF_MEMORY,
///   FZ_DEVICE.
///
/// If the function returns one of these statuses other than FZ_DEVICE, no work was enqueued.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_batch_async(
    batch: *const fz_batch_plan,
    workspace: *mut fz_batch_workspace,
    src: *const *const c_void,
    dst: *const *mut c_void,
    dst_capacity_bytes: *const u64,
    results: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, exclusive(workspace, "workspace")?) };
        let encoders = batch.encoders()?;
        let tables = BatchAddresses {
            src: table(src, encoders.len(), "src")?,
            dst: table(dst, encoders.len(), "dst")?,
            dst_bytes: table(dst_capacity_bytes, encoders.len(), "dst_capacity_bytes")?,
            results: table(results.cast_const(), encoders.len(), "results")?,
            ..BatchAddresses::default()
        };
        // SAFETY: the caller's promise.
        unsafe { encoders.compress_async(workspace.serve(batch)?, tables, stream_of(stream)) }?;
        Ok(())
    })
}

/// Enqueues the decompression of many arrays on a stream, and returns before the work completes.
///
/// Parameters:
///   `batch`               In: decoders, from fz_batch_plan_new(), of the device of the stream.
///   `workspace`           In/out: created for `batch`; not NULL.
///   `containers`          In: the address of each container.
///   `container_capacity_bytes`  In: at least the length of each container, as for
///                         fz_decompress_async().
///   `dst`                 Out: the address of each array. An array must not overlap other memory of
///                         the call.
///   `dst_capacity_bytes`  In: the capacity of each array. If it is less than the length of the
///                         array, the array is skipped, with the status FZ_DST_TOO_SMALL.
///   `results`, `stream`   As for fz_compress_batch_async().
///
/// The rules of fz_compress_batch_async() apply to the arrays in device memory, and those of
/// fz_decompress_async() to each container, which may come from an untrusted source.
///
/// Returns: as fz_compress_batch_async().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_batch_async(
    batch: *const fz_batch_plan,
    workspace: *mut fz_batch_workspace,
    containers: *const *const c_void,
    container_capacity_bytes: *const u64,
    dst: *const *mut c_void,
    dst_capacity_bytes: *const u64,
    results: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, exclusive(workspace, "workspace")?) };
        let decoders = batch.decoders()?;
        let tables = BatchAddresses {
            src: table(containers, decoders.len(), "containers")?,
            src_bytes: table(container_capacity_bytes, decoders.len(), "container_capacity_bytes")?,
            dst: table(dst, decoders.len(), "dst")?,
            dst_bytes: table(dst_capacity_bytes, decoders.len(), "dst_capacity_bytes")?,
            results: table(results.cast_const(), decoders.len(), "results")?,
        };
        // SAFETY: the caller's promise.
        unsafe { decoders.decompress_async(workspace.serve(batch)?, tables, stream_of(stream)) }?;
        Ok(())
    })
}

/// The address of an array in device memory, which is not read here. A batch without arrays needs none.
fn table<T>(at: *const T, count: usize, name: &str) -> FfiResult<u64> {
    if count > 0 {
        places(at.cast_mut(), count as u64, name)?;
    }
    Ok(at as u64)
}
