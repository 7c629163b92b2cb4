//! Feature files of HTK, named by a script file, with context windows. Its options are understood; the reader is still to
//! be written.

mod options;

use tesson_core::{Format, KeyType};

use crate::options::not_built;

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "HTKFeatureDeserializer",
    "Features of speech: HTK parameter files, named by a script file.",
    &options::OPTIONS,
    |options, _| not_built(FORMAT.name, options),
)
.with_describe(options::describe)
.with_keys(KeyType::Text);
