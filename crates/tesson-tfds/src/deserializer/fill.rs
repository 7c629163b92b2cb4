//! Appends the examples of a block to a chunk.

use std::ops::Range;

use tesson_core::{Chunk, DataError, DataErrorKind, Error, Fault, Offsets, Origin, ResourceId};
use tesson_formats::record::{self, Problem};

use super::corpus::{Records, Slice};
use super::key::{KeyColumn, KeyOf};
use crate::fault::{RecordFault, TfdsFault};
use crate::features::Batch;
use crate::rows::{Bad, Reading, Step, Why};

/// A chunk that is filled with examples of a slice.
pub(super) struct Filling<'a> {
    pub(super) records: &'a Records,
    pub(super) slice: &'a Slice,
    pub(super) out: &'a mut Chunk,
    pub(super) keys: &'a mut KeyColumn,
}

/// The origin of an encoded sample: the record at `offset` of the slice's file.
fn origin(slice: &Slice, offset: u64) -> Origin {
    Origin { resource: ResourceId(slice.resource), offset, line: None, embedded: true }
}

/// A row of a batch that cannot be delivered.
struct Wrong {
    row: usize,
    kind: DataErrorKind,
    stream: Option<u16>,
}

impl Filling<'_> {
    /// Appends the examples of a block, and records their faults.
    ///
    /// # Errors
    /// More samples than one chunk can hold.
    pub(super) fn append(
        &mut self,
        block: &record::Records,
        reading: &mut Reading,
        mut alone: Option<&mut Reading>,
    ) -> Result<(), Error> {
        reading.each(block, &mut |step| match step {
            Step::Rows { at, batch } => self.rows(block, at, batch, &mut alone),
            Step::Bad(Bad { at, offset, why }) => {
                let (kind, stream) = match why {
                    Why::Record(kind) => (self.missing(block, at).unwrap_or(kind), None),
                    Why::Example(error) => {
                        let stream = error.path.as_ref().and_then(|path| self.records.stream_of(path));
                        let (record, id) = (block.number(at), self.id(block, at));
                        (RecordFault::of_example(record, Some(id), error).into(), stream)
                    }
                };
                self.leave_out(block, at, offset, kind, stream, &mut alone);
                Ok(())
            }
        })
    }

    fn rows(
        &mut self,
        block: &record::Records,
        at: usize,
        batch: &Batch,
        alone: &mut Option<&mut Reading>,
    ) -> Result<(), Error> {
        let mut row = 0;
        while row < batch.rows() {
            let wrong = self.first_wrong(batch, row..batch.rows());
            let good = row..wrong.as_ref().map_or(batch.rows(), |wrong| wrong.row);
            row = good.end;
            self.append_rows(block, at, batch, good)?;
            if let Some(Wrong { kind, stream, .. }) = wrong {
                let kind = match kind.of_format::<TfdsFault>() {
                    Some(fault) => self.of_record(block, at + row, fault.clone()),
                    None => kind,
                };
                self.leave_out(block, at + row, block.offset(at + row), kind, stream, alone);
                row += 1;
            }
        }
        Ok(())
    }

    /// The first of these rows that does not fit a stream or the key.
    fn first_wrong(&self, batch: &Batch, rows: Range<usize>) -> Option<Wrong> {
        let of_stream = |(i, stream): (usize, &super::column::Stream)| {
            let (row, kind) = stream.first_fault(batch, rows.clone())?;
            Some(Wrong { row, kind, stream: Some(i as u16) })
        };
        let streams = self.records.streams.iter().enumerate().filter_map(of_stream);
        let key = match &self.records.keys {
            KeyOf::Feature(key) => key.first_fault(batch, rows.clone()),
            KeyOf::Number | KeyOf::Id => None,
        };
        let key = key.map(|(row, kind)| Wrong { row, kind, stream: None });
        streams.chain(key).min_by_key(|wrong| wrong.row)
    }

    fn append_rows(
        &mut self,
        block: &record::Records,
        at: usize,
        batch: &Batch,
        rows: Range<usize>,
    ) -> Result<(), Error> {
        for row in rows.clone() {
            let (sequence, found) =
                (self.out.n_sequences as usize + (row - rows.start), self.records.len(batch, row));
            let indexed = self.out.lengths[sequence];
            if found != u64::from(indexed) {
                return Err(self.error(block, at + row, TfdsFault::Changed { found, indexed }));
            }
        }
        for (stream, column) in self.records.streams.iter().zip(&mut self.out.streams) {
            if let Offsets::At(ends) = &column.samples {
                let samples = rows.clone().map(|row| stream.len(batch, row) as u64);
                let all = samples.sum::<u64>() + u64::from(ends.last().copied().unwrap_or(0));
                if all > u64::from(u32::MAX) {
                    return Err(self.error(block, at + rows.start, TfdsFault::TooManySamples));
                }
            }
            let origin = |row: usize| origin(self.slice, block.offset(at + row));
            stream.append(batch, rows.clone(), &origin, column);
        }
        match &self.records.keys {
            KeyOf::Feature(key) => key.append(batch, rows.clone(), self.keys),
            KeyOf::Number | KeyOf::Id => {
                rows.clone()
                    .for_each(|row| self.records.push_key(self.slice, block.number(at + row), self.keys));
            }
        }
        self.out.n_sequences += rows.len() as u32;
        Ok(())
    }

    /// Puts zeros or nothing in place of a sequence that cannot be read.
    fn leave_out(
        &mut self,
        block: &record::Records,
        at: usize,
        offset: u64,
        kind: DataErrorKind,
        stream: Option<u16>,
        alone: &mut Option<&mut Reading>,
    ) {
        let (sequence, resource) = (self.out.n_sequences, ResourceId(self.slice.resource));
        self.out.faults.push(Fault { sequence, kind, stream, resource, offset, line: None, fatal: false });
        self.out.left_out.push(sequence);
        for (stream, column) in self.records.streams.iter().zip(&mut self.out.streams) {
            stream.blank(origin(self.slice, offset), column);
        }
        self.records.push_key_of(self.slice, block, at, alone.as_deref_mut(), self.keys);
        self.out.n_sequences += 1;
    }

    /// The fault if the file has fewer records than declared.
    fn missing(&self, block: &record::Records, at: usize) -> Option<DataErrorKind> {
        let Problem::Absent { records } = block.fault(at)?.problem else { return None };
        let found = format!("{records} records");
        Some(self.of_record(block, at, TfdsFault::RecordCount { found, expected: self.slice.of }))
    }

    fn id(&self, block: &record::Records, at: usize) -> String {
        self.records.id(self.slice, block.number(at))
    }

    /// A fault with the record that it is of.
    fn of_record(&self, block: &record::Records, at: usize, fault: TfdsFault) -> DataErrorKind {
        let (record, id) = (block.number(at), Some(self.id(block, at)));
        RecordFault { record, id, feature: None, fault }.into()
    }

    fn error(&self, block: &record::Records, at: usize, fault: TfdsFault) -> Error {
        let place = self.records.place(self.slice, block.offset(at));
        DataError::new(self.of_record(block, at, fault), place).into()
    }
}
