//! Resizing with Pillow's arithmetic, bit for bit: when an image shrinks, all pixels of the source count.
//!
//! Rows are resized horizontally into an image of the wanted columns, with values of the source's type, and that
//! image vertically. Weights are computed in double precision; for 8 bits they become multiples of 1/2^22.

use std::f64::consts::PI;
use std::fmt::Debug;

use super::super::axis::Span;
use super::super::view::View;
use super::{RowsMut, Target, Value};

/// A filter: the distance up to which other pixels count, and their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A triangle.
    Linear,
    /// A cubic with A = -0.5.
    Cubic,
    /// A windowed sinc of three lobes.
    Lanczos,
}

impl Filter {
    /// Pixels to one side.
    fn support(self) -> f64 {
        match self {
            Filter::Linear => 1.0,
            Filter::Cubic => 2.0,
            Filter::Lanczos => 3.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        const A: f64 = -0.5;
        let sinc = |x: f64| if x == 0.0 { 1.0 } else { (x * PI).sin() / (x * PI) };
        let far = x.abs();
        match self {
            Filter::Linear if far < 1.0 => 1.0 - far,
            Filter::Cubic if far < 1.0 => ((A + 2.0) * far - (A + 3.0)) * far * far + 1.0,
            Filter::Cubic if far < 2.0 => (((far - 5.0) * far + 8.0) * far - 4.0) * A,
            Filter::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            _ => 0.0,
        }
    }
}

/// A value of a pixel, and how weighted ones are summed up.
pub trait Weighted: Copy + Default {
    /// A weight.
    type Weight: Copy + Default + Debug + Send;
    /// A sum, which begins with its default.
    type Sum: Copy + Default + Debug + Send;

    /// A weight from one of 1 in all.
    fn to_weight(weight: f64) -> Self::Weight;
    /// Adds a weighted value.
    fn add_weighted(sum: &mut Self::Sum, value: Self, weight: Self::Weight);
    /// Converts a sum to a value.
    fn from_sum(sum: Self::Sum) -> Self;
}

/// The fractional bits of a weight.
const BITS: u32 = 22;

impl Weighted for u8 {
    type Weight = i32;
    type Sum = i32;

    fn to_weight(weight: f64) -> i32 {
        (weight * f64::from(1 << BITS)).round() as i32
    }

    #[inline(always)]
    fn add_weighted(sum: &mut i32, value: u8, weight: i32) {
        *sum += i32::from(value) * weight;
    }

    #[inline(always)]
    fn from_sum(sum: i32) -> u8 {
        ((sum + (1 << (BITS - 1))) >> BITS).clamp(0, 255) as u8
    }
}

macro_rules! weighted {
    ($type:ty) => {
        impl Weighted for $type {
            type Weight = f64;
            type Sum = f64;

            fn to_weight(weight: f64) -> f64 {
                weight
            }

            #[inline(always)]
            fn add_weighted(sum: &mut f64, value: $type, weight: f64) {
                *sum += f64::from(value) * weight;
            }

            #[inline(always)]
            fn from_sum(sum: f64) -> $type {
                sum as $type
            }
        }
    };
}

weighted!(f32);
weighted!(f64);

/// For each wanted position the first source, and the weights of the sources from it on.
#[derive(Debug)]
struct Taps<W> {
    /// The request for which the table was made.
    made_for: Option<(Span, Filter)>,
    firsts: Vec<usize>,
    /// The end of each position's weights.
    ends: Vec<usize>,
    weights: Vec<W>,
}

impl<W> Default for Taps<W> {
    fn default() -> Taps<W> {
        Taps { made_for: None, firsts: Vec::new(), ends: Vec::new(), weights: Vec::new() }
    }
}

impl<W: Copy> Taps<W> {
    /// Makes the table, unless it is already there.
    fn prepare<T: Weighted<Weight = W>>(&mut self, span: &Span, filter: Filter) {
        let wanted = (span.clone(), filter);
        if self.made_for.as_ref() == Some(&wanted) {
            return;
        }
        self.made_for = Some(wanted);
        self.firsts.clear();
        self.ends.clear();
        self.weights.clear();
        let scale = span.from as f64 / span.to as f64;
        let wide = scale.max(1.0);
        let (support, narrow) = (filter.support() * wide, 1.0 / wide);
        let mut weights = Vec::new();
        for position in span.part.clone() {
            let center = (position as f64 + 0.5) * scale;
            let first = (center - support + 0.5).max(0.0) as usize;
            let end = ((center + support + 0.5) as usize).min(span.from);
            weights.clear();
            weights.extend((first..end).map(|s| filter.weight((s as f64 - center + 0.5) * narrow)));
            let sum: f64 = weights.iter().sum();
            self.weights.extend(weights.iter().map(|weight| T::to_weight(weight / sum)));
            self.firsts.push(first);
            self.ends.push(self.weights.len());
        }
    }

