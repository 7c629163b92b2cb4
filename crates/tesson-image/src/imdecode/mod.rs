//! Decoding image files to 8-bit pixels with the values of OpenCV's `imdecode` (spec/image.md §4).
//!
//! The kind of a file is recognized by its first bytes; each kind has a file here. Alpha is dropped, 16 bits become
//! 8, palettes are looked up; colours are delivered in either order. [`crate::decode`] has TensorFlow's values, which
//! differ.

mod bmp;
mod exif;
#[cfg(feature = "rust-codecs")]
mod gif;
#[cfg(feature = "codecs")]
mod jpeg;
#[cfg(feature = "pure-rust")]
pub mod jpeg_rust;
#[cfg(feature = "rust-codecs")]
mod png;
mod pnm;
pub(crate) mod remarks;
#[cfg(feature = "tiff")]
mod tiff;
#[cfg(feature = "webp")]
mod webp;

#[cfg(test)]
mod tests;

use crate::decode::ImageError;
#[cfg(any(feature = "codecs", feature = "pure-rust"))]
use crate::decode::Scale;
use crate::transform::view::{Sides, Size};

/// The values of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One value.
    Gray,
    /// Blue, green, red: OpenCV's and CNTK's order.
    Bgr,
    /// Red, green, blue.
    Rgb,
}

impl Color {
    /// Values of a pixel.
    pub fn channels(self) -> usize {
        match self {
            Color::Gray => 1,
            Color::Bgr | Color::Rgb => 3,
        }
    }
}

/// The options for decoding files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImdecodeOptions {
    /// The values of a pixel.
    pub color: Color,
    /// The largest image, in pixels as the file declares them.
    pub max_pixels: u64,
    /// True if the EXIF orientation of a JPEG file is applied.
    pub apply_orientation: bool,
    /// `true`: the missing part of a truncated JPEG file is grey; `false`: it is an error, as for all other kinds.
    pub accept_truncated: bool,
    /// JPEG files are decoded to the smallest of a half, a quarter and an eighth of their size that has this height and width
    /// at least, once they are turned. Other kinds are decoded at their whole size.
    pub jpeg_at_least: Option<Sides>,
    /// `true`: the first image of a GIF file is decoded; `false`: such files are refused, as by OpenCV 3.1.
    pub accept_gif: bool,
}

impl ImdecodeOptions {
    /// CNTK's way of decoding an image in an archive: at most 2^28 pixels, orientation ignored.
    pub fn new(color: Color) -> ImdecodeOptions {
        ImdecodeOptions {
            color,
            max_pixels: 1 << 28,
            apply_orientation: false,
            accept_truncated: false,
            jpeg_at_least: None,
            accept_gif: false,
        }
    }
}

#[cfg(any(feature = "codecs", feature = "pure-rust"))]
impl ImdecodeOptions {
    /// The scale at which a JPEG file of these sides is decoded.
    fn scale(&self, sides: Sides) -> Scale {
        self.jpeg_at_least.map_or(Scale::Whole, |least| Scale::down_to(sides, least))
    }
}

/// The result and the memory of decoding a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The size of the decoded image.
    pub size: Size,
    /// Bytes of memory at the peak, approximately: the pixels and the working memory of the decoder.
    pub bytes: u64,
}

impl Needs {
    /// The needs of an image with `beside` bytes of working memory.
    fn new(size: Size, beside: u64) -> Needs {
        Needs { size, bytes: (size.values() as u64).saturating_add(beside) }
    }
}

/// Finds the needs of decoding a file. Only its header is read, and no allocation depends on what it declares.
///
/// # Errors
/// The kind of the file is not supported, its header is damaged, or it declares too many pixels.
pub fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    match kind(file, options)? {
        Kind::Jpeg => {
            let (orientation, stored) = oriented(file, options);
            let needs = jpeg::needs(file, &stored)?;
            if orientation == exif::UPRIGHT {
                return Ok(needs);
            }
            let size = exif::turned(orientation, needs.size);
            // The stored and the turned image are in memory at the same time.
            Ok(Needs { size, bytes: needs.bytes.max(2 * size.values() as u64) })
        }
        Kind::Png => png::needs(file, options),
        Kind::Bmp => bmp::needs(file, options),
        Kind::Pnm => pnm::needs(file, options),
        Kind::Tiff => tiff::needs(file, options),
        Kind::WebP => webp::needs(file, options),
        Kind::Gif => gif::needs(file, options),
    }
}

