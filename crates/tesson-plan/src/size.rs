//! Sizes in samples and sequences: of the sequences taken so far, and of the room that a minibatch has.

use crate::Demand;

/// A number of samples, in a number of sequences.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) samples: u64,
    pub(crate) sequences: u64,
}

impl Size {
    pub(crate) const NOTHING: Size = Size { samples: 0, sequences: 0 };
    pub(crate) const ANY: Size = Size { samples: u64::MAX, sequences: u64::MAX };

    /// True if another sequence of this length fits beside what was taken.
    #[inline]
    pub(crate) fn fits(self, taken: Size, length: u64) -> bool {
        taken.samples + length <= self.samples && taken.sequences < self.sequences
    }

    /// True if what was taken leaves no room.
    #[inline]
    pub(crate) fn is_used_up_by(self, taken: Size) -> bool {
        taken.samples >= self.samples || taken.sequences >= self.sequences
    }

    #[inline]
    pub(crate) fn add(&mut self, length: u64) {
        self.samples += length;
        self.sequences += 1;
    }

    /// True if all of this fits into a room beside what was taken.
    pub(crate) fn fits_into(self, room: Size, taken: Size) -> bool {
        taken.samples + self.samples <= room.samples
            && taken.sequences.saturating_add(self.sequences) <= room.sequences
    }

    fn minus(self, taken: Size) -> Size {
        // A first sequence is taken even if it exceeds the room.
        Size {
            samples: self.samples.saturating_sub(taken.samples),
            sequences: self.sequences.saturating_sub(taken.sequences),
        }
    }
}

/// The limits of a minibatch's size; the smaller one wins.
#[derive(Copy, Clone)]
pub(crate) struct Room {
    /// The limit for all ranks together (`G` in spec/engine.md §6.1).
    pub(crate) global: Size,
    /// The limit for this rank (`L`).
    pub(crate) own: Size,
}

impl Room {
    pub(crate) const EMPTY: Room = Room { global: Size::NOTHING, own: Size::NOTHING };

    /// The room that a demand and the limit on sequences leave to its rank (spec/engine.md §6.1).
    ///
    /// On a local timeline both sizes are divided among the workers, and each gets at least one sample and one
    /// sequence.
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

    /// Adds sequences that count for all ranks and for this one.
    pub(crate) fn add_all(&mut self, size: Size) {
        for sum in [&mut self.global, &mut self.own] {
            sum.samples += size.samples;
            sum.sequences += size.sequences;
        }
    }

    /// The room that is there for all ranks and for this one.
    pub(crate) fn least(self) -> Size {
        let Room { global, own } = self;
        Size { samples: global.samples.min(own.samples), sequences: global.sequences.min(own.sequences) }
    }

    /// The rest of the room after what was taken.
    pub(crate) fn minus(self, taken: Room) -> Room {
        Room { global: self.global.minus(taken.global), own: self.own.minus(taken.own) }
    }

    /// True if a sequence does not fit any more after what was taken.
    #[inline]
    pub(crate) fn is_exceeded_by(self, taken: Room, length: u64, own: bool) -> bool {
        !self.global.fits(taken.global, length) || own && !self.own.fits(taken.own, length)
    }

    #[inline]
    pub(crate) fn is_used_up_by(self, taken: Room) -> bool {
        self.global.is_used_up_by(taken.global) || self.own.is_used_up_by(taken.own)
    }
}
