//! Cutting minibatches (§6, §7): how many of the sequences that come next go together.

use tesson_core::Index;

use crate::order::{Entry, Local, Next, Order, Walk};
use crate::share::Share;
use crate::{BatchPlan, Consumed, Cursor, Demand, LastSequence, Planned};

/// So many samples, in so many sequences.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) samples: u64,
    pub(crate) sequences: u64,
}

impl Size {
    pub(crate) const NOTHING: Size = Size { samples: 0, sequences: 0 };
    pub(crate) const ANY: Size = Size { samples: u64::MAX, sequences: u64::MAX };

    /// Whether another sequence of this length fits beside what was taken.
    #[inline]
    pub(crate) fn fits(self, taken: Size, length: u64) -> bool {
        taken.samples + length <= self.samples && taken.sequences < self.sequences
    }

    /// Whether what was taken leaves nothing over.
    #[inline]
    pub(crate) fn is_used_up_by(self, taken: Size) -> bool {
        taken.samples >= self.samples || taken.sequences >= self.sequences
    }

    #[inline]
    pub(crate) fn add(&mut self, length: u64) {
        self.samples += length;
        self.sequences += 1;
    }

    /// Whether all of this fits beside what was taken.
    fn fits_into(self, room: Size, taken: Size) -> bool {
        taken.samples + self.samples <= room.samples
            && taken.sequences.saturating_add(self.sequences) <= room.sequences
    }

    fn minus(self, taken: Size) -> Size {
        Size { samples: self.samples - taken.samples, sequences: self.sequences - taken.sequences }
    }
}

/// How large a minibatch may get; the smaller limit wins.
#[derive(Copy, Clone)]
pub(crate) struct Room {
    /// Of all ranks.
    pub(crate) global: Size,
    /// Of this rank.
    pub(crate) own: Size,
}

impl Room {
    const EMPTY: Room = Room { global: Size::NOTHING, own: Size::NOTHING };

    /// The room that a demand and the most sequences of a minibatch leave to its rank (§6.1).
    ///
    /// On a local timeline either size is divided among the workers, and every one gets at least a sample and a sequence.
    pub(crate) fn of(demand: Demand, most_sequences: u64, local_timeline: bool) -> Room {
        let Demand { samples, workers, rank } = demand;
        if local_timeline {
            let share = |n: u64| (n / workers + u64::from(rank < n % workers)).max(1);
            let own = Size { samples: share(samples), sequences: share(most_sequences) };
            Room { global: Size::ANY, own }
        } else {
            Room::all(Size { samples, sequences: most_sequences })
        }
    }

    /// The room of all ranks together.
    pub(crate) fn all(size: Size) -> Room {
        Room { global: size, own: size }
    }

    /// Whether a sequence does not fit any more, after what was taken.
    #[inline]
    fn is_exceeded_by(self, taken: Room, length: u64, own: bool) -> bool {
        !self.global.fits(taken.global, length) || own && !self.own.fits(taken.own, length)
    }

    #[inline]
    fn is_used_up_by(self, taken: Room) -> bool {
        self.global.is_used_up_by(taken.global) || self.own.is_used_up_by(taken.own)
    }
}

/// How a minibatch fills its room once it is cut.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// The data end before its first sequence.
    Nothing,
    Full,
    /// More would have fit.
    HasRoom,
    /// It would hold more sequences than memory allows; the plan is incomplete.
    TooLarge,
}

/// What a round has put into its room.
struct Filling {
    room: Room,
    taken: Room,
    /// The next own sequence is taken however long it is: it would never be delivered otherwise.
    forced: bool,
    too_large: bool,
}

impl Filling {
    fn of(room: Room, forced: bool) -> Filling {
        Filling { room, taken: Room::EMPTY, forced, too_large: false }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.room.is_used_up_by(self.taken)
    }

    fn fill(&self) -> Fill {
        match (self.too_large, self.is_full()) {
            (true, _) => Fill::TooLarge,
            (false, true) => Fill::Full,
            (false, false) => Fill::HasRoom,
        }
    }
}

/// The sequence that comes next.
struct Item {
    planned: Planned,
    length: u64,
    /// It is given by this rank, and not by one before the states were merged.
    own: bool,
    consumed: bool,
    /// Samples from its beginning to the end of the data.
    left: u64,
}

