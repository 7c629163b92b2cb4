//! Values to zero mean and unit deviation, channel by channel.

use std::sync::Arc;

use tesson_core::identity::{Identity, List};
use tesson_core::{
    ConfigError, Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, options,
    transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, OpenSize, StepFacts};
use super::view::View;
use crate::image_transforms::{self, NamedStep, refused};

pub(crate) static FORMAT: TransformFormat = transform_of::<NormalizeOptions>(
    "Normalize",
    "Divides values, subtracts the mean and divides by the standard deviation, channel by channel.",
    OpenTransform::Chained(image_transforms::open),
);

options! {
    /// The options of the transform.
    struct NormalizeOptions(options) {
        mean: Vec<f32> = "mean": OptionKind::Numbers, required
            => "Mean of each channel, in the order of the channels, of values divided by `divisor`; one number is for all \
             channels."
            [read single(options, "mean")?]
            [identity after "divisor" with |normalize, text| text.field("mean", List(&normalize.mean))];
        std: Vec<f32> = "std": OptionKind::Numbers, required
            => "Standard deviation of each channel, likewise."
            [read single(options, "std")?]
            [identity after "mean" with |normalize, text| text.field("std", List(&normalize.std))];
        divisor: f32 = "divisor": OptionKind::Real, "255"
            => "Number by which values are divided first."
            [read options.real("divisor")? as f32]
            [identity "divisor"];
    }
}

/// Numbers in single precision.
fn single(options: &Options<'_>, name: &str) -> Result<Vec<f32>, ConfigError> {
    Ok(options.numbers(name)?.into_iter().map(|x| x as f32).collect())
}

pub(crate) fn step(options: &Options<'_>, _: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let read = NormalizeOptions::read(options, &())?;
    let normalize = Normalize::new(read.divisor, &read.mean, &read.std);
    let step = Arc::new(normalize.map_err(|fault| refused(options, "std", &fault))?);
    Ok(NamedStep { step, identity: read.identify(Identity::new("normalize", 1)) })
}

/// `(value / divisor - mean) / std`, rounded at each step, as torchvision's `ToTensor` and `Normalize` compute it with a
/// divisor of 255.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalize {
    divisor: f32,
    /// Mean and standard deviation of each channel, or of all.
    channels: Vec<(f32, f32)>,
    /// For each of `channels` the result of each 8-bit value.
    table: Vec<[f32; 256]>,
}

impl Normalize {
    /// Mean and standard deviation of each channel, of divided values; one number is for all channels.
    ///
    /// # Errors
    /// A divisor or a deviation of 0, or as many deviations as fit neither the means nor all channels.
    pub fn new(divisor: f32, mean: &[f32], std: &[f32]) -> Result<Normalize, TransformFault> {
        let usable = |x: f32| x.is_finite() && x != 0.0;
        let parameter = |name, found: String, expected| TransformFault::Parameter { name, found, expected };
        if !usable(divisor) {
            return Err(parameter("divisor", divisor.to_string(), "a number other than 0"));
        }
        if let Some(wrong) = std.iter().find(|&&x| !usable(x)) {
            return Err(parameter("std", wrong.to_string(), "numbers other than 0"));
        }
        let n = mean.len().max(std.len());
        let fits = |numbers: &[f32]| numbers.len() == 1 || (numbers.len() == n && n > 0);
        if !fits(mean) || !fits(std) {
            let found = format!("{} numbers, and {} of `mean`", std.len(), mean.len());
            return Err(parameter("std", found, "as many as of `mean`, or one for all channels"));
        }
        let of_channel = |numbers: &[f32], channel: usize| numbers[channel.min(numbers.len() - 1)];
        let channels: Vec<_> = (0..n).map(|i| (of_channel(mean, i), of_channel(std, i))).collect();
        let of = |(mean, std): (f32, f32)| std::array::from_fn(|value| (value as f32 / divisor - mean) / std);
        let table = channels.iter().map(|&channel| of(channel)).collect();
        Ok(Normalize { divisor, channels, table })
    }

    /// Checks the number of channels of an image.
    ///
    /// # Errors
    /// Another number than there are means, if there are several.
    pub fn check(&self, channels: usize) -> Result<(), TransformFault> {
        let expected = self.channels.len();
        if expected == 1 || channels == expected {
            Ok(())
        } else {
            Err(TransformFault::Channels { transform: "Normalize", expected, found: channels })
        }
    }

