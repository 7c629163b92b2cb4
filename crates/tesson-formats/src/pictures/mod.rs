//! What all formats of pictures have in common: options, labels, keys.

mod columns;
pub(crate) mod embedded;

use std::path::PathBuf;

use tesson_core::store::Store;
use tesson_core::{
    ConfigError, DeserializerFacts, Element, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults,
    Registry, RepeatedKeys, Section, StreamInfo, Value, Words,
};

pub(crate) use columns::{KeyColumn, PictureColumns, lossy, parse_label, parse_numeric_key};

/// The extensions of pictures, in small letters.
const EXTENSIONS: &[&str] =
    &["jpg", "jpeg", "jpe", "png", "bmp", "dib", "ppm", "pgm", "pbm", "pnm", "gif", "tif", "tiff", "webp"];

/// Whether a path is that of a picture by its extension.
pub(crate) fn has_picture_extension(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let extension =
        file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    extension.is_some_and(is_picture_extension)
}

/// Whether an extension is one of pictures, in any case.
pub(crate) fn is_picture_extension(extension: &str) -> bool {
    EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// Views of a picture under `multiViewCrop`.
pub(crate) const VIEWS: u32 = 10;

static ELEMENTS: Words<Element, 1> = Words::new([("uint8", Element::U8)]);

/// One entry of `input`: the pictures or the labels.
static INPUT: OptionTable = OptionTable(&[
    OptionSpec::optional(
        "transforms",
        OptionKind::Transforms,
        "Of the stream of pictures: what is done to each, in this order; may be empty.",
    ),
    OptionSpec::optional(
        "dtype",
        ELEMENTS.kind(),
        "Of the stream of pictures: `uint8` delivers 8-bit values, if no transform makes floats; otherwise they are of the reader's type.",
    ),
    OptionSpec::optional(
        "ragged",
        OptionKind::Bool,
        "Of the stream of pictures: whether each is delivered in a shape of its own, as a list of arrays; otherwise one of another shape than the first is an error.",
    ),
    OptionSpec::optional(
        "labelDim",
        OptionKind::Whole,
        "Of the stream of labels: the number of classes; `auto`, in maps alone, takes as many as there are.",
    )
    .also_named(&["dim"]),
]);

pub(crate) const FILE: OptionSpec =
    OptionSpec::required("file", OptionKind::Path, "The file, relative to the working directory.");
pub(crate) const STREAMS: OptionSpec = OptionSpec::required(
    "input",
    OptionKind::Sections(&INPUT),
    "A section with `transforms`, for the pictures, and one with `labelDim`, for their classes, which may be missing; streams are named as the sections.",
);
pub(crate) const GRAYSCALE: OptionSpec = OptionSpec::with_default(
    "grayscale",
    OptionKind::Bool,
    "false",
    "Whether pictures are decoded to one channel.",
);
pub(crate) const MULTI_VIEW_CROP: OptionSpec = OptionSpec::optional(
    "multiViewCrop",
    OptionKind::Bool,
    "Whether every picture becomes ten sequences, the views of a `MultiView10` crop; by default where there is such a crop.",
);

pub(crate) const CHANNEL_ORDER: OptionSpec = OptionSpec::with_default(
    "channelOrder",
    OptionKind::OneOf(&["bgr", "rgb"]),
    "bgr",
    "The order of a pixel's three channels; CNTK has blue first.",
);

pub(crate) const JPEG_SCALED_DECODE: OptionSpec = OptionSpec::with_default(
    "jpegScaledDecode",
    OptionKind::Numbers,
    "0",
    "A width and a height, such as those of the `Scale`: JPEGs are decoded to 1/2, 1/4 or 1/8 of their size where that is not below them, which is faster and gives other pixels; 0 decodes all of them whole.",
);

/// The largest number of classes.
pub(crate) const MAX_DIM: u64 = i32::MAX as u64;

/// What happens to pictures that cannot be read or decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnCorruptImage {
    /// The minibatch that needs one fails.
    Error,
    /// They are left out of minibatches, counted and logged.
    Skip,
    /// Of a JPEG that was cut off what there is; the rest is gray.
    Accept,
}

