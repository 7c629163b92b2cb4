//! The façade as its users see it.

mod brainscript;
mod calls;
mod common;
mod decoding;
mod encoded_pictures;
mod ending;
mod faults;
mod features;
mod files;
mod image_maps;
mod images;
mod index_cache;
mod join;
mod kaldi_features;
mod label_files;
mod named_resources;
mod named_transforms;
mod preparing;
mod recordings;
mod scans;
mod stored;
mod transforms;
mod truncated_steps;
mod truncation;
mod ways;
mod zip;
