//! 8-bit images: weights in 2048ths, sums in whole numbers (spec/image.md §6.2).

use super::sealed::Kernels;
use super::{Axis, Interpolation, Ring, RowsMut, Source};

/// Rows of 8-bit images that have been resized horizontally.
#[derive(Debug, Default)]
pub struct Rings {
    /// For linear interpolation: sums divided by 16, which is all that the vertical pass reads.
    halves: Ring<i16>,
    /// For the other interpolations: sums.
    wholes: Ring<i32>,
    pairs: Pairs,
    /// The weights of the vertical pass of linear interpolation, repeated.
    weight_rows: [Vec<i16>; 2],
    offsets: Vec<usize>,
}

impl Kernels for u8 {
    type Rings = Rings;

    fn resize(
        source: &Source<'_, u8>,
        x: &Axis,
        y: &Axis,
        interpolation: Interpolation,
        rings: &mut Rings,
        out: RowsMut<'_, u8>,
    ) {
        let channels = source.view.size().channels;
        rings.offsets.clear();
        rings.offsets.extend(x.sources.iter().map(|&s| source.offset(s)));
        match (interpolation, channels) {
            (Interpolation::Cubic, _) => cubic(source, x, y, rings, out),
            (Interpolation::Lanczos, _) => lanczos(source, x, y, rings, out),
            (_, 1) => linear::<1>(source, x, y, rings, out),
            (_, 3) => linear::<3>(source, x, y, rings, out),
            (_, 4) => linear::<4>(source, x, y, rings, out),
            _ => linear_any(source, x, y, rings, out),
        }
    }
}

/// The tables with which the horizontal pass of linear interpolation computes in 16-bit numbers.
///
/// A value is `(a·(2048 - w) + b·w) / 16` rounded down, where `a` is the source with the larger weight. That equals
/// `128·a + (((a - b)·128)·(-32·w) / 2^16)` rounded down: all products and factors fit 16 bits, as `w` is at most
/// 1024.
#[derive(Debug, Default)]
struct Pairs {
    /// Offsets of the sources of the larger and the smaller weight.
    offsets: Vec<[u32; 2]>,
    /// The largest of these.
    furthest: usize,
    /// `-32·w` for each value of a row.
    weights: Vec<i16>,
    /// The sources of one row, gathered.
    near: Vec<u8>,
    far: Vec<u8>,
}

impl Pairs {
    /// Makes the tables. `false` where two weights do not add up to 2048: rounding allows that, for odd positions.
    fn prepare(&mut self, offsets: &[usize], fixed: &[i16], channels: usize) -> bool {
        self.offsets.clear();
        self.weights.clear();
        self.furthest = offsets.iter().copied().max().unwrap_or(0);
        for (o, w) in offsets.as_chunks::<2>().0.iter().zip(fixed.as_chunks::<2>().0) {
            if w[0] + w[1] != 2048 {
                return false;
            }
            let swap = w[1] > 1024;
            let (near, far) = if swap { (o[1], o[0]) } else { (o[0], o[1]) };
            self.offsets.push([near as u32, far as u32]);
            self.weights.extend(std::iter::repeat_n(-32 * w[usize::from(!swap)], channels));
        }
        true
    }

    fn row<const C: usize>(&mut self, row: &[u8], out: &mut [i16]) {
        let n = out.len();
        // Four bytes are copied at once where a pixel has three: the fourth is overwritten by the next pixel. Only the last
        // row of an image may end before it.
        self.near.resize(n + 1, 0);
        self.far.resize(n + 1, 0);
        match C {
            3 if self.furthest + 4 <= row.len() => {
                gather::<3, 4>(&self.offsets, row, &mut self.near, &mut self.far)
            }
            _ => gather::<C, C>(&self.offsets, row, &mut self.near, &mut self.far),
        }
        blend(&self.near[..n], &self.far[..n], &self.weights[..n], out);
    }
}

// Loops over several slices are functions that are not inlined: the compiler knows of arguments that they do not overlap, and
// only then uses vector instructions without checks at run time.

