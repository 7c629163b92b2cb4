//! Random changes of brightness, contrast and saturation (spec/image.md §8).

use tesson_core::{
    Error, OpenTransform, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::options::{SEED, seed_if_given, share};
use super::random::Random;
use super::real::{Real, clamped};
use super::step::RandomChange;
use super::view::Size;
use crate::image_transforms::{self, NamedStep};

pub(crate) static FORMAT: TransformFormat = transform_of::<Color>(
    "Color",
    "Changes brightness, contrast and saturation at random.",
    OpenTransform::Chained(image_transforms::open),
);

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    Ok(NamedStep::of(Color::read(options, &())?, "color"))
}

options! {
    /// The range of a random change of colours, from 0 to 1 for each property.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Color(options) {
        /// Added, as a share of the mean of all values.
        pub brightness: f64 = "brightnessRadius", "0"
            => "Largest change of brightness, from 0 to 1."
            [read share(options, "brightnessRadius")?] [identity "brightness"];
        /// Multiplied.
        pub contrast: f64 = "contrastRadius", "0"
            => "Largest change of contrast, from 0 to 1."
            [read share(options, "contrastRadius")?] [identity "contrast"];
        /// Multiplied with the saturation of images of three channels, in the order blue, green, red.
        pub saturation: f64 = "saturationRadius", "0"
            => "Largest change of saturation, from 0 to 1."
            [read share(options, "saturationRadius")?] [identity "saturation"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

impl RandomChange for Color {
    const NAME: &'static str = FORMAT.name;

    fn has_effect(&self) -> bool {
        self.brightness > 0.0 || self.contrast > 0.0 || self.saturation > 0.0
    }

    fn apply_to<F: Real>(&self, size: Size, values: &mut [F], random: &mut dyn Random) {
        let mut about = |radius: f64| random.real(-radius, radius);
        if self.brightness > 0.0 || self.contrast > 0.0 {
            let beta = if self.brightness > 0.0 {
                let factor = about(self.brightness);
                let sum: f64 = values.iter().map(|&value| value.into()).sum();
                F::rounded(factor * sum / values.len().max(1) as f64)
            } else {
                F::from(0u8)
            };
            let alpha =
                if self.contrast > 0.0 { F::rounded(1.0 + about(self.contrast)) } else { F::from(1u8) };
            for value in values.iter_mut() {
                *value = clamped(*value * alpha + beta);
            }
        }
        if self.saturation > 0.0 && size.channels == 3 {
            // Not rounded to single precision: only the saturation that it makes is.
            let ratio = 1.0 + about(self.saturation);
            for pixel in values.as_chunks_mut::<3>().0 {
                *pixel = saturated(*pixel, ratio);
            }
        }
    }
}

/// Multiplies the saturation of a pixel: to HSV and back, with OpenCV's arithmetic.
fn saturated<F: Real>([b, g, r]: [F; 3], ratio: f64) -> [F; 3] {
    let (zero, one) = (F::from(0u8), F::from(1u8));
    let epsilon = F::from(f32::EPSILON);
    let larger = |a: F, b: F| if a > b { a } else { b };
    let smaller = |a: F, b: F| if a < b { a } else { b };
    let v = larger(larger(b, g), r);
    let d = v - smaller(smaller(b, g), r);
    let size = if v < zero { zero - v } else { v };
    let s = smaller(F::rounded((d / (size + epsilon)).into() * ratio), one);
    if s == zero {
        return [v; 3];
    }
    let q = F::rounded(60.0 / (d + epsilon).into());
    let h = match v {
        v if v == r => (g - b) * q,
        v if v == g => (b - r) * q + F::from(120u8),
        _ => (r - g) * q + F::from(240u8),
    };
    let h = if h < zero { h + F::from(360.0f32) } else { h };
    let h = h * F::rounded(6.0 / 360.0);
    let h = if h >= F::from(6u8) { h - F::from(6u8) } else { h };
    let i = h.into().floor();
    let f = h - F::rounded(i);
    let t = [v, v * (one - s), v * (one - s * f), v * (one - s * (one - f))];
    match i as i64 {
        0 => [t[1], t[3], t[0]],
        1 => [t[1], t[0], t[2]],
        2 => [t[3], t[0], t[1]],
        3 => [t[0], t[2], t[1]],
        4 => [t[0], t[1], t[3]],
        _ => [t[2], t[1], t[0]],
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::CntkRandom;
    use super::*;

    #[test]
    fn an_unchanged_saturation_changes_a_pixel_by_rounding_only() {
        for pixel in
            [[10.0f32, 200.0, 30.0], [255.0, 0.0, 128.0], [7.0, 7.0, 7.0], [0.0; 3], [3.0, 250.0, 251.0]]
        {
            let found = saturated(pixel, 1.0);
            let near = pixel.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-3);
            assert!(near, "{pixel:?} {found:?}");
        }
        assert_eq!(saturated([10.0f64, 20.0, 30.0], 0.0), [30.0; 3]);
    }

    /// Computed by hand from the specification in NumPy's `float32`, with the ratio as a double. A ratio that is
    /// rounded first gives other values for all but the largest value of a pixel.
    #[test]
    fn the_ratio_of_the_saturation_is_in_double_precision() {
        let color = Color { brightness: 0.0, contrast: 0.0, saturation: 0.4 };
        for (pixel, expected) in [
            ([121.0f32, 66.0, 189.0], [118.344_56f32, 61.196_75, 189.0]),
            ([203.0, 77.0, 118.0], [203.0, 72.079_605, 114.680_71]),
            ([32.0, 81.0, 21.0], [30.086_52, 81.0, 18.656_956]),
            ([136.0, 145.0, 63.0], [135.648_57, 145.0, 59.797_836]),
            ([210.0, 77.0, 10.0], [210.0, 71.806_206, 2.189_844_8]),
        ] {
            let mut found = pixel;
            color.apply_to(Size::new(1, 1, 3), &mut found, &mut CntkRandom::new(vec![0]));
            assert_eq!(found, expected, "{pixel:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_for_what_does_not_change() {
        let color = Color { brightness: 0.0, contrast: 0.5, saturation: 0.0 };
        let (mut one, mut other) = (CntkRandom::new(vec![0]), CntkRandom::new(vec![0]));
        let mut values = [100.0f32, 200.0];
        color.apply_to(Size::new(1, 2, 1), &mut values, &mut one);
        let alpha = (1.0 + other.real(-0.5, 0.5)) as f32;
        assert_eq!(values, [100.0 * alpha, (200.0 * alpha).min(255.0)]);
    }
}
