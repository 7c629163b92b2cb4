//! Makes a user's [`ChunkSource`] a deserializer of the engine.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tesson_core::identity::Identity;
use tesson_core::{
    Cause, Chunk, ChunkId, CompactLengths, ConfigError, DataError, DataErrorKind, Defects, Deserializer,
    DeserializerFacts, Error, Fetch, Index, IndexCache, Indexed, Keys, Parallelism, ReaderDefaults,
    StreamInfo, StreamMismatch, StreamingDecoder, UserError, repeated_name,
};

use super::chunk;
use super::corpus::{Kept, UserCorpus};
use super::fault::{ChunkError, UserFault, UserRefusal};
use super::source::ChunkSource;

/// Chunks that each core indexes at a time, where the user's code may run on several.
const WAVE: usize = 4;

/// The cache of chunks that were wanted in part may take this fraction of the index pass's memory.
const KEPT_SHARE: u64 = 8;

/// A deserializer whose chunks come from a user's code.
pub struct UserDeserializer {
    facts: DeserializerFacts,
    calls: Arc<Calls>,
}

impl UserDeserializer {
    /// Checks the streams; nothing is read yet.
    ///
    /// # Errors
    /// The stream that cannot be.
    pub fn new(
        source: Arc<dyn ChunkSource>,
        defaults: &ReaderDefaults,
    ) -> Result<UserDeserializer, UserRefusal> {
        let name = || source.name().to_owned();
        let mut streams = source.streams();
        if streams.is_empty() {
            return Err(UserRefusal::NoStreams { name: name() });
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            if !source.keeps_types() {
                stream.element = defaults.element;
            }
            check_stream(stream, number, source.name())?;
        }
        if let Some((_, again)) = repeated_name(streams.iter().map(|stream| &stream.name)) {
            return Err(UserRefusal::StreamTwice { name: name(), stream: streams[again].name.clone() });
        }
        let counted = source.counted_stream();
        if let Some(number) = counted.filter(|&number| number >= streams.len()) {
            return Err(UserRefusal::NoSuchStream { name: name(), number, n: streams.len() });
        }
        let numeric_keys = defaults.numeric_keys;
        let mut facts = DeserializerFacts::new(super::FORMAT.name, Vec::new(), streams.clone(), "");
        let calls = Calls { source, streams, counted, n_chunks: 0, numeric_keys, turn: Mutex::new(()) };
        facts.defines_size = counted.is_some();
        facts.index_cache = IndexCache::Off;
        Ok(UserDeserializer { facts, calls: Arc::new(calls) })
    }

    /// Orders and shares the data as the reference does with a user-defined deserializer: each worker reads on a
    /// timeline of its own.
    #[must_use]
    pub fn on_local_timelines(mut self) -> UserDeserializer {
        self.facts.composable = false;
        self
    }
}

fn check_stream(stream: &StreamInfo, number: usize, name: &str) -> Result<(), UserRefusal> {
    let name = name.to_owned();
    if stream.name.is_empty() {
        return Err(UserRefusal::NamelessStream { name, number });
    }
    if stream.shape.is_empty() || u32::try_from(stream.shape.len()).is_err() {
        let (stream, shape) = (stream.name.clone(), stream.shape.to_string());
        return Err(UserRefusal::StreamShape { name, number, stream, shape });
    }
    Ok(())
}

