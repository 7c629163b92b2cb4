//! The source: calls that release the GIL, take turns, and let Ctrl-C through.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tesson::{
    Canceller, ConfigError, Demand, Error, Key, OpenOptions, Share, SourceConfig, StreamInfo, UsageError,
};
use tesson_cli::restoring;
use tesson_engine::RunCalls;
use tesson_engine::{ProcessGuard, no_thread};
use tesson_engine::{StatsReader, StepSequence};
use tesson_plan::StepSizes;
use tracing::Span;

use crate::batch::{Batch, SampleShape};
use crate::calls::{Owner, PATIENCE_WITH_USERS, released};
use crate::config::Schedule;
use crate::errors::Refusal;
use crate::turn::{NoTurn, PATIENCE, Turn};
use crate::{config, errors, log, state};

/// Refuses a shape of another number of values than the stream's samples have, which only the file may know.
fn check_shapes(
    shapes: &HashMap<String, Vec<usize>>,
    streams: &[Arc<StreamInfo>],
) -> Result<(), ConfigError> {
    for stream in streams {
        let Some(shape) = shapes.get(&stream.name) else { continue };
        if shape.iter().product::<usize>() != stream.shape.len() {
            let refusal = Refusal::Shape { found: format!("{shape:?}"), values: stream.shape.len() };
            return Err(ConfigError::refused(format!("input.{}.shape", stream.name), &refusal));
        }
    }
    Ok(())
}

/// Name, shape of a sample, NumPy's name of the type, whether it is sparse, names of classes, and whether the data declare that
/// examples may have any number of samples.
type StreamParts<'a> = (&'a str, Vec<i64>, &'static str, bool, &'a [String], Option<&'a str>, bool);

/// Minibatches of one size.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Batches {
    source: Py<Source>,
    demand: Demand,
}

#[pymethods]
impl Batches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.source.get().next(py, self.demand)
    }
}

/// A source of minibatches.
#[pyclass(frozen, module = "tesson._tesson")]
pub struct Source {
    /// In a box, since it is handed to and fro for each call.
    turn: Turn<Box<tesson::Source>>,
    canceller: Canceller,
    counters: StatsReader,
    streams: Vec<Arc<StreamInfo>>,
    shapes: Vec<SampleShape>,
    /// Sizes of minibatches for calls that give none.
    default_sizes: tesson::config::Schedule,
    /// The span that marks its log records.
    span: Span,
    /// True if the configuration was made of keyword arguments, whose spelling its errors then use.
    by_keywords: bool,
    /// True if the keys of sequences are texts.
    has_text_keys: bool,
    /// True if worker threads call a user's code, which cannot be cancelled.
    user_code: bool,
    /// The owner that this code may not call.
    owner: Owner,
    process: ProcessGuard,
}

