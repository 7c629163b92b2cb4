//! A traversal of a plan's examples: where it is, what has been read of it, and going elsewhere.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tesson::Error;
use tesson_cli::restoring;
use tesson_plan::StreamState;
use tesson_prepared::{ExampleBatch, InterruptibleReader};

use super::array_maker::ArrayMaker;
use super::dataset::PreparedDataset;
use super::examples::{Maker, Run};
use super::request::{Origin, Request, Shaped};
use super::{Memory, alone, call, passes_at, restore, saved, until_signal};
use crate::errors::{misuse, raise};
use crate::state::{saved as saved_state, to_python};
use crate::turn::Turn;

/// Examples that one call reads, at most, and about how many bytes of them.
const MOST: usize = 512;
const BYTES: usize = 4 << 20;

/// The state that [`ExampleIterator`](super::ExampleIterator) and [`ExampleReader`](super::ExampleReader) share.
#[pyclass(frozen, subclass, module = "tesson._tesson")]
pub(crate) struct Traversal {
    pub(super) turn: Turn<Box<Walk>>,
    pub(super) maker: Maker,
    pub(super) shaped: Shaped,
    pub(super) with_ids: bool,
    pub(super) marks_absent: bool,
    pub(super) array_maker: Arc<ArrayMaker>,
    pub(super) origin: Origin,
}

/// Where a traversal is, and what has been read of it.
pub(super) struct Walk {
    pub(super) reader: InterruptibleReader,
    pub(super) rows: ExampleBatch,
    pub(super) memory: Memory,
    run: Option<Run>,
    /// Where the reader stood in front of the run.
    pub(super) before: StreamState,
    /// Where it stood in front of the batch that was given last.
    pub(super) before_batch: Option<StreamState>,
    /// How many examples of the run have been taken.
    taken: usize,
    /// How many to read next.
    next: usize,
    /// No exception: its traceback would hold the frames that hold the iterator, in a cycle that Python does not see.
    failed: Option<Error>,
    ended: bool,
}

impl Walk {
    /// Forgets what was read and not taken.
    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.run = None;
        self.before = self.reader.inner().state();
        self.before_batch = None;
        (self.taken, self.next) = (0, 1);
        (self.failed, self.ended) = (None, false);
    }

    /// Reads on; false at the end. What is wrong is raised when all examples before it have been taken.
    fn read(&mut self, py: Python<'_>, maker: &Maker) -> PyResult<bool> {
        if let Some(error) = &self.failed {
            return Err(raise(py, error.clone()));
        }
        if self.ended {
            return Ok(false);
        }
        // A loop in C (`list(iterator)`) looks for signals nowhere else.
        py.check_signals()?;
        self.run = None;
        self.taken = 0;
        self.before = self.reader.inner().state();
        self.rows.clear();
        self.memory.reserve(&mut self.rows);
        let (reader, rows, n) = (&mut self.reader, &mut self.rows, self.next);
        self.failed = until_signal(py, |interrupted| match reader.read(n, rows, interrupted) {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            other => Ok(other.err()),
        })?;
        let n = self.rows.len();
        if n == 0 {
            self.ended = self.failed.is_none();
            return self.failed.as_ref().map_or(Ok(false), |e| Err(raise(py, e.clone())));
        }
        let each = (self.rows.batch.bytes() / n).max(1);
        self.next = (self.next * 8).min(MOST).min(BYTES / each).max(1);
        let batch = self.memory.take(self.reader.inner().schema(), &mut self.rows);
        self.run = Some(maker.run(py, batch)?);
        Ok(true)
    }

    /// Goes back to before the batch that was given last.
    pub(super) fn go_back(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(before) = self.before_batch.take() else { return Ok(()) };
        call(
            py,
            &mut self.reader,
            move |reader, interrupted| Ok(reader.restore_with(&before, interrupted)?),
        )?;
        self.forget();
        Ok(())
    }

    fn go_to(&mut self, py: Python<'_>, traversal: Option<u64>, place: u64) -> PyResult<()> {
        let passed = self.reader.inner().passed();
        restoring::passing(place, passed, || {
            call(py, &mut self.reader, move |reader, interrupted| {
                reader.seek_with(traversal, place, interrupted)
            })
        })?;
        self.forget();
        Ok(())
    }

    fn state(&self) -> StreamState {
        match (self.ended, self.taken) {
            (true, _) => self.reader.inner().state(),
            (false, 0) => self.before.clone(),
            (false, n) => self.reader.inner().state_after(&self.rows, n - 1),
        }
    }

    /// One worker's share of the next `n` examples; returns how many all workers together get.
    pub(super) fn read_share(
        &mut self,
        py: Python<'_>,
        n: usize,
        workers: usize,
        rank: usize,
    ) -> PyResult<usize> {
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

    /// The ids of the examples that have been read, as `bytes`.
    pub(super) fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = (0..self.rows.len()).map(|row| self.reader.inner().id(&self.rows, row));
        PyList::new(py, ids.map(|id| PyBytes::new(py, id.as_bytes())).collect::<Vec<_>>())
    }
}

