//! The order in which a shuffle gives items that a plan cannot number: batches, results of a user's function.
//!
//! The caller holds the items, pushes their numbers and receives the number that comes next. The algorithm and its
//! generator are those of [`super::StreamOp::Shuffle`], and the position in a pass is two counts.

use std::num::NonZeroU64;

use tesson_core::ResumeError;

use super::Seeding;
use super::buffer::Buffer;

/// Items between two calls of `interrupted`.
const CALL_INTERVAL: u64 = 1 << 20;

/// One pass of a shuffle over items numbered from 0 in the order in which they are pushed.
#[derive(Clone, Debug)]
pub struct ItemShuffle {
    buffer: Buffer,
    pushed: u64,
}

impl ItemShuffle {
    /// A pass, numbered from 0, at its beginning.
    pub fn new(size: NonZeroU64, seeding: Seeding, pass: u64) -> ItemShuffle {
        ItemShuffle { buffer: Buffer::new(size.get(), seeding.words(pass)), pushed: 0 }
    }

    /// Whether another item is wanted before the next is drawn. At the end of the input there is none.
    pub fn has_room(&self) -> bool {
        self.buffer.has_room()
    }

    /// Adds the next item; returns its number. Call it only if there is room.
    pub fn push(&mut self) -> u64 {
        self.buffer.push(self.pushed);
        self.pushed += 1;
        self.pushed - 1
    }

    /// The number of the item that comes next; `None` if no item is left.
    pub fn draw(&mut self) -> Option<u64> {
        self.buffer.draw()
    }

    /// Items drawn so far.
    pub fn drawn(&self) -> u64 {
        self.buffer.drawn()
    }

    /// Items pushed so far.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// The numbers of the items that are in the buffer.
    pub fn held(&self) -> Vec<u64> {
        self.buffer.items().collect()
    }

    /// Goes from the beginning of the pass to where so many items had been pushed and drawn. `interrupted` is called
    /// every few milliseconds of a long skip; if it returns `true` the shuffle stays at the beginning.
    ///
    /// # Errors
    /// Counts that no pass has; `interrupted` has returned `true`.
    pub fn go_to(
        &mut self,
        pushed: u64,
        drawn: u64,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<(), ResumeError> {
        let error = |source: &str| {
            let drawn = format_args!("{drawn} of {pushed} items drawn");
            ResumeError::new("the position in a shuffle", drawn, source)
        };
        let mut there = self.clone();
        while there.drawn() < drawn {
            while there.pushed < pushed && there.has_room() {
                there.push();
            }
            if there.draw().is_none() {
                return Err(error("more drawn than pushed"));
            }
            if there.drawn().is_multiple_of(CALL_INTERVAL) && interrupted() {
                return Err(error("interrupted on the way"));
            }
        }
        while there.pushed < pushed && there.has_room() {
            there.push();
        }
        if there.pushed != pushed {
            return Err(error("a buffer that holds fewer"));
        }
        *self = there;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::SeedPair;

    fn shuffle(size: u64, seed: i128) -> ItemShuffle {
        let seeding = Seeding { pair: SeedPair::new(seed, None), reshuffle: true };
        ItemShuffle::new(NonZeroU64::new(size).unwrap(), seeding, 0)
    }

    /// What comes next if there are `n` items in all.
    fn next(shuffle: &mut ItemShuffle, n: u64) -> Option<u64> {
        while shuffle.pushed() < n && shuffle.has_room() {
            shuffle.push();
        }
        shuffle.draw()
    }

    #[test]
    fn items_come_in_the_order_of_the_specification() {
        let mut all = shuffle(10, 32);
        let order: Vec<u64> = std::iter::from_fn(|| next(&mut all, 10)).collect();
        assert_eq!(order, [9, 7, 6, 5, 0, 2, 3, 1, 4, 8]);
    }

    #[test]
    fn every_position_is_found_again_with_what_the_buffer_holds_there() {
        let mut passed = shuffle(4, 5);
        loop {
            let mut found = shuffle(4, 5);
            found.go_to(passed.pushed(), passed.drawn(), &mut || false).unwrap();
            assert_eq!(found.held(), passed.held());
            let ahead =
                |mut of: ItemShuffle| -> Vec<u64> { std::iter::from_fn(|| next(&mut of, 10)).collect() };
            assert_eq!(ahead(found), ahead(passed.clone()));
            if next(&mut passed, 10).is_none() {
                break;
            }
        }
    }

    #[test]
    fn counts_of_no_pass_are_refused() {
        for (pushed, drawn) in [(3, 4), (9, 2)] {
            assert!(shuffle(4, 5).go_to(pushed, drawn, &mut || false).is_err());
        }
        assert!(shuffle(4, 5).go_to(1 << 22, 1 << 21, &mut || true).is_err());
    }
}
