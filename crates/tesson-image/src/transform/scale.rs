//! Making images of one size (spec/image.md §6).

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, Value,
    Words, options, transform_of,
};

use super::axis::{Filter, Interpolation};
use super::canvas::Canvas;
use super::fault::TransformFault;
use super::options::{OptionRefusal, SEED, seed_if_given};
use super::random::Random;
use super::real::Real;
use super::resize::{ResizeScratch, RowsMut, Target, Value as PixelValue, resize};
use super::step::{ApplyStep, OpenSize, StepFacts};
use super::view::{Rect, Size, View};
use crate::image_transforms::{self, NamedStep, refused};

pub(crate) static FORMAT: TransformFormat = transform_of::<Scale>(
    "Scale",
    "Scales the image to a width and a height.",
    OpenTransform::Chained(image_transforms::open),
);

static INTERPOLATIONS: Words<Interpolation, 7> = Words::new([
    ("nearest", Interpolation::Nearest),
    ("linear", Interpolation::Linear),
    ("cubic", Interpolation::Cubic),
    ("lanczos", Interpolation::Lanczos),
    ("linear-aa", Interpolation::Antialiased(Filter::Linear)),
    ("cubic-aa", Interpolation::Antialiased(Filter::Cubic)),
    ("lanczos-aa", Interpolation::Antialiased(Filter::Lanczos)),
]);

/// A width, a height or a number of channels.
fn side(options: &Options<'_>, name: &str) -> Result<usize, ConfigError> {
    match usize::try_from(options.whole(name)?) {
        Ok(n @ 1..) => Ok(n),
        found => {
            let found = format!("`{}`", found.unwrap_or(usize::MAX));
            Err(ConfigError::out_of_range(options.path(name), found, "at least 1"))
        }
    }
}

/// A single value, or a list of several.
fn one_or_list(values: impl Iterator<Item = Value>) -> Value {
    let mut values: Vec<Value> = values.collect();
    if values.len() == 1 { values.remove(0) } else { Value::List(values) }
}

/// The values of padding; `None` for the pixels of the edge.
fn padding(options: &Options<'_>, channels: usize) -> Result<Option<[u32; 4]>, ConfigError> {
    let given = options.numbers("padValue")?;
    let is_value = |value: &f64| (0.0..=f64::from(i32::MAX)).contains(value) && value.fract() == 0.0;
    match given[..] {
        [-1.0] => return Ok(None),
        [value] if is_value(&value) => return Ok(Some([value as u32; 4])),
        _ if given.len() == channels && channels <= 4 && given.iter().all(is_value) => {}
        _ => {
            let found: Vec<String> = given.iter().map(f64::to_string).collect();
            let refusal = OptionRefusal::PadValue { found: found.join(":"), channels };
            return Err(ConfigError::refused(options.path("padValue"), &refusal));
        }
    }
    let mut pixel = [0; 4];
    pixel.iter_mut().zip(given).for_each(|(to, value)| *to = value as u32);
    Ok(Some(pixel))
}

fn mode(options: &Options<'_>, channels: usize) -> Result<ScaleMode, ConfigError> {
    let padding = padding(options, channels)?;
    match options.text("scaleMode")?.as_str() {
        "fill" => Ok(ScaleMode::Fill),
        "crop" => Ok(ScaleMode::Crop),
        "pad" => Ok(ScaleMode::Pad(padding)),
        other => {
            let expected = "`fill`, `crop` or `pad` in lower case";
            Err(ConfigError::unknown_word(options.path("scaleMode"), format!("`{other}`"), expected))
        }
    }
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(Scale::read(options, &())?, "scale"))
}

/// The treatment of an image with another ratio of width to height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleMode {
    /// The ratio changes.
    Fill,
    /// The excess is cut off on both sides.
    Crop,
    /// The missing part is added on both sides: the pixels of the edge, or a value for each channel; further channels
    /// have the last one. Images in 8 bits have at most 255.
    Pad(Option<[u32; 4]>),
}

impl ScaleMode {
    fn identify(self, identity: Identity) -> Identity {
        match self {
            ScaleMode::Fill => identity.word("fill"),
            ScaleMode::Crop => identity.word("crop"),
            ScaleMode::Pad(None) => identity.word("pad edge"),
            ScaleMode::Pad(Some([red, green, blue, more])) => {
                identity.field("pad", format_args!("[{red}, {green}, {blue}, {more}]"))
            }
        }
    }
}

