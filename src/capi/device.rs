//! Devices, and asynchronous calls on GPUs.
//!
//! Section of the header: GPUs and asynchronous calls.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{Bytes, Out, exclusive, handle, letters, out, place_for, regions};
use super::plan::{Task, fz_plan};
use super::workspace::fz_workspace;
use crate::{CallResult, DeviceSlice, Stream};

/// The structure that cudaStream_t and CUstream point to.
///
/// cbindgen:ignore
#[repr(C)]
pub struct CUstream_st {
    _opaque: [u8; 0],
}

/// A stream of the caller. The text at the top of the header defines the type and describes it.
///
/// cbindgen:ignore
pub type fz_cuda_stream = *mut CUstream_st;

/// Outcome of an asynchronous call, or of one array of a batch. On success and on failure, the
/// stream writes the fz_result of an asynchronous call as the last part of the work. A blocking
/// call for a batch writes the results before it returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_result {
    /// On success, length of the container (compression) or of the array (decompression) in bytes. On
    /// failure 0.
    pub bytes: u64,
    /// - FZ_DST_TOO_SMALL: required capacity of `dst` in bytes.
    /// - FZ_OUTLIER_CAPACITY: number of outliers of the stage. Let q be `needed` / number of elements.
    ///   Set outlier_capacity to slightly more than q, but at most to 1.
    /// - FZ_INVALID_ARGUMENT: largest element in the input of stage huffman or bitpack, as an
    ///   unsigned integer; see fz_pipeline_finalize(). In a result of fz_compress_batch(): 0.
    /// - All other statuses: 0.
    pub needed: u64,
    /// An fz_status: FZ_OK, or the first failure of the work. Exception: FZ_CHECKSUM takes precedence
    /// over failures of stages.
    pub status: i32,
    /// Index in the pipeline of the stage that failed. If one kernel executes several stages,
    /// `stage` may be the index of any of these stages. `stage` is 0 in these cases:
    /// - success;
    /// - failures that belong to no stage: FZ_DST_TOO_SMALL, FZ_CHECKSUM, FZ_NULL_POINTER, and
    ///   defects of the header;
    /// - results of blocking calls.
    pub stage: u32,
}

// The core writes a `CallResult`, and C reads it as an `fz_result`: the layouts must be equal.
const _: () = {
    assert!(size_of::<fz_result>() == size_of::<CallResult>() && size_of::<fz_result>() == 24);
    assert!(std::mem::offset_of!(fz_result, needed) == std::mem::offset_of!(CallResult, needed));
    assert!(std::mem::offset_of!(fz_result, status) == std::mem::offset_of!(CallResult, status));
    assert!(std::mem::offset_of!(fz_result, stage) == std::mem::offset_of!(CallResult, stage));
};

/// Result of fz_device_info().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_device {
    /// Set to sizeof(fz_device) before the call; any other value is rejected.
    pub struct_bytes: u32,
    /// CUDA version of the driver: 1000 x major + 10 x minor.
    pub driver_version: i32,
    /// Compute capability, major number.
    pub capability_major: i32,
    /// Compute capability, minor number.
    pub capability_minor: i32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Name, terminated by a zero.
    pub name: [c_char; 256],
}

/// Returns in `*count` the number of GPUs that CUDA reports to this process. The first call opens
/// the driver, which takes some time.
///
/// GPUs are numbered from 0 in the order of CUDA, after CUDA_VISIBLE_DEVICES. A GPU with a compute
/// capability below 8.0 is counted, but functions that use it return FZ_NO_DEVICE.
///
/// Returns:
///   FZ_NO_DEVICE  No GPU can be used; the error text names the missing part: driver, GPU, or
///                 kernels in this build. FZGM_DISABLE_CUDA=1 in the environment disables all GPUs.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_device_count(count: *mut u32) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let count = unsafe { out(count, "count") }?;
        count.put(crate::device_count()?);
        Ok(())
    })
}

/// Describes GPU `index`.
///
/// Parameters:
///   `index`   In: number of the GPU, from 0.
///   `device`  In/out: the description; set device->struct_bytes before the call.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No GPU has this number, or struct_bytes is wrong.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_device_info(index: u32, device: *mut fz_device) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let place = unsafe { place_for(device, "device", "fz_device") }?;
        let info = crate::device_info(index)?;
        place.put(fz_device {
            struct_bytes: size_of::<fz_device>() as u32,
            driver_version: info.driver,
            capability_major: info.capability.0,
            capability_minor: info.capability.1,
            memory_bytes: info.memory_bytes,
            name: letters(&info.name),
        });
        Ok(())
    })
}

