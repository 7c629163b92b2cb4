//! Examples as Python's values: NumPy scalars and arrays, bytes, dictionaries.
//!
//! Columns of scalars and of arrays of one shape become one array for all examples, of which each gets its part. All other
//! values are made one by one.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple};
use tesson::tfds::features::{
    Array, Batch, Column, DType, Data, Node, Padding, Ragged, Schema, Shapes, Slice, Stream, Value,
};

/// What values are made with.
pub(super) struct Kit {
    numpy: Py<PyModule>,
    ragged: Py<PyAny>,
    nested: Py<PyAny>,
    bfloat16: Py<PyAny>,
}

impl Kit {
    pub(super) fn new(py: Python<'_>) -> PyResult<Kit> {
        let values = py.import("tesson.tfds.values")?;
        Ok(Kit {
            numpy: py.import("numpy")?.unbind(),
            ragged: values.getattr("Ragged")?.unbind(),
            nested: values.getattr("NestedDataset")?.unbind(),
            bfloat16: values.getattr("bfloat16")?.unbind(),
        })
    }

    /// All examples of a batch, a dictionary each.
    pub(super) fn examples<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        batch: &Batch,
    ) -> PyResult<Bound<'py, PyList>> {
        let whole: Vec<Option<Bound<'py, PyList>>> =
            batch.columns.iter().map(|column| self.whole(py, column)).collect::<PyResult<_>>()?;
        let examples = PyList::empty(py);
        for row in 0..batch.rows() {
            let member = |node: &Node| match node {
                Node::Leaf(column) => match &whole[*column] {
                    Some(values) => Ok(Some(values.get_item(row)?)),
                    None => Ok(None),
                },
                _ => Ok::<_, PyErr>(None),
            };
            let Node::Dict(members) = &schema.root else {
                examples.append(self.value(py, &batch.value(schema, row))?)?;
                continue;
            };
            let example = PyDict::new(py);
            for (name, node) in members {
                let value = match member(node)? {
                    Some(value) => value,
                    None => self.value(py, &batch.part(schema, node, row))?,
                };
                example.set_item(name, value)?;
            }
            examples.append(example)?;
        }
        Ok(examples)
    }

    /// All examples of a batch together: an array for each feature, padded with 0, "" or false where examples differ in
    /// shape. Ragged features have one level more, and nested streams are a list.
    pub(super) fn batch<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        batch: &Batch,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.batch_node(py, schema, batch, &schema.root)
    }

    fn batch_node<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        batch: &Batch,
        node: &Node,
    ) -> PyResult<Bound<'py, PyAny>> {
        match node {
            Node::Dict(members) => {
                let dict = PyDict::new(py);
                for (name, node) in members {
                    dict.set_item(name, self.batch_node(py, schema, batch, node)?)?;
                }
                Ok(dict.into_any())
            }
            Node::Stream(_) => self.one_by_one(py, schema, batch, node),
            Node::Leaf(at) => {
                let (plan, column) = (&schema.columns[*at], &batch.columns[*at]);
                match Padding::of(plan, column) {
                    Some(padding) => self.padded(py, column, padding),
                    None => self.one_by_one(py, schema, batch, node),
                }
            }
        }
    }

    fn one_by_one<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        batch: &Batch,
        node: &Node,
    ) -> PyResult<Bound<'py, PyAny>> {
        let parts = (0..batch.rows()).map(|row| self.value(py, &batch.part(schema, node, row)));
        Ok(PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    fn padded<'py>(&self, py: Python<'py>, column: &Column, padding: Padding) -> PyResult<Bound<'py, PyAny>> {
        let values: usize = padding.shape.iter().product();
        match &column.data {
            Data::Fixed { size, bytes } => {
                if let [all] = &padding.runs[..]
                    && all.from == (0..values)
                {
                    return self.fixed(py, column.dtype, &padding.shape, &bytes[..values * size]);
                }
                let mut memory = vec![0; values * size];
                for run in &padding.runs {
                    let from = &bytes[run.from.start * size..run.from.end * size];
                    memory[run.to * size..][..from.len()].copy_from_slice(from);
                }
                self.fixed(py, column.dtype, &padding.shape, &memory)
            }
            Data::Strings { bytes, ends } => {
                let numpy = self.numpy.bind(py);
                let shape = (padding.shape.clone(), PyBytes::new(py, b""), "O");
                let objects = numpy.call_method1(intern!(py, "full"), shape)?;
                let flat = objects.getattr(intern!(py, "flat"))?;
                for run in &padding.runs {
                    for (i, value) in run.from.clone().enumerate() {
                        let start = if value == 0 { 0 } else { ends[value - 1] };
                        flat.set_item(run.to + i, PyBytes::new(py, &bytes[start..ends[value]]))?;
                    }
                }
                Ok(objects)
            }
        }
    }

    /// The values of a column whose rows all have one shape, as a list with a value for each row.
    fn whole<'py>(&self, py: Python<'py>, column: &Column) -> PyResult<Option<Bound<'py, PyList>>> {
        let (Shapes::Same(shape), true) = (&column.shapes, column.levels.is_empty()) else { return Ok(None) };
        match &column.data {
            Data::Fixed { bytes, .. } => {
                let dims = [&[column.rows()], &shape[..]].concat();
                let array = self.fixed(py, column.dtype, &dims, bytes)?;
                // Iterating gives scalars of NumPy, or views.
                Ok(Some(PyList::new(py, array.try_iter()?.collect::<PyResult<Vec<_>>>()?)?))
            }
            Data::Strings { bytes, ends } if shape.is_empty() => {
                let slice = Slice::Strings { bytes, start: 0, ends };
                Ok(Some(PyList::new(py, slice.strings().map(|s| PyBytes::new(py, s)))?))
            }
            Data::Strings { .. } => Ok(None),
        }
    }

    fn value<'py>(&self, py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Dict(members) => {
                let dict = PyDict::new(py);
                for (name, value) in members {
                    dict.set_item(*name, self.value(py, value)?)?;
                }
                Ok(dict.into_any())
            }
            Value::Array(array) => self.array(py, array),
            Value::Ragged(ragged) => self.ragged(py, ragged),
            Value::Stream(stream) => self.stream(py, stream),
        }
    }

    fn array<'py>(&self, py: Python<'py>, array: &Array<'_>) -> PyResult<Bound<'py, PyAny>> {
        match array.values {
            Slice::Fixed(bytes) => {
                let whole = self.fixed(py, array.dtype, &array.shape, bytes)?;
                // A scalar is one of NumPy's, not an array without dimensions.
                if array.shape.is_empty() { whole.get_item(PyTuple::empty(py)) } else { Ok(whole) }
            }
            strings => {
                let mut list = strings.strings().map(|s| PyBytes::new(py, s));
                if array.shape.is_empty() {
                    return Ok(list.next().unwrap_or_else(|| PyBytes::new(py, b"")).into_any());
                }
                let numpy = self.numpy.bind(py);
                let objects = numpy.call_method1(intern!(py, "empty"), (array.shape.clone(), "O"))?;
                let flat = objects.getattr(intern!(py, "flat"))?;
                for (i, value) in list.enumerate() {
                    flat.set_item(i, value)?;
                }
                Ok(objects)
            }
        }
    }

    fn ragged<'py>(&self, py: Python<'py>, ragged: &Ragged<'_>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.array(py, &ragged.values)?;
        let lengths = |of: &Vec<usize>| {
            let bytes: Vec<u8> = of.iter().flat_map(|n| (*n as i64).to_le_bytes()).collect();
            self.fixed(py, DType::Int64, &[of.len()], &bytes)
        };
        let row_lengths: Vec<_> = ragged.row_lengths.iter().map(lengths).collect::<PyResult<_>>()?;
        self.ragged.bind(py).call1((values, row_lengths))
    }

    fn stream<'py>(&self, py: Python<'py>, stream: &Stream<'_>) -> PyResult<Bound<'py, PyAny>> {
        let elements = PyList::empty(py);
        for element in stream.iter() {
            elements.append(self.value(py, &element)?)?;
        }
        self.nested.bind(py).call1((elements,))
    }

    /// An array of its own memory.
    fn fixed<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        shape: &[usize],
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let numpy = self.numpy.bind(py);
        let (memory, dtype) = match (dtype, self.bfloat16.is_none(py)) {
            (DType::BFloat16, false) => (PyByteArray::new(py, bytes), self.bfloat16.bind(py).clone()),
            (DType::BFloat16, true) => (PyByteArray::new(py, &widened(bytes)), name(py, DType::Float32)),
            (other, _) => (PyByteArray::new(py, bytes), name(py, other)),
        };
        let flat = numpy.call_method1(intern!(py, "frombuffer"), (memory, dtype))?;
        flat.call_method1(intern!(py, "reshape"), (shape.to_vec(),))
    }
}

/// 16-bit floats of the upper half of 32 bits, as the 32-bit floats that they are.
fn widened(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks_exact(2).flat_map(|half| [0, 0, half[0], half[1]]).collect()
}

fn name(py: Python<'_>, dtype: DType) -> Bound<'_, PyAny> {
    PyString::intern(py, dtype.name()).into_any()
}
