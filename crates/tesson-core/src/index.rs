//! The index of a corpus: which sequences there are and how long they are, without their data.

use crate::CompactLengths;

/// One chunk as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Number of the chunk's first sequence in the corpus.
    pub first_sequence: u64,
    /// Sequences in the chunk.
    pub n_sequences: u32,
    /// Samples (counted lengths) before the chunk.
    pub first_sample: u64,
    /// Samples in the chunk.
    pub n_samples: u64,
    /// Size of the chunk in storage, in bytes: the cost of reading it.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    first_sequence: u64,
    first_sample: u64,
    bytes: u64,
}

/// The chunk table of a corpus and the counted length of each of its sequences.
///
/// A *counted length* is the number of samples by which minibatches are cut (spec/engine.md §1); it
/// is fixed by the index and never recomputed from parsed data. Holds 24 bytes a chunk and at most 4 a sequence
/// (none where all lengths of a chunk are equal). An index may grow while it is read ([`Index::is_complete`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    chunks: Vec<Entry>,
    lengths: Vec<CompactLengths>,
    n_sequences: u64,
    n_samples: u64,
    complete: bool,
    assumes_bytes: bool,
}

impl Index {
    /// An index without chunks that may grow.
    pub fn new() -> Index {
        Index::default()
    }

    /// Appends a chunk: the counted length of each of its sequences, and its size in storage.
    pub fn push(&mut self, lengths: CompactLengths, bytes: u64) {
        debug_assert!(!self.complete, "a sealed index does not grow");
        let (sequence, sample) = (self.n_sequences, self.n_samples);
        self.chunks.push(Entry { first_sequence: sequence, first_sample: sample, bytes });
        self.n_sequences += lengths.len() as u64;
        self.n_samples += lengths.sum(0..lengths.len());
        self.lengths.push(lengths);
    }

    /// Records that the sizes of chunks in storage are assumed, because their contents have not been read.
    pub fn assume_bytes(&mut self) {
        self.assumes_bytes = true;
    }

    /// True if the sizes of chunks in storage are assumed.
    pub fn assumes_bytes(&self) -> bool {
        self.assumes_bytes
    }

    /// Records that there are no more chunks.
    pub fn seal(&mut self) {
        self.complete = true;
    }

    /// True if all chunks are known.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Number of chunks known.
    pub fn n_chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Number of sequences known.
    pub fn n_sequences(&self) -> u64 {
        self.n_sequences
    }

    /// Number of samples known: those of one sweep, if the index is complete.
    pub fn n_samples(&self) -> u64 {
        self.n_samples
    }

    /// The entry of a chunk.
    #[inline]
    pub fn chunk(&self, chunk: usize) -> ChunkSpan {
        let at = self.chunks[chunk];
        let end = self.chunks.get(chunk + 1).map_or(self.n_samples, |e| e.first_sample);
        ChunkSpan {
            first_sequence: at.first_sequence,
            n_sequences: self.lengths[chunk].len() as u32,
            first_sample: at.first_sample,
            n_samples: end - at.first_sample,
            bytes: at.bytes,
        }
    }

    /// The counted lengths of a chunk's sequences.
    #[inline]
    pub fn lengths(&self, chunk: usize) -> &CompactLengths {
        &self.lengths[chunk]
    }

    /// The chunk that holds a sequence of the corpus.
    ///
    /// # Panics
    /// If the sequence is not below [`Index::n_sequences`].
    pub fn chunk_of_sequence(&self, sequence: u64) -> usize {
        assert!(sequence < self.n_sequences, "sequence {sequence} of {}", self.n_sequences);
        self.chunks.partition_point(|e| e.first_sequence <= sequence) - 1
    }

    /// The chunk that holds a sample of the sweep.
    ///
    /// # Panics
    /// If the sample is not below [`Index::n_samples`].
    pub fn chunk_of_sample(&self, sample: u64) -> usize {
        assert!(sample < self.n_samples, "sample {sample} of {}", self.n_samples);
        self.chunks.partition_point(|e| e.first_sample <= sample) - 1
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Entry>()
            + self.lengths.capacity() * size_of::<CompactLengths>()
            + self.lengths.iter().map(CompactLengths::bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_found_by_sequence_and_by_sample() {
        let mut index = Index::new();
        index.push(CompactLengths::new(&[1, 2, 3]), 10);
        index.push(CompactLengths::new(&[4]), 5);
        index.push(CompactLengths::new(&[1, 1]), 7);
        index.seal();
        assert_eq!((index.n_sequences(), index.n_samples()), (6, 12));
        let by_sequence: Vec<_> = (0..6).map(|s| index.chunk_of_sequence(s)).collect();
        assert_eq!(by_sequence, [0, 0, 0, 1, 2, 2]);
        let by_sample: Vec<_> = (0..12).map(|s| index.chunk_of_sample(s)).collect();
        assert_eq!(by_sample, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(
            index.chunk(1),
            ChunkSpan { first_sequence: 3, n_sequences: 1, first_sample: 6, n_samples: 4, bytes: 5 }
        );
    }
}
