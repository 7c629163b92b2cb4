//! Datasets prepared by TensorFlow Datasets, as files: found, prefetched, checked, written.
//!
//! | file | subject |
//! |---|---|
//! | `locate`, `description` | datasets by name, and what the files beside the data say |
//! | `reader`, `interruptible` | the examples of a split, in their order or by their numbers; states; interrupted calls |
//! | `order`, `lengths` | where a reader stands, files of other lengths than declared |
//! | `prefetcher`, `stretches`, `loader` | stretches of the order, loaded by threads before they are asked for |
//! | `images` | images through transforms, where examples are loaded |
//! | `shards`, `block_cache`, `file_runs`, `indexed_shard` | open files, blocks of records, which thread reads what, saved indexes |
//! | `check`, `write` | looking at all of a dataset; preparing one |
//! | `format` | a split as a deserializer among others |
//!
//! `tesson-tfds` knows what the files mean; it is handed their bytes. This crate follows the `tesson` façade and has no
//! stability promise of its own.

#![forbid(unsafe_code)]

mod block_cache;
mod check;
mod description;
mod file_runs;
mod format;
mod images;
mod indexed_shard;
mod interruptible;
mod lengths;
mod loader;
mod locate;
mod order;
mod prefetcher;
mod reader;
pub mod refusal;
mod shards;
mod stretches;
mod write;

pub use check::{CheckedDataset, check};
pub use description::{describe, feature_classes, features_of, labels_of};
pub use format::{FORMAT, image_decoder};
pub use interruptible::InterruptibleReader;
pub use locate::{default_data_dir, find, list, open, open_all, random_seed};
pub use reader::{ExampleBatch, OnDamage, Reader, ReaderLimits, Restoring};
pub use write::{DatasetWriter, NewDataset, NewSplit, Unwritable};
