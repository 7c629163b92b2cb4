//! Recordings of a list, which has a key and a file in each line.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `list` | lines of lists, and the folder of their relative paths |
//! | `deserializer` | the list read when a source is opened, and the headers of all recordings |
//! | `corpus` | recordings read when minibatches need them |

#[cfg(feature = "codecs")]
mod corpus;
#[cfg(feature = "codecs")]
mod deserializer;
#[cfg(feature = "codecs")]
mod list;
mod options;

use tesson_core::{
    ConfigError, Deserializer, Format, KeyType, OptionSet, Options, ReaderDefaults, format_of,
};

/// The registry's entry.
pub static FORMAT: Format = format_of::<options::AudioOptions>(
    "AudioDeserializer",
    "Recordings in WAV or FLAC files that a list names, as frames of logarithmic mel energies.",
    open,
)
.with_keys(KeyType::Text);

#[cfg(feature = "codecs")]
fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    Ok(Box::new(deserializer::Recordings::new(options::AudioOptions::read(options, defaults)?)))
}

/// Options are checked in every build.
#[cfg(not(feature = "codecs"))]
fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    options::AudioOptions::read(options, defaults)?;
    let refusal = tesson_core::ConfigErrorKind::NotAvailable { name: FORMAT.name, feature: "audio" };
    Err(ConfigError::refused(options.path("type"), &refusal))
}
