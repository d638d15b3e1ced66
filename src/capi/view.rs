//! Arrays with gaps between their elements.
//!
//! Section of the header: Arrays with strides and ghost cells.

use std::ffi::c_void;

use super::codec::with;
use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{expect_struct_bytes, handle, optional, optional_handle, optional_mut, out, region};
use super::plan::fz_plan;
use super::status::FZ_MAX_DIMS;
use super::workspace::fz_workspace;
use crate::{Array, DType, Decoder, DeviceSlice, Options, StridedSlice};

/// A strided array in host or device memory: the address of its first element, and the distance
/// between neighbors in each dimension. Memory between the elements, such as ghost cells around the
/// interior of a grid, does not belong to the array: it is neither compressed nor written.
///
/// Initialize the structure with FZ_INIT(). Element (x, y, z) is
/// `x * strides[0] + y * strides[1] + z * strides[2]` elements after `origin`. For the interior of a
/// grid of nx, ny, and nz elements with g ghost cells on each side, `origin` is the address of
/// element (g, g, g), dims are {nx, ny, nz}, and strides are {1, nx + 2g, (nx + 2g) (ny + 2g)}.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fz_view {
    /// sizeof(fz_view), set by FZ_INIT(); any other value is rejected.
    pub struct_bytes: u32,
    /// Element type, an fz_dtype.
    pub dtype: i32,
    /// Number of dimensions, 1 to FZ_MAX_DIMS.
    pub ndim: u32,
    /// 0.
    pub reserved: u32,
    /// Address of element (0, 0, …). It may have any alignment. fz_compress_view() does not write to
    /// this memory.
    pub origin: *mut c_void,
    /// Lengths in elements, x first; a length may be 0. Unused entries are ignored.
    pub dims: [u64; FZ_MAX_DIMS as usize],
    /// Distance between neighbors in elements, x first; negative strides are permitted. Unused entries
    /// are ignored.
    pub strides: [i64; FZ_MAX_DIMS as usize],
}

impl fz_view {
    fn checked(&self, name: &str) -> FfiResult<StridedSlice> {
        expect_struct_bytes::<fz_view>(name, "fz_view", self.struct_bytes)?;
        if !(1..=FZ_MAX_DIMS).contains(&self.ndim) || self.reserved != 0 {
            let (ndim, reserved) = (self.ndim, self.reserved);
            return Err(FfiError::argument(format!(
                "{name}->ndim is {ndim} and {name}->reserved is {reserved}; expected 1 to {FZ_MAX_DIMS}, and 0"
            )));
        }
        let ndim = self.ndim as usize;
        let array = Array::new(DType::from_number(self.dtype.into())?, &self.dims[..ndim])?;
        if array.bytes() > 0 && self.origin.is_null() {
            return Err(FfiError::null(&format!("{name}->origin")));
        }
        Ok(StridedSlice::new(&array, self.origin as u64, &self.strides[..ndim])?)
    }
}

/// Rejects a region that overlaps the memory of a view.
pub(super) fn expect_apart_from(
    view: &StridedSlice,
    other: DeviceSlice,
    (own, name): (&str, &str),
) -> FfiResult<()> {
    if view.span().overlaps(other) {
        return Err(FfiError::argument(format!(
            "{own} and {name} overlap: {own} includes all bytes from its first to its last element; pass separate memory"
        )));
    }
    Ok(())
}

/// A view that C passes by its address.
///
/// # Safety
/// As for [`optional`].
pub(super) unsafe fn view_of(view: *const fz_view, name: &str) -> FfiResult<StridedSlice> {
    // SAFETY: the caller's promise, passed on.
    unsafe { optional(view, name) }?.ok_or_else(|| FfiError::null(name))?.checked(name)
}

