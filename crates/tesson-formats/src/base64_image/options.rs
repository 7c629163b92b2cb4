//! The options of files of pictures in Base64, and what they mean.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
};

use crate::options::VERBOSITY;
use crate::pictures::{
    self, CHANNEL_ORDER, EXIF_ORIENTATION, FILE, GRAYSCALE, JPEG_SCALED_DECODE, MAX_PIXELS, MULTI_VIEW_CROP,
    ON_CORRUPT_IMAGE, PictureOptions, STREAMS,
};

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    FILE,
    STREAMS,
    GRAYSCALE,
    CHANNEL_ORDER,
    MULTI_VIEW_CROP,
    ON_CORRUPT_IMAGE,
    EXIF_ORIENTATION,
    JPEG_SCALED_DECODE,
    MAX_PIXELS,
    OptionSpec::optional(
        "maxErrors",
        OptionKind::Whole,
        "Pictures that are left out over the life of the reader if they cannot be decoded; by default those that the reader's \
         `maxErrors` forgives.",
    ),
    VERBOSITY,
    OptionSpec::optional(
        "cacheIndex",
        OptionKind::Unused,
        "Without effect: the file is indexed anew each time.",
    ),
]);

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct Base64Options {
    pub(super) pictures: PictureOptions,
    pub(super) max_errors: Option<u64>,
}

impl Base64Options {
    pub(super) fn new(
        options: &Options<'_>,
        defaults: &ReaderDefaults,
    ) -> Result<Base64Options, ConfigError> {
        let pictures = PictureOptions::new(options, defaults)?;
        pictures.check_dim_is_given(options)?;
        Ok(Base64Options { pictures, max_errors: options.whole_if_given("maxErrors")? })
    }
}

/// What the options mean, for people and for other programs.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let max_errors = Base64Options::new(options, defaults)?.max_errors;
    let more = max_errors.map(|n| ("maxErrors", Value::Whole(n.into())));
    pictures::describe(options, defaults, registry, more)
}
