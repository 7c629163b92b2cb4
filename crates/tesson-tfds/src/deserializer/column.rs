//! Values of a feature to those of a stream.

use tesson_core::{ConfigError, Data, Element, Offsets, StreamColumn, Values};

use super::{StreamOf, not_a_stream};
use crate::features::{self, Batch, Column, DType, Schema, shape_text};

/// A stream of samples of a fixed size.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The column of the schema.
    column: usize,
    dtype: DType,
    /// The shape of its samples.
    pub(super) shape: Vec<usize>,
    one_hot: bool,
}

/// Whether values of a type can be those of a stream.
pub(super) fn is_number(dtype: DType) -> bool {
    !matches!(dtype, DType::String | DType::Complex64 | DType::Complex128)
}

impl Stream {
    pub(super) fn new(of: &StreamOf, schema: &Schema) -> Result<Stream, ConfigError> {
        let column = schema.column(&of.feature);
        let missing = || ConfigError::new("input", format!("`{}` is no feature by itself", of.feature));
        let column = column.ok_or_else(missing)?;
        let plan = &schema.columns[column];
        let (leaf, path) = (&plan.leaf, &of.feature);
        let shape: Option<Vec<usize>> = leaf.shape.iter().copied().collect();
        let refuse =
            || not_a_stream(path, &shape_text(&[&plan.levels[..], &leaf.shape].concat()), leaf.dtype);
        let shape = shape.filter(|_| plan.levels.is_empty() && is_number(leaf.dtype)).ok_or_else(refuse)?;
        if !of.one_hot {
            // A scalar is a sample of one value.
            let shape = if shape.is_empty() { vec![1] } else { shape };
            return Ok(Stream { column, dtype: leaf.dtype, shape, one_hot: false });
        }
        if !shape.is_empty() {
            let what = format!(
                "`{path}` has the shape {}, the number of a class is a scalar",
                shape_text(&leaf.shape)
            );
            return Err(ConfigError::new("input", what));
        }
        let classes = of.dim.or(leaf.classes).filter(|n| (1..=u64::from(u32::MAX)).contains(n));
        let classes = classes.ok_or_else(|| {
            ConfigError::new(
                "input",
                format!("the dataset does not say how many classes `{path}` has; set `dim`"),
            )
        })?;
        Ok(Stream { column, dtype: leaf.dtype, shape: vec![classes as usize], one_hot: true })
    }

    /// Whether it is the feature of this column of the schema.
    pub(super) fn is_of(&self, column: usize) -> bool {
        self.column == column
    }

    /// Values of a sample.
    fn dim(&self) -> usize {
        self.shape.iter().product()
    }

    /// The stream of a chunk without sequences.
    pub(super) fn empty(&self, element: Element) -> StreamColumn {
        let data = if self.one_hot {
            Data::Sparse { rows: Offsets::At(vec![0]), columns: Vec::new(), values: Values::Ones(0) }
        } else {
            let values = match (self.dtype, element) {
                (DType::UInt8 | DType::Bool, _) => Values::Bytes(Vec::new()),
                (_, Element::F32) => Values::F32(Vec::new()),
                (_, Element::F64) => Values::F64(Vec::new()),
            };
            Data::Dense { values }
        };
        StreamColumn { samples: Offsets::Every(1), data }
    }

    /// Appends all rows of a batch.
    ///
    /// # Errors
    /// The first row whose class is none, and its number; the rows before it are appended.
    pub(super) fn append(&self, batch: &Batch, to: &mut StreamColumn) -> Result<(), (usize, i64)> {
        let column = &batch.columns[self.column];
        let features::Data::Fixed { bytes, .. } = &column.data else { return Ok(()) };
        match &mut to.data {
            Data::Dense { values: Values::Bytes(to) } => to.extend_from_slice(bytes),
            Data::Dense { values: Values::F32(to) } => each(self.dtype, bytes, |x| to.push(x as f32)),
            Data::Dense { values: Values::F64(to) } => each(self.dtype, bytes, |x| to.push(x)),
            Data::Dense { .. } => {}
            Data::Sparse { rows, columns, values } => return self.classes(column, rows, columns, values),
        }
        Ok(())
    }

