//! The schema of the values that are read of each example: the selected features as a tree, and the keys that hold
//! them.

use tesson_core::{ConfigError, nearest};
use tesson_formats::example::{FeatureSpec, Kind};
use tesson_image::decode::Scale;

use super::dtype::DType;
use super::tree::{Coding, Dim, Feature, Leaf, join, shape_text, unknown};
use crate::refusal::FeaturesRefusal;

/// The features that are read, and those of them that are not decoded. Names are paths such as `objects/bbox`; a path
/// includes everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The features that are read; `None`: all of them. Others are not even parsed.
    pub features: Option<Vec<String>>,
    /// The features that are delivered as they are stored, such as the bytes of an image's file.
    pub raw: Vec<String>,
}

/// A node in the tree of delivered values.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Named parts.
    Dict(Vec<(String, Node)>),
    /// A nested stream; the node inside is that of an element.
    Stream(Box<Node>),
    /// A column, by number.
    Leaf(usize),
}

/// A column of delivered values, and how it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The path of the feature.
    pub path: String,
    /// The feature's shape, type and coding.
    pub leaf: Leaf,
    /// The lengths of the sequences around it, outermost first.
    pub levels: Vec<Dim>,
    /// The number of levels, outermost first, that are nested streams.
    pub streams: usize,
    /// For images, the scale at which they are decoded.
    pub scale: Scale,
    pub(super) keys: Keys,
}

impl Plan {
    /// True if each row is an array when its items have one shape: the feature is neither ragged nor a nested stream.
    pub fn has_array_rows(&self) -> bool {
        self.inner_lengths().is_some()
    }

    /// The lengths of the sequences inside of the outermost one, if all are fixed. `None` also for nested streams.
    pub(super) fn inner_lengths(&self) -> Option<Vec<usize>> {
        self.levels.iter().skip(1).copied().collect::<Option<_>>().filter(|_| self.streams == 0)
    }
}

/// The keys of a column, by their numbers among those wanted of the parser (spec/tfds.md §6.1, §6.2).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Keys {
    pub(super) values: usize,
    /// For each level but the outermost, how many parts each of the parts above it has.
    pub(super) row_lengths: Vec<usize>,
    /// The shapes of tensors with several unknown dimensions.
    pub(super) shape: Option<usize>,
}

/// All that is read of an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The tree of delivered values.
    pub root: Node,
    /// Its columns.
    pub columns: Vec<Plan>,
    pub(super) wanted: Vec<FeatureSpec>,
}

impl Schema {
    /// The schema of a selection from these features.
    ///
    /// # Errors
    /// A selected feature does not exist, or a feature cannot have been stored as it is described.
    pub fn new(root: &Feature, selection: &Selection) -> Result<Schema, ConfigError> {
        selection.check(root)?;
        let mut builder = Builder { selection, columns: Vec::new(), wanted: Vec::new() };
        let root = builder.node(root, "", &[], 0)?.unwrap_or(Node::Dict(Vec::new()));
        Ok(Schema { root, columns: builder.columns, wanted: builder.wanted })
    }

    /// Decodes the images below a path at a reduced scale; their declared heights and widths become smaller, too.
    ///
    /// # Errors
    /// [`ConfigError`] if no feature below the path that is read is an image.
    pub fn scaled(mut self, path: &str, scale: Scale) -> Result<Schema, ConfigError> {
        let is_image = |plan: &&mut Plan| covers(path, &plan.path) && plan.leaf.coding == Coding::Image;
        let mut images = self.columns.iter_mut().filter(is_image).peekable();
        if images.peek().is_none() {
            let refusal = FeaturesRefusal::NoImage { path: path.to_owned() };
            return Err(ConfigError::refused("features", &refusal));
        }
        for plan in images {
            plan.scale = scale;
            // Channels are last.
            let sides = plan.leaf.shape.iter_mut().rev().skip(1).take(2);
            sides.for_each(|side| *side = side.map(|pixels| scale.of(pixels)));
        }
        Ok(self)
    }

