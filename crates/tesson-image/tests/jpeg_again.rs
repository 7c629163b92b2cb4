//! JPEG: images that a thread has decoded before, even damaged ones, never change the next one.

#![cfg(feature = "codecs")]

use std::path::Path;

use mozjpeg::{ColorSpace, Compress};
use tesson_image::imdecode::{Color, ImdecodeOptions, imdecode};

/// The pixels of a file, or its fault.
fn decoded(file: &[u8]) -> Result<(usize, usize, Vec<u8>), String> {
    let mut options = ImdecodeOptions::new(Color::Bgr);
    options.accept_truncated = true;
    let mut pixels = Vec::new();
    let size = imdecode(file, &options, &mut pixels).map_err(|e| e.to_string())?;
    Ok((size.height, size.width, pixels))
}

/// Decodes a file in a thread that has decoded nothing before.
fn decoded_first(file: &[u8]) -> Result<(usize, usize, Vec<u8>), String> {
    std::thread::scope(|scope| scope.spawn(|| decoded(file)).join().expect("it does not panic"))
}

/// The segments of a file before the image itself, each with its marker and range.
fn segments(file: &[u8]) -> Vec<(u8, std::ops::Range<usize>)> {
    let (mut found, mut at) = (Vec::new(), 2);
    while let [0xff, marker, high, low, ..] = file[at..] {
        let end = at + 2 + usize::from(u16::from_be_bytes([high, low]));
        found.push((marker, at..end));
        if marker == 0xda {
            break;
        }
        at = end;
    }
    found
}

/// A file, cut at some places, without each of its segments, and with some bytes changed.
fn variants(file: &[u8]) -> Vec<Vec<u8>> {
    let mut made = vec![file.to_vec()];
    made.extend((1..8).map(|part| file[..file.len() * part / 8].to_vec()));
    made.extend(
        segments(file).into_iter().map(|(_, span)| [&file[..span.start], &file[span.end..]].concat()),
    );
    made.extend((0..24).map(|i| {
        let mut changed = file.to_vec();
        let at = (i * 2_654_435_761_usize) % file.len();
        changed[at] ^= 1 << (i % 8);
        changed
    }));
    made
}

/// A file of the colours that printers use.
fn of_four_inks() -> Vec<u8> {
    let (width, height) = (40, 24);
    let inks: Vec<u8> = (0..width * height * 4).map(|i| (i % 239) as u8).collect();
    let mut made = Compress::new(ColorSpace::JCS_CMYK);
    made.set_color_space(ColorSpace::JCS_YCCK);
    made.set_size(width, height);
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&inks).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

#[test]
fn an_image_comes_out_as_if_it_were_the_first() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jpeg");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("it is committed")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    let mut files: Vec<Vec<u8>> =
        files.iter().map(|path| std::fs::read(path).expect("it is committed")).collect();
    files.push(of_four_inks());
    assert!(files.iter().any(|file| segments(file).iter().filter(|(marker, _)| *marker == 0xc4).count() > 1));
    let whole: Vec<_> = files.iter().map(|file| decoded_first(file)).collect();
    assert!(whole.iter().all(Result::is_ok));
    let (mut refused, mut n) = (0, 0);
    for (i, file) in files.iter().enumerate() {
        let all = variants(file);
        let expected: Vec<_> = all.iter().map(|variant| decoded_first(variant)).collect();
        let next = (i + 1) % files.len();
        for (variant, expected) in all.iter().zip(&expected) {
            // A whole image of another kind comes before it, and after it.
            assert_eq!(decoded(&files[next]), whole[next]);
            assert_eq!(decoded(variant), *expected);
            refused += usize::from(expected.is_err());
            n += 1;
        }
        // One damaged image after the other.
        for (variant, expected) in all.iter().zip(&expected).rev() {
            assert_eq!(decoded(variant), *expected);
        }
    }
    assert!(0 < refused && refused < n / 2, "{refused} of {n} are refused");
}
