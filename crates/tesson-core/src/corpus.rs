//! Loading parts of a corpus that has been indexed.

use std::ops::Range;

use crate::key::KeyList;
use crate::{Chunk, ChunkId, Error, Fetch, Index, Key, Keys, ResourceId, Scratch, SequenceId};

/// A corpus that has been indexed, and how to load parts of it. Every method is required: a corpus made of others cannot
/// forget one.
pub trait Corpus: Send + Sync {
    /// The facts about the corpus that are known without loading anything.
    fn facts(&self) -> &CorpusFacts;

    /// Decodes the selected sequences of a chunk into `out`, which is overwritten but keeps its memory.
    ///
    /// Sequence `i` of `out` is the `i`-th selected one. The values, samples and faults of a sequence never depend on
    /// the others that are selected with it.
    ///
    /// # Errors
    /// Only when bytes cannot be read or the resource is not the one indexed; bad data are faults in `out`.
    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;

    /// The keys of a chunk's sequences, of which the index has `n_sequences`; `None` if only decoding finds them,
    /// which `keys_of_chunk` then does.
    ///
    /// # Errors
    /// The errors of [`Corpus::load`].
    fn keys(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
    ) -> Result<Option<Keys>, Error>;

    /// Loading single sequences of many chunks at once, if the format has a way that is better than chunk by chunk.
    fn scattered(&self) -> Option<&dyn Scattered>;

    /// The resource and the extent of one sequence in storage. A corpus without resources returns
    /// [`ResourceId::NONE`].
    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>);

    /// The resource and the extent of one sequence like [`Corpus::span`], for callers that may not have loaded
    /// anything of its chunk: reads the bytes on which the extent depends, such as a header. If these are damaged or
    /// missing the range is empty, and loading reports why.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the result is no longer needed.
    fn locate(&self, at: SequenceId, _fetch: &dyn Fetch) -> Result<(ResourceId, Range<u64>), Error> {
        Ok(self.span(at))
    }

    /// Appends the bytes from which [`Deserializer::restore`](crate::Deserializer::restore) restores index and
    /// corpus. Not called if an index cache is [useless](crate::IndexCache::Useless).
    fn save(&self, index: &Index, into: &mut Vec<u8>);
}

/// Facts about a corpus that are known without loading anything.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CorpusFacts {
    /// Bytes of memory held beside the [`Index`], at most.
    pub memory: usize,
    /// The amount of a chunk that is worth loading.
    pub access: ChunkAccess,
    /// The sequences that the data list and the corpus does not have, for each reason.
    pub left_out: Vec<LeftOut>,
}

/// Sequences that a deserializer leaves out for one reason, as its options say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The reason, after "is" or "are": `longer than maxSequenceSize`.
    pub reason: &'static str,
    /// The number of these sequences.
    pub n: u64,
    /// The keys of the first few, in the order of the data.
    pub first: Vec<Key>,
}

impl LeftOut {
    /// Keys that are named, at most.
    pub const NAMED: usize = 5;

    /// `n` sequences, of which these are the keys in order. `None` for no sequence.
    pub fn new(reason: &'static str, n: usize, keys: impl Iterator<Item = Key>) -> Option<LeftOut> {
        (n > 0).then(|| LeftOut { reason, n: n as u64, first: keys.take(LeftOut::NAMED).collect() })
    }
}

impl CorpusFacts {
    /// The facts of a corpus that holds this many bytes beside the index and loads chunks in
    /// [parts](ChunkAccess::Parts).
    pub fn new(memory: usize) -> CorpusFacts {
        CorpusFacts { memory, access: ChunkAccess::Parts, left_out: Vec::new() }
    }

    /// Sets another way to load chunks.
    #[must_use]
    pub fn with_access(self, access: ChunkAccess) -> CorpusFacts {
        CorpusFacts { access, ..self }
    }

    /// Sets the sequences that are left out.
    #[must_use]
    pub fn with_left_out(self, left_out: Vec<LeftOut>) -> CorpusFacts {
        CorpusFacts { left_out, ..self }
    }
}

/// The amount of a chunk that is worth loading, from any part to all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChunkAccess {
    /// Any sequences; the cost is proportional to their size.
    Parts,
    /// Any sequences; the cost of consecutive ones is proportional to their size, and a single one costs what hundreds do. Where
    /// sequences are wanted in another order, a chunk is better loaded whole.
    Runs,
    /// Any sequences; but a chunk for which there is memory is better loaded whole than in parts, which read some of it
    /// twice.
    PreferWhole,
    /// The whole chunk: loading a part of it costs as much.
    WholeOnly,
}

/// The sequences of a chunk that are to be decoded.
#[derive(Clone, Debug)]
pub enum SequenceSelection<'a> {
    /// Consecutive ones, counted within the chunk.
    Range(Range<u32>),
    /// These, ascending, counted within the chunk; each is fetched and decoded by itself.
    List(&'a [u32]),
}

impl SequenceSelection<'_> {
    /// Number of sequences selected.
    pub fn len(&self) -> usize {
        match self {
            SequenceSelection::Range(r) => r.len(),
            SequenceSelection::List(r) => r.len(),
        }
    }

    /// True if nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sequences, counted within the chunk.
    pub fn to_vec(&self) -> Vec<u32> {
        match self {
            SequenceSelection::Range(range) => range.clone().collect(),
            SequenceSelection::List(list) => list.to_vec(),
        }
    }
}

/// Loads sequences from all over a corpus.
pub trait Scattered: Sync {
    /// Decodes sequences, each a chunk and a number within it, into `out`, in the order given (overwritten; keeps its
    /// memory). Lines and line keys count from the beginning of the resource.
    ///
    /// # Errors
    /// The errors of [`Corpus::load`].
    fn load_scattered(
        &self,
        sequences: &[SequenceId],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;
}

/// Sequences that are decoded at once for nothing but their keys.
const KEYS_AT_ONCE: u32 = 1024;

impl<'a> dyn Corpus + 'a {
    /// The keys of a chunk's sequences, of which the index has `n_sequences`: from the format if it can list them
    /// separately, otherwise by decoding. `out` is memory for the latter.
    ///
    /// # Errors
    /// The errors of [`Corpus::load`].
    pub fn keys_of_chunk(
        &self,
        chunk: ChunkId,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<Keys, Error> {
        if let Some(keys) = self.keys(chunk, n_sequences, fetch, scratch)? {
            return Ok(keys);
        }
        let mut keys = KeyList::default();
        let mut from = 0;
        while from < n_sequences {
            let to = n_sequences.min(from.saturating_add(KEYS_AT_ONCE));
            self.load(chunk, SequenceSelection::Range(from..to), fetch, scratch, out)?;
            (0..out.n_sequences as usize).for_each(|i| keys.push(out.key(i)));
            from = to;
        }
        Ok(keys.finish())
    }
}
