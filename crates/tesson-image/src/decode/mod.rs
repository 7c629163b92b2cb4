//! Decoding image files to pixels with exactly TensorFlow's values (spec/tfds.md §6.4).
//!
//! PNG, JPEG, GIF and BMP are recognized by their first bytes; each has a file here. `pixels.rs` has the code that
//! they share, for writing pixels. Nothing is repaired: a file with a damaged checksum or a missing end is an error.

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
#[cfg(feature = "rust-codecs")]
mod tests;

pub use error::ImageError;
pub(crate) use pixels::{grow, zeros};

use crate::transform::view::Sides;

/// The requested form of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Values a pixel: 1 grey, 3 colour, 4 colour and alpha; `None`: as the file has it.
    pub channels: Option<usize>,
    /// Bits of a value.
    pub depth: Depth,
    /// The largest image, in bytes when it is decoded. The working memory of the decoder may take as much again, or
    /// 16 MiB.
    pub limit: usize,
}

/// The scale at which an image is decoded: a fraction of its size in both directions, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// The full size.
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
    /// The smallest scale at which the sides of an image are not below others; whole if they are below them as it is.
    pub fn down_to(of: Sides, least: Sides) -> Scale {
        [Scale::Eighth, Scale::Quarter, Scale::Half]
            .into_iter()
            .find(|scale| scale.of(of.height) >= least.height && scale.of(of.width) >= least.width)
            .unwrap_or_default()
    }

    /// The scale of 1 to `denominator`, which is 1, 2, 4 or 8.
    pub fn one_to(denominator: u64) -> Option<Scale> {
        [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth]
            .into_iter()
            .find(|scale| scale.denominator() as u64 == denominator)
    }

    /// The number of pixels in a row that become one.
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

/// The number of bits of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Values from 0 to 255.
    Eight,
    /// Values from 0 to 65535, little-endian.
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

/// The shape of a decoded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// For files of several images their number, even if it is one.
    pub frames: Option<usize>,
    /// Rows.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
}

impl ImageShape {
    /// The dimensions: frames if the file has them, height, width, channels.
    pub fn dims(self) -> impl Iterator<Item = usize> {
        self.frames.into_iter().chain([self.height, self.width, self.channels])
    }
}

/// The result and the memory of decoding a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The shape of the decoded image.
    pub shape: ImageShape,
    /// Bytes of the pixels.
    pub(crate) values: usize,
    /// Bytes of memory at the peak, approximately: the pixels and the working memory of the decoder.
    pub bytes: u64,
}

/// Finds the needs of decoding a file. Only its headers are read, and no allocation depends on what they declare.
///
/// # Errors
/// The errors of [`decode_at`], except for damaged or missing pixels.
pub fn needs(file: &[u8], want: Want, scale: Scale) -> Result<Needs, ImageError> {
    match kind(file, want, scale)? {
        Kind::Png => png::needs(file, want),
        Kind::Jpeg => jpeg::needs(file, want, scale),
        Kind::Gif => gif::needs(file, want),
        Kind::Bmp => bmp::needs(file, want),
    }
}

/// Appends the pixels of a file to `out`, row after row from the top, and returns their shape.
///
/// # Errors
/// The file is none of the four kinds, is damaged or cut, cannot have this number of channels, or is larger than the
/// limit. Bytes that were appended to `out` before the error have no meaning.
pub fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    decode_at(file, want, Scale::Whole, out)
}

/// Appends the pixels of a file like [`decode`], at a reduced scale. A JPEG is decoded at that scale directly; other
/// kinds of files cannot be.
///
/// # Errors
/// The errors of [`decode`]; a file of another kind at a reduced scale.
pub fn decode_at(file: &[u8], want: Want, scale: Scale, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    match kind(file, want, scale)? {
        Kind::Png => png::decode(file, want, out),
        Kind::Jpeg => jpeg::decode(file, want, scale, out),
        Kind::Gif => gif::decode(file, want, out),
        Kind::Bmp => bmp::decode(file, want, out),
    }
}

/// The kinds of files.
enum Kind {
    Png,
    Jpeg,
    Gif,
    Bmp,
}

/// Recognizes the kind of a file by its first bytes, and refuses requests that the kind does not support.
fn kind(file: &[u8], want: Want, scale: Scale) -> Result<Kind, ImageError> {
    if !matches!(want.channels, None | Some(1 | 3 | 4)) {
        return Err(ImageError::Channels { kind: "any", wanted: want.channels.unwrap_or(0) });
    }
    let (kind, name) = match file {
        [0x89, b'P', b'N', b'G', ..] => (Kind::Png, "PNG"),
        [0xff, 0xd8, 0xff, ..] => return Ok(Kind::Jpeg),
        [b'G', b'I', b'F', b'8', ..] => (Kind::Gif, "GIF"),
        [b'B', b'M', ..] => (Kind::Bmp, "BMP"),
        _ => return Err(ImageError::unknown(file, "PNG, JPEG, GIF or BMP")),
    };
    if scale == Scale::Whole { Ok(kind) } else { Err(ImageError::Unscaled { kind: name }) }
}

#[cfg(all(feature = "pure-rust", not(feature = "codecs")))]
use jpeg_rust as jpeg;

/// Defines a module that refuses all files in the place of a decoder that this build lacks, with the features that
/// add it. Errors name the usual one.
macro_rules! absent {
    ($($name:ident $kind:literal, $by:meta, ($($scale:ty)?);)+) => {$(
        #[cfg(not($by))]
        mod $name {
            use super::{Needs, ImageError, ImageShape, Want};

            pub(super) fn needs(_: &[u8], _: Want $(, _: $scale)?) -> Result<Needs, ImageError> {
                Err(ImageError::NotBuilt { kind: $kind, feature: "codecs" })
            }

            pub(super) fn decode(
                _: &[u8],
                _: Want,
                $(_: $scale,)?
                _: &mut Vec<u8>,
            ) -> Result<ImageShape, ImageError> {
                Err(ImageError::NotBuilt { kind: $kind, feature: "codecs" })
            }
        }
    )+};
}

absent! {
    gif "GIF", feature = "rust-codecs", ();
    png "PNG", feature = "rust-codecs", ();
    jpeg "JPEG", any(feature = "codecs", feature = "pure-rust"), (super::Scale);
}
