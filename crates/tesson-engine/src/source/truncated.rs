//! Truncated reading (spec/engine.md §9.3): the pipeline delivers whole sequences, one at a time; slots cut them into
//! segments of equal length.
//!
//! Slots are filled by parsed lengths, which only decoded sequences have, so this happens where minibatches are handed
//! out, in plan order. The sequences pending in slots are part of the state after a minibatch, by number and sweep; a
//! restored source fetches them anew, transforms them as before and cuts them where the data end.

mod equal_steps;

use std::sync::Arc;

use tesson_core::{Error, Index, SequenceId, StreamInfo, UsageError};
use tesson_memory::pool::trimmed_bytes;
use tesson_plan::{
    BatchSlot, Cursor, Demand, EqualSteps, PendingSequence, PlanSpec, ResumeState, Segment, Sharing, Slots,
    SlotsShape, SlotsState, Steps, Truncation,
};

use super::Source;
use super::position::Position;
use crate::arrays::Arrays;
use crate::deliver::{Packed, Pipeline, Taken};
use crate::memory_budget::{largest_batch, limit_for};
use crate::minibatch::Minibatch;
use crate::pack::{self, LayoutSize, Pools, Whole};
use crate::refusal::EngineRefusal;
use crate::samples::dense_bytes;
use equal_steps::{StepProgress, StepSlots};

/// Bytes that a slot takes in a state and in memory at least.
const SLOT_BYTES: u64 = 256;

/// The slots of a source, and how they are filled.
pub(super) struct Truncated {
    spec: Truncation,
    rules: EndRules,
    /// Sequences whose ends were left out with the rest of the sweep that ended last.
    cut_short: u64,
    /// The demand of the last call and the slots for it; `None` if the slots are to be filled anew.
    asked: Option<(Demand, SlotsShape)>,
    slots: Slots<Arc<Whole>>,
    /// Under equal steps: the progress through them.
    progress: Option<StepProgress>,
    /// The plan has come to its end: nothing more is fetched.
    over: bool,
    /// The position after the sequences that have been fetched.
    fetched: Cursor,
    /// Faults charged so far, those of sequences fetched since the last minibatch included.
    faults: u64,
    /// Bytes of the sequences in the slots.
    held_bytes: u64,
    /// Bytes of the last minibatch, as its caller may still hold it.
    last_bytes: u64,
    /// Bytes of full slots and of a minibatch of them, by what is known before they are filled.
    expected: (u64, u64),
    /// Bytes that the pipeline leaves for all of these.
    reserved: u64,
    pools: Pools,
}

/// Where slots end.
struct EndRules {
    /// True if minibatches at the end of the data are left out when a slot is not full.
    drops_last: bool,
    /// True if slots take no sequence of a sweep while they hold one of an earlier sweep: minibatches then end with their sweep, and
    /// equal steps leave out the rest of each.
    ends_sweeps: bool,
    /// True if sizes or slots change from epoch to epoch by configuration: unfinished sequences then continue where the number
    /// of slots is another.
    carries: bool,
}

/// A stream as truncated minibatches have it.
pub(super) fn delivered(truncation: &Truncation, stream: &Arc<StreamInfo>) -> Arc<StreamInfo> {
    if stream.sparse && !truncation.keep_sparse {
        Arc::new(StreamInfo::clone(stream).with_sparse(false))
    } else {
        stream.clone()
    }
}

impl Truncated {
    /// Slots of sequences that a plan brings. `drops_last` leaves out minibatches in which a slot is not full, at the end of the data.
    pub(super) fn new(
        spec: Truncation,
        pools: Pools,
        plan: &PlanSpec,
        drops_last: bool,
        carries: bool,
    ) -> Truncated {
        // Then ranks have sequences of their own, and their steps are counted.
        let counts_steps = plan.equal_steps.is_some() && plan.sharing == Sharing::Chunk;
        let ends_sweeps = !plan.cross_sweep_ends && !counts_steps;
        Truncated {
            spec,
            rules: EndRules { drops_last, ends_sweeps, carries },
            cut_short: 0,
            asked: None,
            slots: Slots::new(0, 1, 0),
            progress: counts_steps.then(StepProgress::default),
            over: false,
            fetched: Cursor::default(),
            faults: 0,
            held_bytes: 0,
            last_bytes: 0,
            expected: (0, 0),
            reserved: 0,
            pools,
        }
    }

