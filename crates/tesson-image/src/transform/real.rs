//! The numbers of floating-point images.

use std::ops::{Add, Div, Mul, Sub};

use super::canvas::Canvas;
use super::fault::TransformFault;
use super::random::Random;
use super::random_rotation::Blend;
use super::resize::Value;
use super::step::Step;

/// 32- or 64-bit floats.
pub trait Real:
    Value
    + Blend
    + From<u8>
    + From<f32>
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// The nearest number of the type.
    fn rounded(x: f64) -> Self;

    /// Applies a step to an image whose floating-point numbers are of the type.
    ///
    /// # Errors
    /// The image does not fit the step.
    fn apply(
        step: &dyn Step,
        canvas: &mut Canvas<'_, Self>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault>;
}

impl Real for f32 {
    fn rounded(x: f64) -> f32 {
        x as f32
    }

    fn apply(
        step: &dyn Step,
        canvas: &mut Canvas<'_, f32>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        step.apply_f32(canvas, random)
    }
}

impl Real for f64 {
    fn rounded(x: f64) -> f64 {
        x
    }

    fn apply(
        step: &dyn Step,
        canvas: &mut Canvas<'_, f64>,
        random: &mut dyn Random,
    ) -> Result<(), TransformFault> {
        step.apply_f64(canvas, random)
    }
}

/// A value of a pixel, from 0 to 255. Comparisons in this order compile to vector instructions.
pub(super) fn clamped<F: Real>(value: F) -> F {
    let (least, most) = (F::from(0u8), F::from(255u8));
    let value = if value > least { value } else { least };
    if value < most { value } else { most }
}
