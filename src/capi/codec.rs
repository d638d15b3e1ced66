//! The two calls that everything else is for.
//!
//! Section of the header: Blocking compression and decompression.

use std::ffi::c_void;

use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{Bytes, handle, numbers, optional_handle, optional_mut, out, regions};
use super::plan::fz_plan;
use super::workspace::fz_workspace;
use crate::{Decoder, DeviceSlice, Options, Workspace};

/// Compresses an array into a container. Blocking.
///
/// Parameters:
///   `plan`                In: encoder from fz_pipeline_finalize().
///   `workspace`           In/out: created for `plan`. NULL: the call creates a temporary
///                         workspace.
///   `src`                 In: the array, with the element type and shape of the plan.
///   `src_bytes`           In: length of the array in bytes.
///   `dst`                 Out: the container. Must not overlap `src`.
///   `dst_capacity_bytes`  In: capacity of `dst`; fz_max_compressed_bytes() is always sufficient.
///                         Nothing is written beyond it.
///   `compressed_bytes`    Out: length of the container in bytes.
///
/// The container depends only on the array, the pipeline, and the options except `threads` and
/// `device`. It does not depend on the machine or the time. Exception: with
/// fz_options::previous_base 1, the container also depends on the earlier calls with the workspace.
///
/// If the pipeline does not make an array smaller, the container stores the array uncompressed.
/// Exception: the exact form of the reference, see fz_options::strict.
///
/// If the array has more outliers than the outlier lists of the plan can store, the call compresses
/// again with larger lists, in memory that it allocates. Exception: with a workspace from
/// fz_workspace_from_buffer(), the call returns FZ_OUTLIER_CAPACITY.
///
/// Contents of `dst` after the call:
/// - Host memory, including pinned memory: after a failure, unchanged. Exception: after FZ_DEVICE,
///   undefined.
/// - Device and managed memory: after a failure, undefined. After success, bytes between the end of
///   the container and the capacity may change.
///
/// Returns:
///   FZ_PLAN_MISMATCH     `src_bytes` is not the length of the plan's array, or `workspace` belongs
///                        to another plan.
///   FZ_INVALID_ARGUMENT  `plan` is a decoder, or an element is out of range; see
///                        fz_pipeline_finalize(). Also if `src` or `dst` is in device memory, and
///                        options->device is FZ_DEVICE_CPU or another GPU. Also if `src` and `dst`
///                        belong to two GPUs.
///   FZ_UNSUPPORTED       The call runs on a GPU, and a stage has no device code.
///   FZ_OUTLIER_CAPACITY  Only with a workspace from fz_workspace_from_buffer().
///   FZ_DST_TOO_SMALL, FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const c_void,
    src_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    compressed_bytes: *mut u64,
) -> i32 {
    let (src, dst) = (Bytes::new(src, src_bytes, "src"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let ((src, dst), length) =
            (regions(src, dst)?, unsafe { out(compressed_bytes, "compressed_bytes") }?);
        let (encoder, length) = (plan.encoder()?, length.apart_from(dst, "dst")?.apart_from(src, "src")?);
        let touched = [(src, "src"), (dst, "dst"), (length.region(), "compressed_bytes")];
        // SAFETY: the caller's promise.
        length.put(with(plan, workspace, &touched, |ws| Ok(unsafe { encoder.compress_at(ws, src, dst) }?))?);
        Ok(())
    })
}

