//! The two calls that everything else is for.

use std::ffi::c_void;

use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{Bytes, handle, numbers, optional_handle, optional_mut, out, regions};
use super::plan::fz_plan;
use super::workspace::fz_workspace;
use crate::{Decoder, DeviceSlice, Options, Workspace};

/// Compresses an array.
///
/// `plan`                from fz_pipeline_finalize().
/// `workspace`           made for this plan; NULL: one is made for this call.
/// `src`, `src_bytes`    the array, of the type and shape of the plan, at any address.
/// `dst`                 receives the container; must not overlap with `src`.
/// `dst_capacity_bytes`  fz_max_compressed_bytes() is always enough. Nothing is written beyond.
/// `compressed_bytes`    becomes the length of the container; untouched on failure.
///
/// `src` and `dst` are memory of any kind, each its own: host, pinned, managed, or of a GPU; see the option device. With memory
/// of a GPU the call runs there, on a stream of its own that waits for the NULL stream and for no other: what writes `src` has
/// to be done before. When the call returns, everything is done.
///
/// The bytes depend on the array, the pipeline and the options alone: not on threads, device, machine or time. An array that the
/// pipeline does not make smaller is stored as it is. An array with more outliers than the pipeline has room for is planned
/// anew with more room, in memory of the call's own.
///
/// Errors: FZ_PLAN_MISMATCH for another length than the plan's or a workspace of another plan; FZ_INVALID_ARGUMENT for a
/// decoder or memory on another device than the plan's; FZ_DST_TOO_SMALL; FZ_OUT_OF_MEMORY; FZ_NO_THREADS; FZ_NO_DEVICE and
/// FZ_DEVICE where a GPU is involved. In host memory `dst` is then untouched, on a GPU it is undefined.
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

/// Restores an array.
///
/// `plan`                from fz_plan_decoder() or fz_plan_open(); NULL: one is made from the container for this call, with
///                       default options, and `workspace` must be NULL too.
/// `workspace`           made for this plan; NULL: one is made for this call.
/// `container`           what fz_compress() wrote, or an FZM file; `container_bytes` is its whole length.
/// `dst`                 receives the array, at any address; must not overlap with `container`.
/// `dst_capacity_bytes`  at least the length of the array, see fz_container_info(). Nothing is written beyond.
/// `restored_bytes`      becomes the length of the array; untouched on failure.
///
/// `container` and `dst` are memory of any kind, as for fz_compress(). A plan restores a container in device
/// memory without a look at it from the host, where fz_decompress_async() would. Without a plan, the header is copied to the host first. A
/// container that fzgm would write with another header, or that is damaged, is copied as a whole.
///
/// The container may come from anywhere: whatever its bytes are, the call ends with a status.
///
/// Errors: FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_CHECKSUM, FZ_UNSUPPORTED; FZ_PLAN_MISMATCH when plan, workspace and container do
/// not belong together; FZ_INVALID_ARGUMENT for an encoder or memory on another device than the plan's; FZ_DST_TOO_SMALL;
/// FZ_MEMORY_LIMIT; FZ_OUT_OF_MEMORY; FZ_NO_THREADS; FZ_NO_DEVICE and FZ_DEVICE where a GPU is involved. The contents of `dst`
/// are then undefined.
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

/// Restores a region of an array, without the rest.
///
/// `container`           what fz_compress() wrote, or an FZM file; `container_bytes` is its whole length.
/// `origin`, `extent`    `ndim` numbers each, x first: the first element of the region in each dimension, and its length, which may be 0.
///                       `ndim` is that of the array.
/// `dst`                 receives the region as an array of its own, x fastest, at any address; must not overlap with `container`.
/// `dst_capacity_bytes`  at least its length: the product of `extent` and the length of an element. Nothing is written beyond.
/// `restored_bytes`      becomes that length; untouched on failure.
///
/// `container` and `dst` are memory of any kind, as for fz_compress(). The CPU decodes.
///
/// Preset "fast", and arrays that are stored without compression: the function reads the header and the chunks or rows of the region, so that the
/// container may be a mapped file. It does not compare checksums, because a checksum covers the whole container. Other presets: the function
/// allocates memory for the whole array, decodes it, and copies the region. It compares the checksums, except for preset "high".
///
/// Errors: FZ_INVALID_ARGUMENT for a region that is not inside of the array or another `ndim`; FZ_DST_TOO_SMALL; FZ_NOT_A_CONTAINER,
/// FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM, FZ_MEMORY_LIMIT, FZ_OUT_OF_MEMORY; FZ_DEVICE where a GPU is involved. The contents of `dst` are then undefined.
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

/// Restores a preview of an array: the elements at multiples of a step in every dimension.
///
/// `container`           what fz_compress() wrote, or the front of it; `container_bytes` is the length of what is there.
/// `step`                a power of two; 1 restores the whole array.
/// `dst`                 receives the preview as an array of its own, x fastest, at any address; must not overlap with `container`. A
///                       dimension of n elements has (n + step - 1) / step of them, rounded down.
/// `dst_capacity_bytes`  at least the length of the preview. Nothing is written beyond.
/// `restored_bytes`      becomes that length; untouched on failure.
///
/// `container` and `dst` are memory of any kind, as for fz_compress(); the CPU decodes. The elements have the bits that fz_decompress() restores, so the
/// error bound applies to them. Of preset "high" the function decodes the front of the container that the step requires; the container may end behind it, and
/// checksums are not compared. Containers of other stages are decoded completely, in memory of the call's own, and their checksums are
/// compared.
///
/// Errors: FZ_INVALID_ARGUMENT for a step that is no power of two; FZ_DST_TOO_SMALL; FZ_TRUNCATED, with the number of bytes in the text, if
/// the container ends before the preview does; FZ_NOT_A_CONTAINER, FZ_CORRUPT, FZ_UNSUPPORTED, FZ_CHECKSUM, FZ_MEMORY_LIMIT,
/// FZ_OUT_OF_MEMORY; FZ_DEVICE where a GPU is involved. The contents of `dst` are then undefined.
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
    // SAFETY: the caller's promise; the number is checked there.
    let (origin, extent) = unsafe { (numbers(origin, ndim, "origin")?, numbers(extent, ndim, "extent")?) };
    // The region must not change while it is read.
    for given in [origin, extent] {
        let given = DeviceSlice { address: given.as_ptr() as u64, bytes: size_of_val(given) as u64 };
        for (written, name) in [(dst, "dst"), (result, "the place for the result")] {
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
        None if workspace.is_some() => {
            Err(FfiError::mismatch("a workspace was given without the plan that it was made for"))
        }
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
