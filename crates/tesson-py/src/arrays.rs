//! Pooled buffers as NumPy arrays, and padded copies.

use numpy::ndarray::{ArrayViewMut, Dimension, Ix1, IxDyn};
use numpy::{Element as NumPyElement, PyArray, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PySlice, PyString, PyTuple};
use tesson::{Element, SampleValues, Samples};
use tesson_engine::{Bits, Buffer, StringValues};

/// The memory of arrays, which returns to the pool when the last view dies.
#[pyclass(frozen, module = "tesson._tesson")]
struct Memory {
    _held: Held,
}

/// A buffer of any of the element types; held, never looked at.
#[expect(dead_code, reason = "what is held is used through the arrays that stand on it")]
enum Held {
    I32(Buffer<i32>),
    F32(Buffer<f32>),
    F64(Buffer<f64>),
    U8(Buffer<u8>),
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

/// Values of a stream, as an array.
pub(crate) enum ValueArray<D> {
    F32(Py<PyArray<f32, D>>),
    F64(Py<PyArray<f64, D>>),
    U8(Py<PyArray<u8, D>>),
    Exact(ExactArray<D>),
}

/// Values of a type that is kept bit by bit: the bits, and a view on them with the type.
pub(crate) struct ExactArray<D> {
    bits: BitArray<D>,
    shown: Py<PyAny>,
}

/// Bits of values as whole numbers, by their width.
enum BitArray<D> {
    B8(Py<PyArray<u8, D>>),
    B16(Py<PyArray<u16, D>>),
    B32(Py<PyArray<u32, D>>),
    B64(Py<PyArray<u64, D>>),
}

impl<D> BitArray<D> {
    /// A view with the type of the values.
    fn shown(&self, py: Python<'_>, element: Element) -> PyResult<Py<PyAny>> {
        let bits = match self {
            BitArray::B8(v) => v.bind(py).as_any(),
            BitArray::B16(v) => v.bind(py).as_any(),
            BitArray::B32(v) => v.bind(py).as_any(),
            BitArray::B64(v) => v.bind(py).as_any(),
        };
        Ok(bits.call_method1("view", (element.name(),))?.unbind())
    }
}

impl<D> ValueArray<D> {
    /// The array, for Python.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        match self {
            ValueArray::F32(v) => v.bind(py),
            ValueArray::F64(v) => v.bind(py),
            ValueArray::U8(v) => v.bind(py),
            ValueArray::Exact(v) => v.shown.bind(py),
        }
    }
}

/// The samples of a stream, as arrays.
pub(crate) enum SampleArrays {
    /// `[samples, *shape]`.
    Dense(ValueArray<IxDyn>),
    Sparse(SparseArrays),
    Ragged(RaggedArrays),
    /// `[samples, *shape]` byte strings or texts.
    Strings(StringArrays),
}

/// Byte strings or texts: their bytes, of which Python's objects are made when they are asked for.
pub(crate) struct StringArrays {
    /// The bytes of all strings.
    pub(crate) bytes: Py<PyArray1<u8>>,
    /// Where each begins in them, and after the last where it ends.
    pub(crate) offsets: Py<PyArray1<u64>>,
    /// Bytes or text.
    pub(crate) element: Element,
    /// `[samples, *shape]`
    dims: Vec<usize>,
    objects: PyOnceLock<Py<PyAny>>,
}

impl StringArrays {
    fn own(py: Python<'_>, strings: StringValues, dims: Vec<usize>) -> PyResult<StringArrays> {
        let element = strings.element();
        let (bytes, offsets) = strings.into_parts();
        let (n_bytes, n_offsets) = (Ix1(bytes.len()), Ix1(offsets.len()));
        let bytes = array(py, bytes, n_bytes, Held::U8)?;
        let offsets = array(py, offsets, n_offsets, Held::U64)?;
        Ok(StringArrays { bytes, offsets, element, dims, objects: PyOnceLock::new() })
    }

