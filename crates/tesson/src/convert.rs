//! Conversions: what `tesson-convert` needs the built-in formats for.

use std::path::Path;

use tesson_config::lower;
use tesson_convert::{ConvertError, Form, Sequences, Written};
use tesson_engine::Purpose;

use crate::{OpenOptions, registry};

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
    let options = OpenOptions { purpose: Purpose::Conversion, ..OpenOptions::default() };
    let open = |tree: &_| options.open(&lower(tree, &registry())?);
    tesson_convert::verify(input, output, form, written, &open, progress)
}
