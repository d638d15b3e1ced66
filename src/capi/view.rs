//! Arrays with gaps between their elements.
//!
//! Section of the header: Arrays with strides and ghost cells.

use std::ffi::c_void;

use super::codec::with;
use super::ffi_guard::{FfiError, FfiResult, ffi_guard};
use super::handle::{
    expect_struct_bytes, handle, optional, optional_handle, optional_mut, out, region, region_at,
};
use super::plan::fz_plan;
use super::status::FZ_MAX_DIMS;
use super::workspace::fz_workspace;
use crate::base::strided::{Layout, Row};
use crate::codec::buffer;
use crate::{Array, DType, Decoder, DeviceSlice, Error, Options, device_of};

/// A strided array in host memory: the address of its first element, and the distance between
/// neighbors in each dimension. Memory between the elements, such as ghost cells around the interior
/// of a grid, does not belong to the array: it is neither compressed nor written.
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

/// A view whose fields are checked.
struct Checked {
    array: Array,
    layout: Layout,
    origin: usize,
    /// The bytes from the first to the last element.
    span: DeviceSlice,
}

impl fz_view {
    fn checked(&self, name: &str) -> FfiResult<Checked> {
        expect_struct_bytes::<fz_view>(name, "fz_view", self.struct_bytes)?;
        if !(1..=FZ_MAX_DIMS).contains(&self.ndim) || self.reserved != 0 {
            let (ndim, reserved) = (self.ndim, self.reserved);
            return Err(FfiError::argument(format!(
                "{name}->ndim is {ndim} and {name}->reserved is {reserved}; expected 1 to {FZ_MAX_DIMS}, and 0"
            )));
        }
        let ndim = self.ndim as usize;
        let array = Array::new(DType::from_number(self.dtype.into())?, &self.dims[..ndim])?;
        let layout = Layout::new(&array, &self.strides[..ndim])?;
        let (origin, span) = (self.origin as usize, layout.span());
        if array.bytes() > 0 && self.origin.is_null() {
            return Err(FfiError::null(&format!("{name}->origin")));
        }
        let first =
            origin.checked_add_signed(span.start as isize).filter(|first| *first > 0 || span.is_empty());
        let first = first.ok_or_else(|| {
            FfiError::argument(format!("{name} extends below address 0; correct its strides or its origin"))
        })?;
        let span = region_at(first, (span.end - span.start) as u64, || name.to_owned())?;
        if array.bytes() > 0 && device_of(origin as u64)?.is_some() {
            let what = format!("{name} is in device memory; copy it to a packed array on the device first");
            return Err(Error::Unsupported { stage: "fz_view", what }.into());
        }
        Ok(Checked { array, layout, origin, span })
    }
}

impl Checked {
    /// Calls `copy` with the address of each element and its place in the packed array, or with those of a whole row without gaps.
    fn each(&self, mut copy: impl FnMut(usize, std::ops::Range<usize>)) {
        let width = self.array.dtype().bytes() as usize;
        self.layout.rows(|Row { at, stride, packed }| {
            // The addresses are inside of the span, which does not wrap.
            let first = self.origin.wrapping_add_signed(at as isize);
            if stride == width as i64 {
                return copy(first, packed);
            }
            let mut address = first;
            for start in packed.step_by(width) {
                copy(address, start..start + width);
                address = address.wrapping_add_signed(stride as isize);
            }
        });
    }

    fn expect_apart_from(&self, other: DeviceSlice, (own, name): (&str, &str)) -> FfiResult<()> {
        if self.span.overlaps(other) {
            return Err(FfiError::argument(format!(
                "{own} and {name} overlap: {own} includes all bytes from its first to its last element; pass separate memory"
            )));
        }
        Ok(())
    }
}

/// A view that C passes by its address.
///
/// # Safety
/// As for [`optional`].
unsafe fn view_of(view: *const fz_view, name: &str) -> FfiResult<Checked> {
    // SAFETY: the caller's promise, passed on.
    unsafe { optional(view, name) }?.ok_or_else(|| FfiError::null(name))?.checked(name)
}

