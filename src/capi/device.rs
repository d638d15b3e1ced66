//! Devices, and calls that run on one without waiting.

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

/// What an asynchronous call leaves behind, written by the stream after everything else that the call does.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_result {
    /// Length of the container or of the array in bytes; 0 on failure.
    pub bytes: u64,
    /// FZ_DST_TOO_SMALL: the bytes that are needed. FZ_OUTLIER_CAPACITY: the outliers of the stage.
    pub needed: u64,
    /// An fz_status; of several failures that of the earliest stage.
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

/// What fz_device_info() finds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_device {
    /// sizeof(fz_device), set by the caller before the call; any other value is refused.
    pub struct_bytes: u32,
    /// CUDA version of the driver, 1000 x major + 10 x minor.
    pub driver_version: i32,
    /// Compute capability.
    pub capability_major: i32,
    /// Its second number.
    pub capability_minor: i32,
    /// Memory of the device in bytes.
    pub memory_bytes: u64,
    /// Its name, with a zero at the end.
    pub name: [c_char; 256],
}

/// How many GPUs there are that fzgm can use. Opens the driver, which takes a while the first time.
///
/// Errors: FZ_NO_DEVICE when there is none; fz_last_error() says whether it is the driver, the device or this build of fzgm
/// that is missing. FZGM_DISABLE_CUDA=1 in the environment makes every GPU missing.
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

/// What there is to know about the GPU "cuda:index". Set device->struct_bytes to sizeof(fz_device) before the call.
///
/// Errors: FZ_NO_DEVICE; FZ_INVALID_ARGUMENT for an index that there is not or another struct_bytes. `*device` is then
/// untouched.
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

/// Makes plan and workspace ready for asynchronous calls on `stream`: loads device code, takes device memory, and waits
/// for its own copies. Without it the first call does that itself.
///
/// After it fz_compress_async() and fz_decompress_async() with this workspace put kernels, memsets and copies within the
/// device on the stream and do nothing else: they allocate nothing and never wait, and they can be captured. It counts for
/// the context of the stream; call it while nothing is captured.
///
/// Errors: FZ_NO_DEVICE; FZ_UNSUPPORTED for a pipeline without device code; FZ_PLAN_MISMATCH for a workspace of another plan;
/// FZ_OUT_OF_MEMORY; FZ_DEVICE.
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

/// Compresses an array on a stream, without waiting for it. The container has no checksums unless the option checksum is 2, and
/// without them fz_decompress_async() does not notice changed values: see there.
///
/// `plan`                from fz_pipeline_finalize().
/// `workspace`           made for this plan; not NULL. One call at a time: the next one with it may be made at once on the
///                       same stream; another stream has to wait for this one first.
/// `src`, `src_bytes`    the array, of the type and shape of the plan, at any address that the device of the stream reads.
/// `dst`                 receives the container, at any address that the device writes; must not overlap with `src`.
/// `dst_capacity_bytes`  fz_max_compressed_bytes() is enough for every array. Nothing is written beyond.
/// `result`              where the stream writes what became of the call: device, pinned or managed memory, aligned to 8
///                       bytes, apart from `src` and `dst`. Read it when the stream has passed. NULL: nowhere, which leaves
///                       the length unknown, though the container is complete.
/// `stream`              a cudaStream_t or CUstream of any context; NULL, cudaStreamLegacy and cudaStreamPerThread are those
///                       of the calling thread's current context, or of the plan's device where the thread has none.
///
/// `src`, `dst`, `result` and the workspace stay as they are, and are not freed, until the stream has passed; the plan may go
/// before. What is on the stream already is done before, so that the array may come from a kernel on it.
///
/// The call can be captured into a graph after fz_plan_preload(), on any stream but the legacy one. Each launch of the graph
/// compresses what `src` then holds; workspace and memory live as long as the graph does.
///
/// The bytes are those of fz_compress(), without checksums unless the option checksum is 2, which takes a pass over the container.
/// Outlier lists are not enlarged: an array with more outliers than the pipeline has room for ends with FZ_OUTLIER_CAPACITY in
/// `*result`.
///
/// Returns what can be said before anything runs; then nothing was put on the stream and `*result` is not written:
/// FZ_INVALID_ARGUMENT, FZ_NULL_POINTER, FZ_PLAN_MISMATCH; FZ_NO_DEVICE; FZ_UNSUPPORTED. FZ_DEVICE when the driver refuses a
/// part of the call, of which the rest may be on the stream. The rest stands in `*result`: FZ_DST_TOO_SMALL,
/// FZ_OUTLIER_CAPACITY; `dst` is then undefined.
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

/// Restores an array on a stream, without waiting for it. The length of the container is read from its header, by the device.
///
/// What is checked: the header against the plan, and every length, offset and index before it is used, so that no byte outside of
/// the container, the workspace and `dst` is read or written. Checksums are compared where the container has them and the option
/// checksum is not 0. What is not checked: values. In a container without checksums a changed code, exact value or bound is
/// restored as another value; the status is then FZ_OK, and the error bound does not hold.
///
/// `plan`                      from fz_plan_decoder() or fz_plan_open().
/// `workspace`                 made for this plan; as for fz_compress_async().
/// `container`                 what the plan's encoder wrote, stored arrays included, at any address that the device reads. With
///                             a plan of fz_plan_open(): what it was opened from, or what the same encoder wrote, as far as it
///                             needs no more memory.
/// `container_capacity_bytes`  at least the length of the container; nothing behind is read. The capacity that was given to
///                             fz_compress_async() will do, so that nobody has to wait for the length in between.
/// `dst`                       receives the array, at any address that the device writes; must not overlap with `container`.
/// `dst_capacity_bytes`        at least the length of the array. Nothing is written beyond.
/// `result`, `stream`          as for fz_compress_async(), and so is all that is said there of memory and graphs.
///
/// The container may come from anywhere: whatever its bytes are, the call ends, and with a status. If bytes may change on the way,
/// compress with the option checksum 2: changed values are then FZ_CHECKSUM.
///
/// Returns what can be said before anything runs, as fz_compress_async() does: FZ_DST_TOO_SMALL; FZ_UNSUPPORTED for a plan of
/// fz_plan_open() whose container has a header that fzgm would write otherwise, which fz_decompress() reads. The rest stands in
/// `*result`: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM; FZ_PLAN_MISMATCH for a container of another plan, or one that needs
/// more memory than the one that was opened; `dst` is then undefined.
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

fn stream_of(stream: fz_cuda_stream) -> Stream {
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
