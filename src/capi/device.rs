//! Devices, and calls that run on one without waiting.
//!
//! Section of the header: GPUs and asynchronous calls.

use std::ffi::{c_char, c_void};

use super::ffi_guard::{FfiResult, ffi_guard};
use super::handle::{Bytes, Out, exclusive, handle, letters, out, place_for, regions};
use super::plan::{Task, fz_plan};
use super::workspace::fz_workspace;
use crate::{CallResult, DeviceSlice, Stream};

/// What cudaStream_t and CUstream point to.
///
/// cbindgen:ignore
#[repr(C)]
pub struct CUstream_st {
    _opaque: [u8; 0],
}

/// A stream of the caller's. The header says more.
///
/// cbindgen:ignore
pub type fz_cuda_stream = *mut CUstream_st;

/// Outcome of an asynchronous call. The stream writes it after all other work of the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_result {
    /// Length of the container or of the array in bytes; 0 on failure.
    pub bytes: u64,
    /// FZ_DST_TOO_SMALL: required bytes. FZ_OUTLIER_CAPACITY: number of outliers of the stage.
    pub needed: u64,
    /// An fz_status; if several stages fail, that of the earliest stage.
    pub status: i32,
    /// Index of the stage that failed.
    pub stage: u32,
}

// The core writes one, C reads the other.
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

/// Returns the number of GPUs that fzgm can use in `*count`. The first call opens the driver, which
/// takes some time.
///
/// Returns:
///   FZ_NO_DEVICE  None; the error text states whether the driver, the device, or the kernels in
///                 this build are missing. FZGM_DISABLE_CUDA=1 in the environment disables all
///                 GPUs.
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

/// Describes the GPU "cuda:index".
///
/// Parameters:
///   `index`   In: index of the GPU, from 0.
///   `device`  In/out: the description; set device->struct_bytes before the call. Unchanged on
///             failure.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  No GPU has this index, or struct_bytes is wrong.
///   FZ_NO_DEVICE.
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

