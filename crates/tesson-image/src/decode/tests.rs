//! Rules that need no reference, and damaged files. Values are held against the reference by conformance cases.

use super::*;

const WANT: Want = Want { channels: None, depth: Depth::Eight, limit: 1 << 20 };

fn decoded(file: &[u8], want: Want) -> Result<(Vec<usize>, Vec<u8>), ImageError> {
    let mut out = Vec::new();
    let shape = decode(file, want, &mut out)?;
    Ok((shape.dims().collect(), out))
}

/// A file with this kind of colours, depth and contents.
fn png(color: ::png::ColorType, depth: ::png::BitDepth, size: (u32, u32), rows: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(rows).unwrap();
    file
}

fn bmp(bits: u16, height: i32, rows: &[u8]) -> Vec<u8> {
    let mut file = b"BM".to_vec();
    file.extend([0_u32, 0, 54, 40, 2].map(u32::to_le_bytes).concat());
    file.extend(height.to_le_bytes());
    file.extend([1, bits].map(u16::to_le_bytes).concat());
    file.extend([0; 24]);
    file.extend(rows);
    file
}

#[test]
fn wide_grey_becomes_narrow_by_its_high_byte() {
    let file = png(::png::ColorType::Grayscale, ::png::BitDepth::Sixteen, (2, 1), &[1, 200, 255, 255]);
    assert_eq!(decoded(&file, WANT), Ok((vec![1, 2, 1], vec![1, 255])));
    let sixteen = Want { depth: Depth::Sixteen, ..WANT };
    assert_eq!(decoded(&file, sixteen), Ok((vec![1, 2, 1], vec![200, 1, 255, 255])));
}

#[test]
fn alpha_of_a_file_without_one_has_the_depth_of_the_file() {
    let file = png(::png::ColorType::Grayscale, ::png::BitDepth::Two, (4, 1), &[0b00_01_10_11]);
    let four = Want { channels: Some(4), ..WANT };
    let (_, pixels) = decoded(&file, four).unwrap();
    assert_eq!(pixels, [0, 0, 0, 3, 85, 85, 85, 3, 170, 170, 170, 3, 255, 255, 255, 3]);
    let (_, pixels) = decoded(&file, Want { depth: Depth::Sixteen, ..four }).unwrap();
    assert_eq!(pixels[6..8], 771_u16.to_le_bytes());
}

#[test]
fn one_colour_may_be_transparent() {
    let grey = |trns: &[u8]| {
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, 2, 1);
        encoder.set_color(::png::ColorType::Grayscale);
        encoder.set_depth(::png::BitDepth::Four);
        encoder.set_trns(trns.to_vec());
        encoder.write_header().unwrap().write_image_data(&[0x3f]).unwrap();
        file
    };
    let four = Want { channels: Some(4), ..WANT };
    let (_, pixels) = decoded(&grey(&[0, 3]), four).unwrap();
    assert_eq!(pixels, [51, 51, 51, 0, 255, 255, 255, 255]);
    let (shape, pixels) = decoded(&grey(&[0, 3]), WANT).unwrap();
    assert_eq!((shape, pixels), (vec![1, 2, 1], vec![51, 255]));
}

#[test]
fn rows_of_a_bitmap_may_begin_at_the_top_or_the_bottom() {
    let rows = [1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0];
    let (shape, pixels) = decoded(&bmp(24, -2, &rows), WANT).unwrap();
    assert_eq!((shape, &pixels[..]), (vec![2, 2, 3], &[3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10][..]));
    let (_, pixels) = decoded(&bmp(24, 2, &rows), WANT).unwrap();
    assert_eq!(pixels, [9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4]);
}

#[test]
fn cut_files_are_refused() {
    let rows: Vec<u8> = (0..64).collect();
    let png = png(::png::ColorType::Grayscale, ::png::BitDepth::Eight, (8, 8), &rows);
    let bmp = bmp(24, 2, &[1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12]);
    for whole in [png, bmp] {
        assert!(decoded(&whole, WANT).is_ok());
        for cut in 0..whole.len() {
            assert!(decoded(&whole[..cut], WANT).is_err(), "cut to {cut} of {} bytes", whole.len());
        }
    }
}

#[test]
fn every_flipped_byte_of_a_png_is_found_or_harmless() {
    let rows: Vec<u8> = (0..64).map(|i| i * 3).collect();
    let whole = png(::png::ColorType::Grayscale, ::png::BitDepth::Eight, (8, 8), &rows);
    let pixels = decoded(&whole, WANT).unwrap();
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 0x10;
        let found = decoded(&file, WANT);
        assert!(found.is_err() || found.as_ref() == Ok(&pixels), "byte {at}: {found:?}");
    }
}

#[test]
fn a_header_is_not_believed_beyond_what_its_file_can_hold() {
    let mut huge = bmp(24, 0x7fff_ffff, &[0; 16]);
    huge[18..22].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let unlimited = Want { limit: usize::MAX, ..WANT };
    assert!(matches!(decoded(&huge, unlimited), Err(ImageError::TooLarge { .. })));
}

#[test]
fn a_gif_without_a_pixel_is_refused() {
    // A screen of 2 by 2 with a palette of two colours, and an interlaced frame of 0 by 0 with the codes of no pixel.
    let screen = b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\0\0";
    let frame = b",\0\0\0\0\0\0\0\0\x6d\x02\x03\x44\x02\x05\0;";
    let error = decoded(&[&screen[..], frame].concat(), WANT).unwrap_err().to_string();
    assert!(error.contains("the largest frame has 0 times 0 pixels"), "{error}");
}

#[test]
fn kinds_are_told_by_their_first_bytes() {
    assert_eq!(decoded(b"", WANT), Err(ImageError::Empty));
    let error = decoded(b"RIFF....WEBP", WANT).unwrap_err().to_string();
    assert_eq!(error, "the image begins with `RIFF....`, expected a PNG, JPEG, GIF or BMP file");
    assert!(decoded(b"BM", Want { channels: Some(2), ..WANT }).is_err());
}
