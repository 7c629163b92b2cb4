//! A sheet of the images of a minibatch, each with the number of its class.

use std::path::Path;

use tesson::{Minibatch, Samples, SourceConfig, StreamBatch};
use tesson_image::decode::Depth;
use tesson_image::encode::png as encode_png;
use tesson_report::{Image, is_blue_first};

use crate::failure::Failure;

/// Most images on a sheet.
const MOST: usize = 256;

/// Most pixels of a sheet, unless one image has more: of large images there are fewer.
const MOST_PIXELS: usize = 1 << 26;

/// Pixels between images, and around them.
const GAP: usize = 2;

/// Height of the strip with the number, and width of a digit, each with a pixel of distance.
const STRIP: usize = 6;
const DIGIT: usize = 4;

const BACKGROUND: u8 = 48;
const INK: u8 = 255;

/// The digits 0 to 9: five rows of three pixels, the leftmost in the highest bit.
const DIGITS: [[u8; 5]; 10] = [
    [0b111, 0b101, 0b101, 0b101, 0b111],
    [0b010, 0b110, 0b010, 0b010, 0b111],
    [0b111, 0b001, 0b111, 0b100, 0b111],
    [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001],
    [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111],
    [0b111, 0b001, 0b010, 0b010, 0b010],
    [0b111, 0b101, 0b111, 0b101, 0b111],
    [0b111, 0b101, 0b111, 0b001, 0b111],
];

/// Writes the sheet of a minibatch to a PNG file.
pub(crate) fn write(path: &Path, minibatch: &Minibatch, config: &SourceConfig) -> Result<(), Failure> {
    let images = minibatch.streams().iter().find_map(|stream| images(stream, config)).ok_or_else(|| {
        let streams =
            minibatch.streams().iter().map(|s| format!("`{}` has {}", s.info().name, s.info().shape));
        Failure::Usage(format!(
            "--preview {}: no stream holds images, of rows, columns and 1 or 3 channels in either order: {}",
            path.display(),
            streams.collect::<Vec<_>>().join(", ")
        ))
    })?;
    let labels = minibatch.streams().iter().find_map(classes).unwrap_or_default();
    let sheet = Sheet::of(&images, &labels);
    let file = encode_png(&sheet.pixels, [sheet.height, sheet.width, 3], Depth::Eight)
        .map_err(|what| Failure::Usage(format!("--preview {}: {what}", path.display())))?;
    tesson_engine::atomic_file::write(path, &file).map_err(|e| Failure::file(path, e))
}

/// The class of each sample of a stream, if all samples have one entry.
fn classes(stream: &StreamBatch) -> Option<Vec<i32>> {
    let Samples::Sparse { indptr, indices, .. } = stream.samples() else { return None };
    indptr.windows(2).all(|w| w[1] - w[0] == 1).then(|| indices.to_vec())
}

/// The images of a stream that are on the sheet; none if its samples are no images.
fn images<'a>(stream: &'a StreamBatch, config: &SourceConfig) -> Option<Vec<Image<'a>>> {
    let is_blue_first = is_blue_first(config, &stream.info().name);
    let (mut images, mut height, mut width) = (Vec::new(), 0, 0);
    for sample in 0..stream.n_samples().min(MOST) {
        let image = Image::of_sample(stream, sample, is_blue_first, 1)?;
        (height, width) = (image.height().max(height), image.width().max(width));
        if !images.is_empty() && (images.len() + 1) * height * width > MOST_PIXELS {
            break;
        }
        images.push(image);
    }
    Image::on_one_scale(&mut images);
    Some(images).filter(|images| !images.is_empty())
}

/// Rows of pixels, three bytes each.
struct Sheet {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Sheet {
    fn of(images: &[Image<'_>], labels: &[i32]) -> Sheet {
        let n = images.len();
        let height = images.iter().map(Image::height).max().unwrap_or(0);
        let widest = images.iter().map(Image::width).max().unwrap_or(0);
        let columns = (1..).find(|columns| columns * columns >= n).unwrap_or(1);
        let texts: Vec<String> = labels.iter().take(n).map(i32::to_string).collect();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let cell = [STRIP + height + GAP, widest.max(longest * DIGIT) + GAP];
        let [height, width] = [n.div_ceil(columns) * cell[0] + GAP, columns * cell[1] + GAP];
        let mut sheet = Sheet { width, height, pixels: vec![BACKGROUND; 3 * width * height] };
        for (i, image) in images.iter().enumerate() {
            let (top, left) = (GAP + i / columns * cell[0], GAP + i % columns * cell[1]);
            if let Some(text) = texts.get(i) {
                sheet.write(text, top, left);
            }
            for y in 0..image.height() {
                for x in 0..image.width() {
                    sheet.set(top + STRIP + y, left + x, image.pixel(y, x));
                }
            }
        }
        sheet
    }

    fn set(&mut self, y: usize, x: usize, pixel: [u8; 3]) {
        self.pixels[3 * (y * self.width + x)..][..3].copy_from_slice(&pixel);
    }

    /// Draws digits.
    fn write(&mut self, text: &str, top: usize, left: usize) {
        for (n, digit) in text.bytes().enumerate() {
            let rows = DIGITS[usize::from(digit.wrapping_sub(b'0')) % 10];
            for (y, row) in rows.into_iter().enumerate() {
                for x in (0..3).filter(|x| row >> (2 - x) & 1 == 1) {
                    self.set(top + y, left + n * DIGIT + x, [INK; 3]);
                }
            }
        }
    }
}
