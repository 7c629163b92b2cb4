//! A deterministic data loader. It reproduces the order and values of CNTK 2.7's readers and of TFDS bit for bit, and
//! resumes after any minibatch from a state of a few integers, on any machine and with any number of threads.
//!
//! ```
//! use tesson::config::{self, Limit, Randomize};
//! use tesson::data::Ctf;
//!
//! # fn main() -> Result<(), tesson::Error> {
//! # let dir = std::env::temp_dir().join(format!("tesson-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).expect("a temporary folder");
//! # let file = dir.join("train.ctf");
//! # std::fs::write(&file, "|x 1 2 |y 0:1\n|x 3 4 |y 1:1\n|x 5 6 |y 0:1\n").expect("a file");
//! let file = file.to_str().expect("UTF-8");
//! let mut config = config::of(Ctf::new(file).dense("x", 2).sparse("y", 10))?;
//! config.order.randomize = Randomize::Off;
//! config.minibatches.limit = Limit::Sweeps(1);
//! let mut source = tesson::open(&config)?;
//! let first = source.next_minibatch(2)?.expect("there are three sequences");
//! assert_eq!(first.n_sequences(), 2);
//!
//! // Another source resumes exactly where this one stands.
//! let state = source.state().clone();
//! let mut other = tesson::open(&config)?;
//! other.restore(&state)?;
//! assert_eq!(other.next_minibatch(2)?.expect("one is left").n_sequences(), 1);
//! # drop((source, other));
//! # std::fs::remove_dir_all(&dir).expect("the folder is ours");
//! # Ok(())
//! # }
//! ```
//!
//! This is the API of training loops. What else Tesson can do lies in the crates that this one stands on, which have its
//! version and no promise of their own: custom formats and transforms are made of the traits of `tesson-core`,
//! datasets of TFDS are read without minibatches by `tesson-prepared`, conversions and files of records are
//! `tesson-convert`, plans are `tesson-plan`.

#![forbid(unsafe_code)]

pub mod config;
pub mod convert;
pub mod data;
pub mod errors;
mod open;
pub mod tfds;

pub use open::{OpenOptions, open};
pub use tesson_config::SourceConfig;
pub use tesson_core::{
    ConfigError, DataError, Element, Error, Format, Key, Location, Registry, ResumeError, Shape, Storage,
    StoreError, StoreErrorKind, StreamInfo, UsageError,
};
pub use tesson_engine::{
    BatchKeys, Bits, Buffer, Canceller, Checked, ExactValues, KeyDelivery, Layout, Minibatch, PlannedStep,
    Purpose, RowSegment, RunCalls, SampleValue, SampleValues, Samples, Severity, Shown, ShownKey, Source,
    Stats, StatsReader, StepSequence, StreamBatch, StringValues, TextKeys,
};
pub use tesson_plan::{Cursor, Demand, JoinReport, PartReport, ResumeState, Share, StepSizes, merge_states};

/// Where bytes come from: stores, chosen by the scheme of a name, and what a custom store implements.
pub mod store {
    pub use tesson_core::Listing;
    pub use tesson_engine::store::{
        Entry, EntryKind, FolderName, MemoryStore, MmapStore, Resource, Store, Stores,
    };
}

/// The built-in formats and transforms.
pub fn registry() -> Registry {
    let formats: Vec<&'static Format> = tesson_formats::FORMATS
        .iter()
        .copied()
        .chain([&tesson_audio::FORMAT, &tesson_tables::FORMAT, &tesson_prepared::FORMAT])
        .collect();
    Registry::new(&formats).with_transforms(tesson_image::TRANSFORMS)
}

/// The example of the crate's page is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
