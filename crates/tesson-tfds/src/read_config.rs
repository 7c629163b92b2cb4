//! How a split is read: `ReadConfig` (§9).

use std::num::NonZeroU64;

use serde_json::Value;
use tesson_core::{ConfigError, nearest};

use crate::info::FileFormat;
use crate::json::{integer, wide_integer};

/// One of several pipelines that share the files (§8.8).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InputContext {
    /// How many there are.
    pub n_pipelines: NonZeroU64,
    /// Which of them this is, from 0.
    pub pipeline: u64,
}

/// What a sort function makes of the files of a plan (§8.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The last one first.
    Reverse,
    /// Files by their places in the plan, with what is read of each.
    List(Vec<Sorted>),
}

/// A file as a sort function gives it back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sorted {
    /// Its place in the plan.
    pub place: usize,
    /// Records left out at its beginning.
    pub skip: u64,
    /// Records read then.
    pub take: u64,
}

/// How a split is read. What changes neither examples nor their order (threads, caches, buffers) is accepted and has no
/// field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadConfig {
    /// Files are read again and again (§8.6).
    pub repeat_filenames: bool,
    /// Examples get their `tfds_id`.
    pub add_tfds_id: bool,
    /// The seed of the file shuffle.
    pub shuffle_seed: Option<i128>,
    /// Each pass shuffles the files anew.
    pub shuffle_reshuffle_each_iteration: bool,
    /// Files read in turns; left out: 16, or 1 for datasets whose order means something.
    pub interleave_cycle_length: Option<NonZeroU64>,
    /// Examples of a turn.
    pub interleave_block_length: NonZeroU64,
    /// This pipeline among several.
    pub input_context: Option<InputContext>,
    /// What is done to the plan first.
    pub sort: Option<Sort>,
    /// Datasets whose order means something are read in it or not at all.
    pub enable_ordering_guard: bool,
    /// The files must hold as many examples as the dataset says (§8.11).
    pub assert_cardinality: bool,
    /// Which of the formats that there are is read.
    pub file_format: Option<FileFormat>,
    /// Missing files are told where they are reached, as in TFDS, and not all at the beginning (§13).
    pub lazy: bool,
}

const SIXTEEN: NonZeroU64 = NonZeroU64::new(16).expect("it is not 0");

impl Default for ReadConfig {
    fn default() -> ReadConfig {
        ReadConfig {
            repeat_filenames: false,
            add_tfds_id: false,
            shuffle_seed: None,
            shuffle_reshuffle_each_iteration: true,
            interleave_cycle_length: None,
            interleave_block_length: SIXTEEN,
            input_context: None,
            sort: None,
            enable_ordering_guard: true,
            assert_cardinality: true,
            file_format: None,
            lazy: false,
        }
    }
}

/// Fields of TFDS' own that change neither examples nor their order here.
const WITHOUT_EFFECT: &[&str] = &[
    "options",
    "try_autocache",
    "skip_prefetch",
    "num_parallel_calls_for_decode",
    "num_parallel_calls_for_interleave_files",
    "override_buffer_size",
];

const FIELDS: &[&str] = &[
    "repeat_filenames",
    "add_tfds_id",
    "shuffle_seed",
    "shuffle_reshuffle_each_iteration",
    "interleave_cycle_length",
    "interleave_block_length",
    "input_context",
    "interleave_sort",
    "enable_ordering_guard",
    "assert_cardinality",
    "file_format",
    "lazy",
];

impl ReadConfig {
    /// From an object of fields under their own names.
    ///
    /// # Errors
    /// An unknown field, or a value that means nothing.
    pub fn from_json(value: &Value) -> Result<ReadConfig, ConfigError> {
        let Some(fields) = value.as_object() else {
            return Err(ConfigError::new("read_config", format!("found {value}, expected an object")));
        };
        let mut config = ReadConfig::default();
        for (name, value) in fields {
            config.set(name, value)?;
        }
        Ok(config)
    }

    /// Sets a field by its name.
    ///
    /// # Errors
    /// As [`ReadConfig::from_json`].
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ConfigError> {
        let path = format!("read_config.{name}");
        match name {
            "repeat_filenames" => self.repeat_filenames = truth(&path, value)?.unwrap_or(false),
            "add_tfds_id" => self.add_tfds_id = truth(&path, value)?.unwrap_or(false),
            "enable_ordering_guard" => self.enable_ordering_guard = truth(&path, value)?.unwrap_or(false),
            "assert_cardinality" => self.assert_cardinality = truth(&path, value)?.unwrap_or(false),
            "shuffle_seed" => self.shuffle_seed = whole(&path, value)?,
            "shuffle_reshuffle_each_iteration" => {
                self.shuffle_reshuffle_each_iteration = truth(&path, value)?.unwrap_or(true);
            }
            "interleave_cycle_length" => self.interleave_cycle_length = Some(cycle(&path, value)?),
            "interleave_block_length" => {
                let one = NonZeroU64::MIN;
                self.interleave_block_length =
                    if value.is_null() { one } else { at_least_one(&path, value)? };
            }
            "input_context" => self.input_context = context(&path, value)?,
            "interleave_sort" => self.sort = sort(&path, value)?,
            "file_format" => self.file_format = format(&path, value)?,
            "lazy" => self.lazy = truth(&path, value)?.unwrap_or(false),
            other if WITHOUT_EFFECT.contains(&other) => {}
            other => return Err(unknown(&path, other)),
        }
        Ok(())
    }
}

