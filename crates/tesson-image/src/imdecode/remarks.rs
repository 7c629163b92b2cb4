//! Remarks on files that can be decoded: properties that the pixels leave out, and differences from the reference's
//! pixels.

use super::exif;

/// The remarks on a file. `is_turned`: its EXIF orientation is applied.
pub(crate) fn remarks(file: &[u8], is_turned: bool) -> Vec<&'static str> {
    let mut found = Vec::new();
    if file.starts_with(&[0xff, 0xd8, 0xff]) {
        for (marker, contents) in exif::segments(file) {
            match marker {
                BASELINE..=PROGRESSIVE if is_vertically_subsampled(contents) => {
                    found.push("it is a JPEG with the subsampling 4:4:0, whose pixels differ from CNTK's");
                }
                BASELINE..=PROGRESSIVE if contents.get(COMPONENTS) == Some(&4) => {
                    found.push("it is a JPEG in CMYK, which is converted as Adobe's programs store it");
                }
                APP2 if contents.starts_with(b"ICC_PROFILE\0") => found.push(PROFILE),
                _ => {}
            }
        }
        if !has_end(file) {
            found.push("it is a JPEG without the marker that ends it");
        }
        match (exif::orientation(file), is_turned) {
            (1, _) => {}
            (_, true) => found.push("it is turned as its EXIF data say"),
            (_, false) => found.push("its EXIF data say that it is to be turned, which is ignored"),
        }
    } else if file.starts_with(PNG) && png_chunks(file).any(|name| name == b"iCCP") {
        found.push(PROFILE);
    }
    found.dedup();
    found
}

/// The first bytes of PNG files.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

const PROFILE: &str = "it has a colour profile, which is ignored";

const APP2: u8 = 0xe2;
const END_OF_IMAGE: u8 = 0xd9;

/// The marker of a baseline frame; those of extended and progressive ones follow.
const BASELINE: u8 = 0xc0;
const PROGRESSIVE: u8 = 0xc2;

/// The offset of the number of components in a frame, after 8 bits of precision and two sides of 16.
const COMPONENTS: usize = 5;

/// True if a marker ends the image. Previews lie before the first scan, and no pixels are coded as a marker.
fn has_end(file: &[u8]) -> bool {
    let before: usize = exif::segments(file).map(|(_, contents)| 4 + contents.len()).sum();
    let scans = file.get(2 + before..).unwrap_or_default();
    scans.windows(2).rev().any(|marker| marker == [0xff, END_OF_IMAGE])
}

/// True if the colours of a frame have half as many rows as the luma, and the same number of columns.
fn is_vertically_subsampled(frame: &[u8]) -> bool {
    // Each component has three bytes, of which the second is its columns and rows.
    let factors = |component: usize| frame.get(COMPONENTS + 2 + 3 * component).copied();
    frame.get(COMPONENTS) == Some(&3) && [0, 1, 2].map(factors) == [0x12, 0x11, 0x11].map(Some)
}

/// The names of a PNG file's chunks before its pixels.
fn png_chunks(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = &file[PNG.len()..];
    std::iter::from_fn(move || {
        let (size, after) = rest.split_first_chunk::<4>()?;
        let name = after.get(..4)?;
        // The name, the contents and their checksum.
        rest = after.get((u32::from_be_bytes(*size) as usize).checked_add(8)?..)?;
        (name != b"IDAT").then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JPEG file of these segments, up to its pixels.
    fn jpeg(segments: &[(u8, &[u8])]) -> Vec<u8> {
        let mut file = vec![0xff, 0xd8];
        for (marker, contents) in segments {
            file.extend([0xff, *marker]);
            file.extend((contents.len() as u16 + 2).to_be_bytes());
            file.extend(*contents);
        }
        file.extend([0xff, 0xda, 0, 2, 0xff, 0xd9]);
        file
    }

    #[test]
    fn what_pixels_leave_out_is_told() {
        let frame = |luma: u8| [8, 0, 9, 0, 9, 3, 1, luma, 0, 2, 0x11, 1, 3, 0x11, 1];
        let told = |file: &[u8]| remarks(file, true).join("; ");
        assert_eq!(told(&jpeg(&[(0xc0, &frame(0x22)[..])])), "");
        assert!(told(&jpeg(&[(0xc2, &frame(0x12)[..])])).contains("4:4:0"));
        assert_eq!(told(&jpeg(&[(0xc0, &frame(0x21)[..]), (0xc4, &frame(0x12)[..])])), "");
        assert!(told(&jpeg(&[(0xc1, &[8, 0, 9, 0, 9, 4][..])])).contains("CMYK"));
        let profile: &[u8] = b"ICC_PROFILE\0\x01\x02";
        assert_eq!(told(&jpeg(&[(0xe2, profile), (0xe2, profile)])), PROFILE);
        assert_eq!(told(b"\x89PNG\r\n\x1a\n\0\0\0\x01IHDRa0000\0\0\0\0iCCP0000\0\0\0\0IDAT"), PROFILE);
        assert_eq!(told(b"\x89PNG\r\n\x1a\n\0\0\0\x01IHDRa0000\0\0\0\0IDAT\0\0\0\0\0\0\0\0iCCP0000"), "");
        let exif: &[u8] = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let turned = jpeg(&[(0xe1, exif)]);
        assert_eq!(told(&turned), "it is turned as its EXIF data say");
        assert!(remarks(&turned, false)[0].contains("ignored"));
        let preview: &[u8] = &[1, 0xff, 0xd9];
        let without_end = jpeg(&[(0xe1, preview)]);
        assert_eq!(told(&without_end), "");
        let without_end = &without_end[..without_end.len() - 2];
        assert_eq!(told(without_end), "it is a JPEG without the marker that ends it");
        for end in 0..turned.len() {
            remarks(&turned[..end], true);
        }
    }
}
