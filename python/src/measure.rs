//! Errors of a restored array.

use crate::error::OrRaise;
use crate::text::Text;
use crate::views::{Bytes, shared};
use fzgm::DType;
use fzgm::metrics::{self, Bound as ErrorBound, SuspectedFill};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The suspected fill value of the largest magnitude in an array, and how many elements have its magnitude.
#[pyfunction]
pub(crate) fn suspected_fill(py: Python<'_>, dtype: &str, src: Bytes<'_>) -> PyResult<Option<(f64, u64)>> {
    let dtype = DType::from_name(dtype).or_raise(py)?;
    let src = shared(&src)?;
    let src = src.as_slice()?;
    Ok(py.detach(|| first(&metrics::suspected_fills(dtype, src, f64::INFINITY))))
}

/// The same of an array that was compressed to `container`. None also if the bound does not depend on all values.
#[pyfunction]
pub(crate) fn undeclared_fill(
    py: Python<'_>,
    dtype: &str,
    src: Bytes<'_>,
    container: Bytes<'_>,
) -> PyResult<Option<(f64, u64)>> {
    let dtype = DType::from_name(dtype).or_raise(py)?;
    let (src, container) = (shared(&src)?, shared(&container)?);
    let (src, container) = (src.as_slice()?, container.as_slice()?);
    let found = py.detach(|| {
        let about = fzgm::info(container)?;
        let range = match about.mode {
            "noa" => about.value_base,
            // The range is at most twice the largest magnitude.
            "prel" => about.value_base.map(|most| 2.0 * most),
            _ => None,
        };
        let fills = |range| metrics::suspected_fills_in_range(dtype, src, f64::INFINITY, range);
        Ok(range.filter(|_| about.outlier_threshold == f64::INFINITY).and_then(|range| first(&fills(range))))
    });
    found.or_raise(py)
}

fn first(fills: &[SuspectedFill]) -> Option<(f64, u64)> {
    fills.first().map(|s| (s.value, s.count))
}

/// Compares the bytes of two arrays of one type.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    dtype: &str,
    original: Bytes<'py>,
    restored: Bytes<'py>,
    bound: Option<(Text, f64)>,
    outlier_threshold: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dtype = DType::from_name(dtype).or_raise(py)?;
    let bound = bound.map(|(mode, bound)| ErrorBound::from_name(&mode.0, bound)).transpose().or_raise(py)?;
    let (original, restored) = (shared(&original)?, shared(&restored)?);
    let (original, restored) = (original.as_slice()?, restored.as_slice()?);
    let m =
        py.detach(|| metrics::compare(dtype, original, restored, bound, outlier_threshold)).or_raise(py)?;
    let d = PyDict::new(py);
    d.set_item("elements", m.elements)?;
    d.set_item("bounded", m.bounded)?;
    d.set_item("min", m.min)?;
    d.set_item("max", m.max)?;
    d.set_item("value_range", m.range)?;
    d.set_item("max_abs_error", m.max_abs_error)?;
    d.set_item("max_rel_error", m.max_rel_error)?;
    d.set_item("allowed", m.allowed)?;
    d.set_item("worst", m.worst)?;
    d.set_item("violations", m.violations)?;
    d.set_item("exact_mismatches", m.exact_mismatches)?;
    d.set_item("non_finite_mismatches", m.non_finite_mismatches)?;
    d.set_item("rmse", m.rmse)?;
    d.set_item("nrmse", m.nrmse)?;
    d.set_item("psnr", m.psnr)?;
    d.set_item("kept", m.kept())?;
    Ok(d)
}
