//! Containers in files, by path.
//!
//! Section of the header: Files.

use std::ffi::{c_char, c_void};
use std::path::Path;

use super::codec::{region_of, restore, with};
use super::ffi_guard::ffi_guard;
use super::handle::{Bytes, handle, optional_handle, optional_mut, out, place_for, region, regions, text};
use super::info::fz_info;
use super::plan::fz_plan;
use super::workspace::fz_workspace;
use crate::codec::buffer;
use crate::{ContainerFile, file};

/// Compresses an array into a file. Same as fz_compress(), except:
///
/// Parameters:
///   `path`              In: the file; an existing file is replaced. The call writes a temporary
///                       file in the same directory, synchronizes it to disk, and renames it. On
///                       failure an existing file is unchanged.
///   `compressed_bytes`  Out: length of the file in bytes.
///
/// The call allocates fz_max_compressed_bytes() in addition to the workspace.
///
/// Returns:
///   FZ_FILE  The error text contains the path and the reason given by the system.
///
/// Also returns the statuses of fz_compress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_file(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const c_void,
    src_bytes: u64,
    path: *const c_char,
    compressed_bytes: *mut u64,
) -> i32 {
    let src = Bytes::new(src, src_bytes, "src");
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let (path, length) = unsafe { (text(path, "path")?, out(compressed_bytes, "compressed_bytes")?) };
        let encoder = plan.encoder()?;
        let mut container = buffer(encoder.max_compressed_bytes())?;
        let dst = Bytes::new(container.as_mut_ptr().cast(), container.len() as u64, "dst");
        let (src, dst) = regions(src, dst)?;
        let length = length.apart_from(src, "src")?;
        let touched = [(src, "src"), (length.region(), "compressed_bytes")];
        // SAFETY: the caller's promise; the other buffer belongs to this call.
        let bytes = with(plan, workspace, &touched, |ws| Ok(unsafe { encoder.compress_at(ws, src, dst) }?))?;
        container.truncate(bytes as usize);
        file::replace(Path::new(path), &container)?;
        length.put(bytes);
        Ok(())
    })
}

/// Restores the array of a file. Same as fz_decompress(), except:
///
/// Parameters:
///   `path`  In: a file that is one container: written by fz_compress_file(), or any FZM file.
///
/// The call allocates memory for the whole file in addition to the workspace.
///
/// Returns:
///   FZ_FILE  The error text contains the path and the reason given by the system.
///
/// Also returns the statuses of fz_decompress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_file(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    path: *const c_char,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    let dst = Bytes::new(dst, dst_capacity_bytes, "dst");
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) =
            unsafe { (optional_handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let (path, length) = unsafe { (text(path, "path")?, out(restored_bytes, "restored_bytes")?) };
        let container = file::read(Path::new(path))?;
        let src = Bytes::new(container.as_ptr().cast(), container.len() as u64, "container");
        let (src, dst) = regions(src, dst)?;
        let length = length.apart_from(dst, "dst")?;
        // SAFETY: the caller's promise; the other buffer belongs to this call.
        let bytes = unsafe { restore(plan, workspace, (src, dst), length.region()) }?;
        length.put(bytes);
        Ok(())
    })
}

/// Restores a region of the array of a file. Same as fz_decompress_region(), except:
///
/// Parameters:
///   `path`  In: a file that is one container.
///
/// Containers of preset "fast", and arrays stored uncompressed: the call reads the header and the
/// parts of the file that the region requires. If `dst` is host memory, the call allocates little
/// more than 1 MiB. This amount does not depend on the size of the file or of the region.
///
/// Containers of other pipelines: the call reads the whole file.
///
/// Returns:
///   FZ_FILE     The error text contains the path and the reason given by the system.
///   FZ_CORRUPT  Also if the length of the file differs from that in its header.
///
/// Also returns the statuses of fz_decompress_region().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_region_file(
    path: *const c_char,
    origin: *const u64,
    extent: *const u64,
    ndim: u32,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (path, length) = unsafe { (text(path, "path")?, out(restored_bytes, "restored_bytes")?) };
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        let length = length.apart_from(dst, "dst")?;
        // SAFETY: the caller's promise.
        let (origin, extent) = unsafe { region_of((origin, extent, ndim), dst, length.region()) }?;
        // The file copies the path, because the caller's path may overlap `dst`.
        let file = ContainerFile::open(path)?;
        let most = file.array().bytes();
        // SAFETY: the caller's promise; `region_of` checked that neither origin nor extent overlaps `dst`.
        length.put(unsafe { dst.write(most, |dst| file.decompress_region(origin, extent, dst)) }? as u64);
        Ok(())
    })
}

/// Restores a preview from a file. Same as fz_decompress_preview(), except:
///
/// Parameters:
///   `path`  In: a file that is one container, or its first bytes.
///
/// Containers of preset "high": the call reads the header and the first bytes of the file that
/// `step` requires. Containers of other pipelines: the call reads the whole file.
///
/// Returns:
///   FZ_FILE     The error text contains the path and the reason given by the system.
///   FZ_CORRUPT  Also if the file is longer than its header states.
///
/// Also returns the statuses of fz_decompress_preview().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_preview_file(
    path: *const c_char,
    step: u64,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (path, length) = unsafe { (text(path, "path")?, out(restored_bytes, "restored_bytes")?) };
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        let length = length.apart_from(dst, "dst")?;
        // The file copies the path, because the caller's path may overlap `dst`.
        let file = ContainerFile::open_front(path)?;
        let most = file.array().bytes();
        // SAFETY: the caller's promise.
        length.put(unsafe { dst.write(most, |dst| file.decompress_preview(step, dst)) }? as u64);
        Ok(())
    })
}

/// Deprecated name of fz_decompress_region_file().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_box_file(
    path: *const c_char,
    origin: *const u64,
    extent: *const u64,
    ndim: u32,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    restored_bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise, passed on.
    unsafe { fz_decompress_region_file(path, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) }
}

/// Reads the header of the container in a file, and no other bytes of the file.
///
/// Parameters:
///   `path`  In: a file that is one container.
///   `info`  In/out: the result; set info->struct_bytes before the call.
///
/// Returns:
///   FZ_FILE     The error text contains the path and the reason given by the system.
///   FZ_CORRUPT  Also if the length of the file differs from that in its header.
///
/// Also returns the statuses of fz_container_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_file_info(path: *const c_char, info: *mut fz_info) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise; the first field is the length.
        let (path, place) = unsafe { (text(path, "path")?, place_for(info, "info", "fz_info")?) };
        place.put(fz_info::from(&ContainerFile::open(path)?.info()?));
        Ok(())
    })
}
