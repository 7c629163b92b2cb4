//! WebP, lossy and lossless; of an animation the first frame.

use std::io::Cursor;

use image_webp::WebPDecoder;

use super::{ImdecodeOptions, room, store};
use crate::decode::PictureError;
use crate::transform::view::Size;

/// A pixel may take no bits at all where a file has one colour: only the limit bounds its size.
const MOST: usize = usize::MAX;

fn damaged(what: impl ToString) -> PictureError {
    PictureError::Damaged { kind: "WebP", what: what.to_string() }
}

pub(super) fn decode(
    file: &[u8],
    options: &ImdecodeOptions,
    out: &mut Vec<u8>,
) -> Result<Size, PictureError> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(damaged)?;
    decoder.set_memory_limit(usize::try_from(options.max_pixels.saturating_mul(4)).unwrap_or(usize::MAX));
    let (width, height) = decoder.dimensions();
    let size = room((height as usize, width as usize), options, MOST, out)?;
    let stored = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; size.height * size.width * stored];
    decoder.read_image(&mut pixels).map_err(damaged)?;
    for (from, to) in pixels.chunks_exact(stored).zip(out.chunks_exact_mut(size.channels)) {
        store(options.color, [from[0], from[1], from[2]], to);
    }
    Ok(size)
}
