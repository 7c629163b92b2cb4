//! Examples one at a time: a run of them is decoded without the GIL, each is made when it is taken.
//!
//! Columns of scalars and of arrays become one array of NumPy for the whole run, on the memory they were decoded into, and
//! examples get their parts of it; what is ragged or nested is made value by value.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString, PyTuple};
use tesson_tfds::features::{Batch, Column, Data, Node, Plan, Schema, Shapes};

use super::array_maker::ArrayMaker;
use super::nested::{Examples, Place, Step};

/// Makes dictionaries of examples.
pub(super) struct Maker {
    schema: Arc<Schema>,
    array_maker: Arc<ArrayMaker>,
    root: Part,
    /// True if absent optional features are `None`, rather than the value stored for them.
    marks_absent: bool,
}

/// The tree of an example, its names as Python's strings: their hashes are computed once.
enum Part {
    Dict(Vec<(Py<PyString>, Part)>),
    Column(usize),
    /// A nested dataset, and the way there.
    Nested(Vec<Step>),
}

/// Decoded examples on their way to Python.
pub(super) struct Run {
    examples: Arc<Examples>,
    columns: Vec<Form>,
}

/// How a column's values are had.
enum Form {
    /// For each row its value.
    ExampleBatch(Py<PyList>),
    /// All values, flat: a row is a part of them.
    Flat(Py<PyAny>),
    /// Each row is a byte string.
    Strings,
    /// From the decoded column.
    OneByOne,
}

impl Maker {
    pub(super) fn new(
        py: Python<'_>,
        schema: &Arc<Schema>,
        array_maker: Arc<ArrayMaker>,
        marks_absent: bool,
    ) -> Maker {
        let root = part(py, &schema.root, &mut Vec::new());
        Maker { schema: Arc::clone(schema), array_maker, root, marks_absent }
    }

    /// The schema of the examples.
    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Takes a batch over.
    pub(super) fn run(&self, py: Python<'_>, mut batch: Batch) -> PyResult<Run> {
        let columns = self.schema.columns.iter().zip(&mut batch.columns);
        let columns = columns
            .map(|(plan, column)| form(py, &self.array_maker, plan, column))
            .collect::<PyResult<_>>()?;
        let (schema, array_maker) = (Arc::clone(&self.schema), Arc::clone(&self.array_maker));
        Ok(Run { examples: Arc::new(Examples { batch, schema, array_maker }), columns })
    }

    /// An example of a run.
    pub(super) fn example<'py>(&self, py: Python<'py>, run: &Run, row: usize) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, run, &self.root, row)
    }

    fn part<'py>(&self, py: Python<'py>, run: &Run, part: &Part, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match part {
            Part::Dict(members) => {
                let dict = PyDict::new(py);
                for (name, part) in members {
                    dict.set_item(name.bind(py), self.part(py, run, part, row)?)?;
                }
                Ok(dict.into_any())
            }
            Part::Column(number) => self.value(py, run, *number, row),
            Part::Nested(steps) => run.nested(py, Place { row, steps: steps.clone() }),
        }
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        run: &Run,
        number: usize,
        row: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let column = &run.examples.batch.columns[number];
        if self.marks_absent && is_absent(column, row) {
            return Ok(py.None().into_bound(py));
        }
        match (&run.columns[number], &column.data) {
            (Form::ExampleBatch(values), _) => values.bind(py).get_item(row),
            (Form::Strings, Data::Strings { bytes, ends }) => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                Ok(PyBytes::new(py, &bytes[start..ends[row]]).into_any())
            }
            (Form::Flat(values), _) => match column.row(&self.schema.columns[number], row) {
                Some((shape, range)) => {
                    let own = PySlice::new(py, range.start as isize, range.end as isize, 1);
                    let own = values.bind(py).get_item(own)?;
                    own.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,))
                }
                None => Ok(py.None().into_bound(py)),
            },
            _ => run.examples.value(py, &Node::Leaf(number), Place { row, steps: Vec::new() }),
        }
    }
}

impl Run {
    pub(super) fn len(&self) -> usize {
        self.examples.batch.rows()
    }

    fn nested<'py>(&self, py: Python<'py>, place: Place) -> PyResult<Bound<'py, PyAny>> {
        let mut node = &self.examples.schema.root;
        for step in &place.steps {
            if let (Node::Dict(members), Step::Member(i)) = (node, step) {
                node = &members[*i].1;
            }
        }
        self.examples.value(py, node, place)
    }
}

pub(super) fn is_absent(column: &Column, row: usize) -> bool {
    column.missing.as_ref().is_some_and(|missing| missing.binary_search(&row).is_ok())
}

fn part(py: Python<'_>, node: &Node, steps: &mut Vec<Step>) -> Part {
    match node {
        Node::Dict(members) => {
            let member = |(i, (name, node)): (usize, &(String, Node))| {
                steps.push(Step::Member(i));
                let part = part(py, node, steps);
                steps.pop();
                (PyString::intern(py, name).unbind(), part)
            };
            Part::Dict(members.iter().enumerate().map(member).collect())
        }
        Node::Stream(_) => Part::Nested(steps.clone()),
        Node::Leaf(number) => Part::Column(*number),
    }
}

/// How a column is handed over. Where rows are parts of one array it gives its memory away.
fn form(py: Python<'_>, array_maker: &ArrayMaker, plan: &Plan, column: &mut Column) -> PyResult<Form> {
    let rows = column.rows();
    let is_flat =
        plan.has_array_rows() && (column.levels.is_empty() || matches!(column.shapes, Shapes::Same(_)));
    match (&mut column.data, &column.shapes) {
        (Data::Fixed { bytes, .. }, Shapes::Same(shape)) if column.levels.is_empty() => {
            let dims = [&[rows], &shape[..]].concat();
            let array = array_maker.fixed(py, column.dtype, &dims, std::mem::take(bytes))?;
            // Iterating gives scalars of NumPy, or views.
            let values = py.get_type::<PyList>().call1((array,))?;
            Ok(Form::ExampleBatch(values.cast_into::<PyList>()?.unbind()))
        }
        (Data::Fixed { bytes, .. }, _) if is_flat => {
            Ok(Form::Flat(array_maker.flat(py, column.dtype, std::mem::take(bytes))?.unbind()))
        }
        (Data::Strings { .. }, Shapes::Same(shape)) if column.levels.is_empty() && shape.is_empty() => {
            Ok(Form::Strings)
        }
        _ => Ok(Form::OneByOne),
    }
}
