//! Values of a stream in its element type: made by packing and by transforms, in pooled buffers.

use std::ops::Range;

use tesson_core::{BitsBuffer, BitsSlice, Element, InputValues, OutputValues, ValueType, Values};
use tesson_memory::file_pages::EncodedBytes;
use tesson_memory::packed::{Kernel, PackedStream};
use tesson_memory::pool::Buffer;

use crate::pack::{AHEAD, Item, Pools, items_ahead};

/// Values of a stream in its element type.
#[derive(Clone, Debug)]
pub enum SampleValues {
    /// 32-bit floats.
    F32(Buffer<f32>),
    /// 64-bit floats.
    F64(Buffer<f64>),
    /// Whole numbers from 0 to 255.
    U8(Buffer<u8>),
    /// Values of another type, bit by bit.
    Exact(ExactValues),
    /// Byte strings or texts.
    Strings(StringValues),
}

/// Byte strings or texts, each of which is a value.
#[derive(Clone, Debug)]
pub struct StringValues {
    element: Element,
    bytes: Buffer<u8>,
    /// Where each string begins, and after the last where it ends.
    offsets: Buffer<u64>,
}

impl StringValues {
    /// String `i`.
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// The type of the values: bytes or text, which is valid UTF-8.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all strings, and where each begins in them, and after the last where it ends.
    pub fn into_parts(self) -> (Buffer<u8>, Buffer<u64>) {
        (self.bytes, self.offsets)
    }

    fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.offsets.items().truncate(n + 1);
            self.bytes.items().truncate(self.offsets[n] as usize);
        }
    }

    fn remove(&mut self, range: Range<usize>) {
        let (begin, end) = (self.offsets[range.start], self.offsets[range.end]);
        self.bytes.items().drain(begin as usize..end as usize);
        self.offsets.items().drain(range.start + 1..range.end + 1);
        self.offsets.items()[range.start + 1..].iter_mut().for_each(|offset| *offset -= end - begin);
    }

    /// Appends strings that lie one after the other from `start` on, each up to its end.
    fn append(&mut self, bytes: &[u8], start: u64, ends: impl Iterator<Item = u64>) {
        let first = self.bytes.len() as u64;
        self.bytes.items().extend_from_slice(bytes);
        self.offsets.items().extend(ends.map(|end| end - start + first));
    }
}

/// Values of a type that is kept and not computed with.
#[derive(Clone, Debug)]
pub struct ExactValues {
    element: Element,
    bits: Bits,
}

/// The bits of values, by their width.
#[derive(Clone, Debug)]
pub enum Bits {
    /// Bools and 8-bit whole numbers.
    B8(Buffer<u8>),
    /// 16-bit numbers.
    B16(Buffer<u16>),
    /// 32-bit whole numbers.
    B32(Buffer<u32>),
    /// 64-bit whole numbers.
    B64(Buffer<u64>),
}

/// One value, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleValue<'a> {
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float, or a 16-bit one, which it holds exactly.
    F64(f64),
    /// A whole number of up to 64 bits.
    Whole(i128),
    /// True or false.
    Bool(bool),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A text.
    Text(&'a str),
}

impl SampleValue<'_> {
    /// The nearest 64-bit float; NaN for strings.
    pub fn rounded(self) -> f64 {
        match self {
            SampleValue::F32(x) => x.into(),
            SampleValue::F64(x) => x,
            SampleValue::Whole(x) => x as f64,
            SampleValue::Bool(x) => f64::from(u8::from(x)),
            SampleValue::Bytes(_) | SampleValue::Text(_) => f64::NAN,
        }
    }
}

impl ExactValues {
    /// The type of the values.
    pub fn element(&self) -> Element {
        self.element
    }

    /// The bits of the values.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// The bits of the values, to be taken over.
    pub fn into_bits(self) -> Bits {
        self.bits
    }

    fn value(&self, i: usize) -> SampleValue<'static> {
        let bits = match &self.bits {
            Bits::B8(v) => v[i].into(),
            Bits::B16(v) => v[i].into(),
            Bits::B32(v) => v[i].into(),
            Bits::B64(v) => v[i],
        };
        match self.element {
            Element::Bool => SampleValue::Bool(bits != 0),
            Element::F16 => SampleValue::F64(half(bits as u16)),
            Element::I8 => SampleValue::Whole((bits as i8).into()),
            Element::I16 => SampleValue::Whole((bits as i16).into()),
            Element::I32 => SampleValue::Whole((bits as i32).into()),
            Element::I64 => SampleValue::Whole((bits as i64).into()),
            _ => SampleValue::Whole(bits.into()),
        }
    }
}

