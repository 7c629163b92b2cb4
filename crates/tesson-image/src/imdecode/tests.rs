//! Rules of each kind of file, and hostile files. Values are held against the reference in `tests/cntk_cases.rs`.

use super::*;

const BGR: Color = Color::Bgr;

fn decoded(file: &[u8], color: Color) -> Result<(Size, Vec<u8>), ImageError> {
    let mut out = Vec::new();
    Ok((imdecode(file, &ImdecodeOptions::new(color), &mut out)?, out))
}

fn pixels(file: &[u8], color: Color) -> Vec<u8> {
    decoded(file, color).expect("a whole file").1
}

/// A BMP file with a header of 40 bytes, followed by `after_header`.
fn bmp(bits: u16, compression: u32, [width, height]: [i32; 2], after_header: &[&[u8]]) -> Vec<u8> {
    let data = 54 + after_header[..after_header.len() - 1].concat().len() as u32;
    let mut file = b"BM\0\0\0\0\0\0\0\0".to_vec();
    file.extend([data, 40].map(u32::to_le_bytes).concat());
    file.extend([width, height].map(i32::to_le_bytes).concat());
    file.extend([1, bits].map(u16::to_le_bytes).concat());
    let colors = if bits <= 8 { (data - 54) / 4 } else { 0 };
    file.extend([compression, 0, 0, 0, colors, 0].map(u32::to_le_bytes).concat());
    file.extend(after_header.concat());
    file
}

#[cfg(feature = "codecs")]
fn jpeg_file(width: usize, height: usize) -> Vec<u8> {
    let mut made = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
    made.set_fastest_defaults();
    made.set_size(width, height);
    made.set_quality(90.0);
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    let pixels: Vec<u8> = (0..width * height * 3).map(|i| (i * 7 % 256) as u8).collect();
    started.write_scanlines(&pixels).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

#[cfg(feature = "codecs")]
fn png_file(color: ::png::ColorType, depth: ::png::BitDepth, size: (u32, u32), rows: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ::png::ColorType::Indexed {
        encoder.set_palette(vec![1, 2, 3, 250, 0, 9]);
    }
    encoder.write_header().expect("memory takes everything").write_image_data(rows).expect("rows");
    file
}

/// A file of each kind that this build makes without help.
fn files() -> Vec<Vec<u8>> {
    let colors = [1, 2, 3, 0, 4, 5, 6, 0];
    let mut files = vec![
        bmp(24, 0, [2, 2], &[&[1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0]]),
        bmp(1, 0, [9, -1], &[&colors, &[0b1010_1010, 0x80, 0, 0]]),
        bmp(8, 1, [5, 2], &[&colors, &[2, 1, 0, 3, 0, 1, 1, 0, 0, 0, 4, 1, 0, 1]]),
        bmp(4, 2, [4, 2], &[&colors, &[4, 0x10, 0, 0, 0, 2, 1, 0, 2, 0x11, 0, 1]]),
        bmp(16, 3, [1, 1], &[&[0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0], &[0xff, 0xff]]),
        b"P3 # text\n2 1\n15\n0 15 7 1 2 3".to_vec(),
        b"P6 1 1 65535 abcdef".to_vec(),
        b"P1 3 1 101".to_vec(),
        b"P4 9 1\n\xaa\x80".to_vec(),
        b"P2 2 1 100 50 101".to_vec(),
    ];
    files.extend(with_codecs());
    #[cfg(feature = "tiff")]
    files.push(tiff_file());
    files
}

/// A JPEG file and PNG files, if the build has their encoders.
fn with_codecs() -> Vec<Vec<u8>> {
    #[cfg(not(feature = "codecs"))]
    return Vec::new();
    #[cfg(feature = "codecs")]
    {
        use ::png::{BitDepth, ColorType};
        vec![
            jpeg_file(17, 9),
            png_file(ColorType::Rgb, BitDepth::Eight, (2, 1), &[1, 2, 3, 4, 5, 6]),
            png_file(ColorType::GrayscaleAlpha, BitDepth::Sixteen, (1, 1), &[9, 8, 7, 6]),
            png_file(ColorType::Indexed, BitDepth::Two, (3, 1), &[0b01_00_01_00]),
        ]
    }
}

/// A grey TIFF file of 2 by 2 pixels.
#[cfg(feature = "tiff")]
fn tiff_file() -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    let mut encoder = ::tiff::encoder::TiffEncoder::new(&mut file).expect("memory takes everything");
    encoder.write_image::<::tiff::encoder::colortype::Gray8>(2, 2, &[1, 2, 3, 4]).expect("four pixels");
    file.into_inner()
}

