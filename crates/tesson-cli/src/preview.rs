//! A sheet of the pictures of a minibatch, each with the number of its class.

use std::path::Path;

use tesson::config::Value;
use tesson::pictures::encode_png;
use tesson::tfds::pictures::Depth;
use tesson::{Minibatch, SampleValues, Samples, SourceConfig, StreamBatch};

use crate::failure::Failure;

/// Most pictures on a sheet.
const MOST: usize = 256;

/// Pixels between pictures, and around them.
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
    let pictures = minibatch.streams().iter().find_map(|stream| Pictures::of(stream, config)).ok_or_else(|| {
        let streams = minibatch.streams().iter().map(|s| format!("`{}` has {}", s.info().name, s.info().shape));
        Failure::Usage(format!(
            "--preview {}: no stream holds pictures, of rows, columns and 1 or 3 channels in either order: {}",
            path.display(),
            streams.collect::<Vec<_>>().join(", ")
        ))
    })?;
    let labels = minibatch.streams().iter().find_map(classes).unwrap_or_default();
    let sheet = Sheet::of(&pictures, &labels);
    let file = encode_png(&sheet.pixels, [sheet.height, sheet.width, 3], Depth::Eight)
        .map_err(|what| Failure::Usage(format!("--preview {}: {what}", path.display())))?;
    tesson::files::replace(path, &file).map_err(|e| Failure::file(path, e))
}

/// The class of each sample of a stream whose samples have one entry each.
fn classes(stream: &StreamBatch) -> Option<Vec<i32>> {
    let Samples::Sparse { indptr, indices, .. } = stream.samples() else { return None };
    indptr.windows(2).all(|w| w[1] - w[0] == 1).then(|| indices.to_vec())
}

/// The pictures of a stream.
struct Pictures<'a> {
    values: &'a SampleValues,
    n: usize,
    height: usize,
    width: usize,
    channels: usize,
    /// Channels come before rows and columns.
    is_transposed: bool,
    /// Blue comes first.
    is_bgr: bool,
    /// What becomes black and what white.
    range: (f64, f64),
}

impl<'a> Pictures<'a> {
    /// The stream's samples, if they can be pictures.
    fn of(stream: &'a StreamBatch, config: &SourceConfig) -> Option<Pictures<'a>> {
        let (Samples::Dense { values }, &[a, b, c]) = (stream.samples(), stream.info().shape.dims()) else {
            return None;
        };
        let (height, width, channels, is_transposed) = match [a, b, c] {
            [height, width, channels @ (1 | 3)] => (height, width, channels, false),
            [channels @ (1 | 3), height, width] => (height, width, channels, true),
            _ => return None,
        };
        let n = stream.n_samples().min(MOST);
        let range = range(values, n * height * width * channels);
        // Formats of pictures decode them as CNTK does, with blue first.
        let is_bgr = config.deserializers.iter().any(|d| {
            let streams = d.options.get("input");
            d.format.decoder.is_some()
                && matches!(streams, Some(Value::Section(s)) if s.get(&stream.info().name).is_some())
        });
        Some(Pictures { values, n, height, width, channels, is_transposed, is_bgr, range })
    }

    /// Red, green and blue of a pixel.
    fn pixel(&self, picture: usize, y: usize, x: usize) -> [u8; 3] {
        [0, 1, 2].map(|color| {
            let channel = match self.channels {
                1 => 0,
                _ if self.is_bgr => 2 - color,
                _ => color,
            };
            let within = match self.is_transposed {
                true => (channel * self.height + y) * self.width + x,
                false => (y * self.width + x) * self.channels + channel,
            };
            let value = self.values.get(picture * self.height * self.width * self.channels + within);
            let (black, white) = self.range;
            ((value - black) / (white - black) * 255.0).round().clamp(0.0, 255.0) as u8
        })
    }
}

/// Which values are black and white: 0 and 255, if all values lie between them and do not all lie within 0 to 1; else the
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
    fn of(pictures: &Pictures<'_>, labels: &[i32]) -> Sheet {
        let columns = (1..).find(|n| n * n >= pictures.n).unwrap_or(1);
        let texts: Vec<String> = labels.iter().take(pictures.n).map(i32::to_string).collect();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        let cell = [STRIP + pictures.height + GAP, pictures.width.max(longest * DIGIT) + GAP];
        let [height, width] = [pictures.n.div_ceil(columns) * cell[0] + GAP, columns * cell[1] + GAP];
        let mut sheet = Sheet { width, height, pixels: vec![BACKGROUND; 3 * width * height] };
        for i in 0..pictures.n {
            let (top, left) = (GAP + i / columns * cell[0], GAP + i % columns * cell[1]);
            if let Some(text) = texts.get(i) {
                sheet.write(text, top, left);
            }
            for y in 0..pictures.height {
                for x in 0..pictures.width {
                    sheet.set(top + STRIP + y, left + x, pictures.pixel(i, y, x));
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