fn unknown(path: &str, name: &str) -> ConfigError {
    let known = || FIELDS.iter().chain(WITHOUT_EFFECT).copied();
    let what = match nearest(name, known()) {
        Some(near) => format!("unknown field, did you mean `{near}`?"),
        None => format!("unknown field, expected one of {}", known().collect::<Vec<_>>().join(", ")),
    };
    ConfigError::new(path, what)
}

fn wrong(path: &str, found: &Value, expected: &str) -> ConfigError {
    ConfigError::new(path, format!("found {found}, expected {expected}"))
}

fn truth(path: &str, value: &Value) -> Result<Option<bool>, ConfigError> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(truth) => Ok(Some(*truth)),
        other => Err(wrong(path, other, "true or false")),
    }
}

fn whole(path: &str, value: &Value) -> Result<Option<i128>, ConfigError> {
    if value.is_null() {
        return Ok(None);
    }
    wide_integer(value).map(Some).ok_or_else(|| wrong(path, value, "a whole number"))
}

fn at_least_one(path: &str, value: &Value) -> Result<NonZeroU64, ConfigError> {
    let found = integer(value).and_then(|n| NonZeroU64::new(n.try_into().ok()?));
    found.ok_or_else(|| wrong(path, value, "a number from 1 on"))
}

fn cycle(path: &str, value: &Value) -> Result<NonZeroU64, ConfigError> {
    if value.is_null() || integer(value) == Some(-1) {
        let expected = "a number from 1 on: `null` and -1 let TensorFlow choose by the machine, which gives no order; \
                        leave the field out for the usual 16";
        return Err(wrong(path, value, expected));
    }
    at_least_one(path, value)
}

fn context(path: &str, value: &Value) -> Result<Option<InputContext>, ConfigError> {
    if value.is_null() {
        return Ok(None);
    }
    let field = |name: &str| value.get(name).unwrap_or(&Value::Null);
    let n_pipelines = at_least_one(&format!("{path}.num_input_pipelines"), field("num_input_pipelines"))?;
    let id = field("input_pipeline_id");
    match id.as_u64().filter(|id| *id < n_pipelines.get()) {
        Some(pipeline) => Ok(Some(InputContext { n_pipelines, pipeline })),
        None => {
            let expected = format!("a number from 0 to {}", n_pipelines.get() - 1);
            Err(wrong(&format!("{path}.input_pipeline_id"), id, &expected))
        }
    }
}

fn sort(path: &str, value: &Value) -> Result<Option<Sort>, ConfigError> {
    let entry = |entry: &Value| {
        let numbers: Option<Vec<u64>> = entry.as_array()?.iter().map(Value::as_u64).collect();
        let [place, skip, take] = numbers?[..] else { return None };
        Some(Sorted { place: place.try_into().ok()?, skip, take })
    };
    let list = |list: &Vec<Value>| list.iter().map(entry).collect::<Option<Vec<Sorted>>>();
    match value {
        Value::Null => Ok(None),
        Value::String(name) if name == "reverse" => Ok(Some(Sort::Reverse)),
        other => match other.as_array().and_then(list) {
            Some(sorted) => Ok(Some(Sort::List(sorted))),
            None => Err(wrong(path, other, "`reverse` or a list of [place in the plan, skip, take]")),
        },
    }
}

fn format(path: &str, value: &Value) -> Result<Option<FileFormat>, ConfigError> {
    match value {
        Value::Null => Ok(None),
        Value::String(name) => FileFormat::parse(name).map(Some).map_err(|what| ConfigError::new(path, what)),
        other => Err(wrong(path, other, "the name of a file format")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ReadConfig, ConfigError> {
        ReadConfig::from_json(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn fields_have_the_names_of_tfds() {
        let config = read(
            r#"{"interleave_cycle_length": 3, "interleave_block_length": null, "shuffle_seed": -5, "skip_prefetch": true,
                "interleave_sort": [[2, 0, 5]], "input_context": {"num_input_pipelines": 3, "input_pipeline_id": 2}}"#,
        );
        let expected = ReadConfig {
            interleave_cycle_length: NonZeroU64::new(3),
            interleave_block_length: NonZeroU64::MIN,
            shuffle_seed: Some(-5),
            sort: Some(Sort::List(vec![Sorted { place: 2, skip: 0, take: 5 }])),
            input_context: Some(InputContext { n_pipelines: NonZeroU64::new(3).unwrap(), pipeline: 2 }),
            ..ReadConfig::default()
        };
        assert_eq!(config.unwrap(), expected);
    }

    #[test]
    fn what_means_nothing_is_refused_with_the_repair() {
        let cases = [
            (r#"{"suffle_seed": 1}"#, "read_config.suffle_seed: unknown field, did you mean `shuffle_seed`?"),
            (
                r#"{"interleave_block_length": 0}"#,
                "read_config.interleave_block_length: found 0, expected a number from 1 on",
            ),
            (
                r#"{"input_context": {"num_input_pipelines": 2, "input_pipeline_id": 2}}"#,
                "read_config.input_context.input_pipeline_id: found 2, expected a number from 0 to 1",
            ),
            (r#"{"add_tfds_id": 1}"#, "read_config.add_tfds_id: found 1, expected true or false"),
        ];
        for (text, error) in cases {
            assert_eq!(read(text).unwrap_err().to_string(), error);
        }
        for text in ["null", "-1", "0", "-2", "\"x\""] {
            let text = format!("{{\"interleave_cycle_length\": {text}}}");
            assert!(read(&text).is_err(), "{text}");
        }
    }
}
