//! Images that a map lists, or a folder holds, with a class for each (spec/image.md §2).
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options, resolved |
//! | `text` | the map read in pieces |
//! | `line` | a line of any map, and the columns of CNTK's |
//! | `csv`, `json_lines` | other maps |
//! | `folder` | a folder in the place of a map |
//! | `labels` | labels and their classes: numbers, or names that are numbered |
//! | `classes` | the file that names the classes |
//! | `path` | what a path names: a file, or a member of a zip archive |
//! | `images` | the images of all lines, packed |
//! | `deserializer` | the map read when a source is opened |
//! | `corpus` | images read when minibatches need them |
//! | `fault` | what can be wrong |

mod classes;
mod corpus;
mod csv;
mod deserializer;
mod fault;
mod folder;
mod json_lines;
mod labels;
mod line;
mod listed_images;
mod options;
mod path;
mod text;

#[cfg(test)]
mod tests;

use tesson_core::{Format, OptionSet, format_of};

pub use fault::ImageMapFault;

/// The registry's entry.
pub static FORMAT: Format = format_of::<options::MapOptions>(
    "ImageDeserializer",
    "Images and their classes: a map with an image on each line, in CNTK's form, CSV or JSON lines, or a folder for each class.",
    |options, defaults| {
        Ok(Box::new(deserializer::ImageMap::new(options::MapOptions::read(options, defaults)?)))
    },
)
.with_decoder(crate::images::decoder);