    /// The object array `[samples, *shape]` of `bytes` or `str`.
    pub(crate) fn objects<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let made = self.objects.get_or_try_init(py, || {
            let all = self.each(py)?;
            Ok::<_, PyErr>(PyArray1::from_vec(py, all).reshape(&self.dims[..])?.into_any().unbind())
        })?;
        Ok(made.bind(py))
    }

    /// Each string as an object.
    fn each(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let (bytes, offsets) = (self.bytes.bind(py).readonly(), self.offsets.bind(py).readonly());
        let (bytes, offsets) = (bytes.as_slice()?, offsets.as_slice()?);
        let object = |span: &[u64]| {
            let string = bytes.get(span[0] as usize..span[1] as usize).ok_or_else(overwritten)?;
            if self.element == Element::Bytes {
                return Ok(PyBytes::new(py, string).into_any().unbind());
            }
            Ok(PyString::from_bytes(py, string)?.into_any().unbind())
        };
        offsets.windows(2).map(object).collect()
    }

    /// The object array `[sequences, longest, *shape]`, with empty strings after the end of each sequence.
    fn padded(&self, py: Python<'_>, lengths: &[u32], dims: &[usize]) -> PyResult<Py<PyAny>> {
        let empty = match self.element {
            Element::Bytes => PyBytes::new(py, b"").into_any().unbind(),
            _ => PyString::new(py, "").into_any().unbind(),
        };
        let sample: usize = dims[2..].iter().product();
        let mut each = self.each(py)?.into_iter();
        let mut filled = Vec::with_capacity(dims.iter().product());
        for &n in lengths {
            let end = filled.len() + dims[1] * sample;
            filled.extend(each.by_ref().take(n as usize * sample));
            filled.resize_with(end, || empty.clone_ref(py));
        }
        Ok(PyArray1::from_vec(py, filled).reshape(dims)?.into_any().unbind())
    }
}

/// Arrays are writable: nonsense in offsets is an error, not a crash.
fn overwritten() -> PyErr {
    PyIndexError::new_err("the offsets of strings have been overwritten with numbers outside of their bytes")
}

/// Samples that each have a shape of their own.
pub(crate) struct RaggedArrays {
    /// All values, sample after sample.
    pub(crate) values: ValueArray<Ix1>,
    /// The shape of each, one after the other.
    pub(crate) shapes: Vec<usize>,
    /// Dimensions of a sample.
    pub(crate) rank: usize,
}

impl RaggedArrays {
    /// Each sample as a view.
    pub(crate) fn views<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let values = self.values.object(py);
        let mut begin = 0;
        let view = |shape: &[usize]| {
            let end = begin + shape.iter().product::<usize>();
            let part = values.get_item(PySlice::new(py, begin as isize, end as isize, 1))?;
            begin = end;
            part.call_method1("reshape", (shape,))
        };
        self.shapes.chunks(self.rank.max(1)).map(view).collect()
    }
}

/// Compressed sparse rows.
pub(crate) struct SparseArrays {
    /// `[samples + 1]`.
    pub(crate) indptr: Py<PyArray1<i32>>,
    /// `[entries]`.
    pub(crate) indices: Py<PyArray1<i32>>,
    /// `[entries]`.
    pub(crate) values: ValueArray<Ix1>,
}

impl SampleArrays {
    /// Turns samples of this shape into arrays that own them.
    pub(crate) fn own(py: Python<'_>, samples: Samples, n_samples: usize, shape: &[usize]) -> PyResult<Self> {
        Ok(match samples {
            Samples::Dense { values } => {
                let dims: Vec<usize> = std::iter::once(n_samples).chain(shape.iter().copied()).collect();
                match values {
                    SampleValues::Strings(strings) => {
                        SampleArrays::Strings(StringArrays::own(py, strings, dims)?)
                    }
                    values => SampleArrays::Dense(values_array(py, values, IxDyn(&dims))?),
                }
            }
            Samples::Sparse { indptr, indices, values } => {
                let (n_indices, n_values) = (Ix1(indices.len()), Ix1(values.len()));
                SampleArrays::Sparse(SparseArrays {
                    indptr: array(py, indptr, Ix1(n_samples + 1), Held::I32)?,
                    indices: array(py, indices, n_indices, Held::I32)?,
                    values: values_array(py, values, n_values)?,
                })
            }
            Samples::Ragged { values, shapes } => {
                let n_values = Ix1(values.len());
                let values = values_array(py, values, n_values)?;
                SampleArrays::Ragged(RaggedArrays { values, shapes, rank: shape.len() })
            }
        })
    }
}

