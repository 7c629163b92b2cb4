//! Files of Kaldi.
//!
//! | file | subject |
//! |---|---|
//! | `alignments` | vectors of whole numbers: the class of each frame |
//! | `archive` | keys and objects, one after the other |
//! | `fault` | the kinds of faults, their codes and texts |

pub(crate) mod alignments;
mod archive;
mod fault;

pub use fault::KaldiFault;
use tesson_core::{Format, KeyType};

use crate::mlf::{self, Encoding};

/// The registry's entry of alignments.
pub static ALIGNMENTS: Format = Format::new(
    "KaldiAlignmentDeserializer",
    "Labels of speech: Kaldi's archives of alignments, a class for each frame.",
    &mlf::ALIGNMENT_OPTIONS,
    |options, defaults| mlf::open(&ALIGNMENTS, Encoding::Alignments, options, defaults),
)
.with_describe(mlf::describe_alignments)
.with_keys(KeyType::Text);