options! {
    /// Resizes images to one size.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Scale(options) {
        width: usize = "width": OptionKind::Whole, required
            => "Width in pixels."
            [read side(options, "width")?];
        height: usize = "height": OptionKind::Whole, required
            => "Height in pixels."
            [read side(options, "height")?];
        channels: usize = "channels": OptionKind::Whole, required
            => "Channels of the stream; images are not converted."
            [read side(options, "channels")?]
            [identity with |scale, text| {
                text.word(format_args!("{}x{}x{}", scale.width, scale.height, scale.channels))
            }];
        mode: ScaleMode = "scaleMode": OptionKind::Text, "fill"
            => "How the shape is matched: `fill` changes the aspect ratio, `crop` cuts off the excess, `pad` adds a border."
            [read mode(options, channels)?]
            [identity after "interpolations" with |scale, text| scale.mode.identify(text)];
        /// One of them for each image.
        interpolations: Box<[Interpolation]> = "interpolations": INTERPOLATIONS.kind_of_list(), "linear"
            => "Method to compute pixels, one drawn for each image if several are given; methods with `-aa` are antialiased, like \
             Pillow's."
            [read options.words("interpolations", &INTERPOLATIONS)?.into()]
            [describe as |scale| one_or_list(scale.words().map(|word| Value::Text(word.into())))]
            [identity with |scale, text| text.word(scale.words().collect::<Vec<_>>().join(":"))];
        _ = "padValue": OptionKind::Numbers, "-1"
            => "Value of the padding: one for all channels, one for each, or -1 to repeat the edge."
            [describe with |_, options, section| {
                let values = options.numbers("padValue")?.into_iter();
                section.push("padValue", one_or_list(values.map(|value| Value::Whole(value as i128))));
                Ok(())
            }];
        _: Option<u64> = SEED [read seed_if_given(options)?];
        check |scale, options| {
            scale.check_size().map_err(|fault| refused(options, "width", &fault))
        };
    }
}

/// The number of values of the largest result.
const MOST_VALUES: usize = i32::MAX as usize;

impl Scale {
    /// Scales images of `channels` channels, each image with one of these interpolations.
    ///
    /// # Errors
    /// A size of no pixels, or beyond 2^31 values; no interpolation.
    pub fn new(
        [width, height]: [usize; 2],
        channels: usize,
        mode: ScaleMode,
        interpolations: impl Into<Box<[Interpolation]>>,
    ) -> Result<Scale, TransformFault> {
        let interpolations = interpolations.into();
        if interpolations.is_empty() {
            let found = "none".into();
            return Err(TransformFault::Parameter {
                name: "interpolations",
                found,
                expected: "at least one",
            });
        }
        let scale = Scale { width, height, channels, mode, interpolations };
        scale.check_size()?;
        Ok(scale)
    }

    /// Refuses a size of no pixels, or one of too many values.
    fn check_size(&self) -> Result<(), TransformFault> {
        let Scale { width, height, channels, .. } = *self;
        match width.checked_mul(height).and_then(|n| n.checked_mul(channels)) {
            Some(1..=MOST_VALUES) => Ok(()),
            _ => Err(TransformFault::Parameter {
                name: "width * height * channels",
                found: format!("{width} * {height} * {channels}"),
                expected: "1 to 2147483647",
            }),
        }
    }

