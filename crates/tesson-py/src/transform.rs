//! A user's transform in Python.

use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use tesson::deserializer::transform::{Draw, Flow, Transform};
use tesson::deserializer::user::UserError;
use tesson::deserializer::{Object, Scratch, Value};
use tesson::{Shape, StreamInfo};

use crate::calls;

/// A Python callable from sample to sample.
struct PythonTransform {
    function: Py<PyAny>,
    /// `tesson.transforming.transformed`, which calls it for each sample of a sequence.
    transformed: Py<PyAny>,
    name: String,
    identity: String,
    /// The shape of what goes in, where it is another one than the stream's, of as many values.
    input_shape: Option<Vec<usize>>,
    /// The shape of what comes out; as it goes in, if nothing is said.
    shape: Option<Vec<usize>>,
    random: bool,
    seed: u64,
}

/// A user's transform as a value of a configuration.
pub(crate) fn value(function: &Bound<'_, PyAny>) -> PyResult<Value> {
    let module = function.py().import("tesson.transforming")?;
    let described = module.call_method1("described", (function,))?;
    let get = |name: &str| described.get_item(name);
    let transform = PythonTransform {
        function: function.clone().unbind(),
        transformed: module.getattr("transformed")?.unbind(),
        name: get("name")?.extract()?,
        identity: get("identity")?.extract()?,
        input_shape: get("input_shape")?.extract()?,
        shape: get("shape")?.extract()?,
        random: get("random")?.extract()?,
        seed: get("seed")?.extract()?,
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
        Ok(StreamInfo { shape: Shape::new(self.shape_of(input)), ..input.clone() })
    }

    fn apply(
        &self,
        samples: Flow<'_>,
        input: &StreamInfo,
        draw: &mut dyn Draw,
        _scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        // As many bits as NumPy's generator has for a key.
        let words = self.random.then(|| (0..4).map(|_| draw.word()).collect());
        calls::call(&self.name, |py| {
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