    /// The normalized value of an 8-bit one.
    pub(super) fn value(&self, channel: usize, value: u8) -> f32 {
        self.table[channel.min(self.table.len() - 1)][usize::from(value)]
    }

    /// Appends the normalized values of an 8-bit image to `out`. `row` is reused.
    ///
    /// # Panics
    /// If the image has not passed [`Normalize::check`].
    pub(super) fn append_to<F: Real>(&self, from: View<'_, u8>, row: &mut Vec<u8>, out: &mut Vec<F>) {
        self.check(from.size().channels).expect("the number of channels has been checked");
        out.reserve(from.size().values());
        from.each_row(row, |_, row| {
            for pixel in row.chunks_exact(self.channels.len()) {
                out.extend(pixel.iter().zip(&self.table).map(|(&v, table)| F::from(table[usize::from(v)])));
            }
        });
    }

    /// Normalizes a floating-point image.
    ///
    /// # Errors
    /// Another number of channels.
    pub fn apply_to<F: Real>(&self, channels: usize, values: &mut [F]) -> Result<(), TransformFault> {
        self.check(channels)?;
        let divisor = F::from(self.divisor);
        for pixel in values.chunks_exact_mut(self.channels.len()) {
            for (value, &(mean, std)) in pixel.iter_mut().zip(&self.channels) {
                *value = (*value / divisor - F::from(mean)) / F::from(std);
            }
        }
        Ok(())
    }
}

impl StepFacts for Normalize {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn output(&self, size: OpenSize) -> Result<OpenSize, TransformFault> {
        size[2].map_or(Ok(()), |channels| self.check(channels))?;
        Ok(size)
    }

    fn makes_reals(&self) -> bool {
        true
    }

    fn as_normalize(&self) -> Option<&Normalize> {
        Some(self)
    }
}

impl ApplyStep for Normalize {
    fn apply<F: Real>(&self, canvas: &mut Canvas<'_, F>, _: &mut dyn Random) -> Result<(), TransformFault> {
        canvas.normalize(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::Size;
    use super::*;

    #[test]
    fn bytes_and_floats_give_the_same() {
        let normalize =
            Normalize::new(255.0, &[0.485, 0.456, 0.406], &[0.229, 0.224, 0.225]).expect("usable");
        let bytes: Vec<u8> = (0..=254).collect();
        let mut floats: Vec<f32> = bytes.iter().map(|&v| v.into()).collect();
        let mut found: Vec<f32> = Vec::new();
        let view = View::new(&bytes, Size::new(5, 17, 3));
        normalize.append_to(view, &mut Vec::new(), &mut found);
        normalize.apply_to(3, &mut floats).expect("three channels");
        assert_eq!(found, floats);
        assert_eq!(found[0], (0.0 - 0.485) / 0.229);
        assert!(normalize.apply_to(1, &mut floats).is_err());
    }

    #[test]
    fn one_number_is_for_all_channels() {
        let values = |mean: &[f32], std: &[f32], channels: usize| {
            let mut values: Vec<f32> = (0..12).map(|v| v as f32).collect();
            let normalize = Normalize::new(1.0, mean, std).expect("usable");
            normalize.apply_to(channels, &mut values).expect("any number of channels");
            let mut of_bytes: Vec<f32> = Vec::new();
            let bytes: Vec<u8> = (0..12).collect();
            let view = View::new(&bytes, Size::new(1, 12 / channels, channels));
            normalize.append_to(view, &mut Vec::new(), &mut of_bytes);
            assert_eq!(values, of_bytes);
            values
        };
        let three = values(&[0.5; 3], &[2.0; 3], 3);
        assert_eq!(three[11], (11.0 - 0.5) / 2.0);
        assert_eq!(values(&[0.5], &[2.0], 3), three);
        assert_eq!(values(&[0.5], &[2.0], 1), three);
        assert_eq!(values(&[0.5], &[2.0; 3], 3), three);
        assert_eq!(values(&[0.5; 3], &[2.0], 3), three);
    }

    #[test]
    fn what_cannot_be_divided_by_is_refused() {
        assert!(Normalize::new(0.0, &[0.0], &[1.0]).is_err());
        assert!(Normalize::new(1.0, &[0.0], &[0.0]).is_err());
        assert!(Normalize::new(1.0, &[0.0, 1.0], &[1.0, 1.0, 1.0]).is_err());
        assert!(Normalize::new(1.0, &[], &[]).is_err());
        assert!(Normalize::new(1.0, &[], &[1.0]).is_err());
    }
}
