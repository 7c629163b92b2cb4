//! The order of a plan: which record of which file comes when, and what is known of the files.

use std::collections::BTreeMap;

use tesson_core::{ConfigError, Error, ResumeError};
use tesson_plan::{Seeding, Span, Stream, StreamOp, StreamSpec, StreamState};
use tesson_tfds::reading::Plan;
use tesson_tfds::split::FileInstruction;

use super::OnDamage;
use super::ahead::{Last, Stretch};
use super::loader::RecordId;

/// The order of a plan, as far ahead as it has been asked for.
pub(super) struct Order {
    pub(super) plan: Plan,
    pub(super) on_damage: OnDamage,
    pub(super) stream: Stream,
    /// How many records files hold, where that has been seen: it may be another number than the dataset says.
    pub(super) lengths: BTreeMap<usize, u64>,
    /// Whether every file is read to its end, whatever the dataset says that it holds (§8.2).
    to_the_end: bool,
    /// Where the last state was saved with what buffers hold: the next one is not far from there.
    trail: Option<Stream>,
}

impl Order {
    pub(super) fn new(plan: Plan, on_damage: OnDamage) -> Result<Order, Error> {
        if on_damage == OnDamage::StopShard {
            can_stop(plan.spec())?;
        }
        let lengths = BTreeMap::new();
        let to_the_end = plan.files.iter().all(FileInstruction::reaches_the_end);
        let stream = stream(&plan, to_the_end, on_damage, &lengths)?;
        Ok(Order { plan, on_damage, stream, lengths, to_the_end, trail: None })
    }

    /// The next `n` numbers of the order, fewer at the end. Files are as long as the dataset says, or as is known.
    pub(super) fn stretch(&mut self, n: usize) -> Stretch {
        let room = n.min(1 << 16);
        let (numbers, over) = (Vec::with_capacity(room), self.stream.delivered());
        let mut stretch = Stretch { numbers, over, ends: Vec::new(), last: Last::More };
        while stretch.numbers.len() < n {
            let run = match self.stream.next_run((n - stretch.numbers.len()) as u64) {
                Ok(Some(run)) => run,
                Ok(None) => {
                    stretch.last = Last::End;
                    break;
                }
                Err(mismatch) => {
                    stretch.last = Last::Wrong(mismatch);
                    break;
                }
            };
            stretch.numbers.extend(run.first..run.first + run.len);
            // A run lies in one file.
            let id = RecordId::of(run.first + run.len - 1);
            let is_last = id.record + 1 == self.plan.files[id.file].examples_in_shard;
            // Where damage is left out all places are kept, whatever a file has in the end.
            let looks_behind = self.to_the_end && self.on_damage != OnDamage::Skip;
            if looks_behind && is_last && !self.lengths.contains_key(&id.file) {
                stretch.ends.push((stretch.numbers.len(), id));
            }
        }
        stretch
    }

    /// Goes to a place of this traversal, with what is known of the files now.
    pub(super) fn go_on(&mut self, delivered: u64) -> Result<(), Error> {
        let begun = StreamState { started: self.stream.started().to_vec(), delivered: 0, ended: false };
        self.stream = self.with(&self.lengths)?;
        self.trail = None;
        self.stream.restore(&begun)?;
        // It may end before that place, or fail: a buffer takes in the end of a file before any of it is drawn, and only then is
        // it known. The stream says so to whoever asks for more.
        let _ = self.stream.skip(delivered);
        Ok(())
    }

    /// The order at its beginning, where files have these lengths.
    pub(super) fn with(&self, lengths: &BTreeMap<usize, u64>) -> Result<Stream, Error> {
        stream(&self.plan, self.to_the_end, self.on_damage, lengths)
    }

    /// Takes the place of one that was made with these lengths.
    pub(super) fn stand_at(&mut self, lengths: BTreeMap<usize, u64>, stream: Stream) {
        // Who has saved what buffers hold will do so again.
        self.trail = self.trail.take().map(|_| stream.clone());
        (self.lengths, self.stream) = (lengths, stream);
    }

    /// What the buffers hold at a place, of those that have been reached. It is drawn from the last place that was asked for.
    pub(super) fn rings_at(&mut self, state: &StreamState) -> Result<Vec<u8>, Error> {
        let leads_there = |trail: &Stream| {
            !trail.has_ended() && trail.started() == state.started && trail.delivered() <= state.delivered
        };
        let mut trail = match self.trail.take().filter(leads_there) {
            Some(trail) => trail,
            None => {
                let mut beginning = self.with(&self.lengths)?;
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
        Ok(self.trail.insert(trail).rings())
    }

    /// Goes to a place, if it stands elsewhere.
    pub(super) fn turn_to(&mut self, state: &StreamState) -> Result<(), ResumeError> {
        if self.stream.state() == *state { Ok(()) } else { self.stream.restore(state) }
    }

    /// The number at a place of a traversal, both counted from 0, if there is one.
    pub(super) fn nth(
        &self,
        traversal: u64,
        place: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>, Error> {
        let mut stream = self.with(&BTreeMap::new())?;
        if stream.len().is_some_and(|len| place >= len) || !stream.begin_traversal_with(traversal, go_on)? {
            return Ok(None);
        }
        let state = StreamState { delivered: place, ..stream.state() };
        stream.restore_with(&state, &[], go_on)?;
        Ok(stream.next().ok().flatten())
    }
}

/// Whether a file may end where it is damaged. Not below a shuffle of examples: it has taken what lies behind the damage
/// before that is found.
fn can_stop(spec: &StreamSpec) -> Result<(), ConfigError> {
    match spec.ops.iter().any(|op| matches!(op, StreamOp::Shuffle { .. })) {
        true => {
            let what = "`stop_shard` and a shuffle of examples exclude each other; `skip` leaves out damaged records alone";
            Err(ConfigError::new("on_damage", what))
        }
        false => Ok(()),
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
    Ok(Stream::new(spec).map_err(|error| ConfigError::new("ops", error.0))?)
}