static ON_CORRUPT: Words<OnCorruptImage, 3> = Words::new([
    ("error", OnCorruptImage::Error),
    ("skip", OnCorruptImage::Skip),
    ("accept", OnCorruptImage::Accept),
]);

pub(crate) const ON_CORRUPT_IMAGE: OptionSpec = OptionSpec::with_default(
    "onCorruptImage",
    ON_CORRUPT.kind(),
    "error",
    "What happens to pictures that cannot be read or decoded: an error; `skip` leaves them out and counts them; `accept` delivers what is there of a JPEG that was cut off.",
);

pub(crate) const EXIF_ORIENTATION: OptionSpec = OptionSpec::with_default(
    "exifOrientation",
    OptionKind::OneOf(&["auto", "apply", "ignore"]),
    "auto",
    "Whether JPEGs are turned as their EXIF data say: `auto` turns those in files of their own alone, as CNTK does.",
);

pub(crate) const MAX_PIXELS: OptionSpec = OptionSpec::with_default(
    "maxPixels",
    OptionKind::Whole,
    "268435456",
    "The largest picture, in pixels, that is decoded; a larger one is corrupt.",
);

/// The transform that decodes the stream of pictures.
pub(crate) fn decoder(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _: &dyn Store,
) -> Result<Vec<(String, Section)>, ConfigError> {
    let resolved = PictureOptions::new(options, defaults)?;
    let stream = resolved.streams.into_iter().find_map(|stream| match stream {
        PictureStream::Pictures(name) => Some(name),
        PictureStream::Labels(_) => None,
    });
    let section = Section::from_iter([
        ("type", Value::Text("Decode".into())),
        ("grayscale", Value::Bool(resolved.grayscale)),
        ("channelOrder", Value::Text(options.text("channelOrder")?)),
        ("jpegScaledDecode", numbers(options, "jpegScaledDecode")?),
        ("exifOrientation", Value::Text(options.text("exifOrientation")?)),
        ("maxPixels", Value::Whole(options.whole("maxPixels")?.into())),
        ("truncated", Value::Bool(resolved.on_corrupt == OnCorruptImage::Accept)),
    ]);
    Ok(vec![(stream.expect("one stream is of pictures"), section)])
}

/// The stream of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelStream {
    pub(crate) name: String,
    /// The number of classes; 0 where the data say (`auto`).
    pub(crate) dim: u64,
}

/// One of the streams, by what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PictureStream {
    Pictures(String),
    Labels(LabelStream),
}

/// The options that formats of pictures have in common, resolved.
#[derive(Clone, Debug)]
pub(crate) struct PictureOptions {
    /// At least one; only formats whose files are one corpus have several.
    pub(crate) files: Vec<PathBuf>,
    /// One stream of pictures and at most one of labels, in the order of the configuration.
    pub(crate) streams: Vec<PictureStream>,
    pub(crate) grayscale: bool,
    pub(crate) multi_view: bool,
    pub(crate) on_corrupt: OnCorruptImage,
    /// Whether the reader forgives faults.
    pub(crate) forgives: bool,
    /// The type of the labels' values.
    pub(crate) element: Element,
    /// The type of the pictures' values.
    pub(crate) picture_element: Element,
    /// Whether each picture has a shape of its own.
    ragged: bool,
    pub(crate) numeric_keys: bool,
}

impl PictureOptions {
    pub(crate) fn new(
        options: &Options<'_>,
        defaults: &ReaderDefaults,
    ) -> Result<PictureOptions, ConfigError> {
        Ok(PictureOptions {
            files: match options.table().find("file").map(|spec| spec.kind) {
                Some(OptionKind::Files) => options.files("file")?,
                _ => vec![options.text("file")?.into()],
            },
            streams: streams(options)?,
            grayscale: options.bool("grayscale")?,
            multi_view: match options.given("multiViewCrop") {
                Some(_) => options.bool("multiViewCrop")?,
                None => cuts_views(options)?,
            },
            on_corrupt: options.word("onCorruptImage", &ON_CORRUPT)?,
            forgives: defaults.forgives,
            element: defaults.element,
            picture_element: picture_element(options)?.unwrap_or(defaults.element),
            ragged: ragged(options)?,
            numeric_keys: defaults.numeric_keys,
        })
    }

