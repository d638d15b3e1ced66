//! Batches: one call for many arrays.
//!
//! Section of the header: Batches.

use std::ffi::c_void;
use std::process;
use std::sync::Arc;

use super::batch_arguments::{arguments, list};
use super::device::fz_result;
use super::ffi_guard::{FfiError, FfiResult, expect_memory, ffi_guard, ffi_guard_drop};
use super::handle::{elements, exclusive, handle, out, release};
use super::handle_registry::Handle;
use super::plan::{Task, fz_plan};
use crate::{Batch, BatchWorkspace, Decoder, Encoder};

/// A batch plan is for a call that compresses or restores many arrays. It contains one plan for each
/// array: either only encoders, or only decoders.
///
/// Batch plans are immutable; any number of threads may use a batch plan at the same time. Create a
/// batch plan with fz_batch_plan_new(). Free it with fz_batch_plan_free() when no function is using
/// it. Enqueued work and captured graphs do not use the batch plan.
pub struct fz_batch_plan {
    /// One of the two is empty.
    pub(super) encoders: Batch<Encoder>,
    pub(super) decoders: Batch<Decoder>,
    /// The identity of the batch.
    identity: Arc<()>,
}

impl Handle for fz_batch_plan {
    const NAME: &'static str = "fz_batch_plan";
}

/// Memory that calls for a batch use while they run, created for one batch plan. Calls may use a
/// batch workspace one after another, but not at the same time. Create it with
/// fz_batch_workspace_new(); free it with fz_batch_workspace_free().
pub struct fz_batch_workspace {
    inner: BatchWorkspace,
    batch: Arc<()>,
    process: u32,
}

impl Handle for fz_batch_workspace {
    const NAME: &'static str = "fz_batch_workspace";
}

impl fz_batch_plan {
    fn workspace(&self) -> FfiResult<fz_batch_workspace> {
        let inner =
            if self.decoders.is_empty() { self.encoders.workspace()? } else { self.decoders.workspace()? };
        Ok(fz_batch_workspace { inner, batch: self.identity.clone(), process: process::id() })
    }

    pub(super) fn encoders(&self) -> FfiResult<&Batch<Encoder>> {
        match self.decoders.is_empty() {
            true => Ok(&self.encoders),
            false => Err(FfiError::argument("batch contains decoders; expected a batch of encoders")),
        }
    }

    pub(super) fn decoders(&self) -> FfiResult<&Batch<Decoder>> {
        match self.encoders.is_empty() {
            true => Ok(&self.decoders),
            false => Err(FfiError::argument("batch contains encoders; expected a batch of decoders")),
        }
    }
}

impl fz_batch_workspace {
    /// The memory for a call with `batch`.
    pub(super) fn serve(&mut self, batch: &fz_batch_plan) -> FfiResult<&mut BatchWorkspace> {
        if !Arc::ptr_eq(&self.batch, &batch.identity) {
            return Err(FfiError::mismatch(
                "the workspace was created for another batch; pass a workspace of this batch",
            ));
        }
        // A child of fork() inherits memory but no threads.
        if self.process != process::id() {
            let fresh = batch.workspace()?;
            expect_memory()?;
            *self = fresh;
        }
        Ok(&mut self.inner)
    }
}