    /// Replaces the images of a path by values of this type and shape, which a transform makes of them.
    ///
    /// # Errors
    /// [`ConfigError`] if the path is not that of a single feature that is read.
    pub fn with_images(mut self, path: &str, dtype: DType, shape: Vec<Dim>) -> Result<Schema, ConfigError> {
        let Some(plan) = self.columns.iter_mut().find(|plan| plan.path == path) else {
            let refusal = FeaturesRefusal::NotRead { path: path.to_owned() };
            return Err(ConfigError::refused(format!("transforms.{path}"), &refusal));
        };
        plan.leaf = Leaf { dtype, shape, coding: Coding::Image, ..plan.leaf.clone() };
        Ok(self)
    }

    /// The keys that are parsed, and the kind of list of each.
    pub fn wanted(&self) -> &[FeatureSpec] {
        &self.wanted
    }

    /// True if images are decoded, which takes much longer than copying the decoded pixels.
    pub fn has_images(&self) -> bool {
        self.columns.iter().any(|column| column.leaf.coding == Coding::Image)
    }

    /// The number of the column of a path.
    pub fn column(&self, path: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.path == path)
    }
}

impl Selection {
    fn check(&self, root: &Feature) -> Result<(), ConfigError> {
        let leaves = root.leaves();
        let known = |path: &str| leaves.iter().any(|(leaf, _)| covers(path, leaf));
        let named = self.features.iter().flatten().chain(&self.raw);
        let Some(unknown) = named.into_iter().find(|path| !known(path)) else { return Ok(()) };
        let paths = || leaves.iter().map(|(path, _)| path.as_str());
        let nearest = nearest(unknown, paths()).map(str::to_owned);
        let known = paths().take(10).collect::<Vec<_>>().join(", ");
        let refusal = FeaturesRefusal::Unknown { name: unknown.clone(), known, nearest };
        Err(ConfigError::refused("features", &refusal))
    }

    fn wants(&self, path: &str) -> bool {
        self.features.as_ref().is_none_or(|wanted| wanted.iter().any(|w| covers(w, path)))
    }

    fn is_raw(&self, path: &str) -> bool {
        self.raw.iter().any(|raw| covers(raw, path))
    }
}

/// True if a path is that of a leaf or of a node above it.
fn covers(path: &str, leaf: &str) -> bool {
    leaf.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Builder<'a> {
    selection: &'a Selection,
    columns: Vec<Plan>,
    wanted: Vec<FeatureSpec>,
}

