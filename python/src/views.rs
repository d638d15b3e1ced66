//! Views of arrays. A call that writes an array excludes all others of it, in every thread.

use crate::error::raise;
use fzgm::Error;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

/// A contiguous array of bytes.
pub(crate) type Bytes<'py> = Bound<'py, PyArray1<u8>>;

/// An array that a call reads.
pub(crate) fn shared<'py>(bytes: &Bytes<'py>) -> PyResult<PyReadonlyArray1<'py, u8>> {
    bytes.try_readonly().map_err(|_| in_use(bytes.py()))
}

/// An array that a call writes.
pub(crate) fn exclusive<'py>(bytes: &Bytes<'py>) -> PyResult<PyReadwriteArray1<'py, u8>> {
    bytes.try_readwrite().map_err(|_| in_use(bytes.py()))
}

fn in_use(py: Python<'_>) -> PyErr {
    let error = Error::InvalidArgument {
        what: "an array".into(),
        got: "read or written by another call".into(),
        expected: "a destination of its own for each call".into(),
    };
    raise(py, &error)
}