impl SampleArrays {
    /// Arrays that have been taken apart and come from elsewhere: samples; or indptr, indices and values; or all values and
    /// the shapes; or bytes and offsets of strings and their type. Beside them the type of the values.
    pub(crate) fn of_parts(
        py: Python<'_>,
        arrays: &[Bound<'_, PyAny>],
        n_samples: usize,
        shape: &[usize],
    ) -> PyResult<(Self, Element)> {
        let wrong = || PyValueError::new_err("no minibatch: its arrays do not have the shape of the stream");
        match arrays {
            [samples] => {
                let dims: Vec<usize> = std::iter::once(n_samples).chain(shape.iter().copied()).collect();
                let fits = samples.getattr("shape")?.extract::<Vec<usize>>()? == dims;
                let (values, element) = value_array(samples)?;
                if fits { Ok((SampleArrays::Dense(values), element)) } else { Err(wrong()) }
            }
            [bytes, offsets, element] if element.is_instance_of::<PyString>() => {
                let element = Element::of_name(&element.extract::<String>()?).filter(|e| e.is_string());
                let element = element.ok_or_else(wrong)?;
                let dims: Vec<usize> = std::iter::once(n_samples).chain(shape.iter().copied()).collect();
                let (bytes, offsets): (Bound<'_, PyArray1<u8>>, Bound<'_, PyArray1<u64>>) =
                    (contiguous(bytes)?, contiguous(offsets)?);
                let n_strings: usize = dims.iter().product();
                if offsets.len()? != n_strings + 1 {
                    return Err(wrong());
                }
                let (bytes, offsets, objects) = (bytes.unbind(), offsets.unbind(), PyOnceLock::new());
                Ok((SampleArrays::Strings(StringArrays { bytes, offsets, element, dims, objects }), element))
            }
            [indptr, indices, values] => {
                let (values, element) = value_array(values)?;
                let indptr: Bound<'_, PyArray1<i32>> = contiguous(indptr)?;
                if indptr.len()? != n_samples + 1 {
                    return Err(wrong());
                }
                let indices = contiguous(indices)?.unbind();
                Ok((SampleArrays::Sparse(SparseArrays { indptr: indptr.unbind(), indices, values }), element))
            }
            [values, shapes] => {
                let (values, element) = value_array(values)?;
                let (shapes, rank) = (shapes.extract::<Vec<usize>>()?, shape.len());
                let n_values: usize =
                    shapes.chunks(rank.max(1)).map(|shape| shape.iter().product::<usize>()).sum();
                if shapes.len() != n_samples * rank || values.object(py).len()? != n_values {
                    return Err(wrong());
                }
                Ok((SampleArrays::Ragged(RaggedArrays { values, shapes, rank }), element))
            }
            _ => Err(wrong()),
        }
    }
}

/// An array of values, and their type.
fn value_array<D: Dimension>(array: &Bound<'_, PyAny>) -> PyResult<(ValueArray<D>, Element)> {
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let unknown = || PyValueError::new_err(format!("no minibatch: found an array of {name}"));
    let element = Element::of_name(&name).ok_or_else(unknown)?;
    let bits = |name: &str| array.call_method1("view", (name,));
    let values = match (element, element.size()) {
        (Element::F32, _) => ValueArray::F32(contiguous(array)?.unbind()),
        (Element::F64, _) => ValueArray::F64(contiguous(array)?.unbind()),
        (Element::U8, _) => ValueArray::U8(contiguous(array)?.unbind()),
        (_, size) => {
            let bits = match size {
                1 => BitArray::B8(contiguous(&bits("uint8")?)?.unbind()),
                2 => BitArray::B16(contiguous(&bits("uint16")?)?.unbind()),
                4 => BitArray::B32(contiguous(&bits("uint32")?)?.unbind()),
                _ => BitArray::B64(contiguous(&bits("uint64")?)?.unbind()),
            };
            ValueArray::Exact(ExactArray { bits, shown: array.clone().unbind() })
        }
    };
    Ok((values, element))
}

/// An array of this type whose elements lie one after the other.
fn contiguous<'py, T: NumPyElement, D: Dimension>(
    array: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let array = array.cast::<PyArray<T, D>>()?.clone();
    array.readonly().as_slice()?;
    Ok(array)
}

