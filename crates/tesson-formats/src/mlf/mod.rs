//! Master label files of HTK. Its options are understood; the reader is still to be written.

mod options;

use tesson_core::Format;

use crate::options::not_built;

/// The registry's entry.
pub static FORMAT: Format = Format {
    name: "HTKMLFDeserializer",
    aliases: &[],
    help: "Labels of speech: HTK master label files, a class for each frame.",
    options: &options::OPTIONS,
    describe: options::describe,
    open: |options, _| not_built(FORMAT.name, options),
};