#[test]
fn bitmaps_of_all_depths_are_decoded() {
    let [rgb, bits, runs, short_runs, narrow, ..] = &files()[..] else { panic!("files") };
    assert_eq!(pixels(rgb, BGR), [7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6]);
    assert_eq!(pixels(rgb, Color::Rgb)[..3], [9, 8, 7]);
    assert_eq!(pixels(bits, Color::Rgb)[..6], [6, 5, 4, 3, 2, 1]);
    // The last row in the file is the first of the image.
    let (zero, one) = ([1, 2, 3], [4, 5, 6]);
    assert_eq!(pixels(runs, BGR), [one, one, one, one, zero, one, one, zero, one, one].concat());
    assert_eq!(pixels(short_runs, BGR)[12..], [one, zero, one, zero].concat());
    assert_eq!(pixels(narrow, BGR), [248, 252, 248]);
}

#[test]
fn a_run_of_255_pixels_is_decoded() {
    let file = bmp(8, 1, [255, 1], &[&[0, 0, 0, 0, 9, 9, 9, 0], &[255, 1, 0, 1]]);
    assert_eq!(pixels(&file, Color::Gray), [9; 255]);
}

#[test]
fn portable_images_are_spread_to_eight_bits() {
    assert_eq!(pixels(b"P3 2 1 15 0 15 7 1 2 3", Color::Rgb), [0, 255, 119, 17, 34, 51]);
    assert_eq!(pixels(b"P1 # a comment\n 3 1 1 01", Color::Gray), [0, 255, 0]);
    assert_eq!(pixels(b"P4 9 1\n\xaa\x80", Color::Gray), [0, 255, 0, 255, 0, 255, 0, 255, 0]);
    assert_eq!(pixels(b"P6 1 1 65535 abcdef", Color::Rgb), *b"ace");
    assert_eq!(pixels(b"P2 2 1 100 50 101", BGR), [127, 127, 127, 255, 255, 255]);
}

#[test]
#[cfg(feature = "codecs")]
fn png_pixels_lose_alpha_and_low_bytes() {
    use ::png::{BitDepth, ColorType};
    let wide = png_file(ColorType::GrayscaleAlpha, BitDepth::Sixteen, (1, 1), &[9, 8, 7, 6]);
    assert_eq!(pixels(&wide, BGR), [9, 9, 9]);
    let indexed = png_file(ColorType::Indexed, BitDepth::Two, (3, 1), &[0b01_00_01_00]);
    assert_eq!(pixels(&indexed, Color::Rgb), [250, 0, 9, 1, 2, 3, 250, 0, 9]);
    // 75·250 + 0 + 1, in libpng's weights.
    assert_eq!(pixels(&indexed, Color::Gray)[0], 75);
}

#[test]
#[cfg(feature = "codecs")]
fn a_jpeg_file_is_turned_by_its_orientation_if_that_is_asked_for() {
    let plain = jpeg_file(5, 3);
    let mut turned = plain[..2].to_vec();
    let exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    turned.extend([0xff, 0xe1, 0, exif.len() as u8 + 2]);
    turned.extend(exif);
    turned.extend(&plain[2..]);
    let (size, stored) = decoded(&turned, BGR).expect("a whole file");
    assert_eq!(size, Size::new(3, 5, 3));
    let options = ImdecodeOptions { apply_orientation: true, ..ImdecodeOptions::new(BGR) };
    let mut out = Vec::new();
    assert_eq!(imdecode(&turned, &options, &mut out), Ok(Size::new(5, 3, 3)));
    // Clockwise: the first row is the first column from below.
    let first_column: Vec<u8> = [2, 1, 0].iter().flat_map(|y| stored[y * 15..y * 15 + 3].to_vec()).collect();
    assert_eq!(out[..9], first_column);
}

