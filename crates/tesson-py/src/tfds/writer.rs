//! Preparing datasets.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyList};
use serde_json::Value;
use tesson::{ConfigError, Error};
use tesson_prepared::{NewDataset, NewSplit, Unwritable};
use tesson_tfds::features::{Coding, DType, Given, GivenArray, GivenItem, Items, Plan};
use tesson_tfds::info::{FileFormat, Nest, Version};

use crate::calls::released;
use crate::errors::{misuse, raise};
use crate::state::from_python;

/// Writes the examples of a dataset.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct DatasetWriter {
    /// Until it is finished.
    inner: Mutex<Option<tesson_prepared::DatasetWriter>>,
    features: Vec<(String, usize, bool)>,
}

/// An array of numbers from Python: type, shape, little-endian values.
struct Array {
    dtype: DType,
    shape: Vec<usize>,
    bytes: PyBackedBytes,
}

/// The items of a feature, taken over from Python.
enum Values {
    Array(Array),
    Strings(Vec<usize>, Vec<PyBackedBytes>),
    Each(Vec<Item>),
}

enum Item {
    Stored(PyBackedBytes),
    Array(Array),
}

impl Array {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Array> {
        let (dtype, shape, bytes) = value.extract::<(String, Vec<usize>, PyBackedBytes)>()?;
        let dtype = DType::from_name(&dtype).ok_or_else(|| {
            PyTypeError::new_err(format!("found {dtype} values, expected numbers, str or bytes"))
        })?;
        Ok(Array { dtype, shape, bytes })
    }

    fn given(&self) -> GivenArray<'_> {
        GivenArray { dtype: self.dtype, shape: self.shape.clone(), bytes: &self.bytes }
    }
}

impl Values {
    /// Arrays are three things, strings two, items a list.
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Values> {
        if let Ok(items) = value.cast::<PyList>() {
            return items.iter().map(|item| Item::of(&item)).collect::<PyResult<_>>().map(Values::Each);
        }
        if value.len()? == 2 {
            let (shape, strings) = value.extract()?;
            return Ok(Values::Strings(shape, strings));
        }
        Array::of(value).map(Values::Array)
    }

    fn items(&self) -> Items<'_> {
        match self {
            Values::Array(array) => Items::Array(array.given()),
            Values::Strings(shape, strings) => {
                Items::Strings { shape: shape.clone(), values: strings.iter().map(|s| &**s).collect() }
            }
            Values::Each(items) => Items::Each(items.iter().map(Item::given).collect()),
        }
    }
}

impl Item {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Item> {
        if value.is_instance_of::<PyBytes>() {
            Ok(Item::Stored(value.extract()?))
        } else {
            Array::of(value).map(Item::Array)
        }
    }

    fn given(&self) -> GivenItem<'_> {
        match self {
            Item::Stored(bytes) => GivenItem::Stored(bytes),
            Item::Array(array) => GivenItem::Array(array.given()),
        }
    }
}

