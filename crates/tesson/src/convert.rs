//! Conversions: sequences from anything that can be read, to CNTK's text and binary formats, and of labels of speech.

use std::path::Path;

use tesson_config::lower;

pub use tesson_convert::{
    Columns, ConvertError, Corpus, Csv, Encoded, Encoder, Form, JsonLines, Numbers, Sequence, SequenceData,
    Sequences, StreamColumns, StreamSpec, Svm, TableOptions, TakeEncoded, Written, binary_elements,
    check_output, write,
};
pub use tesson_formats::mlf::write::LabelForm;
pub use tesson_formats::write::{Batch, Column, WriteError};

use crate::{Source, registry};

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
    let open = |tree: &_| Ok(Source::open_to_convert(&lower(tree, &registry())?)?.0);
    tesson_convert::verify(input, output, form, written, &open, progress)
}
