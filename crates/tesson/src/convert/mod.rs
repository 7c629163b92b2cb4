//! Conversions: sequences from anything that can be read, to CNTK's text and binary formats.
//!
//! | file | subject |
//! |---|---|
//! | `corpus` | the sequences of a source, one after the other |
//! | `table` | what tables of fields have in common: which fields make which stream |
//! | `csv`, `svm`, `jsonl` | the tables there are |
//! | `output` | the file that is written, under a temporary name until it is whole |
//! | `verify` | comparing what was written with what it was made of |
//!
//! Sequences stream: what is held is a minibatch or a row, and the open chunk of a binary file. What is written depends
//! on the sequences alone, never on threads and memory.

mod corpus;
mod csv;
mod error;
mod jsonl;
mod output;
mod svm;
mod table;
mod verify;

use std::path::Path;

pub use corpus::{Corpus, binary_elements};
pub use csv::Csv;
pub use error::ConvertError;
pub use jsonl::JsonLines;
pub use output::Form;
pub use svm::Svm;
pub use table::{Columns, StreamColumns, TableOptions};
pub use tesson_formats::write::{Numbers, Sequence, SequenceData, StreamSpec};

/// Sequences, one after the other.
pub trait Sequences: Sequence {
    /// The streams of each sequence.
    fn streams(&self) -> Vec<StreamSpec>;

    /// Goes to the next sequence, at first to the first one; false at the end.
    ///
    /// # Errors
    /// What cannot be read.
    fn advance(&mut self) -> Result<bool, ConvertError>;

    /// Bytes of the input that have been read so far, about.
    fn bytes_read(&self) -> u64;
}

/// What was written.
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
}

/// Sequences between two calls of `progress`.
const PROGRESS: u64 = 1 << 10;

/// Writes sequences to a file, which appears under its name when it is whole. `progress` is told now and then how many
/// bytes of the input have been read.
///
/// # Errors
/// What cannot be read, held by the format, or written. An old file of the name is then as it was.
pub fn write(
    input: &mut dyn Sequences,
    output: &Path,
    form: Form,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, ConvertError> {
    let n_streams = input.streams().len();
    let mut output = output::Output::create(output, form, &input.streams())?;
    let (mut sequences, mut samples) = (0, 0);
    while input.advance()? {
        output.writer().sequence(&*input).map_err(|e| output.error(e))?;
        sequences += 1;
        samples += (0..n_streams).map(|i| u64::from(input.stream(i).n_samples())).max().unwrap_or(0);
        if sequences % PROGRESS == 0 {
            progress(input.bytes_read());
        }
    }
    let (bytes, streams) = output.finish()?;
    Ok(Written { sequences, samples, bytes, streams })
}

/// Reads what was written and compares it with the input, which must be at its beginning again: sequence by sequence, bit
/// by bit. Keys are compared where the format keeps them.
///
/// # Errors
/// The first difference ([`ConvertError::Differs`]), and what cannot be read.
pub fn verify(
    input: &mut dyn Sequences,
    output: &Path,
    form: Form,
    written: &Written,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ConvertError> {
    verify::verify(input, output, form, written, progress)
}
