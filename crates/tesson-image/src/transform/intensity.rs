//! Random noise along the principal axes of colour (spec/image.md §8).

use std::path::PathBuf;
use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    Error, OpenTransform, OptionKind, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::fault::TransformFault;
use super::opencv_storage::{matrix, parse};
use super::options::{SEED, path, seed_if_given};
use super::random::Random;
use super::real::{Real, clamped};
use super::step::{RandomChange, Unchanged};
use super::view::Size;
use crate::image_transforms::{self, NamedStep, content, refused};

pub(crate) static FORMAT: TransformFormat = transform_of::<IntensityOptions>(
    "Intensity",
    "Adds noise to an image along the principal axes of its colours.",
    OpenTransform::Chained(image_transforms::open),
);

options! {
    /// The options of the transform.
    struct IntensityOptions(options) {
        file: Option<PathBuf> = "intensityFile", optional
            => "The axes, as OpenCV stores matrices."
            [describe as |intensity| path(intensity.file.as_ref())];
        deviation: f64 = "intensityStdDev": OptionKind::Numbers, "0"
            => "Standard deviation of the noise, one for each epoch."
            [read options.numbers("intensityStdDev")?.first().copied().unwrap_or(0.0)]
            [identity "deviation"];
        _: Option<u64> = SEED [read seed_if_given(options)?];
    }
}

pub(crate) fn step(options: &Options<'_>, read: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let given = IntensityOptions::read(options, &())?;
    let identity = given.identify(Identity::new("intensity", 1));
    let Some(path) = given.file else {
        return Ok(NamedStep { step: Arc::new(Unchanged), identity });
    };
    let file = read(&path)?;
    let intensity = Intensity::from_file(given.deviation, &file)
        .map_err(|fault| refused(options, "intensityFile", &fault))?;
    Ok(NamedStep { step: Arc::new(intensity), identity: identity.field("file", content(&file)) })
}

/// The axes, and how strong the noise is.
#[derive(Clone, Debug, PartialEq)]
pub struct Intensity {
    /// The standard deviation; 0 changes nothing and draws nothing.
    pub std_dev: f64,
    /// The length of each axis.
    pub eigenvalues: [f32; 3],
    /// Row by row, for red, green and blue.
    pub eigenvectors: [[f32; 3]; 3],
}

impl Intensity {
    /// Axes from one of OpenCV's files.
    ///
    /// # Errors
    /// The file cannot be read, or has matrices of other sizes.
    pub fn from_file(std_dev: f64, file: &[u8]) -> Result<Intensity, TransformFault> {
        let nodes = parse(file)?;
        let wrong = |name: &str| TransformFault::Storage { what: format!("`{name}` has another size") };
        let (1, 3, values) = matrix(nodes.clone(), "EigVal")? else { return Err(wrong("EigVal")) };
        let (3, 3, vectors) = matrix(nodes, "EigVec")? else { return Err(wrong("EigVec")) };
        let eigenvalues = values.try_into().map_err(|_| wrong("EigVal"))?;
        let rows = vectors.as_chunks::<3>().0;
        let eigenvectors = rows.try_into().map_err(|_| wrong("EigVec"))?;
        Ok(Intensity { std_dev, eigenvalues, eigenvectors })
    }
}

impl RandomChange for Intensity {
    const NAME: &'static str = FORMAT.name;

    fn has_effect(&self) -> bool {
        self.std_dev != 0.0
    }

    // Images have one channel, or blue, green and red.
    fn apply_to<F: Real>(&self, size: Size, values: &mut [F], random: &mut dyn Random) {
        if !self.has_effect() {
            return;
        }
        let lengths = self.eigenvalues.map(|value| random.normal() * self.std_dev as f32 * value);
        // Products and sums in double precision, rounded once.
        let dot = |row: [f32; 3]| {
            row.into_iter().zip(lengths).map(|(v, a)| f64::from(v) * f64::from(a)).sum::<f64>()
        };
        let [red, green, blue] = self.eigenvectors.map(|row| F::from(dot(row) as f32));
        if size.channels == 3 {
            for pixel in values.as_chunks_mut::<3>().0 {
                let [b, g, r] = *pixel;
                *pixel = [clamped(b + blue), clamped(g + green), clamped(r + red)];
            }
        } else {
            values.iter_mut().for_each(|value| *value = clamped(*value + red));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::CntkRandom;
    use super::*;

    /// Computed from the specification in NumPy's types. Sums in single precision give 126.290344, 2.3082275,
    /// 148.20352.
    #[test]
    fn sums_are_in_double_precision_and_rounded_once() {
        let intensity = Intensity {
            std_dev: 2.7,
            eigenvalues: [19.078_125, 30.546_875, 59.781_25],
            eigenvectors: [[0.23, 0.49, -0.1], [-0.44, -0.58, -0.27], [-0.62, -0.41, 0.38]],
        };
        let mut values = [100.0f32; 3];
        intensity.apply_to(Size::new(1, 1, 3), &mut values, &mut CntkRandom::new(vec![0]));
        assert_eq!(values, [148.203_5, 2.308_22, 126.290_34]);
    }

    #[test]
    fn the_first_row_is_for_red_and_for_grey() {
        let vectors = [[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3]];
        let intensity = Intensity { std_dev: 2.0, eigenvalues: [3.0, 1.0, 1.0], eigenvectors: vectors };
        let shift = -0.678_141_06f32 * 2.0 * 3.0;
        let mut values = [100.0f32; 3];
        intensity.apply_to(Size::new(1, 1, 3), &mut values, &mut CntkRandom::new(vec![0]));
        assert_eq!(values, [100.0, 100.0, 100.0 + shift]);
        intensity.apply_to(Size::new(3, 1, 1), &mut values, &mut CntkRandom::new(vec![0]));
        assert_eq!(values[0], 100.0 + shift);
    }
}
