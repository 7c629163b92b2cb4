//! JPEG without C code, for builds with the feature `pure-rust`. OpenCV uses the accurate transform of libjpeg-turbo;
//! [decision 32](../../../../docs/decisions/0032-images.md) says how far pixels differ from that.

use super::{Color, ImdecodeOptions, Needs, declared, store, swap_colors};
use crate::decode::jpeg_rust::{Colors, JpegImage, PIXELS_A_BYTE};
use crate::decode::{ImageError, Scale, grow, zeros};
use crate::transform::view::{Sides, Size};

/// Replaces the contents of `out` by the pixels of a file, as [`imdecode`](super::imdecode) does.
///
/// # Errors
/// The errors of that function; a file that is to be decoded at a smaller scale.
pub fn decode(file: &[u8], options: &ImdecodeOptions, out: &mut Vec<u8>) -> Result<Size, ImageError> {
    let (mut image, size) = open(file, options)?;
    grow(out, size.values())?;
    match (image.components, options.color) {
        (4, _) => inks(&mut image, options.color, size, out)?,
        (1 | 3, Color::Gray) => image.read(Colors::Gray, out)?,
        (1 | 3, color) => {
            image.read(Colors::Rgb, out)?;
            if color == Color::Bgr {
                swap_colors(out);
            }
        }
        (n, _) => {
            let what = format!("{n} components, expected 1, 3 or 4");
            return Err(ImageError::Damaged { kind: "JPEG", what });
        }
    }
    Ok(size)
}

/// The needs of decoding a file, in the form of [`needs`](super::needs).
///
/// # Errors
/// The errors of that function; a file that is to be decoded at a smaller scale.
pub fn needs(file: &[u8], options: &ImdecodeOptions) -> Result<Needs, ImageError> {
    let (image, size) = open(file, options)?;
    let pixels = (size.height * size.width) as u64;
    let inks = if image.components == 4 { 4 * pixels } else { 0 };
    Ok(Needs::new(size, image.working_bytes() + inks))
}

fn open<'a>(file: &'a [u8], options: &ImdecodeOptions) -> Result<(JpegImage<'a>, Size), ImageError> {
    let image = JpegImage::open(file, !options.accept_truncated)?;
    let sides = Sides { height: image.height, width: image.width };
    if options.scale(sides) != Scale::Whole {
        return Err(ImageError::Unscaled { kind: "JPEG in a build without libjpeg-turbo" });
    }
    let size = declared(sides, options, file.len().saturating_mul(PIXELS_A_BYTE))?;
    Ok((image, size))
}

/// Pixels of four components.
fn inks(image: &mut JpegImage<'_>, color: Color, size: Size, out: &mut [u8]) -> Result<(), ImageError> {
    let mut pixels = zeros(size.height * size.width * 4)?;
    image.read(Colors::Stored, &mut pixels)?;
    let is_ycck = image.is_ycck();
    for (stored, to) in pixels.as_chunks::<4>().0.iter().zip(out.chunks_exact_mut(size.channels)) {
        let [c, m, y, k] = if is_ycck { inks_of(*stored) } else { *stored };
        // Adobe's programs store inverted values, and the reference takes all files to be theirs.
        let rgb = [c, m, y].map(|ink| k - ((u32::from(255 - ink) * u32::from(k)) >> 8) as u8);
        store(color, rgb, to);
    }
    Ok(())
}

/// Inks of brightness and two colours.
fn inks_of([y, cb, cr, k]: [u8; 4]) -> [u8; 4] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    let ink = |value: f32| 255 - value.round().clamp(0.0, 255.0) as u8;
    [ink(y + 1.402 * cr), ink(y - 0.344_136 * cb - 0.714_136 * cr), ink(y + 1.772 * cb), k]
}