/// Collects the sources of a row: pixels of C values, copied W bytes at a time.
#[inline(never)]
fn gather<const C: usize, const W: usize>(offsets: &[[u32; 2]], row: &[u8], near: &mut [u8], far: &mut [u8]) {
    for (d, o) in offsets.iter().enumerate() {
        let to = d * C..d * C + W;
        near[to.clone()].copy_from_slice(&row[o[0] as usize..][..W]);
        far[to].copy_from_slice(&row[o[1] as usize..][..W]);
    }
}

#[inline(never)]
fn blend(near: &[u8], far: &[u8], weights: &[i16], out: &mut [i16]) {
    let sources = near.iter().zip(far).zip(weights);
    for (out, ((&near, &far), &weight)) in out.iter_mut().zip(sources) {
        let (near, far) = (i16::from(near) << 7, i16::from(far) << 7);
        *out = near + high(near - far, weight);
    }
}

/// The upper half of a product.
fn high(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

fn linear<const C: usize>(
    source: &Source<'_, u8>,
    x: &Axis,
    y: &Axis,
    rings: &mut Rings,
    out: RowsMut<'_, u8>,
) {
    let Rings { halves, pairs, offsets, weight_rows, .. } = rings;
    if !pairs.prepare(offsets, &x.fixed, C) {
        return linear_any(source, x, y, rings, out);
    }
    let horizontal = |s: usize, to: &mut [i16]| pairs.row::<C>(source.view.stored_row(s), to);
    halves.pass::<u8, 2>(
        source.row_len(),
        &y.sources,
        out,
        horizontal,
        vertical_linear(y, source.row_len(), weight_rows),
    );
}

fn linear_any(source: &Source<'_, u8>, x: &Axis, y: &Axis, rings: &mut Rings, out: RowsMut<'_, u8>) {
    let Rings { halves, offsets, weight_rows, .. } = rings;
    let channels = source.view.size().channels;
    let horizontal = |s: usize, to: &mut [i16]| {
        let row = source.view.stored_row(s);
        sums::<_, 2>(row, offsets, &x.fixed, channels, to, |sum| (sum >> 4) as i16);
    };
    halves.pass::<u8, 2>(
        source.row_len(),
        &y.sources,
        out,
        horizontal,
        vertical_linear(y, source.row_len(), weight_rows),
    );
}

fn vertical_linear<'a>(
    y: &'a Axis,
    row_len: usize,
    rows: &'a mut [Vec<i16>; 2],
) -> impl FnMut(usize, [&[i16]; 2], &mut [u8]) {
    let weights = y.fixed.as_chunks::<2>().0;
    move |d, [upper, lower], out| {
        for (row, weight) in rows.iter_mut().zip(weights[d]) {
            row.clear();
            row.resize(row_len, weight);
        }
        blend_rows([upper, lower], rows.each_ref().map(|row| &row[..]), out);
    }
}

/// The weights are rows of equal numbers: the compiler uses 16-bit multiplications only where both factors are loaded.
#[inline(never)]
fn blend_rows([upper, lower]: [&[i16]; 2], [b0, b1]: [&[i16]; 2], out: &mut [u8]) {
    let rows = upper.iter().zip(lower).zip(b0.iter().zip(b1));
    for (out, ((&h0, &h1), (&b0, &b1))) in out.iter_mut().zip(rows) {
        *out = ((high(h0, b0) + high(h1, b1) + 2) >> 2).clamp(0, 255) as u8;
    }
}

fn cubic(source: &Source<'_, u8>, x: &Axis, y: &Axis, rings: &mut Rings, out: RowsMut<'_, u8>) {
    let channels = source.view.size().channels;
    let horizontal = horizontal::<4>(source, x, &rings.offsets);
    let weights = y.fixed.as_chunks::<4>().0;
    // The reference computes whole groups of eight values of the full row in single precision, the rest in whole numbers.
    let grouped = source.target.width * channels / 8 * 8;
    let grouped = grouped.saturating_sub(source.target.window.x * channels).min(source.row_len());
    rings.wholes.pass::<u8, 4>(source.row_len(), &y.sources, out, horizontal, |d, rows, out| {
        grouped_cubic(rows.map(|row| &row[..grouped]), weights[d], &mut out[..grouped]);
        weighted(rows.map(|row| &row[grouped..]), weights[d], &mut out[grouped..]);
    });
}