    /// The first source of wanted position `i`, and the weights from it on.
    fn of(&self, i: usize) -> (usize, &[W]) {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (self.firsts[i], &self.weights[start..self.ends[i]])
    }
}

/// Memory that resizing reuses.
#[derive(Debug)]
pub(super) struct Scratch<T: Weighted> {
    x: Taps<T::Weight>,
    y: Taps<T::Weight>,
    /// A row of a mirrored source as it is seen.
    row: Vec<T>,
    /// The source rows that are needed, with the wanted columns.
    rows: Vec<T>,
    sums: Vec<T::Sum>,
}

impl<T: Weighted> Default for Scratch<T> {
    fn default() -> Scratch<T> {
        let (x, y) = (Taps::default(), Taps::default());
        Scratch { x, y, row: Vec::new(), rows: Vec::new(), sums: Vec::new() }
    }
}

/// Resizes an image, and writes the wanted part.
pub(super) fn resize<T: Value>(
    from: View<'_, T>,
    target: &Target,
    filter: Filter,
    scratch: &mut Scratch<T>,
    out: RowsMut<'_, T>,
) {
    let (size, window) = (from.size(), target.window);
    let (channels, width) = (size.channels, window.width * size.channels);
    let Scratch { x, y, row, rows, sums } = scratch;
    x.prepare::<T>(
        &Span { from: size.width, to: target.width, part: window.x..window.x + window.width },
        filter,
    );
    y.prepare::<T>(
        &Span { from: size.height, to: target.height, part: window.y..window.y + window.height },
        filter,
    );
    let (first_row, _) = y.of(0);
    let (last_first, last) = y.of(window.height - 1);
    rows.resize((last_first + last.len() - first_row) * width, T::default());
    for (to, s) in rows.chunks_exact_mut(width).zip(first_row..) {
        let row = from.row(s, row);
        match channels {
            1 => horizontal::<T, 1>(row, x, to),
            3 => horizontal::<T, 3>(row, x, to),
            _ => any_channels(row, x, channels, to),
        }
    }
    for (i, to) in out.values.chunks_mut(out.stride).take(window.height).enumerate() {
        let (first, weights) = y.of(i);
        sums.clear();
        sums.resize(width, T::Sum::default());
        for (&weight, row) in weights.iter().zip(rows[(first - first_row) * width..].chunks_exact(width)) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                T::add_weighted(sum, value, weight);
            }
        }
        to.iter_mut().zip(&*sums).for_each(|(to, &sum)| *to = T::from_sum(sum));
    }
}

fn horizontal<T: Weighted, const C: usize>(row: &[T], x: &Taps<T::Weight>, to: &mut [T]) {
    let (pixels, _) = row.as_chunks::<C>();
    for (i, to) in to.as_chunks_mut::<C>().0.iter_mut().enumerate() {
        let (first, weights) = x.of(i);
        let mut sums = [T::Sum::default(); C];
        for (pixel, &weight) in pixels[first..].iter().zip(weights) {
            for (sum, &value) in sums.iter_mut().zip(pixel) {
                T::add_weighted(sum, value, weight);
            }
        }
        *to = sums.map(T::from_sum);
    }
}

