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

/// Memory that calls use while they run, created for one plan. Calls may use a workspace one after
/// another, but not at the same time. Create a workspace with fz_workspace_new() or
/// fz_workspace_from_buffer(); free it with fz_workspace_free(). The description of
/// fz_workspace_from_buffer() lists the memory that calls allocate in addition.
///
/// If options->device is the number of a GPU, the workspace is device memory. Otherwise the
/// workspace is host memory. With FZ_DEVICE_AUTO, the first call on a GPU, or fz_plan_preload(),
/// adds device memory. If a blocking call on a GPU has arrays or containers in host memory, the
/// call adds device memory for copies of them. The workspace keeps all added memory.
///
/// Device memory belongs to one CUDA context. A call in another context waits for earlier work,
/// frees the device memory of the workspace, and allocates memory in the other context.
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

    /// The memory for a call with `plan` that reads and writes `touched`, each with the name of its
    /// parameter.
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

/// Returns in `*bytes` the size of a workspace for this plan.
///
/// If options->device is the number of a GPU, this is the size in device memory. Otherwise this is
/// the size in host memory. With FZ_DEVICE_AUTO, a workspace also has device memory after the first
/// call on a GPU, which `*bytes` does not include. For the size in device memory, create another
/// plan with the number of the GPU.
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
/// If options->device is the number of a GPU, the function also prepares the workspace, as
/// fz_plan_preload() does. If the current context of the thread belongs to the GPU, the function
/// uses the current context. Otherwise the function uses the primary context, which is the context
/// of the CUDA runtime.
///
/// Returns:
///   FZ_NO_THREADS.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_new(plan: *const fz_plan, workspace: *mut *mut fz_workspace) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, out(workspace, "workspace")?) };
        workspace.give(fz_workspace::new(plan)?)
    })
}

/// Creates a workspace for calls with this plan, in host memory of the caller.
///
/// Parameters:
///   `buffer`        In: host memory of any alignment and contents. The buffer must remain valid
///                   until fz_workspace_free(). Until then, only the workspace may use the buffer.
///                   fz_workspace_free() does not free the buffer.
///   `buffer_bytes`  In: size of the buffer in bytes, at least fz_workspace_bytes().
///   `workspace`     Out: the workspace.
///
/// If an array, a container, or an output parameter of a call overlaps the buffer, the call fails
/// with FZ_INVALID_ARGUMENT. The function does not detect that another workspace uses the buffer.
///
/// Blocking calls with this workspace do not enlarge outlier lists. If an array has more outliers
/// than the lists can store, the call returns FZ_OUTLIER_CAPACITY.
///
/// A call on the CPU, with a workspace from fz_workspace_new() or from this function, also
/// allocates memory outside the workspace. The amount is at most the sum of:
/// - headers and small buffers: less than 128 KiB, and less than 64 KiB for each additional thread;
/// - tables: less than 1/500 of the array size;
/// - stage quantizer with outlier lists: 2 MiB;
/// - stage ginterp: 1 MiB per thread;
/// - stage huffman: 20 bytes per entry of the code book (`bklen`), and 4 bytes per entry and
///   thread;
/// - stage lorenzo_quant: four times the size of the outlier lists, while it sorts outliers;
/// - fz_compress_file(): fz_max_compressed_bytes();
/// - fz_decompress_file(): the length of the file.
///
/// Two cases require more memory, in addition to this sum:
/// - Stage "multilevel" (preset "high") usually allocates about 7 times the array size. Stage "exact"
///   (preset "exact") usually allocates about 4 times the array size plus 12 bytes for each element.
///   These are estimates: no upper limit is guaranteed.
/// - If the outlier lists of a workspace from fz_workspace_new() are full, the call allocates a
///   second workspace with larger lists. If lists of another stage are then full, the call allocates
///   a third workspace, and so on: at most one for each stage with outlier lists. All of these
///   workspaces exist until the call returns. The size of each is at most fz_workspace_bytes() of a
///   plan with outlier_capacity 1.
///
/// With FZ_DEVICE_AUTO, calls on a GPU may also use the workspace; they add device memory to the
/// workspace.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  The buffer is too small, or options->device of the plan is the number of
///                        a GPU.
///   FZ_NULL_POINTER      Also if `buffer` is NULL and `buffer_bytes` is 0.
///   FZ_NO_THREADS.
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
/// All enqueued work that uses the workspace must be complete before the call. Graphs that contain
/// a call with the workspace must not be launched afterwards. If the workspace has device memory,
/// the function may wait for earlier work on the device.
///
/// If the CUDA context of the workspace no longer exists, for example after cudaDeviceReset() or at
/// the end of the process, the function frees only the host memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_free(workspace: *mut fz_workspace) {
    // SAFETY: the caller's promise.
    ffi_guard_drop(|| unsafe { release(workspace, "workspace") });
}