    /// The words of the interpolations.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.interpolations.iter().filter_map(|&how| INTERPOLATIONS.word(how))
    }

    /// Checks the number of channels of an image.
    ///
    /// # Errors
    /// Another number than declared.
    pub fn check(&self, channels: usize) -> Result<(), TransformFault> {
        if channels == self.channels {
            Ok(())
        } else {
            Err(TransformFault::Channels { transform: "Scale", expected: self.channels, found: channels })
        }
    }

    /// The interpolation of the next image. Where there is only one, nothing is drawn.
    pub fn interpolation(&self, random: &mut dyn Random) -> Interpolation {
        match &*self.interpolations {
            &[only] => only,
            several => several[random.integer(0, several.len() as i64 - 1) as usize],
        }
    }

    /// Replaces the contents of `out` by the scaled image.
    ///
    /// # Errors
    /// An image of no pixels, or of another number of channels.
    pub fn resize<T: PixelValue>(
        &self,
        from: View<'_, T>,
        interpolation: Interpolation,
        scratch: &mut ResizeScratch<T>,
        out: &mut Vec<T>,
    ) -> Result<Size, TransformFault> {
        let size = from.size();
        self.check(size.channels)?;
        if size.values() == 0 {
            return Err(TransformFault::NoPixels { width: size.width, height: size.height });
        }
        let result = Size::new(self.height, self.width, self.channels);
        out.resize(result.values(), T::default());
        let stride = self.width * self.channels;
        let (w, h) = self.resized(size.width, size.height);
        let target = match self.mode {
            ScaleMode::Fill | ScaleMode::Pad(_) => Target::whole(w, h),
            ScaleMode::Crop => {
                let (x, y) = ((w - self.width) / 2, (h - self.height) / 2);
                Target { width: w, height: h, window: Rect { x, y, width: self.width, height: self.height } }
            }
        };
        let place = Rect {
            x: (self.width - target.window.width) / 2,
            y: (self.height - target.window.height) / 2,
            ..target.window
        };
        let values = &mut out[place.y * stride + place.x * self.channels..];
        resize(from, target, interpolation, scratch, RowsMut { values, stride });
        if let ScaleMode::Pad(value) = self.mode {
            let pixel = value.map(|channels| channels.map(T::nearest));
            self.pad(place, pixel.as_ref(), out);
        }
        Ok(result)
    }

    /// Width and height before anything is cut off or added.
    fn resized(&self, width: usize, height: usize) -> (usize, usize) {
        let round = |a: usize, b: usize, c: usize| ((a as f64 * b as f64 / c as f64).round() as usize).max(1);
        let by_width = (self.width, round(height, self.width, width));
        let by_height = (round(width, self.height, height), self.height);
        let covers = |(w, h): (usize, usize)| w >= self.width && h >= self.height;
        let fits = |(w, h): (usize, usize)| w <= self.width && h <= self.height;
        // The reference looks at the shape of the image alone. Where that fails, the other side decides.
        let (first, second, succeeds): (_, _, &dyn Fn((usize, usize)) -> bool) = match self.mode {
            ScaleMode::Fill => return (self.width, self.height),
            ScaleMode::Crop if width < height => (by_width, by_height, &covers),
            ScaleMode::Crop => (by_height, by_width, &covers),
            ScaleMode::Pad(_) if width > height => (by_width, by_height, &fits),
            ScaleMode::Pad(_) => (by_height, by_width, &fits),
        };
        if succeeds(first) { first } else { second }
    }

    /// Fills the area around the image.
    fn pad<T: PixelValue>(&self, place: Rect, pixel: Option<&[T; 4]>, out: &mut [T]) {
        let (channels, stride) = (self.channels, self.width * self.channels);
        let (left, right) = (place.x * channels, (place.x + place.width) * channels);
        for row in out.chunks_exact_mut(stride).skip(place.y).take(place.height) {
            match pixel {
                Some(pixel) => {
                    fill(&mut row[..left], pixel, channels);
                    fill(&mut row[right..], pixel, channels);
                }
                None => {
                    for x in (0..place.x).chain(place.x + place.width..self.width) {
                        let edge = if x < place.x { left } else { right - channels };
                        row.copy_within(edge..edge + channels, x * channels);
                    }
                }
            }
        }
        let last = place.y + place.height - 1;
        for y in (0..place.y).chain(last + 1..self.height) {
            match pixel {
                Some(pixel) => fill(&mut out[y * stride..][..stride], pixel, channels),
                None => {
                    let edge = if y < place.y { place.y } else { last };
                    out.copy_within(edge * stride..(edge + 1) * stride, y * stride);
                }
            }
        }
    }
}

/// Makes every pixel of a row the same.
fn fill<T: PixelValue>(row: &mut [T], pixel: &[T; 4], channels: usize) {
    match channels {
        ..=4 => row.chunks_exact_mut(channels).for_each(|to| to.copy_from_slice(&pixel[..channels])),
        _ => row.fill(pixel[3]),
    }
}

impl StepFacts for Scale {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn output(&self, [_, _, channels]: OpenSize) -> Result<OpenSize, TransformFault> {
        channels.map_or(Ok(()), |channels| self.check(channels))?;
        Ok([Some(self.height), Some(self.width), channels])
    }

    fn draws(&self) -> bool {
        self.interpolations.len() > 1
    }

    fn written(&self, size: Size) -> Option<Size> {
        Some(Size::new(self.height, self.width, size.channels))
    }

    fn values_beside(&self, size: Size) -> u64 {
        let is_antialiased = |how: &Interpolation| matches!(how, Interpolation::Antialiased(_));
        // All rows of the image, resized horizontally; other methods hold a few of them.
        let rows = [size.height, self.width, size.channels].map(|n| n as u64);
        if self.interpolations.iter().any(is_antialiased) {
            rows.into_iter().fold(1, u64::saturating_mul)
        } else {
            0
        }
    }
}

