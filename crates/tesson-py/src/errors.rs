//! Errors of the façade become exceptions of `tesson.errors`.

use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tesson::{ConfigError, DataError, Error, Key, ResumeError, StoreError, UsageError};
use tesson_core::{DataErrorKind, Spelling, number_of};
use tesson_engine::pairing::PairingError;

use crate::calls::Raised;

/// An exception for an error of the façade.
pub(crate) fn raise(py: Python<'_>, error: impl Into<Error>) -> PyErr {
    exception(py, &error.into()).unwrap_or_else(|e| e)
}

/// Like [`raise`]; `by_keywords` changes options into the spelling of keyword arguments.
pub(crate) fn raise_spelt(py: Python<'_>, error: impl Into<Error>, by_keywords: bool) -> PyErr {
    spelling(by_keywords).within(|| raise(py, error))
}

/// How options are named in what is said of a source.
pub(crate) fn spelling(by_keywords: bool) -> Spelling {
    if by_keywords { Spelling::Keywords } else { Spelling::Configurations }
}

/// An exception for a call that can never be right.
pub(crate) fn misuse(py: Python<'_>, what: impl Into<String>) -> PyErr {
    raise(py, UsageError::new(what.into()))
}

/// A whole number from 0 below 2^64, called `what` in errors.
pub(crate) fn whole(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    value.extract().map_err(|e: PyErr| {
        if e.is_instance_of::<PyOverflowError>(value.py()) {
            misuse(value.py(), format!("found {what} {value}, expected a whole number from 0 below 2^64"))
        } else if e.is_instance_of::<PyTypeError>(value.py()) {
            let found = value.repr().map_or_else(|_| "an object".into(), |r| r.to_string());
            PyTypeError::new_err(format!("found {what} {found}, expected a whole number"))
        } else {
            e
        }
    })
}

/// A `DataError` for streams that do not pair; it names the stream and the key.
pub(crate) fn unpaired(py: Python<'_>, error: &PairingError) -> PyErr {
    let build = || {
        let facts = PyDict::new(py);
        if let Some((stream, key)) = error.place() {
            facts.set_item("stream", stream)?;
            key_fact(&facts, key)?;
        }
        let class = py.import("tesson.errors")?.getattr("DataError")?;
        Ok(PyErr::from_value(class.call((error.to_string(),), Some(&facts))?))
    };
    build().unwrap_or_else(|e: PyErr| e)
}

/// The exception of a user's code that an error is about, one beyond a budget of faults among them.
fn raised_in(error: &Error) -> Option<&Raised> {
    if let Error::Data(error) = error
        && let DataErrorKind::BudgetSpent { last, .. } = error.kind()
        && let DataErrorKind::Transform { cause, .. } | DataErrorKind::User { cause, .. } = &**last
    {
        return cause.0.downcast_ref();
    }
    std::error::Error::source(error)?.downcast_ref()
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let raised = raised_in(error);
    // What is no `Exception` (KeyboardInterrupt, SystemExit) is not about the data.
    if let Some(raised) = raised
        && !raised.exception.is_instance_of::<PyException>(py)
    {
        return Ok(raised.exception.clone_ref(py));
    }
    let facts = PyDict::new(py);
    let class = match error {
        Error::Data(e) => data_facts(&facts, e)?,
        Error::Store(e) => store_facts(&facts, e)?,
        Error::Config(ConfigError { path, at, .. }) => {
            facts.set_item("path", Spelling::current().path(path))?;
            if let Some(place) = at {
                facts.set_item("file", &*place.file)?;
                facts.set_item("line", place.line)?;
                facts.set_item("column", place.column)?;
            }
            "ConfigError"
        }
        Error::Resume(ResumeError { what, state, source, .. }) => {
            facts.set_item("what", what)?;
            facts.set_item("state", state)?;
            facts.set_item("source", source)?;
            "ResumeError"
        }
        Error::Usage(_) => "UsageError",
        Error::Cancelled => {
            let exception = misuse(py, "the source is closed");
            exception.value(py).setattr("code", error.code())?;
            exception.value(py).setattr("remedy", tesson::errors::remedy_of(error))?;
            return Ok(exception);
        }
        _ => "TessonError",
    };
    let message = PyString::new(py, &tesson::errors::with_remedy(error));
    let class = py.import("tesson.errors")?.getattr(class)?;
    let exception = PyErr::from_value(class.call((message,), Some(&facts))?);
    exception.value(py).setattr("code", error.code())?;
    exception.value(py).setattr("remedy", tesson::errors::remedy_of(error))?;
    if let Some(raised) = raised {
        exception.set_cause(py, Some(raised.exception.clone_ref(py)));
    }
    Ok(exception)
}

fn data_facts(facts: &Bound<'_, PyDict>, e: &DataError) -> PyResult<&'static str> {
    facts.set_item("file", e.at().file.to_string_lossy())?;
    facts.set_item("offset", e.at().offset)?;
    facts.set_item("line", e.at().line)?;
    facts.set_item("chunk", e.chunk())?;
    facts.set_item("stream", e.stream())?;
    e.key().map_or(Ok(()), |key| key_fact(facts, key))?;
    Ok("DataError")
}

fn key_fact(facts: &Bound<'_, PyDict>, key: &Key) -> PyResult<()> {
    match key {
        Key::Number(n) => facts.set_item("key", n),
        Key::Text(t) => facts.set_item("key", t),
    }
}

fn store_facts(facts: &Bound<'_, PyDict>, e: &StoreError) -> PyResult<&'static str> {
    facts.set_item("file", e.file.to_string_lossy())?;
    facts.set_item("offset", e.offset)?;
    facts.set_item("errno", e.source.raw_os_error())?;
    Ok("StoreError")
}

tesson_core::error_kinds! {
    /// Why something that Python's half of the package was given is refused.
    pub(crate) enum Refusal {
        /// User code raised an exception while it made what an option names.
        Raised { what: String = "Words(…) raised ValueError: no words".into() }
            = "python.raised": "{what}"
            => in manual "Correct the options, or the code; the message is that of the exception.",
        /// A stream is to have another shape than its samples have values.
        Shape { found: String = "[2, 3]".into(), values: usize = 4 }
            = "python.shape": ("found {found}, samples of the file have {}", number_of(values, "value"))
            => in manual "Give a shape of as many values as the samples have.",
        /// Operations on examples are not a list.
        NoOperations
            = "python.no-operations": "expected a list of operations, and counters by their names"
            => in manual "Give a list of operations.",
    }
}
