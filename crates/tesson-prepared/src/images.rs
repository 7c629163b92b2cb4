//! Images of prepared datasets through transforms: what the records store is decoded and transformed where examples are
//! loaded, on the threads that load them.

use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tesson_core::{ConfigError, ValueType};
use tesson_engine::{
    EncodedScratch, EncodedTransforms, SampleRoom, SampleValues, TransformFailure, TransformedSample,
};
use tesson_plan::{StreamOp, StreamSpec};
use tesson_tfds::features::{Batch, Column, DType, Data, Failed, FeatureError, FeatureFault, Schema};

use crate::loader::RecordId;
use crate::refusal::PreparedRefusal;

/// The transforms of the images of some features.
pub(super) struct ImageTransforms {
    /// The schema of what is stored, whose images are not decoded, and that of what is delivered.
    pub(super) stored: Arc<Schema>,
    pub(super) delivered: Arc<Schema>,
    /// For each feature the number of its column.
    features: Vec<(usize, EncodedTransforms)>,
    /// Prefixes of ids, one for each file of the plan.
    prefixes: Vec<String>,
    /// True if a traversal may hold an example several times.
    repeats: bool,
    /// Memory for images that threads decode.
    room: Arc<SampleRoom>,
}

/// Which examples of a traversal records are, for their random numbers.
#[derive(Clone, Copy)]
pub(super) struct Occasion<'a> {
    /// Passes of the files that had begun before the traversal.
    pub(super) pass: u64,
    pub(super) positions: Positions<'a>,
}

/// How many examples of the traversal are over with each record.
#[derive(Clone, Copy)]
pub(super) enum Positions<'a> {
    /// One more with each, after so many.
    After(u64),
    Each(&'a [u64]),
}

impl Occasion<'_> {
    /// That of the record at a place among these.
    fn position(&self, at: usize) -> u64 {
        match self.positions {
            Positions::After(over) => over + at as u64 + 1,
            Positions::Each(positions) => positions[at],
        }
    }
}

impl ImageTransforms {
    /// # Errors
    /// A feature that is not read, or whose images `stored` decodes.
    pub(super) fn new(
        stored: Arc<Schema>,
        transforms: Vec<EncodedTransforms>,
        prefixes: Vec<String>,
        spec: &StreamSpec,
        room: SampleRoom,
    ) -> Result<ImageTransforms, ConfigError> {
        let mut delivered = Schema::clone(&stored);
        let mut features = Vec::with_capacity(transforms.len());
        for of in transforms {
            let output = of.output();
            let dtype = match output.values {
                ValueType::U8 => DType::UInt8,
                ValueType::F64 => DType::Float64,
                _ => DType::Float32,
            };
            delivered = delivered.with_images(of.name(), dtype, output.dims.clone())?;
            let column = stored.column(of.name()).expect("it has been found");
            if stored.columns[column].leaf.dtype != DType::String || !stored.columns[column].levels.is_empty()
            {
                let refusal = PreparedRefusal::NotOneImage { feature: of.name().to_owned() };
                return Err(ConfigError::refused(format!("transforms.{}", of.name()), &refusal));
            }
            features.push((column, of));
        }
        let repeats = spec.repeat_files || spec.ops.iter().any(|op| matches!(op, StreamOp::Repeat(_)));
        Ok(ImageTransforms {
            delivered: Arc::new(delivered),
            stored,
            features,
            prefixes,
            repeats,
            room: Arc::new(room),
        })
    }

    /// All that changes values.
    pub(super) fn identity(&self) -> String {
        self.features.iter().map(|(_, of)| of.identity()).collect::<Vec<_>>().join("; ")
    }

    /// The state that one thread needs to transform images.
    pub(super) fn maker(self: &Arc<Self>) -> ImageMaker {
        let scratch = Mutex::new(self.features.iter().map(|(_, of)| of.scratch(&self.room)).collect());
        ImageMaker {
            transforms: Arc::clone(self),
            stored: Batch::new(&self.stored),
            scratch,
            key: String::new(),
        }
    }
}

