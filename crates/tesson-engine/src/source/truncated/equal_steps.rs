//! Truncated minibatches of which all ranks give as many: `equalSteps` under sharing by chunk.
//!
//! Data are divided into stretches: a sweep, or what an epoch or the end of the data leave of it. When one begins its steps
//! are counted in the index, for all ranks; while it lasts slots take sequences of it alone, and they are empty where it
//! ends. Who has fewer samples than counted, because of faults, runs out earlier; who then has more leaves them out.

use tesson_core::{Error, Index, SequenceId};
use tesson_plan::{
    BatchPlan, Cursor, Demand, EqualSteps, PendingSequence, PlanSpec, Planner, Slots, SlotsShape, Steps,
};

use super::super::Source;
use super::{SlotShare, SweepSequence, Truncated, TruncatedPlan, length_of};

/// Progress of a rank through the steps that all ranks count.
#[derive(Default)]
pub(super) struct StepProgress {
    /// The running steps; none between two stretches.
    pub(super) steps: Steps,
    /// It owns no chunk: nothing is ever fetched.
    pub(super) idle: bool,
    replay: Option<Replay>,
}

/// The ends that coincide with a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepEnds {
    pub(super) sweep_end: bool,
    pub(super) data_end: bool,
}

/// Repeats the sequences of a rank.
struct Replay {
    planner: Planner,
    plan: BatchPlan,
    begun: bool,
}

impl Replay {
    fn new(spec: PlanSpec) -> Replay {
        Replay { planner: Planner::new(spec), plan: BatchPlan::default(), begun: false }
    }

    /// The next own sequence from a cursor on, and how much is kept of it; `None` if the steps hold none from there. The
    /// cursor is moved past it.
    fn next_from(
        &mut self,
        index: &Index,
        steps: &Steps,
        at: &mut Cursor,
        fetch: Demand,
    ) -> Result<Option<(SequenceId, Option<u32>)>, Error> {
        if !self.begun || self.planner.cursor() != *at {
            self.planner.resume(index, *at, Some(fetch))?;
            self.begun = true;
        }
        while steps.hold(self.planner.cursor()) {
            self.planner.next_batch(index, fetch, &mut self.plan)?;
            if let Some(&planned) = self.plan.own.first() {
                *at = self.plan.after;
                return Ok(Some((planned, self.plan.keep_of_last)));
            }
        }
        Ok(None)
    }