#[pymethods]
impl DatasetWriter {
    /// Begins a dataset, or resumes one that was begun.
    #[new]
    fn new(
        py: Python<'_>,
        data_dir: PathBuf,
        dataset: &Bound<'_, PyAny>,
        splits: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<DatasetWriter> {
        let json = from_python(dataset)?;
        let splits = splits.into_iter().map(|(name, shards)| new_split(name, &shards));
        let splits: Vec<NewSplit> = splits.collect::<PyResult<_>>()?;
        let open = || {
            let writer = tesson_prepared::DatasetWriter::open(&data_dir, new_dataset(&json, splits)?)?;
            let is_plain = |plan: &Plan| plan.leaf.coding == Coding::Plain;
            let columns = writer.schema().columns.iter();
            let features =
                columns.map(|plan| (plan.path.clone(), plan.levels.len(), is_plain(plan))).collect();
            Ok::<_, Error>(DatasetWriter { inner: Mutex::new(Some(writer)), features })
        };
        released(py, open)?.map_err(|e| raise(py, e))
    }

    /// The features of an example: each path, how many sequences are around it, and whether its values are stored in a list
    /// (others are stored as one byte string for each item).
    fn features(&self) -> Vec<(String, usize, bool)> {
        self.features.clone()
    }

    /// Examples of a split so far.
    fn written(&self, py: Python<'_>, split: &str) -> PyResult<u64> {
        self.with(py, |writer| writer.written(split))
    }

    /// Writes an example: for each feature its path, the row lengths of inner sequences, and its items.
    fn write(
        &self,
        py: Python<'_>,
        split: &str,
        example: Vec<(String, Vec<Vec<i64>>, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let values = |(_, _, value): &(String, Vec<Vec<i64>>, Bound<'_, PyAny>)| Values::of(value);
        let values: Vec<Values> = example.iter().map(values).collect::<PyResult<_>>()?;
        let taken: Vec<(&str, &[Vec<i64>], &Values)> =
            example.iter().zip(&values).map(|((path, lengths, _), of)| (&**path, &**lengths, of)).collect();
        let done = py.detach(|| {
            let given: Vec<Given<'_>> = taken
                .iter()
                .map(|(path, lengths, of)| Given { path, row_lengths: lengths.to_vec(), items: of.items() })
                .collect();
            let mut writer = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(|writer| writer.write(split, &given))
        });
        done.ok_or_else(|| over(py))?.map_err(|e| match e {
            Unwritable::Value { what, is_type: true } => PyTypeError::new_err(what),
            e => raise(py, Error::from(e)),
        })
    }

    /// Flushes a split after so many examples of it.
    fn flush_every(&self, py: Python<'_>, examples: Option<NonZeroU64>) -> PyResult<()> {
        self.with(py, move |writer| {
            writer.flush_every(examples);
            Ok(())
        })
    }

    /// Hands all examples so far to the operating system.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, tesson_prepared::DatasetWriter::flush)
    }

    /// Hands all examples so far to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, tesson_prepared::DatasetWriter::sync)
    }

    /// Makes the dataset of what was written; returns its folder.
    fn finish(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let finished = released(py, || {
            let writer = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
            writer.map(tesson_prepared::DatasetWriter::finish)
        })?;
        finished.ok_or_else(|| over(py))?.map_err(|e| raise(py, e))
    }
}

impl DatasetWriter {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut tesson_prepared::DatasetWriter) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let done = released(py, || {
            let mut writer = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(act)
        })?;
        done.ok_or_else(|| over(py))?.map_err(|e| raise(py, e))
    }
}

fn over(py: Python<'_>) -> PyErr {
    misuse(py, "the dataset is finished, nothing can be added to it")
}

/// A split and the number of its shards, or `None`. Python's truth values are numbers too, but not of shards.
fn new_split(name: String, shards: &Bound<'_, PyAny>) -> PyResult<NewSplit> {
    if shards.is_none() {
        return Ok(NewSplit::new(name, None));
    }
    match shards.extract::<usize>() {
        Ok(n) if !shards.is_instance_of::<PyBool>() => Ok(NewSplit::new(name, Some(n))),
        _ => {
            let found = shards.repr()?;
            Err(raise(shards.py(), NewSplit::wrong_shards(&name, found)))
        }
    }
}

/// The dataset to be written, from its JSON form: the fields of [`NewDataset`] but for the splits.
fn new_dataset(json: &Value, splits: Vec<NewSplit>) -> Result<NewDataset, ConfigError> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    let version = text("version").unwrap_or_default();
    let version = Version::from_str(&version).map_err(|()| {
        let expected = "three numbers such as \"1.0.0\"";
        ConfigError::wrong_form("version", format!("\"{version}\""), expected)
    })?;
    let names = |list: &Value| {
        list.as_array().into_iter().flatten().filter_map(|n| n.as_str().map(str::to_owned)).collect()
    };
    let labels = json["labels"].as_array().into_iter().flatten();
    let supervised = &json["supervised_keys"];
    let mut new = NewDataset::new(text("name").unwrap_or_default(), version, json["features"].clone());
    new.config = text("config");
    new.file_format = FileFormat::parse(json["file_format"].as_str().unwrap_or("tfrecord"))
        .map_err(|refusal| ConfigError::refused("file_format", &refusal))?;
    new.disable_shuffling = json["disable_shuffling"].as_bool().unwrap_or(false);
    new.supervised_keys = if supervised.is_null() { None } else { Some(nest(supervised)) };
    new.description = text("description").unwrap_or_default();
    new.labels = labels.map(|pair| (names(&pair[0]), names(&pair[1]))).collect();
    new.splits = splits;
    Ok(new)
}

/// Features put together, from a name, a list, or a dictionary.
fn nest(json: &Value) -> Nest {
    match json {
        Value::Array(items) => Nest::Tuple(items.iter().map(nest).collect()),
        Value::Object(fields) => {
            Nest::Dict(fields.iter().map(|(name, of)| (name.clone(), nest(of))).collect())
        }
        name => Nest::Key(name.as_str().unwrap_or_default().to_owned()),
    }
}
