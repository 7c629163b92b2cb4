//! The distance of the pixels of the decoder in Rust (feature `pure-rust`) from those of libjpeg-turbo, by the
//! sampling of colours.
//!
//! Decision 32 has the figures that the bounds here hold: `cargo test -p tesson-image --features pure-rust --test jpeg_rust`.

#![cfg(all(feature = "codecs", feature = "pure-rust"))]

use std::fs;
use std::path::{Path, PathBuf};

use mozjpeg::{ColorSpace, Compress};
use tesson_image::decode::{self, Depth, ImageError, Want};
use tesson_image::imdecode::{self, Color, ImdecodeOptions};

const SIZE: (usize, usize) = (157, 118);

/// The samplings of colours: a name, the pixels in a row and a column for each sample, and true if the file is
/// progressive.
const SAMPLINGS: [(&str, (u8, u8), bool); 6] = [
    ("444", (1, 1), false),
    ("422", (2, 1), false),
    ("420", (2, 2), false),
    ("440", (1, 2), false),
    ("411", (4, 1), false),
    ("420-progressive", (2, 2), true),
];

const QUALITIES: [u8; 2] = [75, 95];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jpeg")
}

/// A committed file; without samples of colours, `gray`.
fn file(name: &str, quality: u8) -> Vec<u8> {
    fs::read(folder().join(format!("{name}-{quality}.jpg"))).expect("a committed file")
}

/// Soft and hard edges of colours, and noise.
fn pixels() -> Vec<u8> {
    let mut noise = 1u32;
    let mut pixel = |i: usize| {
        let (x, y) = (i % SIZE.0, i / SIZE.0);
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grain = (noise >> 28) as usize;
        let disc = (x.abs_diff(50)).pow(2) + (y.abs_diff(60)).pow(2) < 900;
        let stripes = (x + 2 * y) / 9 % 4 == 0 && x > 90;
        match (disc, stripes) {
            (true, _) => [230, (20 + grain) as u8, (40 + y) as u8],
            (_, true) => [(10 + grain) as u8, (250 - y) as u8, 30],
            _ => [(x + grain) as u8, (60 + y + grain) as u8, (250 - x) as u8],
        }
    };
    (0..SIZE.0 * SIZE.1).flat_map(&mut pixel).collect()
}

/// All committed files as the library writes them.
fn written() -> Vec<(String, Vec<u8>)> {
    let new = |quality: u8| {
        let mut made = Compress::new(ColorSpace::JCS_RGB);
        made.set_fastest_defaults();
        made.set_size(SIZE.0, SIZE.1);
        made.set_quality(quality.into());
        made
    };
    let mut all = Vec::new();
    let mut write = |name: &str, quality: u8, made: Compress| {
        let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
        started.write_scanlines(&pixels()).expect("as many lines as there are");
        all.push((format!("{name}-{quality}.jpg"), started.finish().expect("memory takes everything")));
    };
    for quality in QUALITIES {
        for (name, sampling, is_progressive) in SAMPLINGS {
            let mut made = new(quality);
            made.set_chroma_sampling_pixel_sizes(sampling, sampling);
            if is_progressive {
                made.set_progressive_mode();
            }
            write(name, quality, made);
        }
        let mut made = new(quality);
        made.set_color_space(ColorSpace::JCS_GRAYSCALE);
        write("gray", quality, made);
    }
    all
}

/// `TESSON_WRITE_IMAGES=1` writes them.
#[test]
fn committed_files_are_those_that_the_library_writes() {
    let writes = std::env::var_os("TESSON_WRITE_PICTURES").is_some();
    for (name, file) in written() {
        let path = folder().join(&name);
        if writes {
            fs::write(&path, &file).expect("a file");
        }
        assert!(fs::read(&path).expect("a committed file") == file, "{name}");
    }
}

/// The largest difference, and the mean one in thousandths.
fn difference(a: &[u8], b: &[u8]) -> (u8, u64) {
    assert_eq!(a.len(), b.len());
    let each = || a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
    let sum: u64 = each().map(u64::from).sum();
    (each().max().unwrap_or(0), sum * 1000 / a.len() as u64)
}

type Decode = fn(&[u8]) -> [Vec<u8>; 2];

