//! Compression and decompression. The interpreter is released while the library works.

use crate::error::OrRaise;
use crate::options;
use crate::pipeline::Pipeline;
use crate::place::compressed;
use crate::views::{Bytes, exclusive, shared};
use fzgm::{Error, Workspace};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};

/// Zeroed bytes, or an error where the system has none.
pub(crate) fn zeroed(bytes: u64) -> fzgm::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let len = usize::try_from(bytes).map_err(|_| Error::OutOfMemory(bytes))?;
    buffer.try_reserve_exact(len).map_err(|_| Error::OutOfMemory(bytes))?;
    buffer.resize(len, 0);
    Ok(buffer)
}

/// Compresses `src`, the bytes of an array.
#[pyfunction]
#[pyo3(signature = (pipeline, dtype, dims, src, threads, container, checksum))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    pipeline: &Pipeline,
    dtype: &str,
    dims: Vec<u64>,
    src: Bytes<'py>,
    threads: u32,
    container: &str,
    checksum: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options::encoding(threads, container, checksum).or_raise(py)?;
    let array = options::array(dtype, &dims).or_raise(py)?;
    let src = shared(&src)?;
    let src = src.as_slice()?;
    let (encoder, mut workspace) = py
        .detach(|| {
            let encoder = fzgm::Encoder::new(&pipeline.0, &array, &options)?;
            let workspace = encoder.workspace()?;
            Ok((encoder, workspace))
        })
        .or_raise(py)?;
    compressed(py, &encoder, src, || &mut workspace)
}

/// Restores a part of an array into `dst`.
#[pyfunction]
pub(crate) fn decompress_region<'py>(
    py: Python<'py>,
    container: Bytes<'py>,
    origin: Vec<u64>,
    extent: Vec<u64>,
    dst: Bytes<'py>,
) -> PyResult<()> {
    let (container, mut dst) = (shared(&container)?, exclusive(&dst)?);
    let (container, dst) = (container.as_slice()?, dst.as_slice_mut()?);
    py.detach(|| fzgm::decompress_region(container, &origin, &extent, dst)).or_raise(py)?;
    Ok(())
}

/// Restores the elements at multiples of `step` into `dst`.
#[pyfunction]
pub(crate) fn preview<'py>(
    py: Python<'py>,
    container: Bytes<'py>,
    step: u64,
    dst: Bytes<'py>,
) -> PyResult<()> {
    let (container, mut dst) = (shared(&container)?, exclusive(&dst)?);
    let (container, dst) = (container.as_slice()?, dst.as_slice_mut()?);
    py.detach(|| fzgm::decompress_preview(container, step, dst)).or_raise(py)?;
    Ok(())
}

/// A plan of one pipeline for one type and shape, with its workspace.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct Encoder {
    encoder: fzgm::Encoder,
    workspace: Mutex<Workspace>,
}

#[pymethods]
impl Encoder {
    #[new]
    fn new(
        py: Python<'_>,
        pipeline: &Pipeline,
        dtype: &str,
        dims: Vec<u64>,
        threads: u32,
        container: &str,
        checksum: bool,
    ) -> PyResult<Self> {
        let options = options::encoding(threads, container, checksum).or_raise(py)?;
        let array = options::array(dtype, &dims).or_raise(py)?;
        py.detach(|| {
            let encoder = fzgm::Encoder::new(&pipeline.0, &array, &options)?;
            let workspace = Mutex::new(encoder.workspace()?);
            Ok(Encoder { encoder, workspace })
        })
        .or_raise(py)
    }

    /// Compresses `src`. Calls of several threads wait for one another.
    fn compress<'py>(&self, py: Python<'py>, src: Bytes<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let src = shared(&src)?;
        let src = src.as_slice()?;
        // Every call overwrites the results of an earlier one, so a panic of another thread does no harm.
        let turn = || self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        compressed(py, &self.encoder, src, turn)
    }

    /// Compresses `src` into `dst` and returns the length of the container.
    fn compress_to(&self, py: Python<'_>, src: Bytes<'_>, dst: Bytes<'_>) -> PyResult<usize> {
        let (src, mut dst) = (shared(&src)?, exclusive(&dst)?);
        let (src, dst) = (src.as_slice()?, dst.as_slice_mut()?);
        py.detach(|| {
            let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
            self.encoder.compress(&mut workspace, src, dst)
        })
        .or_raise(py)
    }

    /// No container of this encoder is longer.
    #[getter]
    fn max_compressed_bytes(&self) -> u64 {
        self.encoder.max_compressed_bytes()
    }
}

/// The decoder of one container or of the containers of an encoder, with its workspace.
#[pyclass(frozen, module = "fzgm._fzgm")]
pub(crate) struct Decoder {
    decoder: fzgm::Decoder,
    workspace: Mutex<Workspace>,
}

#[pymethods]
impl Decoder {
    /// Plans for one container. A memory limit is compared before working memory is allocated.
    #[staticmethod]
    fn open<'py>(
        py: Python<'py>,
        container: Bytes<'py>,
        threads: u32,
        max_memory_bytes: u64,
    ) -> PyResult<Self> {
        let container = shared(&container)?;
        let container = container.as_slice()?;
        let options = options::decoding(threads, max_memory_bytes);
        py.detach(|| {
            let decoder = fzgm::Decoder::open(container, &options)?;
            let workspace = Mutex::new(decoder.workspace()?);
            Ok(Decoder { decoder, workspace })
        })
        .or_raise(py)
    }

    /// Plans for all containers of an encoder.
    #[staticmethod]
    fn of_encoder(py: Python<'_>, encoder: &Encoder) -> PyResult<Self> {
        py.detach(|| {
            let decoder = encoder.encoder.decoder()?;
            let workspace = Mutex::new(decoder.workspace()?);
            Ok(Decoder { decoder, workspace })
        })
        .or_raise(py)
    }

    /// Element type and dimensions of the array, the fastest first.
    #[getter]
    fn array(&self) -> (&'static str, Vec<u64>) {
        let array = self.decoder.array();
        (array.dtype().name(), array.dims().to_vec())
    }

    /// Decompresses into `dst`. Calls of several threads wait for one another.
    fn decompress<'py>(&self, py: Python<'py>, container: Bytes<'py>, dst: Bytes<'py>) -> PyResult<()> {
        let (container, mut dst) = (shared(&container)?, exclusive(&dst)?);
        let (container, dst) = (container.as_slice()?, dst.as_slice_mut()?);
        py.detach(|| {
            let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
            self.decoder.decompress(&mut workspace, container, dst)
        })
        .or_raise(py)?;
        Ok(())
    }
}
