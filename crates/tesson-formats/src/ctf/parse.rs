//! From rows to columns.
//!
//! The parser here is the definition of the format: byte by byte, and the only place where faults are found. The kernels
//! of [`super::tokens`] take the values of ordinary samples off it, or whole rows, and give back whatever they find odd, undone.

use tesson_core::{
    Chunk, Data, DataErrorKind, DecodeRoom, DecodeWarnings, Element, Fault, Keys, Offsets, Scratch,
    StreamColumn,
};

use super::bytes::{is_blank, is_end, is_unprintable, quote, skip_blanks, skip_digits, skip_to_input};
use super::column::Column;
use super::decimal::{Grammar, Real, read};
use super::fault::CtfFault;
use super::options::Input;
use super::rows::{Keying, LastId, RowId, has_input};
use super::sparse_rows::{self, SparseRows, Tape};
use super::tag::Tag;
use super::tokens::{Kernel, Opening, whole_row};
use super::{FILE, Name, Rules, checks};

/// Bytes that are no run of whole sequences.
#[derive(Debug)]
pub(crate) enum NoSequences {
    /// An id beyond 64 bits: its digits, and where they lie in the file.
    Overflow { found: String, offset: u64 },
    /// The first row has no id.
    NoId,
    /// A sequence takes more memory than one may have: at least so many bytes of dense values. Where it begins in the file.
    TooLarge { found: u64, offset: u64 },
    /// All sequences together take more memory than there is for them.
    Outgrown,
}

/// The sequence being read.
#[derive(Clone, Copy, Debug)]
struct Open {
    offset: u64,
    line: u64,
    /// Counted rows so far.
    rows: u32,
    /// Faults and notes before it.
    n_faults: usize,
    n_notes: usize,
}

/// An irregularity of a row or sequence that is no fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Odd {
    /// A dense sample with fewer values than its stream has.
    Short { stream: usize },
    /// A sequence without a sample of a stream.
    Empty { stream: usize },
    /// A last row without a line feed.
    NoLineFeed,
}

impl Odd {
    fn describe(self, rules: &Rules) -> String {
        let name = |stream: usize| String::from_utf8_lossy(&rules.inputs[stream].alias);
        match self {
            Odd::Short { stream } => {
                let dim = rules.inputs[stream].dim;
                format!("`|{}` has fewer values than its dim {dim}, the rest are zeros", name(stream))
            }
            Odd::Empty { stream } => format!("no sample of `|{}` in this sequence", name(stream)),
            Odd::NoLineFeed => "the last row ends without a line feed".into(),
        }
    }
}

/// Memory that a decoder keeps from one chunk to the next beside the chunk's own.
#[derive(Default)]
struct Spare {
    offsets: Vec<Vec<u32>>,
    keys: Vec<u64>,
    tape: Option<Box<Tape>>,
}

/// Decodes runs of whole sequences, one after the other, into the columns of one chunk.
pub(crate) struct Decoder<'r, E> {
    pub(super) rules: &'r Rules,
    kernel: Kernel,
    pub(super) columns: Vec<Column<E>>,
    lengths: Vec<u32>,
    numbers: Vec<u64>,
    texts: (Vec<u8>, Vec<u32>),
    faults: Vec<Fault>,
    left_out: Vec<u32>,
    /// Findings of a check beside faults; `None` where nothing is checked.
    notes: Option<Vec<Fault>>,
    /// Things worth a line in a log that are no faults: how many, and the first with its offset in the file.
    odd: (u64, Option<(Odd, u64)>),
    /// Unknown inputs.
    skipped: u64,
    /// File offset of the slice's first byte.
    offset: u64,
    /// The line being read.
    line: u64,
    /// The stream that comes next if rows are alike.
    expected: usize,
    /// The openings of each stream's sample in the rows that are read whole; none if no row is.
    openings: Vec<Opening>,
    /// For rows of sparse samples that are sequences.
    tape: Option<Box<Tape>>,
    /// Faults of the sequence that is open are the ones from here on.
    open: Option<Open>,
    /// The memory for dense values.
    room: DecodeRoom,
    /// Why decoding ends.
    end: Option<NoSequences>,
}

