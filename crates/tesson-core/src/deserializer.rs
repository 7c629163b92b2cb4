//! What a deserializer is to the engine: bytes in, an index and decoded chunks out.
//!
//! A deserializer opens no file and starts no thread. The engine lends it [`Fetch`] (bytes) and [`Parallelism`] (cores).

use std::any::Any;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::key::KeyList;
use crate::{Chunk, DataError, DecodeWarnings, Error, Index, Keys, StreamInfo};

/// One of a deserializer's resources (files), by position in [`Deserializer::resources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// No resource at all.
    pub const NONE: ResourceId = ResourceId(u32::MAX);
}

/// Bytes that may be read beyond the largest sequence.
pub const LOOKAHEAD: u64 = 64 << 10;

/// Bytes, lent by the engine.
pub trait Fetch: Sync {
    /// Size of the resource in bytes.
    fn size(&self, resource: ResourceId) -> u64;

    /// Bytes of the largest sequence that memory allows. Reads of up to [`LOOKAHEAD`] more show where one ends; longer
    /// ones are refused.
    fn largest(&self) -> u64 {
        u64::MAX
    }

    /// Appends the bytes `range` to `into`. Ranges beyond the size are an error, never a short read.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) when the bytes cannot be read; [`Error::Cancelled`] when nobody wants them any more.
    fn read(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error>;

    /// Reads the bytes `range` into `into`, over what it holds. Where much is read again and again this saves clearing
    /// memory that is overwritten anyway.
    ///
    /// # Errors
    /// As [`Fetch::read`].
    fn read_over(&self, resource: ResourceId, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), Error> {
        self.read_behind(resource, range, 0, into)
    }

    /// As [`Fetch::read_over`], over what `into` holds behind its first `from` bytes.
    ///
    /// # Errors
    /// As [`Fetch::read`].
    fn read_behind(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        from: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        into.truncate(from);
        self.read(resource, range, into)
    }

    /// The bytes `range` in place, if the store has them mapped; otherwise `None`, and [`Fetch::read`] is the way.
    fn mapped(&self, _resource: ResourceId, _range: Range<u64>) -> Option<&[u8]> {
        None
    }

    /// Says that these bytes will be read soon, piece by piece.
    fn will_need(&self, _resource: ResourceId, _range: Range<u64>) {}

    /// Tells whoever watches that this many more bytes have been worked through.
    fn progress(&self, _bytes: u64) {}

    /// Whether nobody wants the result any more. Reading asks by itself; what takes long without reading has to.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Cores, lent by the engine.
pub trait Parallelism: Sync {
    /// How many jobs run at the same time.
    fn width(&self) -> usize;

    /// Bytes that all jobs together may hold while they run, beside what they return.
    fn memory(&self) -> u64 {
        u64::MAX
    }

    /// Runs `job(0)`, …, `job(n - 1)`, several at a time, and returns when all have ended.
    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync));
}

/// Scratch memory of one worker thread, kept from one chunk to the next.
#[derive(Default)]
pub struct Scratch {
    /// Bytes of the resource being decoded.
    pub bytes: Vec<u8>,
    /// Anything else a format keeps; it finds here what it left, or what another format did.
    pub format: Option<Box<dyn Any + Send>>,
    /// Things found that are worth a line in a log and no faults.
    pub warnings: DecodeWarnings,
    /// Whether [`Chunk::notes`] are wanted: when data are checked.
    pub notes: bool,
    /// How much may be decoded where it is more than the bytes tell, as missing values are filled with zeros.
    pub room: DecodeRoom,
    /// Set by a format whose decoding ended, with an error, because [`DecodeRoom::all`] was not enough.
    pub outgrown: bool,
}

/// Bytes of dense values that may be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeRoom {
    /// Of one sequence.
    pub sequence: usize,
    /// Of everything that is decoded at once.
    pub all: usize,
}

impl Default for DecodeRoom {
    /// As much as there is.
    fn default() -> DecodeRoom {
        DecodeRoom { sequence: usize::MAX, all: usize::MAX }
    }
}

/// Which sequences of a chunk are to be decoded.
#[derive(Clone, Debug)]
pub enum SequenceSelection<'a> {
    /// Consecutive ones, counted within the chunk.
    Range(Range<u32>),
    /// These, ascending, counted within the chunk; each is fetched and decoded by itself.
    List(&'a [u32]),
}

