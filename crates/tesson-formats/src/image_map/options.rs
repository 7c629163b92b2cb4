//! The options of map files, and what they mean.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
};

use crate::options::VERBOSITY;
use crate::pictures::{
    self, EXIF_ORIENTATION, FILE, GRAYSCALE, MAX_PIXELS, MULTI_VIEW_CROP, ON_CORRUPT_IMAGE, PictureOptions,
    STREAMS,
};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    FILE,
    STREAMS,
    GRAYSCALE,
    MULTI_VIEW_CROP,
    OptionSpec::optional(
        "root",
        OptionKind::Path,
        "The folder of relative paths in the map; by default the working directory. A leading `...` in a path stands for the map's own folder.",
    ),
    OptionSpec::with_default(
        "comments",
        OptionKind::Bool,
        "false",
        "Ignore lines of the map that begin with `#`.",
    ),
    OptionSpec::with_default(
        "strictLabels",
        OptionKind::Bool,
        "false",
        "Refuse labels with more than a number in them, such as `3abc`; otherwise they are read as 3 and logged.",
    ),
    ON_CORRUPT_IMAGE,
    EXIF_ORIENTATION,
    MAX_PIXELS,
    VERBOSITY,
]);

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct MapOptions {
    pub(super) pictures: PictureOptions,
    pub(super) root: Option<String>,
    pub(super) comments: bool,
    pub(super) strict_labels: bool,
}

impl MapOptions {
    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<MapOptions, ConfigError> {
        Ok(MapOptions {
            pictures: PictureOptions::new(options, defaults)?,
            root: options.text_if_given("root")?,
            comments: options.bool("comments")?,
            strict_labels: options.bool("strictLabels")?,
        })
    }
}

/// What the options mean, for people and for other programs.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let MapOptions { root, comments, strict_labels, .. } = MapOptions::new(options, defaults)?;
    let root = root.map(|root| ("root", Value::Text(root)));
    let flags = [("comments", comments), ("strictLabels", strict_labels)];
    let given = flags.into_iter().filter(|(name, _)| options.given(name).is_some());
    let more = given.map(|(name, flag)| (name, Value::Bool(flag)));
    pictures::describe(options, defaults, registry, root.into_iter().chain(more))
}
