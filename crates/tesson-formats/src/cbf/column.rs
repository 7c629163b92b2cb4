//! Records to columns: one stream of a run of sequences.
//!
//! There are two ways. [`Column::records`] copies records as they are and looks at what it has copied in a few passes
//! without branches: whether columns are below the dimension and ascend within samples. Where they do not, the run is
//! decoded again by [`Column::records_with_care`], entry by entry, which sorts, adds up and finds faults. Both give the
//! same where the first one is content; a test holds them together.

use tesson_core::{Data, DataErrorKind, Offsets, StreamColumn};

use super::record::{Broken, Form, Head};
use super::value::{Real, value};

/// A column in the making.
pub(super) struct Column<E> {
    form: Form,
    /// Where each sequence's samples begin, and behind the last where they end.
    samples: Vec<u32>,
    /// Sparse: likewise each sample's entries.
    rows: Vec<u32>,
    columns: Tape<u32>,
    values: Tape<E>,
}

/// Something wrong with a sequence's entries, which are left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wrong {
    /// The sequence, counted in the column.
    pub(super) sequence: u32,
    pub(super) kind: DataErrorKind,
    /// Within the bytes that were decoded.
    pub(super) at: usize,
}

/// How far a column has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    samples: usize,
    rows: usize,
    values: usize,
}

/// Where decoding came to an end before its time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stopped {
    /// The sequence, counted from the first that was to be decoded.
    pub(super) sequence: u32,
    /// Within the bytes that were to be decoded.
    pub(super) at: usize,
    pub(super) why: Broken,
}

/// Memory that is kept from chunk to chunk beside the columns: positions that were not needed.
pub(super) type Spare = Vec<Vec<u32>>;

