//! JPEG, by libjpeg-turbo's fast integer transform and smooth upsampling of colours, which give TensorFlow's values
//! (spec/tfds.md §6.4).

use super::pixels::{deepen, room};
use super::{PictureError, PictureShape, Scale, Want};
use crate::libjpeg::{ColorSpace, DctMethod, Decompressor, Output};

/// A block of 64 pixels takes at least a bit of one of a picture's up to four components, and a component that is not
/// sampled finest in both directions may leave out up to 16 blocks.
pub(crate) const PIXELS_A_BYTE: usize = 64 * 8 * 16;

pub(crate) fn damaged(what: impl ToString) -> PictureError {
    PictureError::Damaged { kind: "JPEG", what: what.to_string() }
}

/// A cut file: the library makes up an end and paints the rest grey.
pub(crate) fn cut() -> PictureError {
    damaged("the file is cut")
}

pub(super) fn decode(
    file: &[u8],
    want: Want,
    scale: Scale,
    out: &mut Vec<u8>,
) -> Result<PictureShape, PictureError> {
    let mut picture = Decompressor::new(file)?;
    let (channels, colors) = match (want.channels, picture.components()) {
        (Some(1), 1 | 3) | (None, 1) => (1, ColorSpace::JCS_GRAYSCALE),
        (Some(3), 1 | 3) | (None, 3) => (3, ColorSpace::JCS_RGB),
        (Some(wanted), 1 | 3) => return Err(PictureError::Channels { kind: "JPEG", wanted }),
        (_, found) => return Err(damaged(format!("{found} components, expected 1 or 3"))),
    };
    let (height, width) = picture.size();
    let (height, width) = (scale.of(height), scale.of(width));
    let shape = PictureShape { frames: None, height, width, channels };
    let pixels = file.len().saturating_mul(PIXELS_A_BYTE);
    let start = room(shape, want, pixels.saturating_mul(channels), out)?;
    picture.start(Output { colors, transform: DctMethod::JDCT_IFAST, denominator: scale.denominator() })?;
    let values = height * width * channels;
    for line in out[start..start + values].chunks_exact_mut((width * channels).max(1)) {
        picture.read_lines(line)?;
        if picture.is_cut() {
            return Err(cut());
        }
    }
    deepen(&mut out[start..], want.depth, 256);
    Ok(shape)
}