impl<'r, E: Real> Decoder<'r, E> {
    /// A decoder into the memory of `out`.
    pub(crate) fn new(
        rules: &'r Rules,
        kernel: Kernel,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Decoder<'r, E> {
        let mut spare = take_spare(scratch);
        let mut old = std::mem::take(&mut out.streams).into_iter();
        let columns = rules.inputs.iter().map(|_| recycled(old.next(), &mut spare)).collect();
        let mut numbers = match std::mem::replace(&mut out.keys, Keys::Consecutive(0)) {
            Keys::Numbers(v) => v,
            _ => std::mem::take(&mut spare.keys),
        };
        numbers.clear();
        let tape = (kernel.is_by_blocks() && !scratch.notes && sparse_rows::are_possible(rules))
            .then(|| spare.tape.take().unwrap_or_else(Tape::new));
        scratch.format = Some(Box::new(spare));
        let mut taken = (
            std::mem::take(&mut out.lengths),
            std::mem::take(&mut out.faults),
            std::mem::take(&mut out.left_out),
        );
        taken.0.clear();
        taken.1.clear();
        taken.2.clear();
        Decoder {
            rules,
            kernel,
            columns,
            lengths: taken.0,
            numbers,
            texts: (Vec::new(), Vec::new()),
            faults: taken.1,
            left_out: taken.2,
            notes: scratch.notes.then(Vec::new),
            odd: (0, None),
            skipped: 0,
            offset: 0,
            line: 0,
            expected: 0,
            openings: if kernel == Kernel::Plain { Vec::new() } else { openings(rules) },
            tape,
            open: None,
            room: scratch.room,
            end: None,
        }
    }

    /// Decodes the sequences of `bytes`, which lie at `offset` in the file and begin on line `line`.
    ///
    /// # Errors
    /// Bytes that an index pass would not take either.
    pub(crate) fn slice(&mut self, bytes: &[u8], offset: u64, line: u64) -> Result<(), NoSequences> {
        (self.offset, self.line) = (offset, line);
        match self.rules.rows.keying {
            Keying::Lines => self.lines(bytes),
            _ => self.runs(bytes)?,
        }
        self.end.take().map_or(Ok(()), Err)
    }

    /// Hands the columns over.
    pub(crate) fn finish(mut self, scratch: &mut Scratch, out: &mut Chunk) {
        let mut spare = take_spare(scratch);
        let keys_are_lines = self.rules.rows.keying == Keying::Lines;
        out.keys = match self.rules.rows.keying {
            Keying::Texts => Keys::Texts { bytes: self.texts.0, ends: self.texts.1 },
            Keying::Lines if is_consecutive(&self.numbers) => {
                let first = self.numbers.first().copied().unwrap_or(0);
                spare.keys = std::mem::take(&mut self.numbers);
                Keys::Consecutive(first)
            }
            _ => Keys::Numbers(self.numbers),
        };
        out.n_sequences = self.lengths.len() as u32;
        out.lengths = self.lengths;
        out.keys_are_lines = keys_are_lines;
        out.faults = self.faults;
        out.left_out = self.left_out;
        out.notes = self.notes.unwrap_or_default();
        out.first_line = 0;
        out.n_lines = self.line;
        out.streams.clear();
        for (column, input) in self.columns.into_iter().zip(&*self.rules.inputs) {
            let samples = offsets(column.samples, &mut spare);
            let values = E::wrap(column.values);
            let data = if input.sparse {
                Data::Sparse { rows: offsets(column.rows, &mut spare), columns: column.columns, values }
            } else {
                spare.offsets.push(column.rows);
                Data::Dense { values }
            };
            out.streams.push(StreamColumn { samples, data });
        }
        spare.tape = self.tape.take().or(spare.tape);
        scratch.format = Some(Box::new(spare));
        let first = self.odd.1.map(|(odd, at)| {
            let what = odd.describe(self.rules);
            format!("{} (byte {at}): {what}", self.rules.file.display())
        });
        scratch.warnings.merge(DecodeWarnings {
            count: self.odd.0,
            first,
            skipped: self.skipped,
            ..DecodeWarnings::default()
        });
    }