#[inline(never)]
fn grouped_cubic([h0, h1, h2, h3]: [&[i32]; 4], weights: [i16; 4], out: &mut [u8]) {
    let g = weights.map(|b| f32::from(b) * 2f32.powi(-22));
    let rows = h0.iter().zip(h1).zip(h2.iter().zip(h3));
    for (out, ((&h0, &h1), (&h2, &h3))) in out.iter_mut().zip(rows) {
        let sum = ((g[0] * h0 as f32 + g[1] * h1 as f32) + g[2] * h2 as f32) + g[3] * h3 as f32;
        *out = nearest_even(sum).clamp(0, 255) as u8;
    }
}

/// Rounds to the nearest whole number, halves to even, where the magnitude is below 2^22: adding makes the processor round.
fn nearest_even(x: f32) -> i32 {
    const SHIFT: f32 = 12_582_912.0;
    ((x + SHIFT) - SHIFT) as i32
}

fn lanczos(source: &Source<'_, u8>, x: &Axis, y: &Axis, rings: &mut Rings, out: RowsMut<'_, u8>) {
    let horizontal = horizontal::<8>(source, x, &rings.offsets);
    let weights = y.fixed.as_chunks::<8>().0;
    rings.wholes.pass::<u8, 8>(source.row_len(), &y.sources, out, horizontal, |d, rows, out| {
        weighted(rows, weights[d], out);
    });
}

/// Weighted sums of rows, in whole numbers, halves rounded up.
#[inline(never)]
fn weighted<const K: usize>(rows: [&[i32]; K], weights: [i16; K], out: &mut [u8]) {
    let rows = rows.map(|row| &row[..out.len()]);
    for (i, out) in out.iter_mut().enumerate() {
        let sum: i32 =
            (0..K).map(|j| i32::from(weights[j]).wrapping_mul(rows[j][i])).fold(0, i32::wrapping_add);
        *out = (sum.wrapping_add(1 << 21) >> 22).clamp(0, 255) as u8;
    }
}

fn horizontal<const K: usize>(
    source: &Source<'_, u8>,
    x: &Axis,
    offsets: &[usize],
) -> impl FnMut(usize, &mut [i32]) {
    let channels = source.view.size().channels;
    move |s, to| {
        let row = source.view.stored_row(s);
        match channels {
            1 => sums::<_, K>(row, offsets, &x.fixed, 1, to, |sum| sum),
            3 => sums::<_, K>(row, offsets, &x.fixed, 3, to, |sum| sum),
            n => sums::<_, K>(row, offsets, &x.fixed, n, to, |sum| sum),
        }
    }
}

/// Weighted sums of the K sources of each value of a row.
#[inline(always)]
fn sums<T, const K: usize>(
    row: &[u8],
    offsets: &[usize],
    weights: &[i16],
    channels: usize,
    out: &mut [T],
    finish: impl Fn(i32) -> T,
) {
    let taps = offsets.as_chunks::<K>().0.iter().zip(weights.as_chunks::<K>().0);
    for ((offsets, weights), out) in taps.zip(out.chunks_exact_mut(channels)) {
        let product = |j: usize, value: u8| i32::from(weights[j]) * i32::from(value);
        if offsets[K - 1] == offsets[0] + (K - 1) * channels {
            // Adjacent pixels: one check of bounds.
            let pixels = &row[offsets[0]..][..K * channels];
            for (c, out) in out.iter_mut().enumerate() {
                *out = finish((0..K).map(|j| product(j, pixels[j * channels + c])).sum());
            }
        } else {
            for (c, out) in out.iter_mut().enumerate() {
                *out = finish((0..K).map(|j| product(j, row[offsets[j] + c])).sum());
            }
        }
    }
}
