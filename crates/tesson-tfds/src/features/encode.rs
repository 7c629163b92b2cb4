//! Values into records (spec/tfds.md §6.2, §6.3): the reverse of `decode`, for writers.
//!
//! An example is encoded column by column, then decoded again, so that no record reaches a file that reading would
//! refuse. A writer also refuses values that reading would silently change: integers that wrap, floats that become
//! infinite, arrays of another shape, labels that are no class.

use std::sync::Arc;

use tesson_formats::example::{self, Kind, Span, Value as List};
use tesson_image::decode::{Depth, ImageError};
use tesson_image::encode;

use super::column::Batch;
use super::decode::{Decoder, Limits};
use super::dtype::DType;
use super::fault::{FeatureError, FeatureFault};
use super::labels::LabelRanges;
use super::number::{Number, stored_float, stored_int};
use super::schema::{Plan, Schema};
use super::tree::{Coding, Dim};
use super::zlib;

/// The value of one feature of an example.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The path of the feature.
    pub path: &'a str,
    /// For each sequence around the feature but the outermost, the number of parts of each part above it.
    pub row_lengths: Vec<Vec<i64>>,
    /// Its items.
    pub items: Items<'a>,
}

/// The items of a feature: one, or with sequences around it any number.
#[derive(Clone, Debug)]
pub enum Items<'a> {
    /// All in one array; where sequences are around the feature, its first dimension counts the items.
    Array(GivenArray<'a>),
    /// Byte strings, in an array of this shape, which counts items in the same way.
    Strings {
        /// The shape.
        shape: Vec<usize>,
        /// The strings.
        values: Vec<&'a [u8]>,
    },
    /// One after the other.
    Each(Vec<GivenItem<'a>>),
}

/// An item of a feature that stores one byte string for each: an image, sound, an encoded tensor.
#[derive(Clone, Debug)]
pub enum GivenItem<'a> {
    /// The bytes that are stored: the file of an image.
    Stored(&'a [u8]),
    /// Values to be encoded.
    Array(GivenArray<'a>),
}

/// An array of numbers.
#[derive(Clone, Debug)]
pub struct GivenArray<'a> {
    /// The type of its values.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, little-endian, in row-major order.
    pub bytes: &'a [u8],
}

/// Encodes examples of one schema and checks them.
pub struct Encoder {
    schema: Arc<Schema>,
    /// Names of classes, for each column.
    names: Vec<Vec<String>>,
    ranges: LabelRanges,
    decoder: Decoder,
    batch: Batch,
}

/// The list of a key, before it is a message.
enum Stored<'a> {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(Vec<&'a [u8]>),
    Made(Vec<Vec<u8>>),
}

impl Encoder {
    /// An encoder for a schema; `names` returns the names of a feature's classes by its path.
    pub fn new(schema: Schema, limits: Limits, names: impl Fn(&str) -> Vec<String>) -> Encoder {
        let schema = Arc::new(schema);
        let names: Vec<Vec<String>> = schema.columns.iter().map(|plan| names(&plan.path)).collect();
        let classes = |path: &str| {
            let column = schema.column(path)?;
            let named = (!names[column].is_empty()).then_some(names[column].len() as u64);
            named.or(schema.columns[column].leaf.classes.filter(|n| *n > 0))
        };
        Encoder {
            ranges: LabelRanges::new(&schema, classes),
            decoder: Decoder::new(Arc::clone(&schema), limits),
            batch: Batch::new(&schema),
            schema,
            names,
        }
    }