/// Creates a batch plan. Array i of a call has the plan `plans[i]`.
///
/// Parameters:
///   `plans`    In: `count` plans, all encoders or all decoders. Types, shapes, pipelines, and
///              options may differ. A plan may occur many times. You may free the plans when the
///              function returns.
///   `count`    In: number of arrays. If it is 0, calls do nothing.
///   `threads`  In: threads of a blocking call: 0 for all cores, 1 for the calling thread alone.
///              Each thread processes one array at a time. The option `threads` of the plans has no
///              effect.
///   `batch`    Out: the batch plan.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Encoders and decoders are mixed, or `threads` is more than 1024.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_plan_new(
    plans: *const *const fz_plan,
    count: u64,
    threads: u32,
    batch: *mut *mut fz_batch_plan,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let batch = unsafe { out(batch, "batch") }?;
        // SAFETY: the caller's promise.
        let plans = if count == 0 { &[] } else { unsafe { elements(plans, count, "plans") }? };
        let (mut encoders, mut decoders) = (list(plans.len())?, list(plans.len())?);
        for (i, &plan) in plans.iter().enumerate() {
            // SAFETY: the caller's promise.
            match &unsafe { handle(plan, &format!("plans[{i}]")) }?.task {
                Task::Compress(encoder) => encoders.push(encoder.clone()),
                Task::Restore(decoder) => decoders.push(decoder.clone()),
            }
        }
        if !encoders.is_empty() && !decoders.is_empty() {
            return Err(FfiError::argument(format!(
                "plans contains {} encoders and {} decoders; pass plans of one kind",
                encoders.len(),
                decoders.len()
            )));
        }
        let (encoders, decoders) = (Batch::new(encoders, threads)?, Batch::new(decoders, threads)?);
        batch.give(fz_batch_plan { encoders, decoders, identity: Arc::new(()) })
    })
}

/// Frees a batch plan. NULL is permitted. Do not free a batch plan while a function is using it.
///
/// Workspaces of the batch plan may be freed before or after the batch plan. After the batch plan is
/// freed, do not pass these workspaces to new calls. Enqueued work and captured graphs may still use
/// them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_plan_free(batch: *mut fz_batch_plan) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(batch, "batch") });
}

/// Returns in `*bytes` the host memory of a workspace for this batch plan: the number of threads
/// times the memory for the largest plan. Plans with the number of a GPU in options->device require
/// no host memory.
///
/// Device memory is not included. Blocking calls on a GPU, fz_batch_preload(), and asynchronous
/// calls allocate device memory in addition.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_workspace_bytes(batch: *const fz_batch_plan, bytes: *mut u64) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, bytes) = unsafe { (handle(batch, "batch")?, out(bytes, "bytes")?) };
        bytes.put(match batch.decoders.is_empty() {
            true => batch.encoders.workspace_bytes()?,
            false => batch.decoders.workspace_bytes()?,
        });
        Ok(())
    })
}

/// Creates a workspace for calls with this batch plan, and starts its threads.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  A plan of the batch has the option previous_base.
///   FZ_OUT_OF_MEMORY, FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_workspace_new(
    batch: *const fz_batch_plan,
    workspace: *mut *mut fz_batch_workspace,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, out(workspace, "workspace")?) };
        workspace.give(batch.workspace()?)
    })
}

/// Frees a batch workspace, and ends its threads. NULL is permitted. The rules of
/// fz_workspace_free() apply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_batch_workspace_free(workspace: *mut fz_batch_workspace) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(workspace, "workspace") });
}

