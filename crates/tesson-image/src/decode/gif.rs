//! GIF: all its frames, each painted over the one before (spec/tfds.md §6.4).

use std::num::NonZeroU64;

use ::gif::{ColorOutput, DecodeOptions, Decoder, Frame, MemoryLimit};

use super::pixels::deepen;
use super::{ImageError, ImageShape, Needs, Want};

/// A code of the compression has at least 3 bits and stands for at most 4096 pixels.
pub(crate) const PIXELS_A_BYTE: usize = 4096 * 3;

pub(crate) fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "GIF", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    let needs = needs(file, want)?;
    let (start, shape) = (needs.room(out)?, needs.shape);
    let size = shape.height * shape.width * 3;
    let mut decoder = open(file, want.limit)?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    for i in 0..shape.frames.unwrap_or(1) {
        let (before, canvas) = out[start..start + (i + 1) * size].split_at_mut(i * size);
        if let Some(last) = before.len().checked_sub(size) {
            canvas.copy_from_slice(&before[last..]);
        }
        let frame = decoder.read_next_frame().map_err(damaged)?.ok_or_else(|| damaged("no frame"))?;
        let palette = frame.palette.as_deref().or(global.as_deref());
        paint(frame, palette.ok_or_else(|| damaged("a frame without a palette"))?, shape.width, canvas)?;
    }
    deepen(&mut out[start..], want.depth, 256);
    Ok(shape)
}

/// Adds up the needs that the headers of all frames declare.
pub(super) fn needs(file: &[u8], want: Want) -> Result<Needs, ImageError> {
    if !matches!(want.channels, None | Some(3)) {
        return Err(ImageError::Channels { kind: "GIF", wanted: want.channels.unwrap_or(0) });
    }
    let mut decoder = open(file, want.limit)?;
    let (mut n, mut width, mut height, mut largest) = (0, 0, 0, 0);
    // The canvas is as large as the largest frame, whatever the header says.
    while let Some(frame) = decoder.next_frame_info().map_err(damaged)? {
        let (columns, rows) = (usize::from(frame.width), usize::from(frame.height));
        n += 1;
        (width, height) = (columns.max(width), rows.max(height));
        largest = largest.max(columns * rows);
    }
    if n == 0 {
        return Err(damaged("no frame"));
    }
    if width == 0 || height == 0 {
        return Err(damaged(format!("the largest frame has {width} times {height} pixels")));
    }
    let shape = ImageShape { frames: Some(n), height, width, channels: 3 };
    Needs::new(shape, want, usize::MAX, largest as u64)
}

/// Reads a file up to its first frame. No frame has more pixels than a file of its length can hold.
fn open(file: &[u8], limit: usize) -> Result<Decoder<&[u8]>, ImageError> {
    let limit = limit.min(file.len().saturating_mul(PIXELS_A_BYTE));
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    let bytes = NonZeroU64::new(limit as u64).unwrap_or(NonZeroU64::MIN);
    options.set_memory_limit(MemoryLimit::Bytes(bytes));
    options.read_info(file).map_err(damaged)
}

/// Paints a frame; its transparent pixels leave the pixels below unchanged.
pub(crate) fn paint(
    frame: &Frame<'_>,
    palette: &[u8],
    width: usize,
    canvas: &mut [u8],
) -> Result<(), ImageError> {
    let colors = palette.as_chunks::<3>().0;
    let rows = canvas.chunks_exact_mut(width * 3).skip(usize::from(frame.top));
    let pixels = frame.buffer.chunks_exact(usize::from(frame.width).max(1));
    for (row, indices) in rows.zip(pixels) {
        let row = row.as_chunks_mut::<3>().0.iter_mut().skip(usize::from(frame.left));
        for (pixel, index) in row.zip(indices) {
            if Some(*index) != frame.transparent {
                let color = colors.get(usize::from(*index));
                let count = colors.len();
                *pixel = *color.ok_or_else(|| damaged(format!("colour {index} of a palette of {count}")))?;
            }
        }
    }
    Ok(())
}
