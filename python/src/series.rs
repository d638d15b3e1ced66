//! Series of steps. The interpreter is released while the library works.

use crate::error::{OrRaise, raise};
use crate::info::described;
use crate::options;
use crate::views::{Bytes, exclusive, shared};
use fzgm::Error;
use fzgm::series::{Series, SeriesWriter};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A series that is read.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct SeriesFile(Series);

#[pymethods]
impl SeriesFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Series::open(path)).map(SeriesFile).or_raise(py)
    }

    /// Whether the index was read, and the bytes that belong to no complete step.
    fn state(&self) -> (bool, u64) {
        (self.0.is_indexed(), self.0.lost_bytes())
    }

    /// Name, element type, dimensions with the fastest first, bytes in the file, and slabs of each step.
    fn steps(&self) -> Vec<(&str, &'static str, Vec<u64>, u64, u64)> {
        let steps = self.0.steps().iter();
        steps
            .map(|s| (s.name(), s.array().dtype().name(), s.array().dims().to_vec(), s.bytes(), s.slabs()))
            .collect()
    }

    /// The position of the step with a name.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.0.find(name).or_raise(py)
    }

    /// The header of the first container of a step, in the form of [`crate::info::info`].
    fn info<'py>(&self, py: Python<'py>, step: u64) -> PyResult<Bound<'py, PyDict>> {
        let info = py.detach(|| fzgm::info(&self.0.container(step, 0)?)).or_raise(py)?;
        described(py, &info)
    }

    /// Restores a step into `dst`.
    fn read(&self, py: Python<'_>, step: u64, threads: u32, limit: u64, dst: Bytes<'_>) -> PyResult<()> {
        let mut dst = exclusive(&dst)?;
        let dst = dst.as_slice_mut()?;
        let options = options::decoding(threads, limit);
        py.detach(|| self.0.read(step, &options, dst)).or_raise(py)?;
        Ok(())
    }

    /// Restores a region of a step into `dst`.
    fn region(
        &self,
        py: Python<'_>,
        step: u64,
        origin: Vec<u64>,
        extent: Vec<u64>,
        dst: Bytes<'_>,
    ) -> PyResult<()> {
        let mut dst = exclusive(&dst)?;
        let dst = dst.as_slice_mut()?;
        py.detach(|| self.0.read_region(step, &origin, &extent, dst)).or_raise(py)?;
        Ok(())
    }
}

/// A writer that appends to a series, until it is closed.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct SeriesAppender(Mutex<Option<SeriesWriter>>);

impl SeriesAppender {
    fn turn(&self) -> MutexGuard<'_, Option<SeriesWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut SeriesWriter) -> fzgm::Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.turn().as_mut().map(call));
        done.unwrap_or_else(|| {
            Err(Error::InvalidArgument {
                what: "the series".into(),
                got: "closed".into(),
                expected: "an open SeriesWriter".into(),
            })
        })
        .map_err(|e| raise(py, &e))
    }
}

#[pymethods]
impl SeriesAppender {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, sync: bool) -> PyResult<Self> {
        py.detach(|| {
            let mut writer = SeriesWriter::open(path)?;
            writer.set_sync(sync);
            Ok(SeriesAppender(Mutex::new(Some(writer))))
        })
        .or_raise(py)
    }

    /// Number of steps.
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        self.writing(py, |writer| Ok(writer.steps().len()))
    }

    /// Appends a container and returns the position of the step.
    fn append(&self, py: Python<'_>, name: &str, container: Bytes<'_>) -> PyResult<u64> {
        let container = shared(&container)?;
        let container = container.as_slice()?;
        self.writing(py, |writer| writer.append_container(name, container))
    }

    /// Closes the file.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.turn().take()));
    }
}
