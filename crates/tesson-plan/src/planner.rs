//! The planner: minibatch after minibatch, from any position (spec/engine.md §6, §7, §10).
//!
//! Advice for the next editor. There are three ways to a minibatch, and all of them end in `cut`: `next_own` (a rank
//! cuts its own chunks), `next_dealt` (one minibatch is cut as for a single worker and dealt out), `next_step` (equal
//! steps, in `equal.rs`). The planner's only state is its cursor and, after a merge, the list of what was consumed;
//! whatever the order has worked out is a cache of index, options and seed. So both must be enough to continue: a new
//! field of [`Cursor`] is a new field of states, too (`resume/`).
//!
//! Two other files compute what `cut` decides and must change with it: `seek_step.rs`, by a division, and `count.rs`,
//! for all ranks in one pass. `tests/model.rs` is the specification written down plainly; `tests/twin.rs` compares it
//! with the planner over random calls.

mod count;
mod equal;
mod seek_step;

use std::sync::Arc;

use tesson_core::{ChunkId, Index, SequenceId};

use crate::cut::{Cut, Fill};
use crate::order::{Bucketed, Order, OrderInfo};
use crate::share::Share;
use crate::size::{Room, Size};
use crate::{BatchPlan, Consumed, Cursor, Demand, EqualSteps, PlanSpec, ResumeState, Sharing, Steps};
use crate::{PlanRefusal, Result};
pub use seek_step::StepSizes;

/// The outcome of a call for the next minibatch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A minibatch was planned.
    Planned,
    /// No minibatch was planned: the index is still growing, and more of it is needed. Repeat the call when it has
    /// grown.
    NeedIndex,
}

/// Plans one minibatch after the other.
///
/// Every call takes the index; it must be the same one, or the same one grown. Only some orders can plan before it is
/// complete ([`OrderSpec::plans_while_indexing`](crate::OrderSpec::plans_while_indexing)).
pub struct Planner {
    spec: PlanSpec,
    /// Facts about the order, looked up once.
    info: &'static OrderInfo,
    order: Box<dyn Order>,
    cursor: Cursor,
    consumed: Option<Arc<Consumed>>,
    /// The cursor at the last call of [`Planner::take_retired`].
    retired: Cursor,
    /// The most sequences that a minibatch may hold.
    most: usize,
    /// True if foreign sequences are counted and not listed, where that is faster.
    counts_foreign: bool,
}

/// The order of a specification, before any sweep has been worked out.
fn order_of(spec: &PlanSpec) -> Box<dyn Order> {
    let order = spec.order.definition().build();
    match (spec.bucketing, spec.order.seed()) {
        (Some(size), Some(seed)) if spec.order.can_be_bucketed() => {
            Box::new(Bucketed::new(order, seed, size))
        }
        _ => order,
    }
}

/// A minibatch's part of the sequences: whose, and how many.
#[derive(Clone, Copy)]
struct Part {
    share: Share,
    /// [`Cut::dealt`].
    dealt: Option<Share>,
    room: Room,
}

impl Planner {
    /// A planner at the start of the data. [`Planner::start`] also applies the rules of a demand.
    pub fn new(spec: PlanSpec) -> Planner {
        let (info, order) = (spec.order.info(), order_of(&spec));
        Planner {
            spec,
            info,
            order,
            cursor: Cursor::default(),
            consumed: None,
            retired: Cursor::default(),
            most: usize::MAX,
            counts_foreign: false,
        }
    }

    /// Refuses minibatches of more sequences than this: endless data would fill any memory otherwise.
    #[must_use]
    pub fn with_most_sequences(mut self, most: usize) -> Planner {
        self.most = most;
        self
    }

    /// Counts the sequences of other ranks under sharing by position and does not list them ([`BatchPlan::foreign`]), for a
    /// rank that has no use for them. All else stays the same.
    ///
    /// Then a step as stored, and in the `global` order where all sequences have one length, costs a rank its own sequences, and
    /// not those of all ranks. It still costs all of them where sequences are excluded, and after a merge of states.
    #[must_use]
    pub fn counting_foreign(mut self) -> Planner {
        self.counts_foreign = true;
        self
    }

    /// Goes to the start of the data. `None`: more of the index is needed.
    ///
    /// # Errors
    /// [`PlanRefusal`] for a demand, a limit or a corpus that cannot be read.
    pub fn start(&mut self, index: &Index, demand: Demand) -> Result<Option<Cursor>> {
        self.seek(index, 0, Some(demand))
    }