/// Restores an array from a container. Blocking.
///
/// Parameters:
///   `plan`                In: decoder from fz_plan_decoder() or fz_plan_open(). NULL: the call
///                         creates a decoder from the container, with default options; `workspace`
///                         must then be NULL too.
///   `workspace`           In/out: created for `plan`. NULL: the call creates a temporary
///                         workspace.
///   `container`           In: a container that fzgm wrote, or an FZM file.
///   `container_bytes`     In: exact length of the container in bytes; bytes after the container
///                         result in FZ_CORRUPT.
///   `dst`                 Out: the array. Must not overlap `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the array; see
///                         fz_container_info(). Nothing is written beyond it.
///   `restored_bytes`      Out: length of the array in bytes.
///
/// The container may come from an untrusted source: for any bytes, the call returns a status.
///
/// A call on a GPU reads the header, compares the checksums, and decodes on the device. If the
/// container is in device memory, a call without a plan copies the header to the host, and a call
/// with a plan copies nothing. In two cases, with or without a plan, the call does more:
/// - The header is a foreign header (see fz_plan_open()). The device cannot read it.
/// - The device reports a failure.
///
/// In these cases, the call performs the following steps:
/// 1. It copies the whole container to the host, which checks the header and the checksums. If a
///    check fails, the call returns the status of this check.
/// 2. The device decodes the container with the header that the host has read. The call returns the
///    status of this step.
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_PLAN_MISMATCH     Plan, workspace, and container do not belong together.
///   FZ_INVALID_ARGUMENT  `plan` is an encoder. Also if `container` or `dst` is in device memory,
///                        and options->device is FZ_DEVICE_CPU or another GPU. Also if `container`
///                        and `dst` belong to two GPUs.
///   FZ_UNSUPPORTED       The container requires another version of fzgm, or the call runs on a GPU
///                        and a stage has no device code.
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_DST_TOO_SMALL, FZ_MEMORY_LIMIT, FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    container: *const c_void,
    container_bytes: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    let (src, dst) =
        (Bytes::new(container, container_bytes, "container"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) =
            unsafe { (optional_handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let ((src, dst), length) = (regions(src, dst)?, unsafe { out(restored_bytes, "restored_bytes") }?);
        let length = length.apart_from(dst, "dst")?.apart_from(src, "container")?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { restore(plan, workspace, (src, dst), length.region()) }?;
        length.put(bytes);
        Ok(())
    })
}

/// Restores a region: a rectangular part of an array. Blocking; the CPU decodes.
///
/// Parameters:
///   `container`           In: a container that fzgm wrote, or an FZM file.
///   `container_bytes`     In: length of the whole container in bytes.
///   `origin`              In: `ndim` coordinates, x first: the first element of the region in each
///                         dimension.
///   `extent`              In: `ndim` lengths in elements, x first; a length may be 0.
///   `ndim`                In: number of dimensions of the array.
///   `dst`                 Out: the region as an array of its own, x fastest. Must not overlap
///                         `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the region: the product of
///                         `extent` and the element size. Nothing is written beyond it.
///   `restored_bytes`      Out: length of the region in bytes.
///
/// Containers of preset "fast", and arrays stored uncompressed: the call reads only the header and
/// the parts of the container that the region requires, so the container may be a mapped file. It
/// does not compare checksums, because a checksum covers the whole container.
///
/// Containers of other pipelines: the call allocates memory for the whole array, decodes the array,
/// and copies the region. It compares checksums, except for preset "high".
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The region is not inside the array, or `ndim` is not that of the array.
///   FZ_DST_TOO_SMALL, FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM,
///   FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_region(
    container: *const c_void,
    container_bytes: u64,
    origin: *const u64,
    extent: *const u64,
    ndim: u32,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    let (src, dst) =
        (Bytes::new(container, container_bytes, "container"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let ((src, dst), length) = (regions(src, dst)?, unsafe { out(restored_bytes, "restored_bytes") }?);
        let length = length.apart_from(dst, "dst")?.apart_from(src, "container")?;
        // SAFETY: the caller's promise.
        let (origin, extent) = unsafe { region_of((origin, extent, ndim), dst, length.region()) }?;
        // SAFETY: the caller's promise.
        length.put(unsafe { crate::decompress_region_at(src, origin, extent, dst) }? as u64);
        Ok(())
    })
}

/// Restores a preview of an array: the elements whose coordinates are multiples of `step` in every
/// dimension. Blocking; the CPU decodes.
///
/// Parameters:
///   `container`           In: a container, or its first bytes.
///   `container_bytes`     In: number of bytes at `container`.
///   `step`                In: a power of two; 1 restores the whole array.
///   `dst`                 Out: the preview as an array of its own, x fastest. If a dimension of
///                         the array has n elements, the same dimension of the preview has
///                         (n + step - 1) / step elements, rounded down. Must not overlap
///                         `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the preview. Nothing is
///                         written beyond it.
///   `restored_bytes`      Out: length of the preview in bytes.
///
/// The elements are bit for bit those that fz_decompress() restores, so the error bound applies to
/// them.
///
/// Containers of preset "high": the call decodes only the first bytes that `step` requires. Later
/// bytes may be missing. Checksums are not compared.
///
/// Containers of other pipelines: the call decodes the whole array, in memory that it allocates,
/// and compares checksums.
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `step` is not a power of two.
///   FZ_TRUNCATED         More bytes of the container are required. The error text contains the
///                        required number of bytes from the start of the container.
///   FZ_DST_TOO_SMALL, FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM,
///   FZ_MEMORY_LIMIT.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_preview(
    container: *const c_void,
    container_bytes: u64,
    step: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    let (src, dst) =
        (Bytes::new(container, container_bytes, "container"), Bytes::new(dst, dst_capacity_bytes, "dst"));
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let ((src, dst), length) = (regions(src, dst)?, unsafe { out(restored_bytes, "restored_bytes") }?);
        let length = length.apart_from(dst, "dst")?.apart_from(src, "container")?;
        // SAFETY: the caller's promise.
        length.put(unsafe { crate::decompress_preview_at(src, step, dst) }? as u64);
        Ok(())
    })
}

