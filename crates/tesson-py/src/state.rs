//! States: the JSON form as Python's dictionaries.

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Number, Value};
use tesson::{ResumeError, ResumeState};

use crate::{errors, mapping};

/// Levels that values of Python may be nested: of JSON's text as many are read. Deeper ones would exhaust the stack, here or where
/// they are dropped.
pub(crate) const MOST_NESTED: usize = 127;

/// A state as a dictionary that `json` can write.
pub(crate) fn to_dict<'py>(py: Python<'py>, state: &ResumeState) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &state.to_json())
}

/// The state of a dictionary.
pub(crate) fn from_dict(state: &Bound<'_, PyAny>) -> PyResult<ResumeState> {
    let json = saved(state)?;
    ResumeState::from_json(&json).map_err(|e| errors::raise(state.py(), e))
}

/// Combines the states of all workers, under sharing by chunk, into what all together have consumed.
#[pyfunction]
pub(crate) fn merge_states<'py>(
    py: Python<'py>,
    states: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let states: Vec<ResumeState> = states.iter().map(from_dict).collect::<PyResult<_>>()?;
    let merged = tesson::merge_states(&states).map_err(|e| errors::raise(py, e))?;
    to_dict(py, &merged)
}

/// JSON as Python's values.
pub(crate) fn to_python<'py>(py: Python<'py>, json: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match json {
        Value::Null => py.None().into_bound(py),
        Value::Bool(b) => PyBool::new(py, *b).to_owned().into_any(),
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => PyInt::new(py, n).into_any(),
            (None, Some(n)) => PyInt::new(py, n).into_any(),
            (None, None) => PyFloat::new(py, n.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(s) => PyString::new(py, s).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (name, value) in entries {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// A state of any kind as JSON. One that is nested too deep is none.
pub(crate) fn saved(state: &Bound<'_, PyAny>) -> PyResult<Value> {
    from_python(state).map_err(|e| {
        if e.is_instance_of::<PyRecursionError>(state.py()) {
            let (found, most) = (format!("more than {MOST_NESTED} deep"), format!("at most {MOST_NESTED}"));
            errors::raise(state.py(), ResumeError::unreadable("the nesting of its values", found, most))
        } else {
            e
        }
    })
}

/// Python's values as JSON.
///
/// # Errors
/// A `RecursionError` for values that are nested more than [`MOST_NESTED`] deep, as Python's own `json` has it.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    from_python_within(object, MOST_NESTED)
}

/// Python's values as JSON, nested at most `levels` deep.
fn from_python_within(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    let Some(inside) = levels.checked_sub(1) else {
        let what = format!("found values nested more than {MOST_NESTED} deep, expected at most that");
        return Err(PyRecursionError::new_err(what));
    };
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    // Before numbers: Python's truth values are numbers too.
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(Value::Array(
            object.try_iter()?.map(|v| from_python_within(&v?, inside)).collect::<PyResult<_>>()?,
        ));
    }
    if let Ok(n) = object.extract::<u64>() {
        return Ok(Value::Number(n.into()));
    }
    if let Ok(n) = object.extract::<i64>() {
        return Ok(Value::Number(n.into()));
    }
    if let Ok(x) = object.extract::<f64>() {
        let number = Number::from_f64(x).map(Value::Number);
        return number.ok_or_else(|| PyValueError::new_err(format!("found {x}, expected a finite number")));
    }
    if let Some(entries) = mapping::entries(object)? {
        let entries =
            entries.into_iter().map(|(name, value)| Ok((name, from_python_within(&value, inside)?)));
        return Ok(Value::Object(entries.collect::<PyResult<_>>()?));
    }
    let found = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("found {found} in a state, expected what `json` can hold")))
}
