//! Facts about a dataset that need no reading of its shards: its description, and any order of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use tesson::store::Stores;
use tesson::{ConfigError, Error, UsageError};
use tesson_tfds::features::Feature;
use tesson_tfds::ids::Ids;
use tesson_tfds::info::{About, Dataset, FileFormat, Nest};
use tesson_tfds::read_config::ReadConfig;
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::Selection;

use super::until_signal;
use crate::calls::released;
use crate::errors::{self, raise};
use crate::log;
use crate::state::{from_python, to_python};

/// The version directory of a dataset's name.
#[pyfunction]
pub(crate) fn find_dataset(py: Python<'_>, name: &str, data_dirs: Option<Vec<PathBuf>>) -> PyResult<PathBuf> {
    let dirs = data_dirs.unwrap_or_else(|| vec![tesson_prepared::default_data_dir()]);
    released(py, || tesson_prepared::find(&Stores::local(), name, &dirs))?.map_err(|e| raise(py, e))
}

/// Names of the datasets in data directories.
#[pyfunction]
pub(crate) fn list_datasets(py: Python<'_>, data_dirs: Option<Vec<PathBuf>>) -> PyResult<Vec<String>> {
    let dirs = data_dirs.unwrap_or_else(|| vec![tesson_prepared::default_data_dir()]);
    py.detach(|| tesson_prepared::list(&Stores::local(), &dirs)).map_err(|e| raise(py, e))
}

/// Checks that a split is valid for some dataset.
#[pyfunction]
pub(crate) fn check_split(split: &Bound<'_, PyAny>) -> PyResult<()> {
    Selection::from_json(&from_python(split)?).map(drop).map_err(|e| raise(split.py(), e))
}

/// Parses the text of a split into dictionaries and lists.
#[pyfunction]
pub(crate) fn parse_split<'py>(py: Python<'py>, split: &str) -> PyResult<Bound<'py, PyAny>> {
    let selection = Selection::parse(split).map_err(|e| raise(py, e))?;
    to_python(py, &selection.to_json())
}

/// The numbers that shuffles without a seed of their own draw under a global one.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct GlobalSeeds(Mutex<tesson_plan::GlobalSeeds>);

#[pymethods]
impl GlobalSeeds {
    #[new]
    fn new(seed: i128) -> GlobalSeeds {
        GlobalSeeds(Mutex::new(tesson_plan::GlobalSeeds::new(seed)))
    }

    /// The next one.
    fn draw(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).draw()
    }
}

/// A prepared dataset.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct PreparedDataset {
    pub(super) dataset: Arc<Dataset>,
    pub(super) features: Feature,
}

#[pymethods]
impl PreparedDataset {
    /// Opens the dataset of one or several version directories.
    #[new]
    fn new(
        py: Python<'_>,
        directories: Vec<PathBuf>,
        file_format: Option<&str>,
    ) -> PyResult<PreparedDataset> {
        let open = || {
            let format = file_format.map(FileFormat::parse).transpose();
            let format = format.map_err(|refusal| ConfigError::refused("file_format", &refusal))?;
            let dataset = tesson_prepared::open_all(&Stores::local(), &directories, format)?;
            let features = tesson_prepared::features_of(&Stores::local(), &dataset)?;
            Ok::<_, Error>(PreparedDataset { dataset: Arc::new(dataset), features })
        };
        log::install(py)?;
        let opened = released(py, open)?;
        log::flush(py);
        opened.map_err(|e| raise(py, e))
    }

    /// The dataset's description, as dictionaries and lists.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let described = || {
            let labels = tesson_prepared::labels_of(&Stores::local(), &self.dataset, &self.features)?;
            let mut described = described(&self.dataset, labels);
            described["features"] = tesson_prepared::feature_classes(&Stores::local(), &self.dataset)?;
            described["arrays"] = self.features.describe();
            Ok::<_, Error>(described)
        };
        to_python(py, &described().map_err(|e| raise(py, e))?)
    }

    /// The instructions of a split, one for each file: name, skip, take, examples in the shard.
    fn file_instructions(&self, split: &Bound<'_, PyAny>) -> PyResult<Vec<(String, u64, u64, u64)>> {
        let py = split.py();
        let planned = || {
            let selection = Selection::from_json(&from_python(split)?).map_err(|e| raise(py, e))?;
            let parts = selection.resolve(&self.dataset).map_err(|e| raise(py, e))?;
            tesson_tfds::split::file_instructions(&parts, &self.dataset).map_err(|e| raise(py, e))
        };
        let of = |f: tesson_tfds::split::FileInstruction| {
            let shard = f.shard(&self.dataset);
            let file = PathBuf::from(&self.dataset.directories[shard.directory]).join(&shard.file);
            (file.to_string_lossy().into_owned(), f.skip, f.take, f.examples_in_shard)
        };
        Ok(planned()?.into_iter().map(of).collect())
    }

    /// The order of a reading, without any shard.
    fn stream(&self, reading: &Bound<'_, PyAny>) -> PyResult<Stream> {
        let plan = self.plan(reading)?;
        let stream = plan.stream().map_err(|e| raise(reading.py(), e))?;
        let ids = Ids::new(&self.dataset, &plan.files);
        let is_checked = plan.spec().expected.is_some();
        Ok(Stream { dataset: Arc::clone(&self.dataset), ids, stream, is_checked })
    }
}