    /// True if the slots make no further minibatch unless something is fetched for them.
    fn ends_with<T: Clone>(&self, slots: &Slots<T>, share: &SlotShare) -> bool {
        slots.is_empty() || self.rules.drops_last && !slots.are_full() || share.lacks_a_rank(slots)
    }

    /// True if no further minibatch is known to come.
    fn is_over(&self, share: &SlotShare) -> bool {
        self.progress.is_none() && self.over && self.ends_with(&self.slots, share)
    }

    /// The position after what has been fetched, with the running steps.
    fn after(&self) -> Cursor {
        let steps = self.progress.as_ref().map_or(Steps::default(), |progress| progress.steps);
        Cursor { steps, ..self.fetched }
    }

    /// The slot that needs another sequence, if there is one for it.
    fn wants(&self) -> Option<usize> {
        let may_take = match &self.progress {
            Some(progress) => !progress.idle && progress.steps.hold(self.fetched),
            None => true,
        };
        self.slots.hungry().filter(|_| may_take && !self.over && !self.waits(&self.slots, self.fetched.sweep))
    }

    /// True if slots take nothing of this sweep yet.
    fn waits<T: Clone>(&self, slots: &Slots<T>, sweep: u64) -> bool {
        self.rules.ends_sweeps && slots.holds_before(sweep)
    }

    /// Bytes of the slots with a minibatch of so many bytes, and the number of slots. Those that are not filled yet, before
    /// the size of the minibatch is known, are taken to be like the others.
    fn bytes_needed(&self, batch_bytes: u64) -> (u64, usize) {
        let slots = self.slots.state().slots;
        let filled = slots.iter().filter(|slot| !slot.waiting.is_empty()).count().max(1) as u64;
        let bytes = match batch_bytes {
            0 => {
                let held = self.held_bytes.saturating_mul(slots.len() as u64).div_ceil(filled);
                held.max(self.expected.0).saturating_add(self.expected.1)
            }
            _ => self.held_bytes + batch_bytes,
        };
        (bytes, slots.len())
    }
}

/// How many slots there are, how long, and whose.
pub(super) struct SlotShare {
    /// The slots of all workers.
    shape: SlotsShape,
    /// Samples of a slot in a minibatch.
    length: u64,
    /// Slots that this worker fills.
    filled: u64,
    /// The demand with which it fetches sequences.
    pub(super) fetch: Demand,
    /// Of the filled slots it delivers every `workers`-th, from `rank` on.
    workers: u64,
    rank: u64,
    /// The number of workers, if the data end where one of them has nothing.
    serves_all: Option<u64>,
}

impl SlotShare {
    /// The number of slots that this worker delivers of these.
    fn own_of(&self, slots: u64) -> u64 {
        (slots + self.workers - 1 - self.rank) / self.workers
    }

    /// True if the data end with these slots, because a worker has nothing in them.
    fn lacks_a_rank<T: Clone>(&self, slots: &Slots<T>) -> bool {
        self.serves_all.is_some_and(|workers| !slots.serve(workers as usize))
    }

    /// Removes the segments of other workers' slots, and numbers its own.
    fn keep_own<T>(&self, segments: &mut Vec<Segment<T>>) {
        let (workers, rank) = (self.workers as u32, self.rank as u32);
        segments.retain(|segment| segment.slot % workers == rank);
        segments.iter_mut().for_each(|segment| segment.slot /= workers);
    }
}

