//! PNG: samples as they are stored; alpha, gamma and colour profiles are ignored.

use ::png::ColorType;

use super::{Color, ImdecodeOptions, Needs, declared, swap_colors};
use crate::decode::png::{self, INFLATED, Pixel, PngReader, Source, damaged};
use crate::decode::{ImageError, grow, zeros};
use crate::transform::view::{Sides, Size};

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let Opened { mut reader, source, size, as_stored } = open(file, options)?;
    grow(out, size.values())?;
    if as_stored {
        reader.next_frame(out).map_err(damaged)?;
        if options.color == Color::Bgr {
            swap_colors(out);
        }
    } else {
        let mut raw = zeros(source.stored_bytes())?;
        let line = reader.next_frame(&mut raw).map_err(damaged)?.line_size;
        let row = size.width * size.channels;
        for (from, to) in raw.chunks_exact(line.max(1)).zip(out.chunks_exact_mut(row.max(1))) {
            for (x, to) in to.chunks_exact_mut(size.channels).enumerate() {
                store(source.pixel(from, x), source.depth, options.color, to);
            }
        }
    }
    reader.finish().map_err(damaged)?;
    Ok(size)
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let Opened { source, size, as_stored, .. } = open(file, options)?;
    Ok(Needs::new(size, source.working_bytes(as_stored)))
}

/// A file after its header has been read.
struct Opened<'a> {
    reader: PngReader<'a>,
    source: Source,
    size: Size,
    /// True if the samples of the file are the values of the image, except for the order of colours.
    as_stored: bool,
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<Opened<'a>, ImageError> {
    // Four samples of 16 bits are the most that a pixel has.
    let limit = usize::try_from(options.max_pixels.saturating_mul(8)).unwrap_or(usize::MAX);
    let reader = png::open(file, limit)?;
    let source = Source::of(reader.info())?;
    // A byte holds up to eight pixels.
    let most = file.len().saturating_mul(INFLATED * 8);
    let size = declared(Sides { height: source.height, width: source.width }, options, most)?;
    let as_wanted = match options.color {
        Color::Gray => source.color == ColorType::Grayscale,
        Color::Bgr | Color::Rgb => source.color == ColorType::Rgb,
    };
    let as_stored = as_wanted && source.depth == 8;
    Ok(Opened { reader, source, size, as_stored })
}

fn store(pixel: Pixel, depth: usize, color: Color, to: &mut [u8]) {
    let narrow = |value: u16| if depth == 16 { (value >> 8) as u8 } else { value as u8 };
    let [r, g, b, _] = pixel;
    match color {
        Color::Gray => to[0] = narrow(gray(r, g, b)),
        Color::Bgr => to.copy_from_slice(&[b, g, r].map(narrow)),
        Color::Rgb => to.copy_from_slice(&[r, g, b].map(narrow)),
    }
}

/// libpng's brightness, in the depth of the file.
fn gray(r: u16, g: u16, b: u16) -> u16 {
    if r == g && g == b {
        return r;
    }
    ((9797 * u32::from(r) + 19234 * u32::from(g) + 3737 * u32::from(b)) >> 15) as u16
}