impl<E: Real> Column<E> {
    /// An empty column in the memory of an old one.
    pub(super) fn new(form: Form, old: Option<StreamColumn>, spare: &mut Spare) -> Column<E> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        if let Some(old) = old {
            keep(old.samples, spare);
            let memory = match old.data {
                Data::Dense { values } => values,
                Data::Sparse { rows, columns: memory, values } => {
                    keep(rows, spare);
                    columns = memory;
                    values
                }
            };
            values = E::memory(memory).unwrap_or_default();
        }
        let mut positions = || {
            let mut positions = spare.pop().unwrap_or_default();
            positions.clear();
            positions.push(0);
            positions
        };
        Column {
            form,
            samples: positions(),
            rows: positions(),
            columns: Tape::over(columns),
            values: Tape::over(values),
        }
    }

    /// How its records are written.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Samples of sequence `i`.
    #[inline]
    pub(super) fn length(&self, i: usize) -> u32 {
        self.samples[i + 1] - self.samples[i]
    }

    /// Decodes `n` records from the beginning of `bytes`, which is all that is left of the chunk. Returns the bytes
    /// they take; what is wrong with their entries goes to `wrong`.
    pub(super) fn records(&mut self, bytes: &[u8], n: u32, wrong: &mut Vec<Wrong>) -> Result<usize, Stopped> {
        let before = self.mark();
        let copied =
            if self.form.sparse { self.copy_sparse(bytes, n)? } else { Some(self.copy_dense(bytes, n)?) };
        if let Some(used) = copied.filter(|_| !self.form.sparse || self.are_fine(before)) {
            return Ok(used);
        }
        self.go_back(before);
        self.records_with_care(bytes, n, wrong)
    }

    /// How far the column has come.
    pub(super) fn mark(&self) -> Mark {
        Mark { samples: self.samples.len(), rows: self.rows.len(), values: self.values.used }
    }

    /// Forgets what was decoded since.
    pub(super) fn go_back(&mut self, mark: Mark) {
        self.samples.truncate(mark.samples);
        self.rows.truncate(mark.rows);
        self.values.used = mark.values;
        if self.form.sparse {
            self.columns.used = mark.values;
        }
    }

    /// Appends `n` sequences without samples.
    pub(super) fn skip(&mut self, n: u32) {
        self.samples.resize(self.samples.len() + n as usize, self.end());
    }

    /// Where the samples end so far.
    fn end(&self) -> u32 {
        self.samples[self.samples.len() - 1]
    }

    /// The next record's head, if the record is whole and its samples and entries can be counted.
    #[inline]
    fn head(&self, bytes: &[u8], at: usize, sequence: u32) -> Result<Head, Stopped> {
        let rest = &bytes[at..];
        let stopped = |why| Stopped { sequence, at, why };
        let head = self.form.head(rest, rest.len() as u64).map_err(stopped)?;
        // Positions have 32 bits. Samples take bytes, so that only gigabytes at once come here.
        let (samples, values) =
            (self.end().checked_add(head.samples), self.values.used + head.entries as usize);
        if samples.is_none() || (self.form.sparse && values > u32::MAX as usize) {
            return Err(stopped(Broken::TooLong { needed: head.bytes, left: rest.len() as u64 }));
        }
        Ok(head)
    }

    fn copy_dense(&mut self, bytes: &[u8], n: u32) -> Result<usize, Stopped> {
        let mut at = 0;
        for sequence in 0..n {
            let head = self.head(bytes, at, sequence)?;
            let end = at + head.bytes as usize;
            let n_values = (end - at - 4) / self.form.value_bytes();
            if self.form.double {
                self.values.copy(&bytes[at + 4..], n_values, E::of_double);
            } else {
                self.values.copy(&bytes[at + 4..], n_values, E::of_single);
            }
            self.samples.push(self.end() + head.samples);
            at = end;
        }
        Ok(at)
    }

    /// Copies sparse records; `None` if the entries of a sequence's samples do not add up.
    fn copy_sparse(&mut self, bytes: &[u8], n: u32) -> Result<Option<usize>, Stopped> {
        let (mut at, mut add_up) = (0, true);
        let mut end = u64::from(self.rows[self.rows.len() - 1]);
        for sequence in 0..n {
            let head = self.head(bytes, at, sequence)?;
            let (columns_at, counts_at) = self.places(head);
            let entries = head.entries as usize;
            if self.form.double {
                self.values.copy(&bytes[at + 8..], entries, E::of_double);
            } else {
                self.values.copy(&bytes[at + 8..], entries, E::of_single);
            }
            self.columns.copy(&bytes[at + columns_at..], entries, u32::from_le_bytes);
            let counts = &bytes[at + counts_at..at + head.bytes as usize];
            self.rows.extend(counts.as_chunks().0.iter().map(|&b| {
                end += u64::from(u32::from_le_bytes(b));
                end as u32
            }));
            add_up &= end == self.values.used as u64;
            self.samples.push(self.end() + head.samples);
            at += head.bytes as usize;
        }
        Ok(add_up.then_some(at))
    }

    /// The bytes of a sparse record's values, columns and counts of entries.
    #[inline]
    fn parts<'a>(&self, record: &'a [u8], head: Head) -> [&'a [u8]; 3] {
        let (columns, counts) = self.places(head);
        [&record[8..columns], &record[columns..counts], &record[counts..head.bytes as usize]]
    }

    /// Where a sparse record's columns begin, and its counts.
    #[inline]
    fn places(&self, head: Head) -> (usize, usize) {
        let columns = 8 + head.entries as usize * self.form.value_bytes();
        (columns, columns + 4 * head.entries as usize)
    }

    /// Whether all columns since the mark are below the dimension and ascend within their sample.
    fn are_fine(&self, since: Mark) -> bool {
        let first = since.values;
        let columns = &self.columns.used()[first..];
        let Some(largest) = columns.iter().copied().max() else { return true };
        if largest >= self.form.dim {
            return false;
        }
        // Samples of one entry, such as words, need no order.
        let rows = &self.rows[since.rows - 1..];
        if rows.iter().zip(&rows[1..]).fold(0, |most, (a, b)| (b - a).max(most)) <= 1 {
            return true;
        }
        let falls = |(a, b): (&u32, &u32)| u32::from(a >= b);
        let all: u32 = columns.iter().zip(&columns[1..]).map(falls).sum();
        // From the last entry of a sample to the first of the next one columns may fall; nowhere else.
        let mut between = 0;
        let mut last = first as u32;
        for &row in &self.rows[since.rows..] {
            let at = row as usize;
            if row != last && at < self.columns.used {
                let all = self.columns.used();
                between += falls((&all[at - 1], &all[at]));
            }
            last = row;
        }
        all == between
    }

    /// Decodes as [`Column::records`] does, entry by entry.
    pub(super) fn records_with_care(
        &mut self,
        bytes: &[u8],
        n: u32,
        wrong: &mut Vec<Wrong>,
    ) -> Result<usize, Stopped> {
        let mut at = 0;
        let mut sample: Vec<(u32, E)> = Vec::new();
        for sequence in 0..n {
            let head = self.head(bytes, at, sequence)?;
            let record = &bytes[at..at + head.bytes as usize];
            let samples = match self.find_wrong(record, head) {
                None => {
                    self.sort_in(record, head, &mut sample);
                    head.samples
                }
                Some((kind, place)) => {
                    wrong.push(Wrong { sequence: self.samples.len() as u32 - 1, kind, at: at + place });
                    0
                }
            };
            self.samples.push(self.end() + samples);
            at += record.len();
        }
        Ok(at)
    }

    /// The first thing wrong with a record's entries, and where in it.
    fn find_wrong(&self, record: &[u8], head: Head) -> Option<(DataErrorKind, usize)> {
        let [_, columns, counts] = self.parts(record, head);
        let (columns_at, counts_at) = self.places(head);
        let malformed = |what| DataErrorKind::Malformed { what };
        let counts = counts.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b));
        if let Some((i, n)) = counts.clone().enumerate().find(|&(_, n)| n < 0) {
            return Some((
                malformed(format!("a sample has {n} entries, expected 0 or more")),
                counts_at + 4 * i,
            ));
        }
        let sum: i64 = counts.map(i64::from).sum();
        if sum != i64::from(head.entries) {
            let what = format!("its samples have {sum} entries in all, the sequence has {}", head.entries);
            return Some((malformed(what), counts_at));
        }
        let dim = self.form.dim;
        let columns = columns.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b));
        let (i, index) = columns.enumerate().find(|&(_, c)| c < 0 || c as u32 >= dim)?;
        let kind = match index {
            ..0 => malformed(format!("index {index} is negative, expected one from 0 and below dim {dim}")),
            _ => DataErrorKind::IndexOutOfRange { index: index.to_string(), dim: dim.into() },
        };
        Some((kind, columns_at + 4 * i))
    }

    /// Appends a record whose entries are good, each sample sorted by column, entries of one column added up in the
    /// order of the file (§2).
    fn sort_in(&mut self, record: &[u8], head: Head, sample: &mut Vec<(u32, E)>) {
        let [values, columns, counts] = self.parts(record, head);
        let columns = columns.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b));
        let mut entries = columns.enumerate().map(|(i, c)| (c, value(values, self.form.double, i)));
        for &count in counts.as_chunks().0 {
            sample.clear();
            sample.extend(entries.by_ref().take(u32::from_le_bytes(count) as usize));
            sample.sort_by_key(|&(column, _)| column);
            for run in sample.chunk_by(|a, b| a.0 == b.0) {
                let mut sum = run[0].1;
                run[1..].iter().for_each(|&(_, more)| sum += more);
                self.columns.push(run[0].0);
                self.values.push(sum);
            }
            self.rows.push(self.values.used as u32);
        }
    }

    /// Hands the column over; positions that say nothing are kept for the next one.
    pub(super) fn finish(self, spare: &mut Spare) -> StreamColumn {
        let values = E::wrap(self.values.finish());
        let samples = offsets(self.samples, spare);
        let data = if self.form.sparse {
            Data::Sparse { rows: offsets(self.rows, spare), columns: self.columns.finish(), values }
        } else {
            spare.push(self.rows);
            Data::Dense { values }
        };
        StreamColumn { samples, data }
    }
}

