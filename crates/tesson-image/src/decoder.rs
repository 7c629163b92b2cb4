//! Files of pictures to pixels: the first transform of a stream of encoded pictures.

use std::sync::Arc;

use tesson_core::{
    ConfigError, Draw, Error, Input, InputValues, OpenTransform, OptionKind, OptionSpec, OptionTable,
    Options, Output, OutputValues, ReadFile, SampleType, Scratch, Section, Transform, TransformFormat,
    UserError, Value, ValueType, Words,
};

use crate::decode::Scale;
use crate::imdecode::{Color, ImdecodeOptions, imdecode};
use crate::jpeg_decoding::note_jpeg;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Decode",
    help: "Decodes files of pictures to rows of 8-bit pixels.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Single(open),
};

/// Whether JPEGs are turned as their EXIF data say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    /// Those in files of their own, not those within archives and texts: as CNTK does.
    Auto,
    Apply,
    Ignore,
}

static ORIENTATIONS: Words<Orientation, 3> =
    Words::new([("auto", Orientation::Auto), ("apply", Orientation::Apply), ("ignore", Orientation::Ignore)]);

static ORDERS: Words<Color, 2> = Words::new([("bgr", Color::Bgr), ("rgb", Color::Rgb)]);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::with_default(
        "grayscale",
        OptionKind::Bool,
        "false",
        "Whether pictures are decoded to one channel.",
    ),
    OptionSpec::with_default("channelOrder", ORDERS.kind(), "bgr", "The order of a pixel's three channels."),
    OptionSpec::with_default(
        "exifOrientation",
        ORIENTATIONS.kind(),
        "auto",
        "Whether JPEGs are turned as their EXIF data say: `auto` turns those in files of their own alone.",
    ),
    OptionSpec::with_default(
        "maxPixels",
        OptionKind::Whole,
        "268435456",
        "The largest picture, in pixels, that is decoded; a larger one is a fault.",
    ),
    OptionSpec::with_default(
        "truncated",
        OptionKind::Bool,
        "false",
        "Whether a JPEG that was cut off is decoded as far as it goes; otherwise it is a fault.",
    ),
    OptionSpec::with_default(
        "jpegScale",
        OptionKind::Whole,
        "1",
        "JPEGs are decoded to 1, 1/2, 1/4 or 1/8 of their size: 1, 2, 4 or 8; the pixels are others than those of a `Scale`.",
    ),
]);

fn describe(options: &Options<'_>) -> Result<Section, ConfigError> {
    let decoder = Decoder::new(options)?;
    Ok(Section::from_iter([
        ("grayscale", Value::Bool(decoder.options.color == Color::Gray)),
        ("channelOrder", Value::Text(options.text("channelOrder")?)),
        ("exifOrientation", Value::Text(options.text("exifOrientation")?)),
        ("maxPixels", Value::Whole(decoder.options.max_pixels.into())),
        ("truncated", Value::Bool(decoder.options.accept_truncated)),
        ("jpegScale", Value::Whole(decoder.options.jpeg_scale.denominator() as i128)),
    ]))
}

fn open(options: &Options<'_>, _: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
    Ok(Arc::new(Decoder::new(options)?))
}

struct Decoder {
    options: ImdecodeOptions,
    orientation: Orientation,
}

impl Decoder {
    fn new(options: &Options<'_>) -> Result<Decoder, ConfigError> {
        let color = match options.bool("grayscale")? {
            true => Color::Gray,
            false => options.word("channelOrder", &ORDERS)?,
        };
        let scale = options.whole("jpegScale")?;
        let jpeg_scale = Scale::one_to(scale).ok_or_else(|| {
            ConfigError::new(options.path("jpegScale"), format!("found {scale}, expected 1, 2, 4 or 8"))
        })?;
        let mut decoding = ImdecodeOptions::new(color);
        decoding.max_pixels = options.whole("maxPixels")?;
        decoding.accept_truncated = options.bool("truncated")?;
        decoding.jpeg_scale = jpeg_scale;
        Ok(Decoder { options: decoding, orientation: options.word("exifOrientation", &ORIENTATIONS)? })
    }
}

impl Transform for Decoder {
    fn name(&self) -> &str {
        FORMAT.name
    }

    fn identity(&self) -> String {
        let ImdecodeOptions { color, max_pixels, accept_truncated, jpeg_scale, .. } = self.options;
        let color = match color {
            Color::Gray => "gray",
            Color::Bgr => "bgr",
            Color::Rgb => "rgb",
        };
        let orientation = match self.orientation {
            Orientation::Auto => "auto",
            Orientation::Apply => "apply",
            Orientation::Ignore => "ignore",
        };
        let scale = jpeg_scale.denominator();
        format!("1 {color} exif {orientation} pixels {max_pixels} truncated {accept_truncated} scale {scale}")
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        match input.values {
            ValueType::Encoded => {
                Ok(SampleType::dense(ValueType::U8, [None, None, Some(self.options.color.channels())]))
            }
            _ => Err(format!("found {input}, expected encoded bytes")),
        }
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        _: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::Encoded(file), OutputValues::U8(out)) = (input.values, &mut output.values) else {
            return Err("it takes encoded bytes".into());
        };
        let apply_orientation = match self.orientation {
            Orientation::Auto => !input.embedded,
            Orientation::Apply => true,
            Orientation::Ignore => false,
        };
        note_jpeg(file, &mut scratch.warnings);
        let options = ImdecodeOptions { apply_orientation, ..self.options };
        let size = match out.is_empty() {
            true => imdecode(file, &options, out)?,
            false => {
                let size = imdecode(file, &options, &mut scratch.bytes)?;
                out.extend_from_slice(&scratch.bytes);
                size
            }
        };
        output.set_shape(&[size.height, size.width, size.channels]);
        Ok(())
    }
}
