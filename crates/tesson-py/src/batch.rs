//! One minibatch, as it comes from the engine.

use std::sync::Arc;

use pyo3::prelude::*;
use tesson::{BatchKeys, Minibatch, ResumeState, pairing};

use crate::stream_data::StreamArrays;
use crate::{errors, state};

/// One minibatch; streams are numbered as in the source.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Batch {
    pub(crate) streams: Vec<StreamArrays>,
    pub(crate) keys: BatchKeys,
    pub(crate) sweep_end: bool,
    resume: ResumeState,
}

impl Batch {
    /// Wraps a minibatch; `shapes[i]` is the shape that samples of stream `i` are given.
    pub(crate) fn new(minibatch: Minibatch, shapes: &[Arc<[usize]>]) -> Batch {
        let (streams, keys, sweep_end, resume) = minibatch.into_parts();
        let streams =
            streams.into_iter().zip(shapes).map(|(s, shape)| StreamArrays::new(s, shape.clone())).collect();
        Batch { streams, keys, sweep_end, resume }
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

    /// Raises a `DataError` unless the samples of the streams of these numbers pair.
    fn check_paired(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<()> {
        let stream = |number: usize| self.streams.get(number).map(StreamArrays::name_and_lengths);
        let streams: Vec<_> = numbers.into_iter().filter_map(stream).collect();
        pairing::check_lengths(&self.keys, &streams).map_err(|e| errors::unpaired(py, &e))
    }

    /// The state that continues behind this minibatch.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        state::to_dict(py, &self.resume)
    }
}