#[test]
#[cfg(feature = "codecs")]
fn a_jpeg_file_is_decoded_smaller_if_that_is_asked_for() {
    // Height and width: at least, and found.
    for (least, size) in [
        ((0, 0), (3, 4)),
        ((3, 4), (3, 4)),
        ((4, 4), (5, 8)),
        ((5, 9), (9, 16)),
        ((9, 17), (17, 31)),
        ((99, 1), (17, 31)),
    ] {
        let jpeg_at_least = Some(Sides { height: least.0, width: least.1 });
        let options = ImdecodeOptions { jpeg_at_least, ..ImdecodeOptions::new(BGR) };
        let found = imdecode(&jpeg_file(31, 17), &options, &mut Vec::new());
        assert_eq!(found, Ok(Size::new(size.0, size.1, 3)), "{least:?}");
    }
}

#[test]
#[cfg(feature = "codecs")]
fn the_missing_part_of_a_truncated_jpeg_file_is_grey() {
    let file = jpeg_file(64, 256);
    let half = &file[..file.len() / 2];
    assert!(matches!(decoded(half, BGR), Err(ImageError::Damaged { .. })));
    let options = ImdecodeOptions { accept_truncated: true, ..ImdecodeOptions::new(BGR) };
    let mut out = Vec::new();
    assert_eq!(imdecode(half, &options, &mut out), Ok(Size::new(256, 64, 3)));
    assert_eq!(out[out.len() - 64 * 3..], [128; 64 * 3]);
}

#[test]
#[cfg(feature = "codecs")]
fn gif_files_are_refused_unless_they_are_asked_for() {
    let screen = b"GIF89a\x02\0\x01\0\x80\0\0\0\0\0\xff\x80\x01";
    let frame = b",\0\0\0\0\x02\0\x01\0\0\x02\x02\x0c\x0a\0;";
    let file = [&screen[..], frame].concat();
    assert!(matches!(decoded(&file, BGR), Err(ImageError::Unknown { .. })));
    let options = ImdecodeOptions { accept_gif: true, ..ImdecodeOptions::new(BGR) };
    let mut out = Vec::new();
    assert_eq!(imdecode(&file, &options, &mut out), Ok(Size::new(1, 2, 3)));
    assert_eq!(out, [1, 128, 255, 0, 0, 0]);
    let gray = ImdecodeOptions { color: Color::Gray, ..options };
    assert_eq!(imdecode(&file, &gray, &mut out), Ok(Size::new(1, 2, 1)));
    assert_eq!(out, [gray_of_first(), 0]);
}

#[cfg(feature = "codecs")]
fn gray_of_first() -> u8 {
    super::gray(255, 128, 1)
}

#[test]
fn an_image_of_more_pixels_than_allowed_takes_no_memory() {
    for file in files() {
        let (size, _) = decoded(&file, BGR).expect("a whole file");
        let all = (size.width * size.height) as u64;
        let mut options = ImdecodeOptions { max_pixels: all, ..ImdecodeOptions::new(BGR) };
        assert!(imdecode(&file, &options, &mut Vec::new()).is_ok());
        for max_pixels in [all - 1, 0] {
            options.max_pixels = max_pixels;
            let mut out = Vec::new();
            let error = imdecode(&file, &options, &mut out).unwrap_err();
            assert!(matches!(error, ImageError::TooManyPixels { .. }), "{error}");
            assert_eq!(out.capacity(), 0);
        }
    }
}

#[test]
fn earlier_contents_do_not_show() {
    for file in files() {
        for color in [Color::Gray, BGR] {
            let mut out = vec![0xa5; 5000];
            let size = imdecode(&file, &ImdecodeOptions::new(color), &mut out);
            assert_eq!(size.map(|size| (size, out)), decoded(&file, color));
        }
    }
}