fn values_array<D: Dimension>(py: Python<'_>, values: SampleValues, dims: D) -> PyResult<ValueArray<D>> {
    let exact = match values {
        SampleValues::F32(v) => return Ok(ValueArray::F32(array(py, v, dims, Held::F32)?)),
        SampleValues::F64(v) => return Ok(ValueArray::F64(array(py, v, dims, Held::F64)?)),
        SampleValues::U8(v) => return Ok(ValueArray::U8(array(py, v, dims, Held::U8)?)),
        SampleValues::Exact(exact) => exact,
        SampleValues::Strings(_) => unreachable!("strings are dense, and have their own arrays"),
    };
    let element = exact.element();
    let bits = match exact.into_bits() {
        Bits::B8(v) => BitArray::B8(array(py, v, dims, Held::U8)?),
        Bits::B16(v) => BitArray::B16(array(py, v, dims, Held::U16)?),
        Bits::B32(v) => BitArray::B32(array(py, v, dims, Held::U32)?),
        Bits::B64(v) => BitArray::B64(array(py, v, dims, Held::U64)?),
    };
    let shown = bits.shown(py, element)?;
    Ok(ValueArray::Exact(ExactArray { bits, shown }))
}

/// A writable array on a buffer, which it keeps alive.
fn array<T: NumPyElement, D: Dimension>(
    py: Python<'_>,
    mut buffer: Buffer<T>,
    dims: D,
    hold: fn(Buffer<T>) -> Held,
) -> PyResult<Py<PyArray<T, D>>> {
    assert_eq!(buffer.len(), dims.size(), "samples have the shape of their stream");
    let at = buffer.as_mut_ptr();
    let memory = Bound::new(py, Memory { _held: hold(buffer) })?;
    // SAFETY: `at` points to as many initialised elements as `dims` multiplies to (asserted above). Moving the buffer
    // into `memory` moves no elements, nothing reads or writes them through `memory`, and the array's base keeps
    // `memory` alive. Measured: filling 40 MB takes 2.9 ms in memory from the pool, 27 ms in a vector that NumPy owns.
    unsafe {
        let view = ArrayViewMut::from_shape_ptr(dims, at);
        Ok(PyArray::borrow_from_array(&view, memory.into_any()).unbind())
    }
}

/// A new array of zeros, made by NumPy: the `MemoryError` of one for which there is no memory says its size, where the
/// crate's own way panics.
pub(crate) fn zeros<'py, T: NumPyElement, D: Dimension>(
    py: Python<'py>,
    dims: &[usize],
) -> PyResult<Bound<'py, PyArray<T, D>>> {
    let bytes = dims.iter().try_fold(size_of::<T>(), |n, &dim| n.checked_mul(dim));
    if bytes.is_none_or(|n| isize::try_from(n).is_err()) {
        let value = size_of::<T>();
        let what = format!("an array of shape {dims:?} and {value} bytes a value is larger than any memory");
        return Err(PyMemoryError::new_err(what));
    }
    let made = py.import("numpy")?.call_method1("zeros", (PyTuple::new(py, dims)?, numpy::dtype::<T>(py)))?;
    Ok(made.cast_into()?)
}

