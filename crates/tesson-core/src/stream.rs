//! Streams: named channels of samples.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use crate::ConfigErrorKind;

/// The shape of one sample, outermost dimension first. A scalar has no dimensions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// A shape of these dimensions.
    pub fn new(dims: impl Into<Vec<usize>>) -> Shape {
        Shape(dims.into())
    }

    /// The dimensions, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Number of values in one sample.
    pub fn len(&self) -> usize {
        self.0.iter().product()
    }

    /// True if a sample holds no value at all (one of the dimensions is 0).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&dims.join("x"))
    }
}

/// The type of a stream's values.
///
/// Floating-point streams are computed with: transforms, narrow storage, conversion to the reader's precision. Values of all other
/// types are kept bit by bit from the file to the minibatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Element {
    /// 32-bit floating point, the default.
    F32,
    /// 64-bit floating point (`precision = "double"`).
    F64,
    /// Whole numbers from 0 to 255; also images that stay in 8 bits (`dtype = "uint8"` of their stream).
    U8,
    /// True or false, a byte each.
    Bool,
    /// Whole numbers from -128 to 127.
    I8,
    /// 16-bit whole numbers.
    I16,
    /// 16-bit whole numbers from 0.
    U16,
    /// 16-bit floating point (IEEE 754 binary16), kept and not computed with.
    F16,
    /// 32-bit whole numbers.
    I32,
    /// 32-bit whole numbers from 0.
    U32,
    /// 64-bit whole numbers.
    I64,
    /// 64-bit whole numbers from 0.
    U64,
    /// Byte strings of any lengths.
    Bytes,
    /// Text in UTF-8, of any lengths.
    Text,
}

impl Element {
    /// All types.
    pub const ALL: [Element; 14] = [
        Element::F32,
        Element::F64,
        Element::U8,
        Element::Bool,
        Element::I8,
        Element::I16,
        Element::U16,
        Element::F16,
        Element::I32,
        Element::U32,
        Element::I64,
        Element::U64,
        Element::Bytes,
        Element::Text,
    ];

    /// NumPy's name of the type, or Python's: `bytes` and `str`.
    pub fn name(self) -> &'static str {
        match self {
            Element::F32 => "float32",
            Element::F64 => "float64",
            Element::U8 => "uint8",
            Element::Bool => "bool",
            Element::I8 => "int8",
            Element::I16 => "int16",
            Element::U16 => "uint16",
            Element::F16 => "float16",
            Element::I32 => "int32",
            Element::U32 => "uint32",
            Element::I64 => "int64",
            Element::U64 => "uint64",
            Element::Bytes => "bytes",
            Element::Text => "str",
        }
    }

    /// The type of such a name.
    pub fn of_name(name: &str) -> Option<Element> {
        Element::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Bytes of a value; of a string those of its end in a minibatch, without its own bytes.
    pub fn size(self) -> usize {
        match self {
            Element::U8 | Element::Bool | Element::I8 => 1,
            Element::I16 | Element::U16 | Element::F16 => 2,
            Element::F32 | Element::I32 | Element::U32 => 4,
            Element::F64 | Element::I64 | Element::U64 | Element::Bytes | Element::Text => 8,
        }
    }

    /// True for the types whose values have each a length of their own: byte strings and texts.
    pub fn is_string(self) -> bool {
        matches!(self, Element::Bytes | Element::Text)
    }

    /// True for the types that are computed with: 32-bit and 64-bit floating point.
    pub fn is_float(self) -> bool {
        matches!(self, Element::F32 | Element::F64)
    }
}

