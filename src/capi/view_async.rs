//! Strided arrays on a GPU, without waiting.
//!
//! Section of the header: Asynchronous calls with strided arrays.

use std::ffi::c_void;

use super::device::{fz_cuda_stream, fz_result, place_of, stream_of};
use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{exclusive, handle, region};
use super::plan::fz_plan;
use super::view::{expect_apart_from, fz_view, view_of};
use super::workspace::fz_workspace;
use crate::{DeviceSlice, StridedSlice};

/// Enqueues the compression of a strided array on a stream, and returns before the work completes.
/// Same as fz_compress_async(), except:
///
/// Parameters:
///   `src`            In: the array, with the element type and shape of the plan, in memory that the
///                    device of the stream can read. Strides may be negative or 0, and elements may
///                    share memory. The structure is read before the function returns, and its
///                    elements when the work executes.
///   `scratch`        Out: memory for the packed array, which the device can read and write. It may
///                    have any alignment; a multiple of 16 is fastest. Must not overlap other memory
///                    of the call. Its contents after the work are undefined.
///   `scratch_bytes`  In: size of `scratch`, at least the length of the array in bytes.
///
/// The work packs the elements into `scratch`, and compresses the packed array. The container is the
/// one that fz_compress_async() writes for the packed array. `scratch` must remain valid until the
/// work completes, and the work of two calls must not use it at the same time. One `scratch` may
/// serve all calls on a stream, of compression and of decompression.
///
/// If the workspace is prepared, the function only enqueues kernels, and can be captured. A captured
/// graph contains the addresses and strides of the view, and the address of `scratch`.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also if a field of `src` is out of range, or `scratch_bytes` is too small.
///                        Also if memory of the call overlaps other memory of the call. `src`
///                        includes all bytes from its first to its last element.
///   FZ_PLAN_MISMATCH     Also if `src` has another element type or shape than the plan.
///
/// Also returns the statuses of fz_compress_async(), and reports the same statuses in `*result`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_view_async(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const fz_view,
    scratch: *mut c_void,
    scratch_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    result: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, exclusive(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let src = unsafe { view_of(src, "src") }?;
        let encoder = plan.encoder()?;
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        let scratch = scratch_of(scratch, scratch_bytes, (&src, "src"), (dst, "dst"))?;
        let touched = [(src.span(), "src"), (dst, "dst"), (scratch, "scratch")];
        // SAFETY: the caller's promise.
        let result = unsafe { place_of(result, &touched) }?;
        let [first, second, third] = touched;
        let workspace = workspace.serve(plan, &[first, second, third, (result, "result")])?;
        // SAFETY: the caller's promise.
        unsafe {
            encoder.compress_view_async(workspace, &src, scratch, dst, result.address, stream_of(stream))?;
        }
        Ok(())
    })
}

/// Enqueues the decompression of a strided array on a stream, and returns before the work completes.
/// Same as fz_decompress_async(), except:
///
/// Parameters:
///   `dst`                       In: the view of the destination, with the element type and shape of
///                               the container, in memory that the device can write. The structure
///                               is read before the function returns.
///   `scratch`, `scratch_bytes`  As for fz_compress_view_async().
///
/// The work restores the array in `scratch`. If the status in `*result` is FZ_OK, the work then
/// copies the elements to `dst`. Otherwise the work writes no element of `dst`. If `result` is NULL,
/// the same applies to the status that `*result` would have. In both cases, memory between the
/// elements remains unchanged.
///
/// The device accesses only this memory: `container` up to its capacity; the workspace; `scratch`
/// up to the length of the array; the elements of `dst`; `*result`.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also if a field of `dst` is out of range, or two elements of `dst` could
///                        share memory; fz_decompress_view() describes the condition. Also if
///                        `scratch_bytes` is too small. Also if memory of the call overlaps other
///                        memory of the call. `dst` includes all bytes from its first to its last
///                        element.
///   FZ_PLAN_MISMATCH     Also if `dst` has another element type or shape than the plan.
///
/// Also returns the statuses of fz_decompress_async() except FZ_DST_TOO_SMALL, and reports the same
/// statuses in `*result`. After FZ_DEVICE, the elements of `dst` are undefined.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_view_async(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    container: *const c_void,
    container_capacity_bytes: u64,
    dst: *const fz_view,
    scratch: *mut c_void,
    scratch_bytes: u64,
    result: *mut fz_result,
    stream: fz_cuda_stream,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, exclusive(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let dst = unsafe { view_of(dst, "dst") }?;
        let decoder = plan.decoder()?;
        let container = region(container, container_capacity_bytes, "container")?;
        let scratch = scratch_of(scratch, scratch_bytes, (&dst, "dst"), (container, "container"))?;
        let touched = [(container, "container"), (dst.span(), "dst"), (scratch, "scratch")];
        // SAFETY: the caller's promise.
        let result = unsafe { place_of(result, &touched) }?;
        let [first, second, third] = touched;
        let workspace = workspace.serve(plan, &[first, second, third, (result, "result")])?;
        // SAFETY: the caller's promise.
        unsafe {
            decoder.decompress_view_async(
                workspace,
                container,
                &dst,
                scratch,
                result.address,
                stream_of(stream),
            )?;
        }
        Ok(())
    })
}

/// The memory for the packed array. Rejects memory that overlaps the view or the container of the call, and a view that overlaps
/// the container.
fn scratch_of(
    at: *mut c_void,
    bytes: u64,
    (view, own): (&StridedSlice, &'static str),
    (other, name): (DeviceSlice, &str),
) -> FfiResult<DeviceSlice> {
    let scratch = region(at, bytes, "scratch")?;
    expect_apart_from(view, other, (own, name))?;
    expect_apart_from(view, scratch, (own, "scratch"))?;
    if scratch.overlaps(other) {
        return Err(FfiError::argument(format!("scratch and {name} overlap; pass separate memory")));
    }
    Ok(scratch)
}
