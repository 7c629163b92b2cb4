//! The order in which the sequences are stored.

use tesson_core::Index;

use crate::Planned;

/// A walk over the sequences of an index, as stored.
pub(crate) struct Walk<'a> {
    index: &'a Index,
    chunk: usize,
    sequence: usize,
}

impl<'a> Walk<'a> {
    /// A walk that begins with sequence number `sequence` of the corpus; the index knows it.
    pub(crate) fn new(index: &'a Index, sequence: u64) -> Walk<'a> {
        let chunk = index.chunk_of_sequence(sequence);
        Walk { index, chunk, sequence: (sequence - index.chunk(chunk).first_sequence) as usize }
    }

    /// The next sequence and its counted length; there must be one.
    #[inline]
    pub(crate) fn step(&mut self) -> (Planned, u64) {
        let mut lengths = self.index.lengths(self.chunk);
        while self.sequence == lengths.len() {
            self.chunk += 1;
            self.sequence = 0;
            lengths = self.index.lengths(self.chunk);
        }
        let planned = Planned { chunk: self.chunk as u32, sequence: self.sequence as u32 };
        let length = lengths.get(self.sequence);
        self.sequence += 1;
        (planned, length.into())
    }
}

/// The first sequence of the corpus that starts at or after a sample the index knows, and the sample it starts at.
/// Beyond the last sequence both are the totals known.
pub(crate) fn first_from(index: &Index, sample: u64) -> (u64, u64) {
    let chunk = index.chunk_of_sample(sample);
    let span = index.chunk(chunk);
    let lengths = index.lengths(chunk);
    let (mut start, mut sequence) = (span.first_sample, 0);
    while start < sample {
        start += u64::from(lengths.get(sequence));
        sequence += 1;
    }
    (span.first_sequence + sequence as u64, start)
}
