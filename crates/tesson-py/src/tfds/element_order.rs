//! The order of operations on elements that only Python has.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use serde_json::Value;
use tesson::{ConfigError, Error};
use tesson_plan::{ElementStep, StreamOp};
use tesson_tfds::reading::Op;

use super::until_signal;
use crate::errors::Refusal;
use crate::errors::raise;
use crate::state::{from_python, to_python};

/// True if an operation changes nothing, and is left out.
#[pyfunction]
pub(crate) fn is_idle(py: Python<'_>, op: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(operation(py, &from_python(op)?, None)?.is_idle())
}

fn operation(py: Python<'_>, op: &Value, global_seed: Option<i64>) -> PyResult<StreamOp> {
    let op = Op::from_json(op, "ops").map_err(|e| raise(py, e))?;
    Ok(op.stream_op(global_seed.map(i128::from), &mut tesson_prepared::random_seed))
}

/// One pass of an operation over elements.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ElementOrder(Mutex<tesson_plan::ElementOrder>);

/// The next step of a caller: a word, and the number that belongs to it.
type Step = (&'static str, u64);

fn step(step: ElementStep) -> Step {
    match step {
        ElementStep::Begin => ("begin", 0),
        ElementStep::Take => ("take", 0),
        ElementStep::Skip(n) => ("skip", n),
        ElementStep::Element(number) => ("element", number),
        ElementStep::Skipped(n) => ("skipped", n),
        ElementStep::End => ("end", 0),
    }
}

impl ElementOrder {
    fn inner(&self) -> MutexGuard<'_, tesson_plan::ElementOrder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ElementOrder {
    /// The last of some operations that stand on each other.
    #[new]
    fn new(
        py: Python<'_>,
        ops: &Bound<'_, PyAny>,
        global_seed: Option<i64>,
        pass_: u64,
    ) -> PyResult<ElementOrder> {
        let Value::Array(ops) = from_python(ops)? else { return Err(no_list(py)) };
        let ops: Vec<StreamOp> =
            ops.iter().map(|op| operation(py, op, global_seed)).collect::<PyResult<_>>()?;
        let order = tesson_plan::ElementOrder::new(&ops, pass_);
        let order = order.map_err(|e| raise(py, ConfigError::refused("ops", &e)))?;
        Ok(ElementOrder(Mutex::new(order)))
    }

    /// Goes on with what was asked for last.
    fn resume(&self) -> Step {
        step(self.inner().resume())
    }

    /// Asks for the next element.
    fn next_element(&self) -> Step {
        step(self.inner().next_element())
    }

    /// Passes over elements.
    fn skip(&self, count: u64) -> Step {
        step(self.inner().skip(count))
    }

    /// A pass of the input has begun.
    fn begun(&self) -> Step {
        step(self.inner().begun())
    }

    /// The input has given an element.
    fn given(&self) -> Step {
        step(self.inner().given())
    }

    /// The input has ended.
    fn ended(&self) -> Step {
        step(self.inner().ended())
    }

    /// No pass of the input has an element.
    fn expect_nothing(&self) {
        self.inner().expect_nothing();
    }

    /// So many elements of the input were passed over.
    fn skipped(&self, count: u64) -> Step {
        step(self.inner().skipped(count))
    }

    /// The numbers of the elements in the buffer of a shuffle.
    fn held(&self) -> Vec<u64> {
        self.inner().held()
    }

    /// The operator's counters.
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let position = self.inner().position();
        to_python(py, &Value::Object(position))
    }

    /// Goes to where these counters were taken.
    fn go_to(&self, py: Python<'_>, position: &Bound<'_, PyAny>) -> PyResult<()> {
        let Value::Object(position) = from_python(position)? else { return Err(no_list(py)) };
        let mut there = self.inner().clone();
        let there = until_signal(py, move |interrupted| there.go_to(&position, interrupted).map(|()| there))?;
        *self.inner() = there;
        Ok(())
    }
}

fn no_list(py: Python<'_>) -> PyErr {
    raise(py, Error::from(ConfigError::refused("ops", &Refusal::NoOperations)))
}
