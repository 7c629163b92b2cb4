//! The order of a plan: which record of which file comes when, and what is known of the files.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tesson_core::{ConfigError, Error, ResumeError, UsageError};
use tesson_plan::{CountMismatch, Seeding, Span, Stream, StreamOp, StreamSpec, StreamState};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use crate::OnDamage;
use crate::lengths::{LengthMismatch, Lengths, ShardProbe};
use crate::loader::RecordId;
use crate::refusal::PreparedRefusal;
use crate::stretches::{Stretch, StretchEnd};

/// The order of a plan, as far ahead as it has been asked for.
pub(super) struct Order {
    pub(super) plan: Arc<Plan>,
    pub(super) on_damage: OnDamage,
    pub(super) stream: Stream,
    pub(super) lengths: Lengths,
    /// True if every file is read to its end, whatever the dataset declares (spec/tfds.md §8.2).
    to_the_end: bool,
    /// True if it takes records that are never read, or not yet: then files are checked before examples are given that
    /// depend on how many records they hold.
    checks: bool,
    /// Where the last state was saved with what buffers hold: the next one is not far from there.
    trail: Option<Stream>,
    /// How many examples long skips have passed so far.
    pub(super) passed: Arc<AtomicU64>,
}

/// Why an order does not lead to a place.
pub(super) enum SeekError {
    Count(CountMismatch),
    Record(Error, RecordId),
    Other(Error),
}

impl<E: Into<Error>> From<E> for SeekError {
    fn from(error: E) -> SeekError {
        SeekError::Other(error.into())
    }
}

/// A place of a traversal, of the present one if none is named.
#[derive(Clone, Copy)]
pub(super) struct SeekTarget {
    pub(super) traversal: Option<u64>,
    pub(super) place: u64,
    /// True if the example at the position is wanted, too.
    pub(super) with_next: bool,
}

impl Order {
    pub(super) fn new(plan: Arc<Plan>, on_damage: OnDamage) -> Result<Order, Error> {
        if on_damage == OnDamage::StopShard {
            can_stop(plan.spec())?;
        }
        let to_the_end = plan.files.iter().all(FileInstruction::reaches_the_end);
        let mut stream = stream(&plan, to_the_end, on_damage, &BTreeMap::new())?;
        let reads_all =
            |op: &StreamOp| matches!(op, StreamOp::Take(_) | StreamOp::Repeat(_) | StreamOp::Prefetch);
        let checks = !plan.spec().ops.iter().all(reads_all) && on_damage != OnDamage::Skip;
        stream.follow_passes(checks);
        let passed = Arc::default();
        stream.count_passed(Arc::clone(&passed));
        let lengths = Lengths::new(Arc::clone(&plan), on_damage, to_the_end);
        Ok(Order { plan, on_damage, stream, lengths, to_the_end, checks, trail: None, passed })
    }

    /// Says that not all of what the order takes is read here: others read their shares of it.
    pub(super) fn is_shared(&mut self) {
        self.checks = self.on_damage != OnDamage::Skip;
        self.stream.follow_passes(self.checks);
    }

    /// The next `n` numbers of the order, fewer at the end, or where files turn out to hold other numbers of records than
    /// was thought. Files are as long as the dataset says, or as is known.
    pub(super) fn stretch(&mut self, n: usize, probe: ShardProbe<'_>) -> Stretch {
        let over = self.stream.delivered();
        loop {
            let stretch = self.planned(n);
            // A count that is wrong may be so because a file that comes later is shorter than is thought.
            if !self.checks && !matches!(stretch.last, StretchEnd::Wrong(_)) {
                return stretch;
            }
            let Err(unexpected) = self.check(probe) else { return stretch };
            let shortened = self.shortened(over, stretch.numbers.len(), unexpected, probe);
            let shortened = shortened.unwrap_or_else(|error| {
                let at = RecordId { file: 0, record: 0 };
                Stretch::empty(over, StretchEnd::Failed(error, at))
            });
            if !shortened.numbers.is_empty() || !matches!(shortened.last, StretchEnd::More) {
                return shortened;
            }
        }
    }

    /// Compares the files with what the order has taken of them.
    fn check(&mut self, probe: ShardProbe<'_>) -> Result<(), LengthMismatch> {
        self.lengths.check(!self.checks, &mut self.stream, probe)
    }