/// Compresses a strided array into a container. Same as fz_compress(), except:
///
/// Parameters:
///   `src`  In: the array, in host memory, with the element type and shape of the plan. Strides may
///          be negative or 0, and elements may share memory.
///
/// The call packs the array into memory that it allocates, of the size of the array, and compresses
/// it. The container is that of the packed array.
///
/// Returns:
///   FZ_INVALID_ARGUMENT  Also if a field of `src` is out of range. Also if the memory at `dst` or
///                        `compressed_bytes` overlaps the range from the first to the last byte of
///                        the elements.
///   FZ_PLAN_MISMATCH     Also if `src` has another element type or shape than the plan.
///   FZ_UNSUPPORTED       Also if `src` is in device memory.
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
        src.expect_apart_from(dst, ("src", "dst"))?;
        let length = length.apart_from(dst, "dst")?.apart_from(src.span, "src")?;
        let encoder = plan.encoder()?;
        expect_array(&src.array, encoder.array(), "the plan")?;
        let mut packed = buffer(src.layout.bytes())?;
        src.each(|address, range| {
            let to = &mut packed[range];
            // SAFETY: the caller's promise: host memory of an element or a row of elements; `to` is memory of this call.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, to.as_mut_ptr(), to.len()) }
        });
        let from = DeviceSlice { address: packed.as_ptr() as u64, bytes: packed.len() as u64 };
        let touched = [(src.span, "src"), (dst, "dst"), (length.region(), "compressed_bytes")];
        // SAFETY: the caller's promise; the other buffer belongs to this call.
        length.put(with(plan, workspace, &touched, |ws| Ok(unsafe { encoder.compress_at(ws, from, dst) }?))?);
        Ok(())
    })
}

/// Restores a strided array from a container. Same as fz_decompress(), except:
///
/// Parameters:
///   `dst`  In: the view of the destination, in host memory, with the element type and shape of the
///          container. The call writes the elements; all other memory remains unchanged.
///
/// The call restores the array in memory that it allocates, of the size of the array, and copies its
/// elements. On failure `dst` is unchanged.
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
///   FZ_UNSUPPORTED       Also if `dst` is in device memory.
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
        dst.layout.expect_apart()?;
        let container = region(container, container_bytes, "container")?;
        dst.expect_apart_from(container, ("dst", "container"))?;
        let length = length.apart_from(dst.span, "dst")?.apart_from(container, "container")?;
        // SAFETY: the caller's promise.
        expect_array(&dst.array, &unsafe { crate::info_at(container) }?.array, "the container")?;
        let mut packed = buffer(dst.layout.bytes())?;
        let to = DeviceSlice { address: packed.as_mut_ptr() as u64, bytes: packed.len() as u64 };
        let restored = match plan {
            Some(plan) => {
                let decoder = plan.decoder()?;
                let touched =
                    [(container, "container"), (dst.span, "dst"), (length.region(), "restored_bytes")];
                with(plan, workspace, &touched, |ws| {
                    // SAFETY: the caller's promise; the other buffer belongs to this call.
                    Ok(unsafe { decoder.decompress_at(ws, container, to) }?)
                })?
            }
            None if workspace.is_some() => {
                return Err(FfiError::mismatch(
                    "workspace is given but plan is NULL; pass the plan of the workspace, or NULL for both",
                ));
            }
            // SAFETY: the caller's promise; the other buffer belongs to this call.
            None => unsafe { Decoder::decompress_once_at(container, to, &Options::default()) }? as u64,
        };
        if restored != dst.layout.bytes() {
            return Err(Error::Internal("a container restores another length than it states").into());
        }
        dst.each(|address, range| {
            let from = &packed[range];
            // SAFETY: the caller's promise: host memory of an element or a row of elements; `from` is memory of this call.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address as *mut u8, from.len()) }
        });
        length.put(restored);
        Ok(())
    })
}

fn expect_array(view: &Array, other: &Array, name: &str) -> FfiResult<()> {
    if view == other {
        return Ok(());
    }
    let text = |a: &Array| format!("{} of {:?}", a.dtype(), a.dims());
    Err(FfiError::mismatch(format!("the view is {}, but {name} is for {}", text(view), text(other))))
}
