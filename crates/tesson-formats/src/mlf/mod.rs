//! Master label files of HTK. Its options are understood; the reader is still to be written.

mod options;

use tesson_core::{Format, KeyType};

use crate::options::not_built;

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "HTKMLFDeserializer",
    "Labels of speech: HTK master label files, a class for each frame.",
    &options::OPTIONS,
    |options, _| not_built(FORMAT.name, options),
)
.with_describe(options::describe)
.with_keys(KeyType::Text);
