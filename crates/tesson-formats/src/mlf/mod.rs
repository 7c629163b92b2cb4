//! Master label files of HTK: the classes of an utterance's frames, as text or as CNTK's binary form. Other files of labels,
//! such as Kaldi's, are tables and runs like these.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the option tables, and what options mean |
//! | `deserializer` | the lists that are read first: names of files, names of states |
//! | `index` | one pass over text files, on several cores |
//! | `scan` | the lines of a file as entries: header, name, labels, dot |
//! | `binary` | the binary form |
//! | `table` | where entries lie: chunks of columns |
//! | `corpus` | loading entries |
//! | `label` | one line of labels: times, classes |
//! | `runs` | the labels of an utterance, and what may be wrong with them |
//! | `states` | the list of states |
//! | `key` | names of utterances as keys |
//! | `write` | writing label files |
//! | `fault` | the kinds of faults, their codes and texts |

mod binary;
mod corpus;
mod deserializer;
mod fault;
mod index;
mod key;
mod label;
mod options;
mod runs;
mod scan;
mod states;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub mod write;

pub use fault::MlfFault;
use tesson_core::{ConfigError, Deserializer, Format, KeyType, Options, ReaderDefaults};

use deserializer::Labels;
pub(crate) use options::{ALIGNMENT_OPTIONS, Encoding, describe_alignments};
use options::{BINARY_OPTIONS, LabelOptions, TEXT_OPTIONS};

/// The registry's entry of text files.
pub static FORMAT: Format = Format::new(
    "HTKMLFDeserializer",
    "Labels of speech: HTK master label files, a class for each frame.",
    &TEXT_OPTIONS,
    |options, defaults| open(&FORMAT, Encoding::Text, options, defaults),
)
.with_describe(options::describe_text)
.with_keys(KeyType::Text);

/// The registry's entry of binary files.
pub static BINARY_FORMAT: Format = Format::new(
    "HTKMLFBinaryDeserializer",
    "Labels of speech: CNTK's binary form of master label files.",
    &BINARY_OPTIONS,
    |options, defaults| open(&BINARY_FORMAT, Encoding::Binary, options, defaults),
)
.with_describe(options::describe_binary)
.with_keys(KeyType::Text);

/// A deserializer of labels that are written in this way.
pub(crate) fn open(
    format: &'static Format,
    encoding: Encoding,
    options: &Options<'_>,
    defaults: &ReaderDefaults,
) -> Result<Box<dyn Deserializer>, ConfigError> {
    Ok(Box::new(Labels::new(format, LabelOptions::new(encoding, options, defaults)?)))
}
