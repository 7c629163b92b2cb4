//! PNG, in the steps of libpng as TensorFlow sets it up (spec/tfds.md §6.4).
//!
//! The library undoes filters and interlacing; everything that concerns values is here, a row at a time: samples to pixels
//! of 16 bits with alpha, channels, depth.

use std::io::Cursor;

use ::png::{BitDepth, ColorType, DecodeOptions, Decoder, Limits, Reader, Transformations};

use super::pixels::zeros;
use super::{Depth, ImageError, ImageShape, Needs, Want};

/// The most times by which zlib can expand a stream.
pub(crate) const INFLATED: usize = 1032;

pub(crate) fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "PNG", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    let (mut reader, source, needs) = begin(file, want)?;
    let (start, shape) = (needs.room(out)?, needs.shape);
    let channels = shape.channels;
    if source.is_wanted(want.depth, channels) {
        reader.next_frame(&mut out[start..]).map_err(damaged)?;
    } else {
        let mut raw = zeros(source.stored_bytes())?;
        let line = reader.next_frame(&mut raw).map_err(damaged)?.line_size;
        source.convert(&raw, line, channels, want.depth, &mut out[start..]);
    }
    reader.finish().map_err(damaged)?;
    if want.depth == Depth::Sixteen && source.is_wanted(want.depth, channels) {
        out[start..].as_chunks_mut::<2>().0.iter_mut().for_each(|value| value.reverse());
    }
    Ok(shape)
}

pub(super) fn needs(file: &[u8], want: Want) -> Result<Needs, ImageError> {
    begin(file, want).map(|(.., needs)| needs)
}

fn begin(file: &[u8], want: Want) -> Result<(PngReader<'_>, Source, Needs), ImageError> {
    let reader = open(file, want.limit)?;
    let source = Source::of(reader.info())?;
    let channels = want.channels.unwrap_or(source.channels());
    let shape = ImageShape { frames: None, height: source.height, width: source.width, channels };
    // A row has a byte of its own, whatever its width; a byte has up to eight pixels of four values each.
    let from_file = file.len().saturating_mul(INFLATED * 8 * 4);
    let beside = source.working_bytes(source.is_wanted(want.depth, channels));
    Ok((reader, source, Needs::new(shape, want, from_file, beside)?))
}

/// The least limit for the library: enough for a header and a row of usual size, so that a size that is too large is
/// refused by its own error.
const LEAST_LIMIT: usize = 1 << 20;

/// A file that has been read up to its pixels.
pub(crate) type PngReader<'a> = Reader<Cursor<&'a [u8]>>;

/// Reads a file up to its pixels, which will be as they are stored.
pub(crate) fn open(file: &[u8], limit: usize) -> Result<PngReader<'_>, ImageError> {
    let mut options = DecodeOptions::default();
    options.set_ignore_adler32(false);
    options.set_ignore_text_chunk(true);
    // A profile is of no use, and may be inflated to anything.
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(Cursor::new(file), options);
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_limits(Limits { bytes: limit.max(LEAST_LIMIT) });
    decoder.read_info().map_err(damaged)
}

/// The form in which the file stores pixels.
pub(crate) struct Source {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) color: ColorType,
    /// Bits of a sample in the file.
    pub(crate) depth: usize,
    palette: Vec<[u16; 4]>,
    /// The one colour that is transparent.
    transparent: Option<[u16; 3]>,
    /// True if a palette has transparent colours.
    see_through: bool,
}

/// A pixel: colour and alpha, in the depth of its file, but at least 8 bits.
pub(crate) type Pixel = [u16; 4];

impl Source {
    pub(crate) fn of(info: &::png::Info<'_>) -> Result<Source, ImageError> {
        let depth = match info.bit_depth {
            BitDepth::One => 1,
            BitDepth::Two => 2,
            BitDepth::Four => 4,
            BitDepth::Eight => 8,
            BitDepth::Sixteen => 16,
        };
        let trns = info.trns.as_deref();
        let mut source = Source {
            height: info.height as usize,
            width: info.width as usize,
            color: info.color_type,
            depth,
            palette: Vec::new(),
            transparent: None,
            see_through: false,
        };
        // The library keeps the lower bytes alone where samples have no more.
        let key = |i: usize| match (trns, depth) {
            (Some(t), 16) => t.get(2 * i..2 * i + 2).map(|b| u16::from_be_bytes([b[0], b[1]])),
            (Some(t), _) => t.get(i).copied().map(u16::from),
            (None, _) => None,
        };
        match info.color_type {
            ColorType::Indexed => {
                let palette = info.palette.as_deref().ok_or_else(|| damaged("no palette"))?;
                source.see_through = trns.is_some();
                source.palette = colors(palette, trns, source.filler());
            }
            ColorType::Grayscale => source.transparent = key(0).map(|v| [v; 3]),
            ColorType::Rgb => {
                source.transparent = key(0).zip(key(1)).zip(key(2)).map(|((r, g), b)| [r, g, b])
            }
            ColorType::GrayscaleAlpha | ColorType::Rgba => {}
        }
        Ok(source)
    }

    /// Bytes of a row as it is stored.
    fn row_bytes(&self) -> usize {
        self.width.saturating_mul(self.color.samples() * self.depth).div_ceil(8)
    }

