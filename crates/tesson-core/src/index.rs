//! The index of a corpus: which sequences there are and how long they are, without their data.

use crate::{ChunkId, CompactLengths, SequenceId};

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

/// The chunks of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Chunks {
    /// `n` equal chunks, as a list of images has: the same sequences, lengths and bytes in each. They take no memory.
    Alike { n: u32, chunk: AlikeChunk },
    /// Any: where each begins, and its lengths.
    Any { entries: Vec<Entry>, lengths: Vec<CompactLengths> },
}

/// One of many chunks that are alike; it has a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AlikeChunk {
    lengths: CompactLengths,
    samples: u64,
    bytes: u64,
}

impl AlikeChunk {
    /// The chunk of these lengths, if they are one and the same.
    fn new(lengths: &CompactLengths, bytes: u64) -> Option<AlikeChunk> {
        let CompactLengths::Constant { value: 1.., n: 1.. } = lengths else { return None };
        let samples = lengths.sum(0..lengths.len());
        Some(AlikeChunk { lengths: lengths.clone(), samples, bytes })
    }

    fn span(&self, chunk: ChunkId) -> ChunkSpan {
        let n_sequences = self.lengths.len() as u32;
        ChunkSpan {
            first_sequence: u64::from(chunk.0) * u64::from(n_sequences),
            n_sequences,
            first_sample: u64::from(chunk.0) * self.samples,
            n_samples: self.samples,
            bytes: self.bytes,
        }
    }
}

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks::Any { entries: Vec::new(), lengths: Vec::new() }
    }
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
/// is fixed by the index and never recomputed from parsed data. Holds 48 bytes a chunk and at most 4 a sequence
/// (none where all lengths of a chunk are equal), and nothing where all chunks are alike and of one length. An index may grow while it is read ([`Index::is_complete`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    chunks: Chunks,
    n_sequences: u64,
    n_samples: u64,
    /// The length of all sequences known, if it is one and stored as one.
    common_length: Option<u32>,
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
        if !lengths.is_empty() {
            let length = match lengths {
                CompactLengths::Constant { value, .. } => Some(value),
                _ => None,
            };
            let is_common = sequence == 0 || self.common_length == length;
            self.common_length = length.filter(|_| is_common);
        }
        self.n_sequences += lengths.len() as u64;
        self.n_samples += lengths.sum(0..lengths.len());
        match &mut self.chunks {
            Chunks::Alike { n, chunk } if chunk.lengths == lengths && chunk.bytes == bytes => *n += 1,
            Chunks::Any { entries, .. } if entries.is_empty() => {
                self.chunks = match AlikeChunk::new(&lengths, bytes) {
                    Some(chunk) => Chunks::Alike { n: 1, chunk },
                    None => {
                        let entry = Entry { first_sequence: sequence, first_sample: sample, bytes };
                        Chunks::Any { entries: vec![entry], lengths: vec![lengths] }
                    }
                };
            }
            chunks => {
                let (entries, known) = chunks.list();
                entries.push(Entry { first_sequence: sequence, first_sample: sample, bytes });
                known.push(lengths);
            }
        }
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
        match &self.chunks {
            Chunks::Alike { n, .. } => *n as usize,
            Chunks::Any { entries, .. } => entries.len(),
        }
    }

    /// All chunks known.
    pub fn chunk_ids(&self) -> impl DoubleEndedIterator<Item = ChunkId> + ExactSizeIterator + use<> {
        (0..self.n_chunks() as u32).map(ChunkId)
    }

    /// The first chunk, if all of them are known to be alike: of as many sequences of one length, and as large in storage.
    pub fn common_chunk(&self) -> Option<ChunkSpan> {
        match &self.chunks {
            Chunks::Alike { chunk, .. } => Some(chunk.span(ChunkId(0))),
            Chunks::Any { .. } => None,
        }
    }

    /// The length of all sequences, if every chunk known stores the same constant length.
    pub fn common_length(&self) -> Option<u32> {
        self.common_length
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
    pub fn chunk(&self, chunk: ChunkId) -> ChunkSpan {
        match &self.chunks {
            Chunks::Alike { n, chunk: alike } => {
                assert!(chunk.0 < *n, "chunk {chunk} of {n}");
                alike.span(chunk)
            }
            Chunks::Any { entries, lengths } => {
                let chunk = chunk.index();
                let at = entries[chunk];
                let end = entries.get(chunk + 1).map_or(self.n_samples, |e| e.first_sample);
                ChunkSpan {
                    first_sequence: at.first_sequence,
                    n_sequences: lengths[chunk].len() as u32,
                    first_sample: at.first_sample,
                    n_samples: end - at.first_sample,
                    bytes: at.bytes,
                }
            }
        }
    }

    /// The counted lengths of a chunk's sequences.
    #[inline]
    pub fn lengths(&self, chunk: ChunkId) -> &CompactLengths {
        match &self.chunks {
            Chunks::Alike { chunk: alike, .. } => &alike.lengths,
            Chunks::Any { lengths, .. } => &lengths[chunk.index()],
        }
    }

    /// The counted length of a sequence.
    #[inline]
    pub fn length(&self, at: SequenceId) -> u32 {
        self.lengths(at.chunk).get(at.sequence as usize)
    }

    /// The chunk that holds a sequence of the corpus.
    ///
    /// # Panics
    /// If the sequence is not below [`Index::n_sequences`].
    pub fn chunk_of_sequence(&self, sequence: u64) -> ChunkId {
        assert!(sequence < self.n_sequences, "sequence {sequence} of {}", self.n_sequences);
        match &self.chunks {
            Chunks::Alike { chunk, .. } => ChunkId((sequence / chunk.lengths.len() as u64) as u32),
            Chunks::Any { entries, .. } => {
                ChunkId::at(entries.partition_point(|e| e.first_sequence <= sequence) - 1)
            }
        }
    }

    /// A sequence by its number in the corpus.
    ///
    /// # Panics
    /// If the number is not below [`Index::n_sequences`].
    pub fn sequence(&self, number: u64) -> SequenceId {
        let chunk = self.chunk_of_sequence(number);
        SequenceId { chunk, sequence: (number - self.chunk(chunk).first_sequence) as u32 }
    }

    /// The number of a sequence in the corpus.
    #[inline]
    pub fn number_of(&self, sequence: SequenceId) -> u64 {
        self.chunk(sequence.chunk).first_sequence + u64::from(sequence.sequence)
    }

    /// The chunk that holds a sample of the sweep.
    ///
    /// # Panics
    /// If the sample is not below [`Index::n_samples`].
    pub fn chunk_of_sample(&self, sample: u64) -> ChunkId {
        assert!(sample < self.n_samples, "sample {sample} of {}", self.n_samples);
        match &self.chunks {
            Chunks::Alike { chunk, .. } => ChunkId((sample / chunk.samples) as u32),
            Chunks::Any { entries, .. } => {
                ChunkId::at(entries.partition_point(|e| e.first_sample <= sample) - 1)
            }
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match &self.chunks {
            Chunks::Alike { .. } => 0,
            Chunks::Any { entries, lengths } => {
                entries.capacity() * size_of::<Entry>()
                    + lengths.capacity() * size_of::<CompactLengths>()
                    + lengths.iter().map(CompactLengths::bytes).sum::<usize>()
            }
        }
    }
}

impl Chunks {
    /// The chunks as a list, which they become for one that is not like the others.
    fn list(&mut self) -> (&mut Vec<Entry>, &mut Vec<CompactLengths>) {
        if let Chunks::Alike { n, chunk } = self {
            let entry = |i| {
                let ChunkSpan { first_sequence, first_sample, bytes, .. } = chunk.span(i);
                Entry { first_sequence, first_sample, bytes }
            };
            let entries = (0..*n).map(ChunkId).map(entry).collect();
            *self = Chunks::Any { entries, lengths: vec![chunk.lengths.clone(); *n as usize] };
        }
        match self {
            Chunks::Any { entries, lengths } => (entries, lengths),
            Chunks::Alike { .. } => unreachable!("it has become a list"),
        }
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
        let named = |number| index.sequence(number);
        assert_eq!(named(4), SequenceId { chunk: ChunkId(2), sequence: 0 });
        assert!((0..6).all(|number| index.number_of(named(number)) == number));
        let by_sequence: Vec<_> = (0..6).map(|s| index.chunk_of_sequence(s).0).collect();
        assert_eq!(by_sequence, [0, 0, 0, 1, 2, 2]);
        let by_sample: Vec<_> = (0..12).map(|s| index.chunk_of_sample(s).0).collect();
        assert_eq!(by_sample, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(
            index.chunk(ChunkId(1)),
            ChunkSpan { first_sequence: 3, n_sequences: 1, first_sample: 6, n_samples: 4, bytes: 5 }
        );
    }

    #[test]
    fn chunks_that_are_alike_take_no_memory_and_are_found_like_others() {
        let mut alike = Index::new();
        (0..1000).for_each(|_| alike.push(CompactLengths::new(&[2, 2, 2]), 10));
        assert_eq!((alike.bytes(), alike.common_chunk()), (0, Some(alike.chunk(ChunkId(0)))));
        let mut other = alike.clone();
        other.push(CompactLengths::new(&[2]), 10);
        assert_eq!((other.common_chunk(), other.n_chunks()), (None, 1001));
        assert_eq!((alike.common_length(), other.common_length()), (Some(2), Some(2)));
        for chunk in (0..1000).map(ChunkId) {
            assert_eq!(alike.chunk(chunk), other.chunk(chunk));
            assert_eq!(alike.lengths(chunk), other.lengths(chunk));
        }
        for sequence in [0, 1, 2, 3, 1499, 2999] {
            assert_eq!(alike.chunk_of_sequence(sequence), other.chunk_of_sequence(sequence));
            assert_eq!(alike.chunk_of_sample(2 * sequence + 1), other.chunk_of_sample(2 * sequence + 1));
        }
        assert_eq!(other.chunk(ChunkId(1000)).first_sample, 6000);
        for lengths in [&[3][..], &[2], &[2, 3]] {
            other.push(CompactLengths::new(lengths), 10);
            assert_eq!(other.common_length(), None);
        }
    }
}
