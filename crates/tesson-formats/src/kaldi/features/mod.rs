//! Features: archives of matrices, and script files that list them.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `script` | lines of script files |
//! | `matrix` | matrices in an archive and in memory, and their values |
//! | `frames` | samples made of matrices |
//! | `utterances` | what script files and archives list, and what is wrong with it |
//! | `deserializer` | script files read when a source is opened, and the beginnings of all matrices |
//! | `corpus` | matrices read when minibatches need them |

mod corpus;
mod deserializer;
mod frames;
mod matrix;
mod options;
mod script;
mod utterances;

use tesson_core::{
    ConfigError, Deserializer, Format, KeyType, OptionSet, Options, ReaderDefaults, format_of,
};

/// The registry's entry.
pub(crate) static FORMAT: Format = format_of::<options::FeatureSection>(
    "KaldiFeatureDeserializer",
    "Features of speech: Kaldi's archives of matrices, and script files that list them.",
    open,
)
.with_keys(KeyType::Text);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let section = options::FeatureSection::read(options, defaults)?;
    Ok(Box::new(deserializer::Features::new(section.stream.0)))
}
