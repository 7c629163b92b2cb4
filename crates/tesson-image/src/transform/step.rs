//! A step of a pipeline: one transform, as a [`Pipeline`](super::pipeline::Pipeline) sees it.
//!
//! A transform implements [`StepFacts`] and [`ApplyStep`], which is written once for both types of floats. [`Step`] follows from
//! these two: it can be a trait object, as its methods have no type parameters. The call by reference is one for each image and
//! step, not for each pixel.

use std::fmt::Debug;

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::fill::Fill;
use super::normalize::Normalize;
use super::random::Random;
use super::real::Real;
use super::view::Size;

/// Height, width and channels of images, where `None` is open.
pub type OpenSize = [Option<usize>; 3];

/// The effect of a step on pixels, which decides where in a list it may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Pixels change, or move.
    Pixels,
    /// Nothing changes.
    Nothing,
    /// Channels come first where the result is stored: only a conversion may follow.
    Transposed,
    /// Values are converted where the result is stored: only another conversion may follow.
    Converted,
}

impl Effect {
    /// True where only conversions may follow.
    pub(super) fn comes_last(self) -> bool {
        matches!(self, Effect::Transposed | Effect::Converted)
    }
}

/// Everything about a step that is known before there is an image.
pub trait StepFacts: Debug + Send + Sync {
    /// The name in configurations.
    fn name(&self) -> &'static str;

    /// Its effect on pixels.
    fn effect(&self) -> Effect {
        Effect::Pixels
    }

    /// The size of the result for images of this size.
    ///
    /// # Errors
    /// Images of this size do not fit the step.
    fn output(&self, size: OpenSize) -> Result<OpenSize, TransformFault> {
        if let (Some(fill), Some(channels)) = (self.fill(), size[2]) {
            fill.check(self.name(), channels)?;
        }
        Ok(size)
    }

    /// True where random numbers may be drawn.
    fn draws(&self) -> bool {
        false
    }

    /// The values that the step fills parts of an image with, if it does: they fit the channels, and decide whether the
    /// result has floating-point numbers.
    fn fill(&self) -> Option<&Fill> {
        None
    }

    /// True where the result has floating-point numbers, whatever went in.
    fn makes_reals(&self) -> bool {
        self.fill().is_some_and(|fill| !fill.is_of_bytes())
    }

    /// The size of the image that the step writes into memory of its own; `None` where it writes none.
    fn written(&self, size: Size) -> Option<Size> {
        (self.fill().is_some() || self.makes_reals()).then_some(size)
    }

    /// Values that the step holds beside the image that it writes, of an image of this size.
    fn values_beside(&self, _: Size) -> u64 {
        0
    }

    /// The step itself if it normalizes: the last one is applied where 8-bit images are stored.
    fn as_normalize(&self) -> Option<&Normalize> {
        None
    }
}

/// A step that can be applied to images in either type of floats.
pub trait ApplyStep: StepFacts {
    /// Applies the step.
    ///
    /// # Errors
    /// The image does not fit the step.
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault>;
}

/// A random change of values that keeps the size of an image. Where it has an effect it draws, and gives floating-point
/// numbers.
pub trait RandomChange: Debug + Send + Sync {
    /// The name in configurations.
    const NAME: &'static str;

    /// True if it changes anything.
    fn has_effect(&self) -> bool;

    /// Changes an image.
    fn apply_to<F: Real>(&self, size: Size, values: &mut [F], random: &mut dyn Random);
}

impl<C: RandomChange> StepFacts for C {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn draws(&self) -> bool {
        self.has_effect()
    }

    fn makes_reals(&self) -> bool {
        self.has_effect()
    }
}

impl<C: RandomChange> ApplyStep for C {
    fn apply<F: Real>(
        &self,
        canvas: &mut Canvas<'_, F>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        if self.has_effect() {
            let (size, values) = canvas.reals();
            self.apply_to(size, values, random);
        }
        Ok(())
    }
}

/// A step as pipelines hold it.
pub trait Step: StepFacts {
    /// Applies the step where floating-point numbers have 32 bits.
    ///
    /// # Errors
    /// The image does not fit the step.
    fn apply_f32(&self, canvas: &mut Canvas<'_, f32>, random: &mut dyn Random) -> Result<(), TransformFault>;

    /// Applies the step where floating-point numbers have 64 bits.
    ///
    /// # Errors
    /// The image does not fit the step.
    fn apply_f64(&self, canvas: &mut Canvas<'_, f64>, random: &mut dyn Random) -> Result<(), TransformFault>;
}

impl<S: ApplyStep> Step for S {
    fn apply_f32(&self, canvas: &mut Canvas<'_, f32>, random: &mut dyn Random) -> Result<(), TransformFault> {
        self.apply(canvas, random)
    }

    fn apply_f64(&self, canvas: &mut Canvas<'_, f64>, random: &mut dyn Random) -> Result<(), TransformFault> {
        self.apply(canvas, random)
    }
}

/// A transform that has no effect because the file that it would take its values from is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchanged;

impl StepFacts for Unchanged {
    fn name(&self) -> &'static str {
        "Identity"
    }

    fn effect(&self) -> Effect {
        Effect::Nothing
    }
}

impl ApplyStep for Unchanged {
    fn apply<F: Real>(&self, _: &mut Canvas<'_, F>, _: &mut dyn Random) -> Result<(), TransformFault> {
        Ok(())
    }
}
