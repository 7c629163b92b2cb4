//! Files of pictures to pixels: the first transform of a stream of encoded pictures.

use std::sync::Arc;

use tesson_core::{
    ConfigError, Draw, Error, Input, InputValues, OpenTransform, OptionKind, OptionSpec, OptionTable,
    Options, Output, OutputValues, ReadFile, SampleType, Scratch, Section, Transform, TransformFormat,
    UserError, Value, ValueType, Words,
};

use crate::imdecode::remarks::remarks;
use crate::imdecode::{Color, ImdecodeOptions, Needs, imdecode, needs};
use crate::jpeg_decoding::note_jpeg;
use crate::transform::options::pair;

pub(crate) static FORMAT: TransformFormat = TransformFormat {
    name: "Decode",
    help: "Decodes files of pictures to rows of 8-bit pixels.",
    options: &OPTIONS,
    describe,
    open: OpenTransform::Single(open),
};

/// The handling of the EXIF orientation of JPEGs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    /// Applied to pictures in separate files, not to those within archives and texts, as in CNTK.
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
        "jpegScaledDecode",
        OptionKind::Numbers,
        "0",
        "A width and a height, such as those of a `Scale` that follows: JPEGs are decoded to 1/2, 1/4 or 1/8 of their size where that is not below them, which is faster and gives other pixels; 0 decodes all of them whole.",
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
        ("jpegScaledDecode", scaled_decode(decoder.options.jpeg_at_least)),
    ]))
}

fn open(options: &Options<'_>, _: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
    Ok(Arc::new(Decoder::new(options)?))
}

/// The height and width that JPEGs decoded to less than their size have at least.
fn jpeg_at_least(options: &Options<'_>) -> Result<Option<(usize, usize)>, ConfigError> {
    let given = pair(options, "jpegScaledDecode")?;
    let [width, height] = given.map(|n| n as usize);
    if given != [width, height].map(|n| n as f64) {
        let what = format!("found `{}:{}`, expected a width and a height in pixels", given[0], given[1]);
        return Err(ConfigError::new(options.path("jpegScaledDecode"), what));
    }
    Ok((width > 0 || height > 0).then_some((height, width)))
}

fn scaled_decode(at_least: Option<(usize, usize)>) -> Value {
    let (height, width) = at_least.unwrap_or_default();
    Value::List([width, height].map(|n| Value::Whole(n as i128)).to_vec())
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
        let mut decoding = ImdecodeOptions::new(color);
        decoding.max_pixels = options.whole("maxPixels")?;
        decoding.accept_truncated = options.bool("truncated")?;
        decoding.jpeg_at_least = jpeg_at_least(options)?;
        Ok(Decoder { options: decoding, orientation: options.word("exifOrientation", &ORIENTATIONS)? })
    }
}

impl Decoder {
    /// True if the EXIF orientation of a JPEG is applied.
    fn is_turned(&self, input: &Input<'_>) -> bool {
        match self.orientation {
            Orientation::Auto => !input.embedded,
            Orientation::Apply => true,
            Orientation::Ignore => false,
        }
    }
}

impl Transform for Decoder {
    fn name(&self) -> &str {
        FORMAT.name
    }

    fn identity(&self) -> String {
        let ImdecodeOptions { color, max_pixels, accept_truncated, jpeg_at_least, .. } = self.options;
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
        let (height, width) = jpeg_at_least.unwrap_or_default();
        format!(
            "1 {color} exif {orientation} pixels {max_pixels} truncated {accept_truncated} scaled {width}x{height}"
        )
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        match input.values {
            ValueType::Encoded => {
                Ok(SampleType::dense(ValueType::U8, [None, None, Some(self.options.color.channels())]))
            }
            _ => Err(format!("found {input}, expected encoded bytes")),
        }
    }

    fn draws(&self) -> bool {
        false
    }

    fn decoding_bytes(&self, input: &Input<'_>, shape: &mut Vec<usize>) -> Result<u64, UserError> {
        let InputValues::Encoded(file) = input.values else { return Ok(0) };
        let options = ImdecodeOptions { apply_orientation: self.is_turned(input), ..self.options };
        let Needs { size, bytes } = needs(file, &options)?;
        shape.extend([size.height, size.width, size.channels]);
        Ok(bytes)
    }

    fn remarks(&self, input: &Input<'_>) -> Vec<&'static str> {
        match input.values {
            InputValues::Encoded(file) => remarks(file, self.is_turned(input)),
            _ => Vec::new(),
        }
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        _: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        let apply_orientation = self.is_turned(&input);
        let (InputValues::Encoded(file), OutputValues::U8(out)) = (input.values, &mut output.values) else {
            return Err("it takes encoded bytes".into());
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