impl Deserializer for UserDeserializer {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, _fetch: &dyn Fetch) -> Result<(), Error> {
        let calls = Arc::get_mut(&mut self.calls).expect("a corpus shares the calls only after preparing");
        calls.n_chunks = calls.source.n_chunks().map_err(|e| calls.failed(0, e))?;
        if calls.n_chunks == 0 {
            let refusal = UserRefusal::NoChunks { name: calls.source.name().to_owned() };
            return Err(ConfigError::refused("instance", &refusal).into());
        }
        self.facts.identity = calls.identity();
        Ok(())
    }

    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        _defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error> {
        let (mut index, mut keys) = (Index::new(), Vec::new());
        let announced = OnceLock::new();
        let width = if self.calls.source.is_thread_safe() { WAVE * parallelism.width() } else { 1 };
        for first in (0..self.calls.n_chunks).step_by(width) {
            let wave = first..self.calls.n_chunks.min(first.saturating_add(width as u32));
            for entry in self.calls.entries(wave, &announced, fetch, parallelism)? {
                let first_key = index.n_sequences();
                keys.push(entry.keys.unwrap_or(self.calls.default_keys(first_key, entry.lengths.len())));
                index.push(CompactLengths::new(&entry.lengths), entry.bytes);
            }
        }
        if index.n_sequences() == 0 {
            let chunks = self.calls.n_chunks;
            return Err(self.calls.error(chunks - 1, UserFault::NoSequences { chunks }));
        }
        index.seal();
        let index = Arc::new(index);
        let kept = Kept::new(parallelism.memory() / KEPT_SHARE);
        let corpus = UserCorpus::new(self.calls.clone(), index.clone(), keys, kept);
        Ok(Indexed { index, corpus: Arc::new(corpus) })
    }

    // What makes an index is the user's code, and that may have changed.
    fn restore(&self, _saved: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

/// Bytes of a string, as long as it has not been read.
const STRING_BYTES: u64 = 64;

/// The facts about a chunk that are known without its data.
pub(super) struct Entry {
    lengths: Vec<u32>,
    keys: Option<Keys>,
    bytes: u64,
}

/// Calls into the user's code: one at a time unless it may run on several threads, with errors that say where.
pub(super) struct Calls {
    source: Arc<dyn ChunkSource>,
    streams: Vec<StreamInfo>,
    /// The stream that says how many samples a sequence counts.
    counted: Option<usize>,
    n_chunks: u32,
    numeric_keys: bool,
    turn: Mutex<()>,
}

impl Calls {
    fn identity(&self) -> String {
        let Calls { source, streams, n_chunks, counted, .. } = self;
        let described: Vec<String> = streams
            .iter()
            .map(|s| {
                let sparse = if s.sparse { " sparse" } else { "" };
                let element =
                    if source.keeps_types() { format!(" {}", s.element.name()) } else { String::new() };
                format!("{}[{}]{sparse}{element}", s.name, s.shape)
            })
            .collect();
        let mut identity = Identity::of("UserDeserializer")
            .word(source.name())
            .field("chunks", n_chunks)
            .field("streams", described.join(","));
        if let Some(number) = counted {
            identity = identity.field("counted", &streams[*number].name);
        }
        identity.word(source.identity()).text()
    }

    /// Calls the user's code, from one thread at a time unless it is thread-safe.
    pub(super) fn in_turn<R>(&self, act: impl FnOnce() -> R) -> R {
        // Nothing is behind the lock that a panic could have left half done.
        let _turn =
            (!self.source.is_thread_safe()).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        act()
    }

    /// Reads a chunk. Its keys are not yet set.
    pub(super) fn read(&self, number: u32) -> Result<Chunk, Error> {
        let columns = self.source.read(number).map_err(|e| self.failed(number, e))?;
        chunk::checked(columns, &self.streams, self.counted).map_err(|e| self.error(number, e))
    }

    /// An error of a chunk.
    pub(super) fn error(&self, number: u32, error: impl Into<ChunkError>) -> Error {
        let ChunkError { stream, kind } = error.into();
        DataError::in_chunk(kind, self.source.name(), ChunkId(number)).within(stream, None).into()
    }

    fn failed(&self, number: u32, e: UserError) -> Error {
        match e.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(e) => self.error(number, DataErrorKind::User { what: e.to_string(), cause: Cause(e.into()) }),
        }
    }

    /// The entries of some chunks, in their order. An error is that of the first chunk that has one.
    fn entries(
        &self,
        wave: std::ops::Range<u32>,
        announced: &OnceLock<()>,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
    ) -> Result<Vec<Entry>, Error> {
        let found: Vec<OnceLock<Result<Entry, Error>>> = wave.clone().map(|_| OnceLock::new()).collect();
        let failed = AtomicU32::new(u32::MAX);
        let one = |i: usize| {
            let number = wave.start + i as u32;
            // Chunks before the one that failed are still looked at: one of them may be the first to fail.
            if number > failed.load(Ordering::Relaxed) {
                return;
            }
            let entry = if fetch.cancelled() { Err(Error::Cancelled) } else { self.entry(number, announced) };
            match &entry {
                Ok(entry) => fetch.progress(entry.bytes),
                Err(_) => {
                    failed.fetch_min(number, Ordering::Relaxed);
                }
            }
            // Each number is looked at once, so the place is empty.
            let _ = found[i].set(entry);
        };
        if found.len() == 1 {
            one(0)
        } else {
            parallelism.run(found.len(), &one)
        }
        found.into_iter().filter_map(OnceLock::into_inner).collect()
    }

    /// Lengths and keys of a chunk: as the user's code declares them, or by reading it.
    fn entry(&self, number: u32, announced: &OnceLock<()>) -> Result<Entry, Error> {
        let declared = self.source.lengths(number).map_err(|e| self.failed(number, e))?;
        let (lengths, bytes) = match declared {
            Some(lengths) => {
                if let Some(sequence) = lengths.iter().position(|&n| n == 0) {
                    return Err(self.error(number, UserFault::EmptySequence { sequence }));
                }
                let samples: u64 = lengths.iter().map(|&n| u64::from(n)).sum();
                (lengths, samples * self.sample_bytes())
            }
            None => {
                announced.get_or_init(|| {
                    tracing::warn!(
                        "{} does not tell the lengths of its sequences: its {} chunks are read once to index them",
                        self.source.name(),
                        self.n_chunks
                    );
                });
                let chunk = self.read(number)?;
                let bytes = chunk.bytes() as u64;
                (chunk.lengths, bytes)
            }
        };
        let keys = self.source.keys(number).map_err(|e| self.failed(number, e))?;
        let keys = keys.map(|keys| self.checked_keys(keys, number, lengths.len())).transpose()?;
        Ok(Entry { lengths, keys, bytes })
    }

    /// Bytes of a sample of all streams, estimated where they are sparse or strings.
    fn sample_bytes(&self) -> u64 {
        let bytes = |stream: &StreamInfo| {
            let value =
                stream.element.size() as u64 + if stream.element.is_string() { STRING_BYTES } else { 0 };
            if stream.sparse { 4 * (4 + value) } else { stream.shape.len() as u64 * value }
        };
        self.streams.iter().map(bytes).sum()
    }

    fn checked_keys(&self, keys: Keys, number: u32, n: usize) -> Result<Keys, Error> {
        let found = match &keys {
            Keys::Consecutive(_) => n,
            Keys::Numbers(v) => v.len(),
            Keys::Texts { ends, .. } => ends.len(),
            // Runs that are out of order hold nothing.
            Keys::Runs { ends, .. } => {
                let ascend = ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0);
                ends.last().filter(|_| ascend).map_or(0, |&end| end as usize)
            }
        };
        if found != n {
            return Err(self.error(number, UserFault::KeyCount { found, sequences: n }));
        }
        match (keys, self.numeric_keys) {
            (Keys::Runs { keys, ends }, _) => {
                let keys = self.checked_keys(*keys, number, ends.len())?;
                Ok(Keys::Runs { keys: Box::new(keys), ends })
            }
            (Keys::Texts { .. }, true) => Err(self.error(number, UserFault::TextKeys)),
            (keys @ Keys::Texts { .. }, false) | (keys, true) => Ok(keys.compacted()),
            (keys, false) => Ok(texts(&keys, n)),
        }
    }

    /// The keys of `n` sequences that are numbered over all chunks.
    fn default_keys(&self, first: u64, n: usize) -> Keys {
        let keys = Keys::Consecutive(first);
        if self.numeric_keys { keys } else { texts(&keys, n) }
    }
}

/// Numbers as texts.
fn texts(keys: &Keys, n: usize) -> Keys {
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(n));
    for i in 0..n {
        bytes.extend_from_slice(keys.get(i).to_string().as_bytes());
        ends.push(bytes.len() as u32);
    }
    Keys::Texts { bytes, ends }
}
