//! JPEG without C code, for builds with the feature `pure-rust`. TensorFlow uses the fast transform of libjpeg-turbo;
//! [decision 32](../../../../docs/decisions/0032-images.md) says how far pixels differ from that.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::pixels::{deepen, zeros};
use super::{ImageError, ImageShape, Needs, Scale, Want};

/// A block of 64 pixels takes at least a bit of one of an image's up to four components, and a component that is not
/// sampled finest in both directions may leave out up to 16 blocks.
pub(crate) const PIXELS_A_BYTE: usize = 64 * 8 * 16;

fn damaged(what: impl ToString) -> ImageError {
    ImageError::Damaged { kind: "JPEG", what: what.to_string() }
}

/// Appends the pixels of a file to `out`, as [`decode_at`](super::decode_at) does.
///
/// # Errors
/// The errors of that function; any reduced scale.
pub fn decode(file: &[u8], want: Want, scale: Scale, out: &mut Vec<u8>) -> Result<ImageShape, ImageError> {
    let (mut image, needs) = open(file, want, scale)?;
    let (start, shape) = (needs.room(out)?, needs.shape);
    let values = shape.height * shape.width * shape.channels;
    let colors = if shape.channels == 1 { Colors::Gray } else { Colors::Rgb };
    image.read(colors, &mut out[start..start + values])?;
    deepen(&mut out[start..], want.depth, 256);
    Ok(shape)
}

/// The needs of decoding a file, in the form of [`needs`](super::needs).
///
/// # Errors
/// The errors of that function; any reduced scale.
pub fn needs(file: &[u8], want: Want, scale: Scale) -> Result<Needs, ImageError> {
    open(file, want, scale).map(|(_, needs)| needs)
}

fn open(file: &[u8], want: Want, scale: Scale) -> Result<(JpegImage<'_>, Needs), ImageError> {
    if scale != Scale::Whole {
        return Err(ImageError::Unscaled { kind: "JPEG in a build without libjpeg-turbo" });
    }
    let image = JpegImage::open(file, true)?;
    let channels = match (want.channels, image.components) {
        (Some(1), 1 | 3) | (None, 1) => 1,
        (Some(3), 1 | 3) | (None, 3) => 3,
        (Some(wanted), 1 | 3) => return Err(ImageError::Channels { kind: "JPEG", wanted }),
        (_, found) => return Err(damaged(format!("{found} components, expected 1 or 3"))),
    };
    let shape = ImageShape { frames: None, height: image.height, width: image.width, channels };
    let pixels = file.len().saturating_mul(PIXELS_A_BYTE);
    let needs = Needs::new(shape, want, pixels.saturating_mul(channels), image.working_bytes())?;
    Ok((image, needs))
}

/// The values that are read of each pixel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colors {
    Gray,
    Rgb,
    /// The four components as they are stored: inks, or brightness, two colours and black.
    Stored,
}

/// A file after its header has been read.
pub(crate) struct JpegImage<'a> {
    decoder: JpegDecoder<ZCursor<&'a [u8]>>,
    pub(crate) components: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    stored: ColorSpace,
}

impl JpegImage<'_> {
    /// Reads the header. A file that is cut is refused if `is_strict`.
    pub(crate) fn open(file: &[u8], is_strict: bool) -> Result<JpegImage<'_>, ImageError> {
        let side = usize::from(u16::MAX);
        let options =
            DecoderOptions::default().set_strict_mode(is_strict).set_max_width(side).set_max_height(side);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
        catching(|| decoder.decode_headers().map_err(damaged))?;
        let missing = || damaged("the header is missing");
        let info = decoder.info().ok_or_else(missing)?;
        let stored = decoder.input_colorspace().ok_or_else(missing)?;
        let (height, width) = (usize::from(info.height), usize::from(info.width));
        Ok(JpegImage { decoder, components: usize::from(info.components), height, width, stored })
    }

    /// Bytes of memory that the decoder may take beside the pixels: all coefficients, of 16 bits, and colours that are weighed.
    pub(crate) fn working_bytes(&self) -> u64 {
        let blocks = self.height.next_multiple_of(32) as u64 * self.width.next_multiple_of(32) as u64;
        blocks * (2 * self.components as u64 + 3)
    }

    /// `true`: four components are brightness, two colours and black; `false`: four inks.
    pub(crate) fn is_ycck(&self) -> bool {
        self.stored == ColorSpace::YCCK
    }

    /// Fills memory of the image's size.
    pub(crate) fn read(&mut self, colors: Colors, out: &mut [u8]) -> Result<(), ImageError> {
        // Only brightness that is stored can be had alone.
        let weighs = colors == Colors::Gray && self.stored == ColorSpace::RGB;
        let wanted = match colors {
            Colors::Gray if !weighs => ColorSpace::Luma,
            Colors::Gray | Colors::Rgb => ColorSpace::RGB,
            Colors::Stored => self.stored,
        };
        let options = self.decoder.options().jpeg_set_out_colorspace(wanted);
        self.decoder.set_options(options);
        if !weighs {
            return self.fill(out);
        }
        let mut pixels = zeros(out.len() * 3)?;
        self.fill(&mut pixels)?;
        for (to, [r, g, b]) in out.iter_mut().zip(pixels.as_chunks::<3>().0) {
            // The weights of JPEG's own brightness, in 65536ths.
            let sum = 19595 * u32::from(*r) + 38470 * u32::from(*g) + 7471 * u32::from(*b);
            *to = ((sum + 32768) >> 16) as u8;
        }
        Ok(())
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), ImageError> {
        let decoder = &mut self.decoder;
        if decoder.output_buffer_size().is_some_and(|size| size != out.len()) {
            return Err(damaged("its components are of a kind that is not supported"));
        }
        catching(|| decoder.decode_into(out).map_err(damaged))
    }
}

/// Calls the decoder, which is not used any more if it panics.
fn catching<T>(call: impl FnOnce() -> Result<T, ImageError>) -> Result<T, ImageError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(damaged("damaged")))
}
