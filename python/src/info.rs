//! Containers and presets, described.

use crate::error::OrRaise;
use crate::views::{Bytes, shared};
use fzgm::{Container, Preset};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The header of a container as a dictionary; dimensions with the fastest first. With `front`, the container may end early.
#[pyfunction]
#[pyo3(signature = (container, front = false))]
pub(crate) fn info<'py>(py: Python<'py>, container: Bytes<'py>, front: bool) -> PyResult<Bound<'py, PyDict>> {
    let container = shared(&container)?;
    let read = if front { fzgm::info_partial } else { fzgm::info };
    described(py, &read(container.as_slice()?).or_raise(py)?)
}

/// A header as a dictionary.
pub(crate) fn described<'py>(py: Python<'py>, info: &fzgm::Info) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("dtype", info.array.dtype().name())?;
    d.set_item("dims", info.array.dims())?;
    d.set_item("container", if info.container == Container::Fzm { "fzm" } else { "compact" })?;
    d.set_item("container_bytes", info.container_bytes)?;
    d.set_item("header_bytes", info.header_bytes)?;
    d.set_item("strict", info.strict)?;
    d.set_item("mode", info.mode)?;
    d.set_item("error_bound", info.bound)?;
    d.set_item("outlier_threshold", info.outlier_threshold)?;
    let stages: Vec<_> = info.stages.iter().map(|s| (s.name, s.params.clone())).collect();
    d.set_item("stages", stages)?;
    Ok(d)
}

/// Name, sentence, and losslessness of each preset; with `all` also those for comparisons.
#[pyfunction]
pub(crate) fn presets(all: bool) -> Vec<(&'static str, &'static str, bool)> {
    let listed = fzgm::PRESETS.iter().filter(|p: &&Preset| all || !p.research);
    listed.map(|p| (p.name, p.about, p.lossless)).collect()
}
