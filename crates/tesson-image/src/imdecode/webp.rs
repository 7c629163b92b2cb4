//! WebP, lossy and lossless; of an animation the first frame.

use std::io::Cursor;

use image_webp::WebPDecoder;

use super::{ImdecodeOptions, Needs, declared, store};
use crate::decode::{ImageError, grow, zeros};
use crate::transform::view::{Sides, Size};

/// A pixel may take no bits at all where a file has one colour: only the limit bounds its size.
const MOST: usize = usize::MAX;

/// Bytes of a file before its first chunk, of a chunk's name and length, and of the header of an animation's frame.
const BEFORE_CHUNKS: usize = 12;
const CHUNK_HEADER: usize = 8;
const FRAME_HEADER: usize = 16;

/// The library's decoder of a file in memory.
type FileDecoder<'a> = WebPDecoder<Cursor<&'a [u8]>>;

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "WebP", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let (mut decoder, size) = open(file, options)?;
    grow(out, size.values())?;
    let stored = stored(&decoder);
    let mut pixels = zeros(size.height * size.width * stored)?;
    decoder.read_image(&mut pixels).map_err(damaged)?;
    for (from, to) in pixels.chunks_exact(stored).zip(out.chunks_exact_mut(size.channels)) {
        store(options.color, [from[0], from[1], from[2]], to);
    }
    Ok(size)
}

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let (mut decoder, size) = open(file, options)?;
    let pixels = (size.height * size.width) as u64;
    // A lossy frame has luma for each pixel and two colours for every fourth, of whole blocks.
    let blocks = (size.height.next_multiple_of(16) * size.width.next_multiple_of(16)) as u64;
    let lossy = blocks * 3 / 2;
    // A lossless one has four values for each pixel, and the data of its transforms, for blocks of at least four by
    // four pixels.
    let lossless = 4 * pixels + 4 * ((size.height.div_ceil(4) * size.width.div_ceil(4)) as u64) * 4;
    let alpha = if decoder.has_alpha() { pixels + lossless } else { 0 };
    let library = match (decoder.is_animated(), decoder.is_lossy()) {
        // The frame, its alpha, and the canvas.
        (true, _) => lossy + pixels + lossless + 4 * pixels,
        (false, true) => lossy + alpha,
        (false, false) => lossless,
    };
    Ok(Needs::new(size, pixels * stored(&decoder) as u64 + library))
}

/// Values that the library makes of a pixel.
fn stored(decoder: &FileDecoder<'_>) -> usize {
    if decoder.has_alpha() { 4 } else { 3 }
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<(FileDecoder<'a>, Size), ImageError> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(damaged)?;
    decoder.set_memory_limit(file.len());
    let (width, height) = decoder.dimensions();
    let size = declared(Sides { height: height as usize, width: width as usize }, options, MOST)?;
    // The library compares a lossy frame with the image after it has been decoded.
    let fits = |(w, h): (usize, usize)| w <= size.width && h <= size.height;
    match chunks(&file[BEFORE_CHUNKS..]).find(|frame| !fits(*frame)) {
        Some((w, h)) => {
            Err(damaged(format!("a frame of {w} by {h} pixels in an image of {width} by {height}")))
        }
        None => Ok((decoder, size)),
    }
}

/// Width and height of all lossy frames.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    std::iter::from_fn(move || {
        loop {
            let (header, contents) = rest.split_at_checked(CHUNK_HEADER)?;
            let bytes = u32::from_le_bytes(*header.last_chunk()?) as usize;
            match &header[..4] {
                // The frame's chunks are looked at as others are.
                b"ANMF" => rest = contents.get(FRAME_HEADER..)?,
                name => {
                    // Chunks fill whole pairs of bytes.
                    rest = contents.get(bytes.checked_next_multiple_of(2)?..).unwrap_or_default();
                    let side = |at: usize| {
                        let bytes = contents.get(at..)?.first_chunk()?;
                        Some(usize::from(u16::from_le_bytes(*bytes) & 0x3fff))
                    };
                    if name == b"VP8 "
                        && let Some(size) = side(6).zip(side(8))
                    {
                        return Some(size);
                    }
                }
            }
        }
    })
}
