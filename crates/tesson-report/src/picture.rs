//! Small pictures of samples: images as they are, and samples over time as a map.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tesson::config::Value;
use tesson::{SampleValues, Samples, SourceConfig, StreamBatch};
use tesson_image::decode::Depth;
use tesson_image::encode::png;

/// Pixels, three bytes each, row after row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Red, green and blue of each pixel.
    pub pixels: Vec<u8>,
}

/// Smallest sides of what is drawn as an image.
const SMALLEST: usize = 8;

/// The least length and number of values of samples over time that are drawn as a map.
const SMALLEST_MAP: usize = 8;

/// Colours of a map from the smallest value to the largest, evenly spaced: dark to light for every eye.
const COLORS: [[u8; 3]; 5] = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

/// How the values of an image lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    height: usize,
    width: usize,
    channels: usize,
    /// Channels come before rows and columns.
    is_transposed: bool,
}

impl Layout {
    /// The layout of a sample of this shape, if it can be an image: of sides of `least`, or more where channels do not say that it is one.
    fn of(shape: &[usize], least: usize) -> Option<Layout> {
        let (height, width, channels, is_transposed) = match *shape {
            [height, width, channels @ (1 | 3)] => (height, width, channels, false),
            [channels @ (1 | 3), height, width] => (height, width, channels, true),
            [height, width] => (height, width, 1, false),
            _ => return None,
        };
        let least = if shape.len() == 2 { SMALLEST } else { least };
        (height.min(width) >= least).then_some(Layout { height, width, channels, is_transposed })
    }

    /// The layout of samples without rows and columns that may be square images: of at least 14 x 14 values, none below 0, or 8 x 8
    /// whole numbers.
    fn of_square(n: usize, values: &SampleValues, range: &Range<usize>) -> Option<Layout> {
        let side = n.isqrt();
        let all = |may_be: fn(f64) -> bool| range.clone().all(|i| may_be(values.get(i)));
        let is_large = side >= 14 || side >= SMALLEST && all(|v| v.fract() == 0.0);
        let is_square = side * side == n && is_large && all(|v| v >= 0.0);
        is_square.then_some(Layout { height: side, width: side, channels: 1, is_transposed: false })
    }
}

/// A sample that is an image, where a batch has it.
pub struct Image<'a> {
    values: &'a SampleValues,
    range: Range<usize>,
    layout: Layout,
    is_blue_first: bool,
    /// The values for black and white.
    scale: (f64, f64),
}

