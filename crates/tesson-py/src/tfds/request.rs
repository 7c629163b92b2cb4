//! A request of `tesson.tfds`, opened: the data to be read, and the form in which they are delivered.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tesson::store::Stores;
use tesson::tfds::image_transforms;
use tesson::{ConfigError, Error};
use tesson_engine::{EncodedTransforms, ProcessGuard};
use tesson_image::decode::Scale;
use tesson_prepared::{OnDamage, Reader, ReaderLimits};
use tesson_tfds::features::{Schema, Selection};

use super::dataset::PreparedDataset;
use crate::calls::released;
use crate::config;
use crate::errors::{misuse, raise};
use crate::log;
use crate::turn::forks;

/// `tesson.tfds.dataset.Request`, attribute by attribute.
#[derive(FromPyObject)]
pub(super) struct Request<'py> {
    reading: Bound<'py, PyAny>,
    features: Option<Vec<String>>,
    raw: Vec<String>,
    scales: Vec<(String, u64)>,
    transforms: Option<Bound<'py, PyAny>>,
    transform_seed: u64,
    on_damage: String,
    pub(super) with_ids: bool,
    supervised: Bound<'py, PyAny>,
    threads: usize,
    memory_limit: Option<Bound<'py, PyAny>>,
    pub(super) marks_absent: bool,
}

impl Request<'_> {
    /// A reader at the beginning.
    pub(super) fn open(&self, py: Python<'_>, prepared: &PreparedDataset) -> PyResult<Reader> {
        let on_damage = match self.on_damage.as_str() {
            "fail" => OnDamage::Fail,
            "skip" => OnDamage::Skip,
            "stop_shard" => OnDamage::StopShard,
            other => {
                let what = format!("unknown `on_damage` \"{other}\", expected fail, skip or stop_shard");
                return Err(misuse(py, what));
            }
        };
        let plan = prepared.plan(&self.reading)?;
        let transforms = self.transforms(py, prepared)?;
        let transformed = transforms.iter().map(|of| of.name().to_owned());
        let raw = self.raw.iter().cloned().chain(transformed).collect();
        let selection = Selection { features: self.features.clone(), raw };
        let mut schema = Schema::new(&prepared.features, &selection).map_err(|e| raise(py, e))?;
        for (path, denominator) in &self.scales {
            let scale = Scale::one_to(*denominator).ok_or_else(|| {
                misuse(py, format!("found a scale of 1 to {denominator} for `{path}`, expected 2, 4 or 8"))
            })?;
            schema = schema.scaled(path, scale).map_err(|e| raise(py, e))?;
        }
        let dataset = Arc::clone(&prepared.dataset);
        let means = self.means(py)?;
        let open = || {
            let reader = Reader::with(&Stores::local(), dataset, plan, Arc::new(schema), on_damage, means)?;
            Ok::<_, Error>(reader.with_transforms(transforms)?)
        };
        let opened = released(py, open)?;
        log::flush(py);
        opened.map_err(|e| raise(py, e))
    }

    /// The transforms of images.
    fn transforms(&self, py: Python<'_>, prepared: &PreparedDataset) -> PyResult<Vec<EncodedTransforms>> {
        let Some(given) = &self.transforms else { return Ok(Vec::new()) };
        let given = config::section(given)?;
        if config::has_user_code(&given) {
            let what = "`transforms` of prepared datasets are those of `tesson.transforms`, found a function: use `map`";
            return Err(misuse(py, what));
        }
        image_transforms(&Stores::local(), &prepared.features, &given, self.transform_seed)
            .map_err(|e| raise(py, e))
    }

    /// The limits of the reader.
    fn means(&self, py: Python<'_>) -> PyResult<ReaderLimits> {
        let means = ReaderLimits { threads: self.threads, ..ReaderLimits::default() };
        let Some(limit) = &self.memory_limit else { return Ok(means) };
        let bytes = tesson_config::bytes::parse(&limit.str()?.to_string_lossy());
        match bytes.filter(|bytes| *bytes > 0) {
            Some(memory_limit) => Ok(ReaderLimits { memory_limit, ..means }),
            None => {
                let expected = "a size in bytes such as `2GiB` or `512MB`";
                Err(raise(py, ConfigError::wrong_form("memory_limit", limit.to_string(), expected)))
            }
        }
    }

    /// How an example is delivered.
    pub(super) fn shape(&self) -> PyResult<Shaped> {
        Shaped::new(&self.supervised)
    }
}

/// The form of an example as the user gets it: all of it, or the features that `as_supervised` names.
pub(super) enum Shaped {
    Whole,
    Feature(Py<PyString>),
    Tuple(Vec<Shaped>),
    Dict(Vec<(Py<PyString>, Shaped)>),
}

impl Shaped {
    fn new(keys: &Bound<'_, PyAny>) -> PyResult<Shaped> {
        if keys.is_none() {
            return Ok(Shaped::Whole);
        }
        if let Ok(name) = keys.cast::<PyString>() {
            return Ok(Shaped::Feature(name.clone().unbind()));
        }
        if let Ok(fields) = keys.cast::<PyDict>() {
            let field = |(name, of): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((name.cast_into::<PyString>()?.unbind(), Shaped::new(&of)?))
            };
            return Ok(Shaped::Dict(fields.iter().map(field).collect::<PyResult<_>>()?));
        }
        Ok(Shaped::Tuple(keys.try_iter()?.map(|of| Shaped::new(&of?)).collect::<PyResult<_>>()?))
    }

    pub(super) fn of<'py>(&self, py: Python<'py>, example: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Shaped::Whole => Ok(example),
            Shaped::Feature(name) => example.get_item(name.bind(py)),
            Shaped::Tuple(parts) => {
                let parts = parts.iter().map(|of| of.of(py, example.clone()));
                Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
            Shaped::Dict(fields) => {
                let dict = PyDict::new(py);
                for (name, of) in fields {
                    dict.set_item(name.bind(py), of.of(py, example.clone())?)?;
                }
                Ok(dict.into_any())
            }
        }
    }
}

/// Where a reader was opened: what it has under way does not survive a fork.
pub(super) struct Origin {
    process: ProcessGuard,
    forks: u64,
}

impl Origin {
    pub(super) fn here() -> Origin {
        Origin { process: ProcessGuard::here(), forks: forks() }
    }

    /// True if Python has seen a fork since.
    pub(super) fn was_forked(&self) -> bool {
        self.forks != forks()
    }

    /// True if this is another process.
    pub(super) fn is_foreign(&self) -> bool {
        self.process.is_forked()
    }

    /// Refuses to read in another process.
    pub(super) fn check(&self, py: Python<'_>) -> PyResult<()> {
        if !self.was_forked() && !self.is_foreign() {
            return Ok(());
        }
        let what =
            "the iterator was made before a fork: make a new one in this process, its state can be had";
        Err(misuse(py, what))
    }
}
