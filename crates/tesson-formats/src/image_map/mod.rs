//! Pictures that a map file names, with a class for each. Its options are understood; the reader is still to be
//! written.

mod options;

use tesson_core::Format;

use crate::options::not_built;

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "ImageDeserializer",
    "Pictures and their classes: a map file with a picture a line.",
    &options::OPTIONS,
    |options, _| not_built(FORMAT.name, options),
)
.with_describe(options::describe);
