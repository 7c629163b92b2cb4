//! The random words of tf.data's shuffles: Philox4x32-10 with one seed as the key and the other in the counter
//! (spec/tfds.md §8.3).

use super::philox::rounds;

/// The number of words made at once: four blocks, so that the multiplications of one overlap with those of another.
const AHEAD: usize = 16;

/// The words of a pair of seeds, from any position on.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    key: [u32; 2],
    high: [u32; 2],
    block: u64,
    ready: [u32; AHEAD],
    used: usize,
}

impl Words {
    /// The words of `G(s, t)`, from the first on.
    pub(crate) fn new(s: u64, t: u64) -> Words {
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        Words { key: halves(s), high: halves(t), block: 0, ready: [0; AHEAD], used: AHEAD }
    }

    /// Skips the first `drawn` words.
    pub(crate) fn after(self, drawn: u64) -> Words {
        let ahead = AHEAD as u64;
        let mut words = Words { block: drawn / ahead * (ahead / 4), used: AHEAD, ..self };
        let over = (drawn % ahead) as usize;
        if over > 0 {
            words.renew();
            words.used = over;
        }
        words
    }

    /// The number of words that have been drawn.
    pub(crate) fn drawn(&self) -> u64 {
        self.block * 4 + self.used as u64 - AHEAD as u64
    }

    /// Word `i`, from 0.
    pub(crate) fn at(&self, i: u64) -> u32 {
        self.block(i / 4)[(i % 4) as usize]
    }

    /// The next word.
    #[inline]
    pub(crate) fn draw(&mut self) -> u32 {
        if self.used == AHEAD {
            self.renew();
        }
        self.used += 1;
        self.ready[self.used - 1]
    }

    /// The block at this distance from the first. The counter has 128 bits; in 2^64 blocks no carry reaches the
    /// second seed.
    #[inline(always)]
    fn block(&self, n: u64) -> [u32; 4] {
        rounds([n as u32, (n >> 32) as u32, self.high[0], self.high[1]], self.key)
    }

    #[inline(never)]
    fn renew(&mut self) {
        let n = self.block;
        // Written out: a closure for each block is not always inlined.
        let blocks: [[u32; 4]; AHEAD / 4] =
            [self.block(n), self.block(n + 1), self.block(n + 2), self.block(n + 3)];
        self.ready.as_chunks_mut::<4>().0.copy_from_slice(&blocks);
        self.block += AHEAD as u64 / 4;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(pair: (u64, u64), n: usize) -> Vec<u32> {
        let mut words = Words::new(pair.0, pair.1);
        (0..n).map(|_| words.draw()).collect()
    }

    #[test]
    fn words_after_others_are_found() {
        let mut words = Words::new(5, 6);
        for drawn in 0..70 {
            let mut other = Words::new(5, 6).after(drawn);
            assert_eq!((words.drawn(), other.drawn()), (drawn, drawn));
            assert_eq!(words.draw(), other.draw(), "after {drawn}");
        }
    }

    #[test]
    fn first_words_are_those_of_the_specification() {
        let zero = [
            0x6627_e8d5,
            0xe169_c58d,
            0xbc57_ac4c,
            0x9b00_dbd8,
            0xf8e4_cca4,
            0x5cb2_00db,
            0xb1a5_74eb,
            0x097e_ff67,
        ];
        assert_eq!(first((0, 0), 8), zero);
        let page = [0x8e7c_5c71, 0x5c06_bd31, 0x2b2c_ed7d, 0x1f71_864d, 0x1bbd_6067, 0xb152_684b];
        assert_eq!(first((87654321, 32), 6), page);
        let pass = [519241869, 2319468927, 3230456732, 377758397, 793673165, 2015755741];
        assert_eq!(first((2390514801, 1543945521), 6), pass);
    }

    #[test]
    fn any_word_is_found_without_those_before_it() {
        let words = Words::new(5, 1 << 40);
        let found: Vec<u32> = (0..100).map(|i| words.at(i)).collect();
        assert_eq!(found, first((5, 1 << 40), 100));
    }
}
