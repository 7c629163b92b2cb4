//! Conversion of a feature's values to those of a stream.
//!
//! All samples of a stream have one shape. In a sequence of features each item is a sample; in a feature with an
//! unknown first dimension each row is; any other feature is one sample.

use std::ops::Range;

use tesson_core::{
    ConfigError, Data, DataErrorKind, Element, EncodedColumn, Offsets, Origin, StreamColumn, Values,
};

use super::StreamOf;
use super::numbers::{each, is_number, is_whole};
use crate::fault::TfdsFault;
use crate::features::{self, Batch, Coding, DType, Dim, Plan, Schema, Shapes, shape_text};
use crate::refusal::StreamRefusal;

/// A stream of samples of a fixed size.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The column of the schema.
    column: usize,
    path: String,
    dtype: DType,
    /// The shape of its samples.
    pub(super) shape: Vec<usize>,
    one_hot: bool,
    /// The type of its values.
    pub(super) element: Element,
    /// Its samples are files of images.
    encoded: bool,
    samples: Samples,
}

/// The number of samples in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Samples {
    /// Every sequence has this number.
    Every(u32),
    /// As many as the feature has items in the example.
    Items,
    /// As many as the first dimension of the feature is long.
    Rows,
}

/// The form that a stream of a feature has: the number of samples, and their shape.
struct Form {
    samples: Samples,
    shape: Vec<usize>,
}

/// A feature as a stream, if it can be one; otherwise the reason. `keeps_types`: strings are values, too, and a sequence of a fixed length is one sample, not as
/// many as it is long.
fn form(plan: &Plan, wanted: Option<&[u64]>, keeps_types: bool) -> Result<Form, StreamRefusal> {
    let (path, leaf) = (&plan.path, &plan.leaf);
    let whole = || shape_text(&[&plan.levels[..], &leaf.shape].concat());
    // Strings are values of a type of their own, and no floats.
    let is_string = keeps_types && leaf.dtype == DType::String;
    if !(is_number(leaf.dtype) || is_string) {
        let (dtype, shape) = (leaf.dtype.name(), whole());
        return Err(StreamRefusal::NoNumbers { feature: path.clone(), dtype, shape });
    }
    let samples = match plan.levels[..] {
        [] => Samples::Every(1),
        [None] => Samples::Items,
        [Some(n)] if n > 0 && u32::try_from(n).is_ok() => {
            let of_items: Option<Vec<usize>> = leaf.shape.iter().copied().collect();
            if let Some(of_items) = of_items.filter(|_| keeps_types && wanted.is_none()) {
                return Ok(Form { samples: Samples::Every(1), shape: [&[n], &of_items[..]].concat() });
            }
            Samples::Every(n as u32)
        }
        [Some(_)] => return Err(StreamRefusal::ItemCount { feature: path.clone() }),
        _ => {
            let levels = plan.levels.len();
            return Err(StreamRefusal::Nested { feature: path.clone(), levels });
        }
    };
    let known = |dims: &[Dim]| dims.iter().copied().collect::<Option<Vec<usize>>>();
    if let Some(wanted) = wanted {
        let fits = |(known, wanted): (&Dim, &u64)| known.is_none_or(|known| known as u64 == *wanted);
        let same_values = known(&leaf.shape).is_some_and(|dims| {
            let dims: Vec<u64> = dims.iter().map(|d| *d as u64).collect();
            values(&dims).is_some() && values(&dims) == values(wanted)
        });
        let completes = wanted.len() == leaf.shape.len() && leaf.shape.iter().zip(wanted).all(fits);
        if !same_values && !completes {
            let (found, wanted) = (shape_text(&leaf.shape), list(wanted));
            return Err(StreamRefusal::OtherShape { feature: path.clone(), found, wanted });
        }
        return Ok(Form { samples, shape: wanted.iter().map(|d| *d as usize).collect() });
    }
    // An image of unknown height is not a sequence of rows.
    let is_image = leaf.coding == Coding::Image && leaf.shape.len() < 4;
    match (known(&leaf.shape), &leaf.shape[..]) {
        (Some(shape), _) => Ok(Form { samples, shape }),
        (None, [None, rest @ ..]) if plan.levels.is_empty() && !is_image && known(rest).is_some() => {
            Ok(Form { samples: Samples::Rows, shape: known(rest).unwrap_or_default() })
        }
        _ => {
            let example =
                leaf.shape.iter().map(|d| d.unwrap_or(28).to_string()).collect::<Vec<_>>().join(":");
            Err(StreamRefusal::OpenShape { feature: path.clone(), found: whole(), example })
        }
    }
}

