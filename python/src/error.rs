//! Errors of the library as exceptions of `fzgm._errors`, which chooses the class by the status.

use pyo3::prelude::*;

/// The exception of an error.
pub(crate) fn raise(py: Python<'_>, error: &fzgm::Error) -> PyErr {
    let made =
        || py.import("fzgm._errors")?.call_method1("from_status", (error.status() as i32, error.to_string()));
    made().map_or_else(|failure| failure, PyErr::from_value)
}

/// Attaches the interpreter to the error of a result.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for fzgm::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}
