//! Pipelines: immutable, so that threads may share them and dictionaries may have them as keys.

use crate::error::{OrRaise, raise};
use crate::text::Text;
use fzgm::{DType, Error, Setting};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyType};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A pipeline: stages and their parameters, tied to no array.
///
/// It is immutable. It can be compared, hashed, and pickled. ``str(p)`` is its text form, or TOML where it is no chain.
#[pyclass(frozen, module = "fzgm")]
#[derive(Clone)]
pub(crate) struct Pipeline(pub(crate) fzgm::Pipeline);

#[pymethods]
impl Pipeline {
    /// Reads a chain of stages, such as ``lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze``.
    #[staticmethod]
    fn from_text(py: Python<'_>, text: Text) -> PyResult<Self> {
        fzgm::Pipeline::from_text(&text.0).map(Pipeline).or_raise(py)
    }

    /// Reads a pipeline file.
    #[staticmethod]
    fn from_toml(py: Python<'_>, toml: Text) -> PyResult<Self> {
        fzgm::Pipeline::from_toml(&toml.0).map(Pipeline).or_raise(py)
    }

    /// The preset of this name for arrays of one element type (``"f32"`` or ``"float32"``, as all names of types here).
    /// Keywords set parameters in every stage that has them.
    #[staticmethod]
    #[pyo3(signature = (name, dtype, **parameters))]
    fn from_preset(
        py: Python<'_>,
        name: Text,
        dtype: Text,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let dtype = DType::from_name(&dtype.0).or_raise(py)?;
        Pipeline(fzgm::preset(&name.0, dtype).or_raise(py)?).set(parameters)
    }

    /// A pipeline with other parameters, each set in every stage that has this parameter.
    #[pyo3(signature = (**parameters))]
    fn set(&self, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut pipeline = self.0.clone();
        for (name, value) in parameters.into_iter().flatten() {
            set_one(&mut pipeline, &name.extract::<Text>()?.0, &value)?;
        }
        Ok(Pipeline(pipeline))
    }

    /// The pipeline as one line, as :meth:`from_text` reads it.
    fn to_text(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_text().or_raise(py)
    }

    /// The pipeline as a file, as :meth:`from_toml` reads it.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_toml().or_raise(py)
    }

    /// The stages in their order: pairs of a name and a dictionary of all parameters.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyDict>)>> {
        let stage = |node: &fzgm::Node| {
            let parameters = PyDict::new(py);
            for (param, setting) in node.args().iter() {
                parameters.set_item(param.name, value_of(py, setting)?)?;
            }
            Ok((node.stage(), parameters))
        };
        self.0.nodes().iter().map(stage).collect()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_text().or_else(|_| self.0.to_toml()).or_raise(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (reader, text) = match self.0.to_text() {
            Ok(text) => ("text", text),
            Err(_) => ("toml", self.to_toml(py)?),
        };
        Ok(format!("fzgm.Pipeline.from_{reader}({})", PyString::new(py, &text).repr()?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.to_toml(py)?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let class: Bound<'py, PyType> = py.get_type::<Pipeline>();
        Ok((class.getattr("from_toml")?, (self.to_toml(py)?,)))
    }
}

/// Sets a parameter from a number, a flag, or a word.
fn set_one(pipeline: &mut fzgm::Pipeline, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let done = if let Ok(flag) = value.cast::<PyBool>() {
        let flag = i64::from(flag.is_true());
        pipeline.set_everywhere(name, |args| args.set_int(name, flag))
    } else if value.is_instance_of::<PyString>() {
        let word = value.extract::<Text>()?.0;
        pipeline.set_everywhere(name, |args| args.set_text(name, &word))
    } else if value.is_instance_of::<PyInt>() {
        let number = value.extract().map_err(|_| out_of_range(name, value))?;
        pipeline.set_everywhere(name, |args| args.set_int(name, number))
    } else if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? {
        let number =
            value.extract().map_err(|error: PyErr| match error.is_instance_of::<PyTypeError>(py) {
                true => wrong_type(name, value),
                false => out_of_range(name, value),
            })?;
        pipeline.set_everywhere(name, |args| args.set_real(name, number))
    } else {
        return Err(wrong_type(name, value));
    };
    done.map_err(|error| raise(py, &error))
}

fn wrong_type(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let class = value.get_type().name().map_or_else(|_| "another type".into(), |class| class.to_string());
    PyTypeError::new_err(format!("parameter {name} is a {class}; expected a number, True, False, or a word"))
}

/// The error for a number that no parameter can have.
fn out_of_range(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let text = value.str().map(|text| text.to_string()).ok().filter(|text| text.len() <= 80);
    let error = Error::InvalidArgument {
        what: format!("parameter {name}"),
        got: text.unwrap_or_else(|| "a number of more than 80 digits".into()),
        expected: "a number that fits into 64 bits".into(),
    };
    raise(value.py(), &error)
}

/// The value of a parameter.
fn value_of<'py>(py: Python<'py>, setting: &Setting) -> PyResult<Bound<'py, PyAny>> {
    Ok(match setting {
        Setting::Real(value) => value.into_pyobject(py)?.into_any(),
        Setting::Int(value) => value.into_pyobject(py)?.into_any(),
        Setting::Flag(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Setting::Choice(word) | Setting::Names(word) => word.into_pyobject(py)?.into_any(),
        Setting::Given(word) => word.into_pyobject(py)?.into_any(),
    })
}