/// The type of a stream that keeps that of its feature. Streams have no bfloat16, which is a float32 with fewer bits.
fn element_of(dtype: DType) -> Element {
    match dtype {
        DType::BFloat16 => Element::F32,
        DType::String => Element::Bytes,
        dtype => Element::of_name(dtype.name()).unwrap_or(Element::F32),
    }
}

/// Values of a shape, if they can be counted.
fn values(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1_u64, |n, d| n.checked_mul(*d))
}

/// True if a feature can be a stream without further options.
pub(super) fn can_be_one(plan: &Plan, keeps_types: bool) -> bool {
    form(plan, None, keeps_types).is_ok()
}

impl Stream {
    /// A stream with values of this type; `None`: those and the shape of its feature.
    pub(super) fn new(of: &StreamOf, schema: &Schema, typed: Option<Element>) -> Result<Stream, ConfigError> {
        let error = |refusal: StreamRefusal| ConfigError::refused(format!("input.{}", of.name), &refusal);
        let feature = || of.feature.clone();
        let column = schema.column(&of.feature);
        let column = column.ok_or_else(|| error(StreamRefusal::NoFeature { feature: feature() }))?;
        let plan = &schema.columns[column];
        if of.encoded {
            if !plan.levels.is_empty() {
                return Err(error(StreamRefusal::SequenceOfImages { feature: feature() }));
            }
            let (path, dtype, samples) = (of.feature.clone(), plan.leaf.dtype, Samples::Every(1));
            return Ok(Stream {
                column,
                path,
                dtype,
                shape: Vec::new(),
                one_hot: false,
                element: Element::U8,
                encoded: true,
                samples,
            });
        }
        let Form { samples, mut shape } = form(plan, of.shape.as_deref(), typed.is_none()).map_err(error)?;
        let dims: Vec<u64> = shape.iter().map(|d| *d as u64).collect();
        if !values(&dims).is_some_and(|n| (1..=u64::from(u32::MAX)).contains(&n)) {
            return Err(error(StreamRefusal::SampleSize { feature: feature(), shape: list(&shape) }));
        }
        if of.one_hot {
            if !shape.is_empty() || !is_whole(plan.leaf.dtype) {
                let (dtype, shape) = (plan.leaf.dtype.name(), list(&shape));
                return Err(error(StreamRefusal::NoClass { feature: feature(), dtype, shape }));
            }
            let classes = of.dim.or(plan.leaf.classes).filter(|n| (1..=u64::from(u32::MAX)).contains(n));
            let unknown = || error(StreamRefusal::ClassCount { feature: feature() });
            shape = vec![classes.ok_or_else(unknown)? as usize];
        } else if shape.is_empty() && typed.is_some() {
            // A scalar is a sample of one value.
            shape = vec![1];
        }
        let (path, dtype) = (of.feature.clone(), plan.leaf.dtype);
        let element = match typed {
            Some(element) => element,
            None if of.one_hot => Element::F32,
            None => element_of(dtype),
        };
        Ok(Stream { column, path, dtype, shape, one_hot: of.one_hot, element, encoded: false, samples })
    }

    /// True if the stream's feature is this column of the schema.
    pub(super) fn is_of(&self, column: usize) -> bool {
        self.column == column
    }

