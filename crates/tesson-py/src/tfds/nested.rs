//! Values that are made one by one, and nested datasets, whose elements are made when they are asked for.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tesson_tfds::features::{Batch, Node, Schema, Stream, Value};

use super::array_maker::ArrayMaker;

/// Decoded examples, for as long as a part of one may be requested.
pub(super) struct Examples {
    pub(super) batch: Batch,
    pub(super) schema: Arc<Schema>,
    pub(super) array_maker: Arc<ArrayMaker>,
}

/// A step down into an example.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// To a member of a dict, by number.
    Member(usize),
    /// To an element of a nested dataset.
    Element(usize),
}

/// A place in an example.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) steps: Vec<Step>,
}

/// The elements of a nested dataset.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct NestedElements {
    examples: Arc<Examples>,
    place: Place,
}

impl Examples {
    /// The value at a place.
    pub(super) fn value<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        node: &Node,
        mut place: Place,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = self.batch.part(&self.schema, node, place.row);
        self.made(py, &value, &mut place)
    }

    fn made<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        value: &Value<'_>,
        place: &mut Place,
    ) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Dict(members) => {
                let dict = PyDict::new(py);
                for (i, (name, value)) in members.iter().enumerate() {
                    place.steps.push(Step::Member(i));
                    dict.set_item(*name, self.made(py, value, place)?)?;
                    place.steps.pop();
                }
                Ok(dict.into_any())
            }
            Value::Array(array) => self.array_maker.array(py, array),
            Value::Ragged(ragged) => self.array_maker.ragged(py, ragged),
            Value::Stream(_) => {
                let elements = NestedElements { examples: Arc::clone(self), place: place.clone() };
                self.array_maker.nested.bind(py).call1((elements,))
            }
        }
    }

    /// The nested dataset at a place.
    fn stream(&self, place: &Place) -> Option<Stream<'_>> {
        let mut steps = place.steps.iter();
        let mut node = &self.schema.root;
        while let Node::Dict(members) = node {
            let Some(Step::Member(i)) = steps.next() else { return None };
            node = &members.get(*i)?.1;
        }
        let mut value = self.batch.part(&self.schema, node, place.row);
        for step in steps {
            value = match (value, step) {
                (Value::Stream(stream), Step::Element(i)) => stream.get(*i),
                (Value::Dict(members), Step::Member(i)) => members.into_iter().nth(*i)?.1,
                _ => return None,
            };
        }
        match value {
            Value::Stream(stream) => Some(stream),
            _ => None,
        }
    }
}

#[pymethods]
impl NestedElements {
    fn __len__(&self) -> usize {
        self.examples.stream(&self.place).map_or(0, |stream| stream.len())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, i: usize) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.examples.stream(&self.place).filter(|stream| i < stream.len());
        let Some(stream) = stream else {
            return Err(PyIndexError::new_err(format!("element {i} of {}", self.__len__())));
        };
        let mut place = self.place.clone();
        place.steps.push(Step::Element(i));
        self.examples.made(py, &stream.get(i), &mut place)
    }
}