    /// As much of a stretch as is right, after `over` examples, where all of its `planned` numbers and what follows
    /// them are not. The order continues there with what is known then.
    fn shortened(
        &mut self,
        over: u64,
        planned: usize,
        mut unexpected: LengthMismatch,
        probe: ShardProbe<'_>,
    ) -> Result<Stretch, Error> {
        self.lengths.forget_cuts();
        let base = self.at(over)?;
        let (mut right, mut wrong) = (0, planned + 1);
        while wrong - right > 1 {
            let middle = right + (wrong - right) / 2;
            self.stream = base.clone();
            self.planned(middle);
            match self.check(probe) {
                Ok(()) => right = middle,
                Err(other) => (wrong, unexpected) = (middle, other),
            }
        }
        self.lengths.forget_cuts();
        self.stream = base;
        let mut stretch = self.planned(right);
        match unexpected {
            LengthMismatch::Failed(error, at) => stretch.last = StretchEnd::Failed(error, at),
            LengthMismatch::Lengths(lengths) => {
                let after = over + right as u64;
                self.lengths.learn(lengths, Some(after));
                self.resume_at(after)?;
            }
        }
        Ok(stretch)
    }

    /// Passes of the files that had begun before this traversal.
    pub(super) fn pass(&self) -> u64 {
        self.stream.started().first().copied().unwrap_or(0)
    }

    /// The next `n` numbers of the order as it is thought to be.
    fn planned(&mut self, n: usize) -> Stretch {
        let mut stretch = Stretch::empty(self.stream.delivered(), StretchEnd::More);
        stretch.numbers.reserve(n.min(1 << 16));
        stretch.pass = self.pass();
        // Where damage is left out all places are kept, whatever a file has in the end.
        let probes_tail = self.to_the_end && self.on_damage != OnDamage::Skip && !self.checks;
        while stretch.numbers.len() < n {
            let run = match self.stream.next_run((n - stretch.numbers.len()) as u64) {
                Ok(Some(run)) => run,
                Ok(None) => {
                    stretch.last = StretchEnd::End;
                    break;
                }
                Err(mismatch) => {
                    stretch.last = StretchEnd::Wrong(mismatch);
                    break;
                }
            };
            stretch.numbers.extend(run.first..run.first + run.len);
            // A run lies in one file.
            let id = RecordId::of(run.first + run.len - 1);
            let is_last = id.record + 1 == self.lengths.of(id.file);
            // A file that was ended where it is damaged continues after that.
            let is_stopped =
                self.on_damage == OnDamage::StopShard && self.lengths.known.contains_key(&id.file);
            if probes_tail && is_last && !is_stopped {
                stretch.ends.push((stretch.numbers.len(), id));
            }
        }
        stretch
    }

    /// Goes to a place of this traversal, with what is known of the files now.
    pub(super) fn resume_at(&mut self, delivered: u64) -> Result<(), Error> {
        self.stream = self.at(delivered)?;
        self.trail = None;
        Ok(())
    }

    /// The order at a place of this traversal, with what is known of the files now.
    fn at(&self, delivered: u64) -> Result<Stream, Error> {
        let begun = StreamState { started: self.stream.started().to_vec(), delivered: 0, ended: false };
        let mut stream = self.with(&self.lengths.known)?;
        stream.restore(&begun)?;
        stream.follow_passes(self.checks);
        // It may end before that place, or fail: a buffer takes in the end of a file before any of it is drawn, and only then is
        // it known. The next call of the stream returns that.
        let _ = stream.skip(delivered);
        Ok(stream)
    }

    /// The order at its beginning, where files have these lengths.
    pub(super) fn with(&self, lengths: &BTreeMap<usize, u64>) -> Result<Stream, Error> {
        let mut stream = stream(&self.plan, self.to_the_end, self.on_damage, lengths)?;
        stream.count_passed(Arc::clone(&self.passed));
        Ok(stream)
    }

    /// Takes the place of one that was made with these lengths.
    pub(super) fn adopt_stream(&mut self, lengths: BTreeMap<usize, u64>, stream: Stream) {
        // Who has saved what buffers hold will do so again.
        self.trail = self.trail.take().map(|_| stream.clone());
        self.stream = stream;
        self.lengths.restore(lengths);
        self.trust();
    }