impl Traversal {
    /// The beginning of what a request asks for.
    pub(super) fn open(
        py: Python<'_>,
        prepared: &PreparedDataset,
        request: &Request<'_>,
    ) -> PyResult<Traversal> {
        let reader = request.open(py, prepared)?;
        let array_maker = Arc::new(ArrayMaker::new(py)?);
        let maker = Maker::new(py, reader.schema(), Arc::clone(&array_maker), request.marks_absent);
        let (rows, before) = (ExampleBatch::new(reader.schema()), reader.state());
        let (memory, reader) = (Memory::default(), InterruptibleReader::new(reader));
        let walk = Walk {
            reader,
            rows,
            memory,
            run: None,
            before,
            before_batch: None,
            taken: 0,
            next: 1,
            failed: None,
            ended: false,
        };
        Ok(Traversal {
            turn: Turn::new(Box::new(walk)),
            maker,
            shaped: request.shape()?,
            with_ids: request.with_ids,
            marks_absent: request.marks_absent,
            array_maker,
            origin: Origin::here(),
        })
    }

    /// Uses the traversal alone, in the process that opened it.
    pub(super) fn alone<R>(&self, py: Python<'_>, act: impl FnOnce(&mut Walk) -> PyResult<R>) -> PyResult<R> {
        self.origin.check(py)?;
        alone(py, &self.turn, |walk| act(walk))
    }

    /// Looks at the traversal, also in the child of a fork.
    ///
    /// # Errors
    /// A traversal that a thread of the parent was reading at the fork: where it stood went with that thread.
    fn look<R>(&self, py: Python<'_>, act: impl FnOnce(&mut Walk) -> PyResult<R>) -> PyResult<R> {
        if self.origin.was_forked() && self.turn.is_abandoned() {
            let what = "a thread was reading the iterator when this process was forked from its own: make the dataset \
                        and the iterator again in this process";
            return Err(misuse(py, what));
        }
        alone(py, &self.turn, |walk| act(walk))
    }

    /// The next example; `None` at the end.
    pub(super) fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.origin.was_forked() {
            self.origin.check(py)?;
        }
        alone(py, &self.turn, |walk| self.step(py, walk))
    }

    fn step<'py>(&self, py: Python<'py>, walk: &mut Walk) -> PyResult<Option<Bound<'py, PyAny>>> {
        if walk.run.as_ref().is_none_or(|run| walk.taken == run.len()) {
            self.origin.check(py)?;
            if !walk.read(py, &self.maker)? {
                return Ok(None);
            }
        }
        let Some(run) = &walk.run else { return Ok(None) };
        let example = self.maker.example(py, run, walk.taken)?;
        if self.with_ids {
            let id = walk.reader.inner().id(&walk.rows, walk.taken);
            example.cast::<PyDict>()?.set_item("tfds_id", PyBytes::new(py, id.as_bytes()))?;
        }
        let example = self.shaped.of(py, example)?;
        // A signal that came meanwhile would be told after this call, whose example were lost.
        py.check_signals()?;
        walk.taken += 1;
        Ok(Some(example))
    }
}

impl Drop for Traversal {
    fn drop(&mut self) {
        if self.origin.is_foreign() {
            // Ending it would wait for threads that this process does not have.
            std::mem::forget(self.turn.remove(&mut || true));
        }
    }
}

#[pymethods]
impl Traversal {
    /// Begins the traversal before which shuffles have begun these numbers of passes.
    fn begin_after(&self, py: Python<'_>, passes: Vec<u64>) -> PyResult<()> {
        self.alone(py, |walk| {
            call(py, &mut walk.reader, move |reader, _| Ok(reader.begin_after(&passes)?))?;
            walk.forget();
            Ok(())
        })
    }

    /// Passes that each shuffle has begun so far, as far as examples were given of them.
    fn passes(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.look(py, |walk| passes_at(py, &walk.reader, &walk.state()))
    }

    /// Where the traversal stands; also after a fork.
    fn state<'py>(&self, py: Python<'py>, include_buffers: bool) -> PyResult<Bound<'py, PyAny>> {
        let look = |walk: &Walk| walk.reader.inner().to_json(&walk.state());
        let state = match (!include_buffers).then(|| self.turn.peek(|walk| look(walk))).flatten() {
            Some(state) => state,
            None => self.look(py, |walk| {
                let state = walk.state();
                saved(py, &mut walk.reader, state, include_buffers)
            })?,
        };
        to_python(py, &state)
    }

    /// Puts the element back that was given last, if nothing else has been done since: the next call gives it again.
    fn put_back(&self, py: Python<'_>) -> PyResult<()> {
        self.alone(py, |walk| match walk.taken.checked_sub(1) {
            Some(taken) => {
                walk.taken = taken;
                Ok(())
            }
            None => walk.go_back(py),
        })
    }

    /// Goes to where a state was taken.
    fn restore(&self, py: Python<'_>, state: &Bound<'_, PyAny>, force: bool) -> PyResult<()> {
        let state = saved_state(state)?;
        self.alone(py, |walk| {
            restore(py, &mut walk.reader, state, force)?;
            walk.forget();
            Ok(())
        })
    }

    /// Goes to a place of a traversal, of the present one if none is named; both count from 0.
    fn go_to(&self, py: Python<'_>, traversal: Option<u64>, place: u64) -> PyResult<()> {
        self.alone(py, |walk| walk.go_to(py, traversal, place))
    }

    /// Goes past so many elements of `size` examples, or as many as there are in a traversal of `length` examples; returns how
    /// many.
    fn pass_over(&self, py: Python<'_>, count: u64, size: u64, length: Option<u64>) -> PyResult<u64> {
        self.alone(py, |walk| {
            let given = walk.state().delivered;
            let left = length.map_or(u64::MAX, |length| length.saturating_sub(given) / size);
            let passed = count.min(left);
            walk.go_to(py, None, given.saturating_add(passed.saturating_mul(size)))?;
            Ok(passed)
        })
    }

    /// Records left out because they are damaged.
    fn skipped_records(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |walk| Ok(walk.reader.inner().skipped()))
    }
}
