//! Preparing datasets.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use tesson::tfds::example::Kind;
use tesson::tfds::features::{self, Schema};
use tesson::tfds::info::Nest;
use tesson::tfds::{self, ExampleValue, FileFormat, NewDataset, NewSplit, Version};
use tesson::{ConfigError, Error};

use crate::errors::{misuse, raise};
use crate::state::from_python;

/// Writes the examples of a dataset.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct DatasetWriter {
    /// Until it is finished.
    inner: Mutex<Option<tfds::DatasetWriter>>,
    keys: Vec<(String, &'static str)>,
}

/// The values of a key, taken over from Python.
enum Values<'py> {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Bytes(Vec<Bound<'py, PyBytes>>),
}

impl<'py> Values<'py> {
    fn of(value: &Bound<'py, PyAny>) -> PyResult<Values<'py>> {
        if let Ok(ints) = value.cast::<PyArray1<i64>>() {
            return Ok(Values::Ints(ints.to_vec()?));
        }
        if let Ok(floats) = value.cast::<PyArray1<f32>>() {
            return Ok(Values::Floats(floats.to_vec()?));
        }
        Ok(Values::Bytes(value.extract()?))
    }
}

#[pymethods]
impl DatasetWriter {
    /// Begins a dataset, or goes on with one that was begun.
    #[new]
    fn new(py: Python<'_>, data_dir: PathBuf, dataset: &Bound<'_, PyAny>) -> PyResult<DatasetWriter> {
        let json = from_python(dataset)?;
        let open = || {
            let new = new_dataset(&json)?;
            let features = features::json::from_value(&new.features)?.root;
            let schema = Schema::new(&features, &features::Selection::default())?;
            let keys = schema.wanted().iter().map(|wanted| (wanted.key.clone(), kind(wanted.kind))).collect();
            let inner = Mutex::new(Some(tfds::DatasetWriter::open(&data_dir, new)?));
            Ok::<_, Error>(DatasetWriter { inner, keys })
        };
        py.detach(open).map_err(|e| raise(py, e))
    }

    /// What is stored of an example: each key, and what its values are.
    fn keys(&self) -> Vec<(String, &'static str)> {
        self.keys.clone()
    }

    /// Examples of a split so far.
    fn written(&self, py: Python<'_>, split: &str) -> PyResult<u64> {
        self.with(py, |writer| writer.written(split))
    }

    /// Writes an example: for each key an array of 64-bit integers or 32-bit floats, or a list of byte strings.
    fn write(&self, py: Python<'_>, split: &str, values: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<()> {
        let taken: Vec<Values<'_>> = values.iter().map(|(_, of)| Values::of(of)).collect::<PyResult<_>>()?;
        let strings: Vec<Vec<&[u8]>> = taken
            .iter()
            .map(|of| match of {
                Values::Bytes(list) => list.iter().map(|bytes| bytes.as_bytes()).collect(),
                _ => Vec::new(),
            })
            .collect();
        let of = taken.iter().zip(&strings).map(|(of, strings)| match of {
            Values::Ints(ints) => ExampleValue::Ints(ints),
            Values::Floats(floats) => ExampleValue::Floats(floats),
            Values::Bytes(_) => ExampleValue::Bytes(strings),
        });
        let example: Vec<_> = values.iter().map(|(key, _)| key.as_str()).zip(of).collect();
        self.with(py, |writer| writer.example(split, &example))
    }

    /// Hands all examples so far to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, tfds::DatasetWriter::sync)
    }

    /// Makes the dataset of what was written; returns its folder.
    fn finish(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let finished = py.detach(|| {
            let writer = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
            writer.map(tfds::DatasetWriter::finish)
        });
        finished.ok_or_else(|| over(py))?.map_err(|e| raise(py, e))
    }
}

impl DatasetWriter {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut tfds::DatasetWriter) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| {
            let mut writer = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(act)
        });
        done.ok_or_else(|| over(py))?.map_err(|e| raise(py, e))
    }
}

fn over(py: Python<'_>) -> PyErr {
    misuse(py, "the dataset is finished, nothing can be added to it")
}

fn kind(of: Kind) -> &'static str {
    match of {
        Kind::Bytes => "bytes",
        Kind::Floats => "floats",
        Kind::Ints => "ints",
    }
}

/// What is to be written, from its JSON form: the fields of [`NewDataset`].
fn new_dataset(json: &Value) -> Result<NewDataset, ConfigError> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    let wrong = |name: &str| {
        let name = name.to_owned();
        move |what: String| ConfigError::new(name, what)
    };
    let version = text("version").unwrap_or_default();
    let version = Version::from_str(&version).map_err(|()| {
        wrong("version")(format!("found \"{version}\", expected three numbers such as \"1.0.0\""))
    })?;
    let split = |(name, shards): (&String, &Value)| {
        let shards = shards.as_u64().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        NewSplit { name: name.clone(), shards }
    };
    let names = |list: &Value| {
        list.as_array().into_iter().flatten().filter_map(|n| n.as_str().map(str::to_owned)).collect()
    };
    let labels = json["labels"].as_array().into_iter().flatten();
    let supervised = &json["supervised_keys"];
    Ok(NewDataset {
        name: text("name").unwrap_or_default(),
        config: text("config"),
        version,
        file_format: FileFormat::parse(json["file_format"].as_str().unwrap_or("tfrecord"))
            .map_err(wrong("file_format"))?,
        disable_shuffling: json["disable_shuffling"].as_bool().unwrap_or(false),
        supervised_keys: if supervised.is_null() { None } else { Some(nest(supervised)) },
        description: text("description").unwrap_or_default(),
        features: json["features"].clone(),
        labels: labels.map(|pair| (names(&pair[0]), names(&pair[1]))).collect(),
        splits: json["splits"].as_object().into_iter().flatten().map(split).collect(),
    })
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
