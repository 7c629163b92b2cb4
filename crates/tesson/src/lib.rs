//! A deterministic data loader. It reproduces the order and values of CNTK 2.7's readers and of TFDS bit for bit, and
//! resumes after any minibatch from a state of a few integers, on any machine and with any number of threads.
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
//! // Another source resumes exactly where this one stands.
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
mod source;
pub mod tfds;

pub use source::Source;
pub use tesson_config::{SourceConfig, StoreKind};
pub use tesson_core::{
    Augmentation, ConfigError, DataError, DataErrorKind, Element, Error, Format, Key, Location, Registry,
    ResumeError, Shape, Storage, StoreError, StreamInfo, UsageError,
};
pub use tesson_engine::{
    BatchKeys, Buffer, Canceller, Checked, DEFAULT_MEMORY_LIMIT, KeyDelivery, Layout, Minibatch, PlannedStep,
    ProcessGuard, RowSegment, RunCalls, SampleValues, Samples, Severity, Shown, ShownKey, Stats, StatsReader,
    StepSequence, StreamBatch, SweepSequence, TextKeys, TruncatedPlan, fault_facts, index_cache, no_thread,
    pairing, store,
};
pub use tesson_plan::{
    BatchPlan, Cursor, Demand, JoinReport, MissingKeys, PartReport, Planned, ResumeState, Share, StepSizes,
    merge_states,
};

/// Plans: which sequences each minibatch holds.
pub mod plan {
    pub use tesson_plan::{
        BatchKind, BatchPlan, BatchShare, BatchSlot, Bucketing, ChunkWindow, Consumed, Cursor, Demand,
        Ending, EqualSteps, ExcludedSequences, Fingerprint, Global, JoinReport, LastSequence, Layer, Limit,
        MissingKeys, OrderSpec, PartReport, PendingSequence, PlanSpec, Planned, Segment, SegmentLength,
        Sharing, SlotState, SlotsState, Steps, Tumbling, Window, WindowStart,
    };
}

/// Files of pictures.
pub mod pictures {
    pub use tesson_image::encode::png as encode_png;
}

/// The format traits, for custom deserializers.
pub mod deserializer {
    pub use tesson_core::{
        ByteRun, Cause, Chunk, ChunkAccess, ChunkSpan, CompactLengths, Corpus, CorpusFacts, Damage, Data,
        DecodeRoom, DecodeWarnings, DecoderFn, Decoders, Defects, DescribeFn, Deserializer,
        DeserializerFacts, EncodedColumn, Fault, Fetch, Format, FoundStream, Frame, FrameColumn, InMemory,
        Index, IndexCache, Indexed, KeyType, Keys, LeftOut, ListedAt, Listing, Name, NamedResource,
        NamedResources, Object, Offsets, OneCore, OpenFn, OptionDefault, OptionKind, OptionSpec, OptionTable,
        Options, Origin, Parallelism, ReadContext, ReaderDefaults, RecordingColumn, RepeatedKeys,
        ResourceBytes, ResourceId, Scattered, Scratch, Section, SequenceSelection, StreamColumn,
        StreamMismatch, StreamingDecoder, Value, Values, Words, describe_from_table,
    };

    /// Custom transforms.
    pub mod transform {
        pub use tesson_core::{
            Draw, Input, InputValues, OpenChainFn, OpenTransform, OpenTransformFn, Output, OutputValues,
            ReadFile, SampleType, SparseInput, SparseOutput, StepWords, Transform, TransformFormat,
            ValueType,
        };
    }

    /// Deserializers that hand over decoded chunks: the short way to a custom one.
    pub mod user {
        pub use tesson_formats::user::{
            ChunkError, ChunkSource, FORMAT, UserDeserializer, UserError, checked, instance,
        };
    }
}

/// Which kernels are used: the environment variable `TESSON_KERNELS`, and how JPEG files are decoded.
pub mod kernels {
    pub use tesson_core::Kernels;
    pub use tesson_engine::kernels_from_environment as from_environment;
    pub use tesson_image::{JpegDecoding, jpeg_decoding};
}

/// The built-in formats and transforms.
pub fn registry() -> Registry {
    let formats: Vec<&'static Format> =
        tesson_formats::FORMATS.iter().copied().chain([&tesson_audio::FORMAT, &tfds::FORMAT]).collect();
    Registry::new(&formats).with_transforms(tesson_image::TRANSFORMS)
}

/// The example of the crate's page is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
