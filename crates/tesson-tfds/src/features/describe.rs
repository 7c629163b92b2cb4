//! The tree of features as JSON: shapes and types, as `info` shows them.

use serde_json::{Map, Value as Json, json};

use super::dtype::DType;
use super::tree::{Dim, Feature, Leaf};

impl Feature {
    /// The tree as JSON: dicts are `{"fields"}`, leaves `{"shape", "dtype"}` with `sequence_rank` (the number of
    /// sequences around the leaf; their lengths precede its shape), `dataset_level` (the number of nested streams
    /// around it) and `optional`, where these apply. Unknown dimensions are null.
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

    /// The features with classes as values: the keys from the root to each, and the number of classes.
    pub fn classes(&self) -> Vec<(Vec<&str>, u64)> {
        let mut found = Vec::new();
        self.each_leaf(&mut Vec::new(), &mut |keys, leaf| {
            found.extend(leaf.classes.map(|n| (keys.to_vec(), n)))
        });
        found
    }

    /// Features that are single byte strings: the keys from the root to each.
    pub fn texts(&self) -> Vec<Vec<&str>> {
        let mut found = Vec::new();
        let is_text = |leaf: &Leaf| leaf.dtype == DType::String && leaf.shape.is_empty();
        self.each_leaf(&mut Vec::new(), &mut |keys, leaf| found.extend(is_text(leaf).then(|| keys.to_vec())));
        found
    }

    fn each_leaf<'a>(&'a self, keys: &mut Vec<&'a str>, told: &mut dyn FnMut(&[&'a str], &Leaf)) {
        match self {
            Feature::Dict(members) => {
                for (name, member) in members {
                    keys.push(name);
                    member.each_leaf(keys, told);
                    keys.pop();
                }
            }
            Feature::Sequence { of, .. } => of.each_leaf(keys, told),
            Feature::Leaf(leaf) => told(keys, leaf),
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
