//! Series that are written.
//!
//! Section of the header: Series of steps: appending.

use std::ffi::{c_char, c_void};
use std::path::Path;

use super::codec::with;
use super::ffi_guard::{FfiError, FfiResult, ffi_guard, ffi_guard_drop};
use super::handle::{Bytes, exclusive, handle, numbers, optional_mut, out, region, regions, release, text};
use super::handle_registry::Handle;
use super::plan::fz_plan;
use super::workspace::fz_workspace;
use crate::codec::buffer;
use crate::series::SeriesWriter;
use crate::{Array, DType};

/// Appends steps to a series. Open it with fz_series_writer_open(); free it with
/// fz_series_writer_free(). One thread at a time may use a writer.
///
/// A step is complete when fz_series_append(), fz_series_append_container(), or fz_series_end()
/// returns FZ_OK. If a crash or a signal ends the process, the file keeps all complete steps. After
/// a power failure, the file keeps all complete steps under two conditions: the writer was opened
/// with `sync` 1, and file system and disk keep confirmed writes.
pub struct fz_series_writer(SeriesWriter);

impl Handle for fz_series_writer {
    const NAME: &'static str = "fz_series_writer";
}

/// A name, which may be null for none.
///
/// # Safety
/// As for [`text`].
unsafe fn name_of<'a>(name: *const c_char) -> FfiResult<&'a str> {
    // SAFETY: the caller's promise, passed on.
    if name.is_null() { Ok("") } else { unsafe { text(name, "name") } }
}

/// Opens a series to append steps, or creates it. If the file ends with an incomplete step, of a
/// writer that was interrupted, the function removes this step.
///
/// Parameters:
///   `path`    In: the file.
///   `sync`    In: 1: each append waits until the disk has the step. 0: it does not, and a power
///             failure may damage the steps of this writer.
///   `writer`  Out: the writer.
///
/// The file is locked until fz_series_writer_free(), on systems with flock(): a second writer fails.
/// Readers need no lock.
///
/// Returns:
///   FZ_FILE             The error text contains the path and the reason given by the system.
///   FZ_NOT_A_CONTAINER  The file exists, is not empty, and is not a series.
///   FZ_CORRUPT, FZ_UNSUPPORTED.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_writer_open(
    path: *const c_char,
    sync: i32,
    writer: *mut *mut fz_series_writer,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (path, place) = unsafe { (text(path, "path")?, out(writer, "writer")?) };
        if !(0..=1).contains(&sync) {
            return Err(FfiError::argument(format!("sync is {sync}; expected 0 or 1")));
        }
        let mut writer = SeriesWriter::open(Path::new(path))?;
        writer.set_sync(sync == 1);
        place.give(fz_series_writer(writer))
    })
}

/// Closes the file and frees a writer. NULL is permitted. A step that was begun and not ended is
/// removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_writer_free(writer: *mut fz_series_writer) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(writer, "writer") });
}

/// Compresses an array and appends it as a step of one slab. Blocking.
///
/// Parameters:
///   `writer`     In/out: from fz_series_writer_open().
///   `name`       In: the name of the step: at most 255 bytes of UTF-8 without control characters,
///                not digits alone, and not the name of another step. NULL or empty: no name.
///   `plan`       In: encoder from fz_pipeline_finalize(); the step has its element type and shape.
///   `workspace`  In/out: created for `plan`. NULL: the call creates a temporary workspace.
///   `src`        In: the array. Device memory is permitted.
///   `src_bytes`  In: length of the array in bytes.
///   `step`       Out: position of the step, from 0.
///
/// The call allocates fz_max_compressed_bytes() in addition to the workspace.
///
/// If the call fails, the file has the steps that it had before. The call then writes the index of
/// these steps again. If the disk rejects this index, later calls with the writer fail with
/// FZ_FILE. To restore the index, close this writer, and open the file with a new writer.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also for an invalid name, and for a name that another step has.
///   FZ_PLAN_MISMATCH     Also if a step was begun and not ended.
///   FZ_FILE              The error text contains the path and the reason given by the system.
///
/// Also returns the statuses of fz_compress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_append(
    writer: *mut fz_series_writer,
    name: *const c_char,
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const c_void,
    src_bytes: u64,
    step: *mut u64,
) -> i32 {
    let src = Bytes::new(src, src_bytes, "src");
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series_writer(writer), name) = unsafe { (exclusive(writer, "writer")?, name_of(name)?) };
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let place = unsafe { out(step, "step") }?;
        let encoder = plan.encoder()?;
        writer.check_name(name)?;
        let mut container = buffer(encoder.max_compressed_bytes())?;
        let dst = Bytes::new(container.as_mut_ptr().cast(), container.len() as u64, "dst");
        let (src, dst) = regions(src, dst)?;
        let place = place.apart_from(src, "src")?;
        let touched = [(src, "src"), (place.region(), "step")];
        // SAFETY: the caller's promise; the other buffer belongs to this call.
        let bytes = with(plan, workspace, &touched, |ws| Ok(unsafe { encoder.compress_at(ws, src, dst) }?))?;
        place.put(writer.append_container(name, &container[..bytes as usize])?);
        Ok(())
    })
}

