//! The budget for fetching sequences one by one, in advance of their blocks: the first minibatches of a random order
//! need not wait for all blocks they touch.
//!
//! For the next editor: fetching one sequence reads more than its bytes, so a long run by single sequences would read
//! the corpus several times. The allowance bounds that excess to a small share of the corpus, and loaded blocks earn
//! some of it back, so that a restart later in a run is quick again.

use super::corpus_index::CorpusSize;

/// Sequences are fetched by themselves until this much has been spent on it, or this part of what the corpus is stored in.
const MOST: u64 = 32 << 20;
const SHARE: u64 = 64;

/// The least that fetching a single sequence is assumed to cost, in bytes of reading.
const COST: u64 = 2048;

/// An allowance, in bytes of reading. A minibatch is made as long as anything is left of it, so it may become less than nothing.
#[derive(Debug)]
pub(super) struct RowAllowance {
    left: i64,
    most: i64,
    /// The cost of fetching one sequence.
    cost: i64,
}

impl RowAllowance {
    pub(super) fn of(corpus: CorpusSize) -> RowAllowance {
        let most = (corpus.storage / SHARE + 1).min(MOST) as i64;
        RowAllowance { left: most, most, cost: corpus.of_sequence().max(COST) as i64 }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left <= 0
    }

    /// Charges sequences that are fetched by themselves.
    pub(super) fn spend(&mut self, sequences: usize) {
        self.left -= sequences as i64 * self.cost;
    }

    /// A block of so many bytes has been loaded, which makes up for some of what was spent.
    pub(super) fn earn(&mut self, bytes: usize) {
        self.left = (self.left + (bytes as u64 / SHARE) as i64).min(self.most);
    }

    /// The plan begins somewhere else, where the blocks are others.
    pub(super) fn renew(&mut self) {
        self.left = self.left.max(self.most / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_part_of_the_corpus_and_blocks_earn_it_back() {
        let corpus = CorpusSize { storage: 6400 << 10, n_sequences: 64, n_chunks: 1, n_blocks: 4 };
        let mut rows = RowAllowance::of(corpus);
        // A sequence has 100 KiB, as much as may be spent.
        assert!(!rows.is_spent());
        rows.spend(2);
        assert!(rows.is_spent());
        rows.earn((6400 << 10) - 64);
        assert!(rows.is_spent());
        rows.earn(64);
        assert!(!rows.is_spent());
        // No more comes together than there was.
        (0..100).for_each(|_| rows.earn(6400 << 10));
        rows.spend(2);
        assert!(rows.is_spent());
    }

    #[test]
    fn elsewhere_a_quarter_of_it_is_there_again() {
        let mut rows = RowAllowance::of(CorpusSize {
            storage: 64 << 20,
            n_sequences: 64 << 10,
            n_chunks: 2,
            n_blocks: 8,
        });
        rows.spend(100_000);
        assert!(rows.is_spent());
        rows.renew();
        assert!(!rows.is_spent());
        rows.spend(256 * 1024 / COST as usize);
        assert!(rows.is_spent());
    }
}
