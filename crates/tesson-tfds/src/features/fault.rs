//! The faults of stored examples.

use std::fmt;

use tesson_core::{OptionName, UserError, did_you_mean};
use tesson_formats::example::ExampleError;
use tesson_formats::example::Fault::Cut;
use tesson_image::decode::ImageError;

use super::tree::{Dim, shape_text};

/// Names of classes that an error lists.
const SHOWN_NAMES: usize = 10;

/// An example that cannot be decoded or encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureError {
    /// The path of the feature; `None` where the record itself is at fault.
    pub path: Option<String>,
    /// The fault.
    pub fault: FeatureFault,
}

const MAX_ERRORS: OptionName = OptionName::new("maxErrors");

tesson_core::error_kinds! {
    /// A fault of an example or one of its features.
    pub enum FeatureFault {
        /// The record is not a `tf.train.Example`, or a key holds a list of another kind.
        Example { error: ExampleError = ExampleError { offset: 12, fault: Cut } }
            = "example.malformed": "{error}"
            => "Prepare the dataset again, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// The key of a feature that is not optional is missing.
        Missing { key: String = "label".into() }
            = "example.missing-key": "key `{key}` is absent, and the feature is not optional"
            => "Prepare the dataset again, or declare the feature as optional.",
        /// The number of stored values does not fill the declared shape.
        Count { found: usize = 5, shape: Vec<Dim> = vec![None, Some(2)] }
            = "example.value-count": ("{found} values are stored, which do not fill the shape {}", shape_text(shape))
            => "Declare the shape that the examples have.",
        /// The row lengths of one level do not add up to the number of parts of the next.
        RowLengths { key: String = "words/ragged_row_lengths_0".into(), sum: u64 = 7, parts: usize = 6 }
            = "example.row-length-sum": "the row lengths of `{key}` add up to {sum}, but there are {parts} parts"
            => "Prepare the dataset again.",
        /// A row length is negative, or differs from the declared length of the sequence.
        RowLength { key: String = "words/ragged_row_lengths_0".into(), found: i64 = 3, expected: Dim = Some(4) }
            = "example.row-length": ("`{key}` holds a row length of {found}{}", match expected {
                None => String::new(),
                Some(length) => format!(", the sequence's length is {length}"),
            })
            => "Prepare the dataset again, or declare the length that the sequences have.",
        /// The bytes of an encoded array do not fill its shape.
        Bytes { found: usize = 10, size: usize = 4, shape: Vec<Dim> = vec![Some(3)] }
            = "example.byte-count": ("{found} bytes are stored, which do not fill the shape {} with {size} bytes a value", shape_text(shape))
            => "Prepare the dataset again, or declare the shape and type that the examples have.",
        /// A zlib stream is damaged, or decompresses to more than is allowed.
        Zlib { what: String = "the checksum is another one".into() }
            = "example.zlib": "zlib: {what}"
            => "Prepare the dataset again, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// An image cannot be decoded.
        Image { error: ImageError = ImageError::Unknown { begin: vec![0, 1, 2, 3], expected: "PNG, JPEG, GIF or BMP" } }
            = "example.picture": "{error}"
            => "Replace the image, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// A transform refuses an image.
        Transform { transform: String = "Crop, Scale".into(), what: String = "the image has no pixels".into() }
            = "example.transform": "transform `{transform}`: {what}"
            => "Correct the transform or the image, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// Sound cannot be decoded.
        Sound { what: String = "the file does not begin with `RIFF`".into() }
            = "example.sound": "sound: {what}"
            => "Replace the sound, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// A decoded array, or a shape that is stored beside one, does not fit the declared shape.
        Shape { found: Vec<i64> = vec![28, 27, 1], declared: Vec<Dim> = vec![Some(28), Some(28), Some(1)] }
            = "example.shape": ("the shape is {}, declared is {}", list(found), shape_text(declared))
            => "Declare the shape that the examples have.",
        /// A class label is outside the declared classes.
        Label { found: i64 = 10, classes: u64 = 10 }
            = "example.label": ("label {found}, {}", match classes {
                0 => "but the feature has no classes".to_owned(),
                n => format!("expected 0 to {}, or -1 for no label", n - 1),
            })
            => "Correct the label, or the number of classes.",
        /// A text is the name of no class.
        LabelName { found: String = "dgo".into(), names: Vec<String> = vec!["cat".into(), "dog".into()] }
            = "example.label-name": ("label `{found}`, {}", expected_names(found, names))
            => "Correct the name, or add it to the names of the classes.",
        /// A value given to a writer does not fit the type of the feature.
        Range { found: String = "300".into(), dtype: &'static str = "uint8" }
            = "example.value-range": "found {found}, which does not fit {dtype}"
            => "Declare a type that holds the value.",
        /// Values given to a writer are of a kind that the feature does not store.
        Kind { found: String = "text".into(), expected: &'static str = "numbers" }
            = "example.value-kind": "found {found}, expected {expected}"
            => "Give values of the declared kind.",
        /// An array cannot be written as an image.
        Unwritable { what: String = "the array has 5 channels, expected 1 to 4".into() }
            = "example.unwritable-picture": "image: {what}"
            => "Give an array of a shape and type that images have.",
        /// Members of a nested dataset have different numbers of elements.
        Elements { found: usize = 3, other: String = "steps/action".into(), expected: usize = 4 }
            = "example.element-count": "{found} elements of a nested stream, beside {expected} of `{other}`"
            => "Prepare the dataset again.",
        /// Items of one sequence have different shapes, and cannot be stacked.
        Unequal { first: Vec<usize> = vec![2, 3], found: Vec<usize> = vec![2, 4] }
            = "example.unequal-items": ("items of one sequence have the shapes {} and {}, and form no array", list(first), list(found))
            => "Declare the sequence as ragged, or prepare items of one shape.",
    }
}

impl FeatureFault {
    /// The fault for an error of a transform: an image that cannot be decoded, or anything else.
    pub fn of_transform(transform: String, error: UserError) -> FeatureFault {
        match error.downcast::<ImageError>() {
            Ok(error) => FeatureFault::Image { error: *error },
            Err(error) => FeatureFault::Transform { transform, what: error.to_string() },
        }
    }
}

fn expected_names(found: &str, names: &[String]) -> String {
    if names.is_empty() {
        return "but the classes have no names; give their numbers".into();
    }
    let more = if names.len() > SHOWN_NAMES { ", …" } else { "" };
    let hint = did_you_mean(found, names.iter().map(String::as_str));
    format!("expected one of {}{more}{hint}", names[..names.len().min(SHOWN_NAMES)].join(", "))
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