impl PreparedDataset {
    /// The plan of a reading in its JSON form: split, shuffle_files, read_config, ops, global_seed.
    pub(super) fn plan(&self, reading: &Bound<'_, PyAny>) -> PyResult<Plan> {
        let json = from_python(reading)?;
        let plan = || {
            let null = &Value::Null;
            let field = |name: &str| json.get(name).unwrap_or(null);
            let ops = field("ops").as_array().map(Vec::as_slice).unwrap_or_default();
            let reading = Reading {
                selection: Selection::from_json(field("split"))?,
                shuffle_files: field("shuffle_files").as_bool().unwrap_or(false),
                config: ReadConfig::from_json(field("read_config"))?,
                ops: ops.iter().map(|op| Op::from_json(op, "ops")).collect::<Result<_, _>>()?,
                global_seed: field("global_seed")
                    .as_i64()
                    .map(i128::from)
                    .or_else(|| field("global_seed").as_u64().map(i128::from)),
            };
            Plan::new(&self.dataset, &reading, &mut tesson_prepared::random_seed)
        };
        plan().map_err(|e| raise(reading.py(), e))
    }
}

fn described(dataset: &Dataset, labels: Vec<(String, Vec<String>)>) -> Value {
    let info = &dataset.info;
    let splits = dataset.splits.iter().map(|split| {
        let path = |shard: &tesson_tfds::info::Shard| {
            PathBuf::from(&dataset.directories[shard.directory])
                .join(&shard.file)
                .to_string_lossy()
                .into_owned()
        };
        let lengths: Vec<u64> = split.shards.iter().map(|shard| shard.len).collect();
        let paths: Vec<String> = split.shards.iter().map(path).collect();
        let n_bytes = split.n_bytes;
        json!({"name": split.name, "shard_lengths": lengths, "filepaths": paths, "num_bytes": n_bytes})
    });
    let labels = labels.into_iter().map(|(path, names)| (path, json!(names))).collect::<Map<_, _>>();
    json!({
        "name": info.name,
        "version": info.version.to_string(),
        "config": info.config,
        "file_format": dataset.file_format.suffix(),
        "disable_shuffling": info.disable_shuffling,
        "supervised_keys": info.supervised_keys.as_ref().map(nest),
        "directories": dataset.directories,
        "splits": splits.collect::<Vec<_>>(),
        "labels": labels,
        "about": about(&info.about),
    })
}

/// The texts of a dataset's description that are for people.
fn about(of: &About) -> Value {
    let notes = of.release_notes.iter().map(|(version, note)| (version.clone(), json!(note)));
    json!({
        "description": of.description,
        "citation": of.citation,
        "homepage": of.homepage,
        "license": of.license,
        "config_description": of.config_description,
        "module_name": of.module_name,
        "release_notes": notes.collect::<Map<_, _>>(),
        "download_size": of.download_bytes,
    })
}

/// Features put together: a name, or a pair of a word and what it is of.
fn nest(of: &Nest) -> Value {
    match of {
        Nest::Key(key) => json!(key),
        Nest::Tuple(items) => items.iter().map(nest).collect(),
        Nest::Dict(fields) => {
            Value::Object(fields.iter().map(|(name, of)| (name.clone(), nest(of))).collect())
        }
    }
}

/// Numbers of an order that are made between two looks for signals.
const AT_ONCE: usize = 1 << 20;

/// An order, from its plan alone.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct Stream {
    dataset: Arc<Dataset>,
    ids: Ids,
    stream: tesson_plan::Stream,
    is_checked: bool,
}

impl Stream {
    /// The records of a traversal, as numbers in the whole dataset.
    fn records(&self, py: Python<'_>, traversal: u64) -> PyResult<Vec<u64>> {
        let mut stream = self.stream.clone();
        until_signal(py, |interrupted| {
            let mut is_complete = stream.begin_traversal_with(traversal, interrupted)?;
            if stream.len().is_none() {
                return Err(UsageError::new("the stream has no end: take some of it".into()));
            }
            let mut records = Vec::new();
            while is_complete && !stream.has_ended() {
                stream.fill(AT_ONCE, &mut records).map_err(|e| UsageError::new(e.to_string()))?;
                is_complete = !interrupted();
            }
            Ok(records)
        })
    }
}

#[pymethods]
impl Stream {
    /// Examples of a traversal as the dataset says; None if it has no end.
    fn length(&self) -> Option<u64> {
        self.stream.len()
    }

    /// True if traversals differ in their order.
    fn reshuffles(&self) -> bool {
        self.stream.reshuffles()
    }

    /// True if reading fails where the files hold another number of examples than the dataset declares.
    #[getter]
    fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// For each example of a traversal its number in its split.
    fn ids<'py>(&self, py: Python<'py>, traversal: u64) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let records = self.records(py, traversal)?;
        let first = |r: u64| self.dataset.split_of(r).map_or(0, |split| split.first());
        let ids: Vec<i64> = records.into_iter().map(|r| (r - first(r)) as i64).collect();
        Ok(ids.to_pyarray(py))
    }

    /// The id of each example of a traversal.
    fn tfds_ids(&self, py: Python<'_>, traversal: u64) -> PyResult<Vec<String>> {
        let records = self.records(py, traversal)?;
        let id =
            |r: u64| self.ids.id(r).ok_or_else(|| errors::misuse(py, format!("record {r} is of no file")));
        records.into_iter().map(id).collect()
    }
}
