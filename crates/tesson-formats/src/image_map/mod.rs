//! Pictures that a map file lists, with a class for each (spec of images, §2).
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `line` | the columns of a line, labels and numeric keys |
//! | `path` | what a path names: a file, or a member of a zip archive |
//! | `deserializer` | the map read when a source is opened |
//! | `corpus` | pictures read when minibatches need them |
//! | `fault` | what can be wrong |

mod corpus;
mod deserializer;
mod fault;
mod line;
mod options;
mod path;

use tesson_core::Format;

pub use fault::ImageMapFault;

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "ImageDeserializer",
    "Pictures and their classes: a map file with a picture a line.",
    &options::OPTIONS,
    |options, defaults| {
        Ok(Box::new(deserializer::ImageMap::new(options::MapOptions::new(options, defaults)?)))
    },
)
.with_decoder(crate::pictures::decoder)
.with_describe(options::describe);
