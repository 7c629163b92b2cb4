//! Pictures within a text file, in Base64, with a class for each (spec/image.md §3).
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `line` | the columns of a line, and Base64 as CNTK reads it |
//! | `index` | where each picture lies |
//! | `deserializer` | what the engine sees |
//! | `fault` | what can be wrong |

mod deserializer;
mod fault;
mod index;
mod line;
mod options;

use tesson_core::Format;

pub use fault::Base64ImageFault;

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "Base64ImageDeserializer",
    "Pictures and their classes: a file with a picture a line, in Base64.",
    &options::OPTIONS,
    |options, defaults| {
        Ok(Box::new(deserializer::Base64Images::new(options::Base64Options::new(options, defaults)?)))
    },
)
.with_decoder(crate::pictures::decoder)
.with_describe(options::describe);
