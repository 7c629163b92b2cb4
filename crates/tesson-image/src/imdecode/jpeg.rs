//! JPEG, by libjpeg-turbo's accurate integer transform and smooth upsampling of colours, which are its defaults.

use super::{Color, ImdecodeOptions, Needs, declared, store};
use crate::decode::jpeg::{PIXELS_A_BYTE, cut, damaged};
use crate::decode::{ImageError, Scale, grow, zeros};
use crate::libjpeg::{ColorSpace, DctMethod, Decompressor, Output};
use crate::transform::view::Size;

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let Opened { mut image, scale, size } = open(file, options)?;
    let components = image.components();
    let colors = match (components, options.color) {
        (4, _) => ColorSpace::JCS_CMYK,
        (1 | 3, Color::Gray) => ColorSpace::JCS_GRAYSCALE,
        (1 | 3, Color::Bgr) => ColorSpace::JCS_EXT_BGR,
        (1 | 3, Color::Rgb) => ColorSpace::JCS_RGB,
        (n, _) => return Err(damaged(format!("{n} components, expected 1, 3 or 4"))),
    };
    grow(out, size.values())?;
    image.start(Output { colors, transform: DctMethod::JDCT_ISLOW, denominator: scale.denominator() })?;
    if components < 4 {
        image.read_lines(out)?;
    } else {
        read_cmyk(&mut image, options.color, size, out)?;
    }
    if image.is_cut() && !options.accept_truncated { Err(cut()) } else { Ok(size) }
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let Opened { image, size, .. } = open(file, options)?;
    Ok(Needs::new(size, image.working_bytes()))
}

/// A file after its header has been read, and the scale at which it is decoded.
struct Opened<'a> {
    image: Decompressor<'a>,
    scale: Scale,
    size: Size,
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<Opened<'a>, ImageError> {
    let image = Decompressor::new(file)?;
    let sides = image.sides();
    // The library reserves memory for the declared size, whatever the scale.
    let whole = declared(sides, options, file.len().saturating_mul(PIXELS_A_BYTE))?;
    let scale = options.scale(sides);
    Ok(Opened {
        image,
        scale,
        size: Size::new(scale.of(sides.height), scale.of(sides.width), whole.channels),
    })
}

fn read_cmyk(
    image: &mut Decompressor<'_>,
    color: Color,
    size: Size,
    out: &mut [u8],
) -> Result<(), ImageError> {
    let mut line = zeros(size.width * 4)?;
    for to in out.chunks_exact_mut((size.width * size.channels).max(1)) {
        image.read_lines(&mut line)?;
        for (cmyk, to) in line.as_chunks::<4>().0.iter().zip(to.chunks_exact_mut(size.channels)) {
            store(color, rgb(*cmyk), to);
        }
    }
    Ok(())
}

/// Adobe's programs store inverted values, and the reference takes all files to be theirs.
fn rgb([c, m, y, k]: [u8; 4]) -> [u8; 3] {
    [c, m, y].map(|ink| k - ((u32::from(255 - ink) * u32::from(k)) >> 8) as u8)
}
