//! dataset_info.json, written as TFDS writes it: defaults left out, 64-bit numbers as strings (spec/tfds.md §1.2).

use serde_json::{Map, Value, json};

use super::{DatasetInfo, Nest, SplitInfo};

impl DatasetInfo {
    /// The text of a dataset_info.json that says this; for people it has the description only.
    pub fn to_json(&self) -> String {
        let mut info = Map::new();
        let mut put = |key: &str, value: Value| info.insert(key.into(), value);
        if !self.about.description.is_empty() {
            put("description", json!(self.about.description));
        }
        put("name", json!(self.name));
        put("version", json!(self.version.to_string()));
        if let Some(config) = &self.config {
            put("configName", json!(config));
        }
        put("fileFormat", json!(self.file_format.suffix()));
        if !self.alternative_formats.is_empty() {
            let names = self.alternative_formats.iter().map(|format| format.suffix());
            put("alternativeFileFormats", names.collect());
        }
        if self.disable_shuffling {
            put("disableShuffling", json!(true));
        }
        if let Some(keys) = &self.supervised_keys {
            put("supervisedKeys", nest(keys));
        }
        put("splits", self.splits.iter().map(split).collect());
        if let Some(features) = &self.features {
            put("features", features.clone());
        }
        let text = serde_json::to_string_pretty(&Value::Object(info));
        text.expect("names and numbers have a JSON form") + "\n"
    }
}

fn split(split: &SplitInfo) -> Value {
    let lengths: Vec<String> = split.shard_lengths.iter().map(u64::to_string).collect();
    json!({
        "filepathTemplate": split.template.to_string(),
        "name": split.name,
        "numBytes": split.n_bytes.to_string(),
        "shardLengths": lengths,
    })
}

fn nest(keys: &Nest) -> Value {
    match keys {
        Nest::Key(key) => json!({ "featureKey": key }),
        Nest::Tuple(items) => json!({ "tuple": { "items": items.iter().map(nest).collect::<Vec<_>>() } }),
        Nest::Dict(items) => {
            let items: Map<String, Value> =
                items.iter().map(|(key, item)| (key.clone(), nest(item))).collect();
            json!({ "dict": { "dict": items } })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::info::{About, FileFormat, Template, Version};

    #[test]
    fn what_is_written_is_what_is_read() {
        let key = |key: &str| Nest::Key(key.into());
        let info = DatasetInfo {
            name: "ds".into(),
            version: Version([1, 20, 3]),
            config: Some("small".into()),
            file_format: FileFormat::ArrayRecord,
            alternative_formats: vec![FileFormat::TfRecord],
            disable_shuffling: true,
            splits: vec![SplitInfo {
                name: "train".into(),
                shard_lengths: vec![3, 0, (u64::MAX >> 1) - 3],
                template: Template::parse("{SPLIT}/{DATASET}.{FILEFORMAT}-{SHARD_INDEX}").expect("it is one"),
                n_bytes: 1 << 60,
            }],
            supervised_keys: Some(Nest::Tuple(vec![key("x"), Nest::Dict(vec![("a".into(), key("y"))])])),
            features: None,
            about: About { description: "Numbers by a generator.".into(), ..About::default() },
        };
        let text = info.to_json();
        let read = DatasetInfo::parse(&Path::new("dataset_info.json").into(), text.as_bytes());
        assert_eq!(read.expect("it is one"), info);
        assert!(text.starts_with("{\n  \"description\": \"Numbers by a generator.\""), "{text}");
    }
}
