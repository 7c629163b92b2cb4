//! The data of one stream of a minibatch: turned into arrays when they are asked for.
//!
//! Members are getters of an extension class, 0.04 µs each, and not properties written in Python, which take 0.2: a
//! training loop looks at a dozen of them for a minibatch that may be read in 15.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayDescr, PyArrayMethods, dtype};
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString, PyTuple};
use tesson::{BatchKeys, Element, Samples, Shape, StreamBatch, StreamInfo};
use tesson_engine::{Layout, RowSegment};

use crate::arrays::{self, RaggedArrays, SampleArrays, SparseArrays, StringArrays};
use crate::batch::{Batch, SampleShape};
use crate::errors;

/// A stream of a minibatch, before and after arrays are made of it.
pub(crate) struct StreamArrays {
    info: Arc<StreamInfo>,
    shape: Arc<[usize]>,
    lengths: Vec<u32>,
    n_samples: usize,
    /// The samples until arrays are made of them.
    packed: Mutex<Option<Samples>>,
    arrays: PyOnceLock<SampleArrays>,
    /// How truncated sequences lie; others are laid out when they are asked for.
    layout: Option<Layout>,
}

impl StreamArrays {
    pub(crate) fn new(batch: StreamBatch, shape: SampleShape) -> StreamArrays {
        let n_samples = batch.n_samples();
        let layout = batch.truncated_layout().cloned();
        let (info, lengths, samples) = batch.into_parts();
        StreamArrays {
            shape: shape.unwrap_or_else(|| info.shape.dims().into()),
            info,
            lengths,
            n_samples,
            packed: Mutex::new(Some(samples)),
            arrays: PyOnceLock::new(),
            layout,
        }
    }

    pub(crate) fn name_and_lengths(&self) -> (&str, &[u32]) {
        (&self.info.name, &self.lengths)
    }

    fn arrays(&self, py: Python<'_>) -> PyResult<&SampleArrays> {
        self.arrays.get_or_try_init(py, || {
            let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
            let samples = packed.take().expect("samples become arrays once");
            SampleArrays::own(py, samples, self.n_samples, &self.shape)
        })
    }

    /// The arrays of compressed sparse rows.
    fn sparse(&self, py: Python<'_>) -> PyResult<&SparseArrays> {
        match self.arrays(py)? {
            SampleArrays::Sparse(arrays) => Ok(arrays),
            SampleArrays::Dense(_) | SampleArrays::Strings(_) => Err(PyAttributeError::new_err(format!(
                "stream `{}` is dense: it has samples instead of indptr, indices and values",
                self.info.name
            ))),
            SampleArrays::Ragged(_) => Err(PyAttributeError::new_err(format!(
                "stream `{}` is ragged: it has sample_list instead of indptr, indices and values",
                self.info.name
            ))),
        }
    }

    fn longest(&self) -> u32 {
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        // Pieces are padded to the length of a row.
        self.layout.as_ref().map_or(longest, |layout| layout.steps)
    }
}

/// A stream taken apart, for pickles: name, stored shape, shape, whether it is sparse, lengths, its arrays (samples; or
/// indptr, indices and values; or all values and their shapes; or bytes, offsets and type of strings), and of truncated sequences steps, slots and where they lie.
pub(crate) type StreamParts<'py> = (
    String,
    Vec<usize>,
    Vec<usize>,
    bool,
    Vec<u32>,
    Vec<Bound<'py, PyAny>>,
    Option<(u32, u32, Vec<(u32, u32, i64, i64)>)>,
);

impl StreamArrays {
    pub(crate) fn n_sequences(&self) -> usize {
        self.lengths.len()
    }

