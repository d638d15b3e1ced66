//! Batches on a GPU, without waiting.
//!
//! Section of the header: Asynchronous batches.

use std::ffi::c_void;

use super::batch::{fz_batch_plan, fz_batch_workspace};
use super::device::{fz_cuda_stream, fz_result, stream_of};
use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{exclusive, handle, places};
use crate::BatchAddresses;

/// Prepares a batch workspace for asynchronous calls: allocates its device memory, copies the
/// tables of the plans to it, loads device code, and waits until this work is complete.
///
/// Parameters:
///   `batch`      In: encoders, or decoders.
///   `workspace`  In/out: created for `batch`.
///   `stream`     In: as for fz_plan_preload(). Must not be capturing.
///
/// The preparation applies to one workspace, and to all streams of the context of `stream`. If the
/// workspace is already prepared in this context, the function does nothing.
///
/// Afterwards, fz_compress_batch_async() and fz_decompress_batch_async() with this workspace only
/// enqueue kernels. They allocate no memory, never wait, and can be captured. Without
/// fz_batch_preload(), the first asynchronous call prepares the workspace itself; this is not
/// supported in a capture.
///
/// The function may wait for earlier work on the device. Call it before you begin a capture. While
/// another thread captures in global mode, the function may return FZ_DEVICE and invalidate the
/// capture.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  options->device of a plan is FZ_DEVICE_CPU or the number of another GPU
///                        than that of `stream`.
///   FZ_UNSUPPORTED       A stage of a plan has no device code. Also if a decoder is from
///                        fz_plan_open(), and the container that it was opened from has a foreign
///                        header.
///   FZ_PLAN_MISMATCH     `workspace` belongs to another batch plan.
///   FZ_MEMORY_LIMIT      The device memory of a decoder exceeds options->max_memory_bytes.
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

/// Enqueues the compression of many arrays on a stream, and returns before the work completes. The
/// number of arrays is at most 2^32. Every plan whose stages have device code is accepted. The
/// number of kernels depends on the plan:
/// - Small arrays of presets "fast" and "pfpl" share their kernels: the call enqueues one sequence
///   of kernels for up to 65,535 arrays of a plan. Such arrays are those of preset "fast" with up to
///   256 chunks, and f32 arrays of preset "pfpl" with up to 8 MiB. A chunk of preset "fast" has 8192
///   elements in 1 dimension, 32 x 256 in 2, and 32 x 32 x 8 in 3.
/// - Other arrays are compressed one after the other: the call enqueues the kernels of
///   fz_compress_async() and one more kernel for each array. The time of the call on the host grows
///   with the number of arrays.
///
/// Parameters:
///   `batch`               In: encoders, from fz_batch_plan_new(). options->device of each plan
///                         must be FZ_DEVICE_AUTO or the number of the GPU of `stream`.
///   `workspace`           In/out: created for `batch`; not NULL.
///   `src`                 In: the address of each array. The plan of an array determines the
///                         length of the array.
///   `dst`                 Out: the address of each container. A container must not overlap other
///                         memory of the call.
///   `dst_capacity_bytes`  In: the capacity of each container. Nothing is written beyond it.
///   `results`             Out: the result of each array. The statuses are those that
///                         fz_compress_async() writes to `*result`.
///   `stream`              In: as for fz_compress_async().
///
/// `src`, `dst`, `dst_capacity_bytes`, and `results` are tables in device memory, aligned to 8
/// bytes, with an entry for each array of the batch. The work reads the entries when it executes on
/// the device. A launch of a captured graph therefore compresses the arrays whose addresses are in
/// `src` at that time.
///
/// The four tables, and the memory at the addresses in `src` and `dst`, must remain valid until the
/// work completes on `stream`. Until then, neither the host nor other streams may modify this
/// memory. For a captured graph:
/// - the tables must remain valid until the last launch completes;
/// - between two launches, you may change the entries of the tables;
/// - the memory at the addresses in `src` and `dst` must remain valid and unmodified during each
///   launch that uses these addresses.
///
/// Each container has the bytes of fz_compress_async() with the plan of its array. Each array has
/// its own result, and the failure of an array does not affect other arrays. If `src[i]` or
/// `dst[i]` is NULL and the array has elements, the work skips array i, and its status is
/// FZ_NULL_POINTER.
///
/// Returns:
///   FZ_PLAN_MISMATCH  `workspace` belongs to another batch plan.
///   FZ_DEVICE         As for fz_compress_async(); the contents of `results` are undefined.
///   FZ_INVALID_ARGUMENT, FZ_UNSUPPORTED, FZ_OUT_OF_MEMORY as for fz_batch_preload().
///
/// After a failure with any other status than FZ_DEVICE, nothing is enqueued, and `results` is not
/// written.
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

/// Enqueues the decompression of many arrays on a stream, and returns before the work completes. The
/// number of kernels depends on the plan, as for fz_compress_batch_async(). Arrays that are
/// decompressed one after the other require the kernels of fz_decompress_async(), and no other.
///
/// Parameters:
///   `batch`               In: decoders, from fz_batch_plan_new(). options->device of each plan
///                         must be FZ_DEVICE_AUTO or the number of the GPU of `stream`.
///   `workspace`           In/out: created for `batch`; not NULL.
///   `containers`          In: the address of each container.
///   `container_capacity_bytes`  In: the capacity of each container, which is at least its length,
///                         as for fz_decompress_async().
///   `dst`                 Out: the address of each array. An array must not overlap other memory of
///                         the call.
///   `dst_capacity_bytes`  In: the capacity of each array. If the capacity is less than the length
///                         of the array, the work skips the array, and its status is
///                         FZ_DST_TOO_SMALL.
///   `results`             Out: the result of each array. The statuses are those that
///                         fz_decompress_async() writes to `*result`.
///   `stream`              In: as for fz_compress_async().
///
/// `containers`, `container_capacity_bytes`, `dst`, `dst_capacity_bytes`, and `results` are tables
/// in device memory; the rules of fz_compress_batch_async() for tables apply. Each container may
/// come from an untrusted source; the rules of fz_decompress_async() for containers apply. If
/// `containers[i]` or `dst[i]` is NULL and the array has elements, the work skips array i, and its
/// status is FZ_NULL_POINTER.
///
/// Returns the statuses of fz_compress_batch_async(), and FZ_MEMORY_LIMIT as fz_batch_preload()
/// does.
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
