//! Matrices of an archive: a row for each frame. Vectors are matrices of one row.
//!
//! A binary one begins with `\0B`, a name and a blank. `FM` and `DM` are 32-bit and 64-bit numbers, row after row, behind two
//! sizes of 32 bits, each with the byte 4 in front of it; `FV` and `DV` are vectors, with one size. Three forms are compressed:
//! behind a least value, a range, and both sizes, in 32 bits each, `CM2` has 16 bits and `CM3` 8 bits of each value, row after
//! row, and `CM` has four values of 16 bits for each column, its least, those above a quarter and three quarters of its
//! values, and its largest, and then 8 bits of each value, column after column. All are little-endian. A matrix in text stands
//! between brackets, each row in a line.

use std::ops::Range;

use tesson_core::{DataErrorKind, UserError};

use crate::images::lossy;
use crate::kaldi::archive::{Archive, ArchiveError, BINARY};
use crate::kaldi::fault::KaldiFault;
use crate::utterance::window::{FrameValue, Recorded};

/// How a matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    F32,
    F64,
    /// 8 bits of a value between those that its column has.
    ByColumn,
    /// 16 bits of the range.
    U16,
    /// 8 bits of the range.
    U8,
    Text,
}

/// The header of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    form: Form,
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Bytes before the values, and before what is said of columns.
    data: usize,
}

/// Bytes of the longest beginning of a binary matrix.
const LONGEST: usize = 2 + 4 + 16;

/// The names of binary matrices, how they are stored, and whether they are vectors.
const NAMES: [(&[u8], Form, bool); 7] = [
    (b"FM ", Form::F32, false),
    (b"DM ", Form::F64, false),
    (b"FV ", Form::F32, true),
    (b"DV ", Form::F64, true),
    (b"CM ", Form::ByColumn, false),
    (b"CM2 ", Form::U16, false),
    (b"CM3 ", Form::U8, false),
];

impl Header {
    /// Parses the header of a binary matrix; `None` where the bytes end early.
    ///
    /// # Errors
    /// Another object, and sizes that are negative.
    fn binary(bytes: &[u8]) -> Result<Option<Header>, KaldiFault> {
        let rest = bytes.strip_prefix(BINARY).unwrap_or_default();
        let Some(&(name, form, is_vector)) = NAMES.iter().find(|(name, ..)| rest.starts_with(name)) else {
            return Err(KaldiFault::NotAMatrix { found: lossy(&rest[..rest.len().min(4)]) });
        };
        let at = BINARY.len() + name.len();
        let number = |at: usize| {
            bytes.get(at..at + 4).map(|four| i32::from_le_bytes(four.try_into().expect("four bytes")))
        };
        let (sizes, data) = match form {
            // The least value and the range come first.
            Form::ByColumn | Form::U16 | Form::U8 => ([number(at + 8), number(at + 12)], at + 16),
            _ if is_vector => ([Some(1), number(at + 1)], at + 5),
            _ => ([number(at + 1), number(at + 6)], at + 10),
        };
        let [Some(rows), Some(columns)] = sizes else { return Ok(None) };
        let size = |found: i32| u32::try_from(found).map_err(|_| KaldiFault::BadSize { found: found.into() });
        Ok(Some(Header { form, rows: size(rows)?, columns: size(columns)?, data }))
    }

    /// Bytes of the whole matrix; `None` for one that no file holds.
    fn bytes(&self) -> Option<u64> {
        let (rows, columns) = (u64::from(self.rows), u64::from(self.columns));
        let values = rows.checked_mul(columns)?;
        let stored = match self.form {
            Form::F32 => values.checked_mul(4)?,
            Form::F64 => values.checked_mul(8)?,
            Form::ByColumn => values.checked_add(columns * 8)?,
            Form::U16 => values.checked_mul(2)?,
            Form::U8 | Form::Text => values,
        };
        stored.checked_add(self.data as u64)
    }
}

/// A matrix where it lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Bytes of it.
    pub(super) size: u64,
}