    /// The next one from where the steps say that it is repeated, round and round; `None` if all of them hold none.
    fn next(
        &mut self,
        index: &Index,
        steps: &mut Steps,
        fetch: Demand,
    ) -> Result<Option<(SequenceId, Option<u32>)>, Error> {
        for mut at in [steps.again(), steps.begin()] {
            let found = self.next_from(index, steps, &mut at, fetch)?;
            if found.is_some() {
                steps.repeat_from(at);
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl Truncated {
    /// Retargets the pipeline without ending the running steps.
    pub(super) fn retarget_steps(
        &mut self,
        source: &mut Source,
        demand: Demand,
        share: &SlotShare,
    ) -> Result<(), Error> {
        let from = source.position.begins_at().clone();
        let steps = from.cursor.steps;
        if steps.is_running() {
            // Refuses another demand than that of the steps.
            self.steps_from(source, from.cursor, demand)?;
        }
        source.retarget(share.fetch, &mut || false)?;
        let idle = source.position.cursor().is_unplaced();
        if idle {
            // Its steps are still those of the others, who stand somewhere.
            let index = source.indexed()?.index.clone();
            let found = Planner::new(source.plan.clone()).restore(&index, &from, None)?;
            source.position.move_to(found.expect("a complete index needs no more"));
        }
        source.position.set_steps(steps);
        self.progress = Some(StepProgress { steps, idle, replay: None });
        Ok(())
    }

    /// Begins steps where they are counted, if none are running. `false` at the end of the data.
    pub(super) fn begin_steps(
        &mut self,
        source: &mut Source,
        demand: Demand,
        share: &SlotShare,
    ) -> Result<bool, Error> {
        let Some(StepProgress { steps, idle, .. }) = self.progress else { return Ok(true) };
        if steps.is_running() {
            return Ok(true);
        }
        let Some(begun) = self.steps_from(source, source.position.cursor(), demand)? else {
            return Ok(false);
        };
        let at = Cursor { steps: Steps::default(), ..begun };
        // A stretch without steps may have been passed over.
        if !idle && self.fetched != at {
            source.position.move_to(at);
            source.retarget(share.fetch, &mut || false)?;
        }
        self.fetched = at;
        self.progress.iter_mut().for_each(|progress| progress.steps = begun.steps);
        Ok(true)
    }

    /// Counts a step; slots are empty after the last one. Returns what ends with it.
    pub(super) fn step_is_given(&mut self, share: &SlotShare) -> StepEnds {
        let Some(progress) = &mut self.progress else { return StepEnds::default() };
        progress.steps.given += 1;
        let (steps, idle) = (progress.steps, progress.idle);
        if steps.is_running() {
            return StepEnds::default();
        }
        progress.steps = Steps::default();
        self.slots = self.empty_slots(share);
        if !idle && self.fetched != steps.end() {
            // What is left of the stretch is passed over by the next call.
            self.asked = None;
        }
        self.fetched = steps.end();
        StepEnds { sweep_end: steps.end().sweep > steps.sweep, data_end: steps.data_end }
    }

    /// Counts the steps of a demand from a cursor on. `None` at the end of the data.
    fn steps_from(&self, source: &mut Source, at: Cursor, demand: Demand) -> Result<Option<Cursor>, Error> {
        let shape = self.slots_shape(&source.plan, demand, 0);
        let index = source.indexed()?.index.clone();
        Ok(Planner::new(source.plan.clone()).steps_of_rows(&index, at, demand, shape)?)
    }

    /// Gives slots that are all empty own sequences of the stretch again.
    pub(super) fn repeat(&mut self, source: &mut Source, share: &SlotShare) -> Result<(), Error> {
        let Some(StepProgress { mut steps, idle, replay }) = self.progress.take() else { return Ok(()) };
        let spec = PlanSpec { equal_steps: None, ..source.plan.clone() };
        let mut replay = replay.unwrap_or_else(|| Replay::new(spec));
        let repeated = self.repeat_from(source, share, &mut steps, &mut replay);
        self.progress = Some(StepProgress { steps, idle, replay: Some(replay) });
        repeated
    }

    fn repeat_from(
        &mut self,
        source: &mut Source,
        share: &SlotShare,
        steps: &mut Steps,
        replay: &mut Replay,
    ) -> Result<(), Error> {
        let index = source.indexed()?.index.clone();
        let mut useless_since = None;
        while let Some(slot) = self.slots.hungry() {
            let from = *useless_since.get_or_insert(steps.again());
            let Some((planned, keep)) = replay.next(&index, steps, share.fetch)? else { break };
            let pipeline = source.pipeline.as_ref().ok_or(Error::Cancelled)?;
            let packed = pipeline.single(planned, steps.sweep, keep)?;
            // Its faults have been charged when it came first.
            if packed.refused.is_none() && length_of(&packed) > 0 {
                let sequence = index.number_of(planned);
                let pending = PendingSequence { sequence, sweep_end: false, sweep: steps.sweep, keep };
                self.put(source, slot, packed, pending)?;
                useless_since = None;
            } else if steps.again() == from {
                break;
            }
        }
        Ok(())
    }
}

/// The slots of all ranks, and what this rank fetches for its own.
#[derive(Clone, Copy)]
pub(super) struct StepSlots {
    pub(super) shape: SlotsShape,
    pub(super) fetch: Demand,
}

/// Calls `each` with the minibatches of a plan, under equal steps.
pub(super) fn for_each_step(
    plan: PlanSpec,
    index: &Index,
    demand: Demand,
    StepSlots { shape, fetch }: StepSlots,
    mut each: impl FnMut(&TruncatedPlan) -> bool,
) -> Result<(), Error> {
    let repeats = plan.equal_steps == Some(EqualSteps::Repeat);
    let own = PlanSpec { equal_steps: None, ..plan.clone() };
    let (mut counting, mut own) = (Planner::new(plan), Replay::new(own));
    let mut planned = TruncatedPlan::default();
    let push =
        |slots: &mut Slots<SweepSequence>, slot: usize, sweep, (planned, keep): (SequenceId, Option<u32>)| {
            let counted = index.length(planned);
            // No state is made of it.
            let waits = PendingSequence { sequence: 0, sweep_end: false, sweep: 0, keep };
            slots.push(
                slot,
                SweepSequence { planned, sweep },
                waits,
                keep.map_or(counted, |keep| keep.min(counted)),
            );
        };
    let mut at = Cursor::default();
    while let Some(Cursor { mut steps, .. }) = counting.steps_of_rows(index, at, demand, shape)? {
        let mut slots = shape.slots_of(demand.share());
        let mut first_time = Some(steps.begin());
        for given in 1..=steps.of {
            while let (Some(slot), Some(at)) = (slots.hungry(), &mut first_time) {
                match own.next_from(index, &steps, at, fetch)? {
                    Some(sequence) => push(&mut slots, slot, steps.sweep, sequence),
                    None => first_time = None,
                }
            }
            let is_empty = slots.is_empty();
            while let Some(slot) = slots.hungry().filter(|_| repeats && is_empty) {
                match own.next(index, &mut steps, fetch)? {
                    Some(sequence) => push(&mut slots, slot, steps.sweep, sequence),
                    None => break,
                }
            }
            planned.segments.clear();
            slots.take(&mut planned.segments);
            planned.sweep_end = given == steps.of && steps.end().sweep > steps.sweep;
            if !each(&planned) {
                return Ok(());
            }
        }
        if steps.data_end {
            break;
        }
        at = steps.end();
    }
    Ok(())
}