    /// The stream of labels, if one is asked for.
    pub(crate) fn labels(&self) -> Option<&LabelStream> {
        self.streams.iter().find_map(|stream| match stream {
            PictureStream::Labels(labels) => Some(labels),
            PictureStream::Pictures(_) => None,
        })
    }

    /// Refuses labels of as many classes as there are, for formats that are read only after their streams are known.
    pub(crate) fn check_dim_is_given(&self, options: &Options<'_>) -> Result<(), ConfigError> {
        match self.labels() {
            Some(LabelStream { name, dim: 0 }) => {
                let what = "found `auto`, expected a number: only maps are read before they are indexed";
                Err(ConfigError::new(options.path(&format!("input.{name}.labelDim")), what))
            }
            _ => Ok(()),
        }
    }

    /// The facts of a deserializer of these streams. `more` is what else its sequences and labels depend on.
    pub(crate) fn facts(&self, name: &'static str, more: &str) -> DeserializerFacts {
        let stream = |stream: &PictureStream| match stream {
            PictureStream::Pictures(name) => {
                StreamInfo::encoded(name, self.picture_element).with_ragged(self.ragged)
            }
            PictureStream::Labels(labels) => {
                StreamInfo::sparse(&labels.name, labels.dim as usize, self.element)
            }
        };
        let streams = self.streams.iter().map(stream).collect();
        let skips = self.on_corrupt == OnCorruptImage::Skip;
        let identity = format!("views {} skip {skips} numeric {} {more}", self.multi_view, self.numeric_keys);
        let mut facts = DeserializerFacts::new(name, self.files.clone(), streams, identity);
        facts.max_errors = skips.then_some(u64::MAX);
        facts.repeated_keys = RepeatedKeys::Last;
        facts
    }
}

/// The type that the stream of pictures asks for.
fn picture_element(options: &Options<'_>) -> Result<Option<Element>, ConfigError> {
    for (name, stream) in options.sections("input")? {
        let Some(element) = stream.word_if_given("dtype", &ELEMENTS)? else { continue };
        if stream.given("transforms").is_none() {
            let what = format!("stream `{name}` has no pictures; labels are of the reader's type");
            return Err(ConfigError::new(stream.path("dtype"), what));
        }
        return Ok(Some(element));
    }
    Ok(None)
}

/// Whether the stream of pictures asks for shapes of their own.
fn ragged(options: &Options<'_>) -> Result<bool, ConfigError> {
    for (name, stream) in options.sections("input")? {
        let Some(ragged) = stream.bool_if_given("ragged")? else { continue };
        if stream.given("transforms").is_none() {
            let what = format!("stream `{name}` has no pictures; classes have no shape of their own");
            return Err(ConfigError::new(stream.path("ragged"), what));
        }
        return Ok(ragged);
    }
    Ok(false)
}

/// Whether a transform of the pictures is a crop of ten views. CNTK delivers all ten only with `multiViewCrop`.
fn cuts_views(options: &Options<'_>) -> Result<bool, ConfigError> {
    let is = |section: &Section, name: &str, word: &str| matches!(section.get(name), Some(Value::Text(text)) if text.eq_ignore_ascii_case(word));
    let cuts = |value: &Value| match value {
        Value::Section(section) => is(section, "type", "Crop") && is(section, "cropType", "MultiView10"),
        _ => false,
    };
    let streams = options.sections("input")?;
    let mut transforms = streams.iter().filter_map(|(_, stream)| stream.given("transforms"));
    Ok(transforms.any(|given| match given {
        Value::List(list) => list.iter().any(cuts),
        one => cuts(one),
    }))
}

