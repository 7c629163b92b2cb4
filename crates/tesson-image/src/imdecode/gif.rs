//! GIF: the first picture, on a black canvas of the size that the file declares.

use std::num::NonZeroU64;

use ::gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::{Color, ImdecodeOptions, room, store, swap_colors};
use crate::decode::PictureError;
use crate::decode::gif::{PIXELS_A_BYTE, damaged, paint};
use crate::transform::view::Size;

pub(super) fn decode(
    file: &[u8],
    options: &ImdecodeOptions,
    out: &mut Vec<u8>,
) -> Result<Size, PictureError> {
    let mut decoding = DecodeOptions::new();
    decoding.set_color_output(ColorOutput::Indexed);
    decoding
        .set_memory_limit(MemoryLimit::Bytes(NonZeroU64::new(options.max_pixels).unwrap_or(NonZeroU64::MIN)));
    let mut decoder = decoding.read_info(file).map_err(damaged)?;
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    let colored = ImdecodeOptions { color: Color::Rgb, ..*options };
    let size = room((height, width), &colored, file.len().saturating_mul(PIXELS_A_BYTE), out)?;
    out.fill(0);
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let frame = decoder.read_next_frame().map_err(damaged)?.ok_or_else(|| damaged("no frame"))?;
    let palette = frame.palette.as_deref().or(global.as_deref());
    if width > 0 {
        paint(frame, palette.ok_or_else(|| damaged("a frame without a palette"))?, width, out)?;
    }
    match options.color {
        Color::Rgb => {}
        Color::Bgr => swap_colors(out),
        Color::Gray => {
            for i in 0..height * width {
                let [r, g, b] = [0, 1, 2].map(|c| out[3 * i + c]);
                store(Color::Gray, [r, g, b], &mut out[i..=i]);
            }
            out.truncate(height * width);
        }
    }
    Ok(Size { channels: options.color.channels(), ..size })
}
