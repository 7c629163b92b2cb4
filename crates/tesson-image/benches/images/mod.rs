//! The images of both benches, as cameras make them, and how often they are decoded.

use mozjpeg::{ColorSpace, Compress};

pub(crate) const SIZE: (usize, usize) = (500, 375);
pub(crate) const IMAGES: usize = 32;
pub(crate) const ROUNDS: usize = 15;

/// Slopes, edges and noise, so that there is something to decode in most blocks.
fn image(seed: usize) -> Vec<u8> {
    let mut noise = seed as u32 + 1;
    let mut value = |x: usize, y: usize, c: usize| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let edge = if (x / 40 + y / 30 + seed).is_multiple_of(3) { 60 } else { 0 };
        let slope = (x * (c + 1) / 6 + y * (3 - c) / 5) % 140;
        (20 + slope + edge + (noise >> 27) as usize) as u8
    };
    let mut pixels = Vec::with_capacity(SIZE.0 * SIZE.1 * 3);
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            pixels.extend((0..3).map(|c| value(x, y, c)));
        }
    }
    pixels
}

/// A JPEG file, with colours at half the resolution.
pub(crate) fn file(seed: usize) -> Vec<u8> {
    let mut made = Compress::new(ColorSpace::JCS_RGB);
    made.set_fastest_defaults();
    made.set_size(SIZE.0, SIZE.1);
    made.set_quality(90.0);
    made.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&image(seed)).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}
