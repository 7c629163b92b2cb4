//! Datasets prepared by TensorFlow Datasets, without TensorFlow: what the files beside the data say, which records a
//! split stands for, in which order they come, and what a record's bytes mean.
//!
//! Nothing here opens a file: text and bytes are handed in. The rules are those of `docs/spec/tfds.md`. This crate
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
pub mod rows;
pub mod split;

mod json;
