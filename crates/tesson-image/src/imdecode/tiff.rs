//! TIFF: the first image, up to 16 bits of grey, 8 or 16 of colour.

use std::io::Cursor;

use ::tiff::ColorType;
use ::tiff::decoder::{Decoder, DecodingResult, Limits};

use super::{Color, ImdecodeOptions, Needs, declared, gray, store};
use crate::decode::{ImageError, grow};
use crate::transform::view::{Sides, Size};

/// The most times by which zlib can expand a stream; LZW expands less.
const INFLATED: usize = 1032 * 8;

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "TIFF", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let Opened { mut decoder, size, pixels, .. } = open(file, options)?;
    grow(out, size.values())?;
    let values = decoder.read_image().map_err(damaged)?;
    let bits = pixels.bits;
    let row = pixels.row_bytes(size.width) / if bits == 16 { 2 } else { 1 };
    match values {
        DecodingResult::U8(values) if bits <= 8 => pixels.convert(&values, row, size, out, Pixels::narrow),
        DecodingResult::U16(values) if bits == 16 => pixels.convert(&values, row, size, out, Pixels::wide),
        _ => Err(damaged("values are no whole numbers without a sign")),
    }?;
    Ok(size)
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let Opened { size, stored_bytes, .. } = open(file, options)?;
    Ok(Needs::new(size, stored_bytes as u64))
}

/// A file after its directory has been read.
struct Opened<'a> {
    decoder: Decoder<Cursor<&'a [u8]>>,
    size: Size,
    pixels: Pixels,
    /// Bytes of all values as they are stored, and of a row of a tile.
    stored_bytes: usize,
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<Opened<'a>, ImageError> {
    check_directory(file)?;
    let mut decoder = Decoder::new(Cursor::new(file)).map_err(damaged)?;
    let (width, height) = decoder.dimensions().map_err(damaged)?;
    let (width, height) = (width as usize, height as usize);
    let size = declared(Sides { height, width }, options, file.len().saturating_mul(INFLATED))?;
    let (stored, bits) = match decoder.colortype().map_err(damaged)? {
        ColorType::Gray(bits @ (1 | 2 | 4 | 8 | 16)) => (1, bits),
        ColorType::GrayA(bits @ (8 | 16)) => (2, bits),
        ColorType::RGB(bits @ (8 | 16)) => (3, bits),
        ColorType::RGBA(bits @ (8 | 16)) => (4, bits),
        other => {
            return Err(damaged(format!("pixels are {other:?}, expected 8 or 16 bits of grey or colour")));
        }
    };
    let pixels = Pixels { stored, bits: usize::from(bits), color: options.color };
    // A tile is larger than the image by less than one in each direction; more is of no use to any file.
    let (tile_width, tile_height) = decoder.chunk_dimensions();
    let (tile_width, tile_height) = (tile_width as usize, tile_height as usize);
    if tile_width > width.next_multiple_of(LARGEST_TILE) {
        return Err(damaged(format!(
            "a tile of {tile_width} by {tile_height} pixels in an image of {width} by {height}"
        )));
    }
    let values = pixels.row_bytes(width).saturating_mul(height);
    let mut limits = Limits::default();
    limits.decoding_buffer_size = values.max(file.len());
    // The stored bytes are in memory already.
    limits.intermediate_buffer_size = file.len();
    let stored_bytes = values.saturating_add(pixels.row_bytes(tile_width));
    Ok(Opened { decoder: decoder.with_limits(limits), size, pixels, stored_bytes })
}

/// Tiles may be as wide in any case.
const LARGEST_TILE: usize = 4096;

/// Refuses a file if its first directory declares values that are larger than the file: the library reserves memory
/// for them.
fn check_directory(file: &[u8]) -> Result<(), ImageError> {
    let is_little = file.starts_with(b"II");
    let short = |at: usize| {
        let bytes = *file.get(at..)?.first_chunk()?;
        Some(usize::from(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }))
    };
    let long = |at: usize| {
        let bytes = *file.get(at..)?.first_chunk()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) } as usize)
    };
    let cut = || damaged("the directory is cut");
    let directory = long(4).ok_or_else(cut)?;
    for entry in 0..short(directory).ok_or_else(cut)? {
        // An entry has a tag and a type of 16 bits, and a number of values; each has at least a byte.
        let n = long(directory.saturating_add(2 + 12 * entry + 4)).ok_or_else(cut)?;
        if n > file.len() {
            return Err(damaged(format!("{n} values of a field in a file of {} bytes", file.len())));
        }
    }
    Ok(())
}

struct Pixels {
    /// Samples of a pixel.
    stored: usize,
    bits: usize,
    color: Color,
}

impl Pixels {
    /// Bytes that a row of `width` pixels takes in the file.
    fn row_bytes(&self, width: usize) -> usize {
        (width * self.stored * self.bits).div_ceil(8)
    }

    fn convert<T: Copy>(
        &self,
        values: &[T],
        row: usize,
        size: Size,
        out: &mut [u8],
        pixel: impl Fn(&Pixels, &[T], usize, &mut [u8]),
    ) -> Result<(), ImageError> {
        if row == 0 || values.len() / row < size.height {
            return Err(damaged(format!("{} values, expected {} rows of {row}", values.len(), size.height)));
        }
        for (from, to) in values.chunks_exact(row).zip(out.chunks_exact_mut(size.width * size.channels)) {
            to.chunks_exact_mut(size.channels).enumerate().for_each(|(x, to)| pixel(self, from, x, to));
        }
        Ok(())
    }

    fn narrow(&self, row: &[u8], x: usize, to: &mut [u8]) {
        let sample = |i: usize| {
            let bit = i * self.bits;
            usize::from(row[bit / 8]) >> (8 - self.bits - bit % 8) & ((1 << self.bits) - 1)
        };
        if self.stored >= 3 {
            return store(self.color, [0, 1, 2].map(|c| sample(self.stored * x + c) as u8), to);
        }
        let value = sample(self.stored * x);
        to.fill((value * 255 / ((1 << self.bits) - 1)) as u8);
    }

    fn wide(&self, row: &[u16], x: usize, to: &mut [u8]) {
        // Colour is rounded, grey is cut, as the reference has them.
        let rounded = |c: usize| ((u32::from(row[self.stored * x + c]) + 128) / 257) as u8;
        if self.stored < 3 {
            return to.fill((row[self.stored * x] >> 8) as u8);
        }
        let [r, g, b] = [0, 1, 2].map(rounded);
        match self.color {
            Color::Gray => to[0] = gray(r, g, b),
            color => store(color, [r, g, b], to),
        }
    }
}