/// Deprecated name of fz_decompress_region().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_box(
    container: *const c_void,
    container_bytes: u64,
    origin: *const u64,
    extent: *const u64,
    ndim: u32,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        fz_decompress_region(
            container,
            container_bytes,
            origin,
            extent,
            ndim,
            dst,
            dst_capacity_bytes,
            restored_bytes,
        )
    }
}

/// The origin and the extent of a region. Rejects an overlap with `dst` and `result`, which the call
/// writes.
///
/// # Safety
/// Each pointer must be null or point to `ndim` numbers. Except for writes to `dst` and `result`, no
/// code may change the numbers while the slices exist.
pub(super) unsafe fn region_of<'a>(
    (origin, extent, ndim): (*const u64, *const u64, u32),
    dst: DeviceSlice,
    result: DeviceSlice,
) -> FfiResult<(&'a [u64], &'a [u64])> {
    if ndim == 0 {
        // The C++ interface passes 0 if origin and extent have different numbers of dimensions.
        return Err(FfiError::argument(
            "origin and extent have no common number of dimensions (ndim is 0); pass one number each for every dimension of the array",
        ));
    }
    // SAFETY: the caller's promise; `numbers` checks `ndim`.
    let (origin, extent) = unsafe { (numbers(origin, ndim, "origin")?, numbers(extent, ndim, "extent")?) };
    // The core reads origin and extent while it writes the output, so they must not overlap.
    for given in [origin, extent] {
        let given = DeviceSlice { address: given.as_ptr() as u64, bytes: size_of_val(given) as u64 };
        for (written, name) in [(dst, "dst"), (result, "the result")] {
            if given.overlaps(written) {
                return Err(FfiError::argument(format!("origin or extent overlaps {name}")));
            }
        }
    }
    Ok((origin, extent))
}

/// Restores a container, with a plan or without.
///
/// # Safety
/// Both regions must be memory of their lengths and must not overlap. No other code may use them
/// during the call.
pub(super) unsafe fn restore(
    plan: Option<&fz_plan>,
    workspace: Option<&mut fz_workspace>,
    (container, dst): (DeviceSlice, DeviceSlice),
    result: DeviceSlice,
) -> FfiResult<u64> {
    match plan {
        Some(plan) => {
            let decoder = plan.decoder()?;
            let touched = [(container, "container"), (dst, "dst"), (result, "restored_bytes")];
            // SAFETY: the caller's promise.
            with(plan, workspace, &touched, |ws| Ok(unsafe { decoder.decompress_at(ws, container, dst) }?))
        }
        None if workspace.is_some() => Err(FfiError::mismatch(
            "workspace is given but plan is NULL; pass the plan of the workspace, or NULL for both",
        )),
        // SAFETY: the caller's promise.
        None => Ok(unsafe { Decoder::decompress_once_at(container, dst, &Options::default()) }? as u64),
    }
}

/// Runs a call that reads and writes `touched` in the caller's workspace, or in one of its own.
pub(super) fn with(
    plan: &fz_plan,
    workspace: Option<&mut fz_workspace>,
    touched: &[(DeviceSlice, &str)],
    call: impl FnOnce(&mut Workspace) -> FfiResult<usize>,
) -> FfiResult<u64> {
    let written = match workspace {
        Some(workspace) => call(workspace.serve(plan, touched)?)?,
        None => call(&mut fz_workspace::new(plan)?.inner)?,
    };
    Ok(written as u64)
}