/// Prepares a workspace for asynchronous calls: allocates its device memory, copies the tables of
/// the plan to it, loads device code, and waits until this work is complete.
///
/// Parameters:
///   `plan`       In: encoder or decoder.
///   `workspace`  In/out: created for `plan`.
///   `stream`     In: any stream of the CUDA context in which you will use the workspace. NULL and
///                the special streams denote the same contexts as for fz_compress_async(). Must not
///                be capturing.
///
/// The preparation applies to one workspace, and to all streams of the context of `stream`. If the
/// workspace is already prepared in this context, the function does nothing.
///
/// Afterwards, fz_compress_async() and fz_decompress_async() with this workspace only enqueue
/// kernels, memsets, and copies within the device. They allocate no memory, never wait, and can be
/// captured. Without fz_plan_preload(), the first asynchronous call prepares the workspace itself;
/// this is not supported in a capture.
///
/// The function may wait for earlier work on the device. Call it before you begin a capture. While
/// another thread captures in global mode, the function may return FZ_DEVICE and invalidate the
/// capture.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  options->device is FZ_DEVICE_CPU, or `stream` belongs to another GPU than
///                        options->device.
///   FZ_UNSUPPORTED       A stage has no device code. If there is also no GPU, the status is
///                        FZ_UNSUPPORTED and not FZ_NO_DEVICE.
///   FZ_PLAN_MISMATCH     `workspace` belongs to another plan.
///   FZ_MEMORY_LIMIT      The device memory of a decoder exceeds options->max_memory_bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_plan_preload(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, exclusive(workspace, "workspace")?) };
        let workspace = workspace.serve(plan, &[])?;
        match &plan.task {
            Task::Compress(encoder) => encoder.preload(workspace, stream_of(stream))?,
            Task::Restore(decoder) => decoder.preload(workspace, stream_of(stream))?,
        }
        Ok(())
    })
}

/// Enqueues the compression of an array on a stream, and returns before the work completes. See
/// "Asynchronous calls" at the top of this file.
///
/// Parameters:
///   `plan`                In: encoder from fz_pipeline_finalize().
///   `workspace`           In/out: created for `plan`; not NULL.
///   `src`                 In: the array, with the element type and shape of the plan, in memory
///                         that the device of the stream can read.
///   `src_bytes`           In: length of the array in bytes.
///   `dst`                 Out: the container, in memory that the device can read and write. Must
///                         not overlap `src`.
///   `dst_capacity_bytes`  In: capacity of `dst`; fz_max_compressed_bytes() is always sufficient.
///                         Nothing is written beyond it. Bytes between the end of the container and
///                         the capacity may change.
///   `result`              Out: outcome of the work, written by the stream. Device, pinned, or
///                         managed memory, aligned to 8 bytes. Must not overlap `src` or `dst`. May
///                         be NULL: neither the length of the container nor a failure of the work
///                         is then reported.
///   `stream`              In: a cudaStream_t or CUstream of any context. NULL, cudaStreamLegacy,
///                         and cudaStreamPerThread denote streams of the current context of the
///                         calling thread. If the thread has no current context, they denote
///                         streams of the primary context of GPU options->device, or of GPU 0 with
///                         FZ_DEVICE_AUTO.
///
/// fz_compress() with the same plan writes the same container. Exception: this function writes
/// checksums only if options->checksum is 2.
///
/// The work does not enlarge outlier lists. If the array has more outliers than the lists can
/// store, the work fails with FZ_OUTLIER_CAPACITY.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `plan` is a decoder, options->device is FZ_DEVICE_CPU, or `stream`
///                        belongs to another GPU than options->device.
///   FZ_PLAN_MISMATCH     `src_bytes` is not the length of the plan's array, or `workspace` belongs
///                        to another plan.
///   FZ_UNSUPPORTED       A stage has no device code.
///   FZ_OUT_OF_MEMORY     Also if the workspace is not prepared, and too little device memory is
///                        free.
///   FZ_DEVICE            The driver rejected a request. A part of the work may be enqueued, and
///                        the contents of `*result` are undefined. Then:
///                        - If `stream` is not capturing, synchronize `stream` before you free or
///                          reuse the memory of the call.
///                        - If `stream` is capturing, end the capture and destroy the graph.
///                        - Do not launch graphs that were captured with the workspace before the
///                          failure.
///                        - The workspace may be unprepared. Call fz_plan_preload() again before
///                          the next capture.
///
/// After a failure with any other status, nothing is enqueued, and `*result` is not written.
///
/// Reported in `*result`; the contents of `dst` are then undefined:
///   FZ_DST_TOO_SMALL     `dst_capacity_bytes` is too small.
///   FZ_OUTLIER_CAPACITY  The array has more outliers than the outlier lists can store.
///   FZ_INVALID_ARGUMENT  An element is out of range; see fz_pipeline_finalize().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_async(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const c_void,
    src_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    result: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    let (src, dst) = (Bytes::new(src, src_bytes, "src"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, exclusive(workspace, "workspace")?) };
        let (encoder, (src, dst)) = (plan.encoder()?, regions(src, dst)?);
        // SAFETY: the caller's promise.
        let result = unsafe { place_of(result, &[(src, "src"), (dst, "dst")]) }?;
        let workspace = workspace.serve(plan, &[(src, "src"), (dst, "dst"), (result, "result")])?;
        // SAFETY: the caller's promise.
        unsafe { encoder.compress_async(workspace, src, dst, result.address, stream_of(stream))? };
        Ok(())
    })
}

