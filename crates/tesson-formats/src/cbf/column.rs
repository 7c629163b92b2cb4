//! Records to columns: one stream of a run of sequences.
//!
//! There are two ways. [`Column::records`] copies records as they are and looks at what it has copied in a few passes
//! without branches: whether columns are below the dimension and ascend within samples. Where they do not, the run is
//! decoded again by [`Column::records_with_care`], entry by entry, which sorts, adds up and finds faults. Both give the
//! same where the first one is content; a test holds them together.

use tesson_core::{Data, DataErrorKind, Offsets, StreamColumn};

use super::fault::CbfFault;
use super::order::ascend;
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

/// How far decoding has come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) records: u32,
    /// Bytes that they take.
    pub(super) bytes: usize,
    /// Bytes needed to continue, if that was not all.
    pub(super) next: u64,
}

/// Records that have been copied.
struct Copied {
    records: u32,
    /// Bytes that they take.
    bytes: usize,
    /// The entries of the samples are as many as those of the sequences.
    add_up: bool,
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
                _ => tesson_core::Values::Ones(0),
            };
            values = E::unwrap(memory).unwrap_or_default();
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

    /// Samples of each sequence from `first` on.
    pub(super) fn lengths(&self, first: usize) -> impl Iterator<Item = u32> {
        self.samples[first..].windows(2).map(|w| w[1] - w[0])
    }

    /// Decodes up to `n` records from the beginning of `bytes`, as many as lie there as a whole; `left` are the bytes of
    /// the chunk from there on. What is wrong with their entries goes to `wrong`.
    pub(super) fn records(
        &mut self,
        bytes: &[u8],
        left: u64,
        n: u32,
        wrong: &mut Vec<Wrong>,
    ) -> Result<Taken, Stopped> {
        self.check_counts(bytes, left)?;
        let before = self.mark();
        let (Copied { records, bytes: taken, .. }, fine) = match (self.form.sparse, self.form.double) {
            (false, false) => (self.copy_dense(bytes, n, E::of_single), true),
            (false, true) => (self.copy_dense(bytes, n, E::of_double), true),
            (true, false) => self.copy_and_look(bytes, n, before, E::of_single),
            (true, true) => self.copy_and_look(bytes, n, before, E::of_double),
        };
        if fine {
            return self.taken(bytes, left, n, records, taken);
        }
        self.go_back(before);
        self.records_with_care(bytes, left, n, wrong)
    }

    /// As many of these bytes as twice what `n` records like the first one take, where that is there as a whole. Room is made for
    /// all that is looked at, and parts of many streams lie side by side in few bytes.
    pub(super) fn about<'a>(&self, bytes: &'a [u8], n: u32) -> &'a [u8] {
        let most = self.form.whole(bytes).map(|head| u64::from(n).saturating_mul(2 * head.bytes));
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        &bytes[..bytes.len().min(most)]
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

    /// Samples and entries must be countable with what `bytes` can add to them: positions have 32 bits. Each takes four
    /// bytes, so that only gigabytes at once are refused here.
    fn check_counts(&self, bytes: &[u8], left: u64) -> Result<(), Stopped> {
        let most = (self.end() as usize).max(self.values.used * usize::from(self.form.sparse));
        if most + bytes.len() / 4 > u32::MAX as usize {
            let why = Broken::TooLong { needed: bytes.len() as u64, left };
            Err(Stopped { sequence: 0, at: 0, why })
        } else {
            Ok(())
        }
    }

    /// The decoded part, after checking that the next of `n` records fits into the bytes left.
    fn taken(&self, bytes: &[u8], left: u64, n: u32, records: u32, taken: usize) -> Result<Taken, Stopped> {
        let (rest, left) = (&bytes[taken..], left - taken as u64);
        let head_bytes = self.form.head_bytes() as u64;
        let next = if records == n {
            0
        } else if (rest.len() as u64) < head_bytes.min(left) {
            head_bytes
        } else {
            let head = self.form.head(rest, left);
            head.map_err(|why| Stopped { sequence: records, at: taken, why })?.bytes
        };
        Ok(Taken { records, bytes: taken, next })
    }

    fn copy_dense<const N: usize>(&mut self, bytes: &[u8], n: u32, value: impl Fn([u8; N]) -> E) -> Copied {
        let (mut at, mut records) = (0, 0);
        let long = self.form.dim as usize > LONG;
        if !long {
            self.values.make_room(bytes.len() / N);
        }
        while records < n
            && let Some(head) = self.form.whole(&bytes[at..])
        {
            let end = at + head.bytes as usize;
            if long {
                self.values.extend(&bytes[at + 4..end], &value)
            } else {
                self.values.copy(&bytes[at + 4..], (end - at - 4) / N, &value)
            }
            self.samples.push(self.end() + head.samples);
            (at, records) = (end, records + 1);
        }
        Copied { records, bytes: at, add_up: true }
    }

    /// Copies sparse records; whether their columns are fine.
    fn copy_and_look<const N: usize>(
        &mut self,
        bytes: &[u8],
        n: u32,
        before: Mark,
        value: impl Fn([u8; N]) -> E,
    ) -> (Copied, bool) {
        let copied = self.copy_sparse(bytes, n, value);
        let fine = copied.add_up && self.are_fine(before);
        (copied, fine)
    }

    fn copy_sparse<const N: usize>(&mut self, bytes: &[u8], n: u32, value: impl Fn([u8; N]) -> E) -> Copied {
        let (mut at, mut records, mut add_up) = (0, 0, true);
        let mut end = u64::from(self.rows[self.rows.len() - 1]);
        self.values.make_room(bytes.len() / (N + 4));
        self.columns.make_room(bytes.len() / (N + 4));
        while records < n
            && let Some(head) = self.form.whole(&bytes[at..])
        {
            let (columns_at, counts_at) = self.places(head);
            let entries = head.entries as usize;
            self.values.copy(&bytes[at + 8..], entries, &value);
            self.columns.copy(&bytes[at + columns_at..], entries, u32::from_le_bytes);
            let counts = &bytes[at + counts_at..at + head.bytes as usize];
            self.rows.extend(counts.as_chunks().0.iter().map(|&b| {
                end += u64::from(u32::from_le_bytes(b));
                end as u32
            }));
            add_up &= end == self.values.used as u64;
            self.samples.push(self.end() + head.samples);
            (at, records) = (at + head.bytes as usize, records + 1);
        }
        Copied { records, bytes: at, add_up }
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

    /// True if all columns since the mark are below the dimension and ascend within their sample.
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
        let ends = self.rows[since.rows..].iter().map(|&row| row as usize - first);
        ascend(columns, ends, |a, b| a >= b)
    }

    /// Decodes as [`Column::records`] does, entry by entry.
    pub(super) fn records_with_care(
        &mut self,
        bytes: &[u8],
        left: u64,
        n: u32,
        wrong: &mut Vec<Wrong>,
    ) -> Result<Taken, Stopped> {
        let (mut at, mut records) = (0, 0);
        let mut sample: Vec<(u32, E)> = Vec::new();
        while records < n
            && let Some(head) = self.form.whole(&bytes[at..])
        {
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
            (at, records) = (at + record.len(), records + 1);
        }
        self.taken(bytes, left, n, records, at)
    }

    /// The first thing wrong with a record's entries, and where in it.
    fn find_wrong(&self, record: &[u8], head: Head) -> Option<(DataErrorKind, usize)> {
        let [_, columns, counts] = self.parts(record, head);
        let (columns_at, counts_at) = self.places(head);
        let counts = counts.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b));
        if let Some((i, n)) = counts.clone().enumerate().find(|&(_, n)| n < 0) {
            return Some((CbfFault::NegativeCount { found: n }.into(), counts_at + 4 * i));
        }
        let sum: i64 = counts.map(i64::from).sum();
        if sum != i64::from(head.entries) {
            return Some((CbfFault::CountsDisagree { sum, declared: head.entries }.into(), counts_at));
        }
        let dim = self.form.dim;
        let columns = columns.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b));
        let (i, index) = columns.enumerate().find(|&(_, c)| c < 0 || c as u32 >= dim)?;
        let kind = match index {
            ..0 => CbfFault::NegativeIndex { found: index, dim }.into(),
            _ => DataErrorKind::IndexOutOfRange { index: index.to_string(), dim: dim.into() },
        };
        Some((kind, columns_at + 4 * i))
    }

    /// Appends a record whose entries are good, each sample sorted by column, entries of one column added up in the
    /// order of the file (spec/cbf.md §2).
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

