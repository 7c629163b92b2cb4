//! Feeds training jobs: minibatches from datasets on disk, deterministic, exactly resumable, fast.
//!
//! The order and the values are those of CNTK 2.7's readers, bit for bit; a state saved behind any minibatch goes on
//! exactly there, on any machine and any number of threads.
//!
//! ```
//! # fn main() -> Result<(), tesson::Error> {
//! # let dir = std::env::temp_dir().join(format!("tesson-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).expect("a temporary folder");
//! # let file = dir.join("train.ctf");
//! # std::fs::write(&file, "|x 1 2 |y 0:1\n|x 3 4 |y 1:1\n|x 5 6 |y 0:1\n").expect("a file");
//! let config = format!(
//!     r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {file:?},
//!         "input": {{"x": {{"dim": 2, "format": "dense"}}, "y": {{"dim": 2, "format": "sparse"}}}}}}],
//!         "randomize": false, "maxSweeps": 1}}"#
//! );
//! let config = tesson::config::from_json(&config)?;
//! let mut source = tesson::Source::open(&config)?;
//! let first = source.next_minibatch(2)?.expect("there are three sequences");
//! assert_eq!(first.n_sequences(), 2);
//!
//! // Another source goes on exactly where this one stands.
//! let state = source.state().clone();
//! let mut other = tesson::Source::resume(&config, &state)?;
//! assert_eq!(other.next_minibatch(2)?.expect("one is left").n_sequences(), 1);
//! # drop((source, other));
//! # std::fs::remove_dir_all(&dir).expect("the folder is ours");
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod config;
pub mod convert;
pub mod errors;
pub mod files;
pub mod records;
pub mod tfds;

use std::ops::{Deref, DerefMut};

use tesson_engine::{FaultRules, JoinRules};

pub use tesson_config::{SourceConfig, StoreKind};
pub use tesson_core::{
    ConfigError, DataError, DataErrorKind, Element, Error, Format, Key, Location, Registry, ResumeError,
    Shape, StoreError, StreamInfo, UsageError,
};
use tesson_engine::StreamTransforms;
pub use tesson_engine::{
    BatchKeys, Buffer, Canceller, DEFAULT_MEMORY_LIMIT, Floats, Layout, Minibatch, PiecesPlan, Place,
    Samples, Shown, ShownKey, Stats, StatsReader, StreamBatch, index_cache, pairing, store,
};
pub use tesson_plan::{
    BatchPlan, Cursor, Demand, JoinReport, MissingKeys, PartReport, Planned, ResumeState, merge_states,
};

/// The format traits, for deserializers of one's own.
pub mod deserializer {
    pub use tesson_core::{
        ByteRun, Cause, Chunk, CompactLengths, Corpus, Damage, Data, DescribeFn, Deserializer, Fault, Fetch,
        Format, Index, Indexed, Keys, Name, Object, Offsets, OptionKind, OptionSpec, OptionTable, Options,
        Parallelism, ReaderDefaults, Repeated, ResourceId, Scattered, Scratch, Section, SequenceSelection,
        StreamColumn, StreamingDecoder, Value, Values, describe_from_table,
    };

    /// Transforms of one's own.
    pub mod transform {
        pub use tesson_core::{
            Draw, Flow, OpenTransformFn, ReadFile, SparseFlow, Transform, TransformFormat,
        };
    }

    /// Deserializers that hand over decoded chunks: the short way to one of one's own.
    pub mod user {
        pub use tesson_formats::user::{ChunkSource, FORMAT, UserDeserializer, UserError, checked, instance};
    }
}

/// Which kernels are used: the environment variable `TESSON_KERNELS`.
pub mod kernels {
    pub use tesson_core::Kernels;
    pub use tesson_engine::kernels_from_environment as from_environment;
}

/// The built-in formats and transforms, with those that are not available yet.
pub fn registry() -> Registry {
    let formats: Vec<&'static Format> =
        tesson_formats::FORMATS.iter().copied().chain([&tfds::FORMAT]).collect();
    Registry::new(&formats).with_planned(tesson_formats::PLANNED).with_transforms(tesson_image::TRANSFORMS)
}

