//! Chunks and parts of chunks to columns, with all that is wrong with them.

use tesson_core::{Chunk, Damage, DataErrorKind, Error, Fault, Keys, Scratch};

use super::column::{Column, Mark, Spare, Stopped, Wrong};
use super::record::Form;
use super::value::Real;
use super::{FILE, Rules};

/// Decodes into the memory of a chunk.
pub(super) struct Decoder<'r, E> {
    rules: &'r Rules,
    /// One column for each stream that is used.
    columns: Vec<Column<E>>,
    /// Counted lengths, from the chunks' prefixes.
    pub(super) lengths: Vec<u32>,
    faults: Vec<Fault>,
    damaged: Vec<Damage>,
    notes: Vec<Fault>,
    notes_wanted: bool,
    warnings: u64,
    /// What columns find wrong, before it becomes faults.
    wrong: Vec<Wrong>,
    spare: Spare,
}

impl<'r, E: Real> Decoder<'r, E> {
    /// A decoder into the memory of `out`.
    pub(super) fn new(rules: &'r Rules, scratch: &mut Scratch, out: &mut Chunk) -> Decoder<'r, E> {
        let mut spare = scratch
            .format
            .take()
            .and_then(|any| any.downcast::<Spare>().ok())
            .map_or_else(Spare::new, |b| *b);
        let mut old = std::mem::take(&mut out.streams).into_iter();
        let columns = rules.used().map(|stream| Column::new(stream.form, old.next(), &mut spare)).collect();
        let mut lengths = std::mem::take(&mut out.lengths);
        lengths.clear();
        Decoder {
            rules,
            columns,
            lengths,
            faults: Vec::new(),
            damaged: Vec::new(),
            notes: Vec::new(),
            notes_wanted: scratch.notes,
            warnings: 0,
            wrong: Vec::new(),
            spare,
        }
    }

    /// Sequences so far.
    fn n_sequences(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Decodes all of chunk `number`; `bytes` are all that is its own.
    ///
    /// # Errors
    /// Lengths that do not add up to what the table says: an index pass finds that too.
    pub(super) fn chunk(&mut self, number: u32, bytes: &[u8]) -> Result<(), Error> {
        let place = self.rules.chunks[number as usize];
        let first = self.n_sequences();
        let prefix = place.prefix_bytes() as usize;
        self.lengths.extend(bytes[..prefix].as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)));
        self.rules.check_lengths(number, &self.lengths[first as usize..])?;
        let marks: Vec<Mark> = self.columns.iter().map(Column::mark).collect();
        if let Err((stream, stopped)) = self.streams(bytes, prefix, place.offset, place.n_sequences) {
            let error = self.rules.damage(
                number,
                stopped.sequence,
                stream,
                place.offset + stopped.at as u64,
                stopped.why,
            );
            for (column, mark) in self.columns.iter_mut().zip(marks) {
                column.go_back(mark);
                column.skip(place.n_sequences);
            }
            self.wrong.clear();
            self.faults.retain(|fault| fault.sequence < first);
            self.damaged.push(Damage { sequences: first..first + place.n_sequences, error });
        } else {
            self.compare_lengths(first as usize, place.offset);
        }
        Ok(())
    }

    /// Decodes the streams of a whole chunk that begins at byte `base`, the first of them `at` bytes behind it.
    fn streams(&mut self, bytes: &[u8], mut at: usize, base: u64, n: u32) -> Result<(), (usize, Stopped)> {
        let mut used = 0;
        for (number, stream) in self.rules.streams_read().iter().enumerate() {
            let behind = |stopped: Stopped| (number, Stopped { at: at + stopped.at, ..stopped });
            if stream.skip {
                at += pass_over(stream.form, &bytes[at..], n).map_err(behind)?;
            } else {
                let taken = self.columns[used].records(&bytes[at..], n, &mut self.wrong).map_err(behind)?;
                self.note_wrong(used, base + at as u64);
                used += 1;
                at += taken;
            }
        }
        Ok(())
    }

