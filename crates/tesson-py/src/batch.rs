//! One minibatch: made as it is, turned into arrays stream by stream when they are asked for.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use tesson::{BatchKeys, Layout, Minibatch, ResumeState, Samples, StreamBatch};
use tesson_core::StreamInfo;

use crate::arrays::{self, FloatArray, SampleArrays};
use crate::state;

/// One minibatch; streams are numbered as in the source.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Batch {
    streams: Vec<Stream>,
    keys: BatchKeys,
    sweep_end: bool,
    resume: ResumeState,
}

struct Stream {
    info: Arc<StreamInfo>,
    shape: Arc<[usize]>,
    lengths: Vec<u32>,
    n_samples: usize,
    /// The samples until arrays are made of them.
    packed: Mutex<Option<Samples>>,
    arrays: PyOnceLock<SampleArrays>,
    /// How truncated sequences lie; others are laid out when somebody asks.
    layout: Option<Layout>,
}

impl Stream {
    fn new(batch: StreamBatch, shape: Arc<[usize]>) -> Stream {
        let n_samples = batch.n_samples();
        let layout = batch.truncated_layout().cloned();
        let (info, lengths, samples) = batch.into_parts();
        Stream {
            info,
            shape,
            lengths,
            n_samples,
            packed: Mutex::new(Some(samples)),
            arrays: PyOnceLock::new(),
            layout,
        }
    }

    fn arrays(&self, py: Python<'_>) -> PyResult<&SampleArrays> {
        self.arrays.get_or_try_init(py, || {
            let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
            let samples = packed.take().expect("samples become arrays once");
            SampleArrays::own(py, samples, self.n_samples, &self.shape)
        })
    }

    fn longest(&self) -> u32 {
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        // Pieces are padded to the length of a row.
        self.layout.as_ref().map_or(longest, |layout| layout.steps)
    }
}

impl Batch {
    /// Wraps a minibatch; `shapes[i]` is the shape that samples of stream `i` are given.
    pub(crate) fn new(minibatch: Minibatch, shapes: &[Arc<[usize]>]) -> Batch {
        let (streams, keys, sweep_end, resume) = minibatch.into_parts();
        let streams =
            streams.into_iter().zip(shapes).map(|(s, shape)| Stream::new(s, shape.clone())).collect();
        Batch { streams, keys, sweep_end, resume }
    }
}

fn object<'py>(py: Python<'py>, values: &FloatArray) -> Bound<'py, PyAny> {
    match values {
        FloatArray::F32(v) => v.bind(py).clone().into_any(),
        FloatArray::F64(v) => v.bind(py).clone().into_any(),
    }
}

#[pymethods]
impl Batch {
    /// Number of sequences.
    #[getter]
    fn num_sequences(&self) -> usize {
        self.keys.len()
    }

    /// Whether a sweep ends in or with this minibatch.
    #[getter]
    fn sweep_end(&self) -> bool {
        self.sweep_end
    }

    /// The keys of the sequences.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.keys {
            BatchKeys::Numbers(v) => PyList::new(py, v),
            BatchKeys::Texts(v) => PyList::new(py, v),
        }
    }

    /// The state that continues behind this minibatch.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        state::to_dict(py, &self.resume)
    }

    /// The name of a stream.
    fn name(&self, stream: usize) -> &str {
        &self.streams[stream].info.name
    }

    /// Whether a stream is sparse.
    fn is_sparse(&self, stream: usize) -> bool {
        self.streams[stream].info.sparse
    }

    /// NumPy's name of the type of a stream's values.
    fn dtype(&self, stream: usize) -> &'static str {
        self.streams[stream].info.element.name()
    }

    /// The shape of one sample of a stream.
    fn sample_shape<'py>(&self, py: Python<'py>, stream: usize) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.streams[stream].shape.iter())
    }

    /// Number of samples of a stream, without padding.
    fn num_samples(&self, stream: usize) -> usize {
        self.streams[stream].n_samples
    }

    /// Samples in the longest sequence of a stream.
    fn longest(&self, stream: usize) -> u32 {
        self.streams[stream].longest()
    }

    /// Samples of each sequence of a stream, uint32 `[sequences]`.
    fn lengths<'py>(&self, py: Python<'py>, stream: usize) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.streams[stream].lengths)
    }

    /// The samples of a dense stream, `[samples, *shape]`.
    fn samples<'py>(&self, py: Python<'py>, stream: usize) -> PyResult<Bound<'py, PyAny>> {
        let stream = &self.streams[stream];
        match stream.arrays(py)? {
            SampleArrays::Dense(values) => Ok(object(py, values)),
            SampleArrays::Sparse { .. } => Err(PyAttributeError::new_err(format!(
                "stream `{}` is sparse: it has indptr, indices and values instead of samples",
                stream.info.name
            ))),
        }
    }

    /// The samples of a sparse stream: indptr, indices and values of compressed sparse rows.
    #[expect(clippy::type_complexity, reason = "three arrays are what CSR is")]
    fn sparse<'py>(
        &self,
        py: Python<'py>,
        stream: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>)> {
        let stream = &self.streams[stream];
        match stream.arrays(py)? {
            SampleArrays::Sparse { indptr, indices, values } => {
                Ok((indptr.bind(py).clone(), indices.bind(py).clone(), object(py, values)))
            }
            SampleArrays::Dense(_) => Err(PyAttributeError::new_err(format!(
                "stream `{}` is dense: it has samples instead of indptr, indices and values",
                stream.info.name
            ))),
        }
    }

    /// The samples of a stream in an array `[sequences, longest, *shape]`, zeros behind the end of each sequence.
    fn padded(&self, py: Python<'_>, stream: usize) -> PyResult<Py<PyAny>> {
        let stream = &self.streams[stream];
        arrays::padded(py, stream.arrays(py)?, &stream.lengths, stream.longest(), &stream.shape)
    }

    /// Which cells of `padded` hold samples, uint8 `[sequences, longest]`: 2 a first one, 1 a following one, 0 none.
    fn mask<'py>(&self, py: Python<'py>, stream: usize) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let stream = &self.streams[stream];
        let longest = stream.longest() as usize;
        let mask = PyArray2::zeros(py, [stream.lengths.len(), longest], false);
        let mut cells = mask.readwrite();
        let cells = cells.as_slice_mut()?;
        for (sequence, &n) in stream.lengths.iter().enumerate() {
            let row = &mut cells[sequence * longest..][..n as usize];
            row.fill(1);
            let begins_here = stream.layout.as_ref().is_none_or(|layout| layout.places[sequence].begin >= 0);
            row.iter_mut().take(usize::from(begins_here)).for_each(|first| *first = 2);
        }
        Ok(mask)
    }

    /// How the sequences of a stream would lie side by side: steps, rows, and int64 `[sequences, 4]` places.
    fn layout<'py>(&self, py: Python<'py>, stream: usize) -> PyResult<(u32, u32, Bound<'py, PyArray2<i64>>)> {
        let stream = &self.streams[stream];
        let layout = stream.layout.clone().unwrap_or_else(|| Layout::of(&stream.lengths));
        let flat = layout.places.iter().flat_map(|p| [p.sequence.into(), p.row.into(), p.begin, p.end]);
        let places = PyArray1::from_iter(py, flat).reshape([layout.places.len(), 4])?;
        Ok((layout.steps, layout.rows, places))
    }
}