/// Reads a corpus in minibatches; what it can do beside opening is [`tesson_engine::Source`]'s.
pub struct Source(tesson_engine::Source);

impl Source {
    /// Opens what a configuration describes.
    ///
    /// # Errors
    /// Options that cannot be opened, unreadable files, data that are not the format's.
    pub fn open(config: &SourceConfig) -> Result<Source, Error> {
        Source::open_with(config, &Canceller::new())
    }

    /// The same; `canceller` ends it from another thread, and is the source's from then on.
    ///
    /// # Errors
    /// As [`Source::open`], and [`Error::Cancelled`].
    pub fn open_with(config: &SourceConfig, canceller: &Canceller) -> Result<Source, Error> {
        let store: &dyn store::Store = match config.store {
            StoreKind::File => &store::FileStore,
            StoreKind::Mmap => &store::MmapStore,
        };
        let mut config = config.clone();
        for d in &mut config.deserializers {
            files::expand(&mut d.options, d.format.options, &d.path)?;
        }
        Source::assemble(&config, store, canceller)
    }

    /// The same, with files from a store of the caller's choice. Names of files are taken as they are: a store cannot say
    /// which ones match a pattern.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_in(config: &SourceConfig, store: &dyn store::Store) -> Result<Source, Error> {
        Source::assemble(config, store, &Canceller::new())
    }

    fn assemble(
        config: &SourceConfig,
        store: &dyn store::Store,
        canceller: &Canceller,
    ) -> Result<Source, Error> {
        tesson_engine::kernels_from_environment()?;
        config.check()?;
        let defaults = config.reader_defaults();
        let open = |d: &tesson_config::DeserializerConfig| {
            let options = deserializer::Options::new(d.format.options, &d.options, d.path.clone())?;
            (d.format.open)(&options, &defaults).map_err(|e| d.located(e))
        };
        let spec = tesson_engine::SourceSpec {
            deserializers: config.deserializers.iter().map(open).collect::<Result<_, _>>()?,
            join: JoinRules {
                missing: config.missing_keys,
                repeated: !config.unique_keys,
                hash_keys: config.hash_sequence_keys,
            },
            plan: config.plan_spec(),
            transforms: StreamTransforms {
                streams: config.open_transforms(&|path| Ok(store::read_whole(store, path)?))?,
                seed: config.randomization_seed,
            },
            frame_mode: config.frame_mode,
            truncation: config.truncation.map(|t| tesson_engine::TruncationSpec {
                length: t.length,
                right_splice: t.right_splice,
                keep_sparse: t.keep_sparse,
            }),
            element: config.precision,
            memory_limit: config.memory_limit.unwrap_or(DEFAULT_MEMORY_LIMIT),
            threads: config.threads,
            prefetch: config.prefetch,
            faults: FaultRules { share: config.max_error_share, report: config.quarantine.clone() },
        };
        Ok(Source(tesson_engine::Source::open_with(spec, store, canceller)?))
    }

    /// Opens a source and restores a state.
    ///
    /// # Errors
    /// As [`Source::open`], and [`ResumeError`] for a state of something else.
    pub fn resume(config: &SourceConfig, state: &ResumeState) -> Result<Source, Error> {
        let mut source = Source::open(config)?;
        source.restore(state)?;
        Ok(source)
    }

    /// The sequences of a source that reads its data once, in order, for [`convert::write`]. `element` says in which type
    /// each stream is written.
    pub fn into_sequences(self, element: impl Fn(&StreamInfo) -> Element) -> convert::Corpus {
        convert::Corpus::new(self.0, element)
    }
}

impl Deref for Source {
    type Target = tesson_engine::Source;

    fn deref(&self) -> &tesson_engine::Source {
        &self.0
    }
}

impl DerefMut for Source {
    fn deref_mut(&mut self) -> &mut tesson_engine::Source {
        &mut self.0
    }
}
