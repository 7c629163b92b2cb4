//! A deterministic data loader. It reproduces the order and values of CNTK 2.7's readers and of TFDS bit for bit, and
//! resumes after any minibatch from a state of a few integers, on any machine and with any number of threads.
//!
//! ```
//! use tesson::Shuffle;
//!
//! # fn main() -> Result<(), tesson::Error> {
//! # let dir = std::env::temp_dir().join(format!("tesson-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).expect("a temporary folder");
//! # let file = dir.join("train.ctf");
//! # std::fs::write(&file, "|features 1 2 |labels 0:1\n|features 3 4 |labels 1:1\n|features 5 6 |labels 0:1\n").expect("a file");
//! # let file = file.to_str().expect("UTF-8");
//! let data = tesson::read_ctf(file).dense("features", 2).sparse("labels", 10);
//! let mut loader = data.clone().loader().batch_size(2).shuffle(Shuffle::Whole).seed(1).open()?;
//! for batch in loader.epoch() {
//!     let features = batch?.dense::<f32>("features")?;
//!     println!("{} examples of {} values", features.rows().len(), features.shape()[0]);
//! }
//!
//! // Another loader resumes exactly where this one stands.
//! let state = loader.state().clone();
//! let mut other = data.loader().batch_size(2).shuffle(Shuffle::Whole).seed(1).open()?;
//! other.restore(&state)?;
//! assert_eq!(other.epoch_number(), 1);
//! # drop((loader, other));
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

mod batch;
pub mod config;
pub mod convert;
mod dataset;
pub mod errors;
mod loader;
mod open;
pub mod tfds;
mod world;

pub use batch::{Batch, Dense, Pieces, Ragged, Scalar, Sparse};
pub use dataset::{
    Dataset, formats, read_arff, read_array_records, read_cbf, read_ctf, read_format, read_htk, read_images,
    read_libsvm, read_mlf, read_table, read_tfds, read_tfrecords, read_tokens, read_vw, step,
};
pub use loader::{Epoch, Loader, LoaderBuilder, Shuffle, from_path, from_str};
pub use open::{OpenOptions, open};
pub use tesson_config::SourceConfig;
pub use tesson_core::{
    ConfigError, DataError, Element, Error, Format, Key, Location, ResumeError, Shape, StoreError,
    StoreErrorKind, StreamInfo, UsageError,
};
pub use tesson_engine::{
    BatchKeys, Canceller, EpochReport, Minibatch, Purpose, SampleValue, SampleValues, Samples, Source, Stats,
    StreamBatch,
};
pub use tesson_plan::{Cursor, Demand, ResumeState, Share, merge_states};

pub use world::{World, world};

/// Where bytes come from: stores, chosen by the scheme of a name, and what a custom store implements.
pub mod store {
    pub use tesson_core::Listing;
    pub use tesson_engine::store::{
        Entry, EntryKind, FolderName, MemoryStore, MmapStore, Resource, Store, Stores,
    };
}

/// The built-in formats and transforms.
pub fn registry() -> tesson_core::Registry {
    let formats: Vec<&'static Format> = tesson_formats::FORMATS
        .iter()
        .copied()
        .chain([&tesson_audio::FORMAT, &tesson_tables::FORMAT, &tesson_prepared::FORMAT])
        .collect();
    tesson_core::Registry::new(&formats).with_transforms(tesson_image::TRANSFORMS)
}

/// The example of the crate's page is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
