//! The planner: where it stands, and how it gets there.

mod equal;

use std::sync::Arc;

use tesson_core::{Index, UsageError};

use crate::cut::{BeyondIndex, Cut, Fill, Room, Size};
use crate::order::{
    Bucketed, Global, Local, Order, OrderSpec, Shuffled, Window, Windowed, first_from, only_length,
};
use crate::share::Share;
use crate::{
    BatchPlan, Bucketing, Consumed, Cursor, Demand, LastSequence, PlanSpec, Planned, ResumeState, Sharing,
    Steps,
};

/// Whether a minibatch has been planned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has.
    Planned,
    /// The index is still growing and more of it is needed; the planner is as before the call.
    NeedIndex,
}

/// Plans one minibatch after the other.
///
/// Every call is given the index; it must be the same one, or the same one grown. Orders other than
/// [`OrderSpec::AsStored`] need it complete.
pub struct Planner {
    spec: PlanSpec,
    order: Orders,
    cursor: Cursor,
    consumed: Option<Arc<Consumed>>,
    /// As stored: chunks before the one of this cursor have been reported as done.
    retired: Cursor,
    /// Sequences that a minibatch may hold.
    most: usize,
}

/// The orders, with what they have worked out.
enum Orders {
    AsStored,
    Windowed(Box<Windowed>),
    Global(Box<Global>),
    Local(Box<Local>),
    Bucketed(Box<Bucketed>),
}

impl Orders {
    /// What an order has worked out before anything is asked of it.
    fn of(spec: &PlanSpec) -> Orders {
        match (&spec.order, spec.bucketing) {
            (OrderSpec::ChunkWindow { window, seed }, Some(size)) => {
                let inner = Shuffled::Windowed(Box::new(Windowed::new(window.clone(), *seed)));
                Orders::Bucketed(Box::new(Bucketed::new(inner, *seed, size)))
            }
            (OrderSpec::Global { seed }, Some(size)) => {
                let inner = Shuffled::Global(Box::new(Global::new(*seed)));
                Orders::Bucketed(Box::new(Bucketed::new(inner, *seed, size)))
            }
            (OrderSpec::AsStored, _) => Orders::AsStored,
            (OrderSpec::ChunkWindow { window, seed }, None) => {
                Orders::Windowed(Box::new(Windowed::new(window.clone(), *seed)))
            }
            (OrderSpec::Global { seed }, None) => Orders::Global(Box::new(Global::new(*seed))),
            (OrderSpec::LocalPlain, _) => Orders::Local(Box::new(Local::plain())),
            (OrderSpec::Tumbling { window, seed }, _) => {
                Orders::Local(Box::new(Local::tumbling(window.clone(), *seed)))
            }
        }
    }
}

impl Planner {
    /// A planner that stands at the start of the data. [`Planner::start`] applies the rules of a demand to that.
    pub fn new(spec: PlanSpec) -> Planner {
        let order = Orders::of(&spec);
        Planner {
            spec,
            order,
            cursor: Cursor::default(),
            consumed: None,
            retired: Cursor::default(),
            most: usize::MAX,
        }
    }

    /// Refuses minibatches of more sequences than this: endless data would fill any memory otherwise.
    #[must_use]
    pub fn with_most_sequences(mut self, most: usize) -> Planner {
        self.most = most;
        self
    }

    /// Goes to the start of the data. `None`: more of the index is needed.
    ///
    /// # Errors
    /// [`UsageError`] for a demand, a limit or a corpus that nothing can be read with.
    pub fn start(&mut self, index: &Index, demand: Demand) -> Result<Option<Cursor>, UsageError> {
        self.seek(index, 0, Some(demand))
    }