    /// Every row that counts is a sequence.
    fn lines(&mut self, bytes: &[u8]) {
        let rules = self.rules;
        let mut at = 0;
        while at < bytes.len() && self.end.is_none() {
            let end = self.sparse_rows(bytes, at);
            if end > at {
                at = end;
                continue;
            }
            let row = &bytes[at..];
            if rules.rows.counts(row) {
                self.numbers.push(self.line);
                self.open(at, 1);
                at = self.row(bytes, at, at + rules.rows.id(row).1);
                self.close();
            } else {
                match row.iter().position(|&b| b == b'\n') {
                    Some(n) => at += n + 1,
                    None => return,
                }
                self.line += 1;
            }
        }
    }

    /// Reads rows that are one sparse sample of every stream, as many as follow each other. Returns where the first other row starts.
    #[inline]
    fn sparse_rows(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(tape) = &mut self.tape else { return at };
        if !tape.is_due() {
            return at;
        }
        let rows = SparseRows { bytes, at, rules: self.rules, tape, columns: &mut self.columns };
        let (n, end) = self.kernel.sparse_rows(rows);
        self.numbers.extend(self.line..self.line + n as u64);
        self.lengths.resize(self.lengths.len() + n, 1);
        self.line += n as u64;
        end
    }

    /// Rows with the same id, or none, are a sequence.
    fn runs(&mut self, bytes: &[u8]) -> Result<(), NoSequences> {
        let rules = self.rules;
        let mut current = RowId::None;
        let mut last = LastId::default();
        let mut at = 0;
        while at < bytes.len() && self.end.is_none() {
            at = match self.openings.len() {
                1 => self.whole_rows::<1>(bytes, at, last),
                2 => self.whole_rows::<2>(bytes, at, last),
                3 => self.whole_rows::<3>(bytes, at, last),
                _ => at,
            };
            if at == bytes.len() {
                break;
            }
            let row = &bytes[at..];
            let (id, skip) = match last.repeated(row) {
                Some(skip) => (current, skip),
                None => rules.rows.id(row),
            };
            match id {
                RowId::NoRow => break,
                RowId::Overflow(digits) => {
                    let found = quote(digits, 0);
                    return Err(NoSequences::Overflow { found, offset: self.offset + at as u64 });
                }
                RowId::None if current == RowId::None => return Err(NoSequences::NoId),
                RowId::Number(n) if id != current => {
                    self.close();
                    self.numbers.push(n);
                    self.open(at, 0);
                    current = id;
                    last = LastId::of_number(&row[..skip]);
                }
                RowId::Text(text) if id != current => {
                    self.close();
                    self.texts.0.extend_from_slice(text);
                    self.texts.1.push(self.texts.0.len() as u32);
                    self.open(at, 0);
                    current = id;
                }
                _ => {}
            }
            if let Some(open) = &mut self.open {
                open.rows += u32::from(rules.rows.counts(row));
            }
            at = self.row(bytes, at, at + skip);
        }
        self.close();
        Ok(())
    }

    /// Reads rows that repeat the last id and have one small pair of every stream in order, as many as follow each other.
    /// Returns where the first other row starts.
    #[inline]
    fn whole_rows<const N: usize>(&mut self, bytes: &[u8], mut at: usize, last: LastId) -> usize {
        let (Some(open), Ok(openings)) = (&mut self.open, <&[Opening; N]>::try_from(&self.openings[..]))
        else {
            return at;
        };
        if self.expected != 0 {
            return at;
        }
        let (mut indices, mut digits) = ([[0; BATCH]; N], [[0; BATCH]; N]);
        loop {
            let mut n = 0;
            while n < BATCH {
                let Some(row) = bytes.get(at..) else { break };
                let Some((pairs, end)) =
                    last.repeated(row).and_then(|id| whole_row(bytes, at + id, openings))
                else {
                    break;
                };
                for (s, (index, digit)) in pairs.into_iter().enumerate() {
                    (indices[s][n], digits[s][n]) = (index, digit);
                }
                (n, at) = (n + 1, end);
            }
            open.rows += n as u32;
            self.line += n as u64;
            for ((column, indices), digits) in self.columns.iter_mut().zip(&indices).zip(&digits) {
                column.push_single_pairs(&indices[..n], &digits[..n]);
            }
            if n < BATCH {
                return at;
            }
        }
    }

