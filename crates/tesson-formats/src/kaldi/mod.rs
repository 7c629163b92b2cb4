//! Files of Kaldi.
//!
//! | file | subject |
//! |---|---|
//! | `alignments` | vectors of whole numbers: the class of each frame |
//! | `archive` | keys and objects, one after the other |
//! | `features` | matrices: the features of each frame |
//! | `fault` | the kinds of faults, their codes and texts |

pub(crate) mod alignments;
mod archive;
mod fault;
pub(crate) mod features;

pub use fault::{KaldiFault, KaldiRefusal};
use std::path::PathBuf;

use tesson_core::{ConfigError, Format, KeyType, OptionSet, Options, format_of};

use crate::mlf::{self, AlignmentLabels};

/// The registry's entry of alignments.
pub static ALIGNMENTS: Format = format_of::<AlignmentLabels>(
    "KaldiAlignmentDeserializer",
    "Labels of speech: Kaldi's archives of alignments, a class for each frame.",
    |options, defaults| {
        Ok(mlf::open(&ALIGNMENTS, AlignmentLabels::read(options, defaults)?.resolved(defaults)))
    },
)
.with_keys(KeyType::Text);

/// The files that an option names. Commands, which Kaldi takes in the place of names, are refused.
pub(crate) fn named_files(stream: &Options<'_>, option: &str) -> Result<Vec<PathBuf>, ConfigError> {
    let files = stream.files(option)?;
    let is_command = |file: &&PathBuf| {
        let name = file.to_string_lossy();
        name.trim_end().ends_with('|') || name.trim_start().starts_with('|')
    };
    match files.iter().find(is_command) {
        None => Ok(files),
        Some(command) => {
            let refusal = KaldiRefusal::Command { command: command.display().to_string() };
            Err(ConfigError::refused(stream.path(option), &refusal))
        }
    }
}
