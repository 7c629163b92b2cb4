//! One pass over everything, in order, without minibatches: a caller that makes something of all data gets them as they are
//! decoded, on the threads that decode, and gets what was made back in order.
//!
//! A pass gives what minibatches would hold: equal sequences, the faults charged alike, and equal errors.

use std::sync::atomic::Ordering;

use tesson_core::{ByteRun, Chunk, DecodeRoom, Error, ResourceId, Scratch, StreamingDecoder};
use tesson_plan::Limit;
use tracing::Span;

use super::Source;
use crate::executor::{OrderedJobs, no_thread};
use crate::fault;
use crate::fetch::Resources;
use crate::memory_budget::{Budget, decode_room, run_room};
use crate::pack;
use crate::refusal::EngineRefusal;
use crate::stats::Counters;

/// So many times smaller byte runs are cut where decoding makes too much of them.
const SMALLER: u64 = 8;

/// A byte run in memory, its columns, and what is made of them take about so many times the byte run's bytes.
const COPIES: u64 = 4;

impl Source {
    /// True if minibatches would hold the sequences of the corpus once, as they are stored, and none has been asked for
    /// yet: then [`Source::pass`] can be used.
    pub fn is_one_pass(&self) -> bool {
        self.may_grow()
            && self.streams.transforms.is_empty()
            && self.plan.limit == Limit::Sweeps(1)
            && !self.plan.ending.drop_last
            // A share is one of what minibatches have passed.
            && self.faults.share == 0.0
            && self.corpus.joint.is_none()
            && self.position.is_untouched()
    }

    /// Decodes the whole corpus side by side; `make` makes something of each part on the thread that decodes it, sequences
    /// that are [left out](Chunk::left_out) included, and `take` is given it on this one, in order. The source is at its
    /// end then.
    ///
    /// Where parts begin and end depends on threads and memory. A part with a fault beyond the budget is not given.
    ///
    /// # Errors
    /// Those of [`Source::next`]; a source that is not [of one pass](Source::is_one_pass); and what `take` answers.
    ///
    /// # Panics
    /// If `make` does.
    pub fn pass<T: Send, E: From<Error>>(
        &mut self,
        make: impl Fn(&Chunk) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_process()?;
        let deserializer = self.corpus.parts.primary().clone();
        let Some(decoder) = deserializer.streaming().filter(|_| self.is_one_pass()) else {
            return Err(Error::from(EngineRefusal::NotOnePass).into());
        };
        let budget = Budget::of(self.runtime.memory_limit, self.runtime.threads);
        let decoding = Decoding {
            decoder,
            resources: &self.resources.clone(),
            counters: &self.counters.clone(),
            room: decode_room(usize::try_from(self.runtime.memory_limit).unwrap_or(usize::MAX)),
            least_bytes: budget.run_bytes,
        };
        let most_ahead = 2 + 2 * self.runtime.threads;
        let most_bytes = budget.blocks / COPIES;
        let (jobs, span) = (OrderedJobs::default(), Span::current());
        std::thread::scope(|scope| {
            // However this ends, so do the workers.
            let _end = Close(&jobs);
            for number in 0..self.runtime.threads {
                let worker = std::thread::Builder::new().name(format!("tesson-{number}"));
                match worker.spawn_scoped(scope, || span.in_scope(|| decoding.serve(&jobs, &make))) {
                    Ok(_) => {}
                    // Those that there are do the work.
                    Err(_) if number > 0 => break,
                    Err(e) => return Err(Error::from(no_thread(&e)).into()),
                }
            }
            let mut cutter = Cutter::new(decoder, budget.run_bytes);
            let mut lines = Lines::default();
            loop {
                while jobs.under_way() < most_ahead
                    && (jobs.under_way() == 0 || cutter.bytes_ahead + cutter.run_bytes <= most_bytes)
                    && let Some(job) = cutter.next(decoding.resources)
                {
                    jobs.give(job);
                }
                if jobs.under_way() == 0 {
                    self.position.end();
                    return Ok(());
                }
                let made = match jobs.take() {
                    Outcome::Made(made) => made,
                    Outcome::TooLarge { after } => {
                        jobs.discard();
                        cutter.cut_smaller(after);
                        continue;
                    }
                    Outcome::Failed(Error::Cancelled) => return Err(Error::Cancelled.into()),
                    Outcome::Failed(e) => return Err(self.position.fail(lines.down(e)).into()),
                };
                cutter.bytes_ahead -= made.run.bytes;
                self.pass_by(&made, lines.base(made.run.resource))?;
                lines.pass(made.n_lines);
                take(made.made)?;
            }
        })
    }

    /// Charges the faults of a part, and counts what is in it.
    fn pass_by<T>(&mut self, made: &Made<T>, line_base: u64) -> Result<(), Error> {
        if let Some(chunk) = &made.faulty {
            let source = pack::Source::of(chunk, line_base);
            let mut charges = Vec::new();
            for sequence in 0..chunk.n_sequences {
                fault::charge(sequence, &source, false, &self.streams.stored, &self.resources, &mut charges);
            }
            let faults = self.charge(&charges, 0, self.position.faults())?;
            self.position.set_faults(faults);
        }
        self.counters.sequences.fetch_add(made.n_sequences, Ordering::Relaxed);
        self.counters.samples.fetch_add(made.n_samples, Ordering::Relaxed);
        Ok(())
    }
}