    /// Bytes of all rows as they are stored.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.row_bytes().saturating_mul(self.height)
    }

    /// The working memory of decoding, in bytes: some rows, the bytes inflated at a time, and all rows as they are
    /// stored, unless the pixels are wanted in that form.
    pub(crate) fn working_bytes(&self, as_stored: bool) -> u64 {
        const INFLATED_AT_A_TIME: u64 = 128 << 10;
        let stored = self.stored_bytes() as u64;
        let rows = 4 * self.row_bytes() as u64 + INFLATED_AT_A_TIME.min(stored.saturating_mul(2));
        rows.saturating_add(if as_stored { 0 } else { stored })
    }

    /// The number of channels if a reader does not request one.
    fn channels(&self) -> usize {
        match self.color {
            ColorType::Grayscale => 1,
            ColorType::GrayscaleAlpha => 2,
            ColorType::Indexed if self.see_through => 4,
            ColorType::Indexed | ColorType::Rgb => 3,
            ColorType::Rgba => 4,
        }
    }

    /// True if the file's samples already have the requested form.
    fn is_wanted(&self, depth: Depth, channels: usize) -> bool {
        let plain = matches!(
            (self.color, channels),
            (ColorType::Grayscale, 1)
                | (ColorType::GrayscaleAlpha, 2)
                | (ColorType::Rgb, 3)
                | (ColorType::Rgba, 4)
        );
        plain && self.depth == depth.bytes() * 8
    }

    /// The alpha of a file that has none: the largest sample of the *file's* depth.
    fn filler(&self) -> u16 {
        ((1_u32 << self.depth) - 1) as u16
    }

    fn convert(&self, raw: &[u8], line: usize, channels: usize, depth: Depth, out: &mut [u8]) {
        let row = self.width * channels * depth.bytes();
        if row == 0 || line == 0 {
            return;
        }
        for (from, to) in raw.chunks_exact(line).zip(out.chunks_exact_mut(row)) {
            for (x, to) in to.chunks_exact_mut(channels * depth.bytes()).enumerate() {
                let pixel = self.pixel(from, x);
                let (values, n) = self.as_channels(pixel, channels);
                for (value, to) in values[..n].iter().zip(to.chunks_exact_mut(depth.bytes())) {
                    self.store(*value, depth, to);
                }
            }
        }
    }

    /// Pixel `x` of a row, grey ones as three equal colours.
    pub(crate) fn pixel(&self, row: &[u8], x: usize) -> Pixel {
        let sample = |i: usize| self.sample(row, i);
        let alpha = |color: [u16; 3]| match self.transparent {
            Some(key) if key == color => 0,
            Some(_) => self.largest(),
            None => self.filler(),
        };
        match self.color {
            ColorType::Indexed => {
                self.palette.get(usize::from(sample(x))).copied().unwrap_or([0, 0, 0, self.filler()])
            }
            ColorType::Grayscale => {
                let (value, a) = (sample(x), alpha([sample(x); 3]));
                // 1, 2 and 4 bits are spread over 0 … 255.
                let grey = if self.depth < 8 { value * (255 / self.filler()) } else { value };
                [grey, grey, grey, a]
            }
            ColorType::GrayscaleAlpha => [sample(2 * x), sample(2 * x), sample(2 * x), sample(2 * x + 1)],
            ColorType::Rgb => {
                let color = [0, 1, 2].map(|c| sample(3 * x + c));
                [color[0], color[1], color[2], alpha(color)]
            }
            ColorType::Rgba => [0, 1, 2, 3].map(|c| sample(4 * x + c)),
        }
    }

    /// Sample `i` of a row, as it is written.
    fn sample(&self, row: &[u8], i: usize) -> u16 {
        match self.depth {
            16 => u16::from_be_bytes([row[2 * i], row[2 * i + 1]]),
            8 => u16::from(row[i]),
            depth => {
                let bit = i * depth;
                u16::from(row[bit / 8] >> (8 - depth - bit % 8)) & self.filler()
            }
        }
    }

    /// The largest value of a pixel.
    fn largest(&self) -> u16 {
        if self.depth == 16 { u16::MAX } else { 255 }
    }

    /// The channels of a pixel, and how many there are.
    fn as_channels(&self, pixel: Pixel, channels: usize) -> ([u16; 4], usize) {
        let [r, g, b, a] = pixel;
        match channels {
            1 | 2 => ([self.grey(pixel), a, 0, 0], channels),
            _ => ([r, g, b, a], channels),
        }
    }

    fn grey(&self, [r, g, b, _]: Pixel) -> u16 {
        if r == g && g == b {
            return r;
        }
        let half = if self.depth == 16 { 1 << 14 } else { 0 };
        ((9797 * u32::from(r) + 19234 * u32::from(g) + 3737 * u32::from(b) + half) >> 15) as u16
    }

    fn store(&self, value: u16, depth: Depth, to: &mut [u8]) {
        match (self.depth == 16, depth) {
            (true, Depth::Eight) => to[0] = (value >> 8) as u8,
            (true, Depth::Sixteen) => to.copy_from_slice(&value.to_le_bytes()),
            (false, Depth::Eight) => to[0] = value as u8,
            (false, Depth::Sixteen) => to.copy_from_slice(&(value * 257).to_le_bytes()),
        }
    }
}

/// The colours of a palette. A colour without an alpha gets `filler`, or is opaque if others have one.
fn colors(palette: &[u8], alphas: Option<&[u8]>, filler: u16) -> Vec<[u16; 4]> {
    let alpha = |i: usize| match alphas {
        Some(alphas) => u16::from(alphas.get(i).copied().unwrap_or(255)),
        None => filler,
    };
    let color = |(i, c): (usize, &[u8; 3])| [c[0].into(), c[1].into(), c[2].into(), alpha(i)];
    palette.as_chunks::<3>().0.iter().enumerate().map(color).collect()
}