    /// Goes to where a state was taken, which says that files hold what the order takes of them until there.
    pub(super) fn restore(
        &mut self,
        from: &StreamState,
        state: &StreamState,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        self.stream.follow_passes(false);
        let gone = self.stream.restore_with(state, &[], interrupted);
        self.stream.follow_passes(self.checks);
        gone?;
        if self.lengths.leave(from) {
            let stream = self.with(&self.lengths.known);
            let mut stream = stream.expect("the same order was made before");
            stream.restore_with(state, &[], interrupted)?;
            self.stream = stream;
        }
        self.trust();
        Ok(())
    }

    fn trust(&mut self) {
        self.lengths.trust(&mut self.stream);
        self.stream.follow_passes(self.checks);
    }

    /// Begins the next traversal, where the reader stands at this place of the present one.
    pub(super) fn begin(&mut self, from: &StreamState) -> Result<(), Error> {
        if self.lengths.leave(from) {
            self.resume_at(from.delivered)?;
        }
        self.stream.begin();
        self.stream.forget_taken();
        Ok(())
    }

    /// Begins the traversal before which shuffles have begun these numbers of passes.
    pub(super) fn begin_after(&mut self, from: &StreamState, passes: &[u64]) -> Result<(), UsageError> {
        if self.lengths.leave(from) {
            let stream = self.with(&self.lengths.known);
            self.stream = stream.expect("the same order was made before");
            self.stream.follow_passes(self.checks);
        }
        self.stream.begin_after(passes)?;
        self.stream.forget_taken();
        Ok(())
    }

    /// Goes to a place that it has not been at; files that the order takes records of on the way are looked into.
    ///
    /// # Errors
    /// A place that does not exist, and why; the order stays where it was.
    pub(super) fn seek(
        &mut self,
        goal: SeekTarget,
        probe: ShardProbe<'_>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), SeekError> {
        self.stream = self.find(goal, probe, interrupted)?.0;
        self.stream.follow_passes(self.checks);
        self.trail = None;
        Ok(())
    }

    /// The order at a place that it has not been at, and the number there, if it is wanted and there is one.
    pub(super) fn find(
        &mut self,
        goal: SeekTarget,
        probe: ShardProbe<'_>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(Stream, Option<u64>), SeekError> {
        let checks = self.on_damage != OnDamage::Skip;
        let mut is_counted = !checks;
        let is_interrupted = Cell::new(false);
        let interrupted = &mut || {
            is_interrupted.set(interrupted());
            is_interrupted.get()
        };
        loop {
            let mut stream = self.with(&self.lengths.known)?;
            stream.follow_passes(checks);
            let started = match goal.traversal {
                None => self.stream.started().to_vec(),
                Some(n) if !stream.begin_traversal_with(n, interrupted)? => {
                    return Err(interrupted_at(n).into());
                }
                Some(_) => stream.started().to_vec(),
            };
            let state = StreamState { started, delivered: goal.place, ended: false };
            let gone = stream.restore_with(&state, &[], interrupted);
            if is_interrupted.get() {
                return Ok((stream, gone.map(|()| None)?));
            }
            let next = if gone.is_ok() && goal.with_next { stream.next() } else { Ok(None) };
            let unexpected = if checks {
                // A reader that resumes there does not see the end of a file whose last record is before it.
                self.lengths.check(!self.checks, &mut stream, probe).err()
            } else {
                None
            };
            match (unexpected, gone, next) {
                (Some(LengthMismatch::Lengths(lengths)), ..) => self.lengths.learn(lengths, None),
                (Some(LengthMismatch::Failed(error, at)), ..) => return Err(SeekError::Record(error, at)),
                (None, Ok(()), Ok(number)) => return Ok((stream, number)),
                (None, ..) if !is_counted => {
                    // What is said of all files decides, those among them that the order has not come to.
                    is_counted = true;
                    self.lengths.count_all(probe)?;
                }
                (None, _, Err(mismatch)) => return Err(SeekError::Count(mismatch)),
                (None, Err(error), _) => {
                    return Err(self.mismatch()?.map_or_else(|| error.into(), SeekError::Count));
                }
            }
        }
    }

    /// That the files do not hold what is counted, as far as they are known.
    fn mismatch(&self) -> Result<Option<CountMismatch>, Error> {
        let mut stream = self.with(&self.lengths.known)?;
        let total: u64 = self.plan.files.iter().map(|file| file.take).sum();
        Ok(stream.skip(total.saturating_add(1)).err())
    }

