//! The options of map files, and what they mean.

use tesson_core::{ConfigError, OptionTable, Options, ReaderDefaults, Registry, Section};

use crate::pictures::{self, FILE, GRAYSCALE, MULTI_VIEW_CROP, STREAMS, VERBOSITY};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[FILE, STREAMS, GRAYSCALE, MULTI_VIEW_CROP, VERBOSITY]);

/// What the options mean.
pub(crate) fn describe(
    options: &Options<'_>,
    _setting: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    pictures::describe(options, registry)
}
