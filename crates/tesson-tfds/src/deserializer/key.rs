//! Keys of examples, by which they are joined with those of other deserializers.

use std::sync::Arc;

use tesson_core::{ConfigError, DataErrorKind, Keys};

use super::numbers::{is_whole, whole};
use crate::fault::TfdsFault;
use crate::features::{self, Batch, Column, DType, Feature, Schema, Selection, shape_text};
use crate::refusal::StreamRefusal;

/// Bytes of a key, at most: keys of a chunk are counted in 32 bits.
const LONGEST: usize = 1 << 16;

/// The source of an example's key.
pub(super) enum KeyOf {
    /// Its number in its split.
    Number,
    /// Its `tfds_id`.
    Id,
    /// The value of one of its features.
    Feature(KeyFeature),
}

/// A feature that is a key.
pub(super) struct KeyFeature {
    /// The column of the schema that examples are read by.
    column: usize,
    dtype: DType,
    /// The schema of this feature alone.
    alone: Arc<Schema>,
    numeric: bool,
}

impl KeyFeature {
    /// The feature of a path. `numeric`: keys are numbers; otherwise numbers are their decimal text.
    ///
    /// # Errors
    /// A feature that is no single whole number or text.
    pub(super) fn new(
        path: &str,
        features: &Feature,
        schema: &Schema,
        numeric: bool,
    ) -> Result<KeyFeature, ConfigError> {
        let selection = Selection { features: Some(vec![path.to_owned()]), raw: Vec::new() };
        let alone = Arc::new(Schema::new(features, &selection)?);
        let column = schema.column(path).filter(|_| alone.columns.len() == 1);
        let plan = column.map(|column| (column, &schema.columns[column]));
        let fits = |leaf: &features::Leaf| leaf.shape.is_empty() && is_key(leaf.dtype);
        match plan {
            Some((column, plan)) if plan.levels.is_empty() && fits(&plan.leaf) => {
                Ok(KeyFeature { column, dtype: plan.leaf.dtype, alone, numeric })
            }
            Some((_, plan)) => {
                let shape = shape_text(&[&plan.levels[..], &plan.leaf.shape].concat());
                let (feature, dtype) = (path.to_string(), plan.leaf.dtype.name());
                Err(ConfigError::refused("key", &StreamRefusal::NoKey { feature, dtype, shape }))
            }
            None => Err(ConfigError::refused("key", &StreamRefusal::NoFeature { feature: path.to_string() })),
        }
    }

    /// The first row of `rows` with a value that cannot be a key, and its fault.
    pub(super) fn first_fault(
        &self,
        batch: &Batch,
        mut rows: std::ops::Range<usize>,
    ) -> Option<(usize, DataErrorKind)> {
        let column = &batch.columns[self.column];
        rows.find_map(|row| Some((row, self.key(column, row).err()?)))
    }

    /// Appends the keys of these rows, which have no fault.
    pub(super) fn append(&self, batch: &Batch, rows: std::ops::Range<usize>, to: &mut KeyColumn) {
        let column = &batch.columns[self.column];
        rows.filter_map(|row| self.key(column, row).ok()).for_each(|key| to.push(key));
    }

    /// Appends the key of the only row of a batch that has this feature alone; false if that is none.
    pub(super) fn append_alone(&self, batch: &Batch, to: &mut KeyColumn) -> bool {
        let key = self.key(&batch.columns[0], 0);
        key.map(|key| to.push(key)).is_ok()
    }

    /// The schema of this feature alone.
    pub(super) fn alone(&self) -> &Arc<Schema> {
        &self.alone
    }

    fn key<'a>(&self, column: &'a Column, row: usize) -> Result<Found<'a>, DataErrorKind> {
        let feature = || self.alone.columns[0].path.clone();
        if column.missing.as_ref().is_some_and(|missing| missing.binary_search(&row).is_ok()) {
            return Err(TfdsFault::NoKey { feature: feature() }.into());
        }
        let key = match &column.data {
            features::Data::Strings { bytes, ends } => {
                let start = if row == 0 { 0 } else { ends[row - 1] };
                Found::Text(&bytes[start..ends[row]])
            }
            features::Data::Fixed { size, bytes } => {
                Found::Whole(whole(self.dtype, &bytes[row * size..][..*size]))
            }
        };
        match key {
            Found::Text(text) if text.len() > LONGEST => {
                Err(TfdsFault::LongKey { feature: feature(), found: text.len(), most: LONGEST }.into())
            }
            Found::Text(text) if self.numeric => {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok());
                number.map(|n| Found::Whole(n.into())).ok_or_else(|| {
                    let key = format!("`{}`", String::from_utf8_lossy(&text[..text.len().min(40)]));
                    TfdsFault::KeyNotNumber { feature: feature(), key, kind: "text" }.into()
                })
            }
            Found::Whole(n) if self.numeric && u64::try_from(n).is_err() => {
                Err(TfdsFault::KeyNotNumber { feature: feature(), key: n.to_string(), kind: "number" }.into())
            }
            key => Ok(key),
        }
    }
}

fn is_key(dtype: DType) -> bool {
    dtype == DType::String || is_whole(dtype)
}

/// A key that was found in a row.
#[derive(Clone, Copy)]
enum Found<'a> {
    Whole(i128),
    Text(&'a [u8]),
}

/// A column of keys: all numbers, or all texts.
pub(super) struct KeyColumn {
    numeric: bool,
    numbers: Vec<u64>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl KeyColumn {
    pub(super) fn new(numeric: bool) -> KeyColumn {
        KeyColumn { numeric, numbers: Vec::new(), bytes: Vec::new(), ends: Vec::new() }
    }

    fn push(&mut self, key: Found<'_>) {
        match key {
            Found::Whole(n) if self.numeric => self.numbers.push(n as u64),
            Found::Whole(n) => self.push_text(n.to_string().as_bytes()),
            Found::Text(text) => self.push_text(text),
        }
    }

    pub(super) fn push_number(&mut self, number: u64) {
        self.push(Found::Whole(number.into()));
    }

    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }

    pub(super) fn finish(self) -> Keys {
        if self.numeric {
            Keys::Numbers(self.numbers).compacted()
        } else {
            Keys::Texts { bytes: self.bytes, ends: self.ends }
        }
    }
}