fn streams(options: &Options<'_>) -> Result<Vec<PictureStream>, ConfigError> {
    let stream = |(name, stream): (&str, Options<'_>)| match (stream.given("transforms"), label_dim(&stream)?)
    {
        (Some(_), None) => Ok(PictureStream::Pictures(name.to_owned())),
        (None, Some(dim)) => Ok(PictureStream::Labels(LabelStream { name: name.to_owned(), dim })),
        _ => {
            let what = format!("stream `{name}` expects `transforms`, or `labelDim`, and not both");
            Err(ConfigError::new(options.path("input"), what))
        }
    };
    let streams = options.sections("input")?.into_iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let labels = streams.iter().filter(|stream| matches!(stream, PictureStream::Labels(_))).count();
    match (streams.len() - labels, labels) {
        (1, 0 | 1) => Ok(streams),
        (pictures, labels) => {
            let what = format!(
                "found {pictures} streams with `transforms` and {labels} with `labelDim`, expected one with \
                 `transforms` and at most one with `labelDim`"
            );
            Err(ConfigError::new(options.path("input"), what))
        }
    }
}

/// The number of classes; 0 for `auto`.
fn label_dim(stream: &Options<'_>) -> Result<Option<u64>, ConfigError> {
    if matches!(stream.given("labelDim"), Some(Value::Text(text)) if text.eq_ignore_ascii_case("auto")) {
        return Ok(Some(0));
    }
    match stream.whole_if_given("labelDim")? {
        Some(dim) if !(1..=MAX_DIM).contains(&dim) => {
            let what = format!("found `{dim}`, expected a number from 1 to {MAX_DIM}, or `auto`");
            Err(ConfigError::new(stream.path("labelDim"), what))
        }
        dim => Ok(dim),
    }
}

/// An option of numbers as a value.
fn numbers(options: &Options<'_>, name: &str) -> Result<Value, ConfigError> {
    Ok(Value::List(options.numbers(name)?.into_iter().map(Value::Real).collect()))
}

/// What the options mean; `more` are those of one format alone.
pub(crate) fn describe(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
    more: impl IntoIterator<Item = (&'static str, Value)>,
) -> Result<Section, ConfigError> {
    let resolved = PictureOptions::new(options, defaults)?;
    let mut section = Section::from_iter([
        ("file", options.described_files("file")?),
        ("grayscale", Value::Bool(resolved.grayscale)),
        ("multiViewCrop", Value::Bool(resolved.multi_view)),
    ]);
    // The reference has none of these: they are said where they are given.
    for name in ["channelOrder", "onCorruptImage", "exifOrientation"] {
        if options.given(name).is_some() {
            section.push(name, Value::Text(options.text(name)?));
        }
    }
    if options.given("maxPixels").is_some() {
        section.push("maxPixels", Value::Whole(options.whole("maxPixels")?.into()));
    }
    if options.given("jpegScaledDecode").is_some() {
        section.push("jpegScaledDecode", numbers(options, "jpegScaledDecode")?);
    }
    more.into_iter().for_each(|(name, value)| section.push(name, value));
    let mut input = Section::default();
    for (stream, (name, options)) in resolved.streams.iter().zip(options.sections("input")?) {
        let described = match stream {
            PictureStream::Pictures(_) => {
                ("transforms", Value::List(options.transforms("transforms", registry)?))
            }
            PictureStream::Labels(LabelStream { dim: 0, .. }) => ("labelDim", Value::Text("auto".into())),
            PictureStream::Labels(labels) => ("labelDim", Value::Whole(labels.dim.into())),
        };
        let mut described = Section::from_iter([described]);
        if options.given("dtype").is_some() {
            described.push("dtype", Value::Text(options.text("dtype")?));
        }
        if let Some(ragged) = options.bool_if_given("ragged")? {
            described.push("ragged", Value::Bool(ragged));
        }
        input.push(name, Value::Section(described));
    }
    section.push("input", Value::Section(input));
    Ok(section)
}
