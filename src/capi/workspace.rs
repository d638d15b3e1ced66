//! Workspaces: the memory to do it in.
//!
//! Section of the header: Workspaces.

use std::ffi::c_void;
use std::sync::Arc;
use std::{process, slice};

use super::ffi_guard::{FfiError, FfiResult, expect_memory, ffi_guard, ffi_guard_drop};
use super::handle::{handle, out, region, release};
use super::handle_registry::Handle;
use super::plan::{Task, fz_plan};
use crate::{DeviceSlice, Workspace};

/// Working memory of a call, created for one plan. A call with a workspace allocates no memory in
/// proportion to the array, except to enlarge outlier lists. A workspace serves one call at a time
/// and may be reused. Create it with fz_workspace_new() or fz_workspace_from_buffer(); free it with
/// fz_workspace_free().
///
/// If options->device is a GPU, the workspace is device memory. With FZ_DEVICE_AUTO, the workspace
/// starts as host memory; the first call on a GPU, or fz_plan_preload(), adds device memory.
/// Blocking calls add device memory for copies of host arrays.
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
            return Err(FfiError::mismatch(
                "the workspace was created for another plan; pass a workspace of this plan",
            ));
        }
        if let Some((_, name)) = touched.iter().find(|(bytes, _)| bytes.overlaps(self.buffer)) {
            return Err(FfiError::argument(format!(
                "{name} overlaps the buffer of the workspace; pass memory outside of that buffer"
            )));
        }
        // A child of fork() inherits memory but no threads, so a workspace of the parent must start its threads again.
        // A child does not inherit the GPU either: creating a workspace for a plan on a GPU fails.
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

/// Returns the size of a workspace for this plan, in bytes, in `*bytes`: device memory if
/// options->device is a GPU, otherwise host memory.
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

/// Creates a workspace for calls with this plan.
///
/// If options->device is a GPU, the function allocates the device memory of all calls and loads
/// device code, in the current context of the thread if that context belongs to the GPU, otherwise
/// in the primary context, which the CUDA runtime uses too.
///
/// Returns:
///   FZ_OUT_OF_MEMORY, FZ_NO_THREADS, FZ_NO_DEVICE, FZ_DEVICE.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_new(plan: *const fz_plan, workspace: *mut *mut fz_workspace) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, out(workspace, "workspace")?) };
        workspace.give(fz_workspace::new(plan)?)
    })
}

/// Creates a workspace for calls with this plan on the CPU, in memory of the caller.
///
/// Parameters:
///   `buffer`        In: host memory at any address, of any contents. Until fz_workspace_free()
///                   only the workspace may use the buffer; fz_workspace_free() does not free it.
///   `buffer_bytes`  In: size of the buffer in bytes, at least fz_workspace_bytes().
///   `workspace`     Out: the workspace.
///
/// A call whose source, destination, or result overlaps the buffer fails with FZ_INVALID_ARGUMENT.
/// A buffer that another workspace uses is not detected.
///
/// CPU calls with this workspace do not enlarge outlier lists: an array with more outliers than
/// they hold results in FZ_OUTLIER_CAPACITY. For every array, CPU calls with this or any other
/// workspace allocate only this additional memory:
/// - headers: about ten KiB;
/// - tables: less than 1/500 of the array size;
/// - quantizer with outlier lists: 2 MiB;
/// - huffman: 20 bytes per entry of the code book (`bklen`), and 4 bytes per entry and thread;
/// - lorenzo_quant: up to four times the size of the outlier lists, while it sorts outliers.
///
/// A call on a GPU adds device memory.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The buffer is too small, or options->device of the plan is a GPU.
///   FZ_NULL_POINTER, FZ_NO_THREADS.
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
        // SAFETY: the pointer is not null, and `region` checked the length. The caller promises that only the workspace
        // uses the memory until it is freed.
        let memory = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), bytes.bytes as usize) };
        workspace.give(fz_workspace::within(memory, plan)?)
    })
}

/// Frees a workspace. NULL is permitted.
///
/// Asynchronous calls with the workspace must have completed, and graphs that contain one must not
/// be launched afterwards. If the CUDA context no longer exists (cudaDeviceReset(), end of the
/// process), its device memory is gone too, and the function frees the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_free(workspace: *mut fz_workspace) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(workspace, "workspace") });
}