impl Builder<'_> {
    /// Builds the node of a feature below `levels`, the outer ones of which are nested streams. `None` if nothing of
    /// it is selected.
    ///
    /// A sequence of dicts is a dict of sequences, so levels move down to the leaves; nested streams stay where they
    /// are, and sequences of nested streams are nested streams, too.
    fn node(
        &mut self,
        feature: &Feature,
        path: &str,
        levels: &[Dim],
        streams: usize,
    ) -> Result<Option<Node>, ConfigError> {
        match feature {
            Feature::Dict(members) => {
                let mut nodes = Vec::with_capacity(members.len());
                for (name, member) in members {
                    let node = self.node(member, &join(path, name), levels, streams)?;
                    nodes.extend(node.map(|node| (name.clone(), node)));
                }
                Ok((!nodes.is_empty() || members.is_empty()).then_some(Node::Dict(nodes)))
            }
            Feature::Sequence { of, length, dataset } => {
                let levels = [levels, &[*length]].concat();
                let inside = if *dataset { levels.len() } else { streams };
                let node = self.node(of, path, &levels, inside)?;
                let wrapped = inside - streams;
                Ok(node.map(|node| (0..wrapped).fold(node, |node, _| Node::Stream(Box::new(node)))))
            }
            Feature::Leaf(_) if !self.selection.wants(path) => Ok(None),
            Feature::Leaf(leaf) => self.leaf(leaf, path, levels, streams).map(Some),
        }
    }

    fn leaf(&mut self, leaf: &Leaf, path: &str, levels: &[Dim], streams: usize) -> Result<Node, ConfigError> {
        let (value, shape) = if leaf.stores_shape() {
            (join(path, "value"), Some(join(path, "shape")))
        } else {
            (path.to_owned(), None)
        };
        let raw = self.selection.is_raw(path);
        let read = if raw { leaf.clone().undecoded() } else { leaf.clone() };
        let kind = storage(&read, path, levels)?;
        let ragged = levels.len() > 1;
        let flat = |key: &str| if ragged { join(key, "ragged_flat_values") } else { key.to_owned() };
        let values = self.want(&flat(&value), kind)?;
        let lengths = 0..levels.len().saturating_sub(1);
        let length = |k| self.want(&join(&value, &format!("ragged_row_lengths_{k}")), Kind::Ints);
        let row_lengths = lengths.map(length).collect::<Result<_, _>>()?;
        let shape = match shape.filter(|_| !raw) {
            Some(key) => Some(self.want(&flat(&key), Kind::Ints)?),
            None => None,
        };
        let keys = Keys { values, row_lengths, shape };
        let (path, levels, scale) = (path.to_owned(), levels.to_vec(), Scale::Whole);
        self.columns.push(Plan { path, leaf: read, levels, streams, scale, keys });
        Ok(Node::Leaf(self.columns.len() - 1))
    }

    /// The number of a wanted key. Two features may have one: a dict in a dict, and a key with a slash.
    fn want(&mut self, key: &str, kind: Kind) -> Result<usize, ConfigError> {
        match self.wanted.iter().position(|w| w.key == key) {
            Some(at) if self.wanted[at].kind == kind => Ok(at),
            Some(_) => Err(ConfigError::refused(key, &FeaturesRefusal::KeyTwice)),
            None => {
                self.wanted.push(FeatureSpec { key: key.to_owned(), kind });
                Ok(self.wanted.len() - 1)
            }
        }
    }
}

/// The kind of list that holds a leaf; an error for a leaf that no writer can have stored (spec/tfds.md §6.2).
fn storage(leaf: &Leaf, path: &str, levels: &[Dim]) -> Result<Kind, ConfigError> {
    let error = |refusal: FeaturesRefusal| Err(ConfigError::refused(path, &refusal));
    let known = leaf.shape.iter().flatten().chain(levels.iter().flatten());
    if known.copied().try_fold(16_usize, |n, d| n.checked_mul(d.max(1))).is_none() {
        return error(FeaturesRefusal::LargeShape { shape: shape_text(&leaf.shape) });
    }
    match leaf.coding {
        Coding::Plain => {}
        Coding::Raw | Coding::Zlib if leaf.dtype == DType::String => {
            return error(FeaturesRefusal::EncodedText);
        }
        Coding::Raw | Coding::Zlib | Coding::Image => return Ok(Kind::Bytes),
        Coding::Sound if matches!(leaf.shape[..], [_] | [_, _]) => return Ok(Kind::Bytes),
        Coding::Sound => {
            let shape = shape_text(&leaf.shape);
            return error(FeaturesRefusal::SoundShape { shape });
        }
    }
    let Some(kind) = leaf.dtype.stored_in() else {
        return error(FeaturesRefusal::NeedsEncoding { dtype: leaf.dtype.name() });
    };
    let around = match levels {
        [] => 0,
        [length] => usize::from(length.is_none()),
        // Row lengths define where items end, but not how the values of an item are divided into rows and columns.
        _ => 1,
    };
    if around + unknown(&leaf.shape) > 1 && unknown(&leaf.shape) > 0 {
        let shape = shape_text(&[levels, &leaf.shape].concat());
        return error(FeaturesRefusal::OpenShape { shape });
    }
    Ok(kind)
}
