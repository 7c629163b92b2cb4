//! CNTK's block order over all sweeps: the shuffle of the current one, and of the one before while it may be wanted.

use tesson_core::Index;

use super::ahead::Ahead;
use super::shuffle::Shuffle;
use super::{Next, Order, Window};
use crate::Cursor;

/// The shuffles of the sweeps, one after the other.
pub(crate) struct Windowed {
    window: Window,
    seed: u64,
    current: Option<Shuffle>,
    /// The sweep that the current one followed, while somebody may go back to it.
    previous: Option<Shuffle>,
    /// The oldest cursor that somebody may go back to, if they have said so.
    oldest: Option<Cursor>,
    /// Chunks that their sweep has done with and that have not been reported yet.
    retired: Vec<u32>,
    ahead: Ahead,
    /// Whether nothing has been asked for yet.
    is_new: bool,
}

impl Windowed {
    pub(crate) fn new(window: Window, seed: u64) -> Windowed {
        Windowed {
            window,
            seed,
            current: None,
            previous: None,
            oldest: None,
            retired: Vec::new(),
            ahead: Ahead::default(),
            is_new: true,
        }
    }

    /// Says that nobody will go back behind this cursor.
    pub(crate) fn release(&mut self, oldest: Cursor) {
        self.oldest = Some(oldest);
        if self.previous.as_ref().is_some_and(|p| p.sweep < oldest.sweep) {
            self.previous = None;
        }
    }

    /// Makes a cursor's sweep current and, if its sequence has been forgotten, starts that sweep anew.
    pub(crate) fn rewind(&mut self, index: &Index, cursor: Cursor) {
        self.enter(index, cursor.sweep);
        if let Some(current) = self.current.as_mut().filter(|c| !c.holds(cursor.sequence)) {
            current.restart(index, &self.window, self.seed, cursor.sweep);
        }
    }

    /// Reports chunks that their sweep does not come back to after `cursor`, each once a sweep.
    pub(crate) fn take_retired(&mut self, cursor: Cursor, into: &mut Vec<u32>) {
        if let Some(current) = &mut self.current {
            let done = if current.sweep < cursor.sweep { u64::MAX } else { cursor.sequence };
            current.retire(done, &mut self.retired);
        }
        into.append(&mut self.retired);
    }

    /// Where the runs of sequences of the current sweep begin that a window takes in, one after the other; the last one
    /// begins where the sweep ends.
    pub(super) fn pools(&self, index: &Index) -> Vec<u64> {
        let current = self.current.as_ref().expect("a sweep is entered before it is asked");
        current.pools(index, &self.window)
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        [&self.current, &self.previous].into_iter().flatten().map(Shuffle::bytes).sum()
    }

    /// Puts the current shuffle aside for the one of another sweep.
    fn leave(&mut self, index: &Index, mut left: Shuffle, sweep: u64) -> Shuffle {
        if left.sweep < sweep {
            left.retire(u64::MAX, &mut self.retired);
        }
        if self.oldest.is_some_and(|oldest| oldest.sweep <= left.sweep) && left.sweep < sweep {
            self.previous = Some(left);
            return Shuffle::new(index, &self.window, self.seed, sweep);
        }
        left.restart(index, &self.window, self.seed, sweep);
        left
    }
}

impl Order for Windowed {
    fn enter(&mut self, index: &Index, sweep: u64) {
        // A shuffle is large: it stays where it is unless the sweep changes.
        if self.current.as_ref().is_some_and(|current| current.sweep == sweep) {
            return;
        }
        self.current = Some(match (self.current.take(), self.previous.take()) {
            (_, Some(previous)) if previous.sweep == sweep => previous,
            (Some(current), _) => self.leave(index, current, sweep),
            (None, _) => Shuffle::new(index, &self.window, self.seed, sweep),
        });
    }

    fn prepare(&mut self, index: &Index, from: u64) -> u64 {
        let current = self.current.as_mut().expect("a sweep is entered before it is asked");
        if let Some(end) = self.ahead.end(current.sweep, from) {
            return end;
        }
        if std::mem::take(&mut self.is_new) {
            current.look_at(from);
        }
        let keep = match self.oldest {
            Some(oldest) if oldest.sweep == current.sweep => oldest.sequence,
            Some(oldest) if oldest.sweep < current.sweep => 0,
            _ => u64::MAX,
        };
        let end = current.prepare(from, keep);
        self.ahead.fill(index, current.sweep, from, end, |sequence| current.get(sequence))
    }

    #[inline]
    fn get(&self, sequence: u64) -> Next {
        self.ahead.get(sequence)
    }
}
