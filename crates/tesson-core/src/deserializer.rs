//! The interface of a deserializer to the engine: bytes in, an index and decoded chunks out.
//!
//! A deserializer opens no file and starts no thread. The engine supplies [`Fetch`] (bytes) and [`Parallelism`] (cores), and a
//! [`Store`] to those whose files are listed in a folder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::store::Store;
use crate::{
    Corpus, DataError, Error, Fetch, Index, ListedAt, NamedResources, Parallelism, ResourceId, StreamInfo,
    StreamingDecoder, Transform,
};

/// A deserializer: understands one dataset's bytes. Every method is required, so that a deserializer that wraps
/// others cannot forget one.
///
/// ```
/// use std::{ops::Range, sync::Arc};
///
/// use tesson_core::*;
///
/// /// A file in which each byte is a sequence of one sample.
/// struct ByteFile(DeserializerFacts);
///
/// const FILE: ResourceId = ResourceId(0);
///
/// impl Deserializer for ByteFile {
///     fn facts(&self) -> &DeserializerFacts {
///         &self.0
///     }
///
///     fn prepare(&mut self, _: &dyn Fetch) -> Result<(), Error> {
///         Ok(())
///     }
///
///     fn index(&self, fetch: &dyn Fetch, _: &dyn Parallelism, _: &mut Defects<'_>) -> Result<Indexed, Error> {
///         let size = fetch.size(FILE)?;
///         let mut index = Index::new();
///         index.push(CompactLengths::constant(1, size as u32), size);
///         index.seal();
///         Ok(Indexed { index: Arc::new(index), corpus: Arc::new(ByteCorpus(CorpusFacts::new(0))) })
///     }
///
///     fn restore(&self, _: &[u8]) -> Option<Indexed> {
///         None
///     }
///
///     fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
///         Ok(Vec::new())
///     }
///
///     fn streaming(&self) -> Option<&dyn StreamingDecoder> {
///         None
///     }
/// }
///
/// struct ByteCorpus(CorpusFacts);
///
/// impl Corpus for ByteCorpus {
///     fn facts(&self) -> &CorpusFacts {
///         &self.0
///     }
///
///     fn load(
///         &self,
///         _chunk: ChunkId,
///         wanted: SequenceSelection<'_>,
///         fetch: &dyn Fetch,
///         _: &mut Scratch,
///         out: &mut Chunk,
///     ) -> Result<(), Error> {
///         let (wanted, mut values) = (wanted.to_vec(), Vec::new());
///         for &at in &wanted {
///             fetch.read(FILE, at.into()..u64::from(at) + 1, &mut values)?;
///         }
///         let data = Data::Dense { values: Values::Bytes(values) };
///         let lengths = vec![1; wanted.len()];
///         let keys = Keys::Numbers(wanted.into_iter().map(u64::from).collect());
///         *out = Chunk::new(keys, lengths, vec![StreamColumn { samples: Offsets::Every(1), data }]);
///         Ok(())
///     }
///
///     fn keys(&self, _: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
///         Ok(Some(Keys::Consecutive(0)))
///     }
///
///     fn scattered(&self) -> Option<&dyn Scattered> {
///         None
///     }
///
///     fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
///         (FILE, at.sequence.into()..u64::from(at.sequence) + 1)
///     }
///
///     fn save(&self, _: &Index, _: &mut Vec<u8>) {}
/// }
///
/// let stream = StreamInfo::dense("byte", Shape::new([1]), Element::F32);
/// let mut deserializer = ByteFile(DeserializerFacts::new("Bytes", vec!["f".into()], vec![stream], "bytes"));
/// let file = InMemory::new([7, 8, 9]);
/// deserializer.prepare(&file)?;
/// let cores = OneCore { memory: 1 << 20 };
/// let Indexed { corpus, .. } = deserializer.index(&file, &cores, &mut Defects::Refuse)?;
/// let mut chunk = Chunk::empty();
/// corpus.load(ChunkId(0), SequenceSelection::List(&[0, 2]), &file, &mut Scratch::default(), &mut chunk)?;
/// assert_eq!(chunk.streams[0].data, Data::Dense { values: Values::Bytes(vec![7, 9]) });
/// # Ok::<(), Error>(())
/// ```
pub trait Deserializer: Send + Sync {
    /// Finds the files of a dataset that is named by a folder in the store. Called once, before all else. Its errors
    /// are returned by [`Deserializer::prepare`].
    fn locate(&mut self, _store: &dyn Store) {}

    /// The facts that the engine needs. Final after [`Deserializer::prepare`] and
    /// [`Deserializer::take_frame_period`].
    fn facts(&self) -> &DeserializerFacts;

