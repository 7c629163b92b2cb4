//! Examples many at a time, and by their places.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tesson::Error;
use tesson::tfds::{ExampleBatch, InterruptibleReader, Reader};

use super::array_maker::ArrayMaker;
use super::dataset::PreparedDataset;
use super::examples::Maker;
use super::request::{Origin, Request, Shaped};
use super::{Memory, alone, batches, call, passes_at, restore, saved, until_signal};
use crate::errors::misuse;
use crate::state::{from_python, to_python};
use crate::turn::Turn;

/// Reads the examples of a plan.
#[pyclass(frozen, module = "tesson._tesson")]
pub(crate) struct ExampleReader {
    turn: Turn<Box<Inner>>,
    array_maker: Arc<ArrayMaker>,
    maker: Maker,
    shaped: Shaped,
    with_ids: bool,
    marks_absent: bool,
    origin: Origin,
}

struct Inner {
    reader: InterruptibleReader,
    rows: ExampleBatch,
    memory: Memory,
}

impl Inner {
    /// One worker's share of the next `n` examples; returns how many all workers together get.
    fn read(&mut self, py: Python<'_>, n: usize, workers: usize, rank: usize) -> PyResult<usize> {
        self.rows.clear();
        self.memory.reserve(&mut self.rows);
        py.check_signals()?;
        until_signal(py, |interrupted| match workers {
            1 => self.reader.read(n, &mut self.rows, interrupted).map(|()| self.rows.len()),
            _ => self.reader.load(&mut self.rows, interrupted, move |reader, rows, _| {
                reader.read_share(n, workers, rank, rows)
            }),
        })
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = (0..self.rows.len()).map(|row| self.reader.id(&self.rows, row));
        PyList::new(py, ids.map(|id| PyBytes::new(py, id.as_bytes())).collect::<Vec<_>>())
    }
}

impl Drop for ExampleReader {
    fn drop(&mut self) {
        if self.origin.is_foreign() {
            // Ending it would wait for threads that this process does not have.
            std::mem::forget(self.turn.remove(&mut || true));
        }
    }
}

#[pymethods]
impl ExampleReader {
    #[new]
    fn new(py: Python<'_>, prepared: &PreparedDataset, request: Request<'_>) -> PyResult<ExampleReader> {
        let reader = request.open(py, prepared)?;
        let array_maker = Arc::new(ArrayMaker::new(py)?);
        Ok(ExampleReader {
            maker: Maker::new(py, reader.schema(), Arc::clone(&array_maker), request.marks_absent),
            turn: Turn::new(Box::new(Inner {
                rows: ExampleBatch::new(reader.schema()),
                memory: Memory::default(),
                reader: InterruptibleReader::new(reader),
            })),
            array_maker,
            shaped: request.shape()?,
            with_ids: request.with_ids,
            marks_absent: request.marks_absent,
            origin: Origin::here(),
        })
    }