#[test]
fn a_header_is_not_believed_beyond_what_its_file_can_hold() {
    let unlimited = ImdecodeOptions { max_pixels: u64::MAX, ..ImdecodeOptions::new(BGR) };
    let huge = bmp(24, 0, [i32::MAX, i32::MIN], &[&[0; 16]]);
    for file in [&huge[..], b"P5 4294967295 4294967295 255 a", b"P1 99999 99999 1"] {
        let error = imdecode(file, &unlimited, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, ImageError::TooManyPixels { .. }), "{error}");
    }
}

#[test]
fn truncated_files_are_errors() {
    for file in files() {
        // The last bytes may be padding, or an end that no pixel needs.
        for end in 0..file.len() - file.len() / 8 - 3 {
            let found = decoded(&file[..end], BGR);
            assert!(
                found.is_err() || file.starts_with(b"P") || file.starts_with(b"BM"),
                "cut to {end}: {file:?}"
            );
        }
    }
}

#[test]
fn changed_and_random_bytes_are_pixels_or_errors() {
    let mut state = 1u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    let begins: [&[u8]; 9] = [
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
        b"BM",
        b"P3",
        b"P6",
        b"II*\0",
        b"MM\0*",
        b"RIFF\x40\0\0\0WEBPVP8 ",
        b"GIF89a",
    ];
    let options = ImdecodeOptions {
        max_pixels: 1 << 16,
        accept_gif: true,
        accept_truncated: true,
        apply_orientation: true,
        ..ImdecodeOptions::new(BGR)
    };
    let mut out = Vec::new();
    let sources = files();
    for round in 0..3000 {
        let mut file = sources[round % sources.len()].clone();
        if round % 3 == 0 {
            file = begins[round % begins.len()].to_vec();
            file.extend((0..random() % 200).map(|_| random() as u8));
        }
        for _ in 0..=random() % 4 {
            let at = random() % file.len();
            file[at] = if random() % 2 == 0 { random() as u8 } else { 0xff * (random() % 2) as u8 };
        }
        if let Ok(size) = imdecode(&file, &options, &mut out) {
            assert_eq!(out.len(), size.values());
            assert!(size.height * size.width <= 1 << 16);
        }
    }
}

#[test]
fn files_of_no_known_kind_are_named_by_their_first_bytes() {
    let error = decoded(b"SIMPLE  =", BGR).unwrap_err().to_string();
    assert_eq!(error, "the image begins with `SIMPLE  `, expected a JPEG, PNG, BMP, PNM, TIFF or WebP file");
    assert!(decoded(b"", BGR).is_err());
}

#[cfg(feature = "codecs")]
#[test]
fn a_jpeg_file_may_lack_the_marker_that_ends_it_if_no_pixel_is_missing() {
    let baseline = jpeg_file(40, 30);
    let progressive = {
        let mut made = mozjpeg::Compress::new(mozjpeg::ColorSpace::JCS_RGB);
        made.set_size(40, 30);
        made.set_progressive_mode();
        let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
        let pixels: Vec<u8> = (0..40 * 30 * 3).map(|i| (i * 7 % 256) as u8).collect();
        started.write_scanlines(&pixels).expect("as many lines as there are");
        started.finish().expect("memory takes everything")
    };
    let scans: Vec<usize> =
        (2..progressive.len()).filter(|&at| progressive[at..].starts_with(&[0xff, 0xda])).collect();
    assert!(scans.len() > 3);
    for file in [&baseline, &progressive] {
        let whole = pixels(file, BGR);
        // All of the marker is missing, or its second byte.
        for missing in [2, 1] {
            assert_eq!(
                decoded(&file[..file.len() - missing], BGR).map(|(_, pixels)| pixels).as_ref(),
                Ok(&whole)
            );
        }
        for end in [file.len() - 40, file.len() / 2 + file.len() / 4] {
            assert!(decoded(&file[..end], BGR).is_err(), "{end} of {}", file.len());
        }
    }
    // Whole scans are missing: all pixels are present, but not all of their bits.
    for &end in &scans[1..] {
        assert!(decoded(&progressive[..end], BGR).is_err(), "{end} of {scans:?}");
    }
}
