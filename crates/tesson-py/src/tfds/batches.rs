//! Examples many at a time: an array for each feature, on the memory that it was decoded into.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use tesson_tfds::features::{Batch, Column, Data, Node, Padding, Schema};

use super::array_maker::ArrayMaker;
use super::examples::is_absent;
use super::nested::{Examples, Place, Step};
use crate::errors::misuse;

/// All examples of a batch together: an array for each feature, padded with 0, "" or false where examples differ in shape.
/// Ragged features and nested datasets are lists with a value for each example. With `marks_absent`, arrays of optional
/// features are masked where they are absent. Unless `pads`, examples that differ in shape are refused.
pub(super) fn batch<'py>(
    py: Python<'py>,
    array_maker: &Arc<ArrayMaker>,
    schema: &Arc<Schema>,
    mut batch: Batch,
    marks_absent: bool,
    pads: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let columns = schema.columns.iter().zip(&mut batch.columns);
    let arrays = columns.map(|(plan, column)| {
        let Some(padding) = Padding::of(plan, column) else { return Ok(None) };
        let difference = if pads { None } else { padding.first_difference(plan, column) };
        if let Some((row, first, other)) = difference {
            let what = format!(
                "feature `{}`: the first example of the batch has shape {first:?}, example {row} has {other:?}; `batch` \
                 takes examples of one shape: use `padded_batch`, or `map` them to one shape before",
                plan.path
            );
            return Err(misuse(py, what));
        }
        array(py, array_maker, column, &padding, marks_absent).map(Some)
    });
    let arrays = arrays.collect::<PyResult<_>>()?;
    let (schema, array_maker) = (Arc::clone(schema), Arc::clone(array_maker));
    let whole = Whole { arrays, examples: Arc::new(Examples { batch, schema, array_maker }), marks_absent };
    whole.node(py, &whole.examples.schema.root, &mut Vec::new())
}

struct Whole<'py> {
    /// For each column its array, if its examples make one.
    arrays: Vec<Option<Bound<'py, PyAny>>>,
    examples: Arc<Examples>,
    marks_absent: bool,
}

impl<'py> Whole<'py> {
    fn node(&self, py: Python<'py>, node: &Node, steps: &mut Vec<Step>) -> PyResult<Bound<'py, PyAny>> {
        match node {
            Node::Dict(members) => {
                let dict = PyDict::new(py);
                for (i, (name, node)) in members.iter().enumerate() {
                    steps.push(Step::Member(i));
                    dict.set_item(name, self.node(py, node, steps)?)?;
                    steps.pop();
                }
                Ok(dict.into_any())
            }
            Node::Stream(_) => self.one_by_one(py, node, steps, None),
            Node::Leaf(number) => match &self.arrays[*number] {
                Some(array) => Ok(array.clone()),
                None => self.one_by_one(py, node, steps, Some(&self.examples.batch.columns[*number])),
            },
        }
    }

    fn one_by_one(
        &self,
        py: Python<'py>,
        node: &Node,
        steps: &[Step],
        column: Option<&Column>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = |row| match column {
            Some(column) if self.marks_absent && is_absent(column, row) => Ok(py.None().into_bound(py)),
            _ => self.examples.value(py, node, Place { row, steps: steps.to_vec() }),
        };
        let values = (0..self.examples.batch.rows()).map(value);
        Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }
}

/// The array of a column. Where nothing is padded the column gives its memory away.
fn array<'py>(
    py: Python<'py>,
    array_maker: &ArrayMaker,
    column: &mut Column,
    padding: &Padding,
    marks_absent: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let array = padded(py, array_maker, column, padding)?;
    match &column.missing {
        Some(missing) if marks_absent => masked(py, array_maker, &array, missing),
        _ => Ok(array),
    }
}

fn padded<'py>(
    py: Python<'py>,
    array_maker: &ArrayMaker,
    column: &mut Column,
    padding: &Padding,
) -> PyResult<Bound<'py, PyAny>> {
    let values: usize = padding.shape.iter().product();
    match &mut column.data {
        Data::Fixed { size, bytes } => {
            let memory = match &padding.runs[..] {
                [all] if all.from == (0..values) && bytes.len() == values * *size => std::mem::take(bytes),
                runs => {
                    let mut memory = vec![0; values * *size];
                    for run in runs {
                        let from = &bytes[run.from.start * *size..run.from.end * *size];
                        memory[run.to * *size..][..from.len()].copy_from_slice(from);
                    }
                    memory
                }
            };
            array_maker.fixed(py, column.dtype, &padding.shape, memory)
        }
        Data::Strings { bytes, ends } => {
            let mut objects = vec![PyBytes::new(py, b""); values];
            for run in &padding.runs {
                for (i, value) in run.from.clone().enumerate() {
                    let start = if value == 0 { 0 } else { ends[value - 1] };
                    objects[run.to + i] = PyBytes::new(py, &bytes[start..ends[value]]);
                }
            }
            array_maker.objects(py, &padding.shape, objects)
        }
    }
}

/// The array as a masked one.
fn masked<'py>(
    py: Python<'py>,
    array_maker: &ArrayMaker,
    array: &Bound<'py, PyAny>,
    missing: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = array_maker.numpy.bind(py);
    let mask = numpy.call_method1(intern!(py, "zeros"), (array.getattr(intern!(py, "shape"))?, "?"))?;
    let missing: Vec<i64> = missing.iter().map(|row| *row as i64).collect();
    mask.set_item(PyArray1::from_vec(py, missing), true)?;
    let ma = numpy.getattr(intern!(py, "ma"))?;
    ma.call_method1(intern!(py, "MaskedArray"), PyTuple::new(py, [array, &mask])?)
}
