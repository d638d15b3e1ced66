//! Text of arguments.

use crate::error::raise;
use fzgm::Error;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A text argument. Python has text that UTF-8 cannot encode: a lone surrogate, such as `"\ud800"`.
pub(crate) struct Text(pub(crate) String);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        text.to_cow().map(|text| Text(text.into_owned())).map_err(|error| not_utf8(object.py(), error))
    }
}

fn not_utf8(py: Python<'_>, error: PyErr) -> PyErr {
    match error.value(py).getattr("start").and_then(|start| start.extract::<usize>()) {
        Ok(at) => raise(
            py,
            &Error::InvalidArgument {
                what: "a text argument".into(),
                got: format!("no valid Unicode: character {at} is a lone surrogate"),
                expected: "text that UTF-8 can encode".into(),
            },
        ),
        Err(_) => error,
    }
}
