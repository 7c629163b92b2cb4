//! JPEG at a reduced scale: sizes, and pixels that approximate the means of those that they replace.

#![cfg(feature = "codecs")]

use mozjpeg::{ColorSpace, Compress};
use tesson_image::decode::{Depth, ImageError, Scale, Want, decode, decode_at};

const WANT: Want = Want { channels: Some(3), depth: Depth::Eight, limit: 1 << 20 };

/// A file of smooth colours.
fn file(width: usize, height: usize) -> Vec<u8> {
    let pixel = |i: usize| {
        let (x, y) = (i % width, i / width);
        [(x * 2) as u8, (y * 2) as u8, ((x + y) % 256) as u8]
    };
    let pixels: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let mut made = Compress::new(ColorSpace::JCS_RGB);
    made.set_size(width, height);
    made.set_quality(95.0);
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&pixels).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

#[test]
fn pixels_of_a_smaller_image_are_means_of_the_whole_one() {
    for (width, height) in [(64, 48), (61, 47), (7, 1)] {
        let file = file(width, height);
        let mut whole = Vec::new();
        decode(&file, WANT, &mut whole).expect("the file is whole");
        for scale in [Scale::Half, Scale::Quarter, Scale::Eighth] {
            let n = scale.denominator();
            let mut small = Vec::new();
            let shape = decode_at(&file, WANT, scale, &mut small).expect("the file is whole");
            let dims: Vec<usize> = shape.dims().collect();
            assert_eq!(dims, [height.div_ceil(n), width.div_ceil(n), 3]);
            assert_eq!(small.len(), dims.iter().product::<usize>());
            // Squares that lie within the image.
            for (y, x) in (0..height / n).flat_map(|y| (0..width / n).map(move |x| (y, x))) {
                for c in 0..3 {
                    let square = (0..n * n).map(|i| (y * n + i / n, x * n + i % n));
                    let sum: usize = square.map(|(y, x)| usize::from(whole[(y * width + x) * 3 + c])).sum();
                    let found = usize::from(small[(y * dims[1] + x) * 3 + c]);
                    let mean = sum / (n * n);
                    assert!(
                        found.abs_diff(mean) <= 6,
                        "{width}x{height} to {n}: {found}, the mean is {mean}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_smaller_image_may_be_within_a_limit_that_the_whole_one_is_not() {
    let file = file(64, 48);
    let limited = Want { limit: 8 * 6 * 3, ..WANT };
    let mut out = Vec::new();
    assert!(matches!(decode(&file, limited, &mut out), Err(ImageError::TooLarge { .. })));
    assert!(decode_at(&file, limited, Scale::Eighth, &mut Vec::new()).is_ok());
}

#[test]
fn other_files_and_cut_ones_are_errors() {
    for (begin, kind) in [(&b"\x89PNG"[..], "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP")] {
        let error = decode_at(begin, WANT, Scale::Half, &mut Vec::new());
        assert_eq!(error, Err(ImageError::Unscaled { kind }));
    }
    let file = file(64, 48);
    let cut = decode_at(&file[..file.len() / 2], WANT, Scale::Eighth, &mut Vec::new());
    assert!(cut.is_err(), "{cut:?}");
}

#[test]
fn scales_are_named_by_their_denominators() {
    let scales = [Scale::Whole, Scale::Half, Scale::Quarter, Scale::Eighth];
    assert_eq!([1, 2, 4, 8].map(Scale::one_to), scales.map(Some));
    assert_eq!([0, 3, 16].map(Scale::one_to), [None; 3]);
}