/// The storage of a stream's samples in the chunks of its deserializer ([`Data`](crate::Data)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Storage {
    /// As values, dense or sparse.
    #[default]
    Values,
    /// As bytes of a file format, which the first transform of the stream decodes when a minibatch is made. The shape is
    /// not looked at. A stream of [byte strings](Element::Bytes) without transforms delivers them as they are.
    Encoded,
    /// As frames of longer recordings, each of which is a sequence. Transforms can see the frames around one.
    Frames,
    /// As bytes of whole recordings, of which a sequence has all frames or some. The first transform of the stream decodes
    /// them when a minibatch is made, and sees the frames around them. The shape is not looked at.
    Recordings,
    /// As one sample a sequence, which is repeated to the length of the first deserializer's sequence.
    Repeated,
}

impl Storage {
    /// Its name in errors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Storage::Values => "values",
            Storage::Encoded => "encoded bytes",
            Storage::Frames => "frames",
            Storage::Recordings => "recordings",
            Storage::Repeated => "repeated samples",
        }
    }
}

/// A named channel of samples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StreamInfo {
    /// The name minibatches deliver it by.
    pub name: String,
    /// The shape of one sample; for sparse streams one dimension, the number of columns. A dimension that differs from
    /// minibatch to minibatch is 0; the stream of a minibatch has that of its samples.
    pub shape: Shape,
    /// The type of the values.
    pub element: Element,
    /// True if samples are lists of (column, value) pairs.
    pub sparse: bool,
    /// True if samples may have different shapes ([`Samples::Ragged`]). Dimensions that may differ are 0.
    ///
    /// [`Samples::Ragged`]: https://docs.rs/tesson/latest/tesson/enum.Samples.html
    pub ragged: bool,
    /// The storage of the samples in a deserializer; of no interest in a minibatch.
    pub storage: Storage,
    /// The names of the classes that are its columns, if the data have names for them; otherwise empty.
    pub classes: Arc<[String]>,
    /// The unit that its whole numbers count, where the data say so: a type of times or decimals in Arrow's words, such as `timestamp[us, UTC]`
    /// or `decimal(10, 2)`.
    pub unit: Option<Arc<str>>,
    /// True if the data declare that a sequence may have any number of samples, as columns of lists do. Formats whose data
    /// declare nothing of the kind leave it false.
    pub any_length: bool,
}

impl StreamInfo {
    /// A dense stream with samples stored as values.
    pub fn dense(name: impl Into<String>, shape: Shape, element: Element) -> StreamInfo {
        StreamInfo {
            name: name.into(),
            shape,
            element,
            sparse: false,
            ragged: false,
            storage: Storage::Values,
            classes: Arc::default(),
            unit: None,
            any_length: false,
        }
    }

    /// A sparse stream of `n_columns` columns.
    pub fn sparse(name: impl Into<String>, n_columns: usize, element: Element) -> StreamInfo {
        StreamInfo { sparse: true, ..StreamInfo::dense(name, Shape::new([n_columns]), element) }
    }

    /// A stream of encoded samples, which transforms make values of this type of.
    pub fn encoded(name: impl Into<String>, element: Element) -> StreamInfo {
        StreamInfo { storage: Storage::Encoded, ..StreamInfo::dense(name, Shape::new([]), element) }
    }

    /// Sets another storage.
    #[must_use]
    pub fn stored_as(self, storage: Storage) -> StreamInfo {
        StreamInfo { storage, ..self }
    }