    pub(crate) fn parts<'py>(&self, py: Python<'py>) -> PyResult<StreamParts<'py>> {
        let arrays = match self.arrays(py)? {
            SampleArrays::Dense(values) => vec![values.object(py).clone()],
            SampleArrays::Sparse(SparseArrays { indptr, indices, values }) => vec![
                indptr.bind(py).clone().into_any(),
                indices.bind(py).clone().into_any(),
                values.object(py).clone(),
            ],
            SampleArrays::Ragged(RaggedArrays { values, shapes, .. }) => {
                vec![values.object(py).clone(), PyList::new(py, shapes)?.into_any()]
            }
            SampleArrays::Strings(StringArrays { bytes, offsets, element, .. }) => vec![
                bytes.bind(py).clone().into_any(),
                offsets.bind(py).clone().into_any(),
                PyString::new(py, element.name()).into_any(),
            ],
        };
        let layout = self.layout.as_ref().map(|layout| {
            let places = layout.places.iter().map(|p| (p.sequence, p.row, p.begin, p.end)).collect();
            (layout.steps, layout.rows, places)
        });
        let info = &self.info;
        let (dims, shape) = (info.shape.dims().to_vec(), self.shape.to_vec());
        Ok((info.name.clone(), dims, shape, info.sparse, self.lengths.clone(), arrays, layout))
    }

    /// Makes a stream of the parts of a pickled one; the arrays are taken over, not copied.
    pub(crate) fn of_parts(py: Python<'_>, parts: StreamParts<'_>) -> PyResult<StreamArrays> {
        let (name, dims, shape, sparse, lengths, arrays, layout) = parts;
        let n_samples = lengths.iter().map(|&n| n as usize).sum();
        let (arrays, element) = SampleArrays::of_parts(py, &arrays, n_samples, &shape)?;
        let ragged = matches!(arrays, SampleArrays::Ragged(_));
        let layout = layout.map(|(steps, rows, places)| {
            let places = places.into_iter().map(|(sequence, row, begin, end)| RowSegment {
                sequence,
                row,
                begin,
                end,
            });
            Layout { steps, rows, places: places.collect() }
        });
        let taken_over = PyOnceLock::new();
        let _ = taken_over.set(py, arrays);
        Ok(StreamArrays {
            info: Arc::new(
                StreamInfo::dense(name, Shape::new(dims), element).with_sparse(sparse).with_ragged(ragged),
            ),
            shape: shape.into(),
            lengths,
            n_samples,
            packed: Mutex::new(None),
            arrays: taken_over,
            layout,
        })
    }
}

/// The data of one stream of a minibatch: what `MinibatchData` has of the engine.
#[pyclass(frozen, subclass, module = "tesson._tesson")]
pub struct StreamData {
    batch: Py<Batch>,
    /// The stream's number: there is one of this number.
    number: usize,
}

impl StreamData {
    fn stream(&self) -> &StreamArrays {
        &self.batch.get().streams[self.number]
    }
}

#[pymethods]
impl StreamData {
    #[new]
    fn new(batch: Py<Batch>, number: usize) -> PyResult<StreamData> {
        let n_streams = batch.get().streams.len();
        if number >= n_streams {
            return Err(PyIndexError::new_err(format!("found stream {number}, there are {n_streams}")));
        }
        Ok(StreamData { batch, number })
    }

    fn __len__(&self) -> usize {
        self.num_sequences()
    }

    /// The stream's name.
    #[getter]
    fn name(&self) -> &str {
        &self.stream().info.name
    }

    /// Number of sequences.
    #[getter]
    fn num_sequences(&self) -> usize {
        self.batch.get().keys.len()
    }

    /// Number of samples of this stream, without padding.
    #[getter]
    fn num_samples(&self) -> usize {
        self.stream().n_samples
    }

    /// True if a sweep ends in or with this minibatch.
    #[getter]
    fn end_of_sweep(&self) -> bool {
        self.batch.get().sweep_end
    }

    /// True if samples are lists of (column, value) pairs.
    #[getter]
    fn is_sparse(&self) -> bool {
        self.stream().info.sparse
    }

    /// True if each sample has a shape of its own (`ragged` of a stream of images).
    #[getter]
    fn is_ragged(&self) -> bool {
        self.stream().info.ragged
    }

