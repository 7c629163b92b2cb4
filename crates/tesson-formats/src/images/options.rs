//! Options that all formats of images have: their streams, the pixels, and images that cannot be decoded.

use std::path::PathBuf;

use tesson_core::store::Store;
use tesson_core::{
    ConfigError, DeserializerFacts, Element, OptionKind, OptionName, OptionSet, OptionSpec, Options,
    ReaderDefaults, RepeatedKeys, Section, Sections, Shape, StreamInfo, Value, Words, options,
};

static ELEMENTS: Words<Element, 2> = Words::new([("uint8", Element::U8), ("int64", Element::I64)]);

pub(crate) const FILE: OptionSpec =
    OptionSpec::required("file", OptionKind::Path, "The file, relative to the working directory.");

/// Adds the file to a description.
pub(crate) fn describe_file(options: &Options<'_>, section: &mut Section) -> Result<(), ConfigError> {
    section.push("file", options.described_files("file")?);
    Ok(())
}

options! {
    /// One entry of `input`: the images or the labels.
    #[derive(Clone, Debug)]
    pub(crate) struct ImageSection(options, reader: ReaderDefaults) {
        let name: String = options.entry().to_owned();
        has_transforms: bool = "transforms": OptionKind::Transforms, optional
            => "For the stream of images: transforms of each image, in this order; may be empty."
            [read options.given("transforms").is_some()];
        element: Option<Element> = "dtype" in ELEMENTS, optional
            => "For the stream of images: `uint8` delivers 8-bit values, if no transform makes floats; by default values have \
             the reader's type. For the stream of labels: `int64` delivers the number of each class; by default labels are sparse \
             samples with a 1 in the column of the class.";
        ragged: Option<bool> = "ragged", optional
            => "For the stream of images: deliver each image in its own shape, as a list of arrays (true), or refuse images that \
             differ in shape from the first (false).";
        /// 0 for `auto`.
        label_dim: Option<u64> = "labelDim" | "dim": OptionKind::Whole, optional
            => "For the stream of labels: number of classes; `auto`, in maps only, counts them."
            [read label_dim(options)?]
            [describe after "transforms" with |entry, _, section| {
                match entry.label_dim {
                    None => {}
                    Some(0) => section.push("labelDim", Value::Text("auto".into())),
                    Some(dim) => section.push("labelDim", Value::Whole(dim.into())),
                }
                Ok(())
            }];
    }
}

options! {
    /// The streams of images and their classes.
    #[derive(Clone, Debug)]
    pub(crate) struct ImageInput(options, reader: ReaderDefaults) {
        inputs: Sections<ImageSection> = "input", required
            => "A section with `transforms`, for the images, and optionally one with `labelDim`, for their classes; streams have \
             the names of the sections."
            [describe last];
        let streams: Vec<ImageStream> = streams(options, &inputs)?
            => [identity with |input, text| text.flag("numbers", input.has_numbers())];
        /// The type of the images' values.
        let element: Element = image_element(options, &inputs)?.unwrap_or(reader.element);
        let ragged: bool = ragged(options, &inputs)?;
    }
}

options! {
    /// The pixels and views of an image.
    #[derive(Clone, Debug)]
    pub(crate) struct Pixels(options, reader: ReaderDefaults) {
        grayscale: bool = "grayscale", "false"
            => "Decode images to one channel.";
        _ = "channelOrder": OptionKind::OneOf(&["bgr", "rgb"]), "bgr"
            => "Order of a pixel's three channels; CNTK has blue first."
            [describe after "multiViewCrop" if given];
        multi_view: bool = "multiViewCrop", optional
            => "Deliver every image as ten sequences, the views of a `MultiView10` crop; by default if there is such a crop."
            [otherwise cuts_views(options)?]
            [describe as |pixels| Value::Bool(pixels.multi_view)]
            [identity with |pixels, text| text.word("views").word(pixels.multi_view)];
    }
}