/// Columns of so many items grow by a sixteenth instead of twofold: what large ones set aside counts.
const GROWS_SLOWLY: usize = 1 << 18;

/// Entries that are copied at once.
const BLOCK: usize = 16;

/// Samples of more values, and records of more entries, are copied exactly.
const LONG: usize = 128;

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

    /// Makes room for `n` more items, and for a block that reaches beyond them.
    fn make_room(&mut self, n: usize) {
        let needed = self.used + n + BLOCK;
        if self.items.len() < needed {
            // A little more, since what is new is cleared. Columns of one file are about of one size.
            let len = needed + needed / 16;
            if len > GROWS_SLOWLY {
                self.items.reserve_exact(len - self.items.len());
            }
            self.items.resize(len, T::default());
        }
    }

    /// Appends the first `n` items of `bytes`. There must be room for them.
    #[inline(always)]
    fn copy<const N: usize>(&mut self, bytes: &[u8], n: usize, item: impl Fn([u8; N]) -> T) {
        let items = bytes.as_chunks().0;
        let blocks = n.next_multiple_of(BLOCK);
        let to = &mut self.items[self.used..self.used + blocks];
        if n <= LONG
            && let Some(from) = items.get(..blocks)
        {
            for (to, from) in to.as_chunks_mut::<BLOCK>().0.iter_mut().zip(from.as_chunks::<BLOCK>().0) {
                *to = from.map(&item);
            }
        } else {
            for (to, &from) in to.iter_mut().zip(&items[..n]) {
                *to = item(from);
            }
        }
        self.used += n;
    }

    /// Appends all items of `bytes`. Nothing is cleared for them.
    fn extend<const N: usize>(&mut self, bytes: &[u8], item: impl Fn([u8; N]) -> T) {
        self.items.truncate(self.used);
        let items = bytes.as_chunks().0;
        let len = self.used + items.len();
        if len > GROWS_SLOWLY && self.items.capacity() < len {
            self.items.reserve_exact(items.len() + len / 16);
        }
        self.items.extend(items.iter().map(|&b| item(b)));
        self.used = self.items.len();
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