/// Prepares a plan and a workspace for asynchronous calls on a stream: loads device code, allocates
/// device memory, and waits for its own copies. Without this function, the first call does this
/// work.
///
/// Parameters:
///   `plan`       In: encoder or decoder.
///   `workspace`  In/out: created for `plan`.
///   `stream`     In: see fz_compress_async(). Must not be capturing.
///
/// Afterwards fz_compress_async() and fz_decompress_async() with this workspace only enqueue
/// kernels, memsets, and copies within the device: they allocate no memory, never wait, and can be
/// captured. This applies to the context of `stream`.
///
/// Returns:
///   FZ_UNSUPPORTED    The pipeline has no device code.
///   FZ_PLAN_MISMATCH  `workspace` belongs to another plan.
///   FZ_NO_DEVICE, FZ_OUT_OF_MEMORY, FZ_DEVICE.
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
///   `src`                 In: the array, of the element type and shape of the plan, at any address
///                         that the device of the stream can read.
///   `src_bytes`           In: length of the array in bytes.
///   `dst`                 Out: the container, at any address that the device can write. Must not
///                         overlap `src`.
///   `dst_capacity_bytes`  In: capacity of `dst`; fz_max_compressed_bytes() is sufficient for every
///                         array. Nothing is written beyond it.
///   `result`              Out: outcome of the call, written by the stream. Device, pinned, or
///                         managed memory, aligned to 8 bytes, outside of `src` and `dst`. Read it
///                         after the work has completed. May be NULL: the length of the container
///                         is then not reported, although the container is complete.
///   `stream`              In: a cudaStream_t or CUstream of any context. NULL, cudaStreamLegacy,
///                         and cudaStreamPerThread denote the streams of the current context of the
///                         calling thread, or of the plan's device if the thread has none.
///
/// The container has the same bytes as with fz_compress(), but no checksums unless
/// options->checksum is 2, which requires one pass over the container. Without checksums
/// fz_decompress_async() does not detect changed values.
///
/// Outlier lists are not enlarged: an array with more outliers than they hold results in
/// FZ_OUTLIER_CAPACITY in `*result`.
///
/// Returns:
///   FZ_DEVICE  The driver rejected a part of the call; the rest may have been enqueued.
///   FZ_INVALID_ARGUMENT, FZ_NULL_POINTER, FZ_PLAN_MISMATCH, FZ_NO_DEVICE, FZ_UNSUPPORTED.
///
/// If the function returns one of these statuses other than FZ_DEVICE, no work was enqueued and
/// `*result` is not written.
///
/// Reported in `*result`; `dst` is then undefined:
///   FZ_DST_TOO_SMALL, FZ_OUTLIER_CAPACITY.
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
        let result = unsafe { place_of(result, (src, "src"), (dst, "dst")) }?;
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
///   `plan`                In: decoder from fz_plan_decoder() or fz_plan_open().
///   `workspace`           In/out: created for `plan`; not NULL.
///   `container`           In: a container of the plan's encoder, including stored arrays, at any
///                         address that the device can read. With a plan from fz_plan_open(): the
///                         container that it was opened from, or a container of the same encoder
///                         that requires no more memory.
///   `container_capacity_bytes`  In: at least the length of the container; the device reads the
///                         length from the header, and nothing after the container is read. The
///                         capacity passed to fz_compress_async() is sufficient, so no
///                         synchronization is needed to obtain the length.
///   `dst`                 Out: the array, at any address that the device can write. Must not
///                         overlap `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the array. Nothing is
///                         written beyond it.
///   `result`, `stream`    As for fz_compress_async().
///
/// The container may come from an untrusted source: whatever its bytes are, the call completes with
/// a status. The device checks the header against the plan, and every length, offset, and index
/// before it is used, so that no byte outside of the container, the workspace, and `dst` is read or
/// written. Checksums are compared if the container contains them and options->checksum is not 0.
///
/// Values are not checked. In a container without checksums, a changed code, exact value, or bound
/// is restored as another value; the status is then FZ_OK, and the error bound does not hold. If
/// bytes may change in storage or in transit, compress with options->checksum 2: changed values
/// then result in FZ_CHECKSUM.
///
/// Returns:
///   FZ_DST_TOO_SMALL  `dst_capacity_bytes` is less than the length of the array.
///   FZ_UNSUPPORTED    Also if `plan` is from fz_plan_open(), and the header of its container is
///                     not in the form that fzgm writes; fz_decompress() restores it.
///
/// Also returns the statuses of fz_compress_async(), with the same rules.
///
/// Reported in `*result`; `dst` is then undefined:
///   FZ_PLAN_MISMATCH  The container belongs to another plan, or requires more memory than the
///                     container that was opened.
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM.
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
        let result = unsafe { place_of(result, (src, "container"), (dst, "dst")) }?;
        let workspace = workspace.serve(plan, &[(src, "container"), (dst, "dst"), (result, "result")])?;
        // SAFETY: the caller's promise.
        unsafe { decoder.decompress_async(workspace, src, dst, result.address, stream_of(stream))? };
        Ok(())
    })
}

pub(super) fn stream_of(stream: fz_cuda_stream) -> Stream {
    Stream::from_raw(stream as usize)
}

/// Where the device writes the result; no bytes at address 0: nowhere.
///
/// # Safety
/// As for [`out`], save that it is memory of the device.
unsafe fn place_of(
    result: *mut fz_result,
    src: (DeviceSlice, &str),
    dst: (DeviceSlice, &str),
) -> FfiResult<DeviceSlice> {
    if result.is_null() {
        return Ok(DeviceSlice::default());
    }
    // SAFETY: the caller's promise; it is never written here.
    let place = unsafe { out(result, "result") }?;
    place.apart_from(src.0, src.1)?.apart_from(dst.0, dst.1).map(|place: Out<fz_result>| place.region())
}
