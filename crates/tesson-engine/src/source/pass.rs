//! One pass over everything, in order, without minibatches: whoever makes something of all data is given them as they are
//! decoded, on the threads that decode, and gets what was made back in order.
//!
//! What comes is what minibatches would hold: the same sequences, the same faults charged, the same errors.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tesson_core::{ByteRun, Chunk, DecodeRoom, Error, ResourceId, Scratch, StreamingDecoder, UsageError};
use tesson_plan::{Cursor, Limit};

use super::Source;
use super::budget::Budget;
use crate::deliver::{decode_room, piece_room};
use crate::fault;
use crate::fetch::Resources;
use crate::pack;
use crate::stats::Counters;

/// So many times smaller pieces are cut where decoding makes too much of them.
const SMALLER: u64 = 8;

/// A piece in memory, its columns, and what is made of them take about so many times the piece's bytes.
const COPIES: u64 = 4;

impl Source {
    /// Whether all that minibatches would hold are the sequences of the corpus, once, as they are stored, and none has been
    /// asked for yet: then there is [`Source::pass`].
    pub fn is_one_pass(&self) -> bool {
        self.may_grow()
            && self.transforms.is_empty()
            && self.plan.limit == Limit::Sweeps(1)
            && !self.plan.ending.drop_last
            // A share is one of what minibatches have passed.
            && self.fault_share == 0.0
            && self.joint.is_none()
            && self.demand.is_none()
            && self.state.cursor == Cursor::default()
            && !self.ended
            && self.failed.is_none()
    }

    /// Decodes the whole corpus side by side; `make` makes something of each part on the thread that decodes it, sequences
    /// that are [left out](Chunk::left_out) included, and `take` is given it on this one, in order. The source is at its
    /// end then.
    ///
    /// Where parts begin and end depends on threads and memory. A part with a fault beyond the budget is not given.
    ///
    /// # Errors
    /// As [`Source::next`]; a source that is not [of one pass](Source::is_one_pass); and what `take` answers.
    ///
    /// # Panics
    /// If `make` does.
    pub fn pass<T: Send, E: From<Error>>(
        &mut self,
        make: impl Fn(&Chunk) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_process()?;
        let deserializer = self.parts.primary().clone();
        let Some(pieces) = deserializer.streaming().filter(|_| self.is_one_pass()) else {
            return Err(Error::from(UsageError(
                "only data that are read once, as stored and from the beginning, are gone through in one pass".into(),
            ))
            .into());
        };
        let budget = Budget::of(self.memory_limit, self.threads);
        let (resources, counters) = (self.resources.clone(), self.counters.clone());
        let mut belt = Belt {
            pieces,
            resources: &resources,
            counters: &counters,
            room: decode_room(usize::try_from(self.memory_limit).unwrap_or(usize::MAX)),
            least_room: budget.piece_bytes,
            piece_bytes: budget.piece_bytes,
            most_bytes: budget.blocks / COPIES,
            most_ahead: 2 + 2 * self.threads as u64,
            state: Mutex::new(State::after(None)),
            may_cut: Condvar::new(),
            next: Condvar::new(),
        };
        let mut lines = Lines::default();
        while let Some(after) = self.pass_on(&belt, &mut lines, &make, &mut take)? {
            belt.piece_bytes = (belt.piece_bytes / SMALLER).max(1);
            belt.state = Mutex::new(State::after(after));
        }
        self.ended = true;
        Ok(())
    }

