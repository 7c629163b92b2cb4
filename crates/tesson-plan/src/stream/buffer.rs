//! tf.data's shuffle (spec/tfds.md §8.5): an item is drawn from a buffer, the front one moves into its place, and the
//! next one is added at the end.
//!
//! The modulo of a 32-bit word is biased; it is tf.data's and must stay. One word is drawn for each item, so the
//! number of draws is the position in the pass.

use crate::rng::Words;

/// The buffer of one pass. Items are numbered as they come; number `j` has place `j mod size`.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    items: Vec<u64>,
    size: u64,
    /// The place of the item at the front, and the number of items.
    front: usize,
    held: u64,
    words: Words,
}

impl Buffer {
    /// An empty buffer for `size` items, at least one. Memory grows with the items that it holds.
    pub(super) fn new(size: u64, words: Words) -> Buffer {
        Buffer { items: Vec::new(), size, front: 0, held: 0, words }
    }

    /// The buffer after `drawn` draws, with these items, the front first.
    pub(super) fn after(size: u64, words: Words, drawn: u64, items: Vec<u64>) -> Buffer {
        Buffer { size, front: 0, held: items.len() as u64, items, words: words.after(drawn) }
    }

    /// The number of items that have been drawn.
    pub(super) fn drawn(&self) -> u64 {
        self.words.drawn()
    }

    /// The items in the buffer, the front first.
    pub(super) fn items(&self) -> impl ExactSizeIterator<Item = u64> {
        (0..self.held as usize).map(|distance| self.items[self.place(distance as u64)])
    }

    /// True if there is room for another item.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.held < self.size
    }

    /// Adds an item after all others. There must be room for it.
    #[inline]
    pub(super) fn push(&mut self, item: u64) {
        debug_assert!(self.has_room());
        // Places are used for the first time in order, so none is skipped.
        let place = self.place(self.held);
        if place == self.items.len() {
            self.items.push(item);
        } else {
            self.items[place] = item;
        }
        self.held += 1;
    }

    /// Draws an item; `None` when the buffer is empty.
    #[inline(always)]
    pub(super) fn draw(&mut self) -> Option<u64> {
        if self.held == 0 {
            return None;
        }
        let word = self.words.draw();
        // A division of 32 bits is several times faster than one of 64.
        let offset = match u32::try_from(self.held) {
            Ok(held) => u64::from(word % held),
            Err(_) => u64::from(word),
        };
        let place = self.place(offset);
        let item = self.items[place];
        self.items[place] = self.items[self.front];
        self.front = self.place(1);
        self.held -= 1;
        Some(item)
    }

    /// The place of the item at this distance from the front, at most `size`.
    #[inline]
    fn place(&self, distance: u64) -> usize {
        let place = self.front as u64 + distance;
        (if place >= self.size { place - self.size } else { place }) as usize
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<u64>()
    }
}