    /// Looks at the beginning of the data: encoding, mode, shapes that are left open, and the resources that the data list.
    /// Called once, when the files are open; and once more where the facts ask for that
    /// ([`DeserializerFacts::looks_at_named`]).
    ///
    /// # Errors
    /// Data that cannot be this format at all.
    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error>;

    /// Takes the time from one frame to the next that another deserializer states, where the facts ask for that
    /// ([`DeserializerFacts::needs_frame_period`]). Called after [`Deserializer::prepare`]; identities may change.
    fn take_frame_period(&mut self, _period: u32) {}

    /// Indexes the whole corpus, on as many cores as are supplied. The result does not depend on their number.
    ///
    /// # Errors
    /// Data that allow no index, unreadable storage, and [`Defects`] unless they are collected.
    fn index(
        &self,
        fetch: &dyn Fetch,
        parallelism: &dyn Parallelism,
        defects: &mut Defects<'_>,
    ) -> Result<Indexed, Error>;

    /// The index that [`Corpus::save`] wrote; `None` if the bytes are not one.
    fn restore(&self, saved: &[u8]) -> Option<Indexed>;

    /// Streams that the data do not have as they are declared. Only the command line asks, before it reads anything: where a
    /// stream occurs nowhere, the answer takes a pass over all of the data.
    ///
    /// # Errors
    /// Unreadable storage.
    fn mismatches(&self, fetch: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error>;

    /// Reading in order without an index, if the format and its options allow it.
    fn streaming(&self) -> Option<&dyn StreamingDecoder>;
}

/// The facts about a deserializer that the engine needs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeserializerFacts {
    /// The name of its format, as in configurations.
    pub name: &'static str,
    /// The files, as the configuration names them. They are opened before [`Deserializer::prepare`].
    pub resources: Vec<PathBuf>,
    /// True if a folder may be given instead of a file; its [`Listing`](crate::Listing) is then read. By default
    /// false.
    pub takes_folders: bool,
    /// Files and members of archives that these list, as [`Deserializer::prepare`] finds them. They are opened when they are
    /// first read. By default there are none.
    pub named: Arc<NamedResources>,
    /// True if [`Deserializer::prepare`] is called a second time, when the resources that it has listed can be read.
    /// Then it lists no more. By default false.
    pub looks_at_named: bool,
    /// Transforms that decode streams of encoded samples or recordings, each with the stream's number. They run before all
    /// others of the stream. By default there are none: the registry's format may name some
    /// ([`Format::decoder`](crate::Format::decoder)).
    pub decoders: Decoders,
    /// A hash that distinguishes the corpus from others, in addition to the sizes and both ends of
    /// [`resources`](DeserializerFacts::resources): for example of whole lists and of the sizes in them. Saved states
    /// are bound to it.
    pub fingerprint: Option<u64>,
    /// The streams, in the order of the configuration.
    pub streams: Vec<StreamInfo>,
    /// All options that change sequences, keys or values, in a stable text form: part of states and index caches.
    pub identity: String,
    /// The number of faults in its data that are forgiven over the life of a state, if it has a separate budget. By
    /// default `None`: its faults count towards the reader's budget (`maxErrors`).
    pub max_errors: Option<u64>,
    /// Keeps chunks in memory after their last use in a sweep (`keepDataInMemory`). By default false.
    pub keep_in_memory: bool,
    /// The use of an index cache. By default [`IndexCache::Useless`].
    pub index_cache: IndexCache,
    /// The folder of index caches, one for each identity; by default a cache lies beside the first file.
    pub index_folder: Option<PathBuf>,
    /// True if one of its streams defines how many samples a sequence counts, even when it is joined with others
    /// (`definesMBSize`). By default false.
    pub defines_size: bool,
    /// The choice among sequences with a repeated key when others are joined. By default the first.
    pub repeated_keys: RepeatedKeys,
    /// Samples by which a sequence may be longer or shorter than that of the first deserializer that it joins: it is cut, or
    /// its last sample is repeated; a larger difference is a fault. By default lengths may differ as they like.
    pub length_tolerance: Option<u32>,
    /// `true`: it is shuffled and shared like any other even if it is read alone; `false`: each worker then has its
    /// own timeline (spec/engine.md §8). Joined deserializers are all read alike. By default true.
    pub composable: bool,
    /// True if it only adds to the sequences of another deserializer, so that it cannot be the first one. By default
    /// false.
    pub needs_another_first: bool,
    /// The time from one sample to the next, in units of 100 ns, if samples are frames of recordings. By default
    /// `None`.
    pub frame_period: Option<u32>,
    /// True if it counts in frames, with the frame period of the first deserializer that has one. By default false.
    pub needs_frame_period: bool,
    /// The remedy, in the imperative, for a corpus with fewer chunks than workers that share them; `None`, the
    /// default, if the format leaves no choice.
    pub smaller_chunks: Option<fn() -> String>,
}

