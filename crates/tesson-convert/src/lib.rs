//! Conversions of sequences from any input to CNTK's text and binary formats.
//!
//! | file | subject |
//! |---|---|
//! | `corpus` | the sequences of a source, one after the other |
//! | `table` | the common part of tables: which fields make which stream |
//! | `csv`, `svm`, `jsonl` | the kinds of tables |
//! | `json` | a line of JSON, whose numbers keep their digits |
//! | `output` | the output file, under a temporary name until it is complete |
//! | `verify` | comparing the output with the input |
//! | `records` | files of records: read, checked, indexed, converted |
//! | `image_form` | the form in which a path holds images, by content |
//!
//! Sequences are streamed: memory holds a minibatch or a row, and the open chunk of a binary file. A corpus is
//! written to a binary file without minibatches where possible ([`Sequences::encode`]). The output depends on the
//! sequences alone, never on threads and memory.
//!
//! This crate follows the `tesson` façade and has no stability promise of its own.

#![forbid(unsafe_code)]

mod corpus;
mod csv;
mod error;
pub mod image_form;
mod json;
mod jsonl;
mod output;
pub mod records;
mod svm;
mod table;
mod verify;

use std::path::Path;

use output::Finished;
use tesson_core::Key;
use tesson_engine::atomic_file::Existing;

pub use corpus::{Corpus, binary_elements};
pub use csv::Csv;
pub use error::ConvertError;
pub use jsonl::JsonLines;
pub use output::{Form, check_output};
pub use svm::Svm;
pub use table::{Columns, StreamColumns, TableOptions};
pub use tesson_formats::cbf::write::{Encoded, Encoder};
use tesson_formats::write::{Batch, Column, WriteError};
pub use tesson_formats::write::{Numbers, Sequence, SequenceData, StreamSpec};
pub use verify::verify;

/// Sequences, one after the other.
pub trait Sequences: Sequence {
    /// The streams of each sequence.
    fn streams(&self) -> Vec<StreamSpec>;

    /// True if numeric keys may be line numbers, which have no meaning in another file.
    fn numbers_are_lines(&self) -> bool;

    /// Advances to the next sequence, at the first call to the first one. False at the end.
    ///
    /// # Errors
    /// [`ConvertError`] if the input cannot be read.
    fn advance(&mut self) -> Result<bool, ConvertError>;

    /// Passes on the sequence that [`Sequences::advance`] reached and those after it that are loaded, and advances to
    /// the last of them. There are `n_streams` streams.
    ///
    /// # Errors
    /// The errors of `to`.
    fn hand_over(
        &mut self,
        n_streams: usize,
        to: &mut dyn FnMut(&Batch<'_>) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let data: Vec<SequenceData<'_>> = (0..n_streams).map(|i| self.stream(i)).collect();
        let lengths: Vec<[u32; 1]> = data.iter().map(|data| [data.n_samples()]).collect();
        let columns = lengths.iter().zip(data).map(|(lengths, data)| Column { lengths, data }).collect();
        to(&Batch {
            n_sequences: 1,
            columns,
            ordered: false,
            numbers_are_lines: self.numbers_are_lines(),
            key: &|_| self.key(),
        })
    }

    /// Passes on all sequences in order, encoded by the threads that decode them, each time with the number of input
    /// bytes read so far. Returns false, and does nothing, if the input does not support this. [`Sequences::advance`]
    /// has not been called.
    ///
    /// # Errors
    /// [`ConvertError`] if the input cannot be read; the errors of `to`.
    fn encode(&mut self, _encoder: &Encoder, _to: &mut TakeEncoded<'_>) -> Result<bool, ConvertError> {
        Ok(false)
    }

    /// Bytes of the input that have been read so far, about.
    fn bytes_read(&self) -> u64;
}

/// Takes encoded sequences, or why they could not be encoded, and the bytes of the input that have been read so far.
pub type TakeEncoded<'a> = dyn FnMut(Result<Encoded, WriteError>, u64) -> Result<(), ConvertError> + 'a;

/// A summary of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of sequences.
    pub sequences: u64,
    /// Samples of the longest stream of each.
    pub samples: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The streams, dimensions included that were found on the way.
    pub streams: Vec<StreamSpec>,
    /// The first key that the file does not keep, and that is not the number which its sequence has there, counted from 0:
    /// a text, or a number of a table.
    pub lost_key: Option<Key>,
    /// The keys in the file are texts.
    pub text_keys: bool,
}

/// Sequences between two calls of `progress`.
const PROGRESS: u64 = 1 << 10;

/// Writes sequences to a file, which appears under its name when it is complete. `progress` is called from time to
/// time with the number of input bytes read.
///
/// # Errors
/// [`ConvertError`] if the input cannot be read, or the output not be written or not hold the values. An old file of
/// that name is then unchanged.
pub fn write(
    input: &mut dyn Sequences,
    output: &Path,
    existing: Existing,
    form: Form,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, ConvertError> {
    let streams = input.streams();
    let n_streams = streams.len();
    let mut output = output::Output::create(output, existing, form, &streams)?;
    let (mut sequences, mut samples, mut text_keys) = (0, 0, false);
    let encoded = match output.encoder() {
        None => false,
        Some(encoder) => input.encode(&encoder, &mut |encoded, bytes_read| {
            let encoded = encoded.map_err(|e| output.error(e))?;
            sequences += encoded.n_sequences();
            samples += encoded.n_samples();
            output.append(encoded)?;
            progress(bytes_read);
            Ok(())
        })?,
    };
    let mut told = 0;
    while !encoded && input.advance()? {
        input.hand_over(n_streams, &mut |batch| {
            if sequences == 0 && batch.n_sequences > 0 {
                text_keys = matches!((batch.key)(0), Key::Text(_));
            }
            sequences += batch.n_sequences as u64;
            samples += longest(batch);
            output.writer().batch(batch).map_err(|e| output.error(e))
        })?;
        if sequences >= told + PROGRESS {
            told = sequences;
            progress(input.bytes_read());
        }
    }
    let Finished { bytes, streams, lost_key } = output.finish()?;
    let text_keys = text_keys && !matches!(form, Form::Binary { .. });
    Ok(Written { sequences, samples, bytes, streams, lost_key, text_keys })
}

/// Samples of the longest stream of each sequence, added up.
fn longest(batch: &Batch<'_>) -> u64 {
    let of = |i: usize| batch.columns.iter().map(|column| u64::from(column.lengths[i])).max();
    (0..batch.n_sequences).filter_map(of).sum()
}