    fn open(&mut self, at: usize, rows: u32) {
        let offset = self.offset + at as u64;
        let n_notes = self.notes.as_ref().map_or(0, Vec::len);
        self.open = Some(Open { offset, line: self.line, rows, n_faults: self.faults.len(), n_notes });
    }

    /// Ends the open sequence, if one is: checks it, or forgets it if none of its rows count.
    #[inline]
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.rows == 0 {
            self.forget(open);
            return;
        }
        if self.columns.iter().any(|c| c.n_open() != open.rows) {
            let faulty = self.faults.len() > open.n_faults;
            for (kind, stream, fatal) in checks::check(self, open.rows, open.offset, faulty) {
                let sequence = self.lengths.len() as u32;
                let (offset, line) = (open.offset, Some(open.line));
                if matches!(kind, CtfFault::MoreSamplesThanRows { .. }) {
                    self.forget_repeated(open.n_notes);
                }
                let kind = kind.into();
                self.faults.push(Fault { sequence, kind, stream, resource: FILE, offset, line, fatal });
            }
        }
        self.lengths.push(open.rows);
        for column in &mut self.columns {
            column.samples.push(column.n_samples);
            column.is_faulty = false;
        }
    }

    /// Marks the open sequence as one that is removed at delivery.
    pub(super) fn leave_out(&mut self) {
        self.left_out.push(self.lengths.len() as u32);
    }

    /// Notes something odd at a place of the slice.
    fn note(&mut self, odd: Odd, at: usize) {
        self.note_at(odd, self.offset + at as u64);
    }

    /// Notes something odd at a place of the file.
    pub(super) fn note_at(&mut self, odd: Odd, offset: u64) {
        self.odd.0 += 1;
        self.odd.1.get_or_insert((odd, offset));
    }

    /// Forgets the open sequence.
    fn forget(&mut self, open: Open) {
        self.faults.truncate(open.n_faults);
        if let Some(notes) = &mut self.notes {
            notes.truncate(open.n_notes);
        }
        match self.rules.rows.keying {
            Keying::Texts => {
                self.texts.1.pop();
                self.texts.0.truncate(self.texts.1.last().map_or(0, |&end| end as usize));
            }
            _ => {
                self.numbers.pop();
            }
        }
        for (column, input) in self.columns.iter_mut().zip(&*self.rules.inputs) {
            column.undo(input);
        }
    }

    /// Reads the row at `start` from `at` on, behind its id. Returns where the next row starts.
    #[inline]
    fn row(&mut self, bytes: &[u8], start: usize, mut at: usize) -> usize {
        let mut good = false;
        let n_faults = self.faults.len();
        loop {
            match bytes.get(at) {
                Some(b'|') => match self.sample(bytes, at) {
                    Ok(end) => (good, at) = (true, end),
                    Err(consumed) => at = skip_to_input(bytes, consumed),
                },
                Some(b'\n') => break,
                Some(&b) if is_blank(b) || is_unprintable(b) => at += 1,
                Some(_) => at = self.stray_text(bytes, start, at),
                None => {
                    self.note(Odd::NoLineFeed, at);
                    return at;
                }
            }
        }
        // Under the lenient rules, rows of a longer sequence may go without.
        let may_be_bare = self.rules.lenient && self.rules.rows.keying != Keying::Lines;
        if !good {
            if !may_be_bare {
                self.bare_row(start);
            } else if self.faults.len() == n_faults {
                self.note_fault(CtfFault::RowWithoutSample, None, start);
            }
        }
        self.line += 1;
        at + 1
    }

    /// Charges text that stands at `at` where an input is expected, in the row at `start`. Returns where that may continue.
    #[cold]
    fn stray_text(&mut self, bytes: &[u8], start: usize, at: usize) -> usize {
        let found = quote(bytes, at);
        let is_sequence = self.rules.lenient && self.rules.rows.keying == Keying::Lines;
        let kind = if is_sequence && !has_input(&bytes[start..]) {
            CtfFault::RowWithoutInput { found }
        } else {
            CtfFault::StrayText { found }
        };
        self.fault(kind, None, at);
        skip_to_input(bytes, at)
    }

    /// Charges the row at `start`, which has no good sample, unless that is what it has been charged for already.
    #[cold]
    fn bare_row(&mut self, start: usize) {
        let before = self.open.map_or(0, |open| open.n_faults);
        let is_charged =
            |fault: &Fault| matches!(fault.kind.of_format(), Some(CtfFault::RowWithoutInput { .. }));
        if !matches!(&self.faults[before..], [fault] if is_charged(fault)) {
            self.fault(CtfFault::RowWithoutSample, None, start);
        }
    }

    /// Reads the sample at `at`, a `|`. Returns where it ends, or where to look for the next one if it is none.
    #[inline]
    fn sample(&mut self, bytes: &[u8], at: usize) -> Result<usize, usize> {
        let name = at + 1;
        let Some((stream, values)) = self.stream(bytes, name) else {
            return Err(self.no_stream(bytes, at));
        };
        self.expected = if stream + 1 == self.columns.len() { 0 } else { stream + 1 };
        let (input, grammar) = (&self.rules.inputs[stream], self.rules.grammar);
        let column = &mut self.columns[stream];
        if !input.sparse && !fits::<E>(column, input.dim, self.room) {
            self.stop(stream);
            return Err(values);
        }
        let read = if input.sparse {
            sparse(self.kernel, bytes, values, input.dim, grammar, column)
        } else {
            dense(self.kernel, bytes, values, input.dim as usize, grammar, &mut column.values)
        };
        match read {
            Ok((end, is_short)) => {
                column.n_samples += 1;
                if is_short {
                    self.note(Odd::Short { stream }, at);
                }
                if self.notes.is_some() {
                    self.note_sample(stream, bytes, at, values, is_short);
                }
                Ok(end)
            }
            Err((kind, found)) => {
                if input.sparse {
                    column.undo_pairs();
                } else {
                    column.values.truncate(column.n_samples as usize * input.dim as usize);
                }
                column.is_faulty = true;
                self.fault(kind, Some(stream), found);
                Err(values)
            }
        }
    }

    /// Ends decoding at a dense sample for which there is no room.
    #[cold]
    fn stop(&mut self, stream: usize) {
        let sample = u64::from(self.rules.inputs[stream].dim) * size_of::<E>() as u64;
        let found = (u64::from(self.columns[stream].n_open()) + 1).saturating_mul(sample);
        self.end.get_or_insert(if found > self.room.sequence as u64 {
            NoSequences::TooLarge { found, offset: self.open.map_or(self.offset, |open| open.offset) }
        } else {
            NoSequences::Outgrown
        });
    }

    /// The stream whose name starts at `name`, and where the name ends.
    #[inline]
    fn stream(&self, bytes: &[u8], name: usize) -> Option<(usize, usize)> {
        let names = &self.rules.names;
        let rest = &bytes[name..];
        if let Some(n) = names[self.expected].begins(rest) {
            return Some((self.expected, name + n));
        }
        names.iter().enumerate().find_map(|(i, known)| Some((i, name + known.begins(rest)?)))
    }

    /// A `|` that opens no sample: a comment, an unknown input, or a fault. Returns what has been consumed.
    fn no_stream(&mut self, bytes: &[u8], at: usize) -> usize {
        let name = at + 1;
        match bytes.get(name) {
            Some(b'#') => {}
            Some(&b) if !is_end(b) => self.skipped += 1,
            _ => self.fault(CtfFault::UnnamedInput, None, at),
        }
        name
    }

    /// Notes for a check what is unusual about a good sample at `at`, whose values begin at `values`.
    #[cold]
    fn note_sample(&mut self, stream: usize, bytes: &[u8], at: usize, values: usize, is_short: bool) {
        if self.columns[stream].last_line.replace(self.line) == Some(self.line) {
            self.note_fault(CtfFault::RepeatedInput, Some(stream), at);
        }
        if is_short {
            let most = count_values(bytes, values, self.rules.grammar).unwrap_or_default() as u64;
            let dim = u64::from(self.rules.inputs[stream].dim);
            self.note_fault(DataErrorKind::ShortSamples { samples: 1, most, dim }, Some(stream), at);
        }
    }

    /// Forgets that inputs of the open sequence occur again in a row: that there are more samples than rows is charged.
    #[cold]
    fn forget_repeated(&mut self, n_notes: usize) {
        if let Some(notes) = &mut self.notes {
            let kept: Vec<Fault> = notes.drain(n_notes..).collect();
            notes.extend(
                kept.into_iter().filter(|note| note.kind.of_format() != Some(&CtfFault::RepeatedInput)),
            );
        }
    }

    /// Notes for a check something about the open sequence that is no fault.
    #[cold]
    fn note_fault(&mut self, kind: impl Into<DataErrorKind>, stream: Option<usize>, at: usize) {
        let note = self.describe(kind, stream, at);
        if let Some(notes) = &mut self.notes {
            notes.push(note);
        }
    }

    fn describe(&self, kind: impl Into<DataErrorKind>, stream: Option<usize>, at: usize) -> Fault {
        Fault {
            sequence: self.lengths.len() as u32,
            kind: kind.into(),
            stream: stream.map(|s| s as u16),
            resource: FILE,
            offset: self.offset + at as u64,
            line: Some(self.line),
            fatal: false,
        }
    }

    /// Notes a fault of the open sequence, unless it has more of them than will be charged.
    fn fault(&mut self, kind: impl Into<DataErrorKind>, stream: Option<usize>, at: usize) {
        let kept = self.faults.len() - self.open.map_or(0, |open| open.n_faults);
        if kept >= self.rules.most_faults {
            return;
        }
        self.faults.push(self.describe(kind, stream, at));
        if self.faults.len() * size_of::<Fault>() / FAULT_SHARE > self.room.all {
            self.end.get_or_insert(NoSequences::Outgrown);
        }
    }
}

