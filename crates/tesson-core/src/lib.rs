//! The shared types of Tesson: streams, sequences, chunks, indexes, faults and options, and the traits that deserializers
//! implement.
//!
//! This crate does not depend on files, threads, clocks or orders. All crates above it (plan, formats, engine,
//! configuration) use these types. It follows the `tesson` façade and has no stability promise of its own.

#![forbid(unsafe_code)]

pub mod bytes;
mod chunk;
mod cntk_words;
mod compact_lengths;
mod config_tree;
mod corpus;
mod deserializer;
mod draw;
mod error;
mod fault_rules;
mod fetch;
pub mod identity;
mod ids;
mod index;
mod inflected;
mod kernels;
mod key;
mod listed_paths;
mod listing;
mod mt19937;
mod name;
mod named;
mod object;
mod option_set;
mod option_table;
mod options;
mod packed_texts;
mod parallelism;
mod real_number;
mod registry;
mod runtime_spec;
mod sample_type;
mod scratch;
pub mod sections;
mod spelling;
pub mod store;
mod stored;
mod stream;
mod streaming;
mod strings;
mod suggest;
mod text_set;
mod transform;
pub mod varint;
mod wave;

pub use chunk::{Chunk, Damage, Data, Fault, Offsets, StreamColumn, Values};
pub use cntk_words::CntkWords;
pub use compact_lengths::CompactLengths;
pub use config_tree::{Section, Value};
pub use corpus::{ChunkAccess, Corpus, CorpusFacts, LeftOut, Scattered, SequenceSelection};
pub use deserializer::{
    Decoders, Defects, Deserializer, DeserializerFacts, FoundStream, IndexCache, Indexed, RepeatedKeys,
    StreamMismatch,
};
pub use draw::{Augmentation, Draw, StepWords};
pub use error::{
    AnyKind, CallErrorKind, Cause, ConfigError, ConfigErrorKind, DataError, DataErrorKind, Error, ErrorCodes,
    ErrorEntry, ErrorInfo, Expected, FormatFault, FormatFaults, Found, Location, Remedy, ResumeError,
    ResumeErrorKind, SEQUENCES_IN_MEMORY, StoreError, StoreErrorKind, UsageError, UserError, error_entries,
    error_manual, general_entries,
};
pub use fault_rules::FaultRules;
pub use fetch::{Fetch, InMemory, LOOKAHEAD, PartFetch, ReadContext, ResourceBytes, ResourceId};
pub use ids::{ChunkId, SequenceId};
pub use index::{ChunkSpan, Index};
pub use inflected::{inflected, number_of};
pub use kernels::Kernels;
pub use key::{Key, Keys};
pub use listed_paths::ListedPaths;
pub use listing::Listing;
pub use mt19937::Mt19937;
pub use name::{ConfigSpan, Name};
pub use named::{ListedAt, NamedResource, NamedResources};
pub use object::Object;
pub use option_set::{
    OnlySection, OptionField, OptionSet, OptionType, OptionValue, Place, Placed, Sections, TablePart,
    WordField, format_of, transform_of,
};
pub use option_table::{OptionDefault, OptionKind, OptionSpec, OptionTable, Words};
pub use options::{Options, describe_from_table, repeated, split_type};
pub use packed_texts::PackedTexts;
pub use parallelism::{OneCore, Parallelism};
pub use registry::{
    DecoderFn, DescribeFn, Format, KeyType, OpenChainFn, OpenFn, OpenTransform, OpenTransformFn, ReadFile,
    ReaderDefaults, Registry, TransformFormat,
};
pub use runtime_spec::RuntimeSpec;
pub use sample_type::{SampleType, ValueType};
pub use scratch::{DecodeRoom, DecodeWarnings, Scratch};
pub use spelling::{NamedOption, OptionName, OptionSetting, Spelling, Truth, options_named, snake_case};
pub use stored::{EncodedColumn, Frame, FrameColumn, Origin, RecordingColumn};
pub use stream::{Element, Shape, Storage, StreamInfo, beginning_of, check_name, readable, repeated_name};
pub use streaming::{ByteRun, StreamingDecoder};
pub use strings::Strings;
pub use suggest::{did_you_mean, nearest};
pub use text_set::TextSet;
pub use transform::{
    BitsBuffer, BitsSlice, Input, InputValues, Output, OutputValues, SparseInput, SparseOutput, Transform,
};
pub use wave::Wave;
