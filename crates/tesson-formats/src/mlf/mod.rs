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
pub use options::MlfRefusal;
use tesson_core::{Deserializer, Format, KeyType, OptionSet, format_of};

use deserializer::Labels;
pub(crate) use options::AlignmentLabels;
use options::{BinaryLabels, LabelOptions, TextLabels};

/// The registry's entry of text files.
pub static FORMAT: Format = format_of::<TextLabels>(
    "HTKMLFDeserializer",
    "Labels of speech: HTK master label files, a class for each frame.",
    |options, defaults| Ok(open(&FORMAT, TextLabels::read(options, defaults)?.resolved(defaults))),
)
.with_keys(KeyType::Text);

/// The registry's entry of binary files.
pub static BINARY_FORMAT: Format = format_of::<BinaryLabels>(
    "HTKMLFBinaryDeserializer",
    "Labels of speech: CNTK's binary form of master label files.",
    |options, defaults| Ok(open(&BINARY_FORMAT, BinaryLabels::read(options, defaults)?.resolved(defaults))),
)
.with_keys(KeyType::Text);

/// A deserializer of labels.
pub(crate) fn open(format: &'static Format, options: LabelOptions) -> Box<dyn Deserializer> {
    Box::new(Labels::new(format, options))
}