    /// The schema of the examples.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Encodes an example as a record. Features that are missing from the list are absent.
    ///
    /// # Errors
    /// [`FeatureError`] for the first feature that cannot be stored, or could not be read back.
    pub fn encode(&mut self, example: &[Given<'_>]) -> Result<Vec<u8>, FeatureError> {
        let mut lists = Vec::with_capacity(example.len());
        for given in example {
            let failed = |fault| FeatureError { path: Some(given.path.to_owned()), fault };
            let column = self.schema.column(given.path).ok_or_else(|| {
                failed(FeatureFault::Kind {
                    found: "a value".into(),
                    expected: "nothing: there is no such feature",
                })
            })?;
            self.column(column, given, &mut lists).map_err(failed)?;
        }
        let mut record = Vec::new();
        let strings: Vec<Vec<&[u8]>> = lists.iter().map(|(_, list)| list.made()).collect();
        let values = lists.iter().zip(&strings).map(|((key, list), made)| (*key, list.value(made)));
        example::write(&values.collect::<Vec<_>>(), &mut record);
        self.check(&record)?;
        Ok(record)
    }

    /// Checks that a record is an example of the schema.
    ///
    /// # Errors
    /// [`FeatureError`] if the record cannot be read, or has a class label out of range.
    pub fn check(&mut self, record: &[u8]) -> Result<(), FeatureError> {
        self.batch.clear();
        let span = Span { start: 0, len: record.len() };
        match self.decoder.decode(record, [span], &mut self.batch) {
            Ok(()) => self.ranges.check(&self.batch, 0).next().map_or(Ok(()), Err),
            // A build without this decoder cannot check the image.
            Err(failed)
                if matches!(
                    failed.error.fault,
                    FeatureFault::Image { error: ImageError::NotBuilt { .. } }
                ) =>
            {
                Ok(())
            }
            Err(failed) => Err(*failed.error),
        }
    }

    /// The lists of a column's keys.
    fn column<'a>(
        &'a self,
        column: usize,
        given: &Given<'a>,
        lists: &mut Vec<(&'a str, Stored<'a>)>,
    ) -> Result<(), FeatureFault> {
        let plan = &self.schema.columns[column];
        let key = |wanted: usize| &*self.schema.wanted[wanted].key;
        let levels = plan.levels.len().saturating_sub(1);
        if given.row_lengths.len() != levels {
            let found = format!("{} levels of row lengths", given.row_lengths.len());
            return Err(FeatureFault::Kind { found, expected: "one for each sequence within a sequence" });
        }
        let (values, shapes) = match plan.leaf.coding {
            Coding::Plain => (self.plain(column, given)?, None),
            _ => encoded(plan, given)?,
        };
        lists.push((key(plan.keys.values), values));
        for (wanted, lengths) in plan.keys.row_lengths.iter().zip(&given.row_lengths) {
            lists.push((key(*wanted), Stored::Ints(lengths.clone())));
        }
        if let (Some(wanted), Some(shapes)) = (plan.keys.shape, shapes) {
            lists.push((key(wanted), Stored::Ints(shapes)));
        }
        Ok(())
    }

    /// Values in the list of their type.
    fn plain<'a>(&self, column: usize, given: &Given<'a>) -> Result<Stored<'a>, FeatureFault> {
        let plan = &self.schema.columns[column];
        let kind = self.schema.wanted[plan.keys.values].kind;
        match &given.items {
            Items::Strings { shape, values } => {
                fits(plan, shape)?;
                match kind {
                    Kind::Bytes => Ok(Stored::Strings(values.clone())),
                    Kind::Ints if plan.leaf.classes.is_some() => {
                        let label = |name: &&[u8]| self.label(column, name);
                        values.iter().map(label).collect::<Result<_, _>>().map(Stored::Ints)
                    }
                    _ => Err(FeatureFault::Kind { found: "text".into(), expected: expected(kind) }),
                }
            }
            Items::Array(array) => {
                fits(plan, &array.shape)?;
                let wrong = || FeatureFault::Kind {
                    found: format!("{} values", array.dtype.name()),
                    expected: expected(kind),
                };
                match kind {
                    // NumPy gives an array without values a float type.
                    Kind::Ints if array.bytes.is_empty() => Ok(Stored::Ints(Vec::new())),
                    Kind::Ints => {
                        let whole = |number| match number {
                            Number::Whole(n) => stored_int(n, plan.leaf.dtype),
                            _ => Err(wrong()),
                        };
                        array.numbers().map(whole).collect::<Result<_, _>>().map(Stored::Ints)
                    }
                    Kind::Floats => {
                        let float = |number| match number {
                            Number::Whole(n) => stored_float(n as f64, plan.leaf.dtype),
                            Number::Real(x) => stored_float(x, plan.leaf.dtype),
                            Number::Complex(..) => Err(wrong()),
                        };
                        array.numbers().map(float).collect::<Result<_, _>>().map(Stored::Floats)
                    }
                    Kind::Bytes if array.bytes.is_empty() => Ok(Stored::Strings(Vec::new())),
                    Kind::Bytes => Err(wrong()),
                }
            }
            Items::Each(_) => Err(FeatureFault::Kind { found: "items".into(), expected: "an array" }),
        }
    }

    /// The class of a name.
    fn label(&self, column: usize, name: &[u8]) -> Result<i64, FeatureFault> {
        let names = &self.names[column];
        let text = String::from_utf8_lossy(name);
        match names.iter().position(|known| **known == *text) {
            Some(n) => Ok(n as i64),
            None => Err(FeatureFault::LabelName { found: text.into_owned(), names: names.clone() }),
        }
    }
}

impl<'a> Stored<'a> {
    /// Byte strings that were made here.
    fn made(&self) -> Vec<&[u8]> {
        match self {
            Stored::Made(strings) => strings.iter().map(Vec::as_slice).collect(),
            Stored::Strings(strings) => strings.clone(),
            _ => Vec::new(),
        }
    }

