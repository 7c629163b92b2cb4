//! JPEG, by libjpeg-turbo's fast integer transform and smooth upsampling of colours, which give TensorFlow's values (§6.4).

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::{ColorSpace, DctMethod, Decompress};

use super::pixels::{deepen, room};
use super::{PictureError, PictureShape, Scale, Want};

/// A block of 64 pixels takes at least a bit of one of a picture's up to four components, and a component that is not
/// sampled finest in both directions may leave out up to 16 blocks.
pub(crate) const PIXELS_A_BYTE: usize = 64 * 8 * 16;

pub(crate) fn damaged(what: impl ToString) -> PictureError {
    PictureError::Damaged { kind: "JPEG", what: what.to_string() }
}

pub(super) fn decode(
    file: &[u8],
    want: Want,
    scale: Scale,
    out: &mut Vec<u8>,
) -> Result<PictureShape, PictureError> {
    let ended = Cell::new(false);
    let source = Source { rest: file, ended: &ended };
    let shape = catching(|| scanlines(source, file.len(), want, scale, out))?;
    if ended.get() { Err(damaged("the file is cut")) } else { Ok(shape) }
}

/// Calls the C library, which reports errors by unwinding. It is done with once it has: nothing of it is used afterwards.
pub(crate) fn catching<T>(call: impl FnOnce() -> Result<T, PictureError>) -> Result<T, PictureError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|message| {
        Err(damaged(message.downcast_ref::<String>().map_or("damaged", String::as_str)))
    })
}

fn scanlines(
    source: Source<'_>,
    bytes: usize,
    want: Want,
    scale: Scale,
    out: &mut Vec<u8>,
) -> Result<PictureShape, PictureError> {
    let ended = source.ended;
    let mut picture = Decompress::new_reader(source).map_err(damaged)?;
    picture.dct_method(DctMethod::IntegerFast);
    picture.do_fancy_upsampling(true);
    let (channels, colors) = match (want.channels, picture.components().len()) {
        (Some(1), 1 | 3) | (None, 1) => (1, ColorSpace::JCS_GRAYSCALE),
        (Some(3), 1 | 3) | (None, 3) => (3, ColorSpace::JCS_RGB),
        (Some(wanted), 1 | 3) => return Err(PictureError::Channels { kind: "JPEG", wanted }),
        (_, found) => return Err(damaged(format!("{found} components, expected 1 or 3"))),
    };
    // Eighths: the library's blocks have eight pixels in a row.
    picture.scale((8 / scale.denominator()) as u8);
    let (width, height) = picture.size();
    let (width, height) = (scale.of(width), scale.of(height));
    let shape = PictureShape { frames: None, height, width, channels };
    let pixels = bytes.saturating_mul(PIXELS_A_BYTE);
    let start = room(shape, want, pixels.saturating_mul(channels), out)?;
    let mut lines = picture.to_colorspace(colors).map_err(damaged)?;
    let values = height * width * channels;
    for line in out[start..start + values].chunks_exact_mut((width * channels).max(1)) {
        lines.read_scanlines_into(line).map_err(damaged)?;
        if ended.get() {
            break;
        }
    }
    deepen(&mut out[start..], want.depth, 256);
    Ok(shape)
}

/// The bytes of a file, and whether more of them were asked for than there are: the library makes up an end then and
/// paints the rest grey.
pub(crate) struct Source<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) ended: &'a Cell<bool>,
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.rest.read(to)
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.ended.set(true);
        }
        Ok(self.rest)
    }

    fn consume(&mut self, n: usize) {
        self.rest = &self.rest[n..];
    }
}