    /// The type of the values; of strings NumPy's `S` or `U`, though arrays have an object for each.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        match self.stream().info.element {
            Element::F32 => dtype::<f32>(py),
            Element::F64 => dtype::<f64>(py),
            Element::U8 => dtype::<u8>(py),
            exact => PyArrayDescr::new(py, exact.name()).expect("NumPy knows the names of its types"),
        }
    }

    /// The shape of one sample; 0 where that differs from sample to sample.
    #[getter]
    fn sample_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.stream().shape.iter())
    }

    /// The shape of `asarray()`: `(sequences, longest, *sample_shape)`.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let stream = self.stream();
        let dims: Vec<usize> = [self.num_sequences(), stream.longest() as usize]
            .into_iter()
            .chain(stream.shape.iter().copied())
            .collect();
        PyTuple::new(py, dims)
    }

    /// Samples of each sequence, uint32 `[sequences]`. A copy.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.stream().lengths)
    }

    /// The keys of the sequences, in order: numbers, or texts with `useNumericSequenceKeys = false`.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.batch.get().keys {
            BatchKeys::Numbers(v) => PyList::new(py, v),
            BatchKeys::Texts(v) => PyList::new(py, v.iter()),
        }
    }

    /// All samples of a dense stream, one after the other without padding, `[samples, *sample_shape]`. A view.
    ///
    /// Sample `i` belongs to sample `i` of another stream only where every sequence has as many samples of both:
    /// `Minibatch.paired` gives streams of which that is so, or an error. An `AttributeError` where the stream is sparse or
    /// ragged.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let stream = self.stream();
        match stream.arrays(py)? {
            SampleArrays::Dense(values) => Ok(values.object(py)),
            SampleArrays::Strings(strings) => strings.objects(py),
            SampleArrays::Sparse(_) => Err(PyAttributeError::new_err(format!(
                "stream `{}` is sparse: it has indptr, indices and values instead of samples",
                stream.info.name
            ))),
            SampleArrays::Ragged(_) => Err(PyAttributeError::new_err(format!(
                "stream `{}` is ragged: it has sample_list instead of samples",
                stream.info.name
            ))),
        }
    }

    /// All samples of a dense or ragged stream, each an array of its own shape. Views.
    ///
    /// An `AttributeError` where the stream is sparse.
    #[getter]
    fn sample_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.stream().arrays(py)? {
            SampleArrays::Ragged(arrays) => PyList::new(py, arrays.views(py)?),
            _ => {
                let samples = self.samples(py)?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, samples)
            }
        }
    }

    /// The strings of a stream without a Python object for each: their bytes, uint8, and int64 offsets of one more than there
    /// are strings. Views.
    fn _strings<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<u8>>, Bound<'py, PyAny>)> {
        let stream = self.stream();
        match stream.arrays(py)? {
            SampleArrays::Strings(StringArrays { bytes, offsets, .. }) => {
                let offsets = offsets.bind(py).call_method1("view", ("int64",))?;
                Ok((bytes.bind(py).clone(), offsets))
            }
            _ => Err(PyAttributeError::new_err(format!("stream `{}` has no strings", stream.info.name))),
        }
    }

    /// Where the entries of each sample of a sparse stream begin, int32 `[samples + 1]`. A view.
    ///
    /// With `indices` and `values` this is CSR over all samples of the minibatch, without padding. An `AttributeError`
    /// where the stream is dense.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyArray1<i32>>> {
        Ok(self.stream().sparse(py)?.indptr.bind(py))
    }

    /// The class of each sample of a sparse stream of one-hot samples: the column of its only entry, int32 `[samples]`.
    /// The same view as `indices`.
    ///
    /// A `DataError` where a sample has no entry or several, which would shift the classes of all samples after it. An
    /// `AttributeError` where the stream is dense.
    #[getter]
    fn class_indices<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyArray1<i32>>> {
        let stream = self.stream();
        let arrays = stream.sparse(py)?;
        let indptr = arrays.indptr.bind(py).readonly();
        let (keys, name) = (&self.batch.get().keys, &*stream.info.name);
        tesson_engine::pairing::check_single_entries(keys, name, &stream.lengths, indptr.as_slice()?)
            .map_err(|e| errors::unpaired(py, &e))?;
        Ok(arrays.indices.bind(py))
    }

    /// The class indices as int64, the type of classes in PyTorch. A copy.
    fn _classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let indices = self.class_indices(py)?.readonly();
        Ok(PyArray1::from_iter(py, indices.as_slice()?.iter().map(|&index| index.into())))
    }

    /// The column of each entry of a sparse stream, ascending within a sample, int32 `[entries]`. A view.
    ///
    /// Entries are as many as samples only where all samples are one-hot: `class_indices` checks that. An
    /// `AttributeError` where the stream is dense.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyArray1<i32>>> {
        Ok(self.stream().sparse(py)?.indices.bind(py))
    }

    /// The value of each entry of a sparse stream, `[entries]`. A view.
    ///
    /// An `AttributeError` where the stream is dense.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        Ok(self.stream().sparse(py)?.values.object(py))
    }

    /// The samples in one array `[sequences, longest, *sample_shape]`, zeros behind the end of each sequence.
    ///
    /// Both leading axes are always there. A reshaped view of `samples` where all sequences of a dense stream have the
    /// same length, else a copy.
    fn asarray(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let stream = self.stream();
        arrays::padded(py, stream.arrays(py)?, &stream.lengths, stream.longest(), &stream.shape)
    }

    /// Which cells of `asarray()` hold samples, uint8 `[sequences, longest]`: 2 marks the first sample of a sequence, 1
    /// a following one, 0 padding. A copy.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let stream = self.stream();
        let longest = stream.longest() as usize;
        let mask: Bound<'_, PyArray2<u8>> = arrays::zeros(py, &[stream.lengths.len(), longest])?;
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

    /// The minibatch that it is of, and its number in it.
    fn _of(&self, py: Python<'_>) -> (Py<Batch>, usize) {
        (self.batch.clone_ref(py), self.number)
    }

    /// How the sequences lie side by side: steps, rows, and int64 `[sequences, 4]` places.
    fn _layout<'py>(&self, py: Python<'py>) -> PyResult<(u32, u32, Bound<'py, PyArray2<i64>>)> {
        let stream = self.stream();
        let layout = stream.layout.clone().unwrap_or_else(|| Layout::of(&stream.lengths));
        let flat = layout.places.iter().flat_map(|p| [p.sequence.into(), p.row.into(), p.begin, p.end]);
        let places = PyArray1::from_iter(py, flat).reshape([layout.places.len(), 4])?;
        Ok((layout.steps, layout.rows, places))
    }
}
