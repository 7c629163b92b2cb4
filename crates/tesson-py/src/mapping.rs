//! Mappings of Python, whatever class they are of.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// A mapping's names and values.
pub(crate) type Entries<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// The entries of a mapping; `None` if the object is none.
///
/// PyO3's own cast answers the same question and swallows what is raised meanwhile. Of all but dictionaries it is asked in
/// Python, where an interrupt may come.
pub(crate) fn entries<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Entries<'py>>> {
    static MAPPING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let is_mapping = object.is_instance_of::<PyDict>()
        || object.is_instance(MAPPING.import(object.py(), "collections.abc", "Mapping")?)?;
    if !is_mapping {
        return Ok(None);
    }
    object.call_method0("items")?.try_iter()?.map(|item| item?.extract()).collect::<PyResult<_>>().map(Some)
}
