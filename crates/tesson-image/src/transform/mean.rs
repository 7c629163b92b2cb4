//! Subtracting a mean image (spec/image.md §7).

use std::path::PathBuf;
use std::sync::Arc;

use tesson_core::identity::Identity;
use tesson_core::{
    Error, OpenTransform, OptionSet, Options, ReadFile, TransformFormat, options, transform_of,
};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::opencv_storage::{matrix, number, parse};
use super::options::path;
use super::random::Random;
use super::real::Real;
use super::step::{ApplyStep, OpenSize, StepFacts, Unchanged};
use super::view::Size;
use crate::image_transforms::{self, NamedStep, content, refused};

pub(crate) static FORMAT: TransformFormat = transform_of::<MeanOptions>(
    "Mean",
    "Subtracts a mean image.",
    OpenTransform::Chained(image_transforms::open),
);

options! {
    /// The options of the transform.
    struct MeanOptions(options) {
        file: Option<PathBuf> = "meanFile", optional
            => "The mean image, as OpenCV stores matrices; without it nothing is subtracted."
            [describe as |mean| path(mean.file.as_ref())];
    }
}

pub(crate) fn step(options: &Options<'_>, read: &ReadFile<'_>) -> Result<NamedStep, Error> {
    let identity = Identity::new("mean", 1);
    let Some(path) = MeanOptions::read(options, &())?.file else {
        return Ok(NamedStep { step: Arc::new(Unchanged), identity });
    };
    let file = read(&path)?;
    let mean = Mean::from_file(&file).map_err(|fault| refused(options, "meanFile", &fault))?;
    Ok(NamedStep { step: Arc::new(mean), identity: identity.field("file", content(&file)) })
}

/// A mean image, or one mean for each channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    size: Size,
    values: Vec<f32>,
}

impl Mean {
    /// The mean image of one of OpenCV's files.
    ///
    /// # Errors
    /// The file cannot be read, or its values do not fill the size that it declares.
    pub fn from_file(file: &[u8]) -> Result<Mean, TransformFault> {
        let nodes = parse(file)?;
        let [height, width, channels] = ["Row", "Col", "Channel"].map(|name| number(&nodes, name));
        let (_, _, values) = matrix(nodes, "MeanImg")?;
        let declared = height.checked_mul(width).and_then(|n| n.checked_mul(channels));
        if declared != Some(values.len()) || values.is_empty() {
            let what = format!(
                "`Row` {height}, `Col` {width} and `Channel` {channels} declare other than {} values",
                values.len()
            );
            return Err(TransformFault::Storage { what });
        }
        Ok(Mean { size: Size::new(height, width, channels), values })
    }

    /// Checks the size of an image. A mean image of one pixel fits every image.
    ///
    /// # Errors
    /// Another size, another number of channels.
    pub fn check(&self, [height, width, channels]: [Option<usize>; 3]) -> Result<(), TransformFault> {
        let Size { height: rows, width: columns, channels: own } = self.size;
        if let Some(found) = channels.filter(|&found| found != own) {
            return Err(TransformFault::Channels { transform: "Mean", expected: own, found });
        }
        let differs = height.is_some_and(|n| n != rows) || width.is_some_and(|n| n != columns);
        if (rows, columns) == (1, 1) || !differs {
            return Ok(());
        }
        let text = |n: Option<usize>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let (mean, found) = (format!("{columns}x{rows}"), format!("{}x{}", text(width), text(height)));
        Err(TransformFault::MeanSize { mean, found })
    }

    /// Subtracts the mean from an image.
    ///
    /// # Errors
    /// The errors of [`Mean::check`].
    pub fn apply_to<F: Real>(&self, size: Size, values: &mut [F]) -> Result<(), TransformFault> {
        self.check([size.height, size.width, size.channels].map(Some))?;
        for values in values.chunks_exact_mut(self.values.len()) {
            for (value, &mean) in values.iter_mut().zip(&self.values) {
                *value = *value - F::from(mean);
            }
        }
        Ok(())
    }
}

impl StepFacts for Mean {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn output(&self, size: OpenSize) -> Result<OpenSize, TransformFault> {
        self.check(size)?;
        Ok(size)
    }

    fn makes_reals(&self) -> bool {
        true
    }
}

impl ApplyStep for Mean {
    fn apply<F: Real>(&self, canvas: &mut Canvas<'_, F>, _: &mut dyn Random) -> Result<(), TransformFault> {
        let (size, values) = canvas.reals();
        self.apply_to(size, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: [usize; 3], values: &str) -> String {
        let [row, col, channel] = size;
        let n = values.split_whitespace().count();
        format!(
            "<?xml version=\"1.0\"?><opencv_storage><Channel>{channel}</Channel><Row>{row}</Row><Col>{col}</Col>\
             <MeanImg type_id=\"opencv-matrix\"><rows>1</rows><cols>{n}</cols><dt>f</dt><data>{values}</data></MeanImg>\
             </opencv_storage>"
        )
    }

    #[test]
    fn a_mean_is_subtracted_from_images_of_its_size() {
        let mean = Mean::from_file(file([1, 2, 1], "1.5 300").as_bytes()).expect("a mean");
        let mut values = [1.0f32, 2.0];
        assert_eq!(mean.apply_to(Size::new(1, 2, 1), &mut values), Ok(()));
        assert_eq!(values, [-0.5, -298.0]);
        let error = mean.apply_to(Size::new(2, 1, 1), &mut values).unwrap_err();
        assert_eq!(error.to_string(), "the mean image has 2x1 pixels, the image 1x2");
        assert!(mean.check([None, None, Some(3)]).is_err() && mean.check([None, Some(2), None]).is_ok());
    }

    #[test]
    fn a_mean_of_one_pixel_is_for_each_channel() {
        let mean = Mean::from_file(file([1, 1, 3], "1 2 3").as_bytes()).expect("a mean");
        let mut values = [5.0f64; 6];
        assert_eq!(mean.apply_to(Size::new(2, 1, 3), &mut values), Ok(()));
        assert_eq!(values, [4.0, 3.0, 2.0, 4.0, 3.0, 2.0]);
    }

    #[test]
    fn a_mean_whose_values_do_not_fill_its_size_is_refused() {
        assert!(Mean::from_file(file([1, 2, 1], "1 2 3").as_bytes()).is_err());
        assert!(Mean::from_file(file([0, 2, 1], "").as_bytes()).is_err());
    }
}
