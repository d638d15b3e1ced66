//! Workspaces: the memory to do it in.

use std::ffi::c_void;
use std::sync::Arc;
use std::{process, slice};

use super::ffi_guard::{FfiError, FfiResult, expect_memory, ffi_guard, ffi_guard_drop};
use super::handle::{handle, out, region, release};
use super::handle_registry::Handle;
use super::plan::{Task, fz_plan};
use crate::{DeviceSlice, Workspace};

/// The memory that a call works in, made for one plan. With a workspace a call allocates no memory in proportion to the
/// array, except where outlier lists must grow. One call at a time; it may be used again and again. Made by
/// fz_workspace_new() or fz_workspace_from_buffer(), given back with fz_workspace_free().
///
/// With a GPU in the option device it is device memory. With FZ_DEVICE_AUTO it starts with host memory, and the first call
/// on a GPU, or fz_plan_preload(), adds device memory to it; blocking calls add more for copies of what is in host memory.
pub struct fz_workspace {
    pub(super) inner: Workspace,
    plan: Arc<()>,
    process: u32,
    /// The buffer of fz_workspace_from_buffer(); empty for memory of the workspace's own.
    buffer: DeviceSlice,
}

impl Handle for fz_workspace {
    const NAME: &'static str = "fz_workspace";
}

impl fz_workspace {
    pub(super) fn new(plan: &fz_plan) -> FfiResult<Self> {
        let inner = match &plan.task {
            Task::Compress(encoder) => encoder.workspace()?,
            Task::Restore(decoder) => decoder.workspace()?,
        };
        Ok(fz_workspace {
            inner,
            plan: plan.identity.clone(),
            process: process::id(),
            buffer: DeviceSlice::default(),
        })
    }

    /// In memory of the caller's.
    fn within(memory: &'static mut [u8], plan: &fz_plan) -> FfiResult<Self> {
        let buffer = DeviceSlice { address: memory.as_ptr() as u64, bytes: memory.len() as u64 };
        let inner = match &plan.task {
            Task::Compress(encoder) => encoder.workspace_in(memory)?,
            Task::Restore(decoder) => decoder.workspace_in(memory)?,
        };
        Ok(fz_workspace { inner, plan: plan.identity.clone(), process: process::id(), buffer })
    }

    /// The memory for a call with `plan` that reads and writes `touched`, each with the name of its parameter.
    pub(super) fn serve(
        &mut self,
        plan: &fz_plan,
        touched: &[(DeviceSlice, &str)],
    ) -> FfiResult<&mut Workspace> {
        if !Arc::ptr_eq(&self.plan, &plan.identity) {
            return Err(FfiError::mismatch("the workspace was made for another plan"));
        }
        if let Some((_, name)) = touched.iter().find(|(bytes, _)| bytes.overlaps(self.buffer)) {
            return Err(FfiError::argument(format!(
                "{name} overlaps the buffer of the workspace; pass memory outside of that buffer"
            )));
        }
        // A child of fork() inherits memory but no threads: those of the parent's workspace would never answer. Nor
        // does it inherit the GPU: there is no workspace for a plan that runs on one.
        if self.process != process::id() {
            if self.inner.may_grow() {
                let fresh = fz_workspace::new(plan)?;
                expect_memory()?;
                *self = fresh;
            } else {
                self.inner.restart(plan.threads())?;
                expect_memory()?;
                self.process = process::id();
            }
        }
        Ok(&mut self.inner)
    }
}

/// The memory that a workspace for this plan takes, in bytes: device memory when the option device is a GPU, else host memory.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_bytes(plan: *const fz_plan, bytes: *mut u64) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, bytes) = unsafe { (handle(plan, "plan")?, out(bytes, "bytes")?) };
        bytes.put(match &plan.task {
            Task::Compress(encoder) => encoder.workspace_bytes(),
            Task::Restore(decoder) => decoder.workspace_bytes(),
        });
        Ok(())
    })
}

/// Makes a workspace for calls with this plan.
///
/// With a GPU in the option device this takes the device memory of all calls and loads device code, in the context of the
/// thread if it is one of that device, else in the primary context, which the CUDA runtime uses too.
///
/// Errors: FZ_OUT_OF_MEMORY; FZ_NO_THREADS; FZ_NO_DEVICE, FZ_DEVICE.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_new(plan: *const fz_plan, workspace: *mut *mut fz_workspace) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, out(workspace, "workspace")?) };
        workspace.give(fz_workspace::new(plan)?)
    })
}

/// Makes a workspace for calls with this plan on the CPU, in memory of the caller's.
///
/// `buffer`        host memory at any address, fz_workspace_bytes() or more of it. Until fz_workspace_free() it belongs to the
///                 workspace alone, and it is not freed there. Its contents do not matter. A call whose source, destination,
///                 or result overlaps the buffer fails with FZ_INVALID_ARGUMENT. A buffer that another workspace uses is not
///                 detected.
///
/// Calls on the CPU with this workspace take little memory besides, whatever the array holds: outlier lists are not enlarged,
/// and an array with more outliers than the pipeline has room for ends with FZ_OUTLIER_CAPACITY. What they take, as those with
/// any workspace do, is some ten KiB for headers, tables of less than a five-hundredth of the array, 2 MiB where the quantizer
/// has outlier lists, in huffman 20 bytes for each entry of the codebook (`bklen`) and 4 more with each thread, and in
/// lorenzo_quant up to four times the room for outliers while those are sorted. A call on a GPU adds device memory.
///
/// Errors: FZ_INVALID_ARGUMENT for too small a buffer, or a plan whose option device is a GPU; FZ_NULL_POINTER;
/// FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_from_buffer(
    plan: *const fz_plan,
    buffer: *mut c_void,
    buffer_bytes: u64,
    workspace: *mut *mut fz_workspace,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, out(workspace, "workspace")?) };
        let bytes = region(buffer, buffer_bytes, "buffer")?;
        let workspace = workspace.apart_from(bytes, "buffer")?;
        if buffer.is_null() {
            return Err(FfiError::null("buffer"));
        }
        // SAFETY: not null, no longer than an object can be. That it is memory, and nobody else's until the workspace is
        // freed, is the caller's promise.
        let memory = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), bytes.bytes as usize) };
        workspace.give(fz_workspace::within(memory, plan)?)
    })
}

/// Frees a workspace; NULL is allowed. Streams must have passed its asynchronous calls, and no graph that holds one is launched
/// any more. When its context is gone, by cudaDeviceReset() or because the process ends, so is its device memory, and the rest
/// is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_free(workspace: *mut fz_workspace) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(workspace, "workspace") });
}
