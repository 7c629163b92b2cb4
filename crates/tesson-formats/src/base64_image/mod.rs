//! Images within a text file, in Base64, with a class for each (spec/image.md §3).
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `line` | the columns of a line, and Base64 as CNTK reads it |
//! | `index` | where each image lies |
//! | `deserializer` | what the engine sees |
//! | `fault` | what can be wrong |

mod deserializer;
mod fault;
mod index;
mod line;
mod options;

use tesson_core::{Format, OptionSet, format_of};

pub use fault::Base64ImageFault;

/// The registry's entry.
pub static FORMAT: Format = format_of::<options::Base64Options>(
    "Base64ImageDeserializer",
    "Images and their classes: a file with an image on each line, in Base64.",
    |options, defaults| {
        Ok(Box::new(deserializer::Base64Images::new(options::Base64Options::read(options, defaults)?)))
    },
)
.with_decoder(crate::images::decoder);
