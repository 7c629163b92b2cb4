//! The keys of a whole corpus, stored compactly.

use tesson_core::{Key, Keys};

/// A borrowed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRef<'a> {
    Number(u64),
    Text(&'a [u8]),
}

impl<'a> KeyRef<'a> {
    /// The key of sequence `i` of a column.
    pub(super) fn of(keys: &'a Keys, i: usize) -> KeyRef<'a> {
        match keys.text(i) {
            Some(text) => KeyRef::Text(text),
            None => KeyRef::Number(keys.number(i).expect("keys are numbers or texts")),
        }
    }

    pub(super) fn to_key(self) -> Key {
        match self {
            KeyRef::Number(n) => Key::Number(n),
            KeyRef::Text(t) => Key::Text(String::from_utf8_lossy(t).into_owned()),
        }
    }
}

/// The keys of one chunk.
enum Column {
    /// The keys in the form in which the format listed them.
    Keys(Keys),
    /// Numbers within 2^32 of the smallest: 4 bytes each.
    Near { least: u64, offsets: Box<[u32]> },
    /// The keys of runs of sequences, and the end of each run.
    Runs { keys: Box<Column>, ends: Vec<u32> },
}

impl Column {
    fn new(keys: Keys) -> Column {
        let numbers = match keys.compacted() {
            Keys::Numbers(numbers) => numbers,
            Keys::Runs { keys, ends } => return Column::Runs { keys: Box::new(Column::new(*keys)), ends },
            others => return Column::Keys(others),
        };
        let (least, most) = (numbers.iter().min().copied(), numbers.iter().max().copied());
        match (least, most) {
            (Some(least), Some(most)) if most - least <= u64::from(u32::MAX) => {
                Column::Near { least, offsets: numbers.iter().map(|n| (n - least) as u32).collect() }
            }
            _ => Column::Keys(Keys::Numbers(numbers)),
        }
    }

    fn get(&self, i: usize) -> KeyRef<'_> {
        match self {
            Column::Keys(keys) => KeyRef::of(keys, i),
            Column::Near { least, offsets } => KeyRef::Number(least + u64::from(offsets[i])),
            Column::Runs { keys, ends } => keys.get(ends.partition_point(|&end| end as usize <= i)),
        }
    }

    /// The end of the run of sequence `i`.
    fn run_end(&self, i: usize) -> usize {
        match self {
            Column::Runs { ends, .. } => ends[ends.partition_point(|&end| end as usize <= i)] as usize,
            _ => i + 1,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Column::Keys(keys) => keys.bytes(),
            Column::Near { offsets, .. } => offsets.len() * 4,
            Column::Runs { keys, ends } => size_of::<Column>() + keys.bytes() + ends.capacity() * 4,
        }
    }
}

/// The keys of all sequences of a corpus, in its order. Consecutive numbers take no memory for each sequence, most
/// other numbers 4 bytes.
#[derive(Default)]
pub struct KeyColumns {
    columns: Vec<Column>,
    /// Number of each chunk's first sequence.
    firsts: Vec<u64>,
    n: u64,
    last: Option<u64>,
    n_runs: u64,
    /// True if some key is not a number above the one before it.
    unordered: bool,
}

impl KeyColumns {
    /// No keys yet.
    pub fn new() -> KeyColumns {
        KeyColumns::default()
    }

    /// Appends the keys of the next chunk, of which there are `n`.
    pub fn push(&mut self, keys: Keys, n: u32) {
        self.firsts.push(self.n);
        self.n += u64::from(n);
        if let Keys::Runs { ends, .. } = &keys {
            // Frames of one key do not ascend.
            self.unordered = true;
            self.n_runs += ends.len() as u64;
            self.columns.push(Column::new(keys));
            return;
        }
        for i in 0..n as usize {
            let number = keys.number(i);
            self.unordered |= number.is_none() || number <= self.last;
            self.last = number;
        }
        self.n_runs += u64::from(n);
        self.columns.push(Column::new(keys));
    }

    /// Number of keys.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of runs; without frames each run is one sequence.
    pub(super) fn n_runs(&self) -> u64 {
        self.n_runs
    }

    /// True if all are numbers, each above the one before it.
    pub(super) fn are_ascending(&self) -> bool {
        !self.unordered
    }

    /// Number of chunks.
    pub(super) fn n_chunks(&self) -> usize {
        self.firsts.len()
    }

    /// The sequences of a chunk.
    pub(super) fn chunk(&self, chunk: usize) -> std::ops::Range<u64> {
        self.firsts[chunk]..self.firsts.get(chunk + 1).copied().unwrap_or(self.n)
    }

    /// The key of a sequence, counted within its chunk.
    pub(super) fn in_chunk(&self, chunk: usize, i: usize) -> KeyRef<'_> {
        self.columns[chunk].get(i)
    }

    /// The first sequence of each run, with its key. The corpus has fewer than 2^32 sequences, and no run continues
    /// in another chunk.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u32, KeyRef<'_>)> {
        let of_chunk = move |chunk: usize| {
            let sequences = self.chunk(chunk);
            let (first, n) = (sequences.start, (sequences.end - sequences.start) as usize);
            let next = move |&i: &usize| Some(self.columns[chunk].run_end(i)).filter(|&end| end < n);
            let starts = std::iter::successors(Some(0).filter(|_| n > 0), next);
            starts.map(move |i| ((first + i as u64) as u32, self.in_chunk(chunk, i)))
        };
        (0..self.n_chunks()).flat_map(of_chunk)
    }

    /// The rest of a run, beginning with a sequence of it.
    pub(super) fn run(&self, sequence: u32) -> std::ops::Range<u32> {
        let (chunk, i) = self.locate(sequence.into());
        sequence..(self.firsts[chunk] + self.columns[chunk].run_end(i) as u64) as u32
    }

    /// The key of a sequence of the corpus.
    pub(super) fn get(&self, sequence: u64) -> KeyRef<'_> {
        let (chunk, i) = self.locate(sequence);
        self.columns[chunk].get(i)
    }

    /// The chunk of a sequence of the corpus, and its number there.
    fn locate(&self, sequence: u64) -> (usize, usize) {
        let chunk = self.firsts.partition_point(|&first| first <= sequence) - 1;
        (chunk, (sequence - self.firsts[chunk]) as usize)
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.columns.capacity() * size_of::<Column>()
            + self.firsts.capacity() * 8
            + self.columns.iter().map(Column::bytes).sum::<usize>()
    }

    /// Bytes of memory that looking up these keys takes in addition to them.
    pub fn bytes_to_find(&self) -> u64 {
        if self.are_ascending() { 0 } else { super::key_lookup::table_bytes(self.n_runs) }
    }
}
