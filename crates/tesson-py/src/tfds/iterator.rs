//! The examples of a traversal, one at a time.

use pyo3::prelude::*;

use super::dataset::PreparedDataset;
use super::request::Request;
use super::traversal::Traversal;

/// Iterates over the examples of a plan. `tesson.tfds.DatasetIterator` is made of it, and adds nothing to a step.
#[pyclass(frozen, subclass, extends = Traversal, module = "tesson._tesson")]
pub(crate) struct ExampleIterator;

#[pymethods]
impl ExampleIterator {
    #[new]
    fn new(
        py: Python<'_>,
        prepared: &PreparedDataset,
        request: Request<'_>,
    ) -> PyResult<PyClassInitializer<ExampleIterator>> {
        Ok(PyClassInitializer::from(Traversal::open(py, prepared, &request)?).add_subclass(ExampleIterator))
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(this: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        this.as_super().get().next(this.py())
    }
}