impl<'a> Image<'a> {
    /// A sample as an image, if it can be one with sides of `least` or more. `is_blue_first`: colours come in the order of OpenCV.
    pub fn of_sample(
        batch: &'a StreamBatch,
        sample: usize,
        is_blue_first: bool,
        least: usize,
    ) -> Option<Image<'a>> {
        let shape = batch.info().shape.dims();
        let (values, layout, range) = match batch.samples() {
            Samples::Dense { values } if !matches!(values, SampleValues::Strings(_)) => {
                let n = batch.info().shape.len();
                let range = sample * n..(sample + 1) * n;
                let layout = match shape {
                    [n] => Layout::of_square(*n, values, &range)?,
                    shape => Layout::of(shape, least)?,
                };
                (values, layout, range)
            }
            Samples::Ragged { values, .. } if !matches!(values, SampleValues::Strings(_)) => {
                let (shape, range) = batch.ragged_sample(sample)?;
                (values, Layout::of(shape, least)?, range)
            }
            _ => return None,
        };
        let (low, high) = extremes(values, range.clone());
        let scale = black_and_white(low, high, matches!(values, SampleValues::U8(_)));
        Some(Image { values, range, layout, is_blue_first, scale })
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.layout.height
    }

    /// Pixels of a row.
    pub fn width(&self) -> usize {
        self.layout.width
    }

    /// Gives several images one scale from black to white, so that they can be compared.
    pub fn on_one_scale(images: &mut [Image<'_>]) {
        let of_all = images.iter().map(|image| extremes(image.values, image.range.clone()));
        let (low, high) = of_all.fold((f64::MAX, f64::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        for image in images {
            image.scale = black_and_white(low, high, matches!(image.values, SampleValues::U8(_)));
        }
    }

    /// A colour of a pixel, 0 for red to 2 for blue, from 0 to 255.
    fn value(&self, y: usize, x: usize, color: usize) -> f64 {
        let Layout { height, width, channels, is_transposed } = self.layout;
        let channel = match channels {
            1 => 0,
            _ if self.is_blue_first => 2 - color,
            _ => color,
        };
        let within = if is_transposed {
            (channel * height + y) * width + x
        } else {
            (y * width + x) * channels + channel
        };
        let (black, white) = self.scale;
        (self.values.get(self.range.start + within) - black) / (white - black) * 255.0
    }

    /// Red, green and blue of a pixel.
    pub fn pixel(&self, y: usize, x: usize) -> [u8; 3] {
        [0, 1, 2].map(|color| byte(self.value(y, x, color)))
    }
}

/// A byte of a value from 0 to 255.
fn byte(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// True for a stream of a format of images that decodes as CNTK does, with blue first, unless its `channelOrder` is `rgb`.
pub fn is_blue_first(config: &SourceConfig, stream: &str) -> bool {
    config.deserializers.iter().any(|d| {
        let option =
            |name: &str| d.options.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v);
        let has_stream = matches!(option("input"), Some(Value::Section(s)) if s.get(stream).is_some());
        let is_rgb =
            matches!(option("channelOrder"), Some(Value::Text(order)) if order.eq_ignore_ascii_case("rgb"));
        d.format.decoder.is_some() && has_stream && !is_rgb
    })
}

impl Picture {
    /// A sample as an image, at most `side` pixels wide and high; `None` if it is none. `is_blue_first`: colours come in
    /// the order of OpenCV.
    pub fn of_sample(
        batch: &StreamBatch,
        sample: usize,
        is_blue_first: bool,
        side: usize,
    ) -> Option<Picture> {
        let image = Image::of_sample(batch, sample, is_blue_first, SMALLEST)?;
        let (height, width) = (image.height(), image.width());
        let scale = (height.max(width) as f64 / side as f64).max(1.0);
        let [rows, columns] = [height, width].map(|n| ((n as f64 / scale) as usize).max(1));
        let mut pixels = Vec::with_capacity(3 * rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let (ys, xs) = (cells(row, rows, height), cells(column, columns, width));
                let n = (ys.len() * xs.len()) as f64;
                for color in 0..3 {
                    let sum: f64 = ys
                        .clone()
                        .flat_map(|y| xs.clone().map(move |x| (y, x)))
                        .map(|(y, x)| image.value(y, x, color))
                        .sum();
                    pixels.push(byte(sum / n));
                }
            }
        }
        Some(Picture { width: columns, height: rows, pixels })
    }

    /// Dense samples over time as a map, the first sample at the left and the first value at the bottom; `None` if there are
    /// too few of them.
    pub fn of_map(batch: &StreamBatch, samples: Range<usize>, sides: [usize; 2]) -> Option<Picture> {
        let Samples::Dense { values } = batch.samples() else { return None };
        let dim = batch.info().shape.len();
        let is_map =
            samples.len() >= SMALLEST_MAP && dim >= SMALLEST_MAP && batch.info().shape.dims().len() == 1;
        if !is_map || matches!(values, SampleValues::Strings(_)) {
            return None;
        }
        let (low, high) = extremes(values, samples.start * dim..samples.end * dim);
        let (columns, rows) = (samples.len().min(sides[0]), dim.min(sides[1]));
        let mut pixels = Vec::with_capacity(3 * rows * columns);
        for row in (0..rows).rev() {
            for column in 0..columns {
                let (dims, times) = (cells(row, rows, dim), cells(column, columns, samples.len()));
                let n = (dims.len() * times.len()) as f64;
                let at = |time: usize, d: usize| values.get((samples.start + time) * dim + d);
                let sum: f64 = times
                    .flat_map(|time| dims.clone().map(move |d| (time, d)))
                    .map(|(time, d)| at(time, d))
                    .sum();
                pixels.extend(color((sum / n - low) / (high - low).max(f64::MIN_POSITIVE)));
            }
        }
        Some(Picture { width: columns, height: rows, pixels })
    }

    /// The picture as a PNG file in a data URI; `None` in a build without PNG.
    pub(crate) fn data_uri(&self) -> Option<String> {
        let file = png(&self.pixels, [self.height, self.width, 3], Depth::Eight).ok()?;
        Some(format!("data:image/png;base64,{}", STANDARD.encode(file)))
    }

    /// Red, green and blue of a pixel.
    pub fn pixel(&self, y: usize, x: usize) -> [u8; 3] {
        let first = 3 * (y * self.width + x);
        [0, 1, 2].map(|color| self.pixels[first + color])
    }
}

/// The cells of `n` that fall to cell `i` of `of`, at least one.
fn cells(i: usize, of: usize, n: usize) -> Range<usize> {
    let begin = i * n / of;
    begin..((i + 1) * n / of).max(begin + 1)
}

/// The colour of a value from 0 to 1.
fn color(value: f64) -> [u8; 3] {
    if !value.is_finite() {
        return [128, 128, 128];
    }
    let place = value.clamp(0.0, 1.0) * (COLORS.len() - 1) as f64;
    let first = (place as usize).min(COLORS.len() - 2);
    let part = place - first as f64;
    [0, 1, 2].map(|i| {
        let [a, b] = [COLORS[first][i], COLORS[first + 1][i]].map(f64::from);
        (a + (b - a) * part).round() as u8
    })
}

/// The smallest and the largest finite value.
fn extremes(values: &SampleValues, range: Range<usize>) -> (f64, f64) {
    let finite = range.map(|i| values.get(i)).filter(|value| value.is_finite());
    finite.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
}

/// The largest value of an image whose values may be of 0 to 255, at least: others have a scale of their own, such as 0 to 1 or 0 to 16.
const LEAST_WHITE: f64 = 64.0;

/// The values for black and white: 0 and 255 of bytes, and of other values that lie between them and look like it; otherwise the
/// smallest and the largest.
fn black_and_white(low: f64, high: f64, are_bytes: bool) -> (f64, f64) {
    let is_plain = are_bytes || low >= 0.0 && (LEAST_WHITE..=255.0).contains(&high);
    if is_plain || low >= high { (0.0, 255.0) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_images_are_known() {
        let layout = |shape: &[usize]| {
            Layout::of(shape, SMALLEST).map(|l| (l.height, l.width, l.channels, l.is_transposed))
        };
        assert_eq!(layout(&[28, 20, 3]), Some((28, 20, 3, false)));
        assert_eq!(layout(&[1, 28, 20]), Some((28, 20, 1, true)));
        assert_eq!(layout(&[28, 20]), Some((28, 20, 1, false)));
        assert_eq!(layout(&[3, 2]), None);
        assert_eq!(layout(&[4, 2, 3]), None);
        assert!(Layout::of(&[4, 2, 3], 1).is_some() && Layout::of(&[4, 2], 1).is_none());
        assert_eq!(layout(&[28, 20, 4]), None);
    }

    #[test]
    fn values_of_a_scale_of_their_own_are_stretched() {
        assert_eq!(black_and_white(0.0, 16.0, false), (0.0, 16.0));
        assert_eq!(black_and_white(0.0, 16.0, true), (0.0, 255.0));
        assert_eq!(black_and_white(0.25, 1.0, false), (0.25, 1.0));
        assert_eq!(black_and_white(3.0, 200.0, false), (0.0, 255.0));
        assert_eq!(black_and_white(-1.0, 200.0, false), (-1.0, 200.0));
        assert_eq!(black_and_white(7.0, 7.0, false), (0.0, 255.0));
    }

    #[test]
    fn each_cell_falls_to_a_pixel() {
        let all: Vec<_> = (0..3).map(|i| cells(i, 3, 10)).collect();
        assert_eq!(all, [0..3, 3..6, 6..10]);
    }

    #[test]
    fn colours_run_from_dark_to_light() {
        assert_eq!(color(0.0), COLORS[0]);
        assert_eq!(color(1.0), COLORS[4]);
        assert_eq!(color(f64::NAN), [128; 3]);
    }
}
