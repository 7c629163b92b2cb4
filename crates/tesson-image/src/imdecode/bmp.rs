//! BMP: 1, 4, 8, 16, 24 and 32 bits a pixel, run-length encoding, either row order, headers of Windows and OS/2.

use super::{ImdecodeOptions, Needs, declared, store};
use crate::decode::{ImageError, grow, zeros};
use crate::transform::view::{Sides, Size};

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "BMP", what: what.to_string() }
}

/// The way in which pixels are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Indices into the palette, of this number of bits.
    Indices(usize),
    /// Runs of indices of this number of bits.
    Runs(usize),
    /// 16 bits, five for each colour.
    Rgb555,
    /// 16 bits, six of them green.
    Rgb565,
    /// Blue, green, red and perhaps another byte: bytes of a pixel.
    Bytes(usize),
}

struct Bitmap<'a> {
    width: usize,
    height: usize,
    from_top: bool,
    layout: Layout,
    /// Colours as red, green, blue.
    palette: Vec<[u8; 3]>,
    data: &'a [u8],
}

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let (bitmap, size) = open(file, options)?;
    grow(out, size.values())?;
    let expanded;
    let (layout, data) = match bitmap.layout {
        Layout::Runs(bits) => {
            expanded = bitmap.expand_runs(bits)?;
            (Layout::Indices(8), &expanded[..])
        }
        layout => (layout, bitmap.data),
    };
    // Rows fill multiples of four bytes.
    let stride = match bitmap.layout {
        Layout::Runs(_) => bitmap.width,
        _ => (bitmap.width * layout.bits()).div_ceil(32) * 4,
    };
    let needed = stride * (bitmap.height - 1) + (bitmap.width * layout.bits()).div_ceil(8);
    if data.len() < needed {
        return Err(damaged(format!("{} bytes of pixels, expected {needed}", data.len())));
    }
    for (y, to) in out.chunks_exact_mut(size.width * size.channels).enumerate() {
        let y = if bitmap.from_top { y } else { bitmap.height - 1 - y };
        let row = &data[y * stride..];
        for (x, to) in to.chunks_exact_mut(size.channels).enumerate() {
            store(options.color, bitmap.pixel(layout, row, x), to);
        }
    }
    Ok(size)
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let (bitmap, size) = open(file, options)?;
    let expanded = if bitmap.has_runs() { (size.height * size.width) as u64 } else { 0 };
    Ok(Needs::new(size, expanded))
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<(Bitmap<'a>, Size), ImageError> {
    let bitmap = Bitmap::of(file).ok_or_else(|| damaged("the header is cut"))??;
    // A run of two bytes stands for up to 255 pixels, and its end for all that follow.
    let most = if bitmap.has_runs() { usize::MAX } else { file.len().saturating_mul(8) };
    let size = declared(Sides { height: bitmap.height, width: bitmap.width }, options, most)?;
    Ok((bitmap, size))
}

impl Layout {
    fn bits(self) -> usize {
        match self {
            Layout::Indices(bits) | Layout::Runs(bits) => bits,
            Layout::Rgb555 | Layout::Rgb565 => 16,
            Layout::Bytes(n) => 8 * n,
        }
    }
}