/// Appends a container as a step of one slab. The container may come from any call, also from an
/// asynchronous one, after it was copied to host memory.
///
/// Parameters:
///   `writer`           In/out: from fz_series_writer_open().
///   `name`             In: as for fz_series_append().
///   `container`        In: the container, in host memory.
///   `container_bytes`  In: exact length of the container in bytes.
///   `step`             Out: position of the step, from 0.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also for an invalid name, and for a name that another step has.
///   FZ_PLAN_MISMATCH     A step was begun and not ended.
///   FZ_FILE              The error text contains the path and the reason given by the system.
///
/// Also returns the statuses of fz_container_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_append_container(
    writer: *mut fz_series_writer,
    name: *const c_char,
    container: *const c_void,
    container_bytes: u64,
    step: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series_writer(writer), name) = unsafe { (exclusive(writer, "writer")?, name_of(name)?) };
        // SAFETY: the caller's promise.
        let place = unsafe { out(step, "step") }?;
        let container = region(container, container_bytes, "container")?;
        let place = place.apart_from(container, "container")?;
        // SAFETY: the caller's promise.
        place.put(writer.append_container(name, unsafe { container.host() })?);
        Ok(())
    })
}

/// Begins a step of several slabs along the slowest dimension, so that only one slab is in memory at
/// a time. Write its slabs in order with fz_series_slab(), then end it with fz_series_end(). Until
/// then, the file has no index, and a reader that opens it searches for the earlier steps.
///
/// Parameters:
///   `writer`         In/out: from fz_series_writer_open().
///   `name`           In: as for fz_series_append().
///   `dtype`          In: element type, an fz_dtype.
///   `dims`, `ndim`   In: shape of the whole step, x first, as for fz_pipeline_finalize().
///   `slab_rows`      In: length of a slab along the slowest dimension; the last slab has the rest.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also for an invalid name, for a name that another step has, and if
///                        `slab_rows` is 0.
///   FZ_PLAN_MISMATCH     Another step was begun and not ended.
///   FZ_FILE              The error text contains the path and the reason given by the system.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_begin(
    writer: *mut fz_series_writer,
    name: *const c_char,
    dtype: i32,
    dims: *const u64,
    ndim: u32,
    slab_rows: u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series_writer(writer), name) = unsafe { (exclusive(writer, "writer")?, name_of(name)?) };
        // SAFETY: the caller's promise.
        let dims = unsafe { numbers(dims, ndim, "dims") }?;
        let array = Array::new(DType::from_number(dtype.into())?, dims)?;
        Ok(writer.begin(name, &array, slab_rows)?)
    })
}

/// Writes the next slab of the step that was begun.
///
/// Parameters:
///   `writer`           In/out: from fz_series_writer_open().
///   `container`        In: the container of the slab, in host memory, from fz_compress() or another
///                      call.
///   `container_bytes`  In: exact length of the container in bytes.
///
/// After FZ_FILE the step is removed. After any other failure you may pass another container.
///
/// Returns:
///   FZ_PLAN_MISMATCH  No step was begun, all slabs were written, or the container has another
///                     element type or shape than the slab.
///   FZ_FILE           The error text contains the path and the reason given by the system.
///
/// Also returns the statuses of fz_container_info().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_slab(
    writer: *mut fz_series_writer,
    container: *const c_void,
    container_bytes: u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let fz_series_writer(writer) = unsafe { exclusive(writer, "writer") }?;
        let container = region(container, container_bytes, "container")?;
        // SAFETY: the caller's promise.
        Ok(writer.slab(unsafe { container.host() })?)
    })
}

/// Completes the step that was begun and writes the index.
///
/// Parameters:
///   `writer`  In/out: from fz_series_writer_open().
///   `step`    Out: position of the step, from 0.
///
/// Returns:
///   FZ_PLAN_MISMATCH  No step was begun, or slabs are missing. The step remains begun.
///   FZ_FILE           The error text contains the path and the reason given by the system. The
///                     step is removed.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_end(writer: *mut fz_series_writer, step: *mut u64) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (fz_series_writer(writer), place) = unsafe { (exclusive(writer, "writer")?, out(step, "step")?) };
        place.put(writer.end()?);
        Ok(())
    })
}

/// Removes the step that was begun. Without such a step the function has no effect.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_series_abandon(writer: *mut fz_series_writer) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let fz_series_writer(writer) = unsafe { exclusive(writer, "writer") }?;
        writer.abandon();
        Ok(())
    })
}