    fn classes(
        &self,
        from: &Column,
        rows: &mut Offsets,
        columns: &mut Vec<u32>,
        values: &mut Values,
    ) -> Result<(), (usize, i64)> {
        let (features::Data::Fixed { bytes, .. }, Offsets::At(ends)) = (&from.data, rows) else {
            return Ok(());
        };
        let (mut row, mut wrong) = (0, None);
        each(self.dtype, bytes, |class| {
            let known = class >= 0.0 && class < self.dim() as f64;
            // -1 is no label: a sample without a 1.
            if wrong.is_none() && (known || class == -1.0) {
                columns.extend(known.then_some(class as u32));
                ends.push(columns.len() as u32);
            } else {
                wrong = wrong.or(Some((row, class as i64)));
            }
            row += 1;
        });
        *values = Values::Ones(columns.len());
        wrong.map_or(Ok(()), Err)
    }

    /// Takes back all samples from number `n` on.
    pub(super) fn truncate(&self, to: &mut StreamColumn, n: usize) {
        let len = n * self.dim();
        match &mut to.data {
            Data::Dense { values: Values::Bytes(v) } => v.truncate(len),
            Data::Dense { values: Values::F32(v) } => v.truncate(len),
            Data::Dense { values: Values::F64(v) } => v.truncate(len),
            Data::Dense { values: Values::Ones(_) } => {}
            Data::Sparse { rows, columns, values } => {
                if let Offsets::At(ends) = rows {
                    ends.truncate(n + 1);
                    columns.truncate(ends[n] as usize);
                }
                *values = Values::Ones(columns.len());
            }
        }
    }

    /// Appends a sample of zeros in place of one that cannot be had.
    pub(super) fn blank(&self, to: &mut StreamColumn) {
        let dim = self.dim();
        match &mut to.data {
            Data::Dense { values: Values::Bytes(v) } => v.resize(v.len() + dim, 0),
            Data::Dense { values: Values::F32(v) } => v.resize(v.len() + dim, 0.0),
            Data::Dense { values: Values::F64(v) } => v.resize(v.len() + dim, 0.0),
            Data::Dense { values: Values::Ones(_) } => {}
            Data::Sparse { rows, columns, .. } => {
                if let Offsets::At(ends) = rows {
                    ends.push(columns.len() as u32);
                }
            }
        }
    }
}

/// Each value of a column. Numbers of 64 bits beyond 2^53 are rounded, which is all that a stream can hold.
fn each(dtype: DType, bytes: &[u8], mut to: impl FnMut(f64)) {
    macro_rules! all {
        ($type:ty, $size:literal) => {
            bytes.as_chunks::<$size>().0.iter().for_each(|b| to(<$type>::from_le_bytes(*b) as f64))
        };
    }
    match dtype {
        DType::Bool | DType::UInt8 => all!(u8, 1),
        DType::Int8 => all!(i8, 1),
        DType::Int16 => all!(i16, 2),
        DType::UInt16 => all!(u16, 2),
        DType::Int32 => all!(i32, 4),
        DType::UInt32 => all!(u32, 4),
        DType::Int64 => all!(i64, 8),
        DType::UInt64 => all!(u64, 8),
        DType::Float32 => all!(f32, 4),
        DType::Float64 => all!(f64, 8),
        DType::BFloat16 => {
            bytes.as_chunks::<2>().0.iter().for_each(|b| to(bfloat16(u16::from_le_bytes(*b)).into()));
        }
        DType::Float16 => bytes.as_chunks::<2>().0.iter().for_each(|b| to(float16(u16::from_le_bytes(*b)))),
        DType::Complex64 | DType::Complex128 | DType::String => {}
    }
}

/// The upper half of a 32-bit float.
fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// IEEE 754's half precision: 1 bit of sign, 5 of exponent, 10 of fraction.
fn float16(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_those_of_the_standard() {
        let cases: [(u16, f64); 7] = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x0400, 6.103_515_625e-5),
            (0x3555, 0.333_251_953_125),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(float16(bits), value, "{bits:#06x}");
        }
        assert!(float16(0x7e00).is_nan());
        assert_eq!(bfloat16(0xbfc0), -1.5);
    }
}