options! {
    /// How images are decoded, and what happens to those that cannot be.
    #[derive(Clone, Debug)]
    pub(crate) struct Decoding(options, reader: ReaderDefaults) {
        on_corrupt: OnCorruptImage = "onCorruptImage" in ON_CORRUPT, "error"
            => "How images that cannot be read or decoded are handled: `error` fails; `skip` leaves them out and counts them; \
             `accept` delivers the decoded part of a JPEG that was cut off."
            [describe if given]
            [identity with |decoding, text| text.word("skip").word(decoding.on_corrupt == OnCorruptImage::Skip)];
        _ = "exifOrientation": OptionKind::OneOf(&["auto", "apply", "ignore"]), "auto"
            => "Rotation of JPEGs by their EXIF data: `apply`, `ignore`, or `auto`, which rotates only JPEGs in separate files, \
             as CNTK does."
            [describe if given];
        _ = "jpegScaledDecode": OptionKind::Numbers, "0"
            => "A width and a height, such as those of the `Scale`: decode JPEGs to 1/2, 1/4 or 1/8 of their size if the result \
             is no smaller, which is faster and gives different pixels; 0 decodes JPEGs in full size."
            [describe after "maxPixels" if given];
        _ = "maxPixels": OptionKind::Whole, "268435456"
            => "Size of the largest image that is decoded, in pixels; a larger one is corrupt."
            [describe if given];
        let numeric_keys: bool = reader.numeric_keys
            => [identity with |decoding, text| text.word("numeric").word(decoding.numeric_keys)];
        /// The type of the labels' values.
        let element: Element = reader.element;
        /// True if the reader tolerates faults.
        let forgives: bool = reader.forgives;
    }
}

impl ImageInput {
    /// True if labels are the numbers of classes.
    fn has_numbers(&self) -> bool {
        self.streams
            .iter()
            .any(|stream| matches!(stream, ImageStream::Labels(LabelStream { as_numbers: true, .. })))
    }
}

/// The largest number of classes.
pub(crate) const MAX_DIM: u64 = i32::MAX as u64;

/// The handling of images that cannot be read or decoded.
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

/// The transform that decodes the stream of images.
pub(crate) fn decoder(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    _: &dyn Store,
) -> Result<Vec<(String, Section)>, ConfigError> {
    let input = ImageInput::read(options, defaults)?;
    let pixels = Pixels::read(options, defaults)?;
    let decoding = Decoding::read(options, defaults)?;
    let stream = input.streams.into_iter().find_map(|stream| match stream {
        ImageStream::Images(name) => Some(name),
        ImageStream::Labels(_) => None,
    });
    let section = Section::from_iter([
        ("type", Value::Text("Decode".into())),
        ("grayscale", Value::Bool(pixels.grayscale)),
        ("channelOrder", Value::Text(options.text("channelOrder")?)),
        ("jpegScaledDecode", numbers(options, "jpegScaledDecode")?),
        ("exifOrientation", Value::Text(options.text("exifOrientation")?)),
        ("maxPixels", Value::Whole(options.whole("maxPixels")?.into())),
        ("truncated", Value::Bool(decoding.on_corrupt == OnCorruptImage::Accept)),
    ]);
    Ok(vec![(stream.expect("one stream is of images"), section)])
}

/// The stream of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelStream {
    pub(crate) name: String,
    /// The number of classes; 0 where the data say (`auto`).
    pub(crate) dim: u64,
    /// True if samples are the numbers of classes, false if they are sparse with a 1 in the column of the class.
    pub(crate) as_numbers: bool,
}

impl LabelStream {
    /// The number that all classes are below.
    pub(crate) fn limit(&self) -> u64 {
        if self.dim == 0 { MAX_DIM } else { self.dim }
    }
}

/// One of the streams, by what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageStream {
    Images(String),
    Labels(LabelStream),
}

