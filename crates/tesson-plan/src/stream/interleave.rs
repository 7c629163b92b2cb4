//! Files read in turns (spec/tfds.md §8.2): `cycle` slots, `block` examples of a slot at a time.
//!
//! Slots that stay empty, because there are no more files, are removed; tf.data passes over them, which gives the
//! same order. So there are never more slots than files, however long the cycle is.
//!
//! Advice for the next editor: a slot gets its next file when the cycle comes back to it, not at once, and a file
//! that ends exactly with a block is discovered one round later, in a visit that delivers nothing. Both decide the
//! order. `skip` may jump only over whole rounds in which no file ends; everything else goes through `run`, as `next`
//! does.

use super::Span;
use super::files::Files;

/// The file of a slot with the rest of its span; `None` after the file has ended and before the next one is opened.
type Slot = Option<(usize, Span)>;

/// An interleave of one traversal.
#[derive(Clone, Debug)]
pub(super) struct Interleave {
    cycle: u64,
    block: u64,
    slots: Vec<Slot>,
    /// The current slot, and the examples that it has delivered in this turn.
    at: usize,
    given: u64,
    /// True if there are no more files.
    done: bool,
}

impl Interleave {
    /// `cycle` and `block` are at least 1.
    pub(super) fn new(cycle: u64, block: u64) -> Interleave {
        Interleave { cycle, block, slots: Vec::new(), at: 0, given: 0, done: false }
    }

    /// Forgets all slots: a traversal begins.
    pub(super) fn begin(&mut self, files: &mut Files) {
        self.open_files().for_each(|(file, left)| files.leave(file, left, false));
        *self =
            Interleave { slots: std::mem::take(&mut self.slots), ..Interleave::new(self.cycle, self.block) };
        self.slots.clear();
    }

    /// The files in the slots, with the rest of each span.
    pub(super) fn open_files(&self) -> impl Iterator<Item = (usize, Span)> {
        self.slots.iter().flatten().copied()
    }

    /// The next example.
    #[inline]
    pub(super) fn next(&mut self, files: &mut Files, passes: &mut u64) -> Option<u64> {
        self.run(1, files, passes).map(|run| run.first)
    }

    /// The next examples of one turn, up to `most`, which is at least 1.
    #[inline(always)]
    pub(super) fn run(&mut self, most: u64, files: &mut Files, passes: &mut u64) -> Option<Span> {
        loop {
            let Some(Some((file, slot))) = self.slots.get_mut(self.at) else {
                self.open(files, passes)?;
                continue;
            };
            let len = slot.len.min(self.block - self.given).min(most);
            if len == 0 {
                files.leave(*file, *slot, true);
                self.slots[self.at] = None;
                self.turn();
                continue;
            }
            let run = Span { first: slot.first, len };
            *slot = Span { first: slot.first + len, len: slot.len - len };
            self.given += len;
            if self.given == self.block {
                self.turn();
            }
            return Some(run);
        }
    }

    /// Skips `n` examples, in a time that depends on the number of files, not on `n` (spec/tfds.md §12.2). A result
    /// below `n` means the end.
    pub(super) fn skip(&mut self, n: u64, files: &mut Files, passes: &mut u64) -> u64 {
        let mut left = n;
        while left > 0 {
            left -= self.skip_rounds(left);
            if left == 0 {
                break;
            }
            let Some(run) = self.run(left, files, passes) else { break };
            left -= run.len;
        }
        n - left
    }

    /// Skips whole rounds in which no file ends; returns the number of examples in them.
    fn skip_rounds(&mut self, most: u64) -> u64 {
        let full = self.done || self.slots.len() as u64 == self.cycle;
        if !full || self.at != 0 || self.given != 0 || self.slots.is_empty() {
            return 0;
        }
        let n_slots = self.slots.len() as u64;
        let mut rounds = most / self.block.saturating_mul(n_slots);
        for slot in &self.slots {
            let Some((_, slot)) = slot else { return 0 };
            rounds = rounds.min(slot.len.saturating_sub(1) / self.block);
            if rounds == 0 {
                return 0;
            }
        }
        let each = rounds * self.block;
        for (_, slot) in self.slots.iter_mut().flatten() {
            *slot = Span { first: slot.first + each, len: slot.len - each };
        }
        each * n_slots
    }

    /// Opens a file for a slot that has none, or removes the slot; `None` if no slot is left.
    #[cold]
    fn open(&mut self, files: &mut Files, passes: &mut u64) -> Option<()> {
        let is_new = self.at == self.slots.len();
        if is_new && (self.done || self.slots.len() as u64 == self.cycle) {
            self.at = 0;
            return (!self.slots.is_empty()).then_some(());
        }
        let file = if self.done { None } else { files.next(passes) };
        self.done = file.is_none();
        match (file, is_new) {
            (Some(_), true) => self.slots.push(file),
            (Some(_), false) => self.slots[self.at] = file,
            (None, true) => {}
            (None, false) => drop(self.slots.remove(self.at)),
        }
        Some(())
    }

    fn turn(&mut self) {
        self.at += 1;
        self.given = 0;
        if self.at as u64 == self.cycle || self.done && self.at == self.slots.len() {
            self.at = 0;
        }
    }
}
