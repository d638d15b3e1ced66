//! Capsules of DLPack, in both directions: <https://dmlc.github.io/dlpack/latest/>. Versions below 1.0 and 1.x.
#![allow(unsafe_code)]

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

const PLAIN: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");
const VERSIONED: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");
const READ_ONLY: u64 = 1;
/// GPUs of CUDA.
const CUDA: i32 = 2;

#[repr(C)]
struct Device {
    kind: i32,
    index: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Plain {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// A tensor of another library, released when this is dropped.
#[derive(Clone, Copy)]
enum Managed {
    Plain(*mut Plain),
    Versioned(*mut Versioned),
}

impl Managed {
    /// # Safety
    /// The tensor is alive.
    unsafe fn release(self) {
        // SAFETY: the caller's promise; a deleter takes its own structure.
        unsafe {
            match self {
                Managed::Plain(p) => {
                    if let Some(delete) = (*p).deleter {
                        delete(p);
                    }
                }
                Managed::Versioned(p) => {
                    if let Some(delete) = (*p).deleter {
                        delete(p);
                    }
                }
            }
        }
    }
}

/// Keeps a tensor of another library.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct Tenure(Managed);

// SAFETY: a deleter may be called from any thread.
unsafe impl Send for Tenure {}
// SAFETY: nothing is done with it but to drop it.
unsafe impl Sync for Tenure {}

impl Drop for Tenure {
    fn drop(&mut self) {
        // SAFETY: the capsule was consumed, so no other code releases the tensor.
        unsafe { self.0.release() }
    }
}

/// Address, shape, strides in elements or None, code, bits, and lanes of the type, kind and index of the
/// device, 1 if the memory is read-only, and the owner of the memory.
type Taken = (u64, Vec<i64>, Option<Vec<i64>>, (u8, u8, u16), (i32, i32), bool, Tenure);

/// Takes a tensor out of the capsule that `__dlpack__` returned.
#[pyfunction]
pub(crate) fn take_dlpack(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
    let object = capsule.as_ptr();
    let named = |names: (&CStr, &CStr)| {
        // SAFETY: it is an object; the function checks that it is a capsule of this name.
        unsafe { ffi::PyCapsule_IsValid(object, names.0.as_ptr()) != 0 }
    };
    let names = match (named(PLAIN), named(VERSIONED)) {
        (true, _) => PLAIN,
        (_, true) => VERSIONED,
        _ => return Err(PyBufferError::new_err("__dlpack__ returned no unused capsule of DLPack")),
    };
    // SAFETY: the capsule has this name.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(object, names.0.as_ptr()) };
    // SAFETY: a capsule of this name holds this structure.
    let (managed, tensor, read_only) = unsafe {
        if names == PLAIN {
            let managed = pointer.cast::<Plain>();
            (Managed::Plain(managed), &(*managed).tensor, false)
        } else {
            let managed = pointer.cast::<Versioned>();
            // The fields after the deleter may differ in another version.
            if (*managed).major != 1 {
                let what =
                    format!("the array is of DLPack version {}; expected 1 or below", (*managed).major);
                return Err(PyBufferError::new_err(what));
            }
            (Managed::Versioned(managed), &(*managed).tensor, (*managed).flags & READ_ONLY != 0)
        }
    };
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    let numbers = |at: *mut i64| -> Option<Vec<i64>> {
        // SAFETY: a tensor has as many numbers as dimensions, or no list.
        (!at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at, ndim) }.to_vec())
    };
    let address = (tensor.data as u64).wrapping_add(tensor.byte_offset);
    let (shape, strides) = (numbers(tensor.shape).unwrap_or_default(), numbers(tensor.strides));
    let DataType { code, bits, lanes } = tensor.dtype;
    let device = (tensor.device.kind, tensor.device.index);
    // SAFETY: the capsule is valid, and the name is never freed. From here on the tensor is ours.
    if unsafe { ffi::PyCapsule_SetName(object, names.1.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok((address, shape, strides, (code, bits, lanes), device, read_only, Tenure(managed)))
}

/// An array of ours in the hands of another library. The structure that is handed over is the first field that its kind needs.
struct Lent {
    plain: Plain,
    versioned: Versioned,
    /// Shape and strides.
    _numbers: Box<[i64]>,
    _owner: Py<PyAny>,
}

/// Ends a loan. Without an interpreter the owner stays, as everything else does.
unsafe fn end(lent: *mut c_void) {
    Python::try_attach(|_| {
        // SAFETY: the pointer was made from a Box, and a deleter is called once.
        drop(unsafe { Box::from_raw(lent.cast::<Lent>()) });
    });
}

unsafe extern "C" fn end_plain(managed: *mut Plain) {
    // SAFETY: the consumer passes back the tensor that it received.
    unsafe { end((*managed).context) }
}

unsafe extern "C" fn end_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    unsafe { end((*managed).context) }
}

/// Ends the loan of a capsule that was not consumed.
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with the capsule; its name determines its contents.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.0.as_ptr()) != 0 {
            Managed::Plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.0.as_ptr()).cast()).release();
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.0.as_ptr()) != 0 {
            Managed::Versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.0.as_ptr()).cast()).release();
        }
    }
}

/// A capsule of contiguous memory on a GPU, which keeps `owner`.
#[pyfunction]
pub(crate) fn lend_dlpack(
    py: Python<'_>,
    owner: Py<PyAny>,
    address: u64,
    device: i32,
    shape: Vec<i64>,
    code_and_bits: (u8, u8),
    versioned: bool,
) -> PyResult<Py<PyAny>> {
    let ndim = shape.len();
    let mut numbers = vec![1; 2 * ndim];
    for (k, length) in shape.iter().enumerate().rev() {
        numbers[k] = *length;
        if k > 0 {
            numbers[ndim + k - 1] = numbers[ndim + k] * length;
        }
    }
    let mut numbers = numbers.into_boxed_slice();
    let lists = numbers.as_mut_ptr();
    let (code, bits) = code_and_bits;
    let tensor = || Tensor {
        data: address as *mut c_void,
        device: Device { kind: CUDA, index: device },
        ndim: ndim as i32,
        dtype: DataType { code, bits, lanes: 1 },
        shape: lists,
        strides: lists.wrapping_add(ndim),
        byte_offset: 0,
    };
    let lent = Box::into_raw(Box::new(Lent {
        plain: Plain { tensor: tensor(), context: null_mut(), deleter: Some(end_plain) },
        versioned: Versioned {
            major: 1,
            minor: 0,
            context: null_mut(),
            deleter: Some(end_versioned),
            flags: 0,
            tensor: tensor(),
        },
        _numbers: numbers,
        _owner: owner,
    }));
    // SAFETY: it was just made; each structure names the whole as its context.
    let (pointer, name) = unsafe {
        (*lent).plain.context = lent.cast();
        (*lent).versioned.context = lent.cast();
        match versioned {
            false => ((&raw mut (*lent).plain).cast::<c_void>(), PLAIN.0),
            true => ((&raw mut (*lent).versioned).cast::<c_void>(), VERSIONED.0),
        }
    };
    // SAFETY: the name is never freed, and the pointer is valid until a deleter is called. A null capsule
    // means that an exception is set.
    match unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name.as_ptr(), Some(unused)))
    } {
        Ok(capsule) => Ok(capsule.unbind()),
        Err(error) => {
            // SAFETY: no other pointer to it exists.
            drop(unsafe { Box::from_raw(lent) });
            Err(error)
        }
    }
}
