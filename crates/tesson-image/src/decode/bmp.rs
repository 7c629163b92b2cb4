//! BMP: uncompressed images of 8 (with a palette), 24 and 32 bits a pixel, either row order (spec/tfds.md §6.4).

use super::pixels::deepen;
use super::{ImageError, ImageShape, Needs, Want};

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "BMP", what: what.to_string() }
}

struct Header<'a> {
    width: usize,
    height: usize,
    from_top: bool,
    /// Bytes of a pixel.
    pixel: usize,
    /// Colours as blue, green, red and nothing.
    palette: &'a [[u8; 4]],
    rows: &'a [u8],
}

pub(super) fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    let (header, needs) = open(file, want)?;
    let start = needs.room(out)?;
    let channels = needs.shape.channels;
    let values = header.height * header.width * channels;
    header.rows(channels, &mut out[start..start + values])?;
    deepen(&mut out[start..], want.depth, 256);
    Ok(needs.shape)
}

pub(super) fn needs(file: &[u8], want: Want) -> Result<Needs, ImageError> {
    open(file, want).map(|(_, needs)| needs)
}

fn open(file: &[u8], want: Want) -> Result<(Header<'_>, Needs), ImageError> {
    let header = Header::of(file)?;
    let channels = want.channels.unwrap_or(if header.pixel == 4 { 4 } else { 3 });
    if channels == 1 {
        return Err(ImageError::Channels { kind: "BMP", wanted: 1 });
    }
    let shape = ImageShape { frames: None, height: header.height, width: header.width, channels };
    let needs = Needs::new(shape, want, file.len().saturating_mul(4), 0)?;
    Ok((header, needs))
}

impl<'a> Header<'a> {
    fn of(file: &'a [u8]) -> Result<Header<'a>, ImageError> {
        let cut = || damaged("the header is cut");
        let int = |at: usize| file.get(at..)?.first_chunk().map(|b| i32::from_le_bytes(*b));
        let size = |at: usize| int(at).and_then(|n| usize::try_from(n).ok());
        let (data, info) = size(10).zip(size(14)).ok_or_else(cut)?;
        let (width, height) = int(18).zip(int(22)).ok_or_else(cut)?;
        let (bits, compression) = int(26).map(|n| n >> 16).zip(int(30)).ok_or_else(cut)?;
        let pixel = match (bits, compression) {
            (8, 0) => 1,
            (24, 0) => 3,
            (32, 0 | 3) => 4,
            _ => {
                return Err(damaged(format!(
                    "{bits} bits a pixel in compression {compression}, expected 8, 24 or 32 without any"
                )));
            }
        };
        let palette = match pixel {
            1 => file.get(14 + info..data.max(14 + info)).ok_or_else(|| damaged("the palette is cut"))?,
            _ => &[],
        };
        Ok(Header {
            width: usize::try_from(width).map_err(|_| damaged(format!("a width of {width}")))?,
            height: height.unsigned_abs() as usize,
            from_top: height < 0,
            pixel,
            palette: palette.as_chunks::<4>().0,
            rows: file.get(data..).ok_or_else(|| damaged("the pixels are cut"))?,
        })
    }

    fn rows(&self, channels: usize, out: &mut [u8]) -> Result<(), ImageError> {
        let row = self.width * self.pixel;
        if row == 0 || self.height == 0 {
            return Ok(());
        }
        // Rows fill multiples of four bytes.
        let stride = row.next_multiple_of(4);
        if self.rows.len() < stride * (self.height - 1) + row {
            return Err(damaged(format!(
                "{} bytes of pixels, {} rows of {stride} are declared",
                self.rows.len(),
                self.height
            )));
        }
        for (y, to) in out.chunks_exact_mut(self.width * channels).enumerate() {
            let y = if self.from_top { y } else { self.height - 1 - y };
            let from = &self.rows[y * stride..][..row];
            for (from, to) in from.chunks_exact(self.pixel).zip(to.chunks_exact_mut(channels)) {
                let [b, g, r, a] = self.pixel(from)?;
                to.copy_from_slice(&[r, g, b, a][..channels]);
            }
        }
        Ok(())
    }

    fn pixel(&self, bytes: &[u8]) -> Result<[u8; 4], ImageError> {
        match *bytes {
            [index] => match self.palette.get(usize::from(index)) {
                Some([b, g, r, _]) => Ok([*b, *g, *r, 255]),
                None => Err(damaged(format!("colour {index} of a palette of {}", self.palette.len()))),
            },
            [b, g, r] => Ok([b, g, r, 255]),
            [b, g, r, a] => Ok([b, g, r, a]),
            _ => Ok([0; 4]),
        }
    }
}