/// A new array `[sequences, longest, *shape]` of zeros but for the samples of the sequences.
pub(crate) fn padded(
    py: Python<'_>,
    samples: &SampleArrays,
    lengths: &[u32],
    longest: u32,
    shape: &[usize],
) -> PyResult<Py<PyAny>> {
    let dims: Vec<usize> =
        [lengths.len(), longest as usize].into_iter().chain(shape.iter().copied()).collect();
    let (bits, values) = match samples {
        SampleArrays::Strings(strings) => return strings.padded(py, lengths, &dims),
        SampleArrays::Dense(values) => match values {
            ValueArray::F32(v) => return dense(py, v, lengths, &dims),
            ValueArray::F64(v) => return dense(py, v, lengths, &dims),
            ValueArray::U8(v) => return dense(py, v, lengths, &dims),
            ValueArray::Exact(exact) => {
                let bits = match &exact.bits {
                    BitArray::B8(v) => dense(py, v, lengths, &dims)?,
                    BitArray::B16(v) => dense(py, v, lengths, &dims)?,
                    BitArray::B32(v) => dense(py, v, lengths, &dims)?,
                    BitArray::B64(v) => dense(py, v, lengths, &dims)?,
                };
                (bits, &exact.shown)
            }
        },
        SampleArrays::Sparse(SparseArrays { indptr, indices, values }) => match values {
            ValueArray::F32(v) => return scattered(py, indptr, indices, v, lengths, &dims),
            ValueArray::F64(v) => return scattered(py, indptr, indices, v, lengths, &dims),
            ValueArray::U8(v) => return scattered(py, indptr, indices, v, lengths, &dims),
            ValueArray::Exact(exact) => {
                let bits = match &exact.bits {
                    BitArray::B8(v) => scattered(py, indptr, indices, v, lengths, &dims)?,
                    BitArray::B16(v) => scattered(py, indptr, indices, v, lengths, &dims)?,
                    BitArray::B32(v) => scattered(py, indptr, indices, v, lengths, &dims)?,
                    BitArray::B64(v) => scattered(py, indptr, indices, v, lengths, &dims)?,
                };
                (bits, &exact.shown)
            }
        },
        SampleArrays::Ragged(_) => {
            return Err(PyValueError::new_err(
                "samples of different shapes do not fit in one array; `sample_list` has an array for each",
            ));
        }
    };
    let dtype = values.bind(py).getattr("dtype")?;
    Ok(bits.bind(py).call_method1("view", (dtype,))?.unbind())
}

fn dense<T: NumPyElement + Copy>(
    py: Python<'_>,
    samples: &Py<PyArrayDyn<T>>,
    lengths: &[u32],
    dims: &[usize],
) -> PyResult<Py<PyAny>> {
    let samples = samples.bind(py);
    if lengths.iter().all(|&n| n as usize == dims[1]) {
        return Ok(samples.reshape(dims)?.into_any().unbind());
    }
    let sample: usize = dims[2..].iter().product();
    let room = dims[1] * sample;
    let out = zeros::<T, IxDyn>(py, dims)?;
    let (from, mut to) = (samples.readonly(), out.readwrite());
    let (mut from, to) = (from.as_slice()?, to.as_slice_mut()?);
    for (sequence, &n) in lengths.iter().enumerate() {
        let (own, rest) = from.split_at(n as usize * sample);
        to[sequence * room..][..own.len()].copy_from_slice(own);
        from = rest;
    }
    Ok(out.into_any().unbind())
}

fn scattered<T: NumPyElement + Copy>(
    py: Python<'_>,
    indptr: &Py<PyArray1<i32>>,
    indices: &Py<PyArray1<i32>>,
    values: &Py<PyArray1<T>>,
    lengths: &[u32],
    dims: &[usize],
) -> PyResult<Py<PyAny>> {
    let out = zeros::<T, IxDyn>(py, dims)?;
    let (indptr, indices, values) =
        (indptr.bind(py).readonly(), indices.bind(py).readonly(), values.bind(py).readonly());
    let (indptr, indices, values) = (indptr.as_slice()?, indices.as_slice()?, values.as_slice()?);
    let mut to = out.readwrite();
    let to = to.as_slice_mut()?;
    let (longest, columns) = (dims[1], dims[2..].iter().product::<usize>());
    let mut sample = 0;
    for (sequence, &n) in lengths.iter().enumerate() {
        for step in 0..n as usize {
            let row = &mut to[(sequence * longest + step) * columns..][..columns];
            let entries = indptr[sample] as usize..indptr[sample + 1] as usize;
            scatter(row, indices.get(entries.clone()), values.get(entries)).ok_or_else(changed)?;
            sample += 1;
        }
    }
    Ok(out.into_any().unbind())
}

/// Writes the entries of a sample to their columns. `None` where there is no such entry or column.
fn scatter<T: Copy>(row: &mut [T], columns: Option<&[i32]>, values: Option<&[T]>) -> Option<()> {
    for (&column, &value) in columns?.iter().zip(values?) {
        *row.get_mut(usize::try_from(column).ok()?)? = value;
    }
    Some(())
}

/// Arrays are writable: nonsense in `indptr` or `indices` is an error, not a crash.
fn changed() -> PyErr {
    PyIndexError::new_err("`indptr` or `indices` have been overwritten with numbers outside of the samples")
}