/// Faults may take so many times the bytes that dense values may: rows of two bytes can have several each.
const FAULT_SHARE: usize = 2;

/// True if there is room for another dense sample of `dim` values.
#[inline]
fn fits<E: Real>(column: &Column<E>, dim: u32, room: DecodeRoom) -> bool {
    let sample = (dim as usize).saturating_mul(size_of::<E>());
    let of_sequence = (column.n_open() as usize + 1).saturating_mul(sample);
    let all = (column.values.len() * size_of::<E>()).saturating_add(sample);
    of_sequence <= room.sequence && all <= room.all
}

/// Rows that are read whole before their pairs go to the columns.
const BATCH: usize = 32;

/// The openings of samples in rows that can be read whole; none if a stream is dense, its name long, or rows may not
/// count.
fn openings(rules: &Rules) -> Vec<Opening> {
    if rules.rows.keying != Keying::Numbers || !rules.rows.all_rows_count() {
        return Vec::new();
    }
    let opening = |(input, name): (&Input, &Name)| {
        let text = name.text.as_deref().filter(|_| input.sparse)?;
        let tag = Tag::new(&[b" |", text, b" "].concat())?;
        Some(Opening { tag, dim: input.dim })
    };
    rules.inputs.iter().zip(&*rules.names).map(opening).collect::<Option<_>>().unwrap_or_default()
}

