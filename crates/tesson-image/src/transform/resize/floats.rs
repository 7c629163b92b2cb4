//! Floating-point images: weights in single precision, nothing rounded to whole numbers (spec/image.md §6.3).

use std::ops::{Add, Mul};

use super::sealed::Kernels;
use super::{Axis, Interpolation, Ring, RowsMut, Source};

/// The numbers of floating-point images.
trait Number: Copy + Default + From<f32> + Add<Output = Self> + Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

/// Rows of floating-point images that have been resized horizontally.
#[derive(Debug, Default)]
pub struct Rings<T> {
    ring: Ring<T>,
    offsets: Vec<usize>,
}

macro_rules! kernels {
    ($type:ty) => {
        impl Kernels for $type {
            type Rings = Rings<$type>;

            fn resize(
                source: &Source<'_, $type>,
                x: &Axis,
                y: &Axis,
                interpolation: Interpolation,
                rings: &mut Rings<$type>,
                out: RowsMut<'_, $type>,
            ) {
                let size = source.view.size();
                let halved = (size.width, size.height) == (2 * source.target.width, 2 * source.target.height);
                match interpolation {
                    Interpolation::Cubic => weighted::<$type, 4>(source, x, y, rings, out),
                    Interpolation::Lanczos => weighted::<$type, 8>(source, x, y, rings, out),
                    _ if halved && matches!(size.channels, 1 | 3) => halve(source, out),
                    _ => weighted::<$type, 2>(source, x, y, rings, out),
                }
            }
        }
    };
}

kernels!(f32);
kernels!(f64);

fn weighted<T: Number, const K: usize>(
    source: &Source<'_, T>,
    x: &Axis,
    y: &Axis,
    rings: &mut Rings<T>,
    out: RowsMut<'_, T>,
) {
    let Rings { ring, offsets } = rings;
    offsets.clear();
    offsets.extend(x.sources.iter().map(|&s| source.offset(s)));
    let channels = source.view.size().channels;
    let weights = y.weights.as_chunks::<K>().0;
    let horizontal = |s: usize, to: &mut [T]| {
        let row = source.view.stored_row(s);
        match channels {
            1 => across::<T, K>(row, offsets, &x.weights, 1, to),
            3 => across::<T, K>(row, offsets, &x.weights, 3, to),
            n => across::<T, K>(row, offsets, &x.weights, n, to),
        }
    };
    ring.pass::<T, K>(source.row_len(), &y.sources, out, horizontal, |d, rows, out| {
        let (weights, rows) = (weights[d].map(T::from), rows.map(|row| &row[..out.len()]));
        for (i, out) in out.iter_mut().enumerate() {
            *out = sum(|j| weights[j] * rows[j][i], K);
        }
    });
}

/// The horizontal pass of a row.
#[inline(always)]
fn across<T: Number, const K: usize>(
    row: &[T],
    offsets: &[usize],
    weights: &[f32],
    channels: usize,
    out: &mut [T],
) {
    let taps = offsets.as_chunks::<K>().0.iter().zip(weights.as_chunks::<K>().0);
    for ((offsets, weights), out) in taps.zip(out.chunks_exact_mut(channels)) {
        let sources = offsets.map(|offset| &row[offset..][..channels]);
        let weights = weights.map(T::from);
        for (c, out) in out.iter_mut().enumerate() {
            *out = sum(|j| weights[j] * sources[j][c], K);
        }
    }
}

/// The sum of `n` terms, from the first on.
#[inline(always)]
fn sum<T: Number>(term: impl Fn(usize) -> T, n: usize) -> T {
    (1..n).fold(term(0), |sum, j| sum + term(j))
}

/// Linear interpolation to half of the width and height, which the reference does as the mean of four pixels. Of images of
/// one channel it adds the columns of whole groups of four in another order.
fn halve<T: Number>(source: &Source<'_, T>, out: RowsMut<'_, T>) {
    let (channels, window) = (source.view.size().channels, source.target.window);
    let quarter = T::from(0.25);
    let grouped = if channels == 1 { source.target.width / 4 * 4 } else { 0 };
    for (y, out) in (window.y..window.y + window.height).zip(out.values.chunks_mut(out.stride)) {
        let rows = [2 * y, 2 * y + 1].map(|y| source.view.stored_row(y));
        for (x, out) in (window.x..window.x + window.width).zip(out.chunks_exact_mut(channels)) {
            let [left, right] = [2 * x, 2 * x + 1].map(|x| source.offset(x));
            for (i, out) in out.iter_mut().enumerate() {
                let (a, b) = (rows[0][left + i], rows[0][right + i]);
                let (c, d) = (rows[1][left + i], rows[1][right + i]);
                *out = if x < grouped { (a + b) + (c + d) } else { a + b + c + d } * quarter;
            }
        }
    }
}