impl<'a> Bitmap<'a> {
    /// `None` where the file ends within its header.
    fn of(file: &'a [u8]) -> Option<Result<Bitmap<'a>, ImageError>> {
        let int = |at: usize| Some(i32::from_le_bytes(*file.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u16::from_le_bytes(*file.get(at..)?.first_chunk()?));
        let data = file.get(usize::try_from(int(10)?).ok()?..)?;
        let header = usize::try_from(int(14)?).ok()?;
        let os2 = header == 12;
        if !os2 && header < 36 {
            return Some(Err(damaged(format!("a header of {header} bytes, expected 12 or at least 36"))));
        }
        let (width, height, bits) = if os2 {
            (i32::from(short(18)?), i32::from(short(20)?), short(24)?)
        } else {
            (int(18)?, int(22)?, short(28)?)
        };
        let compression = if os2 { 0 } else { int(30)? };
        let masks = |at: usize| Some([int(at)?, int(at + 4)?, int(at + 8)?]);
        let layout = match (bits, compression) {
            (1 | 4 | 8, 0) => Layout::Indices(usize::from(bits)),
            (4, 2) | (8, 1) => Layout::Runs(usize::from(bits)),
            (16, 0) => Layout::Rgb555,
            (16, 3) => match masks(54)? {
                [0x7c00, 0x3e0, 0x1f] => Layout::Rgb555,
                [0xf800, 0x7e0, 0x1f] => Layout::Rgb565,
                found => return Some(Err(damaged(format!("colours lie at {found:x?} of 16 bits")))),
            },
            (24, 0) => Layout::Bytes(3),
            (32, 0 | 3) => Layout::Bytes(4),
            _ => {
                let what = format!("{bits} bits a pixel in compression {compression}");
                return Some(Err(damaged(what)));
            }
        };
        let colors = match (layout, os2) {
            (Layout::Indices(bits) | Layout::Runs(bits), true) => 1 << bits,
            (Layout::Indices(bits) | Layout::Runs(bits), false) => match usize::try_from(int(46)?).ok()? {
                0 => 1 << bits,
                n => n.min(1 << bits),
            },
            _ => 0,
        };
        let entry = if os2 { 3 } else { 4 };
        let stored = file.get(14 + header..)?.get(..colors * entry)?;
        let mut palette: Vec<_> = stored.chunks_exact(entry).map(|c| [c[2], c[1], c[0]]).collect();
        // Colours that the palette does not have are black.
        palette.resize(256, [0; 3]);
        let Ok(columns) = usize::try_from(width) else {
            return Some(Err(damaged(format!("a width of {width}"))));
        };
        let rows = height.unsigned_abs() as usize;
        Some(Ok(Bitmap { width: columns, height: rows, from_top: height < 0, layout, palette, data }))
    }

    fn has_runs(&self) -> bool {
        matches!(self.layout, Layout::Runs(_))
    }

    /// Pixel `x` of a row that is long enough, as red, green, blue.
    #[inline]
    fn pixel(&self, layout: Layout, row: &[u8], x: usize) -> [u8; 3] {
        let word = || u16::from_le_bytes([row[2 * x], row[2 * x + 1]]);
        match layout {
            Layout::Indices(bits) | Layout::Runs(bits) => {
                let bit = x * bits;
                let index = usize::from(row[bit / 8]) >> (8 - bits - bit % 8) & ((1 << bits) - 1);
                self.palette[index]
            }
            // The bits of a colour are the upper ones of its byte, the lower ones are 0.
            Layout::Rgb555 => [word() >> 7 & 0xf8, word() >> 2 & 0xf8, word() << 3 & 0xf8].map(|c| c as u8),
            Layout::Rgb565 => [word() >> 8 & 0xf8, word() >> 3 & 0xfc, word() << 3 & 0xf8].map(|c| c as u8),
            Layout::Bytes(n) => [row[x * n + 2], row[x * n + 1], row[x * n]],
        }
    }

    /// The indices of run-length encoded pixels, a byte each. Pixels that are jumped over have index 0.
    fn expand_runs(&self, bits: usize) -> Result<Vec<u8>, ImageError> {
        let (width, mut indices) = (self.width, zeros(self.width * self.height)?);
        let (mut x, mut y, mut data) = (0, 0, self.data);
        let nibble = |bytes: &[u8], i: usize| match bits {
            8 => bytes[i],
            _ if i.is_multiple_of(2) => bytes[i / 2] >> 4,
            _ => bytes[i / 2] & 15,
        };
        while y < self.height {
            let [count, code, rest @ ..] = data else { return Err(damaged("the runs are cut")) };
            data = rest;
            let (count, code) = (usize::from(*count), *code);
            let literal = usize::from(code);
            let written = match (count, code) {
                (0, 0) => {
                    (x, y) = (0, y + 1);
                    continue;
                }
                (0, 1) => break,
                (0, 2) => {
                    let [right, down, rest @ ..] = data else { return Err(damaged("the runs are cut")) };
                    (x, y, data) = (x + usize::from(*right), y + usize::from(*down), rest);
                    continue;
                }
                (0, _) => literal,
                _ => count,
            };
            let row = &mut indices[y * width..][..width];
            let to = row.get_mut(x..x + written).ok_or_else(|| damaged("a run beyond the end of a row"))?;
            if count > 0 {
                to.iter_mut().enumerate().for_each(|(i, to)| *to = nibble(&[code; 255], i));
            } else {
                // Literal pixels fill multiples of two bytes.
                let bytes = (written * bits).div_ceil(16) * 2;
                let (pixels, rest) =
                    data.split_at_checked(bytes).ok_or_else(|| damaged("the runs are cut"))?;
                to.iter_mut().enumerate().for_each(|(i, to)| *to = nibble(pixels, i));
                data = rest;
            }
            x += written;
        }
        Ok(indices)
    }
}