/// Transforms images on one thread.
pub(super) struct ImageMaker {
    transforms: Arc<ImageTransforms>,
    /// Examples as they are stored.
    pub(super) stored: Batch,
    /// Never locked: what transforms keep need not be `Sync`, and readers are.
    scratch: Mutex<Vec<EncodedScratch>>,
    key: String,
}

impl ImageMaker {
    pub(super) fn transforms(&self) -> &Arc<ImageTransforms> {
        &self.transforms
    }

    /// Appends the examples of `stored`, which are records of one file from `first` on, to a batch. They are those from `at` on of
    /// an occasion.
    ///
    /// # Errors
    /// The first example whose image cannot be transformed; those before it are in the batch.
    pub(super) fn append(
        &mut self,
        first: RecordId,
        occasion: Occasion<'_>,
        at: usize,
        batch: &mut Batch,
    ) -> Result<(), Failed> {
        let ImageMaker { transforms, stored, scratch, key } = self;
        let scratch = scratch.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut rows = 0..stored.rows();
        let mut failed = None;
        for ((column, of), scratch) in transforms.features.iter().zip(scratch) {
            let made = Making { transforms, of, scratch, key, first, occasion, at };
            let made = made.append(&stored.columns[*column], rows.clone(), &mut batch.columns[*column]);
            if let Err((record, fault)) = made {
                // A later feature counts where it fails earlier.
                rows.end = record;
                let error = FeatureError { path: Some(of.name().to_owned()), fault };
                failed = Some(Failed { record, error: Box::new(error) });
            }
        }
        let is_made = |column| transforms.features.iter().any(|(of, _)| *of == column);
        batch.append_columns(stored, rows, is_made);
        failed.map_or(Ok(()), Err)
    }
}

/// One feature of some records.
struct Making<'a> {
    transforms: &'a ImageTransforms,
    of: &'a EncodedTransforms,
    scratch: &'a mut EncodedScratch,
    key: &'a mut String,
    first: RecordId,
    occasion: Occasion<'a>,
    at: usize,
}

impl Making<'_> {
    fn append(
        self,
        stored: &Column,
        rows: Range<usize>,
        to: &mut Column,
    ) -> Result<(), (usize, FeatureFault)> {
        let Data::Strings { bytes, ends } = &stored.data else { return Ok(()) };
        let mut absent = stored.missing.iter().flatten().copied().peekable();
        for row in rows {
            if absent.next_if_eq(&row).is_some() {
                to.push_absent(&self.of.output().dims);
                continue;
            }
            let start = if row == 0 { 0 } else { ends[row - 1] };
            self.key.clear();
            let (prefix, record) =
                (&self.transforms.prefixes[self.first.file], self.first.record + row as u64);
            write!(self.key, "{prefix}__{record}").expect("strings take everything");
            if self.transforms.repeats {
                // The passes of a repeated order are one traversal.
                let position = self.occasion.position(self.at + row);
                write!(self.key, " {position}").expect("strings take everything");
            }
            let made = self.of.apply(&bytes[start..ends[row]], self.occasion.pass, self.key, self.scratch);
            let TransformedSample { values, shape } =
                made.map_err(|TransformFailure { transform, error }| {
                    (row, FeatureFault::of_transform(transform, error))
                })?;
            to.push_item(shape, |bytes| append_values(values, bytes));
        }
        Ok(())
    }
}

/// Appends values as little-endian bytes.
fn append_values(values: &SampleValues, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + values.bytes(), 0);
    let to = &mut bytes[start..];
    match values {
        SampleValues::U8(values) => to.copy_from_slice(values),
        SampleValues::F32(values) => {
            to.as_chunks_mut::<4>().0.iter_mut().zip(&**values).for_each(|(to, v)| *to = v.to_le_bytes());
        }
        SampleValues::F64(values) => {
            to.as_chunks_mut::<8>().0.iter_mut().zip(&**values).for_each(|(to, v)| *to = v.to_le_bytes());
        }
        SampleValues::Exact(_) | SampleValues::Strings(_) => {
            unreachable!("transforms make floating-point numbers and images")
        }
    }
}
