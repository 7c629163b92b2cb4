//! Datasets prepared by TensorFlow Datasets, without TensorFlow: their description files, the records of a split, the
//! order of the records, and the decoding of a record.
//!
//! Nothing here opens a file: callers pass text and bytes. The rules are those of `docs/spec/tfds.md`. This crate
//! follows the `tesson` façade and has no stability promise of its own.

#![forbid(unsafe_code)]

pub mod deserializer;
pub mod fault;
pub mod features;
pub mod ids;
pub mod info;
pub mod read_config;
pub mod reading;
pub mod records;
pub mod refusal;
pub mod rows;
pub mod split;

mod json;
