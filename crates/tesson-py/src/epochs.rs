//! The epochs of a source: what a `Loader` iterates over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tesson::{Demand, Error};
use tesson_engine::EpochReport;

use crate::source::{Source, demand};
use crate::{errors, state};

/// The batches of a source, epoch by epoch.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Epochs {
    source: Py<Source>,
    epochs: Arc<Mutex<tesson_engine::Epochs>>,
}

/// Epoch, batches, examples, repeated, dropped and left out, and whether the epoch is over.
type ReportParts = (u64, u64, u64, u64, u64, u64, bool);

fn lock(epochs: &Mutex<tesson_engine::Epochs>) -> MutexGuard<'_, tesson_engine::Epochs> {
    // Who has the source has the lock: calls take turns.
    epochs.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Epochs {
    /// The epochs of a source that nothing else moves.
    #[new]
    fn new(
        source: Py<Source>,
        samples: &Bound<'_, PyAny>,
        workers: &Bound<'_, PyAny>,
        rank: &Bound<'_, PyAny>,
    ) -> PyResult<Epochs> {
        let py = samples.py();
        let demand: Demand = demand(samples, Some(workers), Some(rank))?;
        let epochs = source.get().with(py, |source, _| Ok(tesson_engine::Epochs::new(source, demand)))?;
        Ok(Epochs { source, epochs: Arc::new(Mutex::new(epochs)) })
    }

    /// Begins an iteration over the rest of an epoch; each item is what `make` returns for a batch.
    fn begin(&self, py: Python<'_>, make: Py<PyAny>) -> PyResult<Iteration> {
        let source = self.source.clone_ref(py);
        let number = source.get().with(py, |source, _| lock(&self.epochs).begin(source))?;
        Ok(Iteration { source, epochs: self.epochs.clone(), number, make })
    }

    /// The state after the last batch handed out.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let read = |source: &tesson::Source| {
            source.check_resumable().map(|()| lock(&self.epochs).state(source).clone())
        };
        state::to_dict(py, &self.source.get().look(py, read)?)
    }

    /// The number of the epoch that the next batch belongs to.
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.source.get().look(py, |source| Ok(lock(&self.epochs).epoch(source)))
    }

    /// The number of batches of the epoch that the next batch belongs to.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let n = self.source.get().with_index(py, |source| lock(&self.epochs).steps(source))?;
        Ok(usize::try_from(n).unwrap_or(usize::MAX))
    }

    /// The number of batches before the next one.
    fn step(&self, py: Python<'_>) -> PyResult<u64> {
        self.source.get().with_index(py, |source| lock(&self.epochs).step(source))
    }

    /// The counts of the epoch so far.
    fn report(&self, py: Python<'_>) -> PyResult<ReportParts> {
        let report = self.source.get().with_index(py, |source| lock(&self.epochs).report(source))?;
        let EpochReport { epoch, batches, examples, repeated, dropped, left_out, is_over } = report;
        Ok((epoch, batches, examples, repeated, dropped, left_out, is_over))
    }

    /// Forgets what was read ahead, and all iterations: the source was moved.
    fn moved(&self, py: Python<'_>) -> PyResult<()> {
        self.source.get().with(py, |source, _| {
            lock(&self.epochs).moved(source);
            Ok(())
        })
    }
}

/// The rest of an epoch. Python lets signals in after a call, whose result is then lost, but not between the `next` of a `for` loop
/// and the loop's variable.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Iteration {
    source: Py<Source>,
    epochs: Arc<Mutex<tesson_engine::Epochs>>,
    number: u64,
    make: Py<PyAny>,
}

#[pymethods]
impl Iteration {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let source = self.source.get();
        let minibatch = source.with(py, |source, interrupted| {
            let mut epochs = lock(&self.epochs);
            if !epochs.is_latest(self.number) {
                return Ok(None);
            }
            let mut is_told = false;
            let next = epochs.next(source, &mut || {
                is_told |= interrupted();
                is_told
            })?;
            if is_told && next.is_some() {
                epochs.put_back(source)?;
            }
            Ok::<_, Error>(Some(next))
        })?;
        let Some(minibatch) = minibatch else {
            let what = "the loader has begun another iteration; use one iterator of a loader at a time, or one loader for each";
            return Err(errors::misuse(py, what));
        };
        let Some(minibatch) = minibatch else { return Ok(None) };
        let made = Py::new(py, source.batch(minibatch)).and_then(|batch| self.make.call1(py, (batch,)));
        if made.is_err() {
            // A signal that came while the batch was made, say: it is to come again.
            source.with(py, |source, _| lock(&self.epochs).put_back(source))?;
        }
        made.map(Some)
    }
}
