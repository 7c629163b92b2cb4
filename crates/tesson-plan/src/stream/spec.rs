//! What a stream is made of.

use std::num::NonZeroU64;

use super::Seeding;

/// Records of a file that follow each other, numbered in the whole dataset.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the first record.
    pub first: u64,
    /// How many there are.
    pub len: u64,
}

/// An operation on examples; they are applied in the order of their list (spec/tfds.md §8.6, §8.7). As in tf.data, a
/// negative number of repeats or of examples to take stands for all of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// A shuffle with a buffer of so many examples.
    Shuffle {
        /// Examples it is drawn from.
        buffer: NonZeroU64,
        /// Its seeds.
        seeding: Seeding,
    },
    /// So many passes, one after the other.
    Repeat(i64),
    /// All but the first examples; none at all if the number is negative.
    Skip(i64),
    /// The first examples.
    Take(i64),
    /// Every `count`-th example, from `index` on.
    Shard {
        /// Into how many shares the stream is dealt.
        count: NonZeroU64,
        /// Which of them it is, from 0.
        index: u64,
    },
    /// Nothing that changes the order, but it stands between its neighbours: a repeat on it is not directly on a shuffle
    /// (spec/tfds.md §8.6).
    Prefetch,
}

impl StreamOp {
    /// Whether the last of these that changes anything is a shuffle: tf.data makes one operation of it and a repeat on it
    /// (spec/tfds.md §8.6).
    pub(super) fn last_is_shuffle(ops: &[StreamOp]) -> bool {
        ops.iter().rfind(|op| !op.is_idle()).is_some_and(|op| op.is_shuffle())
    }

    pub(super) fn is_shuffle(self) -> bool {
        matches!(self, StreamOp::Shuffle { .. })
    }

    /// Whether the operation changes nothing: tf.data takes such a one out before it looks at the others.
    pub fn is_idle(self) -> bool {
        match self {
            StreamOp::Shuffle { .. } | StreamOp::Prefetch => false,
            StreamOp::Repeat(n) => n == 1,
            StreamOp::Skip(n) => n == 0,
            StreamOp::Take(n) => n < 0,
            StreamOp::Shard { count, index } => count.get() == 1 && index == 0,
        }
    }
}

/// A stream of examples: what is read, and in which order (spec/tfds.md §8.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    /// The stretches of files, in the order of the plan.
    pub files: Vec<Span>,
    /// The shuffle of the files, if they are shuffled.
    pub shuffle_files: Option<Seeding>,
    /// The files are repeated for ever, before they are interleaved (`repeat_filenames`).
    pub repeat_files: bool,
    /// Files that are read in turns (`interleave_cycle_length`).
    pub cycle: NonZeroU64,
    /// Examples of a turn (`interleave_block_length`).
    pub block: NonZeroU64,
    /// How many examples the files must give, if that is checked (spec/tfds.md §8.11).
    pub expected: Option<u64>,
    /// What is done with the examples then.
    pub ops: Vec<StreamOp>,
}