    /// Goes to the first sequence that starts at or after a position, in samples since the start
    /// (spec/engine.md §10.1), even beyond the end of the data. Without a demand no rule of ranks is applied. `None`: more of the
    /// index is needed.
    ///
    /// Reads through the lengths of the sweep up to there, unless the order is as stored or all lengths are equal.
    ///
    /// # Errors
    /// The errors of [`Planner::start`].
    pub fn seek(&mut self, index: &Index, position: u64, demand: Option<Demand>) -> Result<Option<Cursor>> {
        self.check(index, demand)?;
        let Some(cursor) = self.find(index, position, demand)? else { return Ok(None) };
        self.consumed = None;
        Ok(Some(self.set_cursor(cursor)))
    }

    /// Goes to a cursor that this plan has returned. Cheap while the planner still holds what it needs for that: for
    /// about one window back, or back to the cursor of the last call of [`Planner::released`]; always cheap in the
    /// `global` order and as stored. `None`: more of the index is needed.
    ///
    /// # Errors
    /// The errors of [`Planner::start`], and [`PlanRefusal`] for a cursor that cannot belong to this corpus.
    pub fn resume(
        &mut self,
        index: &Index,
        cursor: Cursor,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>> {
        self.check(index, demand)?;
        if cursor.is_unplaced() {
            let found = self.find(index, cursor.position, demand)?;
            return Ok(found.map(|cursor| self.set_cursor(cursor)));
        }
        if !self.can_plan(index) || !self.order.accepts(index, &cursor)? {
            return Ok(None);
        }
        self.check_steps(index, cursor, demand)?;
        if let Some(end) = self.end_without_data(index, demand)? {
            return Ok(Some(self.set_cursor(Cursor::unplaced(end))));
        }
        self.order.rewind(index, &cursor);
        Ok(Some(self.set_cursor(cursor)))
    }

    /// Goes to the position of a state: [`Planner::resume`] for full states, [`Planner::seek`] for bare positions.
    /// Sequences that a merged state lists as consumed are not planned again.
    ///
    /// # Errors
    /// The errors of these two, and [`PlanRefusal`] for the state of one rank where sharing is by position: it says
    /// nothing about the other ranks.
    pub fn restore(
        &mut self,
        index: &Index,
        state: &ResumeState,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>> {
        if let (Sharing::Position, Some(Share { workers: workers @ 2.., rank })) =
            (self.spec.sharing, state.share)
        {
            return Err(PlanRefusal::StateOfOneRank { rank, workers });
        }
        let found = if state.is_bare() && !self.info.is_local {
            self.seek(index, state.cursor.position, demand)?
        } else {
            self.resume(index, state.cursor, demand)?
        };
        if found.is_some() {
            self.consumed = state.consumed.clone();
        }
        Ok(found)
    }

    /// Plans the next minibatch into `out`, which is overwritten but keeps its memory.
    ///
    /// The plan of a rank may have no sequences before the end of the data ([`BatchPlan::is_end`] tells the two
    /// apart).
    ///
    /// # Errors
    /// The errors of [`Planner::start`].
    pub fn next_batch(&mut self, index: &Index, demand: Demand, out: &mut BatchPlan) -> Result<Progress> {
        self.check(index, Some(demand))?;
        out.clear();
        if !self.can_plan(index) {
            return Ok(Progress::NeedIndex);
        }
        let progress = match (self.equal_steps(demand), self.spec.sharing) {
            (Some(mode), _) => self.next_step(index, demand, mode, out)?,
            (None, Sharing::Chunk) => self.next_own(index, demand, out)?,
            (None, Sharing::Position) => self.next_dealt(index, demand, out)?,
        };
        if progress == Progress::Planned {
            self.consumed.take_if(|consumed| !consumed.is_ahead_of(self.cursor));
            out.after = self.cursor;
            // Last of all, so that every other sequence keeps its minibatch, rank and slot.
            if let Some(excluded) = &self.spec.excluded {
                out.leave_out(excluded);
            }
        }
        Ok(progress)
    }

    /// Plans the next minibatch of a rank under sharing by chunk.
    fn next_own(&mut self, index: &Index, demand: Demand, out: &mut BatchPlan) -> Result<Progress> {
        // At every call: a rank without chunks would search for a sequence of its own without end.
        if let Some(end) = self.end_without_data(index, Some(demand))? {
            self.cursor = Cursor::unplaced(end);
        }
        let local = self.spec.local_timeline || self.info.is_local;
        let room = Room::of(demand, self.spec.most_sequences(), local);
        let part = Part { share: demand.share(), dealt: None, room };
        let fill = self.advance(index, demand, part, out)?;
        Ok(fill.map_or(Progress::NeedIndex, |_| Progress::Planned))
    }

    /// Plans the next minibatch as for a single worker and deals it out (spec/engine.md §6.4), so that minibatches do
    /// not depend on the number of workers.
    ///
    /// A minibatch that is dropped, by [`EqualSteps::Drop`] or as the last one of a sweep, is followed by the next one within the
    /// same call. If a whole sweep passes in this way, the call is refused instead of searching without end.
    fn next_dealt(&mut self, index: &Index, demand: Demand, out: &mut BatchPlan) -> Result<Progress> {
        let room = Room::all(Size { samples: demand.samples, sequences: self.spec.most_sequences() });
        let (Cursor { sweep: first, sequence, .. }, mut sweep_end) = (self.cursor, false);
        let mut nothing =
            PlanRefusal::NoSequenceForEachWorker { samples: demand.samples, workers: demand.workers };
        loop {
            let before = self.cursor;
            let mut dealt = self.can_deal(index, demand).then(|| demand.share());
            let mut fill = self.advance(index, demand, Part { share: Share::ALL, dealt, room }, out)?;
            if self.spec.equal_steps.is_some() && dealt.is_some() && out.n_planned() < demand.workers {
                // Whose share a rank gets of so few depends on their number.
                self.cursor = before;
                out.clear();
                dealt = None;
                fill = self.advance(index, demand, Part { share: Share::ALL, dealt, room }, out)?;
            }
            let Some(fill) = fill else { return Ok(Progress::NeedIndex) };
            if self.spec.drops_last_of_sweeps() && out.sweep_end && fill == Fill::HasRoom {
                nothing = PlanRefusal::NoFullMinibatch { sequences: index.n_sequences() };
            } else if self.deal(demand, dealt.is_some(), out) {
                break;
            }
            if out.data_end {
                if (first, sequence) == (0, 0) && self.cursor.sweep > 0 {
                    return Err(nothing);
                }
                out.drop_all();
                break;
            }
            if self.cursor.sweep > first + 1 {
                return Err(nothing);
            }
            sweep_end |= out.sweep_end;
            out.clear();
        }
        out.sweep_end |= sweep_end;
        Ok(Progress::Planned)
    }

    /// True if this rank's share of a minibatch can be cut without listing the others.
    fn can_deal(&self, index: &Index, demand: Demand) -> bool {
        self.counts_foreign
            && demand.workers > 1
            && index.is_complete()
            && self.consumed.is_none()
            && self.spec.excluded.is_none()
            && self.order.can_deal(index)
    }

    /// Deals out a minibatch of all ranks, unless that was done while it was cut. `false`: drop it, because some rank would
    /// get no share.
    fn deal(&self, demand: Demand, is_dealt: bool, out: &mut BatchPlan) -> bool {
        let n = out.n_planned();
        let shares = match self.spec.equal_steps {
            Some(EqualSteps::Drop) if n > 0 && n < demand.workers => return false,
            Some(EqualSteps::Repeat) if n > 0 => demand.workers.min(n),
            _ => demand.workers,
        };
        let share = Share { workers: demand.workers, rank: demand.rank % shares };
        if is_dealt {
            out.note_dealt(share, shares)
        } else {
            out.deal(share, shares)
        }
        true
    }

    /// Cuts a minibatch at the planner's cursor and moves the cursor past it. `None`: more of the index is needed.
    fn advance(
        &mut self,
        index: &Index,
        demand: Demand,
        part: Part,
        out: &mut BatchPlan,
    ) -> Result<Option<Fill>> {
        let mut at = self.cursor;
        let Some(fill) = self.cut(index, demand, part, &mut at, out)? else { return Ok(None) };
        self.cursor = at;
        let drops = self.spec.ending.drop_last && !self.spec.drops_last_of_sweeps();
        if drops && out.data_end && fill == Fill::HasRoom {
            out.drop_all();
        }
        Ok(Some(fill))
    }

    /// Cuts a minibatch from a cursor, which is moved past it. `None`: more of the index is needed, and nothing has moved.
    fn cut(
        &mut self,
        index: &Index,
        demand: Demand,
        Part { share, dealt, room }: Part,
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Result<Option<Fill>> {
        let end = self.spec.end(index)?;
        let epoch_end = self.spec.epoch_end(at.position);
        let cut = Cut {
            index,
            spec: &self.spec,
            share,
            dealt,
            room,
            end: epoch_end.map_or(end, |e| Some(end.map_or(e, |end| end.min(e)))),
            last_sequence: self.spec.last_sequence_before(epoch_end),
            consumed: self.consumed.as_deref(),
            most: self.most,
        };
        let Some(fill) = self.order.cut(&cut, at, out)? else {
            out.clear();
            return Ok(None);
        };
        // The end of an epoch is not the end of the data.
        out.data_end &= epoch_end.is_none() || end.is_some_and(|end| at.position >= end);
        if fill == Fill::TooLarge {
            let most = self.most as u64;
            return Err(PlanRefusal::TooManySequences { samples: demand.samples, most });
        }
        Ok(Some(fill))
    }

    /// The planner's cursor: after the last minibatch planned.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Drops what only [`Planner::resume`] at a cursor before this one would need. Until the first call the planner
    /// keeps about one window.
    pub fn released(&mut self, oldest: Cursor) {
        self.order.release(&oldest);
    }

    /// Appends the chunks from which the rest of their sweep takes no sequence, as of the last minibatch planned,
    /// each once a sweep. The `global` order may need any chunk until the sweep ends and never appends one.
    pub fn take_retired(&mut self, index: &Index, into: &mut Vec<ChunkId>) {
        self.order.take_retired(index, &self.retired, &self.cursor, into);
        self.retired = self.cursor;
    }

    /// Bytes of memory held, beside the index.
    pub fn bytes(&self) -> usize {
        self.order.bytes()
    }

    /// [`PlanSpec::first_visit`] of the planner's own specification.
    pub fn first_visit(&self, index: &Index, planned: SequenceId, sweep: u64, demand: Demand) -> bool {
        self.spec.first_visit(index, planned, sweep, demand)
    }

    fn set_cursor(&mut self, mut cursor: Cursor) -> Cursor {
        if self.spec.equal_steps.is_none() {
            cursor.steps = Steps::default();
        }
        self.cursor = cursor;
        self.retired = cursor;
        cursor
    }

    /// True if the index reaches far enough for this order to plan anything.
    fn can_plan(&self, index: &Index) -> bool {
        index.is_complete() || self.info.plans_while_indexing
    }

    /// Refuses demands, corpora and specifications with which nothing can be read.
    fn check(&self, index: &Index, demand: Option<Demand>) -> Result<()> {
        if let Some(demand) = demand {
            demand.validate()?;
        }
        if !index.is_complete() {
            return Ok(());
        }
        if index.n_samples() == 0 {
            return Err(PlanRefusal::NoSamples);
        }
        // Such a rank would never fill a window: the reference hangs, or reads other ranks' sequences
        // (spec/engine.md §8.2).
        if let (true, Some(demand), Sharing::Chunk) = (self.info.is_local, demand, self.spec.sharing)
            && demand.rank >= self.info.n_shared(index)
        {
            let Demand { rank, workers, .. } = demand;
            let (chunks, sequences) = (index.n_chunks() as u64, index.n_sequences());
            return Err(PlanRefusal::RankWithoutData { rank, workers, chunks, sequences });
        }
        self.spec.check()?;
        demand.map_or(Ok(()), |demand| self.check_equal_steps(index, demand))?;
        self.spec.order.definition().check(index)
    }

    /// The position of a rank without data: the end (spec/engine.md §6.3). `None`: the rank has data.
    fn end_without_data(&self, index: &Index, demand: Option<Demand>) -> Result<Option<u64>> {
        let Some(demand) = demand.filter(|&demand| self.equal_steps(demand).is_none()) else {
            return Ok(None);
        };
        let by_chunk = self.spec.sharing == Sharing::Chunk && self.info.shares_chunks();
        if !by_chunk || demand.rank < index.n_chunks() as u64 {
            return Ok(None);
        }
        self.spec.end(index)
    }

    /// The cursor of a position, or the end for a rank without data. `None`: more of the index is needed.
    fn find(&mut self, index: &Index, position: u64, demand: Option<Demand>) -> Result<Option<Cursor>> {
        // Without a demand nothing is read yet: a state may be restored, and the first read refuses a wrong limit.
        if demand.is_some() {
            self.spec.end(index)?;
        }
        if !self.can_plan(index) {
            return Ok(None);
        }
        if let Some(end) = self.end_without_data(index, demand)? {
            return Ok(Some(Cursor::unplaced(end)));
        }
        if position > 0 {
            return self.find_in_sweep(index, position);
        }
        // What an order has forgotten of its first sweep must not be taken for all of it.
        let start = Cursor::default();
        self.order.rewind(index, &start);
        Ok(Some(start))
    }

    /// The cursor of the first sequence that starts at or after a position, however far the data reach.
    fn find_in_sweep(&mut self, index: &Index, position: u64) -> Result<Option<Cursor>> {
        let samples = index.n_samples();
        if !index.is_complete() && position >= samples {
            return Ok(None);
        }
        let sweep = position / samples;
        let found =
            self.order.find(index, &Cursor { position, sweep, ..Cursor::default() }, position % samples)?;
        let position = (sweep * samples).saturating_add(found.sample);
        let at = Cursor { position, sweep, sequence: found.number, ..Cursor::default() };
        if found.number < index.n_sequences() {
            return Ok(Some(at));
        }
        Ok(index.is_complete().then_some(Cursor { sweep: sweep + 1, sequence: 0, ..at }))
    }
}
