//! Options on datasets prepared by TensorFlow Datasets, and the plan that they make.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tesson::ConfigError;
use tesson_core::ConfigSpan;
use tesson_prepared::OnDamage;
use tesson_tfds::info::Dataset;
use tesson_tfds::read_config::ReadConfig;
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::Selection;

use crate::failure::Failure;
use crate::progress::note;

/// The arguments for a dataset prepared by TensorFlow Datasets.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Prepared datasets")]
pub(crate) struct DatasetArgs {
    /// Which examples: `train`, `train[10%:]+test`, `train[3shard]`; by default all splits
    #[arg(long, value_name = "SPLIT")]
    pub(crate) split: Vec<String>,

    /// Shuffles the files
    #[arg(long)]
    pub(crate) shuffle_files: bool,

    /// A field of ReadConfig, such as `shuffle_seed=32` or `interleave_cycle_length=1`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) read_config: Vec<String>,

    /// Operations on the examples, applied in this order: `shuffle=1000`, `shuffle={"buffer_size": 1000, "seed": 3}`,
    /// `repeat=2`, `skip=5`, `take=20`, `shard={"num_shards": 2, "index": 0}`
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) op: Vec<String>,

    /// The global seed, as for `tf.random.set_seed`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) global_seed: Option<i128>,

    /// How damaged records are handled: `fail`, `skip` (left out) or `stop_shard` (the file ends there)
    #[arg(long, value_name = "POLICY", value_parser = ["fail", "skip", "stop_shard"], default_value = "fail")]
    pub(crate) on_damage: String,

    /// Reads the examples at these positions of the split instead of a stream: `3,0,2` or `all`
    #[arg(long, value_name = "POSITIONS")]
    pub(crate) at: Option<String>,

    /// Looks for the dataset by its name (`mnist`, `ds/config:1.*.*`) in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl DatasetArgs {
    /// The given splits, one by one.
    pub(crate) fn selections(&self) -> impl Iterator<Item = (Value, Result<Selection, ConfigError>)> {
        let all = || vec![Value::from("all")];
        let named = if self.split.is_empty() { all() } else { self.split.iter().map(|s| split(s)).collect() };
        named.into_iter().map(|split| {
            let selection = Selection::from_json(&split);
            (split, selection)
        })
    }

    /// The handling of damaged records.
    pub(crate) fn on_damage(&self) -> OnDamage {
        match self.on_damage.as_str() {
            "skip" => OnDamage::Skip,
            "stop_shard" => OnDamage::StopShard,
            _ => OnDamage::Fail,
        }
    }

    /// The options for reading files.
    pub(crate) fn config(&self) -> Result<ReadConfig, Failure> {
        let mut config = ReadConfig::default();
        for field in &self.read_config {
            let (name, value) = pair("--read-config", field)?;
            let given = || ConfigSpan::argument(format!("--read-config {field}"));
            config.set(name, &value).map_err(|e| e.at(Some(given())))?;
        }
        Ok(config)
    }

    /// Makes the plan and shows the seeds that it draws.
    pub(crate) fn plan(&self, dataset: &Dataset) -> Result<Plan, Failure> {
        let plan =
            Plan::new(dataset, &self.reading()?, &mut tesson_prepared::random_seed).map_err(of_split)?;
        for drawn in &plan.drawn {
            note(&format!("{} was not given; {} was drawn", drawn.path, drawn.seed));
        }
        Ok(plan)
    }

    /// The request that the options describe. Several splits are read one after the other.
    fn reading(&self) -> Result<Reading, Failure> {
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
fn of_split(e: ConfigError) -> ConfigError {
    let is_split = e.path == "split";
    e.at(is_split.then(|| ConfigSpan::argument("--split")))
}

/// A split as text, or as the JSON form of an object.
fn split(text: &str) -> Value {
    if text.starts_with('{') { value(text) } else { text.into() }
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
}