    /// The path of its feature, if the number of samples differs from sequence to sequence.
    pub(super) fn varies(&self) -> Option<&str> {
        matches!(self.samples, Samples::Items | Samples::Rows).then_some(&*self.path)
    }

    /// Samples of a sequence that has the same number in all of them.
    pub(super) fn constant(&self) -> u32 {
        if let Samples::Every(n) = self.samples { n } else { 0 }
    }

    /// Finds the stream's feature in another schema; `None` if it has no such feature.
    pub(super) fn in_schema(&self, schema: &Schema) -> Option<Stream> {
        Some(Stream { column: schema.column(&self.path)?, ..self.clone() })
    }

    /// Values of a sample.
    fn dim(&self) -> usize {
        self.shape.iter().product()
    }

    /// Samples of a row of a batch.
    pub(super) fn len(&self, batch: &Batch, row: usize) -> usize {
        let column = &batch.columns[self.column];
        match (self.samples, &column.shapes) {
            (Samples::Every(n), _) => n as usize,
            (Samples::Items, _) => column.items(row + 1) - column.items(row),
            (Samples::Rows, Shapes::Each { rank, dims, .. }) => dims[row * rank],
            (Samples::Rows, Shapes::Same(_)) => 0,
        }
    }

    /// The stream of a chunk without sequences.
    pub(super) fn empty(&self) -> StreamColumn {
        let samples = match self.samples {
            Samples::Every(n) => Offsets::Every(n),
            Samples::Items | Samples::Rows => Offsets::At(vec![0]),
        };
        let data = if self.encoded {
            Data::Encoded(EncodedColumn::default())
        } else if self.one_hot {
            Data::Sparse { rows: Offsets::At(vec![0]), columns: Vec::new(), values: Values::Ones(0) }
        } else {
            let values = match (self.dtype, self.element) {
                (DType::UInt8 | DType::Bool, _) => Values::Bytes(Vec::new()),
                (_, Element::F64) => Values::F64(Vec::new()),
                (_, Element::F32) => Values::F32(Vec::new()),
                (_, element) => Values::empty(element),
            };
            Data::Dense { values }
        };
        StreamColumn { samples, data }
    }

    /// The first of these rows with a value that does not fit the stream, and its fault.
    pub(super) fn first_fault(
        &self,
        batch: &Batch,
        mut rows: Range<usize>,
    ) -> Option<(usize, DataErrorKind)> {
        let column = &batch.columns[self.column];
        if let (Shapes::Each { rank, dims, .. }, Samples::Every(_) | Samples::Items) =
            (&column.shapes, self.samples)
        {
            return rows.find_map(|row| {
                let items = column.items(row)..column.items(row + 1);
                let mut found = items.map(|item| &dims[item * rank..][..*rank]);
                found.find(|dims| **dims != self.shape[..]).map(|dims| (row, self.other_shape(dims)))
            });
        }
        let features::Data::Fixed { size, bytes } = &column.data else { return None };
        if !self.one_hot {
            return None;
        }
        let wrong = |row: usize| {
            let values = column.values(column.items(row)..column.items(row + 1));
            let mut wrong = None;
            each(self.dtype, &bytes[values.start * size..values.end * size], |class| {
                if !(class == -1.0 || self.is_class(class)) {
                    wrong = wrong.or(Some(class));
                }
            });
            wrong
        };
        rows.find_map(|row| {
            let index = (wrong(row)? as i128).to_string();
            Some((row, DataErrorKind::IndexOutOfRange { index, dim: self.dim() as u64 }))
        })
    }

    fn other_shape(&self, found: &[usize]) -> DataErrorKind {
        let (feature, found, expected) = (self.path.clone(), list(found), list(&self.shape));
        TfdsFault::SampleShape { feature, found, expected }.into()
    }

    fn is_class(&self, class: f64) -> bool {
        class >= 0.0 && class < self.dim() as f64
    }

