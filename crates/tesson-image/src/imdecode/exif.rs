//! The EXIF orientation of JPEG files.

use crate::decode::{ImageError, zeros};
use crate::transform::view::Size;

/// The tag of the orientation, and the type of its value.
const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// The orientation of an image that is stored as it is to be seen.
pub(super) const UPRIGHT: u16 = 1;

/// The orientation that a file states, from 1 to 8; 1 if it states none.
pub(super) fn orientation(file: &[u8]) -> u16 {
    segments(file)
        .find_map(|(marker, contents)| in_segment(marker, contents))
        .filter(|o| (1..=8).contains(o))
        .unwrap_or(UPRIGHT)
}

/// The markers and contents of the segments before the image data.
pub(super) fn segments(file: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = &file[file.len().min(2)..];
    std::iter::from_fn(move || {
        let [0xff, marker, high, low, ..] = *rest else { return None };
        let end = 2 + usize::from(u16::from_be_bytes([high, low]));
        let contents = rest.get(4..end)?;
        rest = &rest[end..];
        const START_OF_SCAN: u8 = 0xda;
        (marker != START_OF_SCAN).then_some((marker, contents))
    })
}

/// The orientation in a segment of this marker.
fn in_segment(marker: u8, contents: &[u8]) -> Option<u16> {
    const APP1: u8 = 0xe1;
    if marker != APP1 {
        return None;
    }
    let tiff = contents.strip_prefix(b"Exif\0\0")?;
    let little = tiff.starts_with(b"II");
    let short = |at: usize| {
        let bytes = *tiff.get(at..)?.first_chunk()?;
        Some(if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let bytes = *tiff.get(at..)?.first_chunk()?;
        Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let directory = long(4)? as usize;
    let entries = usize::from(short(directory)?);
    let mut tags = (0..entries).map(|i| directory + 2 + 12 * i);
    let entry = tags.find(|&at| short(at) == Some(ORIENTATION) && short(at + 2) == Some(SHORT))?;
    short(entry + 8)
}

/// True if applying the orientation swaps height and width.
pub(super) fn swaps_sides(orientation: u16) -> bool {
    orientation >= 5
}

/// The size of a turned image.
pub(super) fn turned(orientation: u16, size: Size) -> Size {
    let Size { height, width, channels } = size;
    if swaps_sides(orientation) { Size::new(width, height, channels) } else { size }
}

/// Turns an image as its orientation says.
///
/// # Errors
/// There is no memory for another image.
pub(super) fn turn(orientation: u16, size: Size, pixels: &mut Vec<u8>) -> Result<Size, ImageError> {
    let Size { height, width, channels } = size;
    let (last_row, last_column) = (height.wrapping_sub(1), width.wrapping_sub(1));
    let turned = turned(orientation, size);
    // The row and column of the source of each pixel.
    let source = |y: usize, x: usize| match orientation {
        2 => (y, last_column - x),
        3 => (last_row - y, last_column - x),
        4 => (last_row - y, x),
        5 => (x, y),
        6 => (last_row - x, y),
        7 => (last_row - x, last_column - y),
        8 => (x, last_column - y),
        _ => (y, x),
    };
    if !(2..=8).contains(&orientation) {
        return Ok(size);
    }
    let mut upright = zeros(size.values())?;
    let mut to = upright.chunks_exact_mut(channels.max(1));
    for y in 0..turned.height {
        for x in 0..turned.width {
            let (y, x) = source(y, x);
            let to = to.next().expect("a turned image has as many pixels");
            to.copy_from_slice(&pixels[(y * width + x) * channels..][..channels]);
        }
    }
    *pixels = upright;
    Ok(turned)
}