    /// Decodes `n` records of one of the streams that are used. `bytes` begin at byte `base` of the file, `before`
    /// records in front of them.
    pub(super) fn part(
        &mut self,
        used: usize,
        bytes: &[u8],
        before: u32,
        n: u32,
        base: u64,
    ) -> Result<(), Stopped> {
        let column = &mut self.columns[used];
        let at = pass_over(column.form(), bytes, before)?;
        let done = column.records(&bytes[at..], n, &mut self.wrong);
        self.note_wrong(used, base + at as u64);
        done.map(drop).map_err(|stopped| Stopped { at: at + stopped.at, ..stopped })
    }

    /// Ends `n` sequences whose parts have all been decoded; their lengths stand at byte `base` of the file.
    pub(super) fn end_part(&mut self, n: usize, base: u64) {
        self.compare_lengths(self.lengths.len() - n, base);
    }

    /// Notes that the next `lengths` are those of sequences that are all damaged.
    pub(super) fn damaged(&mut self, lengths: impl Iterator<Item = u32>, error: tesson_core::DataError) {
        let first = self.n_sequences();
        self.lengths.extend(lengths);
        let sequences = first..self.n_sequences();
        self.columns.iter_mut().for_each(|column| column.skip(sequences.len() as u32));
        self.damaged.push(Damage { sequences, error });
    }

    /// Makes faults of what a column has found wrong in bytes from `base` on.
    fn note_wrong(&mut self, used: usize, base: u64) {
        self.faults.extend(self.wrong.drain(..).map(|Wrong { sequence, kind, at }| Fault {
            sequence,
            kind,
            stream: Some(used as u16),
            resource: FILE,
            offset: base + at as u64,
            line: None,
            fatal: true,
        }));
    }

    /// Notes where the length in front of a chunk is not that of the longest stream (§3). The former counts.
    fn compare_lengths(&mut self, first: usize, base: u64) {
        if self.rules.skips() {
            return;
        }
        for i in first..self.lengths.len() {
            let longest = self.columns.iter().map(|column| column.length(i)).max().unwrap_or(0);
            let length = self.lengths[i];
            if longest != length {
                self.warnings += 1;
                if self.notes_wanted {
                    let offset = base + 4 * (i - first) as u64;
                    self.notes.push(other_length(i as u32, length, longest, offset));
                }
            }
        }
    }

    /// Hands everything over.
    pub(super) fn finish(mut self, keys: Keys, scratch: &mut Scratch, out: &mut Chunk) {
        self.faults.sort_by_key(|fault| (fault.sequence, fault.offset));
        scratch.warnings += self.warnings;
        let spare = &mut self.spare;
        *out = Chunk {
            n_sequences: self.lengths.len() as u32,
            lengths: self.lengths,
            keys,
            streams: self.columns.into_iter().map(|column| column.finish(spare)).collect(),
            faults: self.faults,
            damaged: self.damaged,
            notes: self.notes,
            ..Chunk::empty()
        };
        // No more than a chunk can need.
        self.spare.truncate(2 * out.streams.len());
        scratch.format = Some(Box::new(self.spare));
    }
}

fn other_length(sequence: u32, counted: u32, longest: u32, offset: u64) -> Fault {
    let what = format!("the sequence counts as {counted} samples, the longest of its streams has {longest}");
    Fault {
        sequence,
        kind: DataErrorKind::Malformed { what },
        stream: None,
        resource: FILE,
        offset,
        line: None,
        fatal: false,
    }
}

/// The bytes that the first `n` records take.
fn pass_over(form: Form, bytes: &[u8], n: u32) -> Result<usize, Stopped> {
    let mut at = 0;
    for sequence in 0..n {
        let rest = &bytes[at..];
        let head = form.head(rest, rest.len() as u64).map_err(|why| Stopped { sequence, at, why })?;
        at += head.bytes as usize;
    }
    Ok(at)
}