/// A sequence, and the sweep in which it comes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SweepSequence {
    /// The sequence.
    pub planned: SequenceId,
    /// The sweep.
    pub sweep: u64,
}

/// A truncated minibatch that nothing has been read for.
#[derive(Debug, Default)]
pub struct TruncatedPlan {
    /// The segments, slot by slot.
    pub segments: Vec<Segment<SweepSequence>>,
    /// True if a sweep ends with one of them.
    pub sweep_end: bool,
    /// Samples that are delivered or dropped with it and before it, by all ranks.
    pub passed: u64,
}

impl Source {
    /// Shows which segments of which sequences truncated minibatches hold, from the start, without reading data: as if every
    /// sequence were as long as the index says. One that is shorter, for its faults, moves what follows it. `each` returns
    /// whether to continue.
    ///
    /// # Errors
    /// Those of [`Source::plan`], and a source that does not truncate.
    pub fn plan_truncated(
        &mut self,
        demand: Demand,
        each: impl FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        let index = self.indexed()?.index.clone();
        let truncated = self.truncated.as_ref().ok_or(EngineRefusal::NotTruncated)?;
        truncated.for_each_plan(self, self.plan.clone(), &index, Cursor::default(), demand, each)
    }
}

impl Truncated {
    /// The next truncated minibatch.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        demand: Demand,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Minibatch>, Error> {
        let epoch = self.epoch(source)?;
        let share = self.share_of_slots(source, demand, epoch)?;
        if self.asked != Some((demand, share.shape)) || source.position.demand().is_none() {
            self.retarget(source, demand, &share)?;
        }
        if !self.begin_steps(source, demand, &share)? {
            source.position.end();
            return Ok(None);
        }
        let mut filled_in = self.fetched.sweep;
        while let Some(slot) = self.wants() {
            let pipeline = source.pipeline.as_mut().ok_or(Error::Cancelled)?;
            match pipeline.take(interrupted) {
                Ok(Taken::Made(packed)) => {
                    let is_filled = !packed.arrays.keys.is_empty();
                    self.fill(source, slot, packed)?;
                    if is_filled {
                        filled_in = self.fetched.sweep;
                    } else if self.fetched.sweep.saturating_sub(filled_in) > demand.workers + 1 {
                        // It would look for another one for ever.
                        let Demand { rank, workers, .. } = demand;
                        return Err(EngineRefusal::NothingLeft { rank, workers }.into());
                    }
                }
                Ok(Taken::End) => self.over = true,
                Ok(Taken::Outgrown) => unreachable!("sequences are counted before they are truncated"),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(e) => return Err(source.position.fail(e)),
            }
        }
        if self.is_over(&share) {
            source.position.end();
            return Ok(None);
        }
        // Slots that hold anything are as full as the sweep can make them here.
        if self.rules.ends_sweeps && share.lacks_a_rank(&self.slots) {
            let Demand { samples, workers, .. } = demand;
            let (sweep, slots) = (self.fetched.sweep.saturating_sub(1), share.shape.n);
            let refusal = EngineRefusal::SlotsWithoutRank { sweep, samples, slots, workers };
            return Err(source.position.fail(refusal.into()));
        }
        if self.slots.is_empty() && source.plan.equal_steps == Some(EqualSteps::Repeat) {
            self.repeat(source, &share)?;
        }
        self.deliver(source, &share).map(Some)
    }

    /// Sequences whose ends were left out by all ranks at the end of a sweep, if that came with the last minibatch.
    pub(super) fn cut_short(&self) -> u64 {
        self.cut_short
    }

    /// The state after a restored one, and the slots that are filled by the next call.
    pub(super) fn restore(&mut self, from: &ResumeState, position: &mut Position) {
        position.restore_slots(from, self.progress.is_some());
        self.asked = None;
    }

    /// The epoch of the next minibatch, counted from 0 by the samples of what has been fetched, as callers count it who take
    /// sizes from a schedule; 0 where the number of slots does not depend on it.
    fn epoch(&self, source: &mut Source) -> Result<u64, Error> {
        if !self.spec.length.changes_by_epoch() {
            return Ok(0);
        }
        let samples = match source.plan.epoch_size {
            Some(samples) => samples,
            None => source.num_samples_per_sweep()?,
        };
        Ok(source.position.cursor().position / samples.max(1))
    }

    /// Calls `each` with the minibatches of a plan from the beginning of a sweep on, with empty slots, if every sequence is as long as
    /// the index says. Under equal steps of ranks with sequences of their own it is that of the first sweep.
    pub(super) fn for_each_plan(
        &self,
        source: &Source,
        plan: PlanSpec,
        index: &Index,
        start: Cursor,
        demand: Demand,
        mut each: impl FnMut(&TruncatedPlan) -> bool,
    ) -> Result<(), Error> {
        demand.validate()?;
        if self.spec.length.changes_by_epoch() {
            return Err(EngineRefusal::TruncatedSchedule.into());
        }
        let share = self.share_of_slots(source, demand, 0)?;
        if self.progress.is_some() {
            let slots = StepSlots { shape: share.shape, fetch: share.fetch };
            return equal_steps::for_each_step(plan, index, demand, slots, each);
        }
        let mut slots = self.empty_slots(&share);
        let mut planned = TruncatedPlan::default();
        let mut give = |slots: &mut Slots<SweepSequence>, fetched: u64| {
            // Reading refuses such a sweep: it has no minibatch.
            if self.rules.ends_sweeps && share.lacks_a_rank(slots) {
                slots.clear();
                return true;
            }
            planned.segments.clear();
            planned.sweep_end = slots.take(&mut planned.segments);
            if self.rules.ends_sweeps {
                planned.sweep_end = end_sweep(slots, &share);
            }
            planned.passed = fetched - slots.left();
            share.keep_own(&mut planned.segments);
            each(&planned)
        };
        let (mut wanted, mut samples) = (true, start.position);
        super::plan::for_each_plan(plan, index, start, share.fetch, |fetched| {
            for BatchSlot { planned, sweep, .. } in fetched.own_slots() {
                let counted = index.length(planned);
                let length = fetched.keep_of_last.map_or(counted, |keep| keep.min(counted));
                // One sequence a plan, and a slot that is full gives way to the next one before it is asked for.
                while wanted && (slots.hungry().is_none() || self.waits(&slots, sweep)) {
                    wanted = give(&mut slots, samples);
                }
                let Some(slot) = slots.hungry() else { return false };
                // No state is made of it.
                let pending =
                    PendingSequence { sequence: 0, sweep_end: fetched.sweep_end, sweep, keep: None };
                slots.push(slot, SweepSequence { planned, sweep }, pending, length);
                samples += u64::from(length);
            }
            if fetched.own.is_empty() && fetched.sweep_end {
                slots.sweep_ended();
            }
            wanted
        })?;
        while wanted && !self.ends_with(&slots, &share) {
            wanted = give(&mut slots, samples);
        }
        Ok(())
    }

    /// The slots of all workers in an epoch.
    pub(super) fn slots_shape(&self, plan: &PlanSpec, demand: Demand, epoch: u64) -> SlotsShape {
        let length = &self.spec.length;
        // A slot holds a sequence at a time.
        let n = length.slots(demand.samples, epoch).min(plan.most_sequences.unwrap_or(u64::MAX)).max(1);
        let length = u32::try_from(length.samples(demand.samples, epoch)).unwrap_or(u32::MAX);
        SlotsShape { n, length, right_splice: self.spec.right_splice as u32 }
    }

    /// The slots that this worker fills, empty.
    pub(super) fn empty_slots<T: Clone>(&self, share: &SlotShare) -> Slots<T> {
        let length = u32::try_from(share.length).unwrap_or(u32::MAX);
        Slots::new(share.filled as usize, length, self.spec.right_splice as u32)
    }

    fn share_of_slots(&self, source: &Source, demand: Demand, epoch: u64) -> Result<SlotShare, UsageError> {
        let Demand { samples, workers, rank } = demand;
        let (plan, length) = (&source.plan, self.spec.length.samples(samples, epoch));
        let shape = self.slots_shape(plan, demand, epoch);
        let slots = shape.n;
        if workers > slots {
            return Err(EngineRefusal::TooFewSlots { workers, samples, length, slots }.into());
        }
        let splice = self.spec.right_splice;
        if splice >= length {
            return Err(EngineRefusal::SpliceTooLong { splice, samples, slots, length }.into());
        }
        let share = match plan.sharing {
            Sharing::Chunk => SlotShare {
                shape,
                length,
                filled: demand.share().part_of(slots),
                fetch: Demand { samples: 1, workers, rank },
                workers: 1,
                rank: 0,
                serves_all: None,
            },
            Sharing::Position => SlotShare {
                shape,
                length,
                filled: slots,
                fetch: Demand { samples: 1, workers: 1, rank: 0 },
                workers,
                rank,
                serves_all: (plan.equal_steps == Some(EqualSteps::Drop)).then_some(workers),
            },
        };
        // Those of all ranks are filled where their steps are counted.
        let filled = if self.progress.is_some() { slots } else { share.filled };
        if filled > source.runtime.memory_limit / SLOT_BYTES {
            return Err(EngineRefusal::TooManySlots { samples, length, slots }.into());
        }
        Ok(share)
    }

    /// Makes the pipeline deliver sequences from after the last minibatch handed out, and fills the slots with what was in
    /// them there.
    fn retarget(&mut self, source: &mut Source, demand: Demand, share: &SlotShare) -> Result<(), Error> {
        let saved = source.position.state().rows.clone().unwrap_or_default();
        let slots = saved.slots.len() as u64;
        if !saved.is_empty() && slots != share.filled && !self.may_carry(source, demand) {
            return Err(EngineRefusal::SlotsInUse { slots, asked: share.filled }.into());
        }
        // What is refused from here on leaves slots that have to be filled again.
        self.asked = None;
        self.slots = self.empty_slots(share);
        let in_use = saved.slots.iter().rposition(|slot| !slot.waiting.is_empty());
        self.slots.add_closed(in_use.map_or(0, |last| last + 1));
        self.held_bytes = 0;
        self.reserve_expected(source, share)?;
        if self.progress.is_some() {
            self.retarget_steps(source, demand, share)?;
        } else {
            source.retarget(share.fetch, &mut || false)?;
        }
        self.refill(source, &saved)?;
        (self.asked, self.over) = (Some((demand, share.shape)), false);
        self.fetched = Cursor { steps: Steps::default(), ..source.position.cursor() };
        self.faults = source.position.faults();
        Ok(())
    }

    /// True if pending sequences may continue in another number of slots: by configuration, for the worker whose they are.
    fn may_carry(&self, source: &Source, demand: Demand) -> bool {
        let is_same = self.asked.is_none_or(|(before, _)| before.share() == demand.share());
        self.rules.carries && self.progress.is_none() && (source.plan.sharing == Sharing::Position || is_same)
    }

    /// Makes the pipeline leave memory for full slots and two minibatches of them, if sequences are of average length.
    fn reserve_expected(&mut self, source: &mut Source, share: &SlotShare) -> Result<(), Error> {
        let index = source.indexed()?.index.clone();
        let n_samples = index.n_samples();
        let mean = n_samples.div_ceil(index.n_sequences().max(1)).max(1);
        let length = share.length;
        let bytes = |streams: &[Arc<StreamInfo>], slots: u64, of_slot: u64| {
            let sample = streams.iter().map(dense_bytes).fold(0, u64::saturating_add);
            slots.saturating_mul(of_slot).min(n_samples).saturating_mul(sample)
        };
        let of_slot = length.saturating_add(2 * mean - 1);
        let values = bytes(&source.streams.transforms.outputs(), share.filled, of_slot);
        let sequences = share.filled.saturating_mul(of_slot.div_ceil(mean)).min(index.n_sequences());
        let beside = sequences.saturating_mul(Whole::bytes_beside(source.streams.delivered.len()));
        let held = values.saturating_add(beside);
        let batch = bytes(&source.streams.delivered, share.own_of(share.filled), length);
        self.expected = (trimmed_bytes(held), batch);
        let all = self.expected.0.saturating_add(batch.saturating_mul(2));
        self.reserved = all.min(source.runtime.memory_limit);
        source.pipeline.as_ref().ok_or(Error::Cancelled)?.reserve(self.reserved as usize);
        Ok(())
    }

    /// Fetches again what a state says of the slots.
    fn refill(&mut self, source: &mut Source, saved: &SlotsState) -> Result<(), Error> {
        let index = source.indexed()?.index.clone();
        // Where no sequence waits there may have been another number of slots.
        for (number, slot) in saved.slots.iter().enumerate().filter(|(_, slot)| !slot.waiting.is_empty()) {
            for &pending in &slot.waiting {
                let n = index.n_sequences();
                if pending.sequence >= n {
                    return Err(EngineRefusal::StateSlotSequence { sequence: pending.sequence, n }.into());
                }
                let planned = index.sequence(pending.sequence);
                let pipeline = source.pipeline.as_ref().ok_or(Error::Cancelled)?;
                let packed = pipeline.single(planned, pending.sweep, pending.keep)?;
                self.put(source, number, packed, pending)?;
            }
            if !self.slots.set_cursor(number, slot.cursor) {
                return Err(EngineRefusal::StateSlotCursor { slot: number, cursor: slot.cursor }.into());
            }
        }
        Ok(())
    }

    /// Puts what was fetched into a slot; its faults are charged here.
    fn fill(&mut self, source: &mut Source, slot: usize, mut packed: Packed) -> Result<(), Error> {
        self.faults = source.charge(&packed.charges, packed.passed, self.faults)?;
        (self.fetched, self.over) = (packed.after, packed.data_end);
        let refused = packed.refused.take();
        match packed.first.filter(|_| !packed.arrays.keys.is_empty() && refused.is_none()) {
            Some(BatchSlot { planned, sweep, .. }) => {
                let sequence = source.indexed()?.index.number_of(planned);
                let (sweep_end, keep) = (packed.sweep_end, packed.keep_of_last);
                self.put(source, slot, packed, PendingSequence { sequence, sweep_end, sweep, keep })?;
            }
            None if packed.sweep_end => self.slots.sweep_ended(),
            None => {}
        }
        refused.map_or(Ok(()), Err)
    }

    /// Puts a sequence into a slot, if memory allows.
    pub(super) fn put(
        &mut self,
        source: &Source,
        slot: usize,
        packed: Packed,
        pending: PendingSequence,
    ) -> Result<(), Error> {
        let length = length_of(&packed);
        let whole = Whole::new(packed.arrays);
        self.held_bytes += whole.bytes();
        self.slots.push(slot, Arc::new(whole), pending, length);
        self.make_room(source, 0)
    }

    /// Makes the pipeline leave memory for the slots, and for a minibatch of so many bytes beside the last one. Refuses what
    /// is too large; another size begins where this one would have.
    fn make_room(&mut self, source: &Source, batch_bytes: u64) -> Result<(), Error> {
        let most = largest_batch(source.runtime.memory_limit);
        let bytes = self.held_bytes.saturating_add(batch_bytes);
        if bytes > most {
            let (bytes, slots) = self.bytes_needed(batch_bytes);
            self.slots = Slots::new(0, 1, 0);
            self.asked = None;
            let limit = limit_for(bytes);
            return Err(EngineRefusal::SlotsBeyondMemory { slots, bytes, most, limit }.into());
        }
        let needed = bytes + self.last_bytes;
        if needed > self.reserved {
            self.reserved = needed + needed / 16;
            source.pipeline.as_ref().ok_or(Error::Cancelled)?.reserve(self.reserved as usize);
        }
        Ok(())
    }

    /// Packs the next minibatch out of the slots.
    fn deliver(&mut self, source: &mut Source, share: &SlotShare) -> Result<Minibatch, Error> {
        let mut segments: Vec<Segment<Arc<Whole>>> = Vec::new();
        // Some of them may leave when they are empty.
        let rows = share.own_of(self.slots.len() as u64) as u32;
        let mut sweep_end = self.slots.take(&mut segments);
        if self.rules.ends_sweeps {
            let held = self.slots.held().count() as u64;
            sweep_end = end_sweep(&mut self.slots, share);
            self.cut_short = if sweep_end { held } else { 0 };
        }
        share.keep_own(&mut segments);
        let bytes = pack::batch_bytes(&source.streams.delivered, &segments);
        self.make_room(source, bytes)?;
        let steps = u32::try_from(share.length).unwrap_or(u32::MAX);
        let size = LayoutSize { steps, rows };
        source.process_memory.note_made(bytes as usize);
        let batches = pack::pack_segments(&source.streams.delivered, &segments, size, &self.pools);
        let keys = pack::segment_keys(&segments);
        let mut arrays = Arrays::new(batches, keys);
        arrays.sequences.extend(segments.iter().flat_map(|segment| segment.sequence.sequences.first()));
        self.last_bytes = bytes;
        self.held_bytes = self.slots.held().map(|whole| whole.bytes()).sum();
        let is_over = if self.progress.is_some() {
            let given = self.step_is_given(share);
            sweep_end = given.sweep_end;
            given.data_end
        } else {
            self.is_over(share)
        };
        if is_over {
            source.position.end();
        }
        let n_samples = arrays.streams.first().map_or(0, |stream| stream.n_samples() as u64);
        source.counters.count_minibatch(n_samples, segments.len() as u64);
        source.position.advance(self.after(), self.faults);
        source.position.set_slots(self.slots.state());
        Ok(Minibatch {
            arrays,
            files: source.pipeline.as_ref().map(Pipeline::files),
            share: None,
            sweep_end,
            sweeps_ended: 0,
            resume: source.position.state().clone(),
        })
    }
}

