//! What can be wrong with a stored example.

use std::fmt;

use tesson_core::did_you_mean;
use tesson_formats::example::ExampleError;
use tesson_image::decode::PictureError;

use super::tree::{Dim, shape_text};

/// Names of classes that an error lists.
const SHOWN_NAMES: usize = 10;

/// An example that cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureError {
    /// The path of the feature; `None` where the record itself is at fault.
    pub path: Option<String>,
    /// What is wrong.
    pub fault: FeatureFault,
}

/// What is wrong with an example or one of its features.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureFault {
    /// The record is no message, or a key holds a list of another kind.
    Example(ExampleError),
    /// The key of a feature that is not optional is absent.
    Missing {
        /// The key.
        key: String,
    },
    /// A number of values that the shape does not allow.
    Count {
        /// How many there are.
        found: usize,
        /// The shape, sequences first.
        shape: Vec<Dim>,
    },
    /// Row lengths of one level that do not add up to the number of parts of the next.
    RowLengths {
        /// Their key.
        key: String,
        /// Their sum.
        sum: u64,
        /// The parts that there are.
        parts: usize,
    },
    /// A row length below zero, or another one than the sequence's fixed length.
    RowLength {
        /// Its key.
        key: String,
        /// The row length.
        found: i64,
        /// The fixed length, if there is one.
        expected: Dim,
    },
    /// An encoded array whose bytes do not fill its shape.
    Bytes {
        /// Its bytes.
        found: usize,
        /// Bytes of a value.
        size: usize,
        /// The shape.
        shape: Vec<Dim>,
    },
    /// A stream of zlib that is damaged, or more than may be decompressed.
    Zlib {
        /// What is wrong with it.
        what: String,
    },
    /// A picture that cannot be decoded.
    Picture(PictureError),
    /// Sound that cannot be decoded.
    Sound {
        /// What is wrong with it.
        what: String,
    },
    /// A decoded array, or a shape that is stored beside one, does not fit what the feature declares.
    Shape {
        /// What was found.
        found: Vec<i64>,
        /// What is declared.
        declared: Vec<Dim>,
    },
    /// A class label that is none of the classes.
    Label {
        /// The label.
        found: i64,
        /// The number of classes.
        classes: u64,
    },
    /// Text that is the name of no class.
    LabelName {
        /// The text.
        found: String,
        /// The names of the classes.
        names: Vec<String>,
    },
    /// A value given to a writer that the feature's type cannot hold.
    Range {
        /// The value.
        found: String,
        /// The type, and how it is stored.
        dtype: &'static str,
    },
    /// Values of a kind that the feature does not store, given to a writer.
    Kind {
        /// What was given.
        found: String,
        /// What the feature stores.
        expected: &'static str,
    },
    /// An array that cannot be written as a picture.
    Unwritable {
        /// What is wrong with it.
        what: String,
    },
    /// Members of a nested stream that have different numbers of elements.
    Elements {
        /// Those of this feature.
        found: usize,
        /// Another feature of the stream.
        other: String,
        /// Those of that.
        expected: usize,
    },
    /// Items of one sequence that cannot be stacked into an array.
    Unequal {
        /// The shape of the first one.
        first: Vec<usize>,
        /// Another shape.
        found: Vec<usize>,
    },
}

impl fmt::Display for FeatureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureFault::Example(error) => error.fmt(f),
            FeatureFault::Missing { key } => {
                write!(f, "key `{key}` is absent, and the feature is not optional")
            }
            FeatureFault::Count { found, shape } => {
                write!(f, "{found} values are stored, which do not fill the shape {}", shape_text(shape))
            }
            FeatureFault::RowLengths { key, sum, parts } => {
                write!(f, "the row lengths of `{key}` add up to {sum}, but there are {parts} parts")
            }
            FeatureFault::RowLength { key, found, expected: None } => {
                write!(f, "`{key}` holds a row length of {found}")
            }
            FeatureFault::RowLength { key, found, expected: Some(length) } => {
                write!(f, "`{key}` holds a row length of {found}, the sequence's length is {length}")
            }
            FeatureFault::Bytes { found, size, shape } => {
                let shape = shape_text(shape);
                write!(
                    f,
                    "{found} bytes are stored, which do not fill the shape {shape} with {size} bytes a value"
                )
            }
            FeatureFault::Zlib { what } => write!(f, "zlib: {what}"),
            FeatureFault::Picture(error) => error.fmt(f),
            FeatureFault::Sound { what } => write!(f, "sound: {what}"),
            FeatureFault::Shape { found, declared } => {
                write!(f, "the shape is {}, declared is {}", list(found), shape_text(declared))
            }
            FeatureFault::Label { found, classes } => match classes {
                0 => write!(f, "label {found}, but the feature has no classes"),
                n => write!(f, "label {found}, expected 0 to {}, or -1 for no label", n - 1),
            },
            FeatureFault::LabelName { found, names } => {
                let hint = did_you_mean(found, names.iter().map(String::as_str));
                let shown: Vec<&str> = names.iter().take(SHOWN_NAMES).map(String::as_str).collect();
                let more = if names.len() > SHOWN_NAMES { ", …" } else { "" };
                match shown.is_empty() {
                    true => write!(f, "label `{found}`, but the classes have no names; give their numbers"),
                    false => write!(f, "label `{found}`, expected one of {}{more}{hint}", shown.join(", ")),
                }
            }
            FeatureFault::Range { found, dtype } => write!(f, "found {found}, which does not fit {dtype}"),
            FeatureFault::Kind { found, expected } => write!(f, "found {found}, expected {expected}"),
            FeatureFault::Unwritable { what } => write!(f, "picture: {what}"),
            FeatureFault::Elements { found, other, expected } => {
                write!(f, "{found} elements of a nested stream, beside {expected} of `{other}`")
            }
            FeatureFault::Unequal { first, found } => {
                let (first, found) = (list(first), list(found));
                write!(f, "items of one sequence have the shapes {first} and {found}, and form no array")
            }
        }
    }
}

fn list<T: fmt::Display>(dims: &[T]) -> String {
    format!("({})", dims.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

impl fmt::Display for FeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "feature `{path}`: {}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for FeatureError {}