impl Source {
    /// Uses the source, alone and without the GIL.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut tesson::Source, &mut dyn FnMut() -> bool) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        self.owner.check_caller(py)?;
        self.process.check("the source").map_err(|e| errors::raise(py, e))?;
        let (done, signal) = attentive(py, |interrupted| {
            self.span.in_scope(|| self.turn.with(interrupted, |source, interrupted| act(source, interrupted)))
        })?;
        log::flush_source(py, &self.span);
        match (done, signal) {
            // Even if the call finished before it noticed: a signal is reported once, and may have closed the source.
            (_, Some(e)) => Err(e),
            (Ok(Ok(result)), None) => Ok(result),
            (Ok(Err(e)), None) => Err(errors::raise_spelt(py, e, self.by_keywords)),
            (Err(NoTurn::Gone | NoTurn::Interrupted), None) => Err(errors::raise(py, Error::Cancelled)),
        }
    }

    /// Looks at the source: at once while no call is in progress, also behind a fork.
    pub(crate) fn look<R: Send>(
        &self,
        py: Python<'_>,
        read: impl Fn(&tesson::Source) -> Result<R, Error> + Send + Sync,
    ) -> PyResult<R> {
        self.owner.check_caller(py)?;
        match self.turn.peek(|source| read(source)) {
            Some(found) => found.map_err(|e| errors::raise_spelt(py, e, self.by_keywords)),
            None => self.with(py, |source, _| read(source)),
        }
    }

    /// A minibatch of this source, for Python.
    pub(crate) fn batch(&self, minibatch: tesson::Minibatch) -> Batch {
        Batch::new(minibatch, &self.shapes)
    }

    /// The next minibatch. Where a signal was noticed although the call was done, it is put back.
    fn next(&self, py: Python<'_>, demand: Demand) -> PyResult<Option<Batch>> {
        let minibatch = self.with(py, |source, interrupted| {
            let mut is_told = false;
            let next = source.next_interruptible(demand, &mut || {
                is_told |= interrupted();
                is_told
            })?;
            if is_told && let Some(minibatch) = &next {
                source.put_back(minibatch.resume());
            }
            Ok(next)
        })?;
        Ok(minibatch.map(|m| self.batch(m)))
    }

    /// Runs a long call that checks no signals: a signal closes the source.
    pub(crate) fn with_index<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut tesson::Source) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        self.with(py, |source, interrupted| or_call_off(interrupted, &self.canceller, || act(source)))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let source = self.turn.remove(&mut || true);
        if self.process.is_forked() {
            // Ending it would wait for threads that this process does not have, or for a lock that one of them held.
            std::mem::forget((source, std::mem::replace(&mut self.span, Span::none())));
            return;
        }
        let Ok(source) = source else { return };
        self.canceller.cancel();
        if self.user_code {
            // Python may find this garbage in a thread of the source itself: another thread has to wait.
            end_in_the_background(*source);
            return;
        }
        // Ending it waits for its threads, which other threads of Python need not. At the interpreter's end there is
        // nothing to release.
        let mut source = Some(source);
        Python::try_attach(|py| py.detach(|| drop(source.take())));
    }
}

/// Runs something without the GIL and lends it a look for signals; returns what came of it, and the signal if one came.
pub(crate) fn attentive<R: Send>(
    py: Python<'_>,
    act: impl FnOnce(&mut dyn FnMut() -> bool) -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    let mut signal = None;
    let result = released(py, || {
        act(&mut || {
            Python::attach(|py| match py.check_signals() {
                Ok(()) => false,
                Err(e) => {
                    signal = Some(e);
                    true
                }
            })
        })
    })?;
    Ok((result, signal))
}

/// Ends a source in a thread of its own; the receiver hears of it.
fn end_in_the_background(source: tesson::Source) -> mpsc::Receiver<()> {
    let (over, heard) = mpsc::channel();
    let source = ManuallyDrop::new(source);
    // Where no thread can be started the source is left alone, and the receiver hears at once.
    let _ = Builder::new().spawn(move || {
        drop(ManuallyDrop::into_inner(source));
        // The receiver may be gone.
        let _ = over.send(());
    });
    heard
}

/// A source, and whether its keys are texts.
struct Opened {
    source: tesson::Source,
    has_text_keys: bool,
}

