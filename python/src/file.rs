//! Containers in files; a call reads only the bytes that it needs.

use crate::error::OrRaise;
use crate::info::described;
use crate::views::{Bytes, exclusive};
use fzgm::ContainerFile;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// A file that is one container, or the front of one.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct File(ContainerFile);

#[pymethods]
impl File {
    /// Opens a file. With `front` the file may end before its container does.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, front: bool) -> PyResult<Self> {
        py.detach(|| if front { ContainerFile::open_front(path) } else { ContainerFile::open(path) })
            .map(File)
            .or_raise(py)
    }

    /// The header, in the form of [`crate::info::info`].
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        described(py, &self.0.info().or_raise(py)?)
    }

    /// Restores a part of the array into `dst`.
    fn region<'py>(
        &self,
        py: Python<'py>,
        origin: Vec<u64>,
        extent: Vec<u64>,
        dst: Bytes<'py>,
    ) -> PyResult<()> {
        let mut dst = exclusive(&dst)?;
        let dst = dst.as_slice_mut()?;
        py.detach(|| self.0.decompress_region(&origin, &extent, dst)).or_raise(py)?;
        Ok(())
    }

    /// Restores the elements at multiples of `step` into `dst`.
    fn preview<'py>(&self, py: Python<'py>, step: u64, dst: Bytes<'py>) -> PyResult<()> {
        let mut dst = exclusive(&dst)?;
        let dst = dst.as_slice_mut()?;
        py.detach(|| self.0.decompress_preview(step, dst)).or_raise(py)?;
        Ok(())
    }
}
