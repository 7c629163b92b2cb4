//! GIF: the first image, on a black canvas of the size that the file declares.

use std::num::NonZeroU64;

use ::gif::{ColorOutput, DecodeOptions, Decoder, MemoryLimit};

use super::{Color, ImdecodeOptions, Needs, declared, store, swap_colors};
use crate::decode::gif::{PIXELS_A_BYTE, damaged, paint};
use crate::decode::{ImageError, grow};
use crate::transform::view::{Sides, Size};

pub(super) fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let (mut decoder, size) = open(file, options)?;
    let (height, width) = (size.height, size.width);
    grow(out, size.values())?;
    out.fill(0);
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let frame = decoder.read_next_frame().map_err(damaged)?.ok_or_else(|| damaged("no frame"))?;
    let palette = frame.palette.as_deref().or(global.as_deref());
    paint(frame, palette.ok_or_else(|| damaged("a frame without a palette"))?, width, out)?;
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

pub(super) fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let (mut decoder, size) = open(file, options)?;
    let frame = decoder.next_frame_info().map_err(damaged)?.ok_or_else(|| damaged("no frame"))?;
    let indices = u64::from(frame.width) * u64::from(frame.height);
    let needs = Needs::new(size, indices);
    Ok(Needs { size: Size { channels: options.color.channels(), ..size }, ..needs })
}

/// The decoder of a file, and the size of its canvas in colours.
fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<(Decoder<&'a [u8]>, Size), ImageError> {
    let mut decoding = DecodeOptions::new();
    decoding.set_color_output(ColorOutput::Indexed);
    let most = options.max_pixels.min(file.len().saturating_mul(PIXELS_A_BYTE) as u64);
    decoding.set_memory_limit(MemoryLimit::Bytes(NonZeroU64::new(most).unwrap_or(NonZeroU64::MIN)));
    let decoder = decoding.read_info(file).map_err(damaged)?;
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    let colored = ImdecodeOptions { color: Color::Rgb, ..*options };
    let size = declared(Sides { height, width }, &colored, file.len().saturating_mul(PIXELS_A_BYTE))?;
    Ok((decoder, size))
}
