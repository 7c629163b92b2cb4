//! The options of tar archives, and what they mean.

use tesson_core::identity::{Identity, Maybe, Quoted};
use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
};

use crate::options::{FILE, VERBOSITY};
use crate::pictures::{
    self, CHANNEL_ORDER, EXIF_ORIENTATION, GRAYSCALE, JPEG_SCALED_DECODE, MAX_PIXELS, MULTI_VIEW_CROP,
    ON_CORRUPT_IMAGE, PictureOptions, STREAMS,
};

/// The extension of classes, as WebDataset has it.
const CLASS: &str = "cls";

/// The options of the deserializer.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    FILE,
    STREAMS,
    OptionSpec::optional(
        "imageExtension",
        OptionKind::Text,
        "What follows the first `.` in the names of pictures, such as `jpg` or `left.png`; by default any that is usual for pictures.",
    ),
    OptionSpec::with_default(
        "labelExtension",
        OptionKind::Text,
        CLASS,
        "The same of the members that hold the number of a class as text.",
    ),
    GRAYSCALE,
    CHANNEL_ORDER,
    MULTI_VIEW_CROP,
    ON_CORRUPT_IMAGE,
    EXIF_ORIENTATION,
    JPEG_SCALED_DECODE,
    MAX_PIXELS,
    VERBOSITY,
]);

/// The options, resolved.
#[derive(Clone, Debug)]
pub(super) struct TarOptions {
    pub(super) pictures: PictureOptions,
    /// In small letters, as [`TarOptions::label_extension`].
    pub(super) image_extension: Option<String>,
    pub(super) label_extension: String,
}

impl TarOptions {
    pub(super) fn new(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<TarOptions, ConfigError> {
        let pictures = PictureOptions::new(options, defaults)?;
        pictures.check_dim_is_given(options)?;
        let extension = |text: String| text.trim_start_matches('.').to_ascii_lowercase();
        Ok(TarOptions {
            pictures,
            image_extension: options.text_if_given("imageExtension")?.map(extension),
            label_extension: extension(options.text("labelExtension")?),
        })
    }

    /// What samples depend on beside the archives.
    pub(super) fn identity(&self) -> String {
        Identity::new("tar", 1)
            .field("image", Maybe(self.image_extension.as_deref().map(Quoted)))
            .field("label", Quoted(&self.label_extension))
            .text()
    }
}

/// What the options mean, for people and for other programs.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    let TarOptions { image_extension, label_extension, .. } = TarOptions::new(options, defaults)?;
    let image = image_extension.map(|extension| ("imageExtension", Value::Text(extension)));
    let label = ("labelExtension", Value::Text(label_extension));
    pictures::describe(options, defaults, registry, image.into_iter().chain([label]))
}
