//! Descriptions of datasets to be written: checked, and compared when writing is resumed.

use std::fmt;

use crate::refusal::NewDatasetRefusal;
use serde_json::{Value, json};
use tesson_core::ConfigError;
use tesson_engine::DEFAULT_MEMORY_LIMIT;
use tesson_tfds::features::{self, Encoder, Limits, Schema};
use tesson_tfds::info::{FileFormat, Nest, Version};

/// A split to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewSplit {
    /// Its name.
    pub name: String,
    /// How many shards it has, from 1 to [`NewSplit::MAX_SHARDS`]; `None` for one each 256 MiB.
    pub shards: Option<usize>,
}

impl NewSplit {
    /// Names of shard files count them with five digits.
    pub const MAX_SHARDS: usize = 99_999;

    /// A split of this name, with so many shards or one each 256 MiB.
    pub fn new(name: impl Into<String>, shards: Option<usize>) -> NewSplit {
        NewSplit { name: name.into(), shards }
    }

    /// The error for a number of shards that no split can have, as it was found.
    pub fn wrong_shards(name: &str, found: impl fmt::Display) -> ConfigError {
        let (split, found, most) = (name.to_owned(), found.to_string(), NewSplit::MAX_SHARDS);
        ConfigError::refused("splits", &NewDatasetRefusal::Shards { split, found, most })
    }
}

/// A dataset to be written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewDataset {
    /// Its name, as in file names.
    pub name: String,
    /// The variant.
    pub config: Option<String>,
    /// The version.
    pub version: Version,
    /// The format of the files: TFRecord or ArrayRecord.
    pub file_format: FileFormat,
    /// Says that the order in which examples are written means something.
    pub disable_shuffling: bool,
    /// The keys that `as_supervised` hands out.
    pub supervised_keys: Option<Nest>,
    /// The description of the dataset, for people.
    pub description: String,
    /// The content of features.json.
    pub features: Value,
    /// Names of classes: the keys from the root to a feature, and its names in their order.
    pub labels: Vec<(Vec<String>, Vec<String>)>,
    /// The splits, in the order in which `all` goes through them.
    pub splits: Vec<NewSplit>,
}

impl NewDataset {
    /// A dataset of this name, whose examples have the features of this features.json, in TFRecord files; without splits as
    /// yet.
    pub fn new(name: impl Into<String>, version: Version, features: Value) -> NewDataset {
        NewDataset {
            name: name.into(),
            config: None,
            version,
            file_format: FileFormat::TfRecord,
            disable_shuffling: false,
            supervised_keys: None,
            description: String::new(),
            features,
            labels: Vec::new(),
            splits: Vec::new(),
        }
    }

    /// The encoder of its examples, if a dataset can be made of this description.
    pub(super) fn encoder(&self) -> Result<Encoder, ConfigError> {
        check_fields(self)?;
        encoder(self).map_err(|e| e.within("features"))
    }

    /// The properties that must not change when writing a dataset is resumed: how examples are stored, and in which
    /// splits.
    pub(super) fn identity(&self) -> Value {
        let splits: Vec<&str> = self.splits.iter().map(|split| split.name.as_str()).collect();
        json!({
            "name": self.name, "config": self.config, "version": self.version.to_string(), "features": self.features,
            "splits": splits,
        })
    }
}

fn check_fields(new: &NewDataset) -> Result<(), ConfigError> {
    let wrong = |path: &str, refusal: NewDatasetRefusal| Err(ConfigError::refused(path, &refusal));
    let is_word = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed)
    };
    for (path, name) in [("name", Some(&new.name)), ("config", new.config.as_ref())] {
        if let Some(name) = name.filter(|name| !is_word(name)) {
            return wrong(path, NewDatasetRefusal::BadName { found: name.clone() });
        }
    }
    if ![FileFormat::TfRecord, FileFormat::ArrayRecord].contains(&new.file_format) {
        return wrong("file_format", NewDatasetRefusal::Format { found: new.file_format.suffix() });
    }
    for (i, split) in new.splits.iter().enumerate() {
        if !is_word(&split.name) || split.name.contains(['.', '+']) || split.name == "all" {
            return wrong("splits", NewDatasetRefusal::BadSplit { found: split.name.clone() });
        }
        if new.splits[..i].iter().any(|other| other.name == split.name) {
            return wrong("splits", NewDatasetRefusal::SplitTwice { split: split.name.clone() });
        }
        if let Some(shards) = split.shards.filter(|n| !(1..=NewSplit::MAX_SHARDS).contains(n)) {
            return Err(NewSplit::wrong_shards(&split.name, shards));
        }
    }
    if new.splits.is_empty() {
        return wrong("splits", NewDatasetRefusal::NoSplits);
    }
    Ok(())
}

fn encoder(new: &NewDataset) -> Result<Encoder, ConfigError> {
    let root = features::json::from_value(&new.features)?.root;
    for (keys, classes) in root.classes() {
        let path = keys.join("/");
        let Some((_, names)) = new.labels.iter().find(|(of, _)| *of == keys) else { continue };
        if classes > 0 && names.len() as u64 != classes {
            let refusal = NewDatasetRefusal::NameCount { found: names.len(), classes };
            return Err(ConfigError::refused(path, &refusal));
        }
        for (n, name) in names.iter().enumerate() {
            // A label file has a name in each line, without white space around it.
            if name.trim() != name || name.is_empty() || name.contains(['\n', '\r']) {
                return Err(ConfigError::refused(path, &NewDatasetRefusal::BadClass { name: name.clone() }));
            }
            if names[..n].contains(name) {
                return Err(ConfigError::refused(
                    path,
                    &NewDatasetRefusal::ClassTwice { name: name.clone() },
                ));
            }
        }
    }
    let unknown = |keys: &[String]| !root.classes().iter().any(|(known, _)| *known == keys);
    if let Some((keys, _)) = new.labels.iter().find(|(keys, _)| unknown(keys)) {
        return Err(ConfigError::refused(keys.join("/"), &NewDatasetRefusal::NoClasses));
    }
    let schema = Schema::new(&root, &features::Selection::default())?;
    let names = |path: &str| {
        let of = new.labels.iter().find(|(keys, _)| keys.join("/") == path);
        of.map(|(_, names)| names.clone()).unwrap_or_default()
    };
    // Readers refuse values beyond an eighth of their memory limit.
    let most = Limits::default().value_bytes;
    let value_bytes = usize::try_from(DEFAULT_MEMORY_LIMIT / 8).map_or(most, |bytes| bytes.min(most));
    Ok(Encoder::new(schema, Limits { value_bytes }, names))
}
