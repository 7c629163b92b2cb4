//! A user's deserializer in Python as a source of chunks.

use std::sync::Arc;

use numpy::{Element as NumPyElement, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use tesson::{Element, Minibatch, Shape, StreamInfo};
use tesson_core::{Data, Keys, Offsets, StreamColumn, Strings, Value, Values};
use tesson_formats::user;
use tesson_formats::user::{ChunkSource, UserError};

use crate::batch::Batch;
use crate::calls::{self, Owner};

/// A Python object with `stream_infos`, `num_chunks` and `get_chunk`.
struct PythonChunks {
    object: Py<PyAny>,
    /// The source that calls it.
    owner: Owner,
    /// `tesson.user.columns`, which brings what `get_chunk` returns into flat arrays.
    columns: Py<PyAny>,
    name: String,
    identity: String,
    streams: Vec<StreamInfo>,
    counted_stream: Option<usize>,
    n_chunks: u32,
    thread_safe: bool,
    keeps_types: bool,
    tells_lengths: bool,
    tells_keys: bool,
}

/// True if an object is a custom deserializer.
pub(crate) fn is_deserializer(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr("get_chunk")
}

/// A user's deserializer as a value of a configuration.
pub(crate) fn value(object: &Bound<'_, PyAny>, owner: Owner) -> PyResult<Value> {
    let py = object.py();
    let module = py.import("tesson.user")?;
    let described = module.call_method1("described", (object,))?;
    let get = |name: &str| described.get_item(name);
    let tells = |name: &str| Ok::<bool, PyErr>(object.hasattr(name)? && object.getattr(name)?.is_callable());
    let streams: Vec<(String, Vec<usize>, bool, String)> = get("streams")?.extract()?;
    let keeps_types: bool = get("keeps_types")?.extract()?;
    let source = PythonChunks {
        columns: module.getattr("columns")?.unbind(),
        name: get("name")?.extract()?,
        identity: get("identity")?.extract()?,
        streams: streams
            .into_iter()
            .map(|(name, dims, sparse, dtype)| {
                // Where types are not kept, the reader decides.
                let element = Element::of_name(&dtype).unwrap_or(Element::F32);
                StreamInfo::dense(name, Shape::new(dims), element).with_sparse(sparse)
            })
            .collect(),
        counted_stream: get("counted_stream")?.extract()?,
        n_chunks: get("num_chunks")?.extract()?,
        thread_safe: get("thread_safe")?.extract()?,
        keeps_types,
        tells_lengths: tells("sequence_lengths")?,
        tells_keys: tells("keys")?,
        object: object.clone().unbind(),
        owner,
    };
    Ok(user::instance(Arc::new(source)))
}

impl ChunkSource for PythonChunks {
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> Vec<StreamInfo> {
        self.streams.clone()
    }

    fn counted_stream(&self) -> Option<usize> {
        self.counted_stream
    }

    fn n_chunks(&self) -> Result<u32, UserError> {
        Ok(self.n_chunks)
    }

    fn read(&self, chunk: u32) -> Result<Vec<StreamColumn>, UserError> {
        calls::call(self.owner, &format!("get_chunk({chunk})"), |py| {
            let returned = self.object.bind(py).call_method1("get_chunk", (chunk,))?;
            let columns = self.columns.bind(py).call1((returned, self.object.bind(py)))?;
            columns.cast::<PyList>()?.iter().map(|c| column(&c)).collect()
        })
    }

    fn lengths(&self, chunk: u32) -> Result<Option<Vec<u32>>, UserError> {
        if !self.tells_lengths {
            return Ok(None);
        }
        calls::call(self.owner, &format!("sequence_lengths({chunk})"), |py| {
            let told = self.object.bind(py).call_method1("sequence_lengths", (chunk,))?;
            if told.is_none() {
                return Ok(None);
            }
            let lengths = py.import("tesson.user")?.call_method1("lengths", (told,))?;
            Ok(Some(lengths.cast::<PyArray1<u32>>()?.to_vec()?))
        })
    }

    fn keys(&self, chunk: u32) -> Result<Option<Keys>, UserError> {
        if !self.tells_keys {
            return Ok(None);
        }
        calls::call(self.owner, &format!("keys({chunk})"), |py| {
            let told = self.object.bind(py).call_method1("keys", (chunk,))?;
            if told.is_none() { Ok(None) } else { keys(&told).map(Some) }
        })
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn keeps_types(&self) -> bool {
        self.keeps_types
    }

    fn is_thread_safe(&self) -> bool {
        self.thread_safe
    }
}

/// A minibatch of one stream from flat arrays as [`column`] takes them: for minibatches that no source has made.
#[pyfunction]
pub(crate) fn batch_of(
    columns: &Bound<'_, PyAny>,
    shape: Vec<usize>,
    sparse: bool,
    double: bool,
    sweep_end: bool,
) -> PyResult<Batch> {
    let element = if double { Element::F64 } else { Element::F32 };
    let stream = StreamInfo::dense("value", Shape::new(shape.clone()), element).with_sparse(sparse);
    let chunk = user::checked(vec![column(columns)?], std::slice::from_ref(&stream), None)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let minibatch = Minibatch::of_chunk(&[Arc::new(stream)], &chunk, sweep_end);
    Ok(Batch::new(minibatch, &[Some(shape.into())]))
}

/// A column from flat arrays: `(samples, values)` of dense streams, `(samples, pairs, indices, values)` of sparse ones.
/// `samples` and `pairs` are the numbers where entries begin, or how long every entry is. The values of strings are a tuple of
/// their bytes and the end of each.
fn column(tuple: &Bound<'_, PyAny>) -> PyResult<StreamColumn> {
    if let Ok((samples, values)) = tuple.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
        if let Ok(strings) = values.cast::<PyTuple>() {
            let data = Data::Dense { values: Values::Strings(self::strings(strings)?) };
            return Ok(StreamColumn { samples: offsets(&samples)?, data });
        }
        let data = Data::Dense { values: self::values(&values)? };
        return Ok(StreamColumn { samples: offsets(&samples)?, data });
    }
    let (samples, pairs, indices, values): (
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
        Bound<'_, PyAny>,
    ) = tuple.extract()?;
    let columns = numbers(&indices, "index")?;
    let data = Data::Sparse { rows: offsets(&pairs)?, columns, values: self::values(&values)? };
    Ok(StreamColumn { samples: offsets(&samples)?, data })
}

fn offsets(object: &Bound<'_, PyAny>) -> PyResult<Offsets> {
    match object.cast::<PyArray1<i64>>() {
        Ok(_) => Ok(Offsets::At(numbers(object, "offset")?)),
        Err(_) => Ok(Offsets::Every(object.extract()?)),
    }
}

/// An int64 array as numbers below 2^32.
fn numbers(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u32>> {
    let array = object.cast::<PyArray1<i64>>()?.readonly();
    let number = |&n: &i64| {
        u32::try_from(n).map_err(|_| {
            PyValueError::new_err(format!("found {what} {n}, expected a whole number from 0 below 2^32"))
        })
    };
    array.as_slice()?.iter().map(number).collect()
}

/// Byte strings from `(bytes, ends)`: a uint8 array, and an int64 array of the end of each string in it.
fn strings(parts: &Bound<'_, PyTuple>) -> PyResult<Strings> {
    let (bytes, ends): (Bound<'_, PyArray1<u8>>, Bound<'_, PyArray1<i64>>) = parts.extract()?;
    let (bytes, ends) = (bytes.readonly(), ends.readonly());
    let ends = ends.as_slice()?.iter().map(|&end| usize::try_from(end).unwrap_or(usize::MAX)).collect();
    Strings::new(bytes.as_slice()?.to_vec(), ends).ok_or_else(|| {
        PyValueError::new_err("found ends of strings that do not ascend to the number of bytes")
    })
}

fn values(object: &Bound<'_, PyAny>) -> PyResult<Values> {
    fn all<T: NumPyElement + Copy>(array: &Bound<'_, PyArray1<T>>) -> PyResult<Vec<T>> {
        Ok(array.readonly().as_slice()?.to_vec())
    }
    if let Ok(array) = object.cast::<PyArray1<f32>>() {
        return Ok(Values::F32(all(array)?));
    }
    if let Ok(array) = object.cast::<PyArray1<u8>>() {
        return Ok(Values::Bytes(all(array)?));
    }
    // The bits of values of other types.
    if let Ok(array) = object.cast::<PyArray1<u16>>() {
        return Ok(Values::Bits16(all(array)?));
    }
    if let Ok(array) = object.cast::<PyArray1<u32>>() {
        return Ok(Values::Bits32(all(array)?));
    }
    if let Ok(array) = object.cast::<PyArray1<u64>>() {
        return Ok(Values::Bits64(all(array)?));
    }
    Ok(Values::F64(all(object.cast::<PyArray1<f64>>()?)?))
}

/// Keys: all numbers, or all texts.
fn keys(told: &Bound<'_, PyAny>) -> PyResult<Keys> {
    let mut numbers = Vec::new();
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for key in told.try_iter()? {
        let key = key?;
        if let Ok(text) = key.cast::<PyString>() {
            bytes.extend_from_slice(text.to_cow()?.as_bytes());
            ends.push(
                u32::try_from(bytes.len()).map_err(|_| PyValueError::new_err("4 GiB of keys in a chunk"))?,
            );
        } else {
            let number = key.extract().map_err(|_| {
                PyValueError::new_err(format!(
                    "found the key {key}, expected a text or a whole number from 0 below 2^64"
                ))
            })?;
            numbers.push(number);
        }
    }
    match (numbers.is_empty(), ends.is_empty()) {
        (_, true) => Ok(Keys::Numbers(numbers)),
        (true, false) => Ok(Keys::Texts { bytes, ends }),
        (false, false) => Err(PyTypeError::new_err("found numbers and texts, expected keys of one kind")),
    }
}