/// Opens a source in a thread of its own. When `interrupted` says so it is called off, and left alone if a user's code
/// then takes long to return.
fn open_attentively(
    mut config: SourceConfig,
    finds_keys: bool,
    canceller: &Canceller,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Opened, Error> {
    let (done, opened) = mpsc::channel();
    let (theirs, span) = (canceller.clone(), Span::current());
    let open = move || {
        // A source that no call waits for any more is dropped here.
        let _ = done.send(span.in_scope(|| {
            let options = OpenOptions { canceller: theirs.clone(), ..OpenOptions::default() };
            let source =
                if finds_keys { options.open_finding_keys(&mut config) } else { options.open(&config) };
            source.map(|source| Opened { source, has_text_keys: !config.defaults.numeric_keys })
        }));
    };
    Builder::new().spawn(open).map_err(|e| no_thread(&e))?;
    let panicked =
        || Err(UsageError::new("opening panicked; this is a defect, please report it".into()).into());
    loop {
        match opened.recv_timeout(PATIENCE) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return panicked(),
            Err(RecvTimeoutError::Timeout) if interrupted() => {
                canceller.cancel();
                return opened.recv_timeout(PATIENCE_WITH_USERS).unwrap_or(Err(Error::Cancelled));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Runs something in a thread of its own, and calls it off when `interrupted` says so.
pub(crate) fn or_call_off<R: Send>(
    interrupted: &mut dyn FnMut() -> bool,
    canceller: &Canceller,
    act: impl FnOnce() -> Result<R, Error> + Send,
) -> Result<R, Error> {
    std::thread::scope(|scope| {
        let (running, over) = mpsc::channel::<()>();
        let span = Span::current();
        let work = move || {
            let _running = running;
            span.in_scope(act)
        };
        let worker = Builder::new().spawn_scoped(scope, work).map_err(|e| no_thread(&e))?;
        let mut called_off = false;
        while over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            if !called_off && interrupted() {
                called_off = true;
                canceller.cancel();
            }
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The demand of a call: samples over all workers, and whose share.
pub(crate) fn demand(
    samples: &Bound<'_, PyAny>,
    workers: Option<&Bound<'_, PyAny>>,
    rank: Option<&Bound<'_, PyAny>>,
) -> PyResult<Demand> {
    Ok(Demand {
        samples: errors::whole(samples, "minibatch size")?,
        workers: workers.map_or(Ok(1), |w| errors::whole(w, "num_data_partitions"))?,
        rank: rank.map_or(Ok(0), |r| errors::whole(r, "partition_index"))?,
    })
}

/// The calls of a run, as Python describes them: sizes, samples after which the next of them holds, number of workers,
/// and the rank unless all are meant.
type Calls<'py> = (PyRef<'py, Schedule>, u64, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// The calls of a run.
struct Run {
    sizes: tesson::config::Schedule,
    epoch: u64,
    workers: u64,
    rank: Option<u64>,
}

impl Run {
    fn new((sizes, epoch, workers, rank): Calls<'_>) -> PyResult<Run> {
        Ok(Run {
            sizes: sizes.0.clone(),
            epoch: epoch.max(1),
            workers: errors::whole(&workers, "num_data_partitions")?,
            rank: rank.map(|rank| errors::whole(&rank, "partition_index")).transpose()?,
        })
    }

    fn ask<R>(&self, ask: impl FnOnce(RunCalls<'_>) -> R) -> R {
        let at = |position| self.sizes.at(position / self.epoch);
        let sizes = match self.sizes.runs() {
            [(samples, _)] => StepSizes::Constant(*samples),
            _ => StepSizes::At(&at),
        };
        ask(RunCalls { sizes, workers: self.workers, rank: self.rank })
    }
}

/// Step, rank, sweep, chunk and number in it.
type DeliveryParts = (u64, u64, u64, u32, u32);

/// Rank, key, sweep, chunk, number in it, samples, file and bytes.
type SequenceParts = (u64, Py<PyAny>, u64, u32, u32, (u32, u32), Option<String>, Option<(u64, u64)>);

fn sequence_parts(py: Python<'_>, sequence: StepSequence) -> PyResult<SequenceParts> {
    let StepSequence { rank, key, sweep, planned, samples, location } = sequence;
    let key = match key {
        Key::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        Key::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
    };
    let (file, bytes) =
        location.map(|(file, bytes)| (file.display().to_string(), (bytes.start, bytes.end))).unzip();
    let samples = (samples.start, samples.end);
    Ok((rank, key, sweep, planned.chunk.0, planned.sequence, samples, file, bytes))
}

#[pymethods]
impl Source {
    /// Opens what a configuration describes. `shapes` gives samples of a stream another shape of as many values; `finds_keys`: keys are
    /// texts if a table's column of keys has texts.
    #[new]
    #[pyo3(signature = (config, shapes, base_dir=None, by_keywords=false, finds_keys=false))]
    fn new(
        py: Python<'_>,
        config: &Bound<'_, PyAny>,
        shapes: HashMap<String, Vec<usize>>,
        base_dir: Option<PathBuf>,
        by_keywords: bool,
        finds_keys: bool,
    ) -> PyResult<Source> {
        let raised = |e: Error| errors::raise_spelt(py, e, by_keywords);
        let owner = Owner::new();
        let tree = config::section_for(config, owner)?;
        let user_code = config::has_user_code(&tree);
        let mut config = tesson_config::lower(&tree, &config::registry()).map_err(|e| raised(e.into()))?;
        if let Some(dir) = base_dir {
            config.resolve_paths(&dir, &config::registry()).map_err(|e| raised(e.into()))?;
        }
        log::install(py)?;
        let canceller = Canceller::new();
        let span = log::source_span(config.trace_level, by_keywords);
        let default_sizes = config.minibatches.default_sizes();
        let (opened, signal) = attentive(py, |interrupted| {
            span.in_scope(|| open_attentively(config, finds_keys, &canceller, interrupted))
        })?;
        log::flush_source(py, &span);
        let Opened { source, has_text_keys } = match signal {
            Some(e) => return Err(e),
            None => opened.map_err(raised)?,
        };
        let streams = source.streams().to_vec();
        check_shapes(&shapes, &streams).map_err(|e| raised(e.into()))?;
        let shape = |stream: &Arc<StreamInfo>| match shapes.get(&stream.name) {
            Some(dims) => Some(dims.as_slice().into()),
            // Samples have the shape of their minibatch.
            None if stream.shape.is_empty() => None,
            None => Some(stream.shape.dims().into()),
        };
        let shapes = streams.iter().map(shape).collect();
        Ok(Source {
            canceller,
            counters: source.stats_reader(),
            turn: Turn::new(Box::new(source)),
            streams,
            shapes,
            default_sizes,
            span,
            by_keywords,
            has_text_keys,
            user_code,
            owner,
            process: ProcessGuard::here(),
        })
    }

    /// True if the keys of sequences are texts.
    fn has_text_keys(&self) -> bool {
        self.has_text_keys
    }

    /// All streams. Dimensions that each minibatch has for itself are -1.
    fn streams(&self) -> Vec<StreamParts<'_>> {
        let dims = |(stream, shape): (&StreamInfo, &SampleShape)| {
            let dims = shape.as_deref().unwrap_or(stream.shape.dims());
            dims.iter().map(|&n| if n == 0 { -1 } else { n as i64 }).collect()
        };
        self.streams
            .iter()
            .zip(&self.shapes)
            .map(|(s, shape)| {
                let (classes, unit) = (&*s.classes, s.unit.as_deref());
                (s.name.as_str(), dims((s, shape)), s.element.name(), s.sparse, classes, unit, s.any_length)
            })
            .collect()
    }

    /// Minibatches of one size, to the end of the data. Python lets signals in after a call, whose result is then lost, but not
    /// between the `next` of a `for` loop and the loop's variable.
    #[pyo3(signature = (samples, workers=None, rank=None))]
    fn minibatches(
        this: Py<Self>,
        samples: &Bound<'_, PyAny>,
        workers: Option<&Bound<'_, PyAny>>,
        rank: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batches> {
        Ok(Batches { demand: demand(samples, workers, rank)?, source: this })
    }

    /// Puts a minibatch back that its caller did not come to use, if it is the last one: the next call gives it again.
    fn put_back(&self, py: Python<'_>, batch: &Batch) -> PyResult<bool> {
        // Where another thread has the source, its minibatch follows this one. A closed source gives nothing again.
        released(py, || self.turn.try_with(|source| source.put_back(&batch.resume)).unwrap_or(false))
    }

    /// The state after the last minibatch delivered.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let read = |source: &tesson::Source| source.check_resumable().map(|()| source.state().clone());
        state::to_dict(py, &self.look(py, read)?)
    }

    /// Samples before the next minibatch, counted over all workers and sweeps.
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |source, _| Ok(source.state().cursor.position))
    }

    /// Sizes of minibatches in samples for calls that give none.
    fn default_sizes(&self) -> Schedule {
        Schedule(self.default_sizes.clone())
    }

    /// Resumes from a state.
    fn restore(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = state::from_dict(state)?;
        self.with(py, |source, interrupted| {
            restoring::indexing(source, |source| source.restore_interruptible(&state, interrupted))
        })
    }

    /// True once the corpus is indexed.
    fn is_indexed(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |source| Ok(source.is_indexed()))
    }

    /// Number of sequences in the corpus.
    fn num_sequences(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_index(py, |source| source.num_sequences())
    }

    /// Number of samples in one sweep.
    fn num_samples_per_sweep(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_index(py, |source| source.num_samples_per_sweep())
    }

    /// Number of minibatches that one worker gets of the first sweep.
    #[pyo3(signature = (samples, workers=None, rank=None))]
    fn steps_per_sweep(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        workers: Option<&Bound<'_, PyAny>>,
        rank: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let demand = demand(samples, workers, rank)?;
        self.with_index(py, |source| source.steps_per_sweep(demand))
    }

    /// Number of minibatches of every sweep of endless data; none if it is not one, or not known.
    #[pyo3(signature = (samples, workers=None, rank=None))]
    fn steps_of_every_sweep(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        workers: Option<&Bound<'_, PyAny>>,
        rank: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        let demand = demand(samples, workers, rank)?;
        self.with(py, |source, _| Ok(source.steps_of_every_sweep(demand)))
    }

    /// Number of minibatches to the end of the data, or of the sweep if they have none; none if it is not known.
    #[pyo3(signature = (samples, workers=None, rank=None))]
    fn steps_left(
        &self,
        py: Python<'_>,
        samples: &Bound<'_, PyAny>,
        workers: Option<&Bound<'_, PyAny>>,
        rank: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u64>> {
        let demand = demand(samples, workers, rank)?;
        self.with(py, |source, _| source.steps_left(demand))
    }

    /// Tells whether a sweep ends with a step, and its sequences.
    fn which(
        &self,
        py: Python<'_>,
        step: &Bound<'_, PyAny>,
        calls: Calls<'_>,
    ) -> PyResult<(bool, Vec<SequenceParts>)> {
        let step = errors::whole(step, "step")?;
        let run = Run::new(calls)?;
        let planned = self.with_index(py, |source| run.ask(|calls| source.which(step, calls)))?;
        let parts = planned.sequences.into_iter().map(|s| sequence_parts(py, s)).collect::<PyResult<_>>()?;
        Ok((planned.sweep_end, parts))
    }

    /// Step, rank, sweep, chunk and number of each delivery of a key in a sweep; by default the current one.
    fn where_is(
        &self,
        py: Python<'_>,
        key: &str,
        sweep: Option<&Bound<'_, PyAny>>,
        calls: Calls<'_>,
    ) -> PyResult<Vec<DeliveryParts>> {
        let sweep = sweep.map(|sweep| errors::whole(sweep, "sweep")).transpose()?;
        let run = Run::new(calls)?;
        let found = self.with_index(py, |source| {
            let sweep = sweep.unwrap_or(source.state().cursor.sweep);
            run.ask(|calls| source.where_is(key, sweep, calls))
        })?;
        Ok(found
            .into_iter()
            .map(|d| (d.step, d.rank, d.sweep, d.planned.chunk.0, d.planned.sequence))
            .collect())
    }

    /// Goes to where a step begins.
    fn skip_to(&self, py: Python<'_>, step: &Bound<'_, PyAny>, calls: Calls<'_>) -> PyResult<()> {
        let step = errors::whole(step, "step")?;
        let run = Run::new(calls)?;
        self.with_index(py, |source| {
            restoring::indexing(source, |source| run.ask(|calls| source.skip_to(step, calls)))
        })
    }

    /// Counters, by name.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.counters.read().entries() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Leaves out a minibatch that failed.
    fn skip_failed(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |source, _| {
            source.skip_failed();
            Ok(())
        })
    }

    /// Checks the number of workers, and warns if some of them get no data.
    fn check_share(
        &self,
        py: Python<'_>,
        workers: &Bound<'_, PyAny>,
        rank: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (workers, rank) =
            (errors::whole(workers, "num_data_partitions")?, errors::whole(rank, "partition_index")?);
        self.with(py, |source, _| source.check_share(Share { workers, rank }))
    }

    /// True if the data never end.
    fn is_endless(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |source, _| Ok(source.is_endless()))
    }

    /// True if minibatches hold segments of sequences.
    fn is_truncated(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |source, _| Ok(source.is_truncated()))
    }

    /// Ends all threads and closes all files. A read that waits in another thread ends with an error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check_caller(py)?;
        if self.process.is_forked() {
            return Ok(());
        }
        self.canceller.cancel();
        // A closing call should return soon: this wait is short, because the reader has just been called off.
        py.detach(|| match self.turn.remove(&mut || false) {
            // A user's code that does not return would keep its caller here, deaf to Ctrl-C.
            Ok(source) if self.user_code => {
                let _ = end_in_the_background(*source).recv_timeout(PATIENCE_WITH_USERS);
            }
            source => drop(source),
        });
        Ok(())
    }
}