/// Lines passed in the present resource; each has lines of its own.
#[derive(Default)]
struct Lines {
    resource: Option<ResourceId>,
    passed: u64,
}

impl Lines {
    /// The line that a part of this resource begins at.
    fn base(&mut self, resource: ResourceId) -> u64 {
        if self.resource.replace(resource) != Some(resource) {
            self.passed = 0;
        }
        self.passed
    }

    fn pass(&mut self, n: u64) {
        self.passed += n;
    }

    /// An error of the part that is next, which did not know the line it begins at.
    fn down(&self, e: Error) -> Error {
        match e {
            Error::Data(e) => Error::Data(e.lines_down(self.passed)),
            other => other,
        }
    }
}

/// The result for one byte run.
struct Made<T> {
    made: T,
    run: ByteRun,
    n_lines: u64,
    n_sequences: u64,
    n_samples: u64,
    /// The data about its sequences beside their columns, if something is wrong with one.
    faulty: Option<Box<Chunk>>,
}

enum Outcome<T> {
    Made(Made<T>),
    Failed(Error),
    /// Missing values are filled with more zeros than there is memory for: it has to be cut smaller.
    TooLarge {
        after: Option<ByteRun>,
    },
}

/// A byte run to be decoded and the one before it, or why none can be cut there.
struct Job {
    run: Result<ByteRun, Error>,
    after: Option<ByteRun>,
}

/// Cuts byte runs one after the other.
struct Cutter<'a> {
    decoder: &'a dyn StreamingDecoder,
    /// The byte run that was cut last; `None` at the end.
    last: Option<Option<ByteRun>>,
    /// Bytes that a byte run should have.
    run_bytes: u64,
    /// Bytes of the byte runs that have been cut and not taken back.
    bytes_ahead: u64,
    scratch: Vec<u8>,
}

impl<'a> Cutter<'a> {
    fn new(decoder: &'a dyn StreamingDecoder, run_bytes: u64) -> Cutter<'a> {
        Cutter { decoder, last: Some(None), run_bytes, bytes_ahead: 0, scratch: Vec::new() }
    }

    /// The next byte run; `None` after the last one, and after an error.
    fn next(&mut self, resources: &Resources) -> Option<Job> {
        let after = self.last.take()?;
        let run = self.decoder.cut(after, self.run_bytes, resources, &mut self.scratch).transpose()?;
        if let Ok(run) = &run {
            self.last = Some(Some(*run));
            self.bytes_ahead += run.bytes;
        }
        Some(Job { run, after })
    }

    /// Goes back to this byte run, and cuts smaller ones from there on.
    fn cut_smaller(&mut self, after: Option<ByteRun>) {
        self.last = Some(after);
        self.run_bytes = (self.run_bytes / SMALLER).max(1);
        self.bytes_ahead = 0;
    }
}

/// The inputs for decoding a byte run.
struct Decoding<'a> {
    decoder: &'a dyn StreamingDecoder,
    resources: &'a Resources,
    counters: &'a Counters,
    /// The memory for decoding one sequence.
    room: DecodeRoom,
    /// Bytes of a byte run that has [room](run_room) for what is decoded of it at least.
    least_bytes: u64,
}

impl Decoding<'_> {
    /// Decodes byte runs, and makes something of each.
    fn serve<T>(&self, jobs: &OrderedJobs<Job, Outcome<T>>, make: &impl Fn(&Chunk) -> T) {
        let mut scratch = Scratch { room: self.room, ..Scratch::default() };
        let (mut bytes, mut chunk) = (Vec::new(), Chunk::empty());
        let run = |Job { run, after }: Job| {
            let run = match run {
                Ok(run) => run,
                Err(e) => return Outcome::Failed(e),
            };
            let read = self.resources.read_run(self.decoder, run, &mut bytes);
            scratch.room.all = run_room(run.bytes.max(self.least_bytes)).max(self.room.sequence);
            let decoded = read
                .and_then(|()| self.decoder.decode(run, &bytes, self.resources, &mut scratch, &mut chunk));
            self.counters.note_warnings(&mut scratch);
            self.counters.blocks_loaded.fetch_add(1, Ordering::Relaxed);
            match decoded {
                Err(_) if std::mem::take(&mut scratch.outgrown) => Outcome::TooLarge { after },
                Err(e) => Outcome::Failed(e),
                Ok(()) => Outcome::Made(Made {
                    made: make(&chunk),
                    run,
                    n_lines: chunk.n_lines,
                    n_sequences: u64::from(chunk.n_sequences) - chunk.left_out.len() as u64,
                    n_samples: chunk.lengths.iter().map(|&n| u64::from(n)).sum(),
                    faulty: (!chunk.faults.is_empty() || !chunk.damaged.is_empty())
                        .then(|| Box::new(chunk.without_columns())),
                }),
            }
        };
        jobs.serve(|| (), run);
    }
}

/// Ends the workers when the thread that takes their results ends, even by a panic.
struct Close<'a, T>(&'a OrderedJobs<Job, Outcome<T>>);

impl<T> Drop for Close<'_, T> {
    fn drop(&mut self) {
        self.0.close();
    }
}