/// Looks at the matrix that the archive is at, and goes on behind it.
///
/// # Errors
/// Another object, or one that the file has not all of.
pub(super) fn look(archive: &mut Archive<'_>) -> Result<Found, ArchiveError> {
    let start = archive.at();
    let fault = |fault: KaldiFault| ArchiveError::Fault(fault.into(), start);
    if !archive.peek(BINARY.len())?.starts_with(BINARY) {
        return look_at_text(archive);
    }
    let header = Header::binary(archive.peek(LONGEST)?).map_err(fault)?;
    let header = header.ok_or_else(|| fault(KaldiFault::CutOff))?;
    let size = header.bytes().filter(|&size| size <= archive.size() - start);
    let size = size.ok_or_else(|| fault(KaldiFault::CutOff))?;
    archive.skip_to(start + size);
    Ok(Found { rows: header.rows, columns: header.columns, size })
}

/// Looks at a matrix in text.
fn look_at_text(archive: &mut Archive<'_>) -> Result<Found, ArchiveError> {
    let start = archive.at();
    let (mut rows, mut columns) = (0, None);
    loop {
        let at = archive.at();
        let line = archive.line()?;
        let n = line.len() as u64;
        let fault = |fault: KaldiFault| ArchiveError::Fault(DataErrorKind::from(fault), at);
        if n == 0 {
            return Err(fault(KaldiFault::CutOff));
        }
        let mut text = line.trim_ascii();
        if at == start {
            let shown = || lossy(&text[..text.len().min(20)]);
            text = text.strip_prefix(b"[").ok_or_else(|| fault(KaldiFault::NotAMatrix { found: shown() }))?;
        }
        let last = text.strip_suffix(b"]");
        let found = numbers(last.unwrap_or(text)).count() as u32;
        if found > 0 {
            match *columns.get_or_insert(found) {
                expected if expected == found => rows += 1,
                expected => return Err(fault(KaldiFault::RaggedRow { found, expected })),
            }
        }
        let is_last = last.is_some();
        archive.skip_to(at + n);
        if is_last {
            return Ok(Found { rows, columns: columns.unwrap_or(0), size: at + n - start });
        }
    }
}

/// The numbers of a text, as they are written.
fn numbers(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|number| !number.is_empty())
}

/// Which rows and columns of a matrix an utterance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first_row: u32,
    pub(super) rows: u32,
    pub(super) first_column: u32,
}

/// Bytes of a part in front of its matrix in memory.
const PART: usize = 12;

impl Part {
    /// The part in bytes.
    pub(super) fn to_bytes(self) -> [u8; PART] {
        let mut bytes = [0; PART];
        for (to, number) in bytes.chunks_exact_mut(4).zip([self.first_row, self.rows, self.first_column]) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: &[u8; PART]) -> Part {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Part { first_row: number(0), rows: number(4), first_column: number(8) }
    }
}

/// An utterance as it lies in memory: the part that it is of a matrix, and that.
pub(super) struct Matrix<'a> {
    part: Part,
    header: Header,
    bytes: &'a [u8],
    /// Values of a frame.
    values: usize,
}

