//! PNM: bitmaps, grey and colour images (P1 to P6), as text or raw.

use super::{ImdecodeOptions, Needs, declared, store};
use crate::decode::{ImageError, grow, zeros};
use crate::transform::view::{Sides, Size};

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "PNM", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let Header { kind, size, largest, mut text } = Header::of(file, options)?;
    grow(out, size.values())?;
    let (width, height) = (size.width, size.height);
    let is_bitmap = is_bitmap(kind);
    let stored = stored(kind);
    let n = width * stored;
    if kind <= 3 {
        let mut row = zeros(n)?;
        for to in out.chunks_exact_mut((width * size.channels).max(1)) {
            for value in &mut row {
                let found = if is_bitmap { text.digit()? } else { text.number()? };
                *value = if is_bitmap { white(found == 1) } else { narrow(found, largest) };
            }
            store_row(&row, stored, options, to);
        }
        return Ok(size);
    }
    // One white-space byte, then the values.
    let values = text.0.get(1..).unwrap_or_default();
    let bytes = match (is_bitmap, largest > 255) {
        (true, _) => n.div_ceil(8),
        (_, wide) => n * (1 + usize::from(wide)),
    };
    if values.len() / bytes.max(1) < height {
        return Err(damaged(format!("{} bytes of values, expected {height} rows of {bytes}", values.len())));
    }
    let mut row = zeros(n)?;
    for (from, to) in
        values.chunks_exact(bytes.max(1)).zip(out.chunks_exact_mut((width * size.channels).max(1)))
    {
        for (i, value) in row.iter_mut().enumerate() {
            *value = match (is_bitmap, largest > 255) {
                (true, _) => white(from[i / 8] >> (7 - i % 8) & 1 == 1),
                (_, true) => from[2 * i],
                _ => narrow(usize::from(from[i]), largest),
            };
        }
        store_row(&row, stored, options, to);
    }
    Ok(size)
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let Header { kind, size, .. } = Header::of(file, options)?;
    // A row as it is stored.
    Ok(Needs::new(size, (size.width * stored(kind)) as u64))
}

/// The header of a file.
struct Header<'a> {
    /// The number in the file's first bytes, from 1 to 6.
    kind: u8,
    size: Size,
    largest: usize,
    /// The rest of the file.
    text: Text<'a>,
}

impl<'a> Header<'a> {
    fn of(file: &'a [u8], options: &ImdecodeOptions) -> Result<Header<'a>, ImageError> {
        let kind = file[1] - b'0';
        let mut text = Text(&file[2..]);
        let (width, height) = (text.number()?, text.number()?);
        let largest = if is_bitmap(kind) { 1 } else { text.number()? };
        if largest == 0 || largest > 65535 {
            return Err(damaged(format!("a largest value of {largest}, expected 1 to 65535")));
        }
        // A byte of a raw bitmap holds eight pixels.
        let size = declared(Sides { height, width }, options, file.len().saturating_mul(8))?;
        Ok(Header { kind, size, largest, text })
    }
}

fn is_bitmap(kind: u8) -> bool {
    matches!(kind, 1 | 4)
}

/// Values that a pixel has in the file.
fn stored(kind: u8) -> usize {
    if matches!(kind, 3 | 6) { 3 } else { 1 }
}

/// In bitmaps, 1 is black.
fn white(is_black: bool) -> u8 {
    if is_black { 0 } else { 255 }
}

/// A value as 8 bits: the upper ones of 16, or a share of the largest value.
fn narrow(value: usize, largest: usize) -> u8 {
    match largest {
        255 => value.min(255) as u8,
        0..255 => (value.min(largest) * 255 / largest) as u8,
        _ => (value.min(65535) >> 8) as u8,
    }
}

fn store_row(row: &[u8], stored: usize, options: &ImdecodeOptions, to: &mut [u8]) {
    let channels = options.color.channels();
    for (from, to) in row.chunks_exact(stored).zip(to.chunks_exact_mut(channels)) {
        match *from {
            [r, g, b] => store(options.color, [r, g, b], to),
            _ => to.fill(from[0]),
        }
    }
}

/// Numbers between white space and comments.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn skip_space(&mut self) {
        while let [byte, rest @ ..] = self.0 {
            match byte {
                b'#' => {
                    let line = self.0.iter().position(|&b| b == b'\n').unwrap_or(self.0.len());
                    self.0 = &self.0[line..];
                }
                byte if byte.is_ascii_whitespace() => self.0 = rest,
                _ => return,
            }
        }
    }

    fn number(&mut self) -> Result<usize, ImageError> {
        self.skip_space();
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        let number = std::str::from_utf8(number).ok().and_then(|digits| digits.parse::<u32>().ok());
        number.map(|n| n as usize).ok_or_else(|| damaged("a number is missing or too large"))
    }

    /// A pixel of a bitmap as text: a digit, which white space need not follow.
    fn digit(&mut self) -> Result<usize, ImageError> {
        self.skip_space();
        let [digit @ b'0'..=b'1', rest @ ..] = self.0 else { return Err(damaged("expected 0 or 1")) };
        self.0 = rest;
        Ok(usize::from(digit - b'0'))
    }
}