    /// Examples of a traversal, if it has an end: as many as the dataset says where that is checked, else as many as the
    /// files hold.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub(super) fn counted_len(&mut self, probe: ShardProbe<'_>) -> Result<Option<u64>, Error> {
        let is_checked = self.plan.spec().expected.is_some() && self.on_damage == OnDamage::Fail;
        let said = self.plan.stream()?.len();
        if is_checked || said.is_none() || self.on_damage == OnDamage::Skip {
            return Ok(said);
        }
        self.lengths.count_all(probe)?;
        Ok(self.with(&self.lengths.known)?.len())
    }

    /// The content of the buffers at a position that has been reached, drawn from the last position that was asked for.
    pub(super) fn buffers_at(&mut self, state: &StreamState) -> Result<Vec<u8>, Error> {
        let leads_there = |trail: &Stream| {
            !trail.has_ended() && trail.started() == state.started && trail.delivered() <= state.delivered
        };
        let mut trail = match self.trail.take().filter(leads_there) {
            Some(trail) => trail,
            None => {
                let mut beginning = self.with(&self.lengths.known)?;
                beginning.restore(&StreamState {
                    started: state.started.clone(),
                    delivered: 0,
                    ended: false,
                })?;
                beginning
            }
        };
        // It has been gone past already, so a count is right so far.
        let _ = trail.skip(state.delivered - trail.delivered());
        Ok(self.trail.insert(trail).buffers())
    }

    /// Goes to a place where the reader has been, if it stands elsewhere.
    pub(super) fn return_to(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        if self.stream.state() == *state {
            return Ok(());
        }
        self.stream.follow_passes(false);
        let gone = self.stream.restore(state);
        self.stream.follow_passes(self.checks);
        gone
    }
}

fn interrupted_at(traversal: u64) -> ResumeError {
    ResumeError::new("the way to the traversal", traversal, "interrupted on it")
}

/// True if a file may end where it is damaged. Not below a shuffle of examples: it has taken what lies after the damage
/// before that is found.
fn can_stop(spec: &StreamSpec) -> Result<(), ConfigError> {
    if spec.ops.iter().any(|op| matches!(op, StreamOp::Shuffle { .. })) {
        Err(ConfigError::refused("on_damage", &PreparedRefusal::StopBelowShuffle))
    } else {
        Ok(())
    }
}

/// The order of a stream in words that stay as they are: states hold them.
pub(super) fn order_text(spec: &StreamSpec) -> String {
    let seeds = |of: &Seeding| {
        let once = if of.reshuffle { "" } else { ", once" };
        format!("shuffle({}, {}{once})", of.pair.0, of.pair.1)
    };
    let op = |op: &StreamOp| match op {
        StreamOp::Shuffle { buffer, seeding } => format!(" {} of {buffer}", seeds(seeding)),
        StreamOp::Repeat(n) => format!(" repeat {n}"),
        StreamOp::Skip(n) => format!(" skip {n}"),
        StreamOp::Take(n) => format!(" take {n}"),
        StreamOp::Shard { count, index } => format!(" shard {index} of {count}"),
        // Where it stands nothing changes but what a repeat on it begins at its end, which no state of a traversal shows.
        StreamOp::Prefetch => String::new(),
    };
    let files = spec.shuffle_files.as_ref().map_or("in order".to_owned(), seeds);
    let repeat = if spec.repeat_files { " repeated" } else { "" };
    let ops: String = spec.ops.iter().map(op).collect();
    format!("files {files}{repeat}, cycle {} block {}{ops}", spec.cycle, spec.block)
}

/// The order of a plan, in numbers that say which file of the plan and which record of it, where files have these lengths.
fn stream(
    plan: &Plan,
    to_the_end: bool,
    on_damage: OnDamage,
    lengths: &BTreeMap<usize, u64>,
) -> Result<Stream, Error> {
    let span = |file: &usize| {
        let of = &plan.files[*file];
        let left = lengths.get(file).map_or(of.examples_in_shard, |n| *n).saturating_sub(of.skip);
        let len = if to_the_end { left } else { left.min(of.take) };
        Span { first: RecordId { file: *file, record: of.skip }.number(), len }
    };
    let expected = plan.spec().expected.filter(|_| on_damage == OnDamage::Fail);
    let spec = StreamSpec { files: plan.own.iter().map(span).collect(), expected, ..plan.spec().clone() };
    Ok(Stream::new(spec).map_err(|error| ConfigError::refused("ops", &error))?)
}
