//! Files of pictures to pixels, with exactly the values that TensorFlow gives (spec/tfds.md §6.4).
//!
//! PNG, JPEG, GIF and BMP are told apart by their first bytes, one file here for each. `pixels.rs` has what they share:
//! where pixels are written. Nothing is repaired: a file with a damaged checksum or a missing end is an error.

mod bmp;
mod error;
#[cfg(feature = "rust-codecs")]
pub(crate) mod gif;
#[cfg(feature = "codecs")]
pub(crate) mod jpeg;
#[cfg(feature = "pure-rust")]
pub mod jpeg_rust;
mod pixels;
#[cfg(feature = "rust-codecs")]
pub(crate) mod png;

#[cfg(test)]
mod tests;

pub use error::PictureError;

/// What pixels are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Values a pixel: 1 grey, 3 colour, 4 colour and alpha; `None`: as the file has it.
    pub channels: Option<usize>,
    /// Bits of a value.
    pub depth: Depth,
    /// The largest picture, in bytes when it is decoded.
    pub limit: usize,
}

/// How large a picture is decoded: a part of its size in both directions, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// As it is.
    #[default]
    Whole,
    /// Half as high and as wide.
    Half,
    /// A quarter as high and as wide.
    Quarter,
    /// An eighth as high and as wide.
    Eighth,
}

impl Scale {
    /// The smallest scale at which a height and a width are not below others; whole if they are below them as it is.
    pub fn down_to((height, width): (usize, usize), least: (usize, usize)) -> Scale {
        [Scale::Eighth, Scale::Quarter, Scale::Half]
            .into_iter()
            .find(|scale| scale.of(height) >= least.0 && scale.of(width) >= least.1)
            .unwrap_or_default()
    }

    /// The scale of 1 to so many, which is 1, 2, 4 or 8.
    pub fn one_to(denominator: u64) -> Option<Scale> {
        [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth]
            .into_iter()
            .find(|scale| scale.denominator() as u64 == denominator)
    }

    /// How many pixels in a row become one.
    pub fn denominator(self) -> usize {
        match self {
            Scale::Whole => 1,
            Scale::Half => 2,
            Scale::Quarter => 4,
            Scale::Eighth => 8,
        }
    }

    /// A height or width at this scale.
    pub fn of(self, pixels: usize) -> usize {
        pixels.div_ceil(self.denominator())
    }
}

/// How many bits a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// From 0 to 255.
    Eight,
    /// From 0 to 65535, little-endian.
    Sixteen,
}

impl Depth {
    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Depth::Eight => 1,
            Depth::Sixteen => 2,
        }
    }
}

/// The shape of a decoded picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureShape {
    /// For files of several pictures their number, even if it is one.
    pub frames: Option<usize>,
    /// Rows.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
}

impl PictureShape {
    /// The dimensions: frames if the file has them, height, width, channels.
    pub fn dims(self) -> impl Iterator<Item = usize> {
        self.frames.into_iter().chain([self.height, self.width, self.channels])
    }
}

/// Appends the pixels of a file to `out`, row after row from the top, and returns their shape.
///
/// # Errors
/// The file is none of the four kinds, is damaged or cut, cannot have so many channels, or is larger than the limit. What
/// was appended to `out` before that is without meaning.
pub fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<PictureShape, PictureError> {
    decode_at(file, want, Scale::Whole, out)
}

/// The same at a reduced scale. Of a JPEG only so much is computed as is wanted; other kinds of files have no such way.
///
/// # Errors
/// As [`decode`]; a file of another kind at a reduced scale.
pub fn decode_at(
    file: &[u8],
    want: Want,
    scale: Scale,
    out: &mut Vec<u8>,
) -> Result<PictureShape, PictureError> {
    if !matches!(want.channels, None | Some(1 | 3 | 4)) {
        return Err(PictureError::Channels { kind: "any", wanted: want.channels.unwrap_or(0) });
    }
    let kind = match file {
        [0x89, b'P', b'N', b'G', ..] => "PNG",
        [b'G', b'I', b'F', b'8', ..] => "GIF",
        [b'B', b'M', ..] => "BMP",
        _ => "JPEG",
    };
    if scale != Scale::Whole && kind != "JPEG" {
        return Err(PictureError::Unscaled { kind });
    }
    match file {
        [0x89, b'P', b'N', b'G', ..] => png(file, want, out),
        [0xff, 0xd8, 0xff, ..] => jpeg(file, want, scale, out),
        [b'G', b'I', b'F', b'8', ..] => gif(file, want, out),
        [b'B', b'M', ..] => bmp::decode(file, want, out),
        _ => Err(PictureError::unknown(file, "PNG, JPEG, GIF or BMP")),
    }
}

#[cfg(feature = "codecs")]
use jpeg::decode as jpeg;
#[cfg(all(feature = "pure-rust", not(feature = "codecs")))]
use jpeg_rust::decode as jpeg;
#[cfg(feature = "rust-codecs")]
use {gif::decode as gif, png::decode as png};

#[cfg(not(feature = "rust-codecs"))]
use absent::{gif, jpeg, png};

/// In place of the decoders that this build has none of: which feature they come with.
#[cfg(not(feature = "rust-codecs"))]
mod absent {
    use super::{PictureError, PictureShape, Scale, Want};

    fn not_built(kind: &'static str) -> Result<PictureShape, PictureError> {
        Err(PictureError::NotBuilt { kind, feature: "codecs" })
    }

    pub(super) fn gif(_: &[u8], _: Want, _: &mut Vec<u8>) -> Result<PictureShape, PictureError> {
        not_built("GIF")
    }

    pub(super) fn jpeg(_: &[u8], _: Want, _: Scale, _: &mut Vec<u8>) -> Result<PictureShape, PictureError> {
        not_built("JPEG")
    }

    pub(super) fn png(_: &[u8], _: Want, _: &mut Vec<u8>) -> Result<PictureShape, PictureError> {
        not_built("PNG")
    }
}
