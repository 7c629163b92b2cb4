//! One minibatch, as it comes from the engine.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use tesson::{BatchKeys, Minibatch, ResumeState};
use tesson_engine::BatchOrigins;

use tesson_core::number_of;

use crate::stream_data::{StreamArrays, StreamParts};
use crate::{errors, state};

/// Streams, keys, whether a sweep ends, and the state.
type BatchParts<'py> = (Vec<StreamParts<'py>>, Bound<'py, PyAny>, bool, Bound<'py, PyAny>);

/// The shape that samples of a stream are given; `None` where each minibatch has its own.
pub(crate) type SampleShape = Option<Arc<[usize]>>;

/// One minibatch; streams are numbered as in the source.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Batch {
    pub(crate) streams: Vec<StreamArrays>,
    pub(crate) keys: BatchKeys,
    pub(crate) sweep_end: bool,
    origins: BatchOrigins,
    share: Option<(u64, u64, u64)>,
    sweeps_ended: u64,
    pub(crate) resume: ResumeState,
}

impl Batch {
    /// Wraps a minibatch; `shapes[i]` is the shape that samples of stream `i` are given.
    pub(crate) fn new(mut minibatch: Minibatch, shapes: &[SampleShape]) -> Batch {
        let share = minibatch.share().map(|share| (share.workers, share.least, share.most));
        let sweeps_ended = minibatch.sweeps_ended();
        let origins = minibatch.take_origins();
        let (streams, keys, sweep_end, resume) = minibatch.into_parts();
        let streams =
            streams.into_iter().zip(shapes).map(|(s, shape)| StreamArrays::new(s, shape.clone())).collect();
        Batch { streams, keys, sweep_end, origins, share, sweeps_ended, resume }
    }
}

#[pymethods]
impl Batch {
    /// Number of sequences.
    #[getter]
    fn num_sequences(&self) -> usize {
        self.keys.len()
    }

    /// True if a sweep ends in or with this minibatch.
    #[getter]
    fn sweep_end(&self) -> bool {
        self.sweep_end
    }

    /// How many sweeps end with this minibatch. Not in pickles.
    #[getter]
    fn sweeps_ended(&self) -> u64 {
        self.sweeps_ended
    }

    /// Where ranks share by position: their number, and how many sequences the ranks have that have fewest and most. Not in
    /// pickles.
    #[getter]
    fn share(&self) -> Option<(u64, u64, u64)> {
        self.share
    }

    /// The name of the file that each sequence begins in; `None` if they are in no file. Not in pickles.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let files = self.origins.files();
        if files.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut names: HashMap<*const Path, Bound<'py, PyAny>> = HashMap::new();
        let mut name = |file: &Option<Arc<Path>>| -> PyResult<Bound<'py, PyAny>> {
            let Some(file) = file else { return Ok(py.None().into_bound(py)) };
            match names.entry(Arc::as_ptr(file)) {
                Entry::Occupied(known) => Ok(known.get().clone()),
                Entry::Vacant(new) => Ok(new.insert(file.as_os_str().into_pyobject(py)?.into_any()).clone()),
            }
        };
        let names: Vec<_> = files.iter().map(&mut name).collect::<PyResult<_>>()?;
        PyList::new(py, names).map(Some)
    }

    /// Raises a `DataError` unless the samples of the streams of these numbers pair.
    fn check_paired(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<()> {
        let stream = |number: usize| self.streams.get(number).map(StreamArrays::name_and_lengths);
        let streams: Vec<_> = numbers.into_iter().filter_map(stream).collect();
        tesson_engine::pairing::check_lengths(&self.keys, &streams).map_err(|e| errors::unpaired(py, &e))
    }

    /// The parts of the minibatch for pickles: streams, keys, whether a sweep ends, and the state after it.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<BatchParts<'py>> {
        let streams = self.streams.iter().map(|s| s.parts(py)).collect::<PyResult<_>>()?;
        let keys = match &self.keys {
            BatchKeys::Numbers(v) => v.clone().into_pyobject(py)?,
            BatchKeys::Texts(v) => v.iter().collect::<Vec<_>>().into_pyobject(py)?,
        };
        Ok((streams, keys, self.sweep_end, state::to_dict(py, &self.resume)?))
    }

    /// The minibatch of such parts.
    #[staticmethod]
    fn of_parts(
        streams: Vec<StreamParts<'_>>,
        all_keys: &Bound<'_, PyAny>,
        sweep_end: bool,
        state: &Bound<'_, PyAny>,
    ) -> PyResult<Batch> {
        let is_text = all_keys.len()? > 0 && all_keys.get_item(0)?.is_instance_of::<PyString>();
        let keys = if is_text {
            BatchKeys::Texts(all_keys.extract::<Vec<String>>()?.iter().collect())
        } else {
            BatchKeys::Numbers(all_keys.extract()?)
        };
        let streams = streams
            .into_iter()
            .map(|s| StreamArrays::of_parts(all_keys.py(), s))
            .collect::<PyResult<Vec<_>>>()?;
        if let Some(other) = streams.iter().find(|s| s.n_sequences() != keys.len()) {
            let what =
                format!("{}, {}", number_of(other.n_sequences(), "sequence"), number_of(keys.len(), "key"));
            return Err(PyValueError::new_err(format!("no minibatch: a stream has {what}")));
        }
        let (share, sweeps_ended) = (None, sweep_end.into());
        let origins = BatchOrigins::default();
        Ok(Batch { streams, keys, sweep_end, origins, share, sweeps_ended, resume: state::from_dict(state)? })
    }

    /// The state that continues behind this minibatch.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        state::to_dict(py, &self.resume)
    }

    /// The state after this minibatch, made only when it is asked for.
    fn state_later(&self) -> BatchState {
        BatchState { resume: self.resume.clone() }
    }
}

/// The state behind a minibatch.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct BatchState {
    resume: ResumeState,
}

#[pymethods]
impl BatchState {
    /// The state as a dictionary that `json` can write.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        state::to_dict(py, &self.resume)
    }
}