    fn value<'b>(&'b self, strings: &'b [&'b [u8]]) -> List<'b> {
        match self {
            Stored::Ints(values) => List::Ints(values),
            Stored::Floats(values) => List::Floats(values),
            Stored::Strings(_) | Stored::Made(_) => List::Bytes(strings),
        }
    }
}

/// The contents of a kind of list, in words.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Ints => "whole numbers",
        Kind::Floats => "numbers",
        Kind::Bytes => "str or bytes",
    }
}

/// Checks that an array of all items has the declared shape.
fn fits(plan: &Plan, shape: &[usize]) -> Result<(), FeatureFault> {
    let items: &[Dim] = if plan.levels.is_empty() { &[] } else { &[None] };
    item_fits(&[items, &plan.leaf.shape].concat(), shape)
}

fn item_fits(declared: &[Dim], shape: &[usize]) -> Result<(), FeatureFault> {
    let same = |(d, known): (&usize, &Dim)| known.is_none_or(|known| known == *d);
    // An empty list has no other dimensions than its length.
    if shape == [0] && declared.first() == Some(&None)
        || shape.len() == declared.len() && shape.iter().zip(declared).all(same)
    {
        return Ok(());
    }
    Err(FeatureFault::Shape { found: shape.iter().map(|d| *d as i64).collect(), declared: declared.to_vec() })
}

/// One byte string for each item, and the shapes beside them where they are stored.
fn encoded<'a>(plan: &Plan, given: &Given<'a>) -> Result<(Stored<'a>, Option<Vec<i64>>), FeatureFault> {
    let Items::Each(items) = &given.items else {
        return Err(FeatureFault::Kind {
            found: "an array of all items".into(),
            expected: "items one by one",
        });
    };
    if items.iter().all(|item| matches!(item, GivenItem::Stored(_))) && !plan.leaf.stores_shape() {
        let stored = items.iter().filter_map(|item| match item {
            GivenItem::Stored(bytes) => Some(*bytes),
            GivenItem::Array(_) => None,
        });
        return Ok((Stored::Strings(stored.collect()), None));
    }
    let mut shapes = Vec::new();
    let mut strings = Vec::with_capacity(items.len());
    for item in items {
        strings.push(match item {
            GivenItem::Stored(_) if plan.leaf.stores_shape() => {
                return Err(FeatureFault::Kind {
                    found: "bytes".into(),
                    expected: "an array: its shape is stored beside it",
                });
            }
            GivenItem::Stored(bytes) => bytes.to_vec(),
            GivenItem::Array(array) => {
                shapes.extend(array.shape.iter().map(|d| *d as i64));
                encoded_item(plan, array)?
            }
        });
    }
    Ok((Stored::Made(strings), Some(shapes)))
}

fn encoded_item(plan: &Plan, array: &GivenArray<'_>) -> Result<Vec<u8>, FeatureFault> {
    let leaf = &plan.leaf;
    if leaf.coding == Coding::Sound {
        let expected = "the bytes of a WAV file";
        return Err(FeatureFault::Kind { found: format!("{} values", array.dtype.name()), expected });
    }
    item_fits(&leaf.shape, &array.shape)?;
    let memory = array.cast(leaf.dtype)?;
    match leaf.coding {
        Coding::Image => image(leaf.dtype, &array.shape, &memory),
        Coding::Zlib => zlib::compress(&memory).map_err(|what| FeatureFault::Zlib { what }),
        _ => Ok(memory),
    }
}

/// A PNG file; one of 32-bit floats has their bytes as four channels (spec/tfds.md §6.4).
fn image(dtype: DType, shape: &[usize], memory: &[u8]) -> Result<Vec<u8>, FeatureFault> {
    let unwritable = |what: String| FeatureFault::Unwritable { what };
    let [height, width, channels] = *shape else {
        return Err(unwritable(
            "arrays of several frames are not written; give the bytes of a GIF file".into(),
        ));
    };
    let (channels, depth) = match dtype {
        DType::Float32 => (4, Depth::Eight),
        DType::UInt16 => (channels, Depth::Sixteen),
        _ => (channels, Depth::Eight),
    };
    encode::png(memory, [height, width, channels], depth).map_err(unwritable)
}

impl GivenArray<'_> {
    fn numbers(&self) -> impl Iterator<Item = Number> {
        let size = self.dtype.size().unwrap_or(1);
        self.bytes.chunks_exact(size).map(|bytes| Number::of(self.dtype, bytes))
    }

    /// The memory of the same values in another type.
    fn cast(&self, dtype: DType) -> Result<Vec<u8>, FeatureFault> {
        if dtype == self.dtype {
            return Ok(self.bytes.to_vec());
        }
        let mut memory = Vec::with_capacity(self.bytes.len());
        for number in self.numbers() {
            number.write(dtype, &mut memory)?;
        }
        Ok(memory)
    }
}
