//! Workspaces: the memory to do it in.

use super::handle::{out, release, shared};
use super::plan::fz_plan;
use super::wall::{quiet_wall, wall};
use crate::codec::Workspace;

/// The memory that a call works in, made for one plan. With a workspace a call allocates nothing. One call at a time; it may
/// be used again and again. Made by fz_workspace_new(), given back with fz_workspace_free().
pub struct fz_workspace(pub(super) Workspace);

/// The memory that a workspace for this plan takes, in bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_bytes(plan: *const fz_plan, bytes: *mut u64) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (plan, bytes) = unsafe { (shared(plan, "plan")?, out(bytes, "bytes")?) };
        bytes.put(plan.0.workspace_bytes());
        Ok(())
    })
}

/// Makes a workspace for calls with this plan.
///
/// Errors: FZ_OUT_OF_MEMORY.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_new(plan: *const fz_plan, workspace: *mut *mut fz_workspace) -> i32 {
    wall(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (shared(plan, "plan")?, out(workspace, "workspace")?) };
        workspace.give(fz_workspace(plan.0.workspace()?));
        Ok(())
    })
}

/// Frees a workspace; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_workspace_free(workspace: *mut fz_workspace) {
    // SAFETY: the caller's promise.
    quiet_wall(|| unsafe { release(workspace) });
}
