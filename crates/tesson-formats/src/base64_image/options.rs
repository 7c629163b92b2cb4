//! The options of files of pictures in Base64, and what they mean.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
};

use crate::pictures::{self, FILE, GRAYSCALE, MULTI_VIEW_CROP, STREAMS, VERBOSITY};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    FILE,
    STREAMS,
    GRAYSCALE,
    MULTI_VIEW_CROP,
    VERBOSITY,
    OptionSpec::optional(
        "cacheIndex",
        OptionKind::Bool,
        "Write the index beside the file and use it the next time; the reader's `cacheIndex` is the default.",
    ),
]);

/// What the options mean.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let mut section = pictures::describe(options, registry)?;
    let cached = options.bool_if_given("cacheIndex")?.unwrap_or(defaults.cache_index);
    let input = section.0.len() - 1;
    section.0.insert(input, ("cacheIndex".into(), Value::Bool(cached)));
    Ok(section)
}
