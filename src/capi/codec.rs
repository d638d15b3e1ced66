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
///   `workspace`           In/out: created for `plan`. NULL: the call creates one for itself.
///   `src`                 In: the array, of the element type and shape of the plan, at any
///                         address.
///   `src_bytes`           In: length of the array in bytes.
///   `dst`                 Out: the container, at any address. Must not overlap `src`.
///   `dst_capacity_bytes`  In: capacity of `dst`; fz_max_compressed_bytes() is always sufficient.
///                         Nothing is written beyond it.
///   `compressed_bytes`    Out: length of the container in bytes; unchanged on failure.
///
/// The compressed bytes depend only on the array, the pipeline, and the options; they do not depend
/// on threads, device, machine, or time. An array that the pipeline does not make smaller is stored
/// uncompressed. If the array has more outliers than the outlier lists hold, the call plans again
/// with larger lists, in memory that it allocates.
///
/// On failure `dst` is unchanged if it is host memory, and undefined if it is device memory.
///
/// Returns:
///   FZ_PLAN_MISMATCH     `src_bytes` is not the length of the plan's array, or `workspace` belongs
///                        to another plan.
///   FZ_INVALID_ARGUMENT  `plan` is a decoder, or memory is on a device other than the plan's.
///   FZ_OUTLIER_CAPACITY  Only with a workspace from fz_workspace_from_buffer().
///   FZ_NO_DEVICE         Only if a GPU is involved.
///   FZ_DEVICE            Only if a GPU is involved.
///   FZ_DST_TOO_SMALL, FZ_OUT_OF_MEMORY, FZ_NO_THREADS.
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
///                         creates one from the container, with default options; `workspace` must
///                         then be NULL too.
///   `workspace`           In/out: created for `plan`. NULL: the call creates one for itself.
///   `container`           In: a container of fz_compress(), or an FZM file, at any address.
///   `container_bytes`     In: length of the whole container in bytes.
///   `dst`                 Out: the array, at any address. Must not overlap `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the array; see
///                         fz_container_info(). Nothing is written beyond it.
///   `restored_bytes`      Out: length of the array in bytes; unchanged on failure.
///
/// The container may come from an untrusted source: whatever its bytes are, the call returns a
/// status.
///
/// With a plan, a container in device memory that fz_decompress_async() can restore is restored
/// without reading it from the host. Without a plan, the call copies the header to the host first.
/// A container that is damaged, or whose header is not in the form that fzgm writes, is copied to
/// the host as a whole.
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_PLAN_MISMATCH     Plan, workspace, and container do not belong together.
///   FZ_INVALID_ARGUMENT  `plan` is an encoder, or memory is on a device other than the plan's.
///   FZ_NO_DEVICE         Only if a GPU is involved.
///   FZ_DEVICE            Only if a GPU is involved.
///   FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_UNSUPPORTED, FZ_DST_TOO_SMALL,
///   FZ_MEMORY_LIMIT, FZ_OUT_OF_MEMORY, FZ_NO_THREADS.
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

/// Restores a region of an array. Blocking; the CPU decodes.
///
/// Parameters:
///   `container`           In: a container of fz_compress(), or an FZM file.
///   `container_bytes`     In: length of the whole container in bytes.
///   `origin`              In: `ndim` coordinates, x first: the first element of the region in each
///                         dimension.
///   `extent`              In: `ndim` lengths in elements, x first; a length may be 0.
///   `ndim`                In: number of dimensions of the array.
///   `dst`                 Out: the region as an array of its own, x fastest, at any address. Must
///                         not overlap `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the region: the product of
///                         `extent` and the element size. Nothing is written beyond it.
///   `restored_bytes`      Out: length of the region in bytes; unchanged on failure.
///
/// Preset "fast", and arrays stored uncompressed: the call reads only the header and the chunks or
/// rows of the region, so the container may be a mapped file. Checksums are not compared, because a
/// checksum covers the whole container.
///
/// Other presets: the call allocates memory for the whole array, decodes it, and copies the region.
/// Checksums are compared, except for preset "high".
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The region is not inside the array, or `ndim` is not that of the array.
///   FZ_DEVICE            Only if a GPU is involved.
///   FZ_DST_TOO_SMALL, FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM,
///   FZ_MEMORY_LIMIT, FZ_OUT_OF_MEMORY.
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
///   `container`           In: a container of fz_compress(), or the front of one.
///   `container_bytes`     In: length of the given bytes.
///   `step`                In: a power of two; 1 restores the whole array.
///   `dst`                 Out: the preview as an array of its own, x fastest, at any address; a
///                         dimension of n elements has (n + step - 1) / step elements, rounded
///                         down. Must not overlap `container`.
///   `dst_capacity_bytes`  In: capacity of `dst`, at least the length of the preview. Nothing is
///                         written beyond it.
///   `restored_bytes`      Out: length of the preview in bytes; unchanged on failure.
///
/// The elements are bit for bit those that fz_decompress() restores, so the error bound applies to
/// them.
///
/// Preset "high": the call decodes the front of the container that the step requires. The container
/// may end after that front, and checksums are not compared. Other containers are decoded
/// completely, in memory that the call allocates, and their checksums are compared.
///
/// On failure the contents of `dst` are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  `step` is not a power of two.
///   FZ_TRUNCATED         The container ends before the preview; the error text contains the
///                        required number of bytes.
///   FZ_DEVICE            Only if a GPU is involved.
///   FZ_DST_TOO_SMALL, FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM,
///   FZ_MEMORY_LIMIT, FZ_OUT_OF_MEMORY.
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

/// Where a region begins and how long it is.
///
/// # Safety
/// Both pointers are null or point to `ndim` numbers that nobody changes while the slices live, but for a call that writes `dst`
/// and `result`.
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
/// Both are memory of as many bytes, apart from each other, that nobody else uses meanwhile.
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
