//! Chunks and parts of chunks to columns, with all that is wrong with them.

use std::ops::Range;

use tesson_core::{Chunk, ChunkId, Damage, DecodeWarnings, Error, Fault, Keys, Scratch};

use super::column::{Column, Mark, Spare, Wrong};
use super::fault::CbfFault;
use super::layout::ChunkPlace;
use super::record::{Broken, Form};
use super::value::Real;
use super::window::Window;
use super::{FILE, Rules};

/// Where a section comes to an end before its time: at which record, and where in the file that begins.
pub(super) struct Cut {
    pub(super) sequence: u32,
    pub(super) at: u64,
    pub(super) why: Broken,
}

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
    /// How many lengths are not those of their streams, and where the first is written.
    other_lengths: u64,
    first_other: u64,
    /// Columns that were found to be wrong, before they become faults.
    wrong: Vec<Wrong>,
    /// How far columns had come before the present chunk.
    marks: Vec<Mark>,
    /// Samples of the longest stream, of each sequence that is being compared.
    longest: Vec<u32>,
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
            other_lengths: 0,
            first_other: 0,
            wrong: Vec::new(),
            marks: Vec::new(),
            longest: Vec::new(),
            spare,
        }
    }

    /// Sequences so far.
    fn n_sequences(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Decodes all of chunk `number`, which lies in the window's stretch.
    ///
    /// # Errors
    /// Lengths that do not add up to what the table says: an index pass finds that too. What reading answers.
    pub(super) fn chunk(&mut self, number: ChunkId, window: &mut Window<'_>) -> Result<(), Error> {
        let place = self.rules.chunks[number.index()];
        let first = self.n_sequences();
        self.prefix(&place, window)?;
        self.rules.check_lengths(number, &self.lengths[first as usize..])?;
        self.marks.clear();
        self.marks.extend(self.columns.iter().map(Column::mark));
        let mut at = place.offset + place.prefix_bytes();
        for stream in 0..self.columns.len() {
            match self.section(stream, window, at..place.end, place.n_sequences)? {
                Ok(end) => at = end,
                Err(cut) => {
                    self.refuse(number, first, stream, cut);
                    return Ok(());
                }
            }
        }
        self.compare_lengths(first as usize, place.offset);
        Ok(())
    }

    /// Reads the lengths in front of a chunk.
    fn prefix(&mut self, place: &ChunkPlace, window: &mut Window<'_>) -> Result<(), Error> {
        let (mut at, end) = (place.offset, place.offset + place.prefix_bytes());
        while at < end {
            let bytes = window.look(at, 4)?;
            let bytes = &bytes[..bytes.len().min((end - at) as usize)];
            let lengths = bytes.as_chunks().0;
            self.lengths.extend(lengths.iter().map(|&b| u32::from_le_bytes(b)));
            at += 4 * lengths.len() as u64;
        }
        Ok(())
    }

    /// Takes a damaged chunk's sequences for lost.
    fn refuse(&mut self, number: ChunkId, first: u32, stream: usize, Cut { sequence, at, why }: Cut) {
        let error = self.rules.damage(number, sequence, stream, at, why);
        for (column, mark) in self.columns.iter_mut().zip(&self.marks) {
            column.go_back(*mark);
            column.skip(self.lengths.len() as u32 - first);
        }
        self.faults.retain(|fault| fault.sequence < first);
        self.damaged.push(Damage { sequences: first..self.n_sequences(), error });
    }

    /// Decodes `n` records of one of the streams that are used. They begin where `place` does, and it holds them. Where
    /// they end, or which of them cannot be.
    pub(super) fn section(
        &mut self,
        used: usize,
        window: &mut Window<'_>,
        place: Range<u64>,
        n: u32,
    ) -> Result<Result<u64, Cut>, Error> {
        let (mut at, mut done, mut least) = (place.start, 0, 0);
        while done < n {
            let (bytes, left) = (window.look(at, least)?, place.end - at);
            let bytes = &bytes[..bytes.len().min(left as usize)];
            let bytes = self.columns[used].about(bytes, n - done);
            let taken = self.columns[used].records(bytes, left, n - done, &mut self.wrong);
            self.note_wrong(used, at);
            match taken {
                Ok(taken) => {
                    at += taken.bytes as u64;
                    done += taken.records;
                    least = taken.next;
                }
                Err(stopped) => {
                    let (sequence, at) = (done + stopped.sequence, at + stopped.at as u64);
                    return Ok(Err(Cut { sequence, at, why: stopped.why }));
                }
            }
        }
        Ok(Ok(at))
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

    /// Notes where the length in front of a chunk is not that of the longest stream (spec/cbf.md §3). The former
    /// counts.
    fn compare_lengths(&mut self, first: usize, base: u64) {
        if self.rules.skips() {
            return;
        }
        self.longest.clear();
        self.longest.resize(self.lengths.len() - first, 0);
        for column in &self.columns {
            self.longest.iter_mut().zip(column.lengths(first)).for_each(|(most, n)| *most = n.max(*most));
        }
        if self.longest == self.lengths[first..] {
            return;
        }
        for (i, (&longest, &length)) in self.longest.iter().zip(&self.lengths[first..]).enumerate() {
            if longest != length {
                let offset = base + 4 * i as u64;
                if self.other_lengths == 0 {
                    self.first_other = offset;
                }
                self.other_lengths += 1;
                if self.notes_wanted {
                    self.notes.push(other_length((first + i) as u32, length, longest, offset));
                }
            }
        }
    }

    /// Hands everything over.
    pub(super) fn finish(mut self, keys: Keys, scratch: &mut Scratch, out: &mut Chunk) {
        self.faults.sort_by_key(|fault| (fault.sequence, fault.offset));
        let first = (self.other_lengths > 0).then(|| {
            let (file, at) = (self.rules.file.display(), self.first_other);
            format!("{file} (byte {at}): the length of the sequence is not that of its longest stream, it counts as it is")
        });
        scratch.warnings.merge(DecodeWarnings {
            count: self.other_lengths,
            first,
            ..DecodeWarnings::default()
        });
        let spare = &mut self.spare;
        *out = Chunk::new(
            keys,
            self.lengths,
            self.columns.into_iter().map(|column| column.finish(spare)).collect(),
        );
        out.faults = self.faults;
        out.damaged = self.damaged;
        out.notes = self.notes;
        // No more than a chunk can need.
        self.spare.truncate(2 * out.streams.len());
        scratch.format = Some(Box::new(self.spare));
    }
}

fn other_length(sequence: u32, counted: u32, longest: u32, offset: u64) -> Fault {
    Fault {
        sequence,
        kind: CbfFault::OtherLength { counted, longest }.into(),
        stream: None,
        resource: FILE,
        offset,
        line: None,
        // The sequence would be delivered in a length that it does not have.
        fatal: true,
    }
}

/// Where the record behind the first `n` of a section begins, or which of them cannot be.
pub(super) fn pass_over(
    form: Form,
    window: &mut Window<'_>,
    place: Range<u64>,
    n: u32,
) -> Result<Result<u64, Cut>, Error> {
    let mut at = place.start;
    for sequence in 0..n {
        match form.head(window.look(at, form.head_bytes() as u64)?, place.end - at) {
            Ok(head) => at += head.bytes,
            Err(why) => return Ok(Err(Cut { sequence, at, why })),
        }
    }
    Ok(Ok(at))
}
