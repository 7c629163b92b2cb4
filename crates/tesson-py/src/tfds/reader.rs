//! Examples many at a time, and by their places.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tesson::Error;
use tesson_prepared::{ExampleBatch, Reader};

use super::dataset::PreparedDataset;
use super::request::Request;
use super::traversal::{Traversal, Walk};
use super::{alone, batches, call, until_signal};
use crate::errors::misuse;

/// Reads the examples of a plan.
#[pyclass(frozen, extends = Traversal, module = "tesson._tesson")]
pub(crate) struct ExampleReader;

#[pymethods]
impl ExampleReader {
    #[new]
    fn new(
        py: Python<'_>,
        prepared: &PreparedDataset,
        request: Request<'_>,
    ) -> PyResult<PyClassInitializer<ExampleReader>> {
        Ok(PyClassInitializer::from(Traversal::open(py, prepared, &request)?).add_subclass(ExampleReader))
    }

    /// One worker's share of `n` examples after another, feature by feature: arrays of all of them. Where they differ in shape
    /// they are padded, or, unless `pads`, refused. An incomplete last batch is left out if `drop_remainder`.
    fn batches(
        this: Py<Self>,
        py: Python<'_>,
        n: usize,
        workers: usize,
        rank: usize,
        drop_remainder: bool,
        pads: bool,
    ) -> PyResult<ExampleBatches> {
        if workers == 0 || rank >= workers {
            return Err(misuse(py, format!("found partition_index {rank} of {workers} partitions")));
        }
        Ok(ExampleBatches { reader: this, n, workers, rank, drop_remainder, pads })
    }

    /// The examples at these places of the split.
    fn read_at<'py>(this: &Bound<'py, Self>, places: Vec<u64>) -> PyResult<Bound<'py, PyList>> {
        random(this, move |reader, rows, _| reader.read_at(&places, rows))
    }

    /// The example at a place of a traversal, both counted from 0.
    fn read_nth<'py>(this: &Bound<'py, Self>, traversal: u64, place: u64) -> PyResult<Bound<'py, PyList>> {
        random(this, move |reader, rows, interrupted| reader.read_nth(traversal, place, rows, interrupted))
    }

    /// Examples of the split.
    fn split_length(this: &Bound<'_, Self>) -> PyResult<u64> {
        alone(this.py(), &this.as_super().get().turn, |walk| Ok(walk.reader.inner().split_len()))
    }

    /// Examples of a traversal, by the files where nothing checks what the dataset says; None if it has no end.
    fn length(this: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        let py = this.py();
        this.as_super().get().alone(py, |walk| call(py, &mut walk.reader, |reader, _| reader.counted_len()))
    }
}

/// Batches of examples. They are given by an iterator: Python lets signals in after a call, whose result is then lost, but not
/// between the `next` of a `for` loop and the loop's variable.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ExampleBatches {
    reader: Py<ExampleReader>,
    n: usize,
    workers: usize,
    rank: usize,
    drop_remainder: bool,
    pads: bool,
}

#[pymethods]
impl ExampleBatches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let traversal = self.reader.bind(py).as_super().get();
        traversal.origin.check(py)?;
        // The arrays, too, are made before another thread reads on: if they cannot be, this call has not been made.
        traversal.alone(py, |walk| {
            walk.before_batch = Some(walk.reader.inner().state());
            let all = walk.read_share(py, self.n, self.workers, self.rank);
            walk.before = walk.reader.inner().state();
            let all = all?;
            if all == 0 || self.drop_remainder && all < self.n {
                return Ok(None);
            }
            match self.make(py, traversal, walk) {
                Ok(batch) => Ok(Some(batch)),
                Err(error) => {
                    walk.go_back(py)?;
                    Err(error)
                }
            }
        })
    }
}

impl ExampleBatches {
    /// The arrays of what has been read.
    fn make<'py>(
        &self,
        py: Python<'py>,
        traversal: &Traversal,
        walk: &mut Walk,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids = if traversal.with_ids { Some(walk.ids(py)?) } else { None };
        let columns = walk.memory.take(walk.reader.inner().schema(), &mut walk.rows);
        let (schema, marks_absent) = (traversal.maker.schema(), traversal.marks_absent);
        let batch = batches::batch(py, &traversal.array_maker, schema, columns, marks_absent, self.pads)?;
        if let Some(ids) = ids {
            batch.cast::<PyDict>()?.set_item("tfds_id", ids)?;
        }
        let batch = traversal.shaped.of(py, batch)?;
        // A signal that came meanwhile would be told after this call, whose batch were lost.
        py.check_signals()?;
        Ok(batch)
    }
}

fn random<'py>(
    this: &Bound<'py, ExampleReader>,
    read: impl FnOnce(&mut Reader, &mut ExampleBatch, &mut dyn FnMut() -> bool) -> Result<(), Error>
    + Send
    + 'static,
) -> PyResult<Bound<'py, PyList>> {
    let (py, traversal) = (this.py(), this.as_super().get());
    let (batch, ids) = traversal.alone(py, |walk| {
        walk.rows.clear();
        let (reader, rows) = (&mut walk.reader, &mut walk.rows);
        until_signal(py, |interrupted| reader.load(rows, interrupted, read))?;
        let ids = if traversal.with_ids { Some(walk.ids(py)?) } else { None };
        Ok((walk.memory.take(walk.reader.inner().schema(), &mut walk.rows), ids))
    })?;
    let run = traversal.maker.run(py, batch)?;
    let list = PyList::empty(py);
    for row in 0..run.len() {
        let example = traversal.maker.example(py, &run, row)?;
        if let Some(ids) = &ids {
            example.cast::<PyDict>()?.set_item("tfds_id", ids.get_item(row)?)?;
        }
        list.append(traversal.shaped.of(py, example)?)?;
    }
    Ok(list)
}