impl DeserializerFacts {
    /// The facts of a deserializer of these streams, with defaults for everything else.
    pub fn new(
        name: &'static str,
        resources: Vec<PathBuf>,
        streams: Vec<StreamInfo>,
        identity: impl Into<String>,
    ) -> DeserializerFacts {
        DeserializerFacts {
            name,
            resources,
            takes_folders: false,
            named: Arc::default(),
            looks_at_named: false,
            decoders: Decoders::default(),
            fingerprint: None,
            streams,
            identity: identity.into(),
            max_errors: None,
            keep_in_memory: false,
            index_cache: IndexCache::Useless,
            index_folder: None,
            defines_size: false,
            repeated_keys: RepeatedKeys::First,
            length_tolerance: None,
            composable: true,
            needs_another_first: false,
            frame_period: None,
            needs_frame_period: false,
            smaller_chunks: None,
        }
    }

    /// Adds a file that the data list, or an archive.
    pub fn push_file(&mut self, path: &str, at: ListedAt) -> ResourceId {
        let number = Arc::make_mut(&mut self.named).push_file(path, at);
        ResourceId(self.resources.len() as u32 + number)
    }

    /// Adds a member of an archive that has been added as a file.
    ///
    /// # Panics
    /// If there is no such archive.
    pub fn push_member(&mut self, archive: ResourceId, name: &str, at: ListedAt) -> ResourceId {
        let n = self.resources.len() as u32;
        let number = Arc::make_mut(&mut self.named).push_member(archive.0 - n, name, at);
        ResourceId(n + number)
    }
}

/// The transforms of a deserializer that decode its streams, each with the stream's number.
#[derive(Clone, Default)]
pub struct Decoders(pub Vec<(usize, Arc<dyn Transform>)>);

impl fmt::Debug for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(stream, decoder)| (stream, decoder.name()))).finish()
    }
}

/// The use of an index cache (`cacheIndex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexCache {
    /// There is no cache, because making the index costs as little as reading one.
    Useless,
    /// A cache would save work, but is written only on explicit request.
    Off,
    /// The cache is read, and written if it is missing.
    On,
}

impl IndexCache {
    /// Used where the option is set.
    pub fn enabled(enabled: bool) -> IndexCache {
        if enabled { IndexCache::On } else { IndexCache::Off }
    }
}

/// The choice among several sequences of one key that joins those of other deserializers (spec/engine.md §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// The first one in the order of the index.
    First,
    /// The last one.
    Last,
    /// None of them: the key counts as missing.
    Nothing,
    /// They are the frames of an utterance ([`Keys::Runs`](crate::Keys::Runs)). Frame `k` of the first deserializer joins
    /// frame `k` here; fewer frames than it has are an error. Of an utterance that is repeated the first counts.
    InTurn,
}

/// The treatment, in an index pass, of data that allow an index although reading refuses them.
#[derive(Debug)]
pub enum Defects<'a> {
    /// The first defect is the error of the pass, as for reading.
    Refuse,
    /// All defects are listed, and the corpus loads as much as possible in spite of them, as for checking.
    Collect(&'a mut Vec<DataError>),
}

impl Defects<'_> {
    /// Takes a defect.
    ///
    /// # Errors
    /// The defect itself, unless defects are collected.
    pub fn report(&mut self, defect: DataError) -> Result<(), DataError> {
        match self {
            Defects::Refuse => Err(defect),
            Defects::Collect(all) => {
                all.push(defect);
                Ok(())
            }
        }
    }

    /// True if defects are listed. Then it is worth looking for those that reading would notice only when it loads
    /// them.
    pub fn are_collected(&self) -> bool {
        matches!(self, Defects::Collect(_))
    }
}

/// An index and the corpus it describes.
#[derive(Clone)]
pub struct Indexed {
    /// The index, which the plan needs.
    pub index: Arc<Index>,
    /// The corpus, which loading needs.
    pub corpus: Arc<dyn Corpus>,
}

/// A stream that the data do not have as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamMismatch {
    /// The stream's number.
    pub stream: usize,
    /// The data's content instead.
    pub found: FoundStream,
}

/// The content of the data in place of a declared stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundStream {
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
