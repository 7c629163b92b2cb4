//! Local timelines, one for each rank (spec/engine.md §8): minibatches are cut from windows of entries, which are
//! filled one after the other.
//!
//! An order defines the contents of a window ([`FillWindow`]). Positions and sweeps count only what this rank has
//! delivered.
//!
//! Advice for the next editor: the end of a sweep is an entry of the window and is consumed only while the minibatch
//! has room (spec/engine.md §8), so the last minibatch of the data may not report it. A cursor names a window by its start and an
//! entry by its number, since a window can be filled again from its start alone. After a minibatch the cursor is
//! moved to an entry that exists, so that states equal those of the reference.

use tesson_core::{ChunkId, Index, SequenceId};

use super::{CutResult, Order, OrderMemory, SequenceStart, SequenceVisitor};
use crate::cut::{Cut, Fill};
use crate::share::Share;
use crate::size::Size;
use crate::{BatchPlan, Cursor, WindowStart};
use crate::{PlanRefusal, Result};

/// An entry of a window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A sequence, and its counted length.
    Sequence(SequenceId, u32),
    /// The end of a sweep of the data.
    SweepEnd,
}

/// An order on a local timeline: fills one window after the other.
pub(super) trait FillWindow: Send + Sync {
    /// Fills a window with at least one entry. `next` is its start, and is set to the start of the following window.
    fn fill(&mut self, index: &Index, share: Share, next: &mut WindowStart, entries: &mut Vec<Entry>);

    /// Bytes of memory held.
    fn bytes(&self) -> usize {
        0
    }
}

/// The windows of a rank.
pub(super) struct LocalOrder<F> {
    filler: F,
    entries: Vec<Entry>,
    /// The start of the window that the entries fill, and the share that they belong to.
    filled: Option<(WindowStart, Share)>,
    /// The start of the following window.
    next: WindowStart,
    /// Chunks of earlier windows.
    retired: Vec<ChunkId>,
}

impl<F: FillWindow> LocalOrder<F> {
    pub(super) fn new(filler: F) -> LocalOrder<F> {
        let (entries, retired) = (Vec::new(), Vec::new());
        LocalOrder { filler, entries, filled: None, next: WindowStart::default(), retired }
    }

    /// The entry at a cursor. Moves the cursor to the following window while its own has no such entry.
    fn at(&mut self, index: &Index, share: Share, cursor: &mut Cursor) -> Entry {
        while cursor.sequence >= self.window_len(index, share, cursor.window) {
            cursor.sequence -= self.entries.len() as u64;
            cursor.window = self.next;
        }
        self.entries[cursor.sequence as usize]
    }

    /// The number of entries in the window with a given start, which is filled if it is not the current one.
    fn window_len(&mut self, index: &Index, share: Share, window: WindowStart) -> u64 {
        if self.filled != Some((window, share)) {
            self.retire();
            self.entries.clear();
            self.filled = Some((window, share));
            self.next = window;
            self.filler.fill(index, share, &mut self.next, &mut self.entries);
        }
        self.entries.len() as u64
    }

    /// Records that the chunks of the current window are no longer needed.
    fn retire(&mut self) {
        let before = self.retired.len();
        self.retired.extend(self.entries.iter().filter_map(|entry| match entry {
            Entry::Sequence(planned, _) => Some(planned.chunk),
            Entry::SweepEnd => None,
        }));
        self.retired[before..].sort_unstable();
        self.retired.dedup();
    }
}

impl<F: FillWindow> Order for LocalOrder<F> {
    /// Cuts a minibatch and leaves the cursor at an entry of a window, unless the data end.
    fn cut(&mut self, cut: &Cut<'_>, at: &mut Cursor, out: &mut BatchPlan) -> CutResult {
        let window = self.window_len(cut.index, cut.share, at.window);
        if at.sequence > window {
            return Err(PlanRefusal::StateEntry { entry: at.sequence, n: window });
        }
        let ends = |at: Cursor| cut.spec.ends_locally(at, cut.share);
        let end = cut.spec.local_end(cut.share);
        let mut taken = Size::NOTHING;
        out.begin_sweep(at.sweep);
        while !cut.room.own.is_used_up_by(taken) && !ends(*at) {
            match self.at(cut.index, cut.share, at) {
                Entry::SweepEnd => {
                    out.sweep_end = true;
                    at.sweep += 1;
                    at.sequence += 1;
                    if !cut.spec.cross_sweep_ends && !out.own.is_empty() {
                        break;
                    }
                    out.begin_sweep(at.sweep);
                }
                Entry::Sequence(planned, length) => {
                    if !out.own.is_empty() && !cut.room.own.fits(taken, length.into()) {
                        break;
                    }
                    if out.own.len() == cut.most {
                        return Ok(Some(Fill::TooLarge));
                    }
                    let left = end.map_or(u64::MAX, |end| end - at.position);
                    if left < length.into() && cut.ends_in(left, true, out) {
                        break;
                    }
                    out.push(planned);
                    taken.add(length.into());
                    at.position += u64::from(length);
                    at.sequence += 1;
                }
            }
        }
        out.data_end |= ends(*at);
        if !out.data_end {
            self.at(cut.index, cut.share, at);
        }
        Ok(Some(if cut.room.own.is_used_up_by(taken) { Fill::Full } else { Fill::HasRoom }))
    }

    /// Visits nothing: there is no sweep of all ranks.
    fn visit(&mut self, _: &Index, _: &Cursor, _: SequenceVisitor<'_>) {}

    fn find(&mut self, _: &Index, at: &Cursor, _: u64) -> Result<SequenceStart> {
        Err(PlanRefusal::PositionAlone { position: at.position })
    }

    fn accepts(&self, index: &Index, cursor: &Cursor) -> Result<bool> {
        let (place, n) = (cursor.window.place, index.n_chunks() as u64);
        if index.is_complete() && place >= n {
            return Err(PlanRefusal::StateWindow { place, n });
        }
        Ok(index.is_complete())
    }
}

impl<F: FillWindow> OrderMemory for LocalOrder<F> {
    fn take_retired(&mut self, _: &Index, _: &Cursor, _: &Cursor, into: &mut Vec<ChunkId>) {
        into.append(&mut self.retired);
    }

    fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.filler.bytes()
    }
}
