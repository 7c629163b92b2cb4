//! NumPy's arrays, of memory that decoded columns give away.

use numpy::{PyArray1, dtype};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use tesson_tfds::features::{Array, DType, Ragged, Slice};

/// Makes arrays with NumPy and the classes of `tesson.tfds.values`.
pub(super) struct ArrayMaker {
    pub(super) numpy: Py<PyModule>,
    ragged: Py<PyAny>,
    pub(super) nested: Py<PyAny>,
    bfloat16: Py<PyAny>,
}

impl ArrayMaker {
    pub(super) fn new(py: Python<'_>) -> PyResult<ArrayMaker> {
        let values = py.import("tesson.tfds.values")?;
        Ok(ArrayMaker {
            numpy: py.import("numpy")?.unbind(),
            ragged: values.getattr("Ragged")?.unbind(),
            nested: values.getattr("NestedDataset")?.unbind(),
            bfloat16: values.getattr("bfloat16")?.unbind(),
        })
    }

    /// A flat array that owns these bytes. Nothing is copied, but for 16-bit floats that NumPy does not know.
    pub(super) fn flat<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        bytes: Vec<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (bytes, dtype) = match (dtype, self.bfloat16.is_none(py)) {
            (DType::BFloat16, false) => (bytes, self.bfloat16.bind(py).clone()),
            (DType::BFloat16, true) => (widened(&bytes), numpy_type(py, DType::Float32)),
            (other, _) => (bytes, numpy_type(py, other)),
        };
        if bytes.is_empty() {
            // Memory of nothing is nowhere, and need not be where such values may be.
            return self.numpy.bind(py).call_method1(intern!(py, "empty"), (0, dtype));
        }
        PyArray1::from_vec(py, bytes).call_method1(intern!(py, "view"), (dtype,))
    }

    /// An array of its own memory.
    pub(super) fn fixed<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        shape: &[usize],
        bytes: Vec<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flat = self.flat(py, dtype, bytes)?;
        match shape {
            [_] => Ok(flat),
            _ => flat.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,)),
        }
    }

    /// An array of byte strings, which are objects.
    pub(super) fn objects<'py>(
        &self,
        py: Python<'py>,
        shape: &[usize],
        strings: impl IntoIterator<Item = Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::new(py, strings.into_iter().collect::<Vec<_>>())?;
        let flat = self.numpy.bind(py).call_method1(intern!(py, "array"), (list, "O"))?;
        match shape {
            [_] => Ok(flat),
            _ => flat.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,)),
        }
    }

    /// An array, or where it has no dimensions a scalar.
    pub(super) fn array<'py>(&self, py: Python<'py>, array: &Array<'_>) -> PyResult<Bound<'py, PyAny>> {
        match array.values {
            Slice::Fixed(bytes) => {
                let whole = self.fixed(py, array.dtype, &array.shape, bytes.to_vec())?;
                // A scalar is one of NumPy's, not an array without dimensions.
                if array.shape.is_empty() { whole.get_item(PyTuple::empty(py)) } else { Ok(whole) }
            }
            strings => {
                let mut list = strings.strings().map(|s| PyBytes::new(py, s));
                if array.shape.is_empty() {
                    Ok(list.next().unwrap_or_else(|| PyBytes::new(py, b"")).into_any())
                } else {
                    self.objects(py, &array.shape, list)
                }
            }
        }
    }

    pub(super) fn ragged<'py>(&self, py: Python<'py>, ragged: &Ragged<'_>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.array(py, &ragged.values)?;
        let lengths = |of: &Vec<usize>| {
            let bytes = of.iter().flat_map(|n| (*n as i64).to_le_bytes()).collect();
            self.flat(py, DType::Int64, bytes)
        };
        let row_lengths: Vec<_> = ragged.row_lengths.iter().map(lengths).collect::<PyResult<_>>()?;
        self.ragged.bind(py).call1((values, row_lengths))
    }
}

/// 16-bit floats of the upper half of 32 bits, as the 32-bit floats that they are.
fn widened(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks_exact(2).flat_map(|half| [0, 0, half[0], half[1]]).collect()
}

/// A type for NumPy: itself where it is a common one, which is free, else its name, which NumPy takes apart for each array.
fn numpy_type(py: Python<'_>, of: DType) -> Bound<'_, PyAny> {
    let common = match of {
        DType::Int64 => dtype::<i64>(py),
        DType::Int32 => dtype::<i32>(py),
        DType::UInt8 => dtype::<u8>(py),
        DType::Float32 => dtype::<f32>(py),
        DType::Float64 => dtype::<f64>(py),
        other => return PyString::intern(py, other.name()).into_any(),
    };
    common.into_any()
}
