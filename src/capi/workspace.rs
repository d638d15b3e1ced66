//! Workspaces: the memory to do it in.

use std::process;
use std::sync::Arc;

use super::handle::{handle, out, release};
use super::plan::{Task, fz_plan};
use super::wall::{Answer, Refusal, quiet_wall, wall};
use crate::Workspace;

/// The memory that a call works in, made for one plan. With a workspace a call allocates no memory in proportion to the
/// array, except where outlier lists must grow. One call at a time; it may be used again and again. Made by
/// fz_workspace_new(), given back with fz_workspace_free().
///
/// With a GPU in the option device it is device memory. With FZ_DEVICE_AUTO it starts with host memory, and the first call
/// on a GPU, or fz_plan_preload(), adds device memory to it; blocking calls add more for copies of what is in host memory.
pub struct fz_workspace {
    pub(super) inner: Workspace,
    plan: Arc<()>,
    process: u32,
}

impl fz_workspace {
    pub(super) fn new(plan: &fz_plan) -> Answer<Self> {
        let inner = match &plan.task {
            Task::Compress(encoder) => encoder.workspace()?,
            Task::Restore(decoder) => decoder.workspace()?,
        };
        Ok(fz_workspace { inner, plan: plan.identity.clone(), process: process::id() })
    }

    /// The memory for a call with `plan`.
    pub(super) fn serve(&mut self, plan: &fz_plan) -> Answer<&mut Workspace> {
        if !Arc::ptr_eq(&self.plan, &plan.identity) {
            return Err(Refusal::mismatch("the workspace was made for another plan"));
        }
        // A child of fork() inherits memory but no threads: those of the parent's workspace would never answer. Nor
        // does it inherit the GPU: there is no workspace for a plan that runs on one.
        if self.process != process::id() {
            *self = fz_workspace::new(plan)?;
        }
        Ok(&mut self.inner)
    }
}

/// The memory that a workspace for this plan takes, in bytes: device memory when the option device is a GPU, else host memory.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_bytes(plan: *const fz_plan, bytes: *mut u64) -> i32 {
    wall(|| {
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
/// Errors: FZ_OUT_OF_MEMORY; FZ_NO_DEVICE, FZ_DEVICE.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_new(plan: *const fz_plan, workspace: *mut *mut fz_workspace) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, out(workspace, "workspace")?) };
        workspace.give(fz_workspace::new(plan)?);
        Ok(())
    })
}

/// Frees a workspace; NULL is allowed. Streams must have passed its asynchronous calls, and no graph that holds one is launched
/// any more. When its context is gone, by cudaDeviceReset() or because the process ends, so is its device memory, and the rest
/// is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_free(workspace: *mut fz_workspace) {
    // SAFETY: the caller's promise.
    quiet_wall(|| unsafe { release(workspace, "workspace") });
}
