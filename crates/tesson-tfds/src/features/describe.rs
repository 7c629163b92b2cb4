//! The tree of features as JSON: shapes and types, as `info` shows them.

use serde_json::{Map, Value as Json, json};

use super::tree::{Dim, Feature, Leaf};

impl Feature {
    /// The tree: dicts are `{"fields"}`, leaves `{"shape", "dtype"}` with `sequence_rank` (sequences around it, whose lengths
    /// stand in front of its shape), `dataset_level` (nested streams around it) and `optional`, where there are any.
    /// Unknown dimensions are null.
    pub fn describe(&self) -> Json {
        self.described(&[], 0)
    }

    fn described(&self, sequences: &[Dim], streams: usize) -> Json {
        match self {
            Feature::Dict(members) => {
                let member =
                    |(name, of): &(String, Feature)| (name.clone(), of.described(sequences, streams));
                json!({ "fields": members.iter().map(member).collect::<Map<_, _>>() })
            }
            Feature::Sequence { of, dataset: true, .. } => of.described(sequences, streams + 1),
            Feature::Sequence { of, length, .. } => of.described(&[sequences, &[*length]].concat(), streams),
            Feature::Leaf(leaf) => leaf.described(sequences, streams),
        }
    }

    /// Features whose values are classes: the keys from the root to each, and the number of classes.
    pub fn classes(&self) -> Vec<(Vec<&str>, u64)> {
        let mut found = Vec::new();
        self.find_classes(&mut Vec::new(), &mut found);
        found
    }

    fn find_classes<'a>(&'a self, keys: &mut Vec<&'a str>, found: &mut Vec<(Vec<&'a str>, u64)>) {
        match self {
            Feature::Dict(members) => {
                for (name, member) in members {
                    keys.push(name);
                    member.find_classes(keys, found);
                    keys.pop();
                }
            }
            Feature::Sequence { of, .. } => of.find_classes(keys, found),
            Feature::Leaf(leaf) => found.extend(leaf.classes.map(|n| (keys.clone(), n))),
        }
    }
}

impl Leaf {
    fn described(&self, sequences: &[Dim], streams: usize) -> Json {
        let shape = [sequences, &self.shape].concat();
        let mut node = json!({ "shape": shape, "dtype": self.dtype.name() });
        if !sequences.is_empty() {
            node["sequence_rank"] = json!(sequences.len());
        }
        if streams > 0 {
            node["dataset_level"] = json!(streams);
        }
        if self.optional {
            node["optional"] = json!(true);
        }
        node
    }
}