/// The result of reading a sample's values: where they end, and true if values were left out; or a fault and its
/// offset.
type Read = Result<(usize, bool), (DataErrorKind, usize)>;

/// Reads the values of a dense sample, and fills up with zeros what the file left out.
#[inline]
fn dense<E: Real>(
    kernel: Kernel,
    bytes: &[u8],
    at: usize,
    dim: usize,
    grammar: Grammar,
    values: &mut Vec<E>,
) -> Read {
    let from = values.len();
    values.resize(from + dim, E::default());
    let n = match kernel.dense(bytes, at, grammar, &mut values[from..]) {
        Some((end, n)) => return Ok((end, n < dim)),
        None => dense_plainly(bytes, at, grammar, &mut values[from..])?,
    };
    // The kernel may have left values behind those that the plain parser has found.
    values[from + n.1..].fill(E::default());
    Ok((n.0, n.1 < dim))
}

/// Reads the values of a dense sample byte by byte: where they end, and how many there are.
fn dense_plainly<E: Real>(
    bytes: &[u8],
    mut at: usize,
    grammar: Grammar,
    values: &mut [E],
) -> Result<(usize, usize), (DataErrorKind, usize)> {
    let mut n = 0;
    loop {
        at = skip_blanks(bytes, at);
        if bytes.get(at).is_none_or(|&b| is_end(b)) {
            return Ok((at, n));
        }
        let bad = || (CtfFault::BadNumber { found: quote(bytes, at) }.into(), at);
        let (value, end) = read::<E>(bytes, at, grammar).ok_or_else(bad)?;
        match bytes.get(end) {
            Some(&b) if is_end(b) => {}
            Some(b'+' | b'-') if grammar == Grammar::Cntk => {}
            None => {}
            Some(_) => return Err(bad()),
        }
        let Some(slot) = values.get_mut(n) else {
            return Err((CtfFault::TooManyValues { dim: n as u64 }.into(), at));
        };
        *slot = value;
        n += 1;
        at = end;
    }
}