/// The options that formats of images have in common.
#[derive(Clone, Debug)]
pub(crate) struct ImageOptions {
    /// At least one; only formats whose files are one corpus have several.
    pub(crate) files: Vec<PathBuf>,
    /// One stream of images and at most one of labels, in the order of the configuration.
    pub(crate) streams: Vec<ImageStream>,
    pub(crate) multi_view: bool,
    pub(crate) on_corrupt: OnCorruptImage,
    /// The type of the labels' values.
    pub(crate) element: Element,
    /// The type of the images' values.
    image_element: Element,
    /// True if each image has a shape of its own.
    ragged: bool,
    pub(crate) numeric_keys: bool,
    /// True if the reader tolerates faults.
    pub(crate) forgives: bool,
}

impl ImageOptions {
    pub(crate) fn new(
        files: &[PathBuf],
        input: &ImageInput,
        pixels: &Pixels,
        decoding: &Decoding,
    ) -> ImageOptions {
        ImageOptions {
            files: files.to_vec(),
            streams: input.streams.clone(),
            multi_view: pixels.multi_view,
            on_corrupt: decoding.on_corrupt,
            element: decoding.element,
            image_element: input.element,
            ragged: input.ragged,
            numeric_keys: decoding.numeric_keys,
            forgives: decoding.forgives,
        }
    }

    /// The stream of labels, if one is asked for.
    pub(crate) fn labels(&self) -> Option<&LabelStream> {
        self.streams.iter().find_map(|stream| match stream {
            ImageStream::Labels(labels) => Some(labels),
            ImageStream::Images(_) => None,
        })
    }

    /// Refuses labels of as many classes as there are, for formats that are read only after their streams are known.
    pub(crate) fn check_dim_is_given(&self, options: &Options<'_>) -> Result<(), ConfigError> {
        match self.labels() {
            Some(LabelStream { name, dim: 0, as_numbers: false }) => {
                let expected = "a number: only maps are read before they are indexed";
                Err(ConfigError::unknown_word(
                    options.path(&format!("input.{name}.labelDim")),
                    "`auto`",
                    expected,
                ))
            }
            _ => Ok(()),
        }
    }

    /// The facts of a deserializer of these streams.
    pub(crate) fn facts(&self, name: &'static str, identity: String) -> DeserializerFacts {
        let stream = |stream: &ImageStream| match stream {
            ImageStream::Images(name) => {
                StreamInfo::encoded(name, self.image_element).with_ragged(self.ragged)
            }
            ImageStream::Labels(labels) if labels.as_numbers => {
                StreamInfo::dense(&labels.name, Shape::new([]), Element::I64)
            }
            ImageStream::Labels(labels) => {
                StreamInfo::sparse(&labels.name, labels.dim as usize, self.element)
            }
        };
        let streams = self.streams.iter().map(stream).collect();
        let skips = self.on_corrupt == OnCorruptImage::Skip;
        let mut facts = DeserializerFacts::new(name, self.files.clone(), streams, identity);
        facts.max_errors = skips.then_some(u64::MAX);
        facts.repeated_keys = RepeatedKeys::Last;
        facts
    }
}

/// The type that the stream of images asks for.
fn image_element(options: &Options<'_>, inputs: &[ImageSection]) -> Result<Option<Element>, ConfigError> {
    for input in inputs {
        let stream = input.name.clone();
        let refusal = match input.element {
            Some(Element::U8) if !input.has_transforms => ImageRefusal::TypeOfLabels { stream },
            Some(Element::I64) if input.has_transforms => ImageRefusal::TypeOfImages { stream },
            _ => continue,
        };
        return Err(ConfigError::refused(options.path(&format!("input.{}.dtype", input.name)), &refusal));
    }
    Ok(inputs.iter().filter(|input| input.has_transforms).find_map(|input| input.element))
}

