//! A user's transform in Python.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use tesson::deserializer::transform::{Draw, Flow, SparseFlow, Transform};
use tesson::deserializer::user::UserError;
use tesson::deserializer::{Object, Scratch, Value};
use tesson::{Shape, StreamInfo};

use crate::calls::{self, Owner};

/// A Python callable from sample to sample.
struct PythonTransform {
    function: Py<PyAny>,
    /// The source that calls it.
    owner: Owner,
    /// `tesson.transforming.transformed`, which calls it for each sample of a sequence.
    transformed: Py<PyAny>,
    /// `tesson.transforming.transformed_rows`, which does so with sparse samples.
    transformed_rows: Py<PyAny>,
    name: String,
    identity: String,
    /// The shape of what goes in, where it is another one than the stream's, of as many values.
    input_shape: Option<Vec<usize>>,
    /// The shape of what comes out; as it goes in, if nothing is said.
    shape: Option<Vec<usize>>,
    random: bool,
    seed: u64,
    /// What it is to get of sparse streams.
    sparse: Option<Sparse>,
}

/// What a function gets of a sparse stream.
#[derive(Clone, Copy, PartialEq)]
enum Sparse {
    /// Dense samples.
    Dense,
    /// Samples as rows.
    Rows,
}

/// A user's transform as a value of a configuration.
pub(crate) fn value(function: &Bound<'_, PyAny>, owner: Owner) -> PyResult<Value> {
    let module = function.py().import("tesson.transforming")?;
    let described = module.call_method1("described", (function,))?;
    let get = |name: &str| described.get_item(name);
    let transform = PythonTransform {
        function: function.clone().unbind(),
        owner,
        transformed: module.getattr("transformed")?.unbind(),
        transformed_rows: module.getattr("transformed_rows")?.unbind(),
        name: get("name")?.extract()?,
        identity: get("identity")?.extract()?,
        input_shape: get("input_shape")?.extract()?,
        shape: get("shape")?.extract()?,
        random: get("random")?.extract()?,
        seed: get("seed")?.extract()?,
        sparse: match get("sparse")?.extract::<Option<String>>()?.as_deref() {
            None => None,
            Some("dense") => Some(Sparse::Dense),
            Some(_) => Some(Sparse::Rows),
        },
    };
    let name = transform.name.clone();
    Ok(Value::Object(Object::new(Arc::new(transform) as Arc<dyn Transform>, &name)))
}

impl PythonTransform {
    fn input_shape<'a>(&'a self, input: &'a StreamInfo) -> &'a [usize] {
        self.input_shape.as_deref().unwrap_or(input.shape.dims())
    }

    fn shape_of<'a>(&'a self, input: &'a StreamInfo) -> &'a [usize] {
        self.shape.as_deref().unwrap_or(self.input_shape(input))
    }

    /// What comes out of a sequence, sample after sample.
    fn call<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        values: &[T],
        input: &StreamInfo,
        words: Option<Vec<u32>>,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let samples = PyArray1::from_slice(py, values);
        let (from, to) = (self.input_shape(input), self.shape_of(input));
        let arguments = (self.function.bind(py), samples, from, to, words);
        Ok(self.transformed.bind(py).call1(arguments)?.cast_into()?)
    }

    /// What comes out of a sequence of sparse samples: values, columns, and the entries of each sample.
    fn call_rows<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        (bounds, columns, values): (&[i32], &[i32], &[T]),
        input: &StreamInfo,
        words: Option<Vec<u32>>,
    ) -> PyResult<(PyReadonlyArray1<'py, T>, PyReadonlyArray1<'py, i32>, Vec<u32>)> {
        let [bounds, columns] = [bounds, columns].map(|numbers| PyArray1::from_slice(py, numbers));
        let (from, to) = (input.shape.len(), self.shape_of(input).iter().product::<usize>());
        let samples = (bounds, columns, PyArray1::from_slice(py, values));
        let answer =
            self.transformed_rows.bind(py).call1((self.function.bind(py), samples, from, to, words))?;
        answer.extract()
    }
}

impl Transform for PythonTransform {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> String {
        format!("{} random={}", self.identity, self.random)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn output(&self, input: &StreamInfo) -> Result<StreamInfo, String> {
        let (given, found) = (self.input_shape(input), input.shape.len());
        if given.iter().product::<usize>() != found {
            return Err(format!("found {given:?}, samples have {found} values"));
        }
        if input.sparse && self.sparse.is_none() {
            let what = "it transforms dense samples, this stream is sparse; choose `sparse=\"csr\"` or `sparse=\"dense\"`";
            return Err(what.into());
        }
        let sparse = input.sparse && self.sparse == Some(Sparse::Rows);
        Ok(StreamInfo { shape: Shape::new(self.shape_of(input)), sparse, ..input.clone() })
    }

    fn takes_sparse(&self) -> bool {
        self.sparse == Some(Sparse::Rows)
    }

    fn apply_sparse(
        &self,
        samples: SparseFlow<'_>,
        input: &StreamInfo,
        draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let words = self.random.then(|| (0..4).map(|_| draw.word()).collect());
        let SparseFlow { bounds, columns, values, counts_out, columns_out } = samples;
        calls::call(self.owner, &self.name, |py| {
            let (columns, counts) = match values {
                Flow::F32 { input: values, output } => {
                    let (v, columns, counts) = self.call_rows(py, (bounds, columns, values), input, words)?;
                    output.extend_from_slice(v.as_slice()?);
                    (columns, counts)
                }
                Flow::F64 { input: values, output } => {
                    let (v, columns, counts) = self.call_rows(py, (bounds, columns, values), input, words)?;
                    output.extend_from_slice(v.as_slice()?);
                    (columns, counts)
                }
            };
            columns_out.extend_from_slice(columns.as_slice()?);
            counts_out.extend(counts);
            Ok(())
        })
    }

    fn apply(
        &self,
        samples: Flow<'_>,
        input: &StreamInfo,
        draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        // As many bits as NumPy's generator has for a key.
        let words = self.random.then(|| (0..4).map(|_| draw.word()).collect());
        calls::call(self.owner, &self.name, |py| {
            match samples {
                Flow::F32 { input: values, output } => {
                    output.extend_from_slice(self.call(py, values, input, words)?.readonly().as_slice()?);
                }
                Flow::F64 { input: values, output } => {
                    output.extend_from_slice(self.call(py, values, input, words)?.readonly().as_slice()?);
                }
            }
            Ok(())
        })
    }
}