    /// One worker's share of the next `n` examples, feature by feature: arrays of all of them. Where they differ in shape
    /// they are padded, or, unless `pads`, refused. And how many examples all workers together get.
    fn read_batch<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        workers: usize,
        rank: usize,
        pads: bool,
    ) -> PyResult<(Bound<'py, PyAny>, usize)> {
        self.origin.check(py)?;
        if workers == 0 || rank >= workers {
            return Err(misuse(py, format!("found partition_index {rank} of {workers} partitions")));
        }
        let (batch, ids, all, before) = alone(py, &self.turn, |inner| {
            let before = inner.reader.state();
            let all = inner.read(py, n, workers, rank)?;
            let ids = if self.with_ids { Some(inner.ids(py)?) } else { None };
            Ok((inner.memory.take(inner.reader.schema(), &mut inner.rows), ids, all, before))
        })?;
        let made = batches::batch(py, &self.array_maker, self.maker.schema(), batch, self.marks_absent, pads);
        let batch = match made {
            Ok(batch) => batch,
            Err(error) => {
                // As if the call had not been made.
                alone(py, &self.turn, |inner| {
                    call(py, &mut inner.reader, move |reader, interrupted| {
                        Ok(reader.restore_with(&before, interrupted)?)
                    })
                })?;
                return Err(error);
            }
        };
        if let Some(ids) = ids {
            batch.cast::<PyDict>()?.set_item("tfds_id", ids)?;
        }
        Ok((self.shaped.of(py, batch)?, all))
    }

    /// The examples at these places of the split.
    fn read_at<'py>(&self, py: Python<'py>, places: Vec<u64>) -> PyResult<Bound<'py, PyList>> {
        self.random(py, move |reader, rows, _| reader.read_at(&places, rows))
    }

    /// The example at a place of a traversal, both counted from 0.
    fn read_nth<'py>(&self, py: Python<'py>, traversal: u64, place: u64) -> PyResult<Bound<'py, PyList>> {
        self.random(py, move |reader, rows, interrupted| reader.read_nth(traversal, place, rows, interrupted))
    }

    /// Examples of the split.
    fn split_length(&self, py: Python<'_>) -> PyResult<u64> {
        alone(py, &self.turn, |inner| Ok(inner.reader.split_len()))
    }

    /// Examples of a traversal, by the files where nothing checks what the dataset says; None if it has no end.
    fn length(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.origin.check(py)?;
        alone(py, &self.turn, |inner| call(py, &mut inner.reader, |reader, _| reader.counted_len()))
    }

    /// Goes to a place of a traversal, of the present one if none is named; both count from 0.
    fn go_to(&self, py: Python<'_>, traversal: Option<u64>, place: u64) -> PyResult<()> {
        self.origin.check(py)?;
        alone(py, &self.turn, |inner| {
            call(py, &mut inner.reader, move |reader, interrupted| {
                reader.seek_with(traversal, place, interrupted)
            })
        })
    }

    /// Records left out because they are damaged.
    fn skipped_records(&self, py: Python<'_>) -> PyResult<u64> {
        alone(py, &self.turn, |inner| Ok(inner.reader.skipped()))
    }

    /// Begins the traversal before which shuffles have begun these numbers of passes.
    fn begin_after(&self, py: Python<'_>, passes: Vec<u64>) -> PyResult<()> {
        self.origin.check(py)?;
        alone(py, &self.turn, |inner| {
            call(py, &mut inner.reader, move |reader, _| Ok(reader.begin_after(&passes)?))
        })
    }

    /// Passes that each shuffle has begun so far, as far as examples were given of them.
    fn passes(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        alone(py, &self.turn, |inner| passes_at(py, &inner.reader, &inner.reader.state()))
    }

    /// Where the reader stands; also after a fork.
    fn state<'py>(&self, py: Python<'py>, include_buffers: bool) -> PyResult<Bound<'py, PyAny>> {
        let look = |inner: &Inner| inner.reader.to_json(&inner.reader.state());
        let state = match (!include_buffers).then(|| self.turn.peek(|inner| look(inner))).flatten() {
            Some(state) => state,
            None => alone(py, &self.turn, |inner| {
                let state = inner.reader.state();
                saved(py, &mut inner.reader, state, include_buffers)
            })?,
        };
        to_python(py, &state)
    }

    /// Goes to where a state was taken.
    fn restore(&self, py: Python<'_>, state: &Bound<'_, PyAny>, force: bool) -> PyResult<()> {
        self.origin.check(py)?;
        let state = from_python(state)?;
        alone(py, &self.turn, |inner| restore(py, &mut inner.reader, state, force))
    }
}

impl ExampleReader {
    fn random<'py>(
        &self,
        py: Python<'py>,
        read: impl FnOnce(&mut Reader, &mut ExampleBatch, &mut dyn FnMut() -> bool) -> Result<(), Error>
        + Send
        + 'static,
    ) -> PyResult<Bound<'py, PyList>> {
        self.origin.check(py)?;
        let (batch, ids) = alone(py, &self.turn, |inner| {
            inner.rows.clear();
            let (reader, rows) = (&mut inner.reader, &mut inner.rows);
            until_signal(py, |interrupted| reader.load(rows, interrupted, read))?;
            let ids = if self.with_ids { Some(inner.ids(py)?) } else { None };
            Ok((inner.memory.take(inner.reader.schema(), &mut inner.rows), ids))
        })?;
        let run = self.maker.run(py, batch)?;
        let list = PyList::empty(py);
        for row in 0..run.len() {
            let example = self.maker.example(py, &run, row)?;
            if let Some(ids) = &ids {
                example.cast::<PyDict>()?.set_item("tfds_id", ids.get_item(row)?)?;
            }
            list.append(self.shaped.of(py, example)?)?;
        }
        Ok(list)
    }
}
