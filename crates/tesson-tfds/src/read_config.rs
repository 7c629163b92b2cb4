//! The options for reading a split: `ReadConfig` (spec/tfds.md §9).

use std::num::NonZeroU64;

use serde_json::Value;
use tesson_core::{ConfigError, nearest};

use crate::info::FileFormat;
use crate::json::{integer, wide_integer};
use crate::refusal::ReadingRefusal;

/// One of several pipelines that share the files (spec/tfds.md §8.8).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InputContext {
    /// The number of pipelines.
    pub n_pipelines: NonZeroU64,
    /// The number of this pipeline, from 0.
    pub pipeline: u64,
}

/// The effect of a sort function on the files of a plan (spec/tfds.md §8.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The last one first.
    Reverse,
    /// Files by their numbers in the plan, with the records that are read of each.
    List(Vec<Sorted>),
}

/// A file in the result of a sort function.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sorted {
    /// Its number in the plan.
    pub place: usize,
    /// Records left out at its beginning.
    pub skip: u64,
    /// Records read then.
    pub take: u64,
}

/// The options for reading a split. Options that change neither examples nor their order (threads, caches, buffers)
/// are accepted and ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadConfig {
    /// True if files are repeated without end (spec/tfds.md §8.6).
    pub repeat_filenames: bool,
    /// Examples get their `tfds_id`.
    pub add_tfds_id: bool,
    /// The seed of the file shuffle.
    pub shuffle_seed: Option<i128>,
    /// True if each pass shuffles the files again.
    pub shuffle_reshuffle_each_iteration: bool,
    /// Files read in turns; by default 16, or 1 for datasets with a meaningful order.
    pub interleave_cycle_length: Option<NonZeroU64>,
    /// Examples of a turn.
    pub interleave_block_length: NonZeroU64,
    /// This pipeline among several.
    pub input_context: Option<InputContext>,
    /// The sort function for files.
    pub sort: Option<Sort>,
    /// True if datasets with a meaningful order are read in that order or refused.
    pub enable_ordering_guard: bool,
    /// The files must hold as many examples as the dataset says (spec/tfds.md §8.11).
    pub assert_cardinality: bool,
    /// The format to read, if several are available.
    pub file_format: Option<FileFormat>,
    /// `true`: missing files are errors when they are reached, as in TFDS; `false`: all at the beginning
    /// (spec/tfds.md §13).
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

/// Sets a field of the object at a path.
type Set = fn(&mut ReadConfig, &str, &Value) -> Result<(), ConfigError>;

const FIELDS: &[(&str, Set)] = &[
    ("repeat_filenames", |c, path, v| put(&mut c.repeat_filenames, truth(path, v, false))),
    ("add_tfds_id", |c, path, v| put(&mut c.add_tfds_id, truth(path, v, false))),
    ("shuffle_seed", |c, path, v| put(&mut c.shuffle_seed, whole(path, v))),
    ("shuffle_reshuffle_each_iteration", |c, path, v| {
        put(&mut c.shuffle_reshuffle_each_iteration, truth(path, v, true))
    }),
    ("interleave_cycle_length", |c, path, v| put(&mut c.interleave_cycle_length, cycle(path, v).map(Some))),
    ("interleave_block_length", |c, path, v| put(&mut c.interleave_block_length, block(path, v))),
    ("input_context", |c, path, v| put(&mut c.input_context, context(path, v))),
    ("interleave_sort", |c, path, v| put(&mut c.sort, sort(path, v))),
    ("enable_ordering_guard", |c, path, v| put(&mut c.enable_ordering_guard, truth(path, v, false))),
    ("assert_cardinality", |c, path, v| put(&mut c.assert_cardinality, truth(path, v, false))),
    ("file_format", |c, path, v| put(&mut c.file_format, format(path, v))),
    ("lazy", |c, path, v| put(&mut c.lazy, truth(path, v, false))),
];

fn put<T>(field: &mut T, value: Result<T, ConfigError>) -> Result<(), ConfigError> {
    *field = value?;
    Ok(())
}

impl ReadConfig {
    /// Reads an object with the fields under their own names.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown field or an invalid value.
    pub fn from_json(value: &Value) -> Result<ReadConfig, ConfigError> {
        let Some(fields) = value.as_object() else {
            let refusal = ReadingRefusal::NoObject { found: value.to_string() };
            return Err(ConfigError::refused("read_config", &refusal));
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
    /// The errors of [`ReadConfig::from_json`].
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ConfigError> {
        let path = format!("read_config.{name}");
        match FIELDS.iter().find(|(known, _)| *known == name) {
            Some((_, set)) => set(self, &path, value),
            None if WITHOUT_EFFECT.contains(&name) => Ok(()),
            None => Err(unknown(&path, name)),
        }
    }
}

fn unknown(path: &str, name: &str) -> ConfigError {
    let known = || FIELDS.iter().map(|(name, _)| name).chain(WITHOUT_EFFECT).copied();
    let nearest = nearest(name, known()).map(str::to_owned);
    let known = known().collect::<Vec<_>>().join(", ");
    ConfigError::refused(path, &ReadingRefusal::UnknownField { known, nearest })
}

fn wrong(path: &str, found: &Value, expected: &str) -> ConfigError {
    let (found, expected) = (found.to_string(), expected.to_owned());
    ConfigError::refused(path, &ReadingRefusal::Field { found, expected })
}

/// `null` is `default`.
fn truth(path: &str, value: &Value, default: bool) -> Result<bool, ConfigError> {
    match value {
        Value::Null => Ok(default),
        Value::Bool(truth) => Ok(*truth),
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

fn block(path: &str, value: &Value) -> Result<NonZeroU64, ConfigError> {
    if value.is_null() { Ok(NonZeroU64::MIN) } else { at_least_one(path, value) }
}

fn cycle(path: &str, value: &Value) -> Result<NonZeroU64, ConfigError> {
    if value.is_null() || integer(value) == Some(-1) {
        return Err(ConfigError::refused(path, &ReadingRefusal::AnyCycle { found: value.to_string() }));
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
        Value::String(name) => FileFormat::parse(name).map(Some).map_err(|e| ConfigError::refused(path, &e)),
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
