//! The description of a dataset as JSON, for other programs.

use serde_json::{Map, Value, json};

use super::{Dataset, Nest, Split};

/// File names that are listed for each split.
const SHOWN: usize = 4;

impl Dataset {
    /// Name, version, format and splits, without features.
    pub fn describe(&self) -> Value {
        let info = &self.info;
        let splits: Map<String, Value> =
            self.splits.iter().map(|split| (split.name.clone(), describe_split(split))).collect();
        json!({
            "name": info.name,
            "version": info.version.to_string(),
            "config": info.config,
            "file_format": self.file_format.suffix(),
            "disable_shuffling": info.disable_shuffling,
            "supervised_keys": info.supervised_keys.as_ref().map(Nest::describe),
            "splits": splits,
        })
    }
}

fn describe_split(split: &Split) -> Value {
    let lengths: Vec<u64> = split.shards.iter().map(|shard| shard.len).collect();
    let files: Vec<&str> = split.shards.iter().take(SHOWN).map(|shard| shard.file.as_str()).collect();
    json!({"num_examples": split.n_examples(), "shard_lengths": lengths, "filenames": files})
}

impl Nest {
    /// Names of features; tuples are lists, dicts are objects.
    pub fn describe(&self) -> Value {
        match self {
            Nest::Key(key) => json!(key),
            Nest::Tuple(items) => items.iter().map(Nest::describe).collect(),
            Nest::Dict(fields) => fields.iter().map(|(name, nest)| (name.clone(), nest.describe())).collect(),
        }
    }
}
