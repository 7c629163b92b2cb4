//! GIF: all its frames, each painted over the one before (spec/tfds.md §6.4).

use std::num::NonZeroU64;

use ::gif::{ColorOutput, DecodeOptions, Frame, MemoryLimit};

use super::pixels::{deepen, room};
use super::{PictureError, PictureShape, Want};

/// A code of the compression has at least 3 bits and stands for at most 4096 pixels.
pub(crate) const PIXELS_A_BYTE: usize = 4096 * 3;

type Frames = (Vec<Frame<'static>>, Option<Vec<u8>>);

pub(crate) fn damaged(what: impl ToString) -> PictureError {
    PictureError::Damaged { kind: "GIF", what: what.to_string() }
}

pub(super) fn decode(file: &[u8], want: Want, out: &mut Vec<u8>) -> Result<PictureShape, PictureError> {
    if !matches!(want.channels, None | Some(3)) {
        return Err(PictureError::Channels { kind: "GIF", wanted: want.channels.unwrap_or(0) });
    }
    let (frames, global) = frames(file, want.limit)?;
    // The canvas is as large as the largest frame, whatever the header says.
    let width = frames.iter().map(|f| usize::from(f.width)).max().unwrap_or(0);
    let height = frames.iter().map(|f| usize::from(f.height)).max().unwrap_or(0);
    if width == 0 || height == 0 {
        return Err(damaged(format!("the largest frame has {width} times {height} pixels")));
    }
    let shape = PictureShape { frames: Some(frames.len()), height, width, channels: 3 };
    let start = room(shape, want, usize::MAX, out)?;
    let size = height * width * 3;
    for (i, frame) in frames.iter().enumerate() {
        let (before, canvas) = out[start..start + (i + 1) * size].split_at_mut(i * size);
        if let Some(last) = before.len().checked_sub(size) {
            canvas.copy_from_slice(&before[last..]);
        }
        let palette = frame.palette.as_deref().or(global.as_deref());
        paint(frame, palette.ok_or_else(|| damaged("a frame without a palette"))?, width, canvas)?;
    }
    deepen(&mut out[start..], want.depth, 256);
    Ok(shape)
}

/// All frames, as indices into their palettes, and the palette of those without one.
fn frames(file: &[u8], limit: usize) -> Result<Frames, PictureError> {
    let limit = limit.min(file.len().saturating_mul(PIXELS_A_BYTE));
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    let bytes = NonZeroU64::new(limit as u64).unwrap_or(NonZeroU64::MIN);
    options.set_memory_limit(MemoryLimit::Bytes(bytes));
    let mut decoder = options.read_info(file).map_err(damaged)?;
    let (mut frames, mut pixels) = (Vec::new(), 0_usize);
    while let Some(frame) = decoder.read_next_frame().map_err(damaged)? {
        pixels += frame.buffer.len();
        if pixels > limit {
            let size = (usize::from(frame.width), usize::from(frame.height));
            return Err(PictureError::TooLarge { size, limit });
        }
        frames.push(frame.clone());
    }
    match frames.is_empty() {
        true => Err(damaged("no frame")),
        false => Ok((frames, decoder.global_palette().map(<[u8]>::to_vec))),
    }
}

/// Paints a frame; its transparent pixels leave what is there.
pub(crate) fn paint(
    frame: &Frame<'_>,
    palette: &[u8],
    width: usize,
    canvas: &mut [u8],
) -> Result<(), PictureError> {
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
