//! Files, threads and memory of Tesson: fetch, decode, pack, deliver.
//!
//! The engine carries out what the plan has decided. How many threads work, how far they read ahead, what stays in
//! memory and how reads are cut changes when a minibatch is ready, never what it holds. This crate follows the `tesson`
//! façade and has no stability promise of its own.

#![forbid(unsafe_code)]

mod archive;
mod arrays;
pub mod atomic_file;
mod batch_keys;
mod block;
mod braces;
mod cache_file;
mod check;
mod deliver;
mod epochs;
pub mod executor;
mod fault;
mod fetch;
pub mod file_patterns;
mod fingerprint;
pub mod index_cache;
mod join;
mod kernels;
mod layout;
mod memory_budget;
mod minibatch;
mod named_files;
mod open_files;
mod pack;
pub mod pairing;
pub mod record_index;
mod refusal;
mod report;
mod sample_room;
mod sample_values;
mod samples;
mod source;
mod stats;
pub mod store;
mod threads;
mod transform;

pub use batch_keys::{BatchKeys, TextKeys};
pub use check::{Checked, Severity};
pub use deliver::BatchOrigins;
pub use epochs::{EpochReport, Epochs};
pub use executor::{Canceller, ProcessGuard, no_thread};
pub use kernels::kernels_from_environment;
pub use layout::{Layout, RowSegment};
pub use minibatch::Minibatch;
pub use open_files::OpenFiles;
pub use refusal::EngineRefusal;
pub use report::fault_facts;
pub use sample_room::SampleRoom;
pub use sample_values::{Bits, ExactValues, SampleValue, SampleValues, StringValues};
pub use samples::{Samples, StreamBatch};
pub use source::{
    DEFAULT_MEMORY_LIMIT, KeyDelivery, PlannedStep, Purpose, RunCalls, Shown, ShownKey, Source, SourceSpec,
    StatsReader, StepSequence, SweepSequence, TruncatedPlan,
};
pub use stats::Stats;
pub use tesson_memory::pool::Buffer;
pub use transform::{
    EncodedScratch, EncodedTransforms, StreamTransforms, TransformFailure, TransformedSample,
};
