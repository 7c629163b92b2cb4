//! Feature files of HTK, named by a script file, with context windows. Its options are understood; the reader is still to
//! be written.

mod options;

use tesson_core::Format;

use crate::options::not_built;

/// The registry's entry.
pub static FORMAT: Format = Format {
    name: "HTKFeatureDeserializer",
    aliases: &[],
    help: "Features of speech: HTK parameter files, named by a script file.",
    options: &options::OPTIONS,
    describe: options::describe,
    open: |options, _| not_built(FORMAT.name, options),
};
