//! Pixels to files of images, without loss.

use crate::decode::Depth;

/// A PNG file of these pixels, row after row, little-endian.
///
/// # Errors
/// A number of channels that PNG does not have, no pixels, or values that do not fill the shape: a sentence.
#[cfg(feature = "rust-codecs")]
pub fn png(pixels: &[u8], [height, width, channels]: [usize; 3], depth: Depth) -> Result<Vec<u8>, String> {
    use ::png::{BitDepth, ColorType, Encoder};

    let color = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        n => return Err(format!("found {n} channels, expected 1 to 4")),
    };
    let side = |pixels: usize| {
        u32::try_from(pixels).map_err(|_| format!("a side of {pixels} pixels is too long for PNG"))
    };
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, side(width)?, side(height)?);
    encoder.set_color(color);
    let swapped: Vec<u8>;
    let pixels = match depth {
        Depth::Eight => pixels,
        Depth::Sixteen => {
            encoder.set_depth(BitDepth::Sixteen);
            swapped = pixels.as_chunks::<2>().0.iter().flat_map(|[low, high]| [*high, *low]).collect();
            &swapped
        }
    };
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(pixels).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(file)
}

/// In place of the encoder that this build has not: which feature it comes with.
///
/// # Errors
/// Always.
#[cfg(not(feature = "rust-codecs"))]
pub fn png(_: &[u8], _: [usize; 3], _: Depth) -> Result<Vec<u8>, String> {
    Err("this build has no PNG; build it with the feature `codecs`, which is on by default".to_owned())
}

#[cfg(all(test, feature = "rust-codecs"))]
mod tests {
    use super::*;
    use crate::decode::{Want, decode};

    #[test]
    fn what_is_encoded_is_decoded() {
        for (channels, depth) in [
            (1, Depth::Eight),
            (3, Depth::Eight),
            (4, Depth::Eight),
            (1, Depth::Sixteen),
            (3, Depth::Sixteen),
        ] {
            let pixels: Vec<u8> = (0..2 * 3 * channels * depth.bytes()).map(|n| (n * 37) as u8).collect();
            let file = png(&pixels, [2, 3, channels], depth).expect("PNG has such images");
            let mut out = Vec::new();
            let want = Want { channels: Some(channels), depth, limit: 1 << 20 };
            let shape = decode(&file, want, &mut out).expect("it is an image");
            assert_eq!((shape.height, shape.width, shape.channels), (2, 3, channels));
            assert_eq!(out, pixels);
        }
    }

    #[test]
    fn what_png_does_not_have_is_refused() {
        assert_eq!(png(&[0; 5], [1, 1, 5], Depth::Eight).unwrap_err(), "found 5 channels, expected 1 to 4");
        assert!(png(&[], [0, 3, 1], Depth::Eight).is_err());
        assert!(png(&[0; 5], [1, 3, 1], Depth::Eight).is_err());
    }
}
