//! The `global` order of things that only Python has.

use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use tesson_plan::Global;

/// The order of one sweep.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct GlobalOrder {
    n: u64,
    at: Box<dyn Fn(u64) -> u64 + Send + Sync>,
}

#[pymethods]
impl GlobalOrder {
    #[new]
    fn new(n: u64, seed: u64, sweep: u64) -> GlobalOrder {
        GlobalOrder { n, at: Box::new(Global { seed }.of_sweep(n, sweep)) }
    }

    /// Which things come at the positions of a range, int64.
    fn range<'py>(&self, py: Python<'py>, begin: u64, end: u64) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if end > self.n {
            return Err(PyIndexError::new_err(format!("found the end {end} of {} positions", self.n)));
        }
        Ok(PyArray1::from_iter(py, (begin..end).map(|position| (self.at)(position) as i64)))
    }
}
