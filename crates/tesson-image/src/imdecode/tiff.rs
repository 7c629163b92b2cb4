//! TIFF: the first picture, up to 16 bits of grey, 8 or 16 of colour.

use std::io::Cursor;

use ::tiff::ColorType;
use ::tiff::decoder::{Decoder, DecodingResult, Limits};

use super::{Color, ImdecodeOptions, gray, room, store};
use crate::decode::PictureError;
use crate::transform::view::Size;

/// No stream of zlib becomes more than so many times its size, and LZW becomes less.
const INFLATED: usize = 1032 * 8;

fn damaged(what: impl ToString) -> PictureError {
    PictureError::Damaged { kind: "TIFF", what: what.to_string() }
}

pub(super) fn decode(
    file: &[u8],
    options: &ImdecodeOptions,
    out: &mut Vec<u8>,
) -> Result<Size, PictureError> {
    let mut decoder = Decoder::new(Cursor::new(file)).map_err(damaged)?;
    let (width, height) = decoder.dimensions().map_err(damaged)?;
    let (width, height) = (width as usize, height as usize);
    let size = room((height, width), options, file.len().saturating_mul(INFLATED), out)?;
    let mut limits = Limits::default();
    limits.decoding_buffer_size = (height * width).saturating_mul(8);
    limits.intermediate_buffer_size = limits.decoding_buffer_size.max(1 << 20);
    let mut decoder = decoder.with_limits(limits);
    let color = decoder.colortype().map_err(damaged)?;
    let (stored, bits) = match color {
        ColorType::Gray(bits @ (1 | 2 | 4 | 8 | 16)) => (1, bits),
        ColorType::GrayA(bits @ (8 | 16)) => (2, bits),
        ColorType::RGB(bits @ (8 | 16)) => (3, bits),
        ColorType::RGBA(bits @ (8 | 16)) => (4, bits),
        other => {
            return Err(damaged(format!("pixels are {other:?}, expected 8 or 16 bits of grey or colour")));
        }
    };
    let values = decoder.read_image().map_err(damaged)?;
    let row = (width * stored * usize::from(bits)).div_ceil(8) / if bits == 16 { 2 } else { 1 };
    let pixels = Pixels { stored, bits: usize::from(bits), color: options.color };
    match values {
        DecodingResult::U8(values) if bits <= 8 => pixels.convert(&values, row, size, out, Pixels::narrow),
        DecodingResult::U16(values) if bits == 16 => pixels.convert(&values, row, size, out, Pixels::wide),
        _ => Err(damaged("values are no whole numbers without a sign")),
    }?;
    Ok(size)
}

struct Pixels {
    /// Samples of a pixel.
    stored: usize,
    bits: usize,
    color: Color,
}

impl Pixels {
    fn convert<T: Copy>(
        &self,
        values: &[T],
        row: usize,
        size: Size,
        out: &mut [u8],
        pixel: impl Fn(&Pixels, &[T], usize, &mut [u8]),
    ) -> Result<(), PictureError> {
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