/// Reads the pairs of a sparse sample, and leaves them sorted.
#[inline]
fn sparse<E: Real>(
    kernel: Kernel,
    bytes: &[u8],
    at: usize,
    dim: u32,
    grammar: Grammar,
    column: &mut Column<E>,
) -> Read {
    let mut at = at;
    let first = column.columns.len();
    // Samples of a stream are alike more often than not.
    let many = matches!(column.rows[..], [.., before, last] if last - before > 3);
    let (read, mut sorted) =
        kernel.sparse(bytes, at, many, dim, grammar, &mut column.columns, &mut column.values);
    at = read;
    let mut last = if column.columns.len() > first { column.columns.last().copied() } else { None };
    loop {
        at = skip_blanks(bytes, at);
        if bytes.get(at).is_none_or(|&b| is_end(b)) {
            break;
        }
        let (index, value, end) = pair::<E>(bytes, at, dim, grammar)?;
        sorted &= last.is_none_or(|last| last < index);
        last = Some(index);
        column.columns.push(index);
        column.values.push(value);
        at = end;
    }
    if !sorted {
        column.sort_pairs();
    }
    column.rows.push(column.columns.len() as u32);
    Ok((at, false))
}

/// Reads the pair `index:value` at `at`: the two, and where they end.
fn pair<E: Real>(
    bytes: &[u8],
    at: usize,
    dim: u32,
    grammar: Grammar,
) -> Result<(u32, E, usize), (DataErrorKind, usize)> {
    let bad = || (CtfFault::BadPair { found: quote(bytes, at) }.into(), at);
    let colon = skip_digits(bytes, at);
    if colon == at || bytes.get(colon) != Some(&b':') {
        return Err(bad());
    }
    let digits = &bytes[at..colon];
    let index = digits.iter().try_fold(0u32, |n, d| n.checked_mul(10)?.checked_add(u32::from(d - b'0')));
    let Some(index) = index.filter(|&n| n < dim) else {
        let index = quote(digits, 0);
        return Err((DataErrorKind::IndexOutOfRange { index, dim: u64::from(dim) }, at));
    };
    let (value, end) = read::<E>(bytes, colon + 1, grammar).ok_or_else(bad)?;
    if bytes.get(end).is_some_and(|&b| !is_end(b)) {
        return Err(bad());
    }
    Ok((index, value, end))
}