    /// Goes to the first sequence that starts at or after a position, in samples since the start (§10.1), be it
    /// beyond the end of the data. Without a demand no rule of ranks is applied. `None`: more of the index
    /// is needed.
    ///
    /// Reads through the lengths of the sweep up to there, unless the order is as stored or all lengths are equal.
    ///
    /// # Errors
    /// As [`Planner::start`].
    pub fn seek(
        &mut self,
        index: &Index,
        position: u64,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>, UsageError> {
        self.check(index, demand)?;
        let Some(cursor) = self.find(index, position, demand)? else { return Ok(None) };
        self.consumed = None;
        Ok(Some(self.stand_at(cursor)))
    }

    /// Goes to a cursor that this plan has handed out. Cheap where the planner still holds what it needs for that:
    /// a window or so back, or as far as [`Planner::released`] was told; in the `global` order and as stored always.
    /// `None`: more of the index is needed.
    ///
    /// # Errors
    /// As [`Planner::start`], and for a cursor that cannot be of this corpus.
    pub fn resume(
        &mut self,
        index: &Index,
        cursor: Cursor,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>, UsageError> {
        self.check(index, demand)?;
        if cursor.is_unplaced() {
            let found = self.find(index, cursor.position, demand)?;
            return Ok(found.map(|cursor| self.stand_at(cursor)));
        }
        if let Orders::Local(_) = self.order {
            return Ok(self.local_cursor(index, cursor)?.map(|cursor| self.stand_at(cursor)));
        }
        let n = index.n_sequences();
        if !self.can_tell(index) || !index.is_complete() && (cursor.sweep > 0 || cursor.sequence > n) {
            return Ok(None);
        }
        if cursor.sequence > n {
            let what = format!("the state's next sequence is {}, the corpus has {n}", cursor.sequence);
            return Err(UsageError(what));
        }
        self.check_steps(index, cursor, demand)?;
        let cursor = self.without_data(index, demand)?.unwrap_or(cursor);
        if !cursor.is_unplaced() {
            self.go_back(index, cursor);
        }
        Ok(Some(self.stand_at(cursor)))
    }

    /// Makes the order ready to go on from a cursor.
    fn go_back(&mut self, index: &Index, cursor: Cursor) {
        match &mut self.order {
            Orders::Windowed(order) => order.rewind(index, cursor),
            Orders::Bucketed(order) => order.rewind(index, cursor),
            Orders::AsStored | Orders::Global(_) | Orders::Local(_) => {}
        }
    }

    /// Goes to where a state was saved: [`Planner::resume`] for full states, [`Planner::seek`] for bare positions.
    /// What a merged state says was consumed will be left out.
    ///
    /// # Errors
    /// As these, and for a rank's state where sharing is by position: it says nothing about the other ranks.
    pub fn restore(
        &mut self,
        index: &Index,
        state: &ResumeState,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>, UsageError> {
        if let (Sharing::Position, Some((workers @ 2.., rank))) = (self.spec.sharing, state.share) {
            return Err(UsageError(format!(
                "the state is that of rank {rank} of {workers} under sharing by chunk; sharing by position goes on from all ranks' states together, see `merge_states`"
            )));
        }
        let found = if state.is_bare() && !self.spec.order.is_local() {
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
    /// The plan of a rank may have no sequences although it is not the end ([`BatchPlan::is_end`]).
    ///
    /// # Errors
    /// As [`Planner::start`].
    pub fn next_batch(
        &mut self,
        index: &Index,
        demand: Demand,
        out: &mut BatchPlan,
    ) -> Result<Progress, UsageError> {
        self.check(index, Some(demand))?;
        out.clear();
        if !self.can_tell(index) {
            return Ok(Progress::NeedIndex);
        }
        if let Some(mode) = self.keeps_together(demand) {
            return self.next_equal(index, demand, mode, out);
        }
        // Applied at every call: such a rank would look for an own sequence for ever.
        if let Some(nowhere) = self.without_data(index, Some(demand))? {
            self.cursor = nowhere;
        }
        // Sharing by position cuts as for a single worker and deals the result out.
        let sequences = self.spec.most_sequences.unwrap_or(u64::MAX);
        let share_and_room = match self.spec.sharing {
            Sharing::Chunk => {
                let local = self.spec.local_timeline || self.spec.order.is_local();
                (Share::new(demand.workers, demand.rank), Room::of(demand, sequences, local))
            }
            Sharing::Position => (Share::ALL, Room::all(Size { samples: demand.samples, sequences })),
        };
        let (first, mut sweep_end) = (self.cursor.sweep, false);
        loop {
            let mut at = self.cursor;
            let Some(fill) = self.cut(index, demand, share_and_room, &mut at, out)? else {
                return Ok(Progress::NeedIndex);
            };
            self.cursor = at;
            if self.spec.ending.drop_last && out.data_end && fill == Fill::HasRoom {
                out.drop_all();
            }
            if self.spec.sharing == Sharing::Chunk || self.settle_shares(demand, out) {
                break;
            }
            if out.data_end {
                out.drop_all();
                break;
            }
            if self.cursor.sweep > first + 1 {
                return Err(UsageError(format!(
                    "no minibatch of {} samples of a whole sweep has a sequence for each of {} workers; choose a larger size",
                    demand.samples, demand.workers
                )));
            }
            sweep_end |= out.sweep_end;
            out.clear();
        }
        out.sweep_end |= sweep_end;
        self.consumed.take_if(|consumed| !consumed.is_ahead_of(self.cursor));
        out.after = self.cursor;
        Ok(Progress::Planned)
    }

    /// Cuts a minibatch from a cursor, which is moved past it. `None`: more of the index is needed, and nothing has moved.
    fn cut(
        &mut self,
        index: &Index,
        demand: Demand,
        (share, room): (Share, Room),
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Result<Option<Fill>, UsageError> {
        let end = self.spec.end(index)?;
        let epoch_end = self.spec.epoch_end(at.position);
        let cut = Cut {
            index,
            share,
            room,
            end: epoch_end.map_or(end, |e| Some(end.map_or(e, |end| end.min(e)))),
            cross_sweep_ends: self.spec.cross_sweep_ends,
            // A sequence across the end of an epoch belongs to the earlier one, whole.
            last_sequence: match epoch_end {
                None => self.spec.ending.last_sequence,
                Some(_) => LastSequence::Whole,
            },
            consumed: self.consumed.as_deref(),
            most: self.most,
        };
        let fill = match &mut self.order {
            Orders::AsStored => match cut.straight(at, out) {
                Ok(fill) => fill,
                Err(BeyondIndex) => {
                    out.clear();
                    return Ok(None);
                }
            },
            Orders::Windowed(order) => cut.rounds(&mut **order, at, out),
            Orders::Bucketed(order) => cut.rounds(&mut **order, at, out),
            Orders::Local(order) => {
                let found = order.window_len(index, share, at.window);
                if at.sequence > found {
                    let what = format!("the state's next entry is {}, its window has {found}", at.sequence);
                    return Err(UsageError(what));
                }
                let (workers, rank) = share.workers_and_rank();
                let ends = |at| self.spec.ends_locally(at, workers, rank);
                cut.local(order, ends, self.spec.local_end(workers, rank), at, out)
            }
            Orders::Global(order) => cut.rounds(&mut **order, at, out),
        };
        // The end of an epoch is none of the data.
        out.data_end &= epoch_end.is_none() || end.is_some_and(|end| at.position >= end);
        if fill == Fill::TooLarge {
            return Err(UsageError(format!(
                "a minibatch of {} samples would hold more than {} sequences, for which memory is too small; choose a smaller size or a larger `memoryLimit`",
                demand.samples, self.most
            )));
        }
        Ok(Some(fill))
    }

    /// Where the planner stands: after the last minibatch planned.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Says that nobody will [`Planner::resume`] at a cursor before this one, so that what is held for that can go.
    /// Until the first call about a window is held.
    pub fn released(&mut self, oldest: Cursor) {
        match &mut self.order {
            Orders::Windowed(order) => order.release(oldest),
            Orders::Bucketed(order) => order.release(oldest),
            Orders::AsStored | Orders::Global(_) | Orders::Local(_) => {}
        }
    }

    /// Appends chunks that their sweep does not come back to after the last minibatch planned, each once a sweep.
    /// The `global` order may come back to any chunk and never appends one.
    pub fn take_retired(&mut self, index: &Index, into: &mut Vec<u32>) {
        let cursor = self.cursor;
        match &mut self.order {
            Orders::AsStored => self.retire_as_stored(index, into),
            Orders::Windowed(order) => order.take_retired(cursor, into),
            Orders::Bucketed(order) => order.take_retired(cursor, into),
            Orders::Global(_) => {}
            Orders::Local(order) => order.take_retired(into),
        }
    }

    fn retire_as_stored(&mut self, index: &Index, into: &mut Vec<u32>) {
        let chunk_at = |cursor: Cursor| {
            if cursor.sequence < index.n_sequences() {
                index.chunk_of_sequence(cursor.sequence)
            } else {
                index.n_chunks()
            }
        };
        let (from, to) = (chunk_at(self.retired), chunk_at(self.cursor));
        match self.cursor.sweep.saturating_sub(self.retired.sweep) {
            0 => into.extend(from as u32..to as u32),
            1 => into.extend((from as u32..index.n_chunks() as u32).chain(0..to as u32)),
            _ => into.extend(0..index.n_chunks() as u32),
        }
        self.retired = self.cursor;
    }

    /// Bytes of memory held, beside the index.
    pub fn bytes(&self) -> usize {
        match &self.order {
            Orders::AsStored => 0,
            Orders::Windowed(order) => order.bytes(),
            Orders::Bucketed(order) => order.bytes(),
            Orders::Global(order) => order.bytes(),
            Orders::Local(order) => order.bytes(),
        }
    }

    /// [`PlanSpec::first_visit`] of the planner's own specification.
    pub fn first_visit(&self, index: &Index, planned: Planned, sweep: u64, demand: Demand) -> bool {
        self.spec.first_visit(index, planned, sweep, demand)
    }

    /// A cursor of a local timeline, if it can be one of this corpus.
    fn local_cursor(&self, index: &Index, cursor: Cursor) -> Result<Option<Cursor>, UsageError> {
        if !index.is_complete() {
            return Ok(None);
        }
        let (place, n) = (cursor.window.place, index.n_chunks() as u64);
        if place >= n {
            return Err(UsageError(format!(
                "the state's window begins at chunk {place}, the corpus has {n}"
            )));
        }
        Ok(Some(cursor))
    }

    fn stand_at(&mut self, mut cursor: Cursor) -> Cursor {
        if self.spec.equal_steps.is_none() {
            cursor.steps = Steps::default();
        }
        self.cursor = cursor;
        self.retired = cursor;
        cursor
    }

    /// Whether the index reaches far enough for this order to say anything.
    fn can_tell(&self, index: &Index) -> bool {
        index.is_complete() || matches!(self.order, Orders::AsStored)
    }

    fn can_be_bucketed(&self) -> bool {
        matches!(self.spec.order, OrderSpec::ChunkWindow { .. } | OrderSpec::Global { .. })
    }

    /// What must hold for anything to be read.
    fn check(&self, index: &Index, demand: Option<Demand>) -> Result<(), UsageError> {
        if let Some(demand) = demand {
            demand.validate()?;
        }
        if !index.is_complete() {
            return Ok(());
        }
        if index.n_samples() == 0 {
            return Err(UsageError("the corpus has no samples".into()));
        }
        if let (Orders::Local(order), Some(demand), Sharing::Chunk) = (&self.order, demand, self.spec.sharing)
            && !order.has_share(index, demand.rank)
        {
            return Err(UsageError(format!(
                "rank {} of {} gets no data: there are {} chunks with {} sequences; take fewer workers or smaller chunks",
                demand.rank,
                demand.workers,
                index.n_chunks(),
                index.n_sequences()
            )));
        }
        if self.spec.most_sequences == Some(0) {
            return Err(UsageError(
                "minibatches of 0 sequences are asked for, at least 1 is expected".into(),
            ));
        }
        if let Some(Bucketing { samples: 0, .. } | Bucketing { sequences: 0, .. }) = self.spec.bucketing {
            return Err(UsageError(
                "buckets are to hold 0 samples or sequences, at least 1 is expected".into(),
            ));
        }
        if self.spec.bucketing.is_some() && !self.can_be_bucketed() {
            return Err(UsageError(format!(
                "bucketing is for shuffled orders, this one is {}",
                self.spec.order.name()
            )));
        }
        demand.map_or(Ok(()), |demand| self.check_equal_steps(index, demand))?;
        let Some(window) = self.spec.order.window() else { return Ok(()) };
        if *window == Window::Chunks(0) || *window == Window::Samples(0) && self.spec.order.is_local() {
            let unit = if *window == Window::Chunks(0) { "chunks" } else { "samples" };
            return Err(UsageError(format!("the randomization window is 0 {unit}, at least 1 is expected")));
        }
        if index.n_sequences() > u32::MAX.into() {
            let what =
                "are too many for a randomization window (`randomize = \"global\"` shuffles any number)";
            return Err(UsageError(format!("{} sequences {what}", index.n_sequences())));
        }
        Ok(())
    }

    /// The cursor of a rank without data: its position is the end (§6.3).
    fn without_data(&self, index: &Index, demand: Option<Demand>) -> Result<Option<Cursor>, UsageError> {
        let Some(demand) = demand.filter(|&demand| self.keeps_together(demand).is_none()) else {
            return Ok(None);
        };
        let by_chunk =
            self.spec.sharing == Sharing::Chunk && !matches!(self.order, Orders::AsStored | Orders::Local(_));
        if !by_chunk || demand.rank < index.n_chunks() as u64 {
            return Ok(None);
        }
        Ok(self.spec.end(index)?.map(Cursor::unplaced))
    }

    /// The cursor of a position.
    fn find(
        &mut self,
        index: &Index,
        position: u64,
        demand: Option<Demand>,
    ) -> Result<Option<Cursor>, UsageError> {
        // A state may be restored before anything is asked for: limits are refused by what reads.
        if demand.is_some() {
            self.spec.end(index)?;
        }
        if !self.can_tell(index) {
            return Ok(None);
        }
        if let Some(cursor) = self.without_data(index, demand)? {
            return Ok(Some(cursor));
        }
        if position == 0 {
            return Ok(Some(Cursor::default()));
        }
        let samples = index.n_samples();
        if !index.is_complete() && position >= samples {
            return Ok(None);
        }
        let (sweep, offset) = (position / samples, position % samples);
        let (sequence, start) = match &mut self.order {
            Orders::AsStored => first_from(index, offset),
            Orders::Local(_) => {
                return Err(UsageError(format!(
                    "position {position} says nothing on a timeline of each rank's own, a whole state is expected"
                )));
            }
            Orders::Windowed(order) => {
                order.rewind(index, Cursor { position, sweep, ..Cursor::default() });
                scan(&mut **order, index, sweep, offset)
            }
            Orders::Bucketed(order) => {
                order.rewind(index, Cursor { position, sweep, ..Cursor::default() });
                scan(&mut **order, index, sweep, offset)
            }
            Orders::Global(order) => match only_length(index) {
                Some(length) => (offset.div_ceil(length), offset.next_multiple_of(length)),
                None => scan(&mut **order, index, sweep, offset),
            },
        };
        if sequence == index.n_sequences() && !index.is_complete() {
            return Ok(None);
        }
        let cursor = Cursor {
            position: (sweep * samples).saturating_add(start),
            sweep,
            sequence,
            ..Cursor::default()
        };
        Ok(Some(if sequence < index.n_sequences() {
            cursor
        } else {
            Cursor { sweep: sweep + 1, sequence: 0, ..cursor }
        }))
    }
}

/// The first sequence of a sweep that starts at or after a sample, and the sample it starts at.
fn scan<O: Order>(order: &mut O, index: &Index, sweep: u64, offset: u64) -> (u64, u64) {
    order.enter(index, sweep);
    let (mut sequence, mut start, mut ready) = (0, 0, 0);
    while start < offset {
        if sequence == ready {
            ready = order.prepare(index, sequence);
        }
        start += u64::from(order.get(sequence).length);
        sequence += 1;
    }
    (sequence, start)
}
