//! The façade as its users see it.

#![forbid(unsafe_code)]

mod brainscript;
mod calls;
mod convert;
#[path = "../../../tesson-prepared/tests/prepared/dataset.rs"]
mod dataset;
mod decoding;
mod encoded_images;
mod ending;
mod faults;
mod features;
mod files;
mod image_maps;
mod images;
mod index_cache;
mod join;
mod kaldi_features;
mod kit;
mod label_files;
mod loader;
mod named_resources;
mod named_transforms;
mod prepared_deserializer;
mod prepared_images;
mod preparing;
mod recordings;
mod scans;
mod speech;
mod steps;
mod stored;
mod tables;
mod tar_images;
mod text_tables;
mod transforms;
mod truncated_steps;
mod truncation;
mod ways;
mod zip;