/// A decoder for the streams' element type.
pub(crate) enum AnyDecoder<'r> {
    Single(Decoder<'r, f32>),
    Double(Decoder<'r, f64>),
}

impl<'r> AnyDecoder<'r> {
    /// A decoder into the memory of `out`.
    pub(crate) fn new(rules: &'r Rules, scratch: &mut Scratch, out: &mut Chunk) -> AnyDecoder<'r> {
        match rules.element {
            Element::F64 => AnyDecoder::Double(Decoder::new(rules, rules.kernel, scratch, out)),
            _ => AnyDecoder::Single(Decoder::new(rules, rules.kernel, scratch, out)),
        }
    }

    /// Like [`Decoder::slice`].
    pub(crate) fn slice(&mut self, bytes: &[u8], offset: u64, line: u64) -> Result<(), NoSequences> {
        match self {
            AnyDecoder::Single(d) => d.slice(bytes, offset, line),
            AnyDecoder::Double(d) => d.slice(bytes, offset, line),
        }
    }

    /// The counted lengths of the sequences decoded.
    pub(crate) fn lengths(&self) -> &[u32] {
        match self {
            AnyDecoder::Single(d) => &d.lengths,
            AnyDecoder::Double(d) => &d.lengths,
        }
    }

    /// Hands the columns over.
    pub(crate) fn finish(self, scratch: &mut Scratch, out: &mut Chunk) {
        match self {
            AnyDecoder::Single(d) => d.finish(scratch, out),
            AnyDecoder::Double(d) => d.finish(scratch, out),
        }
    }
}

/// The number of values of the dense sample at `at`, behind its name, if they are good ones.
pub(crate) fn count_values(bytes: &[u8], at: usize, grammar: Grammar) -> Option<usize> {
    let mut n = 0;
    let mut at = at;
    loop {
        at = skip_blanks(bytes, at);
        if bytes.get(at).is_none_or(|&b| is_end(b)) {
            return Some(n);
        }
        at = read::<f64>(bytes, at, grammar)?.1;
        n += 1;
    }
}

/// True if the numbers ascend by one.
fn is_consecutive(numbers: &[u64]) -> bool {
    numbers.first().is_none_or(|&first| are_all(numbers, |i| first.wrapping_add(i as u64)))
}

/// True if each element is the value of `of` at its index. Elements are compared in groups, which the compiler makes
/// vector code of.
fn are_all<T: PartialEq>(elements: &[T], of: impl Fn(usize) -> T) -> bool {
    const GROUP: usize = 64;
    let agree = |(group, first): (&[T], usize)| {
        group.iter().zip(first..).fold(true, |agree, (element, i)| agree & (*element == of(i)))
    };
    elements.chunks(GROUP).zip((0..).step_by(GROUP)).all(agree)
}

/// Positions as offsets; where each entry holds one, the vector is kept for the next chunk.
fn offsets(positions: Vec<u32>, spare: &mut Spare) -> Offsets {
    let n = positions.len() as u32 - 1;
    if positions[n as usize] == n && are_all(&positions, |i| i as u32) {
        spare.offsets.push(positions);
        return Offsets::Every(1);
    }
    Offsets::At(positions)
}

/// The memory that the last decoder of this thread left; empty if there was none.
fn take_spare(scratch: &mut Scratch) -> Spare {
    scratch.format.take().and_then(|any| any.downcast::<Spare>().ok()).map_or_else(Spare::default, |b| *b)
}

/// An empty column in the memory of an old one.
fn recycled<E: Real>(old: Option<StreamColumn>, spare: &mut Spare) -> Column<E> {
    let mut column = Column { n_samples: 0, ..Column::default() };
    if let Some(old) = old {
        if let Offsets::At(v) = old.samples {
            spare.offsets.push(v);
        }
        let values = match old.data {
            Data::Dense { values } => values,
            Data::Sparse { rows, columns, values } => {
                if let Offsets::At(v) = rows {
                    spare.offsets.push(v);
                }
                column.columns = columns;
                values
            }
            _ => tesson_core::Values::Ones(0),
        };
        column.values = E::unwrap(values).unwrap_or_default();
        column.columns.clear();
        column.values.clear();
    }
    for positions in [&mut column.samples, &mut column.rows] {
        *positions = spare.offsets.pop().unwrap_or_default();
        positions.clear();
        positions.push(0);
    }
    column
}
