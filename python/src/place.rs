//! Memory of arguments: arrays of bytes on the host, or addresses that the package has taken from arrays on a GPU.
#![allow(unsafe_code)]

use crate::error::OrRaise;
use crate::info::described;
use crate::text::Text;
use crate::views::{Bytes, exclusive, shared};
use fzgm::{
    Array, Choice, DeviceBuffer, DeviceSlice, Encoder, Error, Stream, Wish, Workspace, choose_at, on_device,
};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::DerefMut;
use std::ptr;

/// An argument: bytes on the host, or address and length.
#[derive(FromPyObject)]
pub(crate) enum Place<'py> {
    Host(Bytes<'py>),
    At((u64, u64)),
}

/// Protects the host memory that a call reads or writes from all other calls.
#[allow(dead_code)]
pub(crate) enum Guard<'py> {
    Shared(PyReadonlyArray1<'py, u8>),
    Exclusive(PyReadwriteArray1<'py, u8>),
    None,
}

impl<'py> Place<'py> {
    pub(crate) fn read(&self) -> PyResult<(DeviceSlice, Guard<'py>)> {
        match self {
            Place::At(at) => Ok((slice(*at), Guard::None)),
            Place::Host(bytes) => {
                let guard = shared(bytes)?;
                let held = guard.as_slice()?;
                let at = (held.as_ptr() as u64, held.len() as u64);
                Ok((slice(at), Guard::Shared(guard)))
            }
        }
    }

    pub(crate) fn write(&self) -> PyResult<(DeviceSlice, Guard<'py>)> {
        match self {
            Place::At(at) => Ok((slice(*at), Guard::None)),
            Place::Host(bytes) => {
                let mut guard = exclusive(bytes)?;
                let held = guard.as_slice_mut()?;
                let at = (held.as_mut_ptr() as u64, held.len() as u64);
                Ok((slice(at), Guard::Exclusive(guard)))
            }
        }
    }
}

pub(crate) fn slice((address, bytes): (u64, u64)) -> DeviceSlice {
    DeviceSlice { address, bytes }
}

/// Chooses a pipeline for an array at an address.
pub(crate) fn chosen_at(array: &Array, at: (u64, u64), wish: &Wish<'_>) -> fzgm::Result<Choice> {
    // SAFETY: the package holds the array of the address.
    unsafe { choose_at(array, slice(at), wish) }
}

/// Compresses `src`, on the CPU, into new bytes, with the workspace that `turn` returns once the interpreter
/// is released. The bytes are allocated when their length is known, so that nothing is copied.
pub(crate) fn compressed<'py, W: DerefMut<Target = Workspace>>(
    py: Python<'py>,
    encoder: &Encoder,
    src: &[u8],
    turn: impl FnOnce() -> W + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let made = py.detach(|| {
        let mut made = None;
        encoder.compress_into(&mut turn(), src, |bytes| {
            // No thread waits for a workspace while it holds the interpreter.
            let (object, address) =
                Python::attach(|py| new_bytes(py, bytes)).ok_or(Error::OutOfMemory(bytes))?;
            made = Some(object);
            // SAFETY: the object has `bytes` bytes and lives until the call returns. No other code has a
            // pointer to it, and the call only writes it.
            Ok(unsafe { std::slice::from_raw_parts_mut(address, bytes as usize) })
        })?;
        made.ok_or(Error::Internal("a container has its place"))
    });
    Ok(made.or_raise(py)?.into_bound(py))
}

/// Bytes of a length, not set yet, and where they are.
fn new_bytes(py: Python<'_>, bytes: u64) -> Option<(Py<PyBytes>, *mut u8)> {
    let length = ffi::Py_ssize_t::try_from(bytes).ok()?;
    // SAFETY: without a text the function returns an object of this length that no other code has, or NULL.
    let made =
        unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyBytes_FromStringAndSize(ptr::null(), length)) };
    let Some(made) = made else {
        // The exception of the interpreter: the library has its own.
        drop(PyErr::take(py));
        return None;
    };
    // SAFETY: an object of bytes.
    let (address, made) =
        unsafe { (ffi::PyBytes_AsString(made.as_ptr()), made.cast_into_unchecked::<PyBytes>()) };
    Some((made.unbind(), address.cast()))
}

/// Memory of a GPU.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct Memory(pub(crate) DeviceBuffer);

#[pymethods]
impl Memory {
    #[new]
    fn new(py: Python<'_>, device: u32, bytes: u64) -> PyResult<Self> {
        py.detach(|| DeviceBuffer::new(device, bytes)).map(Memory).or_raise(py)
    }

    #[getter]
    fn address(&self) -> u64 {
        self.0.slice().address
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.slice().bytes
    }
}

/// Copies from an address to the host and waits.
#[pyfunction]
pub(crate) fn copy_to_host<'py>(py: Python<'py>, source: (u64, u64), dst: Bytes<'py>) -> PyResult<()> {
    let mut dst = exclusive(&dst)?;
    let dst = dst.as_slice_mut()?;
    // SAFETY: the package holds the array of the address.
    py.detach(|| unsafe { fzgm::copy_to_host(slice(source), dst) }).or_raise(py)
}

/// Waits for a stream of a GPU.
#[pyfunction]
pub(crate) fn wait(py: Python<'_>, device: u32, stream: usize) -> PyResult<()> {
    py.detach(|| on_device(device, || Stream::from_raw(stream).wait())).or_raise(py)
}

/// The GPU of the memory at an address.
#[pyfunction]
pub(crate) fn device_of(py: Python<'_>, address: u64) -> PyResult<Option<u32>> {
    fzgm::device_of(address).or_raise(py)
}

/// How many GPUs there are.
#[pyfunction]
pub(crate) fn device_count(py: Python<'_>) -> PyResult<u32> {
    py.detach(fzgm::device_count).or_raise(py)
}

/// The index in `cuda:1` or `cuda`; None for `cpu`.
#[pyfunction]
pub(crate) fn device_index(py: Python<'_>, name: Text) -> PyResult<Option<u32>> {
    match name.0.parse().or_raise(py)? {
        fzgm::Device::Cuda(index) => Ok(Some(index)),
        fzgm::Device::Auto | fzgm::Device::Cpu => Ok(None),
    }
}

/// The header of a container on a GPU, in the form of [`crate::info::info`].
#[pyfunction]
pub(crate) fn info_at<'py>(py: Python<'py>, container: (u64, u64)) -> PyResult<Bound<'py, PyDict>> {
    // SAFETY: the package holds the array of the address.
    let info = py.detach(|| unsafe { fzgm::info_at(slice(container)) }).or_raise(py)?;
    described(py, &info)
}
