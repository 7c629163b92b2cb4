//! What is read of a prepared dataset, as options.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tesson::ConfigError;
use tesson::tfds::{OnDamage, Op, ReadConfig, Reading, Selection};
use tesson_core::Place;

use crate::failure::Failure;

/// How a dataset prepared by TensorFlow Datasets is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Prepared datasets")]
pub(crate) struct DatasetArgs {
    /// Which examples: `train`, `train[10%:]+test`, `train[3shard]`; all splits if nothing is said
    #[arg(long, value_name = "SPLIT")]
    pub(crate) split: Vec<String>,

    /// Shuffles the files
    #[arg(long)]
    pub(crate) shuffle_files: bool,

    /// A field of ReadConfig, such as `shuffle_seed=32` or `interleave_cycle_length=1`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) read_config: Vec<String>,

    /// What is done with the examples, in this order: `shuffle=1000`, `shuffle={"buffer_size": 1000, "seed": 3}`,
    /// `repeat=2`, `skip=5`, `take=20`, `shard={"num_shards": 2, "index": 0}`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) op: Vec<String>,

    /// What `tf.random.set_seed` would be given
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) global_seed: Option<i128>,

    /// What becomes of damaged records: `fail`, `skip` (left out) or `stop_shard` (the file ends there)
    #[arg(long, value_name = "POLICY", value_parser = ["fail", "skip", "stop_shard"], default_value = "fail")]
    pub(crate) on_damage: String,

    /// Reads the examples at these places of the split instead of a stream: `3,0,2` or `all`
    #[arg(long, value_name = "PLACES")]
    pub(crate) at: Option<String>,

    /// Looks for the dataset by its name (`mnist`, `ds/config:1.*.*`) in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl DatasetArgs {
    /// The splits that are named, each by itself.
    pub(crate) fn selections(&self) -> impl Iterator<Item = (Value, Result<Selection, ConfigError>)> {
        let all = || vec![Value::from("all")];
        let named = if self.split.is_empty() { all() } else { self.split.iter().map(|s| split(s)).collect() };
        named.into_iter().map(|split| {
            let selection = Selection::from_json(&split);
            (split, selection)
        })
    }

    /// What becomes of damaged records.
    pub(crate) fn on_damage(&self) -> OnDamage {
        match self.on_damage.as_str() {
            "skip" => OnDamage::Skip,
            "stop_shard" => OnDamage::StopShard,
            _ => OnDamage::Fail,
        }
    }

    /// How files are read.
    pub(crate) fn config(&self) -> Result<ReadConfig, Failure> {
        let mut config = ReadConfig::default();
        for field in &self.read_config {
            let (name, value) = pair("--read-config", field)?;
            let given = || Place::argument(format!("--read-config {field}"));
            config.set(name, &value).map_err(|e| e.at(Some(given())))?;
        }
        Ok(config)
    }

    /// What is read, and how. Several splits are read one after the other.
    pub(crate) fn reading(&self) -> Result<Reading, Failure> {
        let mut selections: Vec<Selection> =
            self.selections().map(|(_, selection)| selection.map_err(of_split)).collect::<Result<_, _>>()?;
        let selection = if selections.len() == 1 { selections.remove(0) } else { Selection::Sum(selections) };
        let ops = self.op.iter().map(|text| op(text)).collect::<Result<_, Failure>>()?;
        Ok(Reading {
            selection,
            shuffle_files: self.shuffle_files,
            config: self.config()?,
            ops,
            global_seed: self.global_seed,
        })
    }
}

/// An error of a split at the option that gave it.
pub(super) fn of_split(e: ConfigError) -> ConfigError {
    let is_split = e.path == "split";
    e.at(is_split.then(|| Place::argument("--split")))
}

/// A split as text, or as the JSON form of an object.
fn split(text: &str) -> Value {
    if text.starts_with('{') { value(text) } else { text.into() }
}

/// An epoch and a place in it.
pub(crate) fn start(text: &str) -> Result<(u64, u64), String> {
    let number =
        |text: &str| text.parse().map_err(|_| format!("found `{text}`, expected a number from 0 on"));
    let (epoch, place) = text.split_once(':').unwrap_or(("0", text));
    Ok((number(epoch)?, number(place)?))
}

fn op(text: &str) -> Result<Op, Failure> {
    let (name, value) = pair("--op", text)?;
    let value = match name {
        "shuffle" if value.is_number() => json!({"buffer_size": value}),
        _ => value,
    };
    Ok(Op::from_json(&json!({name: value}), &format!("--op {name}"))?)
}

fn pair<'t>(option: &str, text: &'t str) -> Result<(&'t str, Value), Failure> {
    let wrong = || Failure::Usage(format!("{option} {text}: found no `=`, expected NAME=VALUE"));
    let (name, text) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name, value(text)))
}

/// JSON, or else text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_short_or_json() {
        let seeded = op(r#"shuffle={"buffer_size": 8, "seed": 3}"#).unwrap();
        assert!(matches!(seeded, Op::Shuffle { seed: Some(3), .. }));
        assert!(matches!(op("shuffle=8").unwrap(), Op::Shuffle { seed: None, .. }));
        assert_eq!(op("repeat=null").unwrap(), Op::Repeat(-1));
        assert!(op("take").is_err() && op("batch=3").is_err());
    }

    #[test]
    fn a_start_is_a_place_or_an_epoch_and_a_place() {
        assert_eq!(start("7"), Ok((0, 7)));
        assert_eq!(start("2:7"), Ok((2, 7)));
        for text in ["", ":", "1:", "-1", "1:2:3"] {
            assert!(start(text).is_err(), "{text}");
        }
    }
}