/// Replaces the contents of `out` by the pixels of a file, row after row from the top.
///
/// # Errors
/// The kind of the file is not supported, or the file is damaged, truncated or too large. The contents of `out` then
/// have no meaning.
pub fn imdecode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    match kind(file, options)? {
        Kind::Jpeg => {
            let (orientation, stored) = oriented(file, options);
            let size = jpeg::decode(file, &stored, out)?;
            exif::turn(orientation, size, out)
        }
        Kind::Png => png::decode(file, options, out),
        Kind::Bmp => bmp::decode(file, options, out),
        Kind::Pnm => pnm::decode(file, options, out),
        Kind::Tiff => tiff::decode(file, options, out),
        Kind::WebP => webp::decode(file, options, out),
        Kind::Gif => gif::decode(file, options, out),
    }
}

/// The kinds of files.
enum Kind {
    Jpeg,
    Png,
    Bmp,
    Pnm,
    Tiff,
    WebP,
    Gif,
}

/// Recognizes the kind of a file by its first bytes.
fn kind(file: &[u8], options: &ImdecodeOptions) -> Result<Kind, ImageError> {
    Ok(match file {
        [0xff, 0xd8, 0xff, ..] => Kind::Jpeg,
        [0x89, b'P', b'N', b'G', ..] => Kind::Png,
        [b'B', b'M', ..] => Kind::Bmp,
        [b'P', b'1'..=b'6', ..] => Kind::Pnm,
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Kind::Tiff,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Kind::WebP,
        [b'G', b'I', b'F', b'8', ..] if options.accept_gif => Kind::Gif,
        _ => return Err(ImageError::unknown(file, "JPEG, PNG, BMP, PNM, TIFF or WebP")),
    })
}

/// The orientation to apply to a JPEG file, and the options for decoding its pixels before that.
fn oriented(file: &[u8], options: &ImdecodeOptions) -> (u16, ImdecodeOptions) {
    let orientation = if options.apply_orientation { exif::orientation(file) } else { exif::UPRIGHT };
    let mut stored = *options;
    if exif::swaps_sides(orientation) {
        stored.jpeg_at_least = options.jpeg_at_least.map(Sides::swapped);
    }
    (orientation, stored)
}

#[cfg(all(feature = "pure-rust", not(feature = "codecs")))]
use jpeg_rust as jpeg;

/// Defines a module that refuses all files in the place of a decoder that this build lacks, with the features that
/// add it and the one that errors name.
macro_rules! absent {
    ($($by:meta, $feature:literal: $($name:ident $kind:literal),+;)+) => {$($(
        #[cfg(not($by))]
        mod $name {
            use super::{ImdecodeOptions, Needs};
            use crate::decode::ImageError;
            use crate::transform::view::Size;

            pub(super) fn needs(_: &[u8], _: &ImdecodeOptions) -> Result<Needs, ImageError> {
                Err(ImageError::NotBuilt { kind: $kind, feature: $feature })
            }

            pub(super) fn decode(_: &[u8], _: &ImdecodeOptions, _: &mut Vec<u8>) -> Result<Size, ImageError> {
                Err(ImageError::NotBuilt { kind: $kind, feature: $feature })
            }
        }
    )+)+};
}

absent! {
    feature = "rust-codecs", "codecs": gif "GIF", png "PNG";
    any(feature = "codecs", feature = "pure-rust"), "codecs": jpeg "JPEG";
    feature = "tiff", "tiff": tiff "TIFF";
    feature = "webp", "webp": webp "WebP";
}

/// The size of an image; an error if it has no pixels or declares more than the limit. `most` is the number of
/// pixels that a file of this kind and length can hold; a header that declares more is refused.
fn declared(sides: Sides, options: &ImdecodeOptions, most: usize) -> Result<Size, ImageError> {
    let Sides { height, width } = sides;
    // A decoder needs less than 32 bytes for a pixel, so all sizes in bytes fit a `usize`, too.
    let limit = options.max_pixels.min(most.min(isize::MAX as usize / 32) as u64);
    match (height as u64).checked_mul(width as u64) {
        Some(0) => Err(ImageError::NoPixels { width, height }),
        Some(pixels) if pixels <= limit => Ok(Size::new(height, width, options.color.channels())),
        _ => Err(ImageError::TooManyPixels { width, height, limit }),
    }
}

/// Writes a pixel of red, green and blue; a grey one by OpenCV's weights.
#[inline(always)]
fn store(color: Color, [r, g, b]: [u8; 3], to: &mut [u8]) {
    match color {
        Color::Gray => to[0] = gray(r, g, b),
        Color::Bgr => to.copy_from_slice(&[b, g, r]),
        Color::Rgb => to.copy_from_slice(&[r, g, b]),
    }
}

/// The brightness of a colour: OpenCV's weights in 16384ths.
fn gray(r: u8, g: u8, b: u8) -> u8 {
    ((1868 * u32::from(b) + 9617 * u32::from(g) + 4899 * u32::from(r) + 8192) >> 14) as u8
}

/// Exchanges the first and the third value of each pixel.
#[cfg(feature = "rust-codecs")]
fn swap_colors(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<3>().0 {
        pixel.swap(0, 2);
    }
}