/// Compresses a strided array into a container. Same as fz_compress(), except:
///
/// Parameters:
///   `src`  In: the array, with the element type and shape of the plan. Strides may be negative or 0,
///          and elements may share memory.
///
/// The call packs the array into other memory of the size of the array, and compresses it. The
/// container is that of the packed array. On the CPU, the call allocates host memory for the packed
/// array. If the call runs on a GPU, and `src` is in device or managed memory, the GPU packs the
/// array into device memory that the workspace keeps.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also if a field of `src` is out of range. Also if the memory at `dst` or
///                        `compressed_bytes` overlaps the range from the first to the last byte of
///                        the elements.
///   FZ_PLAN_MISMATCH     Also if `src` has another element type or shape than the plan.
///
/// Also returns the statuses of fz_compress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_compress_view(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    src: *const fz_view,
    dst: *mut c_void,
    dst_capacity_bytes: u64,
    compressed_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) = unsafe { (handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let (src, length) = unsafe { (view_of(src, "src")?, out(compressed_bytes, "compressed_bytes")?) };
        let dst = region(dst, dst_capacity_bytes, "dst")?;
        expect_apart_from(&src, dst, ("src", "dst"))?;
        let length = length.apart_from(dst, "dst")?.apart_from(src.span(), "src")?;
        let encoder = plan.encoder()?;
        let touched = [(src.span(), "src"), (dst, "dst"), (length.region(), "compressed_bytes")];
        length.put(with(plan, workspace, &touched, |ws| {
            // SAFETY: the caller's promise.
            Ok(unsafe { encoder.compress_view_at(ws, &src, dst) }?)
        })?);
        Ok(())
    })
}

/// Restores a strided array from a container. Same as fz_decompress(), except:
///
/// Parameters:
///   `dst`  In: the view of the destination, with the element type and shape of the container. The
///          call writes the elements; all other memory remains unchanged.
///
/// The call restores the array in other memory of the size of the array, and copies its elements.
/// The memory is that of fz_compress_view(). On failure `dst` is unchanged. Exception: after
/// FZ_DEVICE, the elements of a view in device or managed memory are undefined.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also if a field of `dst` is out of range. Also if the memory at
///                        `container` or `restored_bytes` overlaps the range from the first to the
///                        last byte of the elements. Also if two elements of `dst` could share
///                        memory. The call decides this as follows. It sorts the dimensions of
///                        length 2 or more by |stride|, smallest first. For each dimension d,
///                        |stride of d| must be greater than the sum of
///                        |stride of e| * (length of e - 1) over all dimensions e before d.
///   FZ_PLAN_MISMATCH     Also if `dst` has another element type or shape than the container.
///
/// Also returns the statuses of fz_decompress().
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fz_decompress_view(
    plan: *const fz_plan,
    workspace: *mut fz_workspace,
    container: *const c_void,
    container_bytes: u64,
    dst: *const fz_view,
    restored_bytes: *mut u64,
) -> i32 {
    ffi_guard(|| {
        // SAFETY: the caller's promise.
        let (plan, workspace) =
            unsafe { (optional_handle(plan, "plan")?, optional_mut(workspace, "workspace")?) };
        // SAFETY: the caller's promise.
        let (dst, length) = unsafe { (view_of(dst, "dst")?, out(restored_bytes, "restored_bytes")?) };
        dst.expect_apart()?;
        let container = region(container, container_bytes, "container")?;
        expect_apart_from(&dst, container, ("dst", "container"))?;
        let length = length.apart_from(dst.span(), "dst")?.apart_from(container, "container")?;
        let restored = match plan {
            Some(plan) => {
                let decoder = plan.decoder()?;
                let touched =
                    [(container, "container"), (dst.span(), "dst"), (length.region(), "restored_bytes")];
                with(plan, workspace, &touched, |ws| {
                    // SAFETY: the caller's promise.
                    Ok(unsafe { decoder.decompress_view_at(ws, container, &dst) }?)
                })?
            }
            None if workspace.is_some() => {
                return Err(FfiError::mismatch(
                    "workspace is given but plan is NULL; pass the plan of the workspace, or NULL for both",
                ));
            }
            // SAFETY: the caller's promise.
            None => unsafe { Decoder::decompress_view_once_at(container, &dst, &Options::default()) }? as u64,
        };
        length.put(restored);
        Ok(())
    })
}