/// True if the stream of images asks for shapes of their own.
fn ragged(options: &Options<'_>, inputs: &[ImageSection]) -> Result<bool, ConfigError> {
    let Some(given) = inputs.iter().find(|input| input.ragged.is_some()) else { return Ok(false) };
    if !given.has_transforms {
        let refusal = ImageRefusal::RaggedLabels { stream: given.name.clone() };
        return Err(ConfigError::refused(options.path(&format!("input.{}.ragged", given.name)), &refusal));
    }
    Ok(given.ragged == Some(true))
}

/// True if a transform of the images is a crop of ten views. CNTK delivers all ten only with `multiViewCrop`.
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

fn streams(options: &Options<'_>, inputs: &[ImageSection]) -> Result<Vec<ImageStream>, ConfigError> {
    let stream = |input: &ImageSection| match (input.has_transforms, input.label_dim) {
        (true, None) => Ok(ImageStream::Images(input.name.clone())),
        (false, Some(dim)) => {
            let as_numbers = input.element == Some(Element::I64);
            Ok(ImageStream::Labels(LabelStream { name: input.name.clone(), dim, as_numbers }))
        }
        _ => {
            let refusal = ImageRefusal::ImageOrLabel { stream: input.name.clone() };
            Err(ConfigError::refused(options.path("input"), &refusal))
        }
    };
    let streams = inputs.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let labels = streams.iter().filter(|stream| matches!(stream, ImageStream::Labels(_))).count();
    match (streams.len() - labels, labels) {
        (1, 0 | 1) => Ok(streams),
        (images, labels) => {
            Err(ConfigError::refused(options.path("input"), &ImageRefusal::StreamCount { images, labels }))
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
            let expected = format!("a number from 1 to {MAX_DIM}, or `auto`");
            Err(ConfigError::out_of_range(stream.path("labelDim"), format!("`{dim}`"), expected))
        }
        dim => Ok(dim),
    }
}

/// An option of numbers as a value.
fn numbers(options: &Options<'_>, name: &str) -> Result<Value, ConfigError> {
    Ok(Value::List(options.numbers(name)?.into_iter().map(Value::Real).collect()))
}

const TRANSFORMS: OptionName = OptionName::new("transforms");
const LABEL_DIM: OptionName = OptionName::new("labelDim");

tesson_core::error_kinds! {
    /// Why options of a deserializer of images are refused.
    pub enum ImageRefusal {
        /// A stream of labels asks for the type of images.
        TypeOfLabels { stream: String = "labels".into() }
            = "picture.type-of-labels": "stream `{stream}` has no images; labels are of the reader's type or `int64`"
            => in manual "Leave the option out, or choose `int64` for the numbers of classes.",
        /// A stream of images asks for the type of labels.
        TypeOfImages { stream: String = "features".into() }
            = "picture.type-of-pictures": "stream `{stream}` has images, which are of the reader's type or `uint8`"
            => in manual "Leave the option out, or choose `uint8`.",
        /// A stream of labels asks for shapes of its samples.
        RaggedLabels { stream: String = "labels".into() }
            = "picture.ragged-labels": "stream `{stream}` has no images; classes have no shape of their own"
            => in manual "Leave the option out.",
        /// A stream is neither one of images nor one of labels, or it is both.
        ImageOrLabel { stream: String = "features".into() }
            = "picture.picture-or-label": "stream `{stream}` expects {TRANSFORMS}, or {LABEL_DIM}, and not both"
            => in manual "Give the stream of images {TRANSFORMS}, that of labels {LABEL_DIM}.",
        /// There is no stream of images, or there are several streams of a kind.
        StreamCount { images: usize = 2, labels: usize = 1 }
            = "picture.stream-count": "found {images} streams with {TRANSFORMS} and {labels} with {LABEL_DIM}, expected one \
                with {TRANSFORMS} and at most one with {LABEL_DIM}"
            => in manual "List one stream with {TRANSFORMS}, and at most one with {LABEL_DIM}.",
    }
}
