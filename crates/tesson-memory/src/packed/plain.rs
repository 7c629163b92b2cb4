//! Items of a stream, packed and unpacked one by one.
//!
//! For the next editor: this file defines the form, and the vector kernels are tested against it on random input;
//! change it first. Loops fold over all items without a branch and decide once at the end, which lets the compiler
//! make vector code of them on any processor.

use std::ops::Range;

use tesson_core::{Offsets, Values};

use super::{BYTES, F32, F64, Items, Kernel, ONES, count, masks};

/// One item after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain;

impl Kernel for Plain {
    fn pack_columns(self, columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
        pack_columns(columns, chained, room)
    }

    fn pack_values(self, values: &Values, range: Range<usize>, room: &mut [u8]) -> (u8, usize) {
        pack_values(values, range, room)
    }

    fn spare_zeros(self, bytes: &[u8], room: &mut [u8]) -> usize {
        let (masks, others) = room.split_at_mut(masks(bytes.len()));
        masks.fill(0);
        let mut n = 0;
        for (i, &byte) in bytes.iter().enumerate().filter(|&(_, &byte)| byte != 0) {
            masks[i / 8] |= 1 << (i % 8);
            others[n] = byte;
            n += 1;
        }
        masks.len() + n
    }

    fn columns(self, items: Items<'_>, width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
        columns(items.bytes, width, n, chained, out);
    }

    fn f32s(self, items: Items<'_>, form: u8, n: usize, out: &mut Vec<f32>) {
        values(items.bytes, form, n, out, f32::from_le_bytes);
    }

    fn spared_f32s(self, items: Items<'_>, n: usize, out: &mut Vec<f32>) {
        spared(items.bytes, n, out);
    }
}

/// Implements [`Kernel::pack_columns`].
fn pack_columns(columns: &[u32], chained: bool, room: &mut [u8]) -> (u8, usize) {
    let Some(&first) = columns.first() else { return (0, 0) };
    let width = width_of(distances(columns, chained).fold(first, |all, d| all | d));
    (width, write(columns, chained, width, room))
}

/// Writes the numbers of pairs of some samples at `at` (only the first, if they are alike) and after them the distances
/// of their columns; says how wide those are and where they end.
pub(super) fn pack_samples(
    columns: &[u32],
    rows: &Offsets,
    samples: Range<usize>,
    each: Option<usize>,
    room: &mut [u8],
    mut at: usize,
) -> (u8, usize) {
    let base = rows.start(samples.start);
    let of = |sample| {
        let pairs = rows.range(sample);
        &columns[pairs.start - base..pairs.end - base]
    };
    let all = samples.clone().map(of).fold(0, |all, columns| {
        distances(columns, true).fold(all | columns.first().copied().unwrap_or(0), |all, d| all | d)
    });
    let width = width_of(all);
    match each {
        Some(n) => at = count(n, room, at),
        None => samples.clone().for_each(|sample| at = count(of(sample).len(), room, at)),
    }
    for sample in samples {
        at += write(of(sample), true, width, &mut room[at..]);
    }
    (width, at)
}

/// The distances of all columns but the first.
fn distances(columns: &[u32], chained: bool) -> impl ExactSizeIterator<Item = u32> {
    let keep = if chained { u32::MAX } else { 0 };
    columns.windows(2).map(move |w| w[1] - (w[0] & keep))
}

/// The width that all distances fit into, given all their bits.
pub(super) fn width_of(all: u32) -> u8 {
    match all {
        0..0x100 => 0,
        0x100..0x1_0000 => 1,
        _ => 2,
    }
}

/// Writes the distances in a width; returns the number of bytes.
fn write(columns: &[u32], chained: bool, width: u8, room: &mut [u8]) -> usize {
    let Some(&first) = columns.first() else { return 0 };
    let all = std::iter::once(first).chain(distances(columns, chained));
    match width {
        0 => items(all.map(|d| [d as u8]), room),
        1 => items(all.map(|d| (d as u16).to_le_bytes()), room),
        _ => items(all.map(u32::to_le_bytes), room),
    }
}

/// Writes items of `N` bytes each; returns the number of bytes.
fn items<const N: usize>(items: impl Iterator<Item = [u8; N]>, room: &mut [u8]) -> usize {
    let mut n = 0;
    for (place, item) in room.as_chunks_mut().0.iter_mut().zip(items) {
        *place = item;
        n += N;
    }
    n
}

