//! The tree of features: the parts of an example, and how each leaf is stored (spec/tfds.md §1.3, §6).

use serde_json::{Map, Value as Json, json};

use super::dtype::DType;

/// A dimension: its size, or `None` if that differs from example to example.
pub type Dim = Option<usize>;

/// A feature: the type of an example or of a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// Named parts, in the order of the file.
    Dict(Vec<(String, Feature)>),
    /// Any number of the same.
    Sequence {
        /// The feature that is repeated.
        of: Box<Feature>,
        /// The number of repetitions.
        length: Dim,
        /// True if they are delivered as a nested stream (the class `Dataset`).
        dataset: bool,
    },
    /// Values.
    Leaf(Leaf),
}

/// Values of one type and shape, under one key of the stored example (or several, derived from it).
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The type of the delivered values.
    pub dtype: DType,
    /// Their shape.
    pub shape: Vec<Dim>,
    /// The way in which the values are stored.
    pub coding: Coding,
    /// True if the key may be absent.
    pub optional: bool,
    /// For class labels, also those of pixels: the number of classes, or 0 if it is not declared.
    pub classes: Option<u64>,
}

/// The way in which values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// One after the other, in the list of their type.
    Plain,
    /// As the memory of the array, little-endian, in one byte string.
    Raw,
    /// The memory of the array, compressed by zlib.
    Zlib,
    /// As a file of an image.
    Image,
    /// As a file of sound.
    Sound,
}

impl Leaf {
    /// Values in the list of their type.
    pub fn plain(dtype: DType, shape: Vec<Dim>) -> Leaf {
        Leaf { dtype, shape, coding: Coding::Plain, optional: false, classes: None }
    }

    /// The leaf for delivering the stored value as it is, one byte string. Values that are stored in lists stay as
    /// they are.
    #[must_use]
    pub fn undecoded(self) -> Leaf {
        match self.coding {
            Coding::Plain => self,
            _ => Leaf { optional: self.optional, ..Leaf::plain(DType::String, Vec::new()) },
        }
    }

    /// True if the shape is stored under a key of its own beside the values, because two dimensions are unknown and
    /// nothing else defines them.
    pub fn stores_shape(&self) -> bool {
        matches!(self.coding, Coding::Raw | Coding::Zlib) && unknown(&self.shape) > 1
    }

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

/// Number of unknown dimensions.
pub fn unknown(shape: &[Dim]) -> usize {
    shape.iter().filter(|d| d.is_none()).count()
}

/// A shape for people: `(?, 28, 28, 1)`.
pub fn shape_text(shape: &[Dim]) -> String {
    let dims: Vec<String> = shape.iter().map(|d| d.map_or("?".to_owned(), |n| n.to_string())).collect();
    format!("({})", dims.join(", "))
}

impl Feature {
    /// A sequence of these.
    pub fn sequence(of: Feature, length: Dim) -> Feature {
        Feature::Sequence { of: Box::new(of), length, dataset: false }
    }

    /// Byte strings, one of them.
    pub fn text() -> Feature {
        Feature::Leaf(Leaf::plain(DType::String, Vec::new()))
    }

    /// The leaves with their paths, in the order of the file. A path is the keys of dicts, joined by `/`
    /// (spec/tfds.md §6.1).
    pub fn leaves(&self) -> Vec<(String, &Leaf)> {
        let mut leaves = Vec::new();
        self.visit("", &mut |path, leaf| leaves.push((path.to_owned(), leaf)));
        leaves
    }

    /// The path at which another tree first differs; the order of names is ignored.
    pub fn difference(&self, other: &Feature) -> Option<String> {
        self.differs("", other)
    }

    fn differs(&self, path: &str, other: &Feature) -> Option<String> {
        match (self, other) {
            (Feature::Dict(ours), Feature::Dict(theirs)) => {
                let named = |of: &Vec<(String, Feature)>, name: &str| of.iter().position(|(n, _)| n == name);
                let of_ours = ours.iter().find_map(|(name, member)| {
                    let path = join(path, name);
                    match named(theirs, name) {
                        Some(i) => member.differs(&path, &theirs[i].1),
                        None => Some(path),
                    }
                });
                let unknown = || theirs.iter().find(|(name, _)| named(ours, name).is_none());
                of_ours.or_else(|| unknown().map(|(name, _)| join(path, name)))
            }
            (
                Feature::Sequence { of, length, dataset },
                Feature::Sequence { of: other, length: n, dataset: stream },
            ) if length == n && dataset == stream => of.differs(path, other),
            (Feature::Leaf(ours), Feature::Leaf(theirs)) if ours == theirs => None,
            _ => Some(path.to_owned()),
        }
    }

    fn visit<'a>(&'a self, path: &str, seen: &mut impl FnMut(&str, &'a Leaf)) {
        match self {
            Feature::Dict(members) => {
                members.iter().for_each(|(name, member)| member.visit(&join(path, name), seen));
            }
            Feature::Sequence { of, .. } => of.visit(path, seen),
            Feature::Leaf(leaf) => seen(path, leaf),
        }
    }

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

/// The path of a member.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