impl SequenceSelection<'_> {
    /// Number of sequences wanted.
    pub fn len(&self) -> usize {
        match self {
            SequenceSelection::Range(r) => r.len(),
            SequenceSelection::List(r) => r.len(),
        }
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Sequences that are decoded at once for nothing but their keys.
const KEYS_AT_ONCE: u32 = 1024;

/// Which of several sequences of one key joins those of other deserializers (spec of the engine, "Bundling").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// The first one in the order of the index.
    First,
    /// The last one.
    Last,
    /// None of them: the key counts as missing.
    Nothing,
}

/// A corpus that has been indexed, and how to load parts of it.
pub trait Corpus: Send + Sync {
    /// Decodes the wanted sequences of a chunk into `out`, which is overwritten but keeps its memory.
    ///
    /// Sequence `i` of `out` is the `i`-th wanted one. The same sequence gives the same values, samples and faults
    /// whatever else is wanted beside it.
    ///
    /// # Errors
    /// Only when bytes cannot be had or the resource is not the one indexed; bad data are faults in `out`.
    fn load(
        &self,
        chunk: u32,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;

    /// Loading single sequences of many chunks at once, if the format has a way that is better than chunk by chunk.
    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    /// The keys of a chunk's sequences, of which the index has `n_sequences`. They are asked for when deserializers are
    /// joined; what this does without a way of its own is to decode the chunk, `out` being memory for that.
    ///
    /// # Errors
    /// As [`Corpus::load`].
    fn keys(
        &self,
        chunk: u32,
        n_sequences: u32,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<Keys, Error> {
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

    /// Whether a chunk that is wanted whole is better loaded at once than in parts, which read some of it twice. `largest`
    /// is the size of the largest sequence ([`Fetch::largest`]), by which memory can be judged.
    fn reads_whole(&self, _chunk: u32, _largest: u64) -> bool {
        false
    }

    /// Whether chunks are had only as a whole: loading a part of one costs as much as loading all of it.
    fn whole_chunks(&self) -> bool {
        false
    }

    /// Where one sequence lies in storage. Of a corpus without resources the resource is one that nobody has,
    /// [`ResourceId::NONE`].
    fn span(&self, chunk: u32, sequence: u32) -> (ResourceId, Range<u64>);

    /// Bytes of memory held beside the [`Index`].
    fn bytes(&self) -> usize;

    /// Appends what [`Deserializer::restore`] needs to have index and corpus back. Not called where caching is off.
    fn save(&self, index: &Index, into: &mut Vec<u8>);
}

/// Loads sequences from all over a corpus.
pub trait Scattered: Sync {
    /// Decodes sequences, each a chunk and a number within it, into `out`, in the order given (overwritten; keeps its
    /// memory). Lines and line keys count from the beginning of the resource.
    ///
    /// # Errors
    /// As [`Corpus::load`].
    fn load_scattered(
        &self,
        rows: &[(u32, u32)],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;
}

/// An index and the corpus it describes.
#[derive(Clone)]
pub struct Indexed {
    /// What the plan needs.
    pub index: Arc<Index>,
    /// What loading needs.
    pub corpus: Arc<dyn Corpus>,
}

/// A run of whole sequences within one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRun {
    /// The resource.
    pub resource: ResourceId,
    /// Its first byte.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

/// Reading in order without an index, which then grows from what is decoded.
///
/// Cutting is serial and cheap, decoding of several pieces runs side by side. The chunks decoded from all pieces hold
/// exactly the sequences of an index pass, in its order, with its counted lengths and keys.
pub trait StreamingDecoder: Sync {
    /// Cuts the next piece, of about `target` bytes; `after` is the piece before it, `None` starts. Returns `None` at the
    /// end. `scratch` is overwritten.
    ///
    /// Pieces are cut one after the other, so it should read no more than it takes to see where the next one ends.
    ///
    /// # Errors
    /// As [`Deserializer::index`].
    fn cut(
        &self,
        after: Option<ByteRun>,
        target: u64,
        fetch: &dyn Fetch,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ByteRun>, Error>;

    /// Whether decoding reads the piece itself, in parts that fit a cache: then it gets no bytes.
    fn reads_itself(&self) -> bool {
        false
    }

    /// Decodes a piece: its `bytes`, or none if it [reads itself](StreamingDecoder::reads_itself). Lines, those of errors too, and
    /// line keys are relative to the piece.
    ///
    /// # Errors
    /// Only what an index pass reports too; other bad data are faults in `out`.
    fn decode(
        &self,
        piece: ByteRun,
        bytes: &[u8],
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error>;
}

/// What the data say against a stream as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMismatch {
    /// The stream's number.
    pub stream: usize,
    /// What is found instead.
    pub found: Found,
}

/// What is found where a stream is not as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The stream's name in the data occurs nowhere.
    Nothing {
        /// The name that is missing.
        name: String,
        /// Names of other streams that occur.
        declared: Vec<String>,
        /// Names that occur and that no stream is declared for, the first few.
        others: Vec<String>,
    },
    /// Samples of another size, in all of the first rows.
    Dim {
        /// The size that is declared.
        declared: u64,
        /// The size that samples have; of sparse ones that they have at least.
        found: u64,
    },
}

/// A deserializer: understands one dataset's bytes.
pub trait Deserializer: Send + Sync {
    /// The name of its format, as in configurations.
    fn name(&self) -> &'static str;

    /// The streams, in the order of the configuration. Final after [`Deserializer::prepare`].
    fn streams(&self) -> &[StreamInfo];

    /// The files, as the configuration names them.
    fn resources(&self) -> &[PathBuf];

    /// All options that change sequences, keys or values, in a stable text form: part of states and index caches.
    fn identity(&self) -> String;

    /// The largest number of faults forgiven, over the life of a state.
    fn max_errors(&self) -> u64;

    /// Streams that the data do not have as they are declared. Only the command line asks, before it reads anything: where a
    /// stream occurs nowhere, the answer takes a pass over all of the data.
    ///
    /// # Errors
    /// Unreadable storage.
    fn mismatches(&self, _fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    /// Keeps chunks in memory after their last use in a sweep (`keepDataInMemory`).
    fn keep_in_memory(&self) -> bool {
        false
    }

    /// Whether an index cache is to be used and written (`cacheIndex`).
    fn cache_index(&self) -> bool {
        false
    }

    /// Whether a cached index would save anything. If not, [`Corpus::save`] is not called.
    fn can_cache_index(&self) -> bool {
        true
    }

    /// The folder that index caches lie in, one for each identity; by default it lies beside the first file.
    fn index_folder(&self) -> Option<&Path> {
        None
    }

    /// Whether one of its streams says how many samples a sequence counts, whatever others it is joined with
    /// (`definesMBSize`).
    fn defines_size(&self) -> bool {
        false
    }

    /// Which sequence of a repeated key others are joined with.
    fn repeated_keys(&self) -> Repeated {
        Repeated::First
    }

    /// Whether it is shuffled and shared like any other even if it is read alone. If not, each worker then reads on a
    /// timeline of its own (spec of the engine, "Local-timeline randomizers"). Joined, all are read alike.
    fn composable(&self) -> bool {
        true
    }

    /// How to get smaller chunks, in the imperative, for a corpus with fewer chunks than workers that share them; `None` where
    /// the format leaves no choice.
    fn smaller_chunks(&self) -> Option<&'static str> {
        None
    }

    /// Looks at the beginning of the data: encoding, mode, shapes that are left open. Called once, before all else.
    ///
    /// # Errors
    /// Data that cannot be this format at all.
    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error>;

    /// Indexes the whole corpus, on as many cores as are lent. The result does not depend on their number.
    ///
    /// # Errors
    /// Data that allow no index, and unreadable storage.
    fn index(&self, fetch: &dyn Fetch, parallelism: &dyn Parallelism) -> Result<Indexed, Error>;

    /// An index for checking data that reading refuses, and all that it refuses them for as far as an index shows it.
    /// `None` where what allows no index leaves nothing to be looked at.
    ///
    /// # Errors
    /// As [`Deserializer::index`].
    fn index_with_defects(
        &self,
        _fetch: &dyn Fetch,
        _parallelism: &dyn Parallelism,
    ) -> Result<Option<(Indexed, Vec<DataError>)>, Error> {
        Ok(None)
    }

    /// The index that [`Corpus::save`] wrote; `None` if the bytes are not one.
    fn restore(&self, saved: &[u8]) -> Option<Indexed>;

    /// Reading in order without an index, if the format and its options allow it.
    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}