/// Blocks keep other values as they were read.
const ONLY_FLOATS: &str = "only floating-point numbers are packed";

/// Implements [`Kernel::pack_values`].
pub(super) fn pack_values(values: &Values, range: Range<usize>, room: &mut [u8]) -> (u8, usize) {
    let form = form_of(values, range.clone());
    let bytes = match (values, form) {
        (_, ONES) => 0,
        (Values::Bytes(v), _) => items(v[range].iter().map(|&x| [x]), room),
        (Values::F32(v), BYTES) => items(v[range].iter().map(|&x| [x as u8]), room),
        (Values::F64(v), BYTES) => items(v[range].iter().map(|&x| [x as u8]), room),
        (Values::F32(v), _) => items(v[range].iter().map(|x| x.to_le_bytes()), room),
        (Values::F64(v), _) => items(v[range].iter().map(|x| x.to_le_bytes()), room),
        (Values::Ones(_), _) => unreachable!("ones have a form of their own"),
        _ => unreachable!("{ONLY_FLOATS}"),
    };
    (form, bytes)
}

/// The narrowest form that gives every bit of the values back.
fn form_of(values: &Values, range: Range<usize>) -> u8 {
    let narrow = |(ones, bytes): (u64, u64), wide| match (ones, bytes) {
        (0, _) => ONES,
        (_, 0) => BYTES,
        _ => wide,
    };
    // Differences of bits are gathered instead of answers: short loops without a branch.
    match values {
        Values::Ones(_) => ONES,
        Values::Bytes(v) => narrow((v[range].iter().fold(0, |all, &x| all | u64::from(x ^ 1)), 0), BYTES),
        Values::F32(v) => {
            let differ = |(ones, bytes), &x: &f32| {
                (ones | (x.to_bits() ^ 1f32.to_bits()), bytes | (x.to_bits() ^ f32::from(x as u8).to_bits()))
            };
            let (ones, bytes) = v[range].iter().fold((0, 0), differ);
            narrow((ones.into(), bytes.into()), F32)
        }
        Values::F64(v) => {
            let differ = |(ones, bytes), &x: &f64| {
                (ones | (x.to_bits() ^ 1f64.to_bits()), bytes | (x.to_bits() ^ f64::from(x as u8).to_bits()))
            };
            narrow(v[range].iter().fold((0, 0), differ), F64)
        }
        _ => unreachable!("{ONLY_FLOATS}"),
    }
}

/// Implements [`Kernel::columns`].
fn columns(bytes: &[u8], width: u8, n: usize, chained: bool, out: &mut Vec<i32>) {
    match width {
        0 => columns_of(bytes, n, chained, out, |[d]| d.into()),
        1 => columns_of(bytes, n, chained, out, |d| u16::from_le_bytes(d).into()),
        _ => columns_of(bytes, n, chained, out, i32::from_le_bytes),
    }
}

fn columns_of<const N: usize>(
    bytes: &[u8],
    n: usize,
    chained: bool,
    out: &mut Vec<i32>,
    distance: impl Fn([u8; N]) -> i32,
) {
    let distances = &bytes.as_chunks().0[..n];
    let mut column = 0;
    out.extend(distances.iter().map(|&d| {
        column = if chained { column + distance(d) } else { distance(d) };
        column
    }));
}

/// Appends `n` values of a form, which take `N` bytes if they are neither ones nor bytes.
pub(super) fn values<T: From<u8> + Clone, const N: usize>(
    bytes: &[u8],
    form: u8,
    n: usize,
    out: &mut Vec<T>,
    value: impl Fn([u8; N]) -> T,
) {
    match form {
        ONES => out.resize(out.len() + n, T::from(1)),
        BYTES => out.extend(bytes[..n].iter().map(|&x| T::from(x))),
        _ => out.extend(bytes.as_chunks().0[..n].iter().map(|&x| value(x))),
    }
}

/// Appends `n` values, given as by [`Kernel::spare_zeros`].
pub(super) fn spared<T: From<u8>>(bytes: &[u8], n: usize, out: &mut Vec<T>) {
    let (masks, others) = bytes.split_at(masks(n));
    let mut others = others.iter();
    out.extend((0..n).map(|i| {
        let other = if masks[i / 8] >> (i % 8) & 1 == 1 { others.next() } else { None };
        T::from(other.copied().unwrap_or(0))
    }));
}
