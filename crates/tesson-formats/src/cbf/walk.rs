//! Going over encoded sequences one by one, to find where a chunk ends among them.

use std::sync::Arc;

use tesson_core::Element;

use super::chunk_queue::Part;
use super::encode::Encoded;
use super::record::Form;
use super::records::Records;
use crate::write::StreamSpec;

/// Stands between two sequences.
pub(super) struct Walk {
    /// Counted lengths, and the records of each stream.
    columns: Vec<Column>,
}

struct Column {
    records: Arc<Records>,
    /// `None` for the lengths, of four bytes each.
    form: Option<Form>,
    /// End of the part that has been taken.
    taken: usize,
    /// The next sequence begins here, and has so many bytes.
    at: usize,
    size: usize,
}

/// The size that a sequence adds to a chunk.
pub(super) struct Size {
    /// Its counted length.
    pub(super) length: u64,
    pub(super) bytes: u64,
}

impl Walk {
    /// Stands in front of the first of these.
    pub(super) fn new(encoded: Encoded, streams: &[StreamSpec]) -> Walk {
        let forms = std::iter::once(None).chain(streams.iter().map(|stream| Some(form(stream))));
        let column = |(records, form)| Column { records: Arc::new(records), form, taken: 0, at: 0, size: 0 };
        Walk { columns: encoded.columns.into_iter().zip(forms).map(column).collect() }
    }

    /// Goes over the next sequence; returns what it adds. `None` behind the last.
    pub(super) fn step(&mut self) -> Option<Size> {
        self.columns.iter_mut().for_each(|column| column.at += column.size);
        let lengths = &self.columns[0];
        let length = lengths.records.bytes()[lengths.at..].first_chunk().copied();
        let length = length.map(u32::from_le_bytes);
        for column in &mut self.columns {
            column.size = if length.is_some() { column.next_bytes() } else { 0 };
        }
        let bytes = self.columns.iter().map(|column| column.size as u64).sum();
        Some(Size { length: length?.into(), bytes })
    }

    /// Takes the part after what has been taken so far and before the sequence gone over last; one part a column.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Part> {
        self.columns.iter_mut().map(|column| {
            let bytes = column.taken..column.at;
            column.taken = column.at;
            Part { records: Arc::clone(&column.records), bytes }
        })
    }

    /// All that has not been taken, a part a column.
    pub(super) fn rest(self) -> impl Iterator<Item = Part> {
        self.columns.into_iter().map(|Column { records, taken, .. }| {
            let bytes = taken..records.bytes().len();
            Part { records, bytes }
        })
    }
}

impl Column {
    /// Bytes of the sequence at the present place.
    fn next_bytes(&self) -> usize {
        let left = &self.records.bytes()[self.at..];
        let Some(form) = self.form else { return 4 };
        let head = form.head(left, left.len() as u64).expect("records are whole where they are made");
        head.bytes as usize
    }
}

fn form(stream: &StreamSpec) -> Form {
    Form {
        sparse: stream.sparse,
        double: stream.element == Element::F64,
        // A sparse record does not depend on it.
        dim: stream.dim.unwrap_or(0) as u32,
    }
}
