//! Files of images to pixels with TensorFlow's values: the first transform of an image of a prepared dataset.

use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Draw, Error, Input, InputValues, OpenTransform, OptionKind, OptionSet, Options, Output,
    OutputValues, ReadFile, SampleType, Scratch, Transform, TransformFormat, UserError, Value, ValueType,
    options, transform_of,
};

use crate::decode::{Depth, Scale, Want, decode, needs};
use crate::jpeg_decoding::note_jpeg;

pub(crate) static FORMAT: TransformFormat = transform_of::<ImageDecoder>(
    "DecodeImage",
    "Decodes image files to rows of 8-bit pixels, red first, with the values of `tf.io.decode_image`.",
    OpenTransform::Single(open),
);

fn open(options: &Options<'_>, _: &ReadFile<'_>) -> Result<Arc<dyn Transform>, Error> {
    Ok(Arc::new(ImageDecoder::read(options, &())?))
}

options! {
    /// The decoder, with its options.
    struct ImageDecoder(options) {
        /// `None`: as each file has them.
        channels: Option<usize> = "channels": OptionKind::Whole, "0"
            => "Channels of a pixel: 1 gray, 3 colour, 4 colour and alpha; 0 keeps those of each file."
            [read channels(options)?]
            [describe as |decoder| Value::Whole(decoder.channels.unwrap_or(0) as i128)]
            [identity with |decoder, text| text.word("channels").word(decoder.channels.unwrap_or(0))];
        max_pixels: u64 = "maxPixels", "268435456"
            => "Size of the largest image that is decoded, in pixels; a larger one is a fault."
            [identity with |decoder, text| text.word("pixels").word(decoder.max_pixels)];
    }
}

fn channels(options: &Options<'_>) -> Result<Option<usize>, ConfigError> {
    match options.whole("channels")? {
        0 => Ok(None),
        n @ (1 | 3 | 4) => Ok(Some(n as usize)),
        n => Err(ConfigError::out_of_range(options.path("channels"), n.to_string(), "0, 1, 3 or 4")),
    }
}

impl ImageDecoder {
    fn want(&self) -> Want {
        let values = self.max_pixels.saturating_mul(self.channels.unwrap_or(4) as u64);
        let limit = usize::try_from(values).unwrap_or(usize::MAX);
        Want { channels: self.channels, depth: Depth::Eight, limit }
    }

    fn decode(&self, file: &[u8], out: &mut Vec<u8>) -> Result<[usize; 3], UserError> {
        let shape = decode(file, self.want(), out)?;
        match shape.frames {
            None => Ok([shape.height, shape.width, shape.channels]),
            Some(_) => Err("found a GIF, which is several images; expected one".into()),
        }
    }
}

impl Transform for ImageDecoder {
    fn name(&self) -> &str {
        FORMAT.name
    }

    fn identity(&self) -> String {
        self.identify(Identity::of("1")).text()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        match input.values {
            ValueType::Encoded => Ok(SampleType::dense(ValueType::U8, [None, None, self.channels])),
            _ => Err(format!("found {input}, expected encoded bytes")),
        }
    }

    fn draws(&self) -> bool {
        false
    }

    fn decoding_bytes(&self, input: &Input<'_>, shape: &mut Vec<usize>) -> Result<u64, UserError> {
        let InputValues::Encoded(file) = input.values else { return Ok(0) };
        let needs = needs(file, self.want(), Scale::Whole)?;
        shape.extend(needs.shape.dims());
        Ok(needs.bytes)
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
        note_jpeg(file, &mut scratch.warnings);
        let shape = self.decode(file, out)?;
        output.set_shape(&shape);
        Ok(())
    }
}
