//! Resizing, with the results of OpenCV 3.1 in every bit (spec/image.md §6).
//!
//! Rows are first resized horizontally, each when it is first needed, into a ring of as many rows as there are taps; the
//! rows of the result are made of these. Loops run over plain slices, so that the compiler uses vector instructions.
//! `resize/bytes.rs` has 8-bit arithmetic, `resize/floats.rs` that of floating-point images; `resize/antialiased.rs` has the
//! results of Pillow.

use super::axis::{Axis, Interpolation, Span};
use super::view::{Rect, View};

mod antialiased;
mod bytes;
mod floats;

pub use antialiased::Filter;

/// The size to which an image is resized, and the part of it that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Columns of the whole resized image.
    pub width: usize,
    /// Rows of the whole resized image.
    pub height: usize,
    /// The part of it that is wanted.
    pub window: Rect,
}

impl Target {
    /// All of an image of this size.
    pub fn whole(width: usize, height: usize) -> Target {
        Target { width, height, window: Rect { x: 0, y: 0, width, height } }
    }
}

/// Memory that resizing reuses.
#[derive(Debug, Default)]
pub struct ResizeScratch<T: Value> {
    x: Axis,
    y: Axis,
    /// For nearest pixels: the offset of each pixel of a row in the source.
    offsets: Vec<usize>,
    rings: T::Rings,
    row: Vec<T>,
    antialiased: antialiased::Scratch<T>,
}

/// A type of the values of pixels.
pub trait Value: sealed::Kernels + Copy + Default + PartialOrd + Send + Sync + 'static {
    /// The value of this type that is nearest to a whole number.
    fn nearest(number: u32) -> Self;
}

impl Value for u8 {
    fn nearest(number: u32) -> u8 {
        u8::try_from(number).unwrap_or(u8::MAX)
    }
}

impl Value for f32 {
    fn nearest(number: u32) -> f32 {
        number as f32
    }
}

impl Value for f64 {
    fn nearest(number: u32) -> f64 {
        number.into()
    }
}

mod sealed {
    use super::antialiased::Weighted;
    use super::{Axis, Interpolation, RowsMut, Source};

    /// The arithmetic of a type of values.
    pub trait Kernels: Weighted {
        /// Rows that have been resized horizontally.
        type Rings: Default + std::fmt::Debug + Send;

        fn resize(
            source: &Source<'_, Self>,
            x: &Axis,
            y: &Axis,
            interpolation: Interpolation,
            rings: &mut Self::Rings,
            out: RowsMut<'_, Self>,
        );
    }
}

/// The input of the kernels.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, T> {
    view: View<'a, T>,
    target: Target,
}

/// Rows that are written: `stride` values from one to the next.
#[derive(Debug)]
pub struct RowsMut<'a, T> {
    /// The values, beginning with the first one of the first row.
    pub values: &'a mut [T],
    /// Values from one row to the next.
    pub stride: usize,
}

/// Resizes an image and writes the wanted part of it. Nothing is allocated once `scratch` has served an image of the size.
///
/// # Panics
/// If the source or the target has no pixels, or `out` is too small.
pub fn resize<T: Value>(
    from: View<'_, T>,
    target: Target,
    interpolation: Interpolation,
    scratch: &mut ResizeScratch<T>,
    out: RowsMut<'_, T>,
) {
    let (size, window) = (from.size(), target.window);
    assert!(size.values() > 0 && target.width > 0 && target.height > 0, "{size:?} to {target:?}");
    let ResizeScratch { x, y, offsets, rings, row, antialiased } = scratch;
    if (size.width, size.height) == (target.width, target.height) {
        let n = window.width * size.channels;
        let mut rows = out.values.chunks_mut(out.stride);
        return from.cut(window).each_row(row, |_, row| {
            rows.next().expect("a row of the target for each row")[..n].copy_from_slice(row);
        });
    }
    if let Interpolation::Antialiased(filter) = interpolation {
        return antialiased::resize(from, &target, filter, antialiased, out);
    }
    let columns = Span { from: size.width, to: target.width, part: window.x..window.x + window.width };
    let rows = Span { from: size.height, to: target.height, part: window.y..window.y + window.height };
    if interpolation == Interpolation::Nearest {
        return nearest(from, &columns, &rows, offsets, out);
    }
    x.prepare(&columns, interpolation, true);
    y.prepare(&rows, interpolation, false);
    T::resize(&Source { view: from, target }, x, y, interpolation, rings, out);
}

fn nearest<T: Value>(
    from: View<'_, T>,
    columns: &Span,
    rows: &Span,
    offsets: &mut Vec<usize>,
    out: RowsMut<'_, T>,
) {
    let (width, channels) = (from.size().width, from.size().channels);
    let stored = |s: usize| if from.is_mirrored() { width - 1 - s } else { s };
    offsets.clear();
    offsets.extend(columns.nearest().map(|s| stored(s) * channels));
    for (s, to) in rows.nearest().zip(out.values.chunks_mut(out.stride)) {
        let row = from.stored_row(s);
        match channels {
            1 => copy_pixels::<T, 1>(row, offsets, to),
            3 => copy_pixels::<T, 3>(row, offsets, to),
            _ => {
                for (&offset, to) in offsets.iter().zip(to.chunks_exact_mut(channels)) {
                    to.copy_from_slice(&row[offset..offset + channels]);
                }
            }
        }
    }
}

fn copy_pixels<T: Copy, const C: usize>(row: &[T], offsets: &[usize], to: &mut [T]) {
    for (&offset, to) in offsets.iter().zip(to.as_chunks_mut::<C>().0) {
        to.copy_from_slice(&row[offset..offset + C]);
    }
}

/// A ring of horizontally resized rows: row `s` of the source lies in slot `s mod K`. The taps of a row are adjacent,
/// so each has its own slot.
#[derive(Debug, Default)]
struct Ring<R> {
    values: Vec<R>,
    held: [Option<usize>; 8],
}

impl<R: Copy + Default> Ring<R> {
    /// Makes each row of the result out of its K source rows, which `horizontal` resizes.
    fn pass<T, const K: usize>(
        &mut self,
        row_len: usize,
        sources: &[usize],
        out: RowsMut<'_, T>,
        mut horizontal: impl FnMut(usize, &mut [R]),
        mut vertical: impl FnMut(usize, [&[R]; K], &mut [T]),
    ) {
        self.held = [None; 8];
        self.values.resize(K * row_len, R::default());
        for ((d, sources), to) in
            sources.as_chunks::<K>().0.iter().enumerate().zip(out.values.chunks_mut(out.stride))
        {
            for &s in sources {
                let slot = s % K;
                if self.held[slot] != Some(s) {
                    horizontal(s, &mut self.values[slot * row_len..][..row_len]);
                    self.held[slot] = Some(s);
                }
            }
            let rows = sources.map(|s| &self.values[s % K * row_len..][..row_len]);
            vertical(d, rows, &mut to[..row_len]);
        }
    }
}

impl<T: Copy + Default> Source<'_, T> {
    /// Values of a resized row.
    fn row_len(&self) -> usize {
        self.target.window.width * self.view.size().channels
    }

    /// The offset of a source column, in values from the start of a row.
    fn offset(&self, column: usize) -> usize {
        let size = self.view.size();
        let column = if self.view.is_mirrored() { size.width - 1 - column } else { column };
        column * size.channels
    }
}

#[cfg(test)]
mod tests;