/// A 16-bit float (IEEE 754 binary16) as a 64-bit one.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (bits >> 10 & 31, f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// One expression for the buffer of values of any type, and one for strings.
macro_rules! buffer {
    ($values:expr, $buffer:ident => $result:expr, $strings:ident => $of_strings:expr) => {
        match $values {
            SampleValues::Strings($strings) => $of_strings,
            SampleValues::F32($buffer) => $result,
            SampleValues::F64($buffer) => $result,
            SampleValues::U8($buffer) => $result,
            SampleValues::Exact(ExactValues { bits: Bits::B8($buffer), .. }) => $result,
            SampleValues::Exact(ExactValues { bits: Bits::B16($buffer), .. }) => $result,
            SampleValues::Exact(ExactValues { bits: Bits::B32($buffer), .. }) => $result,
            SampleValues::Exact(ExactValues { bits: Bits::B64($buffer), .. }) => $result,
        }
    };
}

/// The values of a column, if they have this form or there are none.
macro_rules! form {
    ($form:ident) => {
        |values: &Values| match values {
            Values::$form(values) => Some(values.as_slice()),
            other if other.is_empty() => Some(&[][..]),
            _ => None,
        }
    };
}
impl SampleValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        buffer!(self, v => v.len(), v => v.len())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the values.
    pub fn element(&self) -> Element {
        match self {
            SampleValues::F32(_) => Element::F32,
            SampleValues::F64(_) => Element::F64,
            SampleValues::U8(_) => Element::U8,
            SampleValues::Exact(values) => values.element,
            SampleValues::Strings(values) => values.element,
        }
    }

    /// Value `i`.
    pub fn value(&self, i: usize) -> SampleValue<'_> {
        match self {
            SampleValues::F32(v) => SampleValue::F32(v[i]),
            SampleValues::F64(v) => SampleValue::F64(v[i]),
            SampleValues::U8(v) => SampleValue::Whole(v[i].into()),
            SampleValues::Exact(values) => values.value(i),
            SampleValues::Strings(values) => match std::str::from_utf8(values.get(i)) {
                Ok(text) if values.element == Element::Text => SampleValue::Text(text),
                _ => SampleValue::Bytes(values.get(i)),
            },
        }
    }

    /// The 64-bit float nearest to value `i`: value `i` itself unless it is a whole number beyond 2^53; NaN for strings.
    pub fn get(&self, i: usize) -> f64 {
        self.value(i).rounded()
    }

    pub(crate) fn truncate(&mut self, n: usize) {
        buffer!(self, v => v.items().truncate(n), v => v.truncate(n));
    }

    /// Removes some values.
    pub(crate) fn remove(&mut self, range: Range<usize>) {
        buffer!(self, v => drop(v.items().drain(range)), v => v.remove(range));
    }

    /// Makes room for `n` more values, and for no others.
    pub(crate) fn reserve(&mut self, n: usize) {
        buffer!(self, v => v.items().reserve_exact(n), v => v.offsets.items().reserve_exact(n));
    }

    /// Frees [unused memory](Buffer::trim).
    pub(crate) fn trim(&mut self) {
        buffer!(self, v => v.trim(), v => {
            v.bytes.trim();
            v.offsets.trim();
        });
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        buffer!(self, v => v.memory(), v => v.bytes.memory() + v.offsets.memory())
    }

    /// Bytes of the values.
    pub fn bytes(&self) -> usize {
        self.len() * self.element().size() + self.string_bytes()
    }

    /// Bytes of all strings, without their ends; 0 of values of other types.
    pub(crate) fn string_bytes(&self) -> usize {
        if let SampleValues::Strings(strings) = self { strings.bytes.len() } else { 0 }
    }

    /// Makes room for so many bytes of strings, before the first one.
    pub(crate) fn reserve_string_bytes(&mut self, n: usize, pools: &Pools) {
        if let SampleValues::Strings(strings) = self {
            pools.u8s.refill(&mut strings.bytes, n);
        }
    }

    /// No values, and no memory for any.
    pub(crate) fn none(element: Element) -> SampleValues {
        let bits = match (element, element.size()) {
            (Element::F32, _) => return SampleValues::F32(Buffer::default()),
            (Element::F64, _) => return SampleValues::F64(Buffer::default()),
            (Element::U8, _) => return SampleValues::U8(Buffer::default()),
            (Element::Bytes | Element::Text, _) => {
                let (bytes, mut offsets) = (Buffer::default(), Buffer::default());
                offsets.items().push(0);
                return SampleValues::Strings(StringValues { element, bytes, offsets });
            }
            (_, 1) => Bits::B8(Buffer::default()),
            (_, 2) => Bits::B16(Buffer::default()),
            (_, 4) => Bits::B32(Buffer::default()),
            _ => Bits::B64(Buffer::default()),
        };
        SampleValues::Exact(ExactValues { element, bits })
    }

    pub(crate) fn with_capacity(element: Element, n: usize, pools: &Pools) -> SampleValues {
        let mut values = SampleValues::none(element);
        match &mut values {
            // Not empty: the first string begins somewhere.
            SampleValues::Strings(StringValues { offsets, .. }) => {
                *offsets = pools.u64s.take(n + 1);
                offsets.items().push(0);
            }
            values => values.empty(element, n, pools),
        }
        values
    }

    /// Removes the values, and makes room for `n`.
    pub(crate) fn empty(&mut self, element: Element, n: usize, pools: &Pools) {
        if self.element() != element {
            *self = SampleValues::with_capacity(element, n, pools);
            return;
        }
        match self {
            SampleValues::F32(v) => pools.f32s.refill(v, n),
            SampleValues::F64(v) => pools.f64s.refill(v, n),
            SampleValues::U8(v) => pools.u8s.refill(v, n),
            SampleValues::Exact(ExactValues { bits, .. }) => match bits {
                Bits::B8(v) => pools.u8s.refill(v, n),
                Bits::B16(v) => pools.u16s.refill(v, n),
                Bits::B32(v) => pools.u32s.refill(v, n),
                Bits::B64(v) => pools.u64s.refill(v, n),
            },
            SampleValues::Strings(StringValues { bytes, offsets, .. }) => {
                bytes.items().clear();
                pools.u64s.refill(offsets, n + 1);
                offsets.items().push(0);
            }
        }
    }

    /// Takes all values of a column, of this type, instead of those here. Values of the same form
    /// [change places](tesson_memory::pool::Pool::exchange) with them, others are copied.
    pub(crate) fn take(&mut self, element: Element, column: &mut Values, pools: &Pools) {
        if self.element() != element {
            *self = SampleValues::none(element);
        }
        match (&mut *self, &mut *column) {
            (SampleValues::F32(out), Values::F32(v)) => return pools.f32s.exchange(out, v),
            (SampleValues::F64(out), Values::F64(v)) => return pools.f64s.exchange(out, v),
            (SampleValues::U8(out), Values::Bytes(v)) => return pools.u8s.exchange(out, v),
            (SampleValues::Exact(ExactValues { bits, .. }), column) => match (bits, column) {
                (Bits::B8(out), Values::Bytes(v)) => return pools.u8s.exchange(out, v),
                (Bits::B16(out), Values::Bits16(v)) => return pools.u16s.exchange(out, v),
                (Bits::B32(out), Values::Bits32(v)) => return pools.u32s.exchange(out, v),
                (Bits::B64(out), Values::Bits64(v)) => return pools.u64s.exchange(out, v),
                _ => {}
            },
            _ => {}
        }
        self.empty(element, column.len(), pools);
        self.append(column, 0..column.len());
    }

    /// The values from `at` on, which these lose; [without a copy](Buffer::split_off).
    pub(crate) fn split_off(&mut self, at: usize) -> SampleValues {
        match self {
            SampleValues::F32(v) => SampleValues::F32(v.split_off(at)),
            SampleValues::F64(v) => SampleValues::F64(v.split_off(at)),
            SampleValues::U8(v) => SampleValues::U8(v.split_off(at)),
            SampleValues::Exact(ExactValues { element, bits }) => {
                let bits = match bits {
                    Bits::B8(v) => Bits::B8(v.split_off(at)),
                    Bits::B16(v) => Bits::B16(v.split_off(at)),
                    Bits::B32(v) => Bits::B32(v.split_off(at)),
                    Bits::B64(v) => Bits::B64(v.split_off(at)),
                };
                SampleValues::Exact(ExactValues { element: *element, bits })
            }
            SampleValues::Strings(_) => unreachable!("blocks with strings are not divided"),
        }
    }

    /// [Lets go](Buffer::release_shared) of values in memory that is shared with other minibatches.
    pub(crate) fn release_shared(&mut self) {
        buffer!(self, v => v.release_shared(), _strings => {});
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
            (SampleValues::U8(out), Values::Bytes(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::Exact(ExactValues { bits, .. }), values) => match (bits, values) {
                (Bits::B8(out), Values::Bytes(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B16(out), Values::Bits16(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B32(out), Values::Bits32(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B64(out), Values::Bits64(v)) => out.items().extend_from_slice(&v[range]),
                // Columns without samples have no type.
                (_, v) if range.is_empty() && v.is_empty() => {}
                _ => unreachable!("{NO_OTHER_TYPE}"),
            },
            (SampleValues::Strings(out), Values::Strings(v)) => {
                let start = v.start(range.start);
                let (bytes, ends) = v.run(range);
                out.append(bytes, start as u64, ends.iter().map(|&end| end as u64));
            }
            (_, v) if range.is_empty() && v.is_empty() => {}
            _ => unreachable!("{NO_OTHER_TYPE}"),
        }
    }

    /// Appends a sample of `dim` values for each item, out of the columns of the blocks that items name. Returns false, and
    /// appends nothing, if these have values of another form.
    pub(crate) fn gather(&mut self, columns: &[&Values], items: &[Item], dim: usize) -> bool {
        match self {
            SampleValues::F32(out) => {
                gather(out, columns, items, dim, form!(F32), |x| x)
                    || gather(out, columns, items, dim, form!(Bytes), f32::from)
            }
            SampleValues::F64(out) => {
                gather(out, columns, items, dim, form!(F64), |x| x)
                    || gather(out, columns, items, dim, form!(Bytes), f64::from)
            }
            SampleValues::U8(out) => gather(out, columns, items, dim, form!(Bytes), |x| x),
            SampleValues::Exact(ExactValues { bits, .. }) => match bits {
                Bits::B8(out) => gather(out, columns, items, dim, form!(Bytes), |x| x),
                Bits::B16(out) => gather(out, columns, items, dim, form!(Bits16), |x| x),
                Bits::B32(out) => gather(out, columns, items, dim, form!(Bits32), |x| x),
                Bits::B64(out) => gather(out, columns, items, dim, form!(Bits64), |x| x),
            },
            SampleValues::Strings(_) => false,
        }
    }

    /// Appends encoded samples as byte strings.
    pub(crate) fn append_encoded(&mut self, samples: EncodedBytes<'_>, range: Range<usize>) {
        let SampleValues::Strings(out) = self else { unreachable!("{NO_OTHER_TYPE}") };
        let mut memory = Vec::new();
        for sample in range {
            let bytes = samples.get(sample, &mut memory);
            out.append(bytes, 0, std::iter::once(bytes.len() as u64));
        }
    }

    /// Appends the values of a packed sequence.
    // Always: a function of its own is compiled without the instructions of the kernel, whose functions it could not inline then.
    #[inline(always)]
    pub(crate) fn append_packed(&mut self, stream: &PackedStream<'_, impl Kernel>) {
        match self {
            SampleValues::F32(out) => stream.f32s(out.items()),
            SampleValues::F64(out) => stream.f64s(out.items()),
            SampleValues::U8(_) | SampleValues::Exact(_) | SampleValues::Strings(_) => {
                unreachable!("blocks keep values of other types as they were read")
            }
        }
    }

    /// Appends a range of values of the same type.
    pub(crate) fn append_floats(&mut self, from: &SampleValues, range: Range<usize>) {
        match (self, from) {
            (SampleValues::F32(out), SampleValues::F32(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::F64(out), SampleValues::F64(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::U8(out), SampleValues::U8(v)) => out.items().extend_from_slice(&v[range]),
            (SampleValues::Exact(out), SampleValues::Exact(v)) => match (&mut out.bits, &v.bits) {
                (Bits::B8(out), Bits::B8(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B16(out), Bits::B16(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B32(out), Bits::B32(v)) => out.items().extend_from_slice(&v[range]),
                (Bits::B64(out), Bits::B64(v)) => out.items().extend_from_slice(&v[range]),
                _ => unreachable!("{NO_OTHER_TYPE}"),
            },
            (SampleValues::Strings(out), SampleValues::Strings(v)) => {
                let (start, end) = (v.offsets[range.start], v.offsets[range.end]);
                let ends = v.offsets[range.start + 1..=range.end].iter().copied();
                out.append(&v.bytes[start as usize..end as usize], start, ends);
            }
            _ => unreachable!("{NO_OTHER_TYPE}"),
        }
    }

    /// Appends values that are 0. Only sparse samples lack some, and strings are dense.
    pub(crate) fn append_zeros(&mut self, n: usize) {
        buffer!(self, v => {
            let to = v.len() + n;
            v.items().resize(to, Default::default());
        }, _v => unreachable!("sparse streams of strings are refused"));
    }

    /// Sets value `at` to value `i` of values of the same type.
    pub(crate) fn set(&mut self, at: usize, from: &SampleValues, i: usize) {
        match (self, from) {
            (SampleValues::F32(out), SampleValues::F32(v)) => out[at] = v[i],
            (SampleValues::F64(out), SampleValues::F64(v)) => out[at] = v[i],
            (SampleValues::U8(out), SampleValues::U8(v)) => out[at] = v[i],
            (SampleValues::Exact(out), SampleValues::Exact(v)) => match (&mut out.bits, &v.bits) {
                (Bits::B8(out), Bits::B8(v)) => out[at] = v[i],
                (Bits::B16(out), Bits::B16(v)) => out[at] = v[i],
                (Bits::B32(out), Bits::B32(v)) => out[at] = v[i],
                (Bits::B64(out), Bits::B64(v)) => out[at] = v[i],
                _ => unreachable!("{NO_OTHER_TYPE}"),
            },
            _ => unreachable!("{NO_OTHER_TYPE}"),
        }
    }

    pub(crate) fn value_type(&self) -> ValueType {
        self.element().into()
    }

    /// Values for a transform, which takes no strings.
    pub(crate) fn slice(&self, range: Range<usize>) -> InputValues<'_> {
        match self {
            SampleValues::F32(v) => InputValues::F32(&v[range]),
            SampleValues::F64(v) => InputValues::F64(&v[range]),
            SampleValues::U8(v) => InputValues::U8(&v[range]),
            SampleValues::Exact(ExactValues { element, bits }) => InputValues::Exact(
                *element,
                match bits {
                    Bits::B8(v) => BitsSlice::B8(&v[range]),
                    Bits::B16(v) => BitsSlice::B16(&v[range]),
                    Bits::B32(v) => BitsSlice::B32(&v[range]),
                    Bits::B64(v) => BitsSlice::B64(&v[range]),
                },
            ),
            SampleValues::Strings(_) => unreachable!("transforms of strings are refused"),
        }
    }

    /// The buffer that a transform appends to.
    pub(crate) fn output(&mut self) -> OutputValues<'_> {
        match self {
            SampleValues::F32(v) => OutputValues::F32(v.items()),
            SampleValues::F64(v) => OutputValues::F64(v.items()),
            SampleValues::U8(v) => OutputValues::U8(v.items()),
            SampleValues::Exact(ExactValues { element, bits }) => OutputValues::Exact(
                *element,
                match bits {
                    Bits::B8(v) => BitsBuffer::B8(v.items()),
                    Bits::B16(v) => BitsBuffer::B16(v.items()),
                    Bits::B32(v) => BitsBuffer::B32(v.items()),
                    Bits::B64(v) => BitsBuffer::B64(v.items()),
                },
            ),
            SampleValues::Strings(_) => unreachable!("transforms of strings are refused"),
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

const NO_OTHER_TYPE: &str = "a stream has one element type, to which its deserializer keeps";

/// The work of [`SampleValues::gather`] for values of one form.
fn gather<S: Copy, T: Copy>(
    out: &mut Buffer<T>,
    columns: &[&Values],
    items: &[Item],
    dim: usize,
    form: impl Fn(&Values) -> Option<&[S]>,
    convert: impl Fn(S) -> T,
) -> bool {
    let Some(columns) = columns.iter().map(|values| form(values)).collect::<Option<Vec<&[S]>>>() else {
        return false;
    };
    let out = out.items();
    if dim == 1 {
        // The processor itself has many of these loads on their way at once.
        out.extend(items.iter().map(|item| convert(columns[item.held as usize][item.row as usize])));
        return true;
    }
    out.reserve(items.len() * dim);
    for (i, item) in items.iter().enumerate() {
        let sample = |item: &Item| item.row as usize * dim..(item.row as usize + 1) * dim;
        if let Some(next) = items.get(i + AHEAD) {
            items_ahead(columns[next.held as usize], &sample(next));
        }
        out.extend(columns[item.held as usize][sample(item)].iter().map(|&x| convert(x)));
    }
    true
}

fn widen<T: From<u8> + Copy>(out: &mut Buffer<T>, bytes: &[u8]) {
    out.items().extend(bytes.iter().map(|&b| T::from(b)));
}

fn fill<T: From<u8> + Copy>(out: &mut Buffer<T>, n: usize) {
    let to = out.len() + n;
    out.items().resize(to, T::from(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_type_come_back_exactly() {
        let pools = Pools::new(1, usize::MAX);
        let values_of = |element, values: &Values| {
            let mut out = SampleValues::with_capacity(element, 1, &pools);
            out.append(values, 0..1);
            out
        };
        let wide = (1u64 << 60) + 1;
        let cases = [
            (Element::Bool, Values::Bytes(vec![1]), SampleValue::Bool(true)),
            (Element::U8, Values::Bytes(vec![255]), SampleValue::Whole(255)),
            (Element::I8, Values::Bytes(vec![255]), SampleValue::Whole(-1)),
            (Element::I16, Values::Bits16(vec![0x8000]), SampleValue::Whole(-32768)),
            (Element::U16, Values::Bits16(vec![0x8000]), SampleValue::Whole(32768)),
            (Element::F16, Values::Bits16(vec![0x3555]), SampleValue::F64(0.333_251_953_125)),
            (Element::F16, Values::Bits16(vec![0x8001]), SampleValue::F64(-2f64.powi(-24))),
            (Element::F16, Values::Bits16(vec![0xfc00]), SampleValue::F64(f64::NEG_INFINITY)),
            (Element::I32, Values::Bits32(vec![u32::MAX]), SampleValue::Whole(-1)),
            (Element::U32, Values::Bits32(vec![u32::MAX]), SampleValue::Whole(u32::MAX.into())),
            (Element::I64, Values::Bits64(vec![wide]), SampleValue::Whole(wide.into())),
            (Element::U64, Values::Bits64(vec![u64::MAX]), SampleValue::Whole(u64::MAX.into())),
            (
                Element::Bytes,
                Values::Strings(["ä"].into_iter().collect()),
                SampleValue::Bytes("ä".as_bytes()),
            ),
            (Element::Text, Values::Strings(["ä"].into_iter().collect()), SampleValue::Text("ä")),
        ];
        for (element, values, expected) in cases {
            assert!(values.fit(element), "{element:?}");
            assert_eq!(values_of(element, &values).value(0), expected, "{element:?}");
        }
    }

    #[test]
    fn strings_are_appended_cut_and_emptied() {
        let pools = Pools::new(1, usize::MAX);
        let mut strings = SampleValues::with_capacity(Element::Text, 1, &pools);
        strings.append(&Values::Strings(["ab", "", "cde"].into_iter().collect()), 1..3);
        let mut others = SampleValues::with_capacity(Element::Text, 1, &pools);
        others.append_floats(&strings, 1..2);
        others.append_floats(&strings, 0..2);
        let all = |values: &SampleValues| -> Vec<String> {
            let SampleValues::Strings(strings) = values else { panic!("strings") };
            (0..strings.len()).map(|i| String::from_utf8_lossy(strings.get(i)).into()).collect()
        };
        assert_eq!(
            (all(&others), others.bytes()),
            (vec!["cde".into(), String::new(), "cde".into()], 3 * 8 + 6)
        );
        others.truncate(2);
        assert_eq!((all(&others), others.string_bytes()), (vec!["cde".into(), String::new()], 3));
        others.empty(Element::Text, 5, &pools);
        assert!(others.is_empty() && others.string_bytes() == 0);
    }
}
