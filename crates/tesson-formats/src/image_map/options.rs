//! The options of map files, and what they mean.

use tesson_core::{ConfigError, OptionTable, Options, Registry, Section, Setting};

use crate::pictures::{self, FILE, GRAYSCALE, MULTI_VIEW_CROP, STREAMS, VERBOSITY};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[FILE, STREAMS, GRAYSCALE, MULTI_VIEW_CROP, VERBOSITY]);

/// What the options mean.
pub(crate) fn describe(
    options: &Options<'_>,
    _setting: &Setting,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    pictures::describe(options, registry)
}
