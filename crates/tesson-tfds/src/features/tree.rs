//! The tree of features: what an example is made of, and how each leaf of it is stored (spec/tfds.md §1.3, §6).

use super::dtype::DType;

/// A dimension: its size, or `None` where it differs from example to example.
pub type Dim = Option<usize>;

/// What an example, or a part of one, consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// Named parts, in the order of the file.
    Dict(Vec<(String, Feature)>),
    /// Any number of the same.
    Sequence {
        /// What there are several of.
        of: Box<Feature>,
        /// How many there are.
        length: Dim,
        /// Whether they are handed out as a stream of their own (the class `Dataset`).
        dataset: bool,
    },
    /// Values.
    Leaf(Leaf),
}

/// Values of one type and shape, under one key of the stored example (or several, derived from it).
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The type of the values that are handed out.
    pub dtype: DType,
    /// Their shape.
    pub shape: Vec<Dim>,
    /// How they are stored.
    pub coding: Coding,
    /// Whether the key may be absent.
    pub optional: bool,
    /// For class labels, also those of pixels: the number of classes, 0 where it is not said.
    pub classes: Option<u64>,
}

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// One after the other, in the list of their type.
    Plain,
    /// As the memory of the array, little-endian, in one byte string.
    Raw,
    /// The same through zlib.
    Zlib,
    /// As a file of a picture.
    Picture,
    /// As a file of sound.
    Sound,
}

impl Leaf {
    /// Values in the list of their type.
    pub fn plain(dtype: DType, shape: Vec<Dim>) -> Leaf {
        Leaf { dtype, shape, coding: Coding::Plain, optional: false, classes: None }
    }

    /// A leaf whose stored value is handed out as it is: one byte string. What is stored in lists is no different without
    /// being decoded.
    #[must_use]
    pub fn undecoded(self) -> Leaf {
        match self.coding {
            Coding::Plain => self,
            _ => Leaf { optional: self.optional, ..Leaf::plain(DType::String, Vec::new()) },
        }
    }

    /// Whether the shape is stored beside the values, under a key of its own: nothing else tells two unknown dimensions
    /// apart.
    pub fn stores_shape(&self) -> bool {
        matches!(self.coding, Coding::Raw | Coding::Zlib) && unknown(&self.shape) > 1
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

    /// The path where another tree first differs, whatever the order in which names stand.
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
}

/// The path of a member.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