fn any_channels<T: Weighted>(row: &[T], x: &Taps<T::Weight>, channels: usize, to: &mut [T]) {
    for (i, to) in to.chunks_exact_mut(channels).enumerate() {
        let (first, weights) = x.of(i);
        for (channel, to) in to.iter_mut().enumerate() {
            let values = row[first * channels + channel..].iter().step_by(channels);
            let mut sum = T::Sum::default();
            values.zip(weights).for_each(|(&value, &weight)| T::add_weighted(&mut sum, value, weight));
            *to = T::from_sum(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::axis::Interpolation;
    use super::super::{ResizeScratch, RowsMut, Target, Value, resize};
    use super::Filter;
    use crate::transform::view::{Rect, Size, View};

    fn resized<T: Value>(
        values: &[T],
        from: Size,
        (width, height): (usize, usize),
        how: Interpolation,
    ) -> Vec<T> {
        let stride = width * from.channels;
        let mut out = vec![T::default(); height * stride];
        let rows = RowsMut { values: &mut out, stride };
        resize(
            View::new(values, from),
            Target::whole(width, height),
            how,
            &mut ResizeScratch::default(),
            rows,
        );
        out
    }

    /// The image that Pillow resized to the values below.
    fn image(width: usize, height: usize, channels: usize) -> Vec<u8> {
        let value = |i: usize| (i * i * 7 + i * 13 + (i >> 3) * 29) % 256;
        (0..width * height * channels).map(|i| value(i) as u8).collect()
    }

    #[test]
    fn images_of_8_bits_are_those_of_pillow() {
        for (filter, rgb, gray) in [
            (
                Filter::Linear,
                [92, 132, 140, 133, 109, 125, 93, 115, 155, 113, 82, 149, 106, 128, 122, 99, 156, 122],
                [
                    19, 100, 171, 117, 92, 134, 110, 109, 139, 154, 67, 101, 41, 102, 141, 105, 71, 105, 130,
                    154, 125, 121, 99, 202,
                ],
            ),
            (
                Filter::Cubic,
                [88, 135, 140, 140, 110, 123, 90, 109, 156, 116, 77, 151, 102, 133, 119, 99, 161, 121],
                [
                    3, 98, 185, 115, 94, 142, 101, 109, 154, 170, 43, 102, 24, 100, 153, 97, 62, 101, 136,
                    159, 134, 121, 89, 215,
                ],
            ),
            (
                Filter::Lanczos,
                [85, 135, 141, 143, 113, 122, 92, 105, 154, 118, 74, 151, 100, 136, 116, 101, 165, 123],
                [
                    0, 96, 200, 109, 98, 150, 94, 110, 158, 178, 30, 99, 20, 105, 155, 87, 56, 92, 146, 163,
                    149, 116, 80, 227,
                ],
            ),
        ] {
            let how = Interpolation::Antialiased(filter);
            assert_eq!(resized(&image(7, 5, 3), Size::new(5, 7, 3), (3, 2), how), rgb, "{filter:?}");
            assert_eq!(resized(&image(9, 4, 1), Size::new(4, 9, 1), (4, 6), how), gray, "{filter:?}");
        }
    }

    #[test]
    fn images_of_floats_are_those_of_pillow() {
        let values: Vec<f32> = image(9, 4, 1).into_iter().map(f32::from).collect();
        for (filter, expected) in [
            (
                Filter::Linear,
                [
                    62.717144, 120.28537, 134.13171, 111.70857, 89.957146, 128.03659, 104.29269, 103.14285,
                    91.99714, 111.08293, 117.37561, 173.31714,
                ],
            ),
            (
                Filter::Cubic,
                [
                    59.56908, 126.32403, 133.57204, 111.398186, 89.02805, 135.29057, 97.782524, 99.44576,
                    88.83297, 107.29266, 119.4283, 182.21432,
                ],
            ),
            (
                Filter::Lanczos,
                [
                    64.60696, 133.57071, 126.73558, 110.616356, 88.63875, 140.65872, 92.77684, 94.50343,
                    83.73466, 97.242424, 128.76036, 186.78748,
                ],
            ),
        ] {
            let found = resized(&values, Size::new(4, 9, 1), (4, 3), Interpolation::Antialiased(filter));
            assert_eq!(found, expected, "{filter:?}");
        }
    }

    #[test]
    fn parts_and_mirrored_images_are_parts_and_mirrored() {
        let (values, size) = (image(11, 9, 2), Size::new(9, 11, 2));
        let how = Interpolation::Antialiased(Filter::Lanczos);
        let whole = resized(&values, size, (5, 4), how);
        let view = View::new(&whole, Size::new(4, 5, 2));
        let rect = Rect { x: 1, y: 1, width: 3, height: 2 };
        let (mut expected, mut found) = (Vec::new(), vec![0; 12]);
        view.cut(rect).append_to(&mut Vec::new(), &mut expected, |value| value);
        let target = Target { width: 5, height: 4, window: rect };
        let rows = RowsMut { values: &mut found, stride: 6 };
        resize(View::new(&values, size), target, how, &mut ResizeScratch::default(), rows);
        assert_eq!(found, expected);
        // Weights are symmetric, so mirroring before and after is the same.
        let (mut mirrored, mut expected) = (vec![0; 40], Vec::new());
        let rows = RowsMut { values: &mut mirrored, stride: 10 };
        resize(
            View::new(&values, size).mirrored(),
            Target::whole(5, 4),
            how,
            &mut ResizeScratch::default(),
            rows,
        );
        view.mirrored().append_to(&mut Vec::new(), &mut expected, |value| value);
        assert_eq!(mirrored, expected);
    }
}
