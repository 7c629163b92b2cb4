//! The byte formats Tesson reads: bytes in, sequences out; and, for two of them, the way back.
//!
//! This crate opens no file and starts no thread: the engine supplies a format with bytes and cores
//! ([`tesson_core::Fetch`], [`tesson_core::Parallelism`]). One folder a format, one line of [`FORMATS`].

pub mod array_record;
pub mod base64_image;
pub mod cbf;
mod codecs;
pub mod ctf;
pub mod example;
pub mod fields;
mod files;
mod floats;
pub mod htk;
pub mod image_map;
mod images;
pub mod kaldi;
mod lines;
pub mod mlf;
mod near;
mod options;
pub mod packed;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod record;
pub mod saved;
pub mod tar_image;
pub mod tfrecord;
pub mod user;
mod utterance;
pub mod write;

use std::sync::OnceLock;

pub use files::FilesFault;
pub use images::ImageRefusal;
use tesson_core::{Error, ErrorEntry, Format, error_entries};
pub use utterance::window::WindowRefusal;

/// Every format of this crate that can be read.
pub static FORMATS: &[&Format] = &[
    &ctf::FORMAT,
    &cbf::FORMAT,
    &image_map::FORMAT,
    &base64_image::FORMAT,
    &tar_image::FORMAT,
    &htk::FORMAT,
    &mlf::FORMAT,
    &mlf::BINARY_FORMAT,
    &kaldi::ALIGNMENTS,
    &kaldi::features::FORMAT,
];

/// The manual's entries of what formats refuse of their options.
pub fn refusals() -> Vec<ErrorEntry> {
    [
        error_entries::<ctf::CtfRefusal>(),
        error_entries::<cbf::CbfRefusal>(),
        error_entries::<ImageRefusal>(),
        error_entries::<WindowRefusal>(),
        error_entries::<mlf::MlfRefusal>(),
        error_entries::<kaldi::KaldiRefusal>(),
        error_entries::<user::UserRefusal>(),
    ]
    .concat()
}

/// The value of a cell, found out if it is not known yet. Two threads may do so at the same time: they find the same.
fn get_or_find<T>(cell: &OnceLock<T>, find: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let found = find()?;
    Ok(cell.get_or_init(|| found))
}