impl<'a> Matrix<'a> {
    /// `None` for bytes that are none.
    pub(super) fn new(bytes: &'a [u8], values: usize) -> Option<Matrix<'a>> {
        let (part, bytes) = bytes.split_first_chunk()?;
        let part = Part::of_bytes(part);
        let header = if bytes.starts_with(BINARY) {
            Header::binary(bytes).ok()??
        } else {
            Header { form: Form::Text, rows: u32::MAX, columns: u32::MAX, data: 0 }
        };
        let end_row = part.first_row.checked_add(part.rows)?;
        let end_column = u64::from(part.first_column) + values as u64;
        let is_whole = header.form == Form::Text || header.bytes() == Some(bytes.len() as u64);
        let fits = is_whole && end_row <= header.rows && end_column <= header.columns.into();
        fits.then_some(Matrix { part, header, bytes, values })
    }

    /// The bytes of values in some rows, which have so many each, row by row.
    fn rows(&self, rows: Range<usize>, size: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let row = self.header.columns as usize * size;
        let own =
            self.part.first_column as usize * size..(self.part.first_column as usize + self.values) * size;
        let bytes = &self.bytes[self.header.data..];
        rows.map(move |i| &bytes[i * row..(i + 1) * row][own.clone()])
    }

    /// The least value, and the range.
    fn range(&self) -> (f32, f32) {
        let at = self.header.data - 16;
        let number = |at: usize| f32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"));
        (number(at), number(at + 4))
    }

    /// Appends rows of a matrix that has four values of each column.
    fn decode_by_column<T: FrameValue>(&self, rows: Range<usize>, into: &mut Vec<T>) {
        const STEP: f32 = (1.0_f64 / 65535.0) as f32;
        let (least, range) = self.range();
        let (of_columns, values) = self.bytes[self.header.data..].split_at(self.header.columns as usize * 8);
        let start = into.len();
        into.resize(start + rows.len() * self.values, T::default());
        for c in 0..self.values {
            let column = self.part.first_column as usize + c;
            let four = &of_columns[column * 8..][..8];
            let value = |i: usize| {
                let stored = u16::from_le_bytes([four[2 * i], four[2 * i + 1]]);
                least + range * STEP * f32::from(stored)
            };
            let [p0, p25, p75, p100] = std::array::from_fn(value);
            // From one to the next in equal steps, computed with 64 bits.
            let between = |low: f32, high: f32, steps: i32, step: f64| {
                (f64::from(low) + f64::from((high - low) * steps as f32) * step) as f32
            };
            let stored = &values[column * self.header.rows as usize..][..self.header.rows as usize];
            for (row, &byte) in stored[rows.clone()].iter().enumerate() {
                let value = match i32::from(byte) {
                    byte @ ..=64 => between(p0, p25, byte, 1.0 / 64.0),
                    byte @ ..=192 => between(p25, p75, byte - 64, 1.0 / 128.0),
                    byte => between(p75, p100, byte - 192, 1.0 / 63.0),
                };
                into[start + row * self.values + c] = T::of_f32(value);
            }
        }
    }

    /// Appends rows of a matrix in text.
    fn decode_text<T: FrameValue>(&self, rows: Range<usize>, into: &mut Vec<T>) -> Result<(), UserError> {
        let text = self.bytes.trim_ascii();
        let text = text.strip_prefix(b"[").unwrap_or(text);
        let text = text.strip_suffix(b"]").unwrap_or(text);
        let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        for line in lines.skip(rows.start).take(rows.len()) {
            for number in numbers(line).skip(self.part.first_column as usize).take(self.values) {
                let parsed = std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok());
                let wrong = || format!("found `{}`, expected a number", lossy(number));
                into.push(T::of_f64(parsed.ok_or_else(wrong)?));
            }
        }
        Ok(())
    }
}

impl Recorded for Matrix<'_> {
    fn n_frames(&self) -> usize {
        self.part.rows as usize
    }

    fn decode<T: FrameValue>(&self, frames: Range<usize>, into: &mut Vec<T>) -> Result<(), UserError> {
        let first = self.part.first_row as usize;
        let rows = first + frames.start..first + frames.end;
        match self.header.form {
            Form::F32 => self.rows(rows, 4).for_each(|row| {
                into.extend(row.as_chunks().0.iter().map(|&four| T::of_f32(f32::from_le_bytes(four))));
            }),
            Form::F64 => self.rows(rows, 8).for_each(|row| {
                into.extend(row.as_chunks().0.iter().map(|&eight| T::of_f64(f64::from_le_bytes(eight))));
            }),
            Form::U16 => {
                let (least, range) = self.range();
                let step = (f64::from(range) * (1.0 / 65535.0)) as f32;
                let value =
                    move |two: &[u8; 2]| T::of_f32(least + f32::from(u16::from_le_bytes(*two)) * step);
                self.rows(rows, 2).for_each(|row| into.extend(row.as_chunks().0.iter().map(value)));
            }
            Form::U8 => {
                let (least, range) = self.range();
                let step = (f64::from(range) * (1.0 / 255.0)) as f32;
                let value = move |&byte: &u8| T::of_f32(least + f32::from(byte) * step);
                self.rows(rows, 1).for_each(|row| into.extend(row.iter().map(value)));
            }
            Form::ByColumn => self.decode_by_column(rows, into),
            Form::Text => self.decode_text(rows, into)?,
        }
        Ok(())
    }
}