impl ApplyStep for Scale {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        let interpolation = self.interpolation(random);
        canvas.resize(self, interpolation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(pixels: &[u8], size: Size, to: [usize; 2], mode: ScaleMode) -> Vec<u8> {
        let scale = Scale::new(to, size.channels, mode, [Interpolation::Nearest]).expect("a usable size");
        let mut out = vec![99; 3];
        let found = scale.resize(
            View::new(pixels, size),
            Interpolation::Nearest,
            &mut ResizeScratch::default(),
            &mut out,
        );
        assert_eq!(found, Ok(Size::new(to[1], to[0], size.channels)));
        out
    }

    #[test]
    fn an_image_is_padded_with_its_edge_or_a_value() {
        let size = Size::new(2, 2, 1);
        let pixels = [70, 80, 130, 140];
        let found = scaled(&pixels, size, [4, 2], ScaleMode::Pad(Some([7; 4])));
        assert_eq!(found, [7, 70, 80, 7, 7, 130, 140, 7]);
        assert_eq!(scaled(&pixels, size, [4, 2], ScaleMode::Pad(None)), [70, 70, 80, 80, 130, 130, 140, 140]);
        assert_eq!(
            scaled(&pixels, size, [2, 3], ScaleMode::Pad(Some([255; 4]))),
            [70, 80, 130, 140, 255, 255]
        );
        let wide = Size::new(1, 1, 3);
        let found = scaled(&[5, 6, 7], wide, [2, 2], ScaleMode::Pad(Some([1, 2, 3, 9])));
        assert_eq!(found, [5, 6, 7, 5, 6, 7, 5, 6, 7, 5, 6, 7]);
        let found = scaled(&[5, 6, 7], wide, [3, 1], ScaleMode::Pad(Some([1, 2, 3, 9])));
        assert_eq!(found, [1, 2, 3, 5, 6, 7, 1, 2, 3]);
        let found = scaled(&pixels, size, [2, 5], ScaleMode::Pad(None));
        assert_eq!(found, [70, 80, 70, 80, 130, 140, 130, 140, 130, 140]);
    }

    #[test]
    fn values_beyond_255_are_kept_where_images_are_floats() {
        let size = Size::new(2, 1, 1);
        let mode = ScaleMode::Pad(Some([300; 4]));
        assert_eq!(scaled(&[70, 80], size, [3, 2], mode), [255, 70, 255, 255, 80, 255]);
        let scale = Scale::new([3, 2], 1, mode, [Interpolation::Linear]).expect("a usable size");
        let mut out = Vec::new();
        let image = View::new(&[70.5f32, 80.5], size);
        let found = scale.resize(image, Interpolation::Linear, &mut ResizeScratch::default(), &mut out);
        assert_eq!(found, Ok(Size::new(2, 3, 1)));
        assert_eq!(out, [300.0, 70.5, 300.0, 300.0, 80.5, 300.0]);
    }

    #[test]
    fn every_image_fits_every_target() {
        for (width, height) in [(1, 1), (1, 50), (50, 1), (9, 4), (4, 9), (7, 7)] {
            let size = Size::new(height, width, 1);
            for to in [[8, 4], [4, 8], [5, 5], [1, 1], [1, 9], [30, 2]] {
                for mode in
                    [ScaleMode::Crop, ScaleMode::Pad(Some([1; 4])), ScaleMode::Pad(None), ScaleMode::Fill]
                {
                    scaled(&vec![5; size.values()], size, to, mode);
                }
            }
        }
    }

    #[test]
    fn sizes_and_channels_that_cannot_be_are_refused() {
        for size in [[0, 3], [3, 0], [usize::MAX, 2], [1 << 16, 1 << 15]] {
            assert!(Scale::new(size, 1, ScaleMode::Fill, [Interpolation::Linear]).is_err(), "{size:?}");
        }
        let scale = Scale::new([2, 2], 3, ScaleMode::Fill, [Interpolation::Linear]).expect("a usable size");
        let gray = View::new(&[1u8, 2], Size::new(1, 2, 1));
        let error = scale
            .resize(gray, Interpolation::Linear, &mut ResizeScratch::default(), &mut Vec::new())
            .unwrap_err();
        assert_eq!(error.to_string(), "`Scale` is for 3 channels, the image has 1");
    }
}
