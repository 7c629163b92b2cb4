//! Files of images to pixels: the first transform of a stream of encoded images.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Draw, Error, Input, InputValues, OpenTransform, OptionKind, OptionSet, Options, Output,
    OutputValues, ReadFile, SampleType, Scratch, Transform, TransformFormat, UserError, Value, ValueType,
    Words, options, transform_of,
};

use crate::imdecode::remarks::remarks;
use crate::imdecode::{Color, ImdecodeOptions, Needs, imdecode, needs};
use crate::jpeg_decoding::note_jpeg;
use crate::transform::options::pair;
use crate::transform::view::Sides;

pub(crate) static FORMAT: TransformFormat = transform_of::<Decoder>(
    "Decode",
    "Decodes image files to rows of 8-bit pixels.",
    OpenTransform::Single(open),
);

/// The handling of the EXIF orientation of JPEGs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Orientation {
    /// Applied to images in separate files, not to those within archives and texts, as in CNTK.
    Auto,
    Apply,
    Ignore,
}

static ORIENTATIONS: Words<Orientation, 3> =
    Words::new([("auto", Orientation::Auto), ("apply", Orientation::Apply), ("ignore", Orientation::Ignore)]);

static ORDERS: Words<Color, 2> = Words::new([("bgr", Color::Bgr), ("rgb", Color::Rgb)]);

fn open(options: &Options<'_>, _: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
    Ok(Arc::new(Decoder::read(options, &())?))
}

/// A width and a height in pixels.
fn jpeg_at_least(options: &Options<'_>) -> Result<[usize; 2], ConfigError> {
    let given = pair(options, "jpegScaledDecode")?;
    let size = given.map(|n| n as usize);
    if given != size.map(|n| n as f64) {
        let found = format!("`{}:{}`", given[0], given[1]);
        let expected = "a width and a height in pixels";
        return Err(ConfigError::out_of_range(options.path("jpegScaledDecode"), found, expected));
    }
    Ok(size)
}

options! {
    /// The decoder, with its options.
    struct Decoder(options) {
        grayscale: bool = "grayscale", "false"
            => "Decode images to one channel.";
        color: Color = "channelOrder" in ORDERS, "bgr"
            => "The order of a pixel's three channels."
            [read if grayscale { Color::Gray } else { options.word("channelOrder", &ORDERS)? }]
            [identity with |decoder, text| text.word(ORDERS.word(decoder.color).unwrap_or("gray"))];
        orientation: Orientation = "exifOrientation" in ORIENTATIONS, "auto"
            => "Rotation of JPEGs by their EXIF data: `apply`, `ignore`, or `auto`, which rotates only JPEGs in separate files."
            [identity with |decoder, text| {
                text.word("exif").word(ORIENTATIONS.word(decoder.orientation).unwrap_or_default())
            }];
        max_pixels: u64 = "maxPixels", "268435456"
            => "Size of the largest image that is decoded, in pixels; a larger one is a fault."
            [identity with |decoder, text| text.word("pixels").word(decoder.max_pixels)];
        truncated: bool = "truncated", "false"
            => "Decode a JPEG that was cut off as far as possible (true), or treat it as a fault (false)."
            [identity with |decoder, text| text.word("truncated").word(decoder.truncated)];
        /// The width and height that JPEGs decoded to less than their size have at least; 0 decodes them whole.
        at_least: [usize; 2] = "jpegScaledDecode": OptionKind::Numbers, "0"
            => "A width and a height, such as those of a later `Scale`: decode JPEGs to 1/2, 1/4 or 1/8 of their size if the \
             result is no smaller, which is faster and gives different pixels; 0 decodes JPEGs in full size."
            [read jpeg_at_least(options)?]
            [describe as |decoder| Value::List(decoder.at_least.map(|n| Value::Whole(n as i128)).to_vec())]
            [identity with |decoder, text| {
                let [width, height] = decoder.at_least;
                text.word("scaled").word(format_args!("{width}x{height}"))
            }];
    }
}

impl Decoder {
    /// How an image is decoded.
    fn decoding(&self, input: &Input<'_>) -> ImdecodeOptions {
        let mut decoding = ImdecodeOptions::new(self.color);
        decoding.max_pixels = self.max_pixels;
        decoding.accept_truncated = self.truncated;
        let [width, height] = self.at_least;
        decoding.jpeg_at_least = (width > 0 || height > 0).then_some(Sides { height, width });
        decoding.apply_orientation = self.is_turned(input);
        decoding
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
        self.identify(Identity::of("1")).text()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        match input.values {
            ValueType::Encoded => {
                Ok(SampleType::dense(ValueType::U8, [None, None, Some(self.color.channels())]))
            }
            _ => Err(format!("found {input}, expected encoded bytes")),
        }
    }

    fn draws(&self) -> bool {
        false
    }

    fn decoding_bytes(&self, input: &Input<'_>, shape: &mut Vec<usize>) -> Result<u64, UserError> {
        let InputValues::Encoded(file) = input.values else { return Ok(0) };
        let Needs { size, bytes } = needs(file, &self.decoding(input))?;
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
        let options = self.decoding(&input);
        let (InputValues::Encoded(file), OutputValues::U8(out)) = (input.values, &mut output.values) else {
            return Err("it takes encoded bytes".into());
        };
        note_jpeg(file, &mut scratch.warnings);
        let size = if out.is_empty() {
            imdecode(file, &options, out)?
        } else {
            let size = imdecode(file, &options, &mut scratch.bytes)?;
            out.extend_from_slice(&scratch.bytes);
            size
        };
        output.set_shape(&[size.height, size.width, size.channels]);
        Ok(())
    }
}