    /// Sets another shape of samples.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> StreamInfo {
        StreamInfo { shape, ..self }
    }

    /// Makes the stream sparse or dense.
    #[must_use]
    pub fn with_sparse(self, sparse: bool) -> StreamInfo {
        StreamInfo { sparse, ..self }
    }

    /// Sets whether samples may have different shapes.
    #[must_use]
    pub fn with_ragged(self, ragged: bool) -> StreamInfo {
        StreamInfo { ragged, ..self }
    }

    /// Bytes of a stream's name, at most: it is part of every error, log line and state.
    pub const LONGEST_NAME: usize = 1024;

    /// Checks that samples in this storage can have values of this type.
    ///
    /// # Errors
    /// A sentence with the type, where the stream's samples are computed.
    pub fn check_element(&self) -> Result<(), String> {
        let fits = match self.storage {
            Storage::Values | Storage::Repeated => !(self.sparse && self.element.is_string()),
            Storage::Encoded => {
                self.element.is_float()
                    || matches!(self.element, Element::U8 | Element::Bytes) && !self.sparse
            }
            Storage::Frames | Storage::Recordings => self.element.is_float(),
        };
        let (name, element) = (&self.name, self.element.name());
        let storage = if self.sparse { "sparse samples" } else { self.storage.name() };
        if fits {
            Ok(())
        } else {
            Err(format!("stream `{name}` has {storage}, which cannot be of type {element}"))
        }
    }

    /// Checks the length of the name.
    ///
    /// # Errors
    /// Its length, its beginning and the limit.
    pub fn check_name(&self) -> Result<(), ConfigErrorKind> {
        check_name(&self.name)
    }
}

/// Checks the length of a stream's name, be it its own or that in a file.
///
/// # Errors
/// How long it is, how it begins, and the limit.
pub fn check_name(name: &str) -> Result<(), ConfigErrorKind> {
    let (found, most) = (name.len(), StreamInfo::LONGEST_NAME);
    if found <= most {
        return Ok(());
    }
    Err(ConfigErrorKind::LongStreamName { beginning: beginning_of(name), found, most })
}

/// How a name begins that is too long to be shown.
pub fn beginning_of(name: &str) -> String {
    let beginning: String = name.chars().take(20).collect();
    format!("{}…", beginning.escape_debug())
}

/// The numbers of the first two names that are the same, in time in proportion to how many there are.
pub fn repeated_name<'a, Name: Eq + Hash + ?Sized + 'a>(
    names: impl IntoIterator<Item = &'a Name>,
) -> Option<(usize, usize)> {
    let mut numbers = HashMap::new();
    let mut named = names.into_iter().enumerate();
    named.find_map(|(number, name)| numbers.insert(name, number).map(|first| (first, number)))
}

/// A text in which no word is longer than a name may be: of longer ones the beginning stands there, and how long they are.
pub fn readable(text: &str) -> Cow<'_, str> {
    let is_long = |word: &str| word.len() > StreamInfo::LONGEST_NAME + 64;
    if !text.split_whitespace().any(is_long) {
        return Cow::Borrowed(text);
    }
    let shown = |word: &str| {
        if is_long(word) {
            let beginning: String = word.chars().take(80).collect();
            let end: String = word.chars().skip(word.chars().count() - 20).collect();
            format!("{beginning}… ({} bytes) …{end}", word.len())
        } else {
            word.to_string()
        }
    };
    text.split_inclusive(char::is_whitespace).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_as_long_as_the_limit() {
        let name = |n: usize| check_name(&"n".repeat(n));
        assert_eq!(name(StreamInfo::LONGEST_NAME), Ok(()));
        let expected = "the name of stream `nnnnnnnnnnnnnnnnnnnn…` has 1025 bytes, expected 1024 at most";
        let refused = name(StreamInfo::LONGEST_NAME + 1).expect_err("it is longer");
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn the_first_two_equal_names_are_found() {
        assert_eq!(repeated_name(["a", "b", "c", "b", "a"]), Some((1, 3)));
        assert_eq!(repeated_name(["a", "b"]), None);
    }

    #[test]
    fn words_that_are_too_long_to_be_read_are_shortened() {
        let long = format!("found `{}`, expected a name", "é".repeat(70_000));
        let shown = readable(&long);
        assert!(shown.len() < 300, "{shown}");
        assert!(shown.starts_with("found `éé") && shown.ends_with("éé`, expected a name"), "{shown}");
        assert!(shown.contains("… (140004 bytes) …"), "{shown}");
        let short = "n".repeat(StreamInfo::LONGEST_NAME);
        assert_eq!(readable(&short), short);
    }
}