/// OpenCV's pixels, by libjpeg-turbo and in Rust.
fn opencv(file: &[u8]) -> [Vec<u8>; 2] {
    let options = ImdecodeOptions::new(Color::Bgr);
    let mut both = [Vec::new(), Vec::new()];
    imdecode::imdecode(file, &options, &mut both[0]).expect("the file is whole");
    imdecode::jpeg_rust::decode(file, &options, &mut both[1]).expect("the file is whole");
    both
}

const WANT: Want = Want { channels: Some(3), depth: Depth::Eight, limit: 1 << 20 };

/// TensorFlow's pixels, likewise.
fn tensorflow(file: &[u8]) -> [Vec<u8>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    decode::decode(file, WANT, &mut both[0]).expect("the file is whole");
    decode::jpeg_rust::decode(file, WANT, decode::Scale::Whole, &mut both[1]).expect("the file is whole");
    both
}

#[test]
fn pixels_are_as_near_to_those_of_libjpeg_turbo_as_documented() {
    // Of both qualities: the largest difference from OpenCV's pixels, and the mean one in thousandths; from TensorFlow's, likewise.
    let bounds = [
        ("gray", (1, 10), (5, 630)),
        ("444", (3, 30), (10, 1170)),
        ("422", (3, 200), (11, 1290)),
        ("420", (4, 360), (9, 1410)),
        ("440", (4, 150), (9, 1290)),
        ("411", (3, 20), (8, 1230)),
        ("420-progressive", (4, 360), (9, 1410)),
    ];
    let worst = |name: &str, decode: Decode| {
        let found = QUALITIES.map(|quality| {
            let [library, rust] = decode(&file(name, quality));
            difference(&library, &rust)
        });
        (found[0].0.max(found[1].0), found[0].1.max(found[1].1))
    };
    let found = bounds.map(|(name, ..)| (name, worst(name, opencv), worst(name, tensorflow)));
    let is_near = |(a, b): ((u8, u64), (u8, u64))| a.0 <= b.0 && a.1 <= b.1;
    for (found, bound) in found.into_iter().zip(bounds) {
        assert!(is_near((found.1, bound.1)) && is_near((found.2, bound.2)), "{found:?}, {bound:?}");
    }
}

#[test]
fn a_file_that_is_cut_is_an_error_unless_it_is_accepted() {
    for (name, ..) in SAMPLINGS {
        let whole = file(name, 75);
        let cut = &whole[..whole.len() * 2 / 3];
        let mut options = ImdecodeOptions::new(Color::Bgr);
        let found = imdecode::jpeg_rust::decode(cut, &options, &mut Vec::new());
        assert!(matches!(found, Err(ImageError::Damaged { .. })), "{name}: {found:?}");
        let found = decode::jpeg_rust::decode(cut, WANT, decode::Scale::Whole, &mut Vec::new());
        assert!(matches!(found, Err(ImageError::Damaged { .. })), "{name}: {found:?}");
        options.accept_truncated = true;
        let (mut some, mut all) = (Vec::new(), Vec::new());
        imdecode::jpeg_rust::decode(cut, &options, &mut some).expect("it is accepted");
        imdecode::jpeg_rust::decode(&whole, &options, &mut all).expect("it is whole");
        assert_eq!(some.len(), all.len());
        // The beginning of a progressive file is a blurred version of the whole image.
        let rows = SIZE.0 * 3 * 16;
        assert!(name == "420-progressive" || some[..rows] == all[..rows], "{name}");
    }
}

#[test]
fn gray_files_and_gray_pixels_are_those_of_brightness_alone() {
    let options = ImdecodeOptions::new(Color::Gray);
    for name in ["gray", "420"] {
        let (mut library, mut rust) = (Vec::new(), Vec::new());
        imdecode::imdecode(&file(name, 95), &options, &mut library).expect("the file is whole");
        imdecode::jpeg_rust::decode(&file(name, 95), &options, &mut rust).expect("the file is whole");
        assert!(difference(&library, &rust).0 <= 1, "{name}");
    }
}

#[test]
fn damage_and_sizes_beyond_the_limit_are_errors() {
    let whole = file("420", 75);
    let mut options = ImdecodeOptions::new(Color::Bgr);
    options.max_pixels = 100;
    let found = imdecode::jpeg_rust::decode(&whole, &options, &mut Vec::new());
    assert!(matches!(found, Err(ImageError::TooManyPixels { .. })), "{found:?}");
    options.max_pixels = 1 << 20;
    for at in (2..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        // Pixels or an error, and no panic.
        let _ = imdecode::jpeg_rust::decode(&damaged, &options, &mut Vec::new());
    }
}
