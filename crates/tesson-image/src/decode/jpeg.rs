//! JPEG, by libjpeg-turbo's fast integer transform and smooth upsampling of colours, which give TensorFlow's values
//! (spec/tfds.md §6.4).

use super::pixels::deepen;
use super::{ImageError, ImageShape, Needs, Scale, Want};
use crate::libjpeg::{ColorSpace, DctMethod, Decompressor, Output};
use crate::transform::view::Sides;

/// A block of 64 pixels takes at least a bit of one of an image's up to four components, and a component that is not
/// sampled finest in both directions may leave out up to 16 blocks.
pub(crate) const PIXELS_A_BYTE: usize = 64 * 8 * 16;

pub(crate) fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "JPEG", what: what.to_string() }
}

/// A cut file: the library makes up an end and paints the rest grey.
pub(crate) fn cut() -> ImageError {
    damaged("the file is cut")
}

pub(super) fn decode(
    file: &[u8],
    want: Want,
    scale: Scale,
    out: &mut Vec<u8>,
) -> Result<ImageShape, ImageError> {
    let (mut image, needs) = open(file, want, scale)?;
    let ImageShape { height, width, channels, .. } = needs.shape;
    let start = needs.room(out)?;
    let colors = if channels == 1 { ColorSpace::JCS_GRAYSCALE } else { ColorSpace::JCS_RGB };
    image.start(Output { colors, transform: DctMethod::JDCT_IFAST, denominator: scale.denominator() })?;
    let values = height * width * channels;
    for line in out[start..start + values].chunks_exact_mut((width * channels).max(1)) {
        image.read_lines(line)?;
        // TensorFlow refuses a file without an end, even if all pixels are present.
        if image.has_no_end() {
            return Err(cut());
        }
    }
    deepen(&mut out[start..], want.depth, 256);
    Ok(needs.shape)
}

pub(super) fn needs(file: &[u8], want: Want, scale: Scale) -> Result<Needs, ImageError> {
    open(file, want, scale).map(|(_, needs)| needs)
}

fn open(file: &[u8], want: Want, scale: Scale) -> Result<(Decompressor<'_>, Needs), ImageError> {
    let image = Decompressor::new(file)?;
    let channels = match (want.channels, image.components()) {
        (Some(1), 1 | 3) | (None, 1) => 1,
        (Some(3), 1 | 3) | (None, 3) => 3,
        (Some(wanted), 1 | 3) => return Err(ImageError::Channels { kind: "JPEG", wanted }),
        (_, found) => return Err(damaged(format!("{found} components, expected 1 or 3"))),
    };
    let Sides { height, width } = image.sides();
    let shape = ImageShape { frames: None, height: scale.of(height), width: scale.of(width), channels };
    let pixels = file.len().saturating_mul(PIXELS_A_BYTE);
    let needs = Needs::new(shape, want, pixels.saturating_mul(channels), image.working_bytes())?;
    Ok((image, needs))
}
