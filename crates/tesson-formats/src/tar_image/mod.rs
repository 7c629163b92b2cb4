//! Images in tar archives, as WebDataset packs them: members that follow each other and have one name before its first
//! `.` are one sample, such as `cat/7.jpg` and `cat/7.cls`.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `members` | the members of an archive, one after the other |
//! | `index` | samples: where each image lies, its key and its class |
//! | `gzip` | archives that are compressed as a whole |
//! | `archive` | what the engine sees |
//! | `fault` | what can be wrong |

mod archive;
mod fault;
mod gzip;
mod index;
pub mod members;
mod options;

use std::sync::Arc;

use tesson_core::{
    ConfigError, Deserializer, Format, KeyType, OptionSet, Options, ReaderDefaults, RepeatedKeys, format_of,
};

pub use fault::TarImageFault;

use crate::files::Files;

/// The registry's entry.
pub static FORMAT: Format = format_of::<options::TarOptions>(
    "TarImageDeserializer",
    "Images and their classes in tar archives, as WebDataset packs them.",
    open,
)
.with_decoder(crate::images::decoder)
.with_keys(KeyType::Text);

fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let options = Arc::new(options::TarOptions::read(options, defaults)?);
    let of_each = options.images.facts(FORMAT.name, options.identity());
    let files = Files::new(FORMAT.name, &options.images.files, |file| {
        archive::TarArchive::new(file, Arc::clone(&options), &of_each)
    });
    Ok(Box::new(files.with_facts(|facts| {
        facts.max_errors = of_each.max_errors;
        facts.repeated_keys = RepeatedKeys::Last;
    })))
}
