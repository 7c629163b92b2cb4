//! Reading examples: batches of them without the GIL, and then as Python's values.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tesson::tfds::{Reader, Rows, StreamState};
use tesson::{Error, ResumeError};

use super::value::Kit;
use crate::errors::{misuse, raise};
use crate::state::{from_python, to_python};

/// Reads examples of a plan.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ExampleReader {
    inner: Mutex<Inner>,
    kit: Kit,
}

struct Inner {
    reader: Reader,
    rows: Rows,
    /// Where the reader stood in front of the rows.
    before: StreamState,
}

impl ExampleReader {
    pub(super) fn new(py: Python<'_>, reader: Reader) -> PyResult<ExampleReader> {
        let rows = Rows::new(reader.schema());
        let before = reader.state();
        Ok(ExampleReader { inner: Mutex::new(Inner { reader, rows, before }), kit: Kit::new(py)? })
    }

    /// Uses the reader without the GIL.
    fn with<R: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Inner) -> R + Send) -> R {
        py.detach(|| act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The examples that were read, with ids if they are asked for.
    fn examples<'py>(&self, py: Python<'py>, ids: bool) -> PyResult<Bound<'py, PyList>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let examples = self.kit.examples(py, inner.reader.schema(), &inner.rows.batch)?;
        if ids {
            for (row, example) in examples.iter().enumerate() {
                let id = PyBytes::new(py, inner.reader.id(&inner.rows, row).as_bytes());
                example.cast::<PyDict>()?.set_item("tfds_id", id)?;
            }
        }
        Ok(examples)
    }
}

#[pymethods]
impl ExampleReader {
    /// The next `n` examples, and what went wrong behind them. Fewer and no error: the traversal has ended.
    fn read<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        ids: bool,
    ) -> PyResult<(Bound<'py, PyList>, Option<Py<PyAny>>)> {
        let failed = self.with(py, |inner| {
            inner.before = inner.reader.state();
            inner.rows.clear();
            inner.reader.read(n, &mut inner.rows).err()
        });
        let failed = failed.map(|e| raise(py, e).into_value(py).into_any());
        Ok((self.examples(py, ids)?, failed))
    }

    /// One worker's share of the next `n` examples, feature by feature: arrays of all of them, padded where they differ in
    /// shape. And how many examples all workers together get.
    fn read_batch<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        workers: usize,
        rank: usize,
        ids: bool,
    ) -> PyResult<(Bound<'py, PyAny>, usize)> {
        if workers == 0 || rank >= workers {
            return Err(misuse(py, format!("found partition_index {rank} of {workers} partitions")));
        }
        let all = self.with(py, |inner| {
            inner.before = inner.reader.state();
            inner.rows.clear();
            match workers {
                1 => inner.reader.read(n, &mut inner.rows).map(|()| inner.rows.len()),
                _ => inner.reader.read_share(n, workers, rank, &mut inner.rows),
            }
        });
        let all = all.map_err(|e| raise(py, e))?;
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = self.kit.batch(py, inner.reader.schema(), &inner.rows.batch)?;
        if ids {
            let all_ids = (0..inner.rows.len()).map(|row| inner.reader.id(&inner.rows, row));
            let list =
                PyList::new(py, all_ids.map(|id| PyBytes::new(py, id.as_bytes())).collect::<Vec<_>>())?;
            batch.cast::<PyDict>()?.set_item("tfds_id", list)?;
        }
        Ok((batch, all))
    }

    /// The examples at these places of the split.
    fn read_at<'py>(&self, py: Python<'py>, places: Vec<u64>, ids: bool) -> PyResult<Bound<'py, PyList>> {
        self.random(py, ids, |inner| inner.reader.read_at(&places, &mut inner.rows))
    }

    /// The example at a place of the first traversal.
    fn read_nth<'py>(&self, py: Python<'py>, place: u64, ids: bool) -> PyResult<Bound<'py, PyList>> {
        self.random(py, ids, |inner| inner.reader.read_nth(place, &mut inner.rows))
    }

    /// Examples of a traversal; None if it has no end.
    fn traversal_length(&self, py: Python<'_>) -> Option<u64> {
        self.with(py, |inner| inner.reader.traversal_len())
    }

    /// Examples of the split.
    fn split_length(&self, py: Python<'_>) -> u64 {
        self.with(py, |inner| inner.reader.split_len())
    }

    /// Records left out because they are damaged.
    fn skipped(&self, py: Python<'_>) -> u64 {
        self.with(py, |inner| inner.reader.skipped())
    }

    /// Bytes that the examples of the last call take.
    fn batch_bytes(&self, py: Python<'_>) -> usize {
        self.with(py, |inner| inner.rows.batch.bytes())
    }

    /// Begins the next traversal; with a state, the one after that.
    fn begin(&self, py: Python<'_>, after: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let after = after
            .map(|state| StreamState::from_json(&from_python(state)?["stream"]).map_err(|e| raise(py, e)));
        let after = after.transpose()?;
        let begun = self.with(py, |inner| {
            if let Some(after) = after {
                inner.reader.restore(&after)?;
            }
            inner.reader.begin();
            inner.rows.clear();
            inner.before = inner.reader.state();
            Ok::<_, ResumeError>(())
        });
        begun.map_err(|e| raise(py, e))
    }

    /// Where the reader stands when so many of the examples of the last `read` have been taken; `None`: the traversal has
    /// ended, and that was seen.
    fn state<'py>(&self, py: Python<'py>, taken: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.with(py, |inner| {
            let stream = match taken {
                None => inner.reader.state(),
                Some(0) => inner.before.clone(),
                Some(n) => inner.reader.state_behind(&inner.rows, n - 1),
            };
            inner.reader.to_json(&stream)
        });
        to_python(py, &state)
    }

    /// Goes to where a state was taken.
    fn restore(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = from_python(state)?;
        let restored = self.with(py, |inner| {
            inner.reader.restore_json(&state)?;
            inner.rows.clear();
            inner.before = inner.reader.state();
            Ok::<_, ResumeError>(())
        });
        restored.map_err(|e| raise(py, e))
    }
}

impl ExampleReader {
    fn random<'py>(
        &self,
        py: Python<'py>,
        ids: bool,
        read: impl FnOnce(&mut Inner) -> Result<(), Error> + Send,
    ) -> PyResult<Bound<'py, PyList>> {
        let done = self.with(py, |inner| {
            inner.rows.clear();
            read(inner)
        });
        done.map_err(|e| raise(py, e))?;
        self.examples(py, ids)
    }
}