/// Compresses many arrays, each into its own container. Blocking.
///
/// Parameters:
///   `batch`               In: encoders, from fz_batch_plan_new().
///   `workspace`           In/out: created for `batch`.
///   `src`                 In: the address of each array.
///   `src_bytes`           In: the length of each array in bytes. It must be the length of the array
///                         of its plan.
///   `dst`                 Out: the address of each container.
///   `dst_capacity_bytes`  In: the capacity of each container; fz_max_compressed_bytes() of its plan
///                         is always sufficient. Nothing is written beyond it.
///   `results`             Out: the result of each array.
///
/// `src`, `src_bytes`, `dst`, `dst_capacity_bytes`, and `results` point to host memory, with an
/// entry for each array in the order of the plans. The arrays and containers may be host, pinned,
/// managed, or device memory. A container or `results` must not overlap other memory of the call.
///
/// Each container has the bytes of fz_compress() with the plan of its array. `results[i].status` is
/// the status of fz_compress() for array i, and `results[i].bytes` is the length of the container,
/// or 0 after a failure. The failure of an array does not affect other arrays. If `src[i]` or
/// `dst[i]` is NULL and the array has elements, the call skips array i, and its status is
/// FZ_NULL_POINTER.
///
/// Returns:
///   FZ_OK                All arrays are compressed.
///   FZ_INVALID_ARGUMENT  `batch` contains decoders, or memory overlaps.
///   FZ_PLAN_MISMATCH     `workspace` belongs to another batch plan.
///   FZ_NO_THREADS.
///
/// The failures in this list are failures of the call: no array is compressed, and `results` is
/// unchanged.
///
/// If arrays fail, all results are written. The function then returns the status of the first array
/// that failed, and the text of fz_last_error() begins with the index of that array. To distinguish
/// a failure of the call from failures of arrays, set `results[0].status` to -1 before the call. A
/// failure of the call leaves it unchanged.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_batch(
    batch: *const fz_batch_plan,
    workspace: *mut fz_batch_workspace,
    src: *const *const c_void,
    src_bytes: *const u64,
    dst: *const *mut c_void,
    dst_capacity_bytes: *const u64,
    results: *mut fz_result,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, exclusive(workspace, "workspace")?) };
        let encoders = batch.encoders()?;
        let array = |i: usize| encoders.plans().get(i).map_or(0, |plan| plan.array().bytes());
        let of_src = (src.cast(), src_bytes, ["src", "src_bytes"]);
        let of_dst = (dst.cast(), dst_capacity_bytes, ["dst", "dst_capacity_bytes"]);
        // SAFETY: the caller's promise.
        let (items, results) = unsafe { arguments(encoders.len(), array, of_src, of_dst, results)? };
        // SAFETY: the caller's promise; the memory was compared above.
        let done = unsafe { encoders.compress_at(workspace.serve(batch)?, &items) }?;
        results.put(&items, &done)
    })
}

/// Restores many arrays, each from its own container. Blocking.
///
/// Parameters:
///   `batch`               In: decoders, from fz_batch_plan_new().
///   `workspace`           In/out: created for `batch`.
///   `containers`          In: the address of each container.
///   `container_bytes`     In: the length of each container in bytes.
///   `dst`                 Out: the address of each array.
///   `dst_capacity_bytes`  In: the capacity of each array, at least its length. Nothing is written
///                         beyond it.
///   `results`             Out: the result of each array, with the statuses of fz_decompress().
///
/// The rules of fz_compress_batch() apply. A container may come from an untrusted source: for any
/// bytes of the container, `results` contains a status for its array, and the call restores the
/// other arrays.
///
/// Returns:
///   FZ_OK                All arrays are restored.
///   FZ_INVALID_ARGUMENT  `batch` contains encoders, or memory overlaps.
///   FZ_PLAN_MISMATCH, FZ_NO_THREADS, and failures of arrays as for fz_compress_batch().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_batch(
    batch: *const fz_batch_plan,
    workspace: *mut fz_batch_workspace,
    containers: *const *const c_void,
    container_bytes: *const u64,
    dst: *const *mut c_void,
    dst_capacity_bytes: *const u64,
    results: *mut fz_result,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (batch, workspace) = unsafe { (handle(batch, "batch")?, exclusive(workspace, "workspace")?) };
        let decoders = batch.decoders()?;
        let array = |i: usize| decoders.plans().get(i).map_or(0, |plan| plan.array().bytes());
        let of_src = (containers.cast(), container_bytes, ["containers", "container_bytes"]);
        let of_dst = (dst.cast(), dst_capacity_bytes, ["dst", "dst_capacity_bytes"]);
        // SAFETY: the caller's promise.
        let (items, results) = unsafe { arguments(decoders.len(), array, of_src, of_dst, results)? };
        // SAFETY: the caller's promise; the memory was compared above.
        let done = unsafe { decoders.decompress_at(workspace.serve(batch)?, &items) }?;
        results.put(&items, &done)
    })
}