/// Enqueues the decompression of an array on a stream, and returns before the work completes. See
/// "Asynchronous calls" at the top of this file.
///
/// Parameters:
///   `plan`                      In: decoder from fz_plan_decoder() or fz_plan_open().
///   `workspace`                 In/out: created for `plan`; not NULL.
///   `container`                 In: a container that `plan` restores, in memory that the device of
///                               the stream can read. fz_plan_decoder() and fz_plan_open() describe
///                               these containers.
///   `container_capacity_bytes`  In: number of readable bytes at `container`, at least the length
///                               of the container. The device reads the length from the header.
///                               The device reads no byte after the capacity. Bytes between the
///                               end of the container and the capacity have no effect. To restore
///                               the output of fz_compress_async(), pass the same capacity; the
///                               host need not wait for the length.
///   `dst`                       Out: the array, in memory that the device can read and write. Must
///                               not overlap `container`.
///   `dst_capacity_bytes`        In: capacity of `dst`, at least the length of the array. Nothing
///                               is written beyond it.
///   `result`, `stream`          As for fz_compress_async().
///
/// The container may come from an untrusted source and may have any contents: the work completes,
/// and reports a status in `*result`. The device compares the header with the plan, and checks every
/// length, offset, and index before use. The device accesses only this memory: `container` up to its
/// capacity; the workspace; `dst`; `*result`.
///
/// If options->checksum is not 0, the device compares the checksums of the container. If no
/// checksums are compared, the device detects only impossible values. If a code, an exact
/// value, or an error bound has changed to another possible value, the device does not detect this:
/// the status is FZ_OK, and the restored values are wrong. If bytes may change in storage or in
/// transit, compress with options->checksum 2. Changed values then result in FZ_CHECKSUM.
///
/// If the status in `*result` is FZ_OK, fz_decompress() restores the same values, on the CPU and on
/// a GPU. For a damaged container, the two functions may report different failures.
///
/// Returns:
///   FZ_DST_TOO_SMALL     `dst_capacity_bytes` is less than the length of the array.
///   FZ_INVALID_ARGUMENT  `plan` is an encoder, options->device is FZ_DEVICE_CPU, or `stream`
///                        belongs to another GPU than options->device.
///   FZ_UNSUPPORTED       A stage has no device code, or `plan` is from fz_plan_open() and its
///                        container has a foreign header; see fz_plan_open().
///   FZ_MEMORY_LIMIT      The device memory of the decoder exceeds options->max_memory_bytes.
///
/// Also returns FZ_PLAN_MISMATCH, FZ_OUT_OF_MEMORY, and FZ_DEVICE, as fz_compress_async() does.
/// After a failure with any other status than FZ_DEVICE, nothing is enqueued, and `*result` is not
/// written.
///
/// Reported in `*result`; the contents of `dst` are then undefined:
///   FZ_NOT_A_CONTAINER  The first 4 bytes are missing or are not those of the plan's form
///                       (fz_container).
///   FZ_PLAN_MISMATCH    `plan` does not restore this container, or the header is longer than
///                       `container_capacity_bytes`.
///   FZ_CORRUPT          A length, an offset, an index, a table, or an error bound is impossible;
///                       for example, the payload ends after `container_capacity_bytes`. Exception:
///                       if `plan` is from fz_plan_open(), a stage output that is longer than in
///                       the opened container results in FZ_PLAN_MISMATCH.
///   FZ_CHECKSUM         A checksum does not match.
///
/// If a header field has an impossible value, the status is FZ_PLAN_MISMATCH or FZ_CORRUPT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_async(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    container: *const c_void,
    container_capacity_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    result: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    let src = Bytes::new(container, container_capacity_bytes, "container");
    let dst = Bytes::new(dst, dst_capacity_bytes, "dst");
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, exclusive(workspace, "workspace")?) };
        let (decoder, (src, dst)) = (plan.decoder()?, regions(src, dst)?);
        // SAFETY: the caller's promise.
        let result = unsafe { place_of(result, &[(src, "container"), (dst, "dst")]) }?;
        let workspace = workspace.serve(plan, &[(src, "container"), (dst, "dst"), (result, "result")])?;
        // SAFETY: the caller's promise.
        unsafe { decoder.decompress_async(workspace, src, dst, result.address, stream_of(stream))? };
        Ok(())
    })
}

pub(super) fn stream_of(stream: fz_cuda_stream) -> Stream {
    Stream::from_raw(stream as usize)
}

/// Where the device writes the result; no bytes at address 0: nowhere. Rejects a place in another region of the call.
///
/// # Safety
/// As for [`out`], save that it is memory of the device.
pub(super) unsafe fn place_of(
    result: *mut fz_result,
    others: &[(DeviceSlice, &str)],
) -> FfiResult<DeviceSlice> {
    if result.is_null() {
        return Ok(DeviceSlice::default());
    }
    // SAFETY: the caller's promise; only the device writes to the place.
    let place: Out<fz_result> = unsafe { out(result, "result") }?;
    let place = others.iter().try_fold(place, |place, (other, name)| place.apart_from(*other, name))?;
    Ok(place.region())
}