/// What stays the same while one minibatch is cut.
pub(crate) struct Cut<'a> {
    pub(crate) index: &'a Index,
    pub(crate) share: Share,
    pub(crate) room: Room,
    /// Where the data end; `None` if that is beyond all that is known.
    pub(crate) end: Option<u64>,
    pub(crate) cross_sweep_ends: bool,
    pub(crate) last_sequence: LastSequence,
    pub(crate) consumed: Option<&'a Consumed>,
    /// Sequences that a minibatch may hold.
    pub(crate) most: usize,
}

/// The index does not reach far enough to cut the minibatch.
pub(crate) struct BeyondIndex;

impl Cut<'_> {
    /// Looks at a sequence that the end of the data lies in, `left` samples behind its beginning; whether nothing is
    /// given of it.
    #[cold]
    fn ends_in(&self, left: u64, own: bool, out: &mut BatchPlan) -> bool {
        match self.last_sequence {
            LastSequence::Whole => {}
            LastSequence::LeftOut => out.data_end = true,
            // Less than the sequence has, so it fits.
            LastSequence::Cut => out.keep_of_last = own.then_some(left as u32),
        }
        self.last_sequence == LastSequence::LeftOut
    }

    /// Puts a sequence into a round's room; whether it got there, or may be passed as another's.
    #[inline]
    fn put(&self, item: Item, into: &mut Filling, out: &mut BatchPlan) -> bool {
        let Item { planned, length, own, consumed, left } = item;
        if !into.forced && !consumed && into.room.is_exceeded_by(into.taken, length, own) {
            return false;
        }
        if left == 0 || left < length && self.ends_in(left, own, out) {
            return false;
        }
        if own {
            if out.own.len() == self.most {
                into.too_large = true;
                return false;
            }
            out.own.push(planned);
            into.taken.own.add(length);
            into.forced = false;
        }
        if !consumed {
            into.taken.global.add(length);
        }
        true
    }

    /// Cuts a minibatch from a shuffled order (§6.2): rounds, each within one sweep.
    pub(crate) fn rounds<O: Order>(&self, order: &mut O, at: &mut Cursor, out: &mut BatchPlan) -> Fill {
        let mut left = self.room;
        let mut fill = Fill::Nothing;
        loop {
            let forced = !out.sweep_end;
            let before = *at;
            let sequences = out.own.len();
            let Some(filling) = self.round(order, left, forced, at, out) else { break };
            fill = filling.fill();
            if !forced && *at == before {
                break;
            }
            // A whole sweep without a sequence to deliver: all of it was consumed before the states were merged.
            if at.sweep > before.sweep && before.sequence == 0 && out.own.len() == sequences {
                break;
            }
            if !self.cross_sweep_ends || !out.sweep_end || out.data_end || fill != Fill::HasRoom {
                break;
            }
            let taken = filling.taken;
            left = Room { global: left.global.minus(taken.global), own: left.own.minus(taken.own) };
        }
        fill
    }

    /// One round: up to the end of a sweep or of the room. Before any sweep end at least one own sequence is taken
    /// (`forced`). `None`: the data end before.
    fn round<O: Order>(
        &self,
        order: &mut O,
        room: Room,
        forced: bool,
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Option<Filling> {
        let (samples, n) = (self.index.n_samples(), self.index.n_sequences());
        let end = self.end.unwrap_or(u64::MAX);
        if at.position >= end {
            out.data_end = true;
            out.sweep_end |= at.position >= samples && at.position.is_multiple_of(samples);
            return None;
        }
        let mut filling = Filling::of(room, forced);
        order.enter(self.index, at.sweep);
        out.begin_sweep(at.sweep);
        let (mut position, mut sequence, mut ready) = (at.position, at.sequence, at.sequence);
        while sequence < n {
            if sequence == ready {
                ready = order.prepare(self.index, sequence);
            }
            let Next { planned, home, length } = order.get(sequence);
            let length = u64::from(length);
            let consumed = self.consumed.is_some_and(|c| c.holds(position, home));
            // A bucket that has to be divided is begun by the next minibatch. What is one rank's of it is not known.
            if !filling.forced
                && let Some(bucket) = order.bucket_at(sequence).filter(|_| self.share == Share::ALL)
                && !bucket.fits_into(room.own, filling.taken.own)
            {
                break;
            }
            let own = !consumed && self.share.owns(home);
            let item = Item { planned, length, own, consumed, left: end.saturating_sub(position) };
            if !self.put(item, &mut filling, out) {
                break;
            }
            position += length;
            sequence += 1;
        }
        out.data_end |= position >= end;
        at.position = position;
        at.sequence = sequence;
        if sequence == n {
            out.sweep_end = true;
            *at = Cursor { position, sweep: at.sweep + 1, ..Cursor::default() };
        }
        Some(filling)
    }

    /// Cuts a minibatch on a local timeline (§8). `ends` says where its data end, `end` after how many samples.
    ///
    /// The cursor is left at an entry of a window, unless the data end.
    pub(crate) fn local(
        &self,
        order: &mut Local,
        ends: impl Fn(Cursor) -> bool,
        end: Option<u64>,
        at: &mut Cursor,
        out: &mut BatchPlan,
    ) -> Fill {
        let mut taken = Size::NOTHING;
        out.begin_sweep(at.sweep);
        while !self.room.own.is_used_up_by(taken) && !ends(*at) {
            match order.at(self.index, self.share, at) {
                Entry::SweepEnd => {
                    out.sweep_end = true;
                    at.sweep += 1;
                    at.sequence += 1;
                    if !self.cross_sweep_ends && !out.own.is_empty() {
                        break;
                    }
                    out.begin_sweep(at.sweep);
                }
                Entry::Sequence(planned, length) => {
                    if !out.own.is_empty() && !self.room.own.fits(taken, length.into()) {
                        break;
                    }
                    if out.own.len() == self.most {
                        return Fill::TooLarge;
                    }
                    let left = end.map_or(u64::MAX, |end| end - at.position);
                    if left < length.into() && self.ends_in(left, true, out) {
                        break;
                    }
                    out.own.push(planned);
                    taken.add(length.into());
                    at.position += u64::from(length);
                    at.sequence += 1;
                }
            }
        }
        out.data_end |= ends(*at);
        if !out.data_end {
            order.at(self.index, self.share, at);
        }
        if self.room.own.is_used_up_by(taken) { Fill::Full } else { Fill::HasRoom }
    }

    /// Cuts a minibatch from the order as stored (§7): one run over sweep ends, that stops when the room is full.
    ///
    /// # Errors
    /// [`BeyondIndex`] while the index grows and what follows its last sequence matters.
    pub(crate) fn straight(&self, at: &mut Cursor, out: &mut BatchPlan) -> Result<Fill, BeyondIndex> {
        if self.end.is_some_and(|end| at.position >= end) {
            let samples = self.index.n_samples();
            out.data_end = true;
            // Within a first sweep that is still being read no sweep has ended.
            out.sweep_end =
                self.index.is_complete() && at.position >= samples && at.position.is_multiple_of(samples);
            return Ok(Fill::Nothing);
        }
        let n = self.index.n_sequences();
        if at.sequence == n {
            return Err(BeyondIndex);
        }
        let mut cursor = *at;
        let fill = self.fill(&mut cursor, out)?;
        out.data_end |= self.end.is_some_and(|end| cursor.position >= end);
        out.sweep_end = cursor.sweep != at.sweep;
        *at = cursor;
        Ok(fill)
    }

    fn fill(&self, at: &mut Cursor, out: &mut BatchPlan) -> Result<Fill, BeyondIndex> {
        let n = self.index.n_sequences();
        let mut walk = Walk::new(self.index, at.sequence);
        let mut filling = Filling::of(self.room, true);
        // Counts over sweep ends and since the start, so that shares do not change when a run is gone on with.
        let mut number = at.sweep.wrapping_mul(n).wrapping_add(at.sequence);
        out.begin_sweep(at.sweep);
        while !filling.is_full() {
            let (planned, length) = walk.step();
            let consumed = self.consumed.is_some_and(|c| c.holds(at.position, number));
            let own = !consumed && self.share.owns(number);
            let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(at.position));
            if !self.put(Item { planned, length, own, consumed, left }, &mut filling, out) {
                break;
            }
            at.position += length;
            at.sequence += 1;
            number = number.wrapping_add(1);
            if at.sequence == n {
                if !self.index.is_complete() {
                    return Err(BeyondIndex);
                }
                *at = Cursor { position: at.position, sweep: at.sweep + 1, ..Cursor::default() };
                if !self.cross_sweep_ends {
                    break;
                }
                walk = Walk::new(self.index, 0);
                out.begin_sweep(at.sweep);
            }
        }
        Ok(filling.fill())
    }
}