    /// Goes through what is on a belt, up to its end, or to a piece that decoding makes too large: then to what lies before
    /// that, and returns the piece after which it was cut.
    fn pass_on<T: Send, E: From<Error>>(
        &mut self,
        belt: &Belt<'_, T>,
        lines: &mut Lines,
        make: &(impl Fn(&Chunk) -> T + Sync),
        take: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<Option<Option<ByteRun>>, E> {
        std::thread::scope(|scope| {
            for number in 0..self.threads {
                let worker = std::thread::Builder::new().name(format!("tesson-{number}"));
                worker.spawn_scoped(scope, || belt.work(make)).expect("the system gives another thread");
            }
            // However this ends, so do the workers.
            let _end = End(belt);
            while let Some(outcome) = belt.take() {
                let made = match outcome {
                    Outcome::Made(made) => made,
                    Outcome::TooLarge { after } => return Ok(Some(after)),
                    Outcome::Failed(Error::Cancelled) => return Err(Error::Cancelled.into()),
                    Outcome::Failed(e) => return Err(self.failed.insert(lines.down(e)).clone().into()),
                };
                self.pass_by(&made, lines.base(made.piece.resource))?;
                lines.pass(made.n_lines);
                take(made.made)?;
            }
            Ok(None)
        })
    }

    /// Charges the faults of a part, and counts what is in it.
    fn pass_by<T>(&mut self, made: &Made<T>, line_base: u64) -> Result<(), Error> {
        if let Some(chunk) = &made.faulty {
            let source = pack::Source { chunk, rows: None, line_base };
            let mut charges = Vec::new();
            for sequence in 0..chunk.n_sequences {
                fault::charge(sequence, &source, false, &self.stored, &self.resources, &mut charges);
            }
            self.state.faults = self.charge(&charges, 0, self.state.faults)?;
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

/// What was made of a piece.
struct Made<T> {
    made: T,
    piece: ByteRun,
    n_lines: u64,
    n_sequences: u64,
    n_samples: u64,
    /// What is known of its sequences beside their columns, if something is wrong with one.
    faulty: Option<Chunk>,
}

enum Outcome<T> {
    Made(Made<T>),
    Failed(Error),
    /// Missing values are filled with more zeros than there is memory for: it has to be cut smaller.
    TooLarge {
        after: Option<ByteRun>,
    },
}

/// Pieces on their way through the workers, back into their order.
struct Belt<'a, T> {
    pieces: &'a dyn StreamingDecoder,
    resources: &'a Resources,
    counters: &'a Counters,
    /// What may be decoded of one sequence.
    room: DecodeRoom,
    /// Bytes of a piece that has [room](piece_room) for what is decoded of it at least.
    least_room: u64,
    /// Bytes that a piece should have.
    piece_bytes: u64,
    /// Bytes of pieces that may be under way or wait, and how many of them.
    most_bytes: u64,
    most_ahead: u64,
    state: Mutex<State<T>>,
    /// There may be something to cut.
    may_cut: Condvar,
    /// What is to be taken next may be there.
    next: Condvar,
}

struct State<T> {
    /// Where cutting goes on; `None` while somebody cuts.
    cutter: Option<Option<ByteRun>>,
    /// Number of pieces cut, and of pieces taken.
    cut: u64,
    taken: u64,
    /// Bytes of the pieces in between.
    bytes: u64,
    /// What has become of them so far.
    outcomes: BTreeMap<u64, Outcome<T>>,
    /// Nothing is cut any more.
    ended: bool,
    /// A worker has panicked: what it was to make will never come.
    broken: bool,
}

impl<T> State<T> {
    fn after(piece: Option<ByteRun>) -> State<T> {
        State {
            cutter: Some(piece),
            cut: 0,
            taken: 0,
            bytes: 0,
            outcomes: BTreeMap::new(),
            ended: false,
            broken: false,
        }
    }
}

impl<T: Send> Belt<'_, T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life.
    fn work(&self, make: &(impl Fn(&Chunk) -> T + Sync)) {
        let _end = End(self);
        let mut scratch = Scratch { room: self.room, ..Scratch::default() };
        let (mut bytes, mut chunk) = (Vec::new(), Chunk::empty());
        while let Some(after) = self.start_cut() {
            let cut = self.pieces.cut(after, self.piece_bytes, self.resources, &mut bytes);
            let Some((number, piece)) = self.end_cut(cut) else { return };
            let read = self.resources.read_run(self.pieces, piece, &mut bytes);
            scratch.room.all = piece_room(piece.bytes.max(self.least_room)).max(self.room.sequence);
            let decoded = read
                .and_then(|()| self.pieces.decode(piece, &bytes, self.resources, &mut scratch, &mut chunk));
            self.counters.note_warnings(&mut scratch);
            self.counters.blocks_loaded.fetch_add(1, Ordering::Relaxed);
            let outcome = match decoded {
                Err(_) if std::mem::take(&mut scratch.outgrown) => Outcome::TooLarge { after },
                Err(e) => Outcome::Failed(e),
                Ok(()) => Outcome::Made(Made {
                    made: make(&chunk),
                    piece,
                    n_lines: chunk.n_lines,
                    n_sequences: u64::from(chunk.n_sequences) - chunk.left_out.len() as u64,
                    n_samples: chunk.lengths.iter().map(|&n| u64::from(n)).sum(),
                    faulty: (!chunk.faults.is_empty() || !chunk.damaged.is_empty())
                        .then(|| chunk.without_columns()),
                }),
            };
            self.put(number, outcome);
        }
    }

    /// Takes the right to cut, when there is room for another piece; `None` when there is nothing left to be cut.
    fn start_cut(&self) -> Option<Option<ByteRun>> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let ahead = state.cut - state.taken;
            let fits = ahead < self.most_ahead && state.bytes + self.piece_bytes <= self.most_bytes;
            if (fits || ahead == 0)
                && let Some(after) = state.cutter.take()
            {
                return Some(after);
            }
            state = self.may_cut.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the right to cut back with what was cut, and a number to that; an end, and an error, end cutting.
    fn end_cut(&self, cut: Result<Option<ByteRun>, Error>) -> Option<(u64, ByteRun)> {
        let mut state = self.lock();
        let number = state.cut;
        match cut {
            Ok(Some(piece)) => {
                state.cutter = Some(Some(piece));
                state.cut += 1;
                state.bytes += piece.bytes;
                self.may_cut.notify_one();
                return Some((number, piece));
            }
            Ok(None) => {}
            Err(e) => {
                state.cut += 1;
                state.outcomes.insert(number, Outcome::Failed(e));
            }
        }
        self.end(&mut state);
        None
    }

    fn put(&self, number: u64, outcome: Outcome<T>) {
        let mut state = self.lock();
        state.outcomes.insert(number, outcome);
        if number == state.taken {
            self.next.notify_one();
        }
    }

    /// What has become of the next piece; `None` behind the last, and where a worker has panicked.
    fn take(&self) -> Option<Outcome<T>> {
        let mut state = self.lock();
        loop {
            let number = state.taken;
            if let Some(outcome) = state.outcomes.remove(&number) {
                state.taken += 1;
                state.bytes -= if let Outcome::Made(made) = &outcome { made.piece.bytes } else { 0 };
                self.may_cut.notify_one();
                return Some(outcome);
            }
            if state.broken || (state.ended && state.taken == state.cut) {
                return None;
            }
            state = self.next.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, state: &mut State<T>) {
        state.ended = true;
        self.may_cut.notify_all();
        self.next.notify_all();
    }
}

/// Ends a belt when whoever works on it ends, even by a panic, so that nobody waits for what will never come.
struct End<'a, 'b, T: Send>(&'a Belt<'b, T>);

impl<T: Send> Drop for End<'_, '_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.broken |= std::thread::panicking();
        self.0.end(&mut state);
    }
}
