//! The source positions and weights of the values in a resized row or column (spec/image.md §6.1).
//!
//! The reference is OpenCV 3.1: half-pixel centres, no low-pass filter when shrinking, positions and weights in single
//! precision. Every rounding here is part of the result.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};
use std::ops::Range;

pub use super::resize::Filter;

/// The way in which values between pixels are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The pixel at the rounded-down position.
    Nearest,
    /// Two pixels on each axis.
    Linear,
    /// Four pixels on each axis, with A = -0.75.
    Cubic,
    /// Eight pixels on each axis.
    Lanczos,
    /// As many pixels as a filter covers in the source.
    Antialiased(Filter),
}

/// The requested part of a resized axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The length of the source.
    pub(super) from: usize,
    /// The length of the result.
    pub(super) to: usize,
    /// The wanted part of the result.
    pub(super) part: Range<usize>,
}

impl Span {
    fn scale(&self) -> f64 {
        1.0 / (self.to as f64 / self.from as f64)
    }

    /// The source of each wanted position, for the nearest pixel.
    pub(super) fn nearest(&self) -> impl Iterator<Item = usize> + use<> {
        let (scale, last) = (self.scale(), self.from - 1);
        self.part.clone().map(move |d| ((d as f64 * scale).floor() as usize).min(last))
    }
}

/// The sources and weights of the wanted positions, the same number of taps for each.
#[derive(Debug, Default)]
pub struct Axis {
    /// The request for which the tables were made.
    made_for: Option<(Span, Interpolation, bool)>,
    /// Source positions, within the source.
    pub(super) sources: Vec<usize>,
    /// Weights.
    pub(super) weights: Vec<f32>,
    /// Weights in 2048ths.
    pub(super) fixed: Vec<i16>,
}

impl Axis {
    /// Makes the tables, unless they are already there. `pinned` is how the reference treats the horizontal axis: where
    /// linear interpolation would look beyond the border, the border pixel has the whole weight.
    pub(super) fn prepare(&mut self, span: &Span, interpolation: Interpolation, pinned: bool) {
        let wanted = (span.clone(), interpolation, pinned);
        if self.made_for.as_ref() == Some(&wanted) {
            return;
        }
        self.made_for = Some(wanted);
        self.sources.clear();
        self.weights.clear();
        let (scale, last) = (span.scale(), span.from as i64 - 1);
        for d in span.part.clone() {
            let p = ((d as f64 + 0.5) * scale - 0.5) as f32;
            let (mut s, mut t) = (p.floor() as i64, p - p.floor());
            if pinned && interpolation == Interpolation::Linear && (s < 0 || s >= last) {
                (s, t) = (s.clamp(0, last), 0.0);
            }
            let first_weight = self.weights.len();
            match interpolation {
                // Others have tables of their own.
                Interpolation::Nearest | Interpolation::Linear | Interpolation::Antialiased(_) => {
                    self.weights.extend([1.0 - t, t]);
                }
                Interpolation::Cubic => self.weights.extend(cubic(t)),
                Interpolation::Lanczos => self.weights.extend(lanczos(t)),
            }
            let taps = (self.weights.len() - first_weight) as i64;
            let before = taps / 2 - 1;
            self.sources.extend((0..taps).map(|j| (s - before + j).clamp(0, last) as usize));
        }
        self.fixed.clear();
        self.fixed.extend(self.weights.iter().map(|w| (w * 2048.0).round_ties_even() as i16));
    }
}

fn cubic(t: f32) -> [f32; 4] {
    const A: f32 = -0.75;
    let (u, v) = (t + 1.0, 1.0 - t);
    let c0 = ((A * u - 5.0 * A) * u + 8.0 * A) * u - 4.0 * A;
    let c1 = ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0;
    let c2 = ((A + 2.0) * v - (A + 3.0)) * v * v + 1.0;
    [c0, c1, c2, 1.0 - c0 - c1 - c2]
}

fn lanczos(t: f32) -> [f32; 8] {
    if t < f32::EPSILON {
        return [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    }
    const Q: f64 = FRAC_1_SQRT_2;
    const TURNS: [(f64, f64); 8] =
        [(1.0, 0.0), (-Q, -Q), (0.0, 1.0), (Q, -Q), (-1.0, 0.0), (Q, Q), (0.0, -1.0), (-Q, Q)];
    let (sin, cos) = (-f64::from(t + 3.0) * FRAC_PI_4).sin_cos();
    let mut sum = 0.0f32;
    let weights: [f32; 8] = std::array::from_fn(|i| {
        let y = -f64::from(t + 3.0 - i as f32) * FRAC_PI_4;
        let weight = ((TURNS[i].0 * sin + TURNS[i].1 * cos) / (y * y)) as f32;
        sum += weight;
        weight
    });
    let factor = 1.0 / sum;
    weights.map(|weight| weight * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(weights: &[f32]) -> Vec<i32> {
        weights.iter().map(|w| (w * 2048.0).round_ties_even() as i32).collect()
    }

    #[test]
    fn weights_are_those_of_the_specification() {
        assert_eq!(fixed(&cubic(0.5)), [-192, 1216, 1216, -192]);
        assert_eq!(fixed(&cubic(0.25)), [-216, 1800, 536, -72]);
        assert_eq!(fixed(&lanczos(0.5)), [-26, 122, -340, 1267, 1267, -340, 122, -26]);
    }

    #[test]
    fn positions_are_those_of_the_specification() {
        let mut axis = Axis::default();
        axis.prepare(&Span { from: 4, to: 6, part: 0..6 }, Interpolation::Linear, true);
        let fixed: Vec<_> =
            axis.fixed.chunks(2).zip(axis.sources.chunks(2)).map(|(w, s)| (s[0], w[0], w[1])).collect();
        let expected =
            [(0, 2048, 0), (0, 1024, 1024), (1, 1707, 341), (1, 341, 1707), (2, 1024, 1024), (3, 2048, 0)];
        assert_eq!(fixed, expected);
    }
}