/// True if a sweep ends with the minibatch that has been taken: then no slot holds anything, or too few do, and the rest is dropped.
fn end_sweep<T: Clone>(slots: &mut Slots<T>, share: &SlotShare) -> bool {
    // An open slot holds more than it delivers, so one is empty only where the sweep has nothing for it.
    let ends = slots.is_empty() || share.lacks_a_rank(slots);
    if ends {
        slots.clear();
    }
    ends
}

/// Samples that were delivered or dropped before a state, if every sequence is as long as the index says.
pub(super) fn passed(state: &ResumeState, index: &Index) -> u64 {
    let slots = state.rows.iter().flat_map(|rows| &rows.slots);
    let left = slots.map(|slot| {
        let lengths = slot.waiting.iter().map(|pending| {
            let counted = index.length(index.sequence(pending.sequence));
            u64::from(pending.keep.map_or(counted, |keep| keep.min(counted)))
        });
        lengths.sum::<u64>().saturating_sub(slot.cursor.into())
    });
    state.cursor.position.saturating_sub(left.sum())
}

/// Samples of a sequence that has been fetched.
pub(super) fn length_of(packed: &Packed) -> u32 {
    packed.arrays.streams.iter().map(|s| s.n_samples() as u32).max().unwrap_or(0)
}
