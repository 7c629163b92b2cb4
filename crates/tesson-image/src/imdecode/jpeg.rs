//! JPEG, by libjpeg-turbo's accurate integer transform and smooth upsampling of colours, which are its defaults.

use std::cell::Cell;

use mozjpeg::{ColorSpace, DctMethod, Decompress};

use super::{Color, ImdecodeOptions, check_pixels, room, store};
use crate::decode::PictureError;
use crate::decode::jpeg::{PIXELS_A_BYTE, Source, catching, damaged};
use crate::transform::view::Size;

pub(super) fn decode(
    file: &[u8],
    options: &ImdecodeOptions,
    out: &mut Vec<u8>,
) -> Result<Size, PictureError> {
    let ended = Cell::new(false);
    let source = Source { rest: file, ended: &ended };
    let size = catching(|| scanlines(source, file.len(), options, out))?;
    if ended.get() && !options.accept_truncated {
        return Err(damaged("the file is cut"));
    }
    Ok(size)
}

fn scanlines(
    source: Source<'_>,
    bytes: usize,
    options: &ImdecodeOptions,
    out: &mut Vec<u8>,
) -> Result<Size, PictureError> {
    let mut picture = Decompress::new_reader(source).map_err(damaged)?;
    picture.dct_method(DctMethod::IntegerSlow);
    picture.do_fancy_upsampling(true);
    let (components, (width, height)) = (picture.components().len(), picture.size());
    let colors = match (components, options.color) {
        (4, _) => ColorSpace::JCS_CMYK,
        (1 | 3, Color::Gray) => ColorSpace::JCS_GRAYSCALE,
        (1 | 3, Color::Bgr) => ColorSpace::JCS_EXT_BGR,
        (1 | 3, Color::Rgb) => ColorSpace::JCS_RGB,
        (n, _) => return Err(damaged(format!("{n} components, expected 1, 3 or 4"))),
    };
    // The library reserves memory for the declared size, whatever the scale.
    check_pixels((height, width), options, bytes.saturating_mul(PIXELS_A_BYTE))?;
    let scale = options.scale((height, width));
    // Eighths: the library's blocks have eight pixels in a row.
    picture.scale((8 / scale.denominator()) as u8);
    let size = room((scale.of(height), scale.of(width)), options, usize::MAX, out)?;
    let mut lines = picture.to_colorspace(colors).map_err(damaged)?;
    if components < 4 {
        lines.read_scanlines_into(out.as_mut_slice()).map_err(damaged)?;
        return Ok(size);
    }
    let mut line = vec![0; size.width * 4];
    for to in out.chunks_exact_mut((size.width * size.channels).max(1)) {
        lines.read_scanlines_into(line.as_mut_slice()).map_err(damaged)?;
        for (cmyk, to) in line.as_chunks::<4>().0.iter().zip(to.chunks_exact_mut(size.channels)) {
            store(options.color, rgb(*cmyk), to);
        }
    }
    Ok(size)
}

/// Adobe's programs store inverted values, and the reference takes all files to be theirs.
fn rgb([c, m, y, k]: [u8; 4]) -> [u8; 3] {
    [c, m, y].map(|ink| k - ((u32::from(255 - ink) * u32::from(k)) >> 8) as u8)
}
