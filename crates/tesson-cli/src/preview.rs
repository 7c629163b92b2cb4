//! A sheet of the images of a minibatch, each with the number of its class.

use std::path::Path;

use tesson::config::Value;
use tesson::{Minibatch, SampleValues, Samples, SourceConfig, StreamBatch};
use tesson_image::decode::Depth;
use tesson_image::encode::png as encode_png;

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
    let images = minibatch.streams().iter().find_map(|stream| Images::of(stream, config)).ok_or_else(|| {
        let streams = minibatch.streams().iter().map(|s| format!("`{}` has {}", s.info().name, s.info().shape));
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

/// True for streams of formats of images, which decode them as CNTK does, with blue first.
pub(crate) fn is_blue_first(config: &SourceConfig, stream: &str) -> bool {
    config.deserializers.iter().any(|d| {
        let streams = d.options.get("input");
        d.format.decoder.is_some() && matches!(streams, Some(Value::Section(s)) if s.get(stream).is_some())
    })
}

/// The images of a stream.
struct Images<'a> {
    values: &'a SampleValues,
    /// Each that is on the sheet.
    places: Vec<Place>,
    /// Those of the highest and of the widest.
    height: usize,
    width: usize,
    channels: usize,
    /// Channels come before rows and columns.
    is_transposed: bool,
    /// Blue comes first.
    is_bgr: bool,
    /// The values that become black and white.
    range: (f64, f64),
}

/// The position of an image's values, and its shape.
struct Place {
    first: usize,
    height: usize,
    width: usize,
}

impl<'a> Images<'a> {
    /// The stream's samples, if they can be images.
    fn of(stream: &'a StreamBatch, config: &SourceConfig) -> Option<Images<'a>> {
        let &[a, b, c] = stream.info().shape.dims() else { return None };
        let (channels, is_transposed) = match [a, b, c] {
            [_, _, channels @ (1 | 3)] => (channels, false),
            [channels @ (1 | 3), _, _] => (channels, true),
            _ => return None,
        };
        let (values, shapes): (_, Vec<&[usize]>) = match stream.samples() {
            Samples::Dense { values } => (values, vec![stream.info().shape.dims(); stream.n_samples()]),
            Samples::Ragged { values, shapes } => (values, shapes.chunks(3).collect()),
            Samples::Sparse { .. } => return None,
        };
        let (mut places, mut height, mut width, mut first) = (Vec::new(), 0, 0, 0);
        for shape in shapes.into_iter().take(MOST) {
            let [y, x] = if is_transposed { [shape[1], shape[2]] } else { [shape[0], shape[1]] };
            if !places.is_empty() && (places.len() + 1) * height.max(y) * width.max(x) > MOST_PIXELS {
                break;
            }
            places.push(Place { first, height: y, width: x });
            (height, width, first) = (height.max(y), width.max(x), first + y * x * channels);
        }
        let range = range(values, first);
        let is_bgr = is_blue_first(config, &stream.info().name);
        Some(Images { values, places, height, width, channels, is_transposed, is_bgr, range })
    }

    /// Red, green and blue of a pixel.
    fn pixel(&self, &Place { first, height, width }: &Place, y: usize, x: usize) -> [u8; 3] {
        [0, 1, 2].map(|color| {
            let channel = match self.channels {
                1 => 0,
                _ if self.is_bgr => 2 - color,
                _ => color,
            };
            let within = if self.is_transposed {
                (channel * height + y) * width + x
            } else {
                (y * width + x) * self.channels + channel
            };
            let value = self.values.get(first + within);
            let (black, white) = self.range;
            ((value - black) / (white - black) * 255.0).round().clamp(0.0, 255.0) as u8
        })
    }
}

/// The values for black and white: 0 and 255, if all values lie between them and not all within 0 to 1; otherwise the
/// smallest and the largest.
fn range(values: &SampleValues, n: usize) -> (f64, f64) {
    let finite = (0..n).map(|i| values.get(i)).filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let is_plain = matches!(values, SampleValues::U8(_)) || low >= 0.0 && high <= 255.0 && high > 1.0;
    if is_plain || low >= high { (0.0, 255.0) } else { (low, high) }
}

/// Rows of pixels, three bytes each.
struct Sheet {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Sheet {
    fn of(images: &Images<'_>, labels: &[i32]) -> Sheet {
        let n = images.places.len();
        let columns = (1..).find(|columns| columns * columns >= n).unwrap_or(1);
        let texts: Vec<String> = labels.iter().take(n).map(i32::to_string).collect();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let cell = [STRIP + images.height + GAP, images.width.max(longest * DIGIT) + GAP];
        let [height, width] = [n.div_ceil(columns) * cell[0] + GAP, columns * cell[1] + GAP];
        let mut sheet = Sheet { width, height, pixels: vec![BACKGROUND; 3 * width * height] };
        for (i, place) in images.places.iter().enumerate() {
            let (top, left) = (GAP + i / columns * cell[0], GAP + i % columns * cell[1]);
            if let Some(text) = texts.get(i) {
                sheet.write(text, top, left);
            }
            for y in 0..place.height {
                for x in 0..place.width {
                    sheet.set(top + STRIP + y, left + x, images.pixel(place, y, x));
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
