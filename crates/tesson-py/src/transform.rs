//! A user's transform in Python.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use tesson::Shape;
use tesson_core::{
    BitsBuffer, BitsSlice, Cause, ChunkId, DataError, DataErrorKind, Draw, Element, Error, Input,
    InputValues, Object, Output, OutputValues, SampleType, Scratch, SparseInput, SparseOutput, Transform,
    Value, ValueType,
};
use tesson_formats::user::UserError;

use crate::calls::{self, Owner, Raised};

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
    /// The type of what comes out; as it goes in, if nothing is said.
    element: Option<Element>,
    random: bool,
    seed: u64,
    /// The form in which it gets sparse streams.
    sparse: Option<Sparse>,
}

/// The form in which a function gets a sparse stream.
#[derive(Clone, Copy, PartialEq)]
enum Sparse {
    /// Dense samples.
    Dense,
    /// Samples as rows.
    Rows,
}

/// The reason why a source never asks for another type: streams of other types are refused when it is opened.
const FLOATS: &str = "functions transform sparse rows of floats, of one type in and out";

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
        element: get("dtype")?.extract::<Option<String>>()?.as_deref().and_then(Element::of_name),
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
    fn input_shape<'a>(&'a self, input: &'a [usize]) -> &'a [usize] {
        self.input_shape.as_deref().unwrap_or(input)
    }

    fn shape_of<'a>(&'a self, input: &'a [usize]) -> &'a [usize] {
        self.shape.as_deref().unwrap_or(self.input_shape(input))
    }

    /// Calls Python. An exception that is no `Exception`, such as an interrupt, is an error of ours: no budget forgives it.
    fn called(&self, act: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), UserError> {
        calls::call(self.owner, &self.name, act).map_err(|error| {
            let interrupts =
                |raised: &Raised| Python::attach(|py| !raised.exception.is_instance_of::<PyException>(py));
            if !error.downcast_ref::<Raised>().is_some_and(interrupts) {
                return error;
            }
            let kind = DataErrorKind::Transform { transform: self.name.clone(), cause: Cause(error.into()) };
            UserError::from(Error::from(DataError::in_chunk(kind, "", ChunkId(0))))
        })
    }

    /// Calls the function for each sample of a sequence. `samples` and the result are flat, of unsigned numbers where
    /// the types of values are other ones of that width.
    fn call<'py, T: numpy::Element + Copy>(
        &self,
        samples: &Bound<'py, PyAny>,
        input: &Input<'_>,
        words: Option<Vec<u32>>,
        out: &mut Vec<T>,
        to: Element,
    ) -> PyResult<()> {
        let py = samples.py();
        let from = match input.values {
            InputValues::F32(_) => Element::F32,
            InputValues::F64(_) => Element::F64,
            InputValues::Exact(element, _) => element,
            _ => Element::U8,
        };
        let types = (from.name(), to.name());
        let (from, to) = (self.input_shape(input.shape), self.shape_of(input.shape));
        let arguments = (self.function.bind(py), samples, types, from, to, words);
        let array = self.transformed.bind(py).call1(arguments)?.cast_into::<PyArray1<T>>()?;
        out.extend_from_slice(array.readonly().as_slice()?);
        Ok(())
    }

    /// The result for a sequence of sparse samples with these values: values, columns, and the entries of each sample.
    fn call_rows<'py, T: numpy::Element + Copy>(
        &self,
        py: Python<'py>,
        input: &SparseInput<'_>,
        values: &[T],
        words: Option<Vec<u32>>,
    ) -> PyResult<(PyReadonlyArray1<'py, T>, PyReadonlyArray1<'py, i32>, Vec<u32>)> {
        let [bounds, columns] =
            [input.bounds, input.columns].map(|numbers| PyArray1::from_slice(py, numbers));
        let to = self.shape_of(&[input.dim]).iter().product::<usize>();
        let samples = (bounds, columns, PyArray1::from_slice(py, values));
        let answer =
            self.transformed_rows.bind(py).call1((self.function.bind(py), samples, input.dim, to, words))?;
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

    fn draws(&self) -> bool {
        self.random
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        let values = match (self.element, input.values) {
            (Some(element), _) => element.into(),
            // Images become what is delivered.
            (None, ValueType::U8) if input.delivered != Element::U8 => input.floats(),
            (None, values) => values,
        };
        let shape = input.shape().filter(|_| input.values != ValueType::Encoded);
        let Some(shape) = shape else {
            return Err(format!("found {input}, expected numbers of a known shape"));
        };
        let (given, found) = (self.input_shape(shape.dims()), shape.len());
        if given.iter().product::<usize>() != found {
            return Err(format!("found {given:?}, samples have {found} values"));
        }
        if input.sparse && self.sparse.is_none() {
            let what = "it transforms dense samples, this stream is sparse; choose `sparse=\"csr\"` or `sparse=\"dense\"`";
            return Err(what.into());
        }
        if self.sparse == Some(Sparse::Rows)
            && (!matches!(values, ValueType::F32 | ValueType::F64) || values != input.values)
        {
            let what = "rows of sparse samples are floats, of one type in and out; choose `sparse=\"dense\"`";
            return Err(format!("found {input}, {what}"));
        }
        let output = input.clone().with_values(values).with_shape(&Shape::new(self.shape_of(shape.dims())));
        Ok(if self.sparse == Some(Sparse::Rows) { output } else { output.densified() })
    }

    fn takes_exact(&self) -> bool {
        true
    }

    fn takes_sparse(&self) -> bool {
        self.sparse == Some(Sparse::Rows)
    }

    fn apply_sparse(
        &self,
        input: SparseInput<'_>,
        output: SparseOutput<'_>,
        draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let words = self.random.then(|| (0..4).map(|_| draw.word()).collect());
        self.called(|py| {
            let (columns, counts) = match (input.values, output.values) {
                (InputValues::F32(values), OutputValues::F32(out)) => {
                    let (v, columns, counts) = self.call_rows(py, &input, values, words)?;
                    out.extend_from_slice(v.as_slice()?);
                    (columns, counts)
                }
                (InputValues::F64(values), OutputValues::F64(out)) => {
                    let (v, columns, counts) = self.call_rows(py, &input, values, words)?;
                    out.extend_from_slice(v.as_slice()?);
                    (columns, counts)
                }
                _ => return Err(PyTypeError::new_err(FLOATS)),
            };
            output.columns.extend_from_slice(columns.as_slice()?);
            output.counts.extend(counts);
            Ok(())
        })
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        draw: &mut Draw<'_>,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        // As many bits as NumPy's generator has for a key.
        let words = self.random.then(|| (0..4).map(|_| draw.word()).collect());
        self.called(|py| {
            let samples = &match input.values {
                InputValues::F32(v) => PyArray1::from_slice(py, v).into_any(),
                InputValues::F64(v) => PyArray1::from_slice(py, v).into_any(),
                InputValues::U8(v) | InputValues::Exact(_, BitsSlice::B8(v)) => {
                    PyArray1::from_slice(py, v).into_any()
                }
                InputValues::Exact(_, BitsSlice::B16(v)) => PyArray1::from_slice(py, v).into_any(),
                InputValues::Exact(_, BitsSlice::B32(v)) => PyArray1::from_slice(py, v).into_any(),
                InputValues::Exact(_, BitsSlice::B64(v)) => PyArray1::from_slice(py, v).into_any(),
                _ => return Err(PyTypeError::new_err("functions transform numbers")),
            };
            match output.values {
                OutputValues::F32(out) => self.call(samples, &input, words, out, Element::F32),
                OutputValues::F64(out) => self.call(samples, &input, words, out, Element::F64),
                OutputValues::U8(out) => self.call(samples, &input, words, out, Element::U8),
                OutputValues::Exact(to, BitsBuffer::B8(out)) => self.call(samples, &input, words, out, to),
                OutputValues::Exact(to, BitsBuffer::B16(out)) => self.call(samples, &input, words, out, to),
                OutputValues::Exact(to, BitsBuffer::B32(out)) => self.call(samples, &input, words, out, to),
                OutputValues::Exact(to, BitsBuffer::B64(out)) => self.call(samples, &input, words, out, to),
                _ => Err(PyTypeError::new_err("functions make numbers")),
            }
        })
    }
}
