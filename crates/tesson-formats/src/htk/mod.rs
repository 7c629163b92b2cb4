//! Features of speech in HTK's parameter files, which script files list (spec/speech.md §2 to §5).
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `scp` | a line of a script file: key, path, range of frames |
//! | `list` | the utterances of script files, in columns |
//! | `header` | the header of a parameter file |
//! | `frames` | samples made of recordings |
//! | `deserializer` | script files read when a source is opened |
//! | `verify` | headers and ranges looked at: those of a chunk, or all of them |
//! | `corpus` | frames read when minibatches need them |
//! | `fault` | what can be wrong |

mod corpus;
mod deserializer;
mod fault;
mod frames;
mod header;
mod list;
mod options;
pub(crate) mod scp;
#[cfg(test)]
mod tests;
mod verify;

use tesson_core::{Format, KeyType, OptionSet, format_of};

pub use fault::HtkFault;

/// The registry's entry.
pub static FORMAT: Format = format_of::<options::HtkSection>(
    "HTKFeatureDeserializer",
    "Features of speech: HTK parameter files, named by a script file.",
    |options, defaults| {
        let section = options::HtkSection::read(options, defaults)?;
        Ok(Box::new(deserializer::Htk::new(section.stream.0)))
    },
)
.with_keys(KeyType::Text);