/// A column that is written in blocks of one size, some of which reach beyond what is meant: a record has a few entries,
/// and copying exactly so many takes several times as long.
struct Tape<T> {
    items: Vec<T>,
    used: usize,
}

/// Entries that are copied at once.
const BLOCK: usize = 16;

impl<T: Copy + Default> Tape<T> {
    /// An empty column in old memory, of which what has been written need not be cleared.
    fn over(items: Vec<T>) -> Tape<T> {
        Tape { items, used: 0 }
    }

    fn used(&self) -> &[T] {
        &self.items[..self.used]
    }

    fn push(&mut self, item: T) {
        self.items.truncate(self.used);
        self.items.push(item);
        self.used += 1;
    }

    /// Appends the first `n` items of `bytes`.
    #[inline]
    fn copy<const N: usize>(&mut self, bytes: &[u8], n: usize, item: impl Fn([u8; N]) -> T) {
        let items = bytes.as_chunks().0;
        let blocks = n.div_ceil(BLOCK) * BLOCK;
        if self.items.len() < self.used + blocks {
            self.items.resize((2 * self.items.len()).max(self.used + blocks), T::default());
        }
        let room = &mut self.items[self.used..];
        let (from, to) = (items.get(..blocks).unwrap_or(&items[..n]), &mut room[..blocks]);
        let (from_blocks, rest) = from.as_chunks::<BLOCK>();
        let (to_blocks, _) = to.as_chunks_mut::<BLOCK>();
        for (to, from) in to_blocks.iter_mut().zip(from_blocks) {
            *to = from.map(&item);
        }
        let done = from_blocks.len() * BLOCK;
        for (to, &from) in to[done..].iter_mut().zip(rest) {
            *to = item(from);
        }
        self.used += n;
    }

    fn finish(mut self) -> Vec<T> {
        self.items.truncate(self.used);
        self.items
    }
}

fn keep(offsets: Offsets, spare: &mut Spare) {
    if let Offsets::At(positions) = offsets {
        spare.push(positions);
    }
}

/// Positions as offsets; where all entries have the same length, the memory is kept for the next chunk.
fn offsets(positions: Vec<u32>, spare: &mut Spare) -> Offsets {
    let each = positions.get(1).copied().unwrap_or(0);
    let equal = positions.windows(2).fold(true, |equal, w| equal & (w[1] - w[0] == each));
    if !equal {
        return Offsets::At(positions);
    }
    spare.push(positions);
    Offsets::Every(each)
}
