//! Values of a stream in its element type: made by packing and by transforms, in pooled buffers.

use std::ops::Range;

use tesson_core::{Element, InputValues, ValueType, Values};
use tesson_memory::packed::{Kernel, PackedStream};
use tesson_memory::pool::Buffer;

use crate::pack::Pools;

/// Values of a stream in its element type.
#[derive(Debug)]
pub enum SampleValues {
    /// 32-bit floats.
    F32(Buffer<f32>),
    /// 64-bit floats.
    F64(Buffer<f64>),
    /// Whole numbers from 0 to 255, of pictures.
    U8(Buffer<u8>),
}

impl SampleValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            SampleValues::F32(v) => v.len(),
            SampleValues::F64(v) => v.len(),
            SampleValues::U8(v) => v.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i`, widened.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            SampleValues::F32(v) => v[i].into(),
            SampleValues::F64(v) => v[i],
            SampleValues::U8(v) => v[i].into(),
        }
    }

    pub(crate) fn truncate(&mut self, n: usize) {
        match self {
            SampleValues::F32(v) => v.items().truncate(n),
            SampleValues::F64(v) => v.items().truncate(n),
            SampleValues::U8(v) => v.items().truncate(n),
        }
    }

    /// Frees [unused memory](Buffer::trim).
    pub(crate) fn trim(&mut self) {
        match self {
            SampleValues::F32(v) => v.trim(),
            SampleValues::F64(v) => v.trim(),
            SampleValues::U8(v) => v.trim(),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        match self {
            SampleValues::F32(v) => v.memory(),
            SampleValues::F64(v) => v.memory(),
            SampleValues::U8(v) => v.memory(),
        }
    }

    /// Bytes of the values.
    pub fn bytes(&self) -> usize {
        match self {
            SampleValues::F32(v) => v.len() * 4,
            SampleValues::F64(v) => v.len() * 8,
            SampleValues::U8(v) => v.len(),
        }
    }

    pub(crate) fn with_capacity(element: Element, n: usize, pools: &Pools) -> SampleValues {
        match element {
            Element::F32 => SampleValues::F32(pools.f32s.take(n)),
            Element::F64 => SampleValues::F64(pools.f64s.take(n)),
            Element::U8 => SampleValues::U8(pools.u8s.take(n)),
        }
    }

    /// Removes the values, and makes room for `n`.
    pub(crate) fn empty(&mut self, element: Element, n: usize, pools: &Pools) {
        match (&mut *self, element) {
            (SampleValues::F32(v), Element::F32) => pools.f32s.refill(v, n),
            (SampleValues::F64(v), Element::F64) => pools.f64s.refill(v, n),
            (SampleValues::U8(v), Element::U8) => pools.u8s.refill(v, n),
            _ => *self = SampleValues::with_capacity(element, n, pools),
        }
    }

    /// Appends `range` of a column.
    pub(crate) fn append(&mut self, values: &Values, range: Range<usize>) {
        match (self, values) {
            (SampleValues::F32(out), Values::F32(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::F64(out), Values::F64(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::F32(out), Values::Bytes(v)) => widen(out, &v[range]),
            (SampleValues::F64(out), Values::Bytes(v)) => widen(out, &v[range]),
            (SampleValues::F32(out), Values::Ones(_)) => fill(out, range.len()),
            (SampleValues::F64(out), Values::Ones(_)) => fill(out, range.len()),
            (SampleValues::F32(_), Values::F64(_))
            | (SampleValues::F64(_), Values::F32(_))
            | (SampleValues::U8(_), _) => {
                unreachable!("deserializers keep to their stream's element type")
            }
        }
    }

    /// Appends the values of a packed sequence.
    // Always: a function of its own is compiled without the instructions of the kernel, whose functions it could not inline then.
    #[inline(always)]
    pub(crate) fn append_packed(&mut self, stream: &PackedStream<'_, impl Kernel>) {
        match self {
            SampleValues::F32(out) => stream.f32s(out.items()),
            SampleValues::F64(out) => stream.f64s(out.items()),
            SampleValues::U8(_) => unreachable!("streams of 8-bit values are encoded"),
        }
    }

    /// Appends a range of values of the same type.
    pub(crate) fn append_floats(&mut self, from: &SampleValues, range: Range<usize>) {
        match (self, from) {
            (SampleValues::F32(out), SampleValues::F32(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::F64(out), SampleValues::F64(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::U8(out), SampleValues::U8(v)) => out.items().extend_from_slice(&v[range]),
            _ => unreachable!("a stream has one element type"),
        }
    }

    pub(crate) fn append_zeros(&mut self, n: usize) {
        match self {
            SampleValues::F32(out) => {
                let to = out.len() + n;
                out.items().resize(to, 0.0);
            }
            SampleValues::F64(out) => {
                let to = out.len() + n;
                out.items().resize(to, 0.0);
            }
            SampleValues::U8(out) => {
                let to = out.len() + n;
                out.items().resize(to, 0);
            }
        }
    }

    /// Sets value `at` to value `i` of values of the same type.
    pub(crate) fn set(&mut self, at: usize, from: &SampleValues, i: usize) {
        match (self, from) {
            (SampleValues::F32(out), SampleValues::F32(v)) => out[at] = v[i],
            (SampleValues::F64(out), SampleValues::F64(v)) => out[at] = v[i],
            (SampleValues::U8(out), SampleValues::U8(v)) => out[at] = v[i],
            _ => unreachable!("a stream has one element type"),
        }
    }

    pub(crate) fn value_type(&self) -> ValueType {
        match self {
            SampleValues::F32(_) => ValueType::F32,
            SampleValues::F64(_) => ValueType::F64,
            SampleValues::U8(_) => ValueType::U8,
        }
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> InputValues<'_> {
        match self {
            SampleValues::F32(v) => InputValues::F32(&v[range]),
            SampleValues::F64(v) => InputValues::F64(&v[range]),
            SampleValues::U8(v) => InputValues::U8(&v[range]),
        }
    }

    /// Appends values of another type.
    pub(crate) fn append_cast(&mut self, values: InputValues<'_>) {
        match (self, values) {
            (SampleValues::F32(out), InputValues::U8(v)) => {
                out.items().extend(v.iter().map(|&x| f32::from(x)))
            }
            (SampleValues::F32(out), InputValues::F64(v)) => out.items().extend(v.iter().map(|&x| x as f32)),
            (SampleValues::F64(out), InputValues::U8(v)) => {
                out.items().extend(v.iter().map(|&x| f64::from(x)))
            }
            (SampleValues::F64(out), InputValues::F32(v)) => {
                out.items().extend(v.iter().map(|&x| f64::from(x)))
            }
            _ => unreachable!("values of the same type are appended where they are made"),
        }
    }
}

fn widen<T: From<u8>>(out: &mut Buffer<T>, bytes: &[u8]) {
    out.items().extend(bytes.iter().map(|&b| T::from(b)));
}

fn fill<T: From<u8> + Clone>(out: &mut Buffer<T>, n: usize) {
    let to = out.len() + n;
    out.items().resize(to, T::from(1));
}