    /// Appends these rows of a batch, which are free of faults. `origin` returns the origin of a row.
    pub(super) fn append(
        &self,
        batch: &Batch,
        rows: Range<usize>,
        origin: &dyn Fn(usize) -> Origin,
        to: &mut StreamColumn,
    ) {
        let column = &batch.columns[self.column];
        if let (Data::Encoded(to), features::Data::Strings { bytes, ends }) = (&mut to.data, &column.data) {
            for row in rows {
                let value = column.values(column.items(row)..column.items(row + 1)).start;
                let start = value.checked_sub(1).map_or(0, |before| ends[before]);
                to.push(&bytes[start..ends[value]], origin(row));
            }
            return;
        }
        if let Offsets::At(ends) = &mut to.samples {
            let mut end = ends.last().copied().unwrap_or(0);
            ends.extend(rows.clone().map(|row| {
                end += self.len(batch, row) as u32;
                end
            }));
        }
        let values = column.values(column.items(rows.start)..column.items(rows.end));
        if let (Data::Dense { values: Values::Strings(to) }, features::Data::Strings { bytes, ends }) =
            (&mut to.data, &column.data)
        {
            for value in values {
                let start = value.checked_sub(1).map_or(0, |before| ends[before]);
                to.push(&bytes[start..ends[value]]);
            }
            return;
        }
        let features::Data::Fixed { size, bytes } = &column.data else { return };
        let bytes = &bytes[values.start * size..values.end * size];
        match &mut to.data {
            Data::Dense { values: Values::Bytes(to) } => to.extend_from_slice(bytes),
            Data::Dense { values: Values::F32(to) } => each(self.dtype, bytes, |x| to.push(x as f32)),
            Data::Dense { values: Values::F64(to) } => each(self.dtype, bytes, |x| to.push(x)),
            Data::Dense { values: Values::Bits16(to) } => {
                to.extend(bytes.as_chunks().0.iter().map(|value| u16::from_le_bytes(*value)));
            }
            Data::Dense { values: Values::Bits32(to) } => {
                to.extend(bytes.as_chunks().0.iter().map(|value| u32::from_le_bytes(*value)));
            }
            Data::Dense { values: Values::Bits64(to) } => {
                to.extend(bytes.as_chunks().0.iter().map(|value| u64::from_le_bytes(*value)));
            }
            Data::Sparse { rows, columns, values } => {
                let Offsets::At(ends) = rows else { return };
                each(self.dtype, bytes, |class| {
                    // -1 is no label: a sample without a 1.
                    columns.extend(self.is_class(class).then_some(class as u32));
                    ends.push(columns.len() as u32);
                });
                *values = Values::Ones(columns.len());
            }
            // Ones need no values to be stored.
            _ => {}
        }
    }

    /// Appends zeros, or no samples at all, in place of a sequence that cannot be had.
    pub(super) fn blank(&self, origin: Origin, to: &mut StreamColumn) {
        if let Offsets::At(ends) = &mut to.samples {
            ends.push(ends.last().copied().unwrap_or(0));
        }
        let samples = self.constant() as usize;
        let values = samples * self.dim();
        match &mut to.data {
            Data::Encoded(to) => to.push(&[], origin),
            Data::Dense { values: Values::Bytes(v) } => v.resize(v.len() + values, 0),
            Data::Dense { values: Values::F32(v) } => v.resize(v.len() + values, 0.0),
            Data::Dense { values: Values::F64(v) } => v.resize(v.len() + values, 0.0),
            Data::Dense { values: Values::Strings(v) } => v.append_empty(values),
            Data::Dense { values: Values::Bits16(v) } => v.resize(v.len() + values, 0),
            Data::Dense { values: Values::Bits32(v) } => v.resize(v.len() + values, 0),
            Data::Dense { values: Values::Bits64(v) } => v.resize(v.len() + values, 0),
            Data::Sparse { rows: Offsets::At(ends), columns, .. } => {
                ends.extend(std::iter::repeat_n(columns.len() as u32, samples));
            }
            _ => {}
        }
    }
}

fn list<T: std::fmt::Display>(dims: &[T]) -> String {
    format!("({})", dims.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}
