//! The specification of a stream: its files, their interleave, and the operations on examples.

use std::num::NonZeroU64;

use super::Seeding;

/// Consecutive records of a file, numbered within the whole dataset.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the first record.
    pub first: u64,
    /// The number of records.
    pub len: u64,
}

/// An operation on examples; they are applied in the order of their list (spec/tfds.md §8.6, §8.7). As in tf.data, a
/// negative number of repeats or of examples to take stands for all of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// A shuffle in a buffer.
    Shuffle {
        /// The number of examples in the buffer.
        buffer: NonZeroU64,
        /// Its seeds.
        seeding: Seeding,
    },
    /// This number of passes, one after the other.
    Repeat(i64),
    /// All but the first examples; none at all if the number is negative.
    Skip(i64),
    /// The first examples.
    Take(i64),
    /// Every `count`-th example, from `index` on.
    Shard {
        /// The number of shares among which the stream is dealt out.
        count: NonZeroU64,
        /// The number of this share, from 0.
        index: u64,
    },
    /// Changes no order itself, but separates its neighbours: a repeat on it does not lie directly on a shuffle
    /// (spec/tfds.md §8.6).
    Prefetch,
}

impl StreamOp {
    /// True if the last of these operations that changes anything is a shuffle: tf.data fuses it with a repeat on it
    /// (spec/tfds.md §8.6).
    pub(super) fn last_is_shuffle(ops: &[StreamOp]) -> bool {
        ops.iter().rfind(|op| !op.is_idle()).is_some_and(|op| op.is_shuffle())
    }

    pub(super) fn is_shuffle(self) -> bool {
        matches!(self, StreamOp::Shuffle { .. })
    }

    /// True if the operation changes nothing: tf.data removes it before it looks at the others.
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

/// The specification of a stream of examples (spec/tfds.md §8.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSpec {
    /// The spans of files, in the order of the plan.
    pub files: Vec<Span>,
    /// The shuffle of the files, if they are shuffled.
    pub shuffle_files: Option<Seeding>,
    /// True if the files are repeated without end before they are interleaved (`repeat_filenames`).
    pub repeat_files: bool,
    /// The number of files that are read in turns (`interleave_cycle_length`).
    pub cycle: NonZeroU64,
    /// The number of examples in a turn (`interleave_block_length`).
    pub block: NonZeroU64,
    /// The number of examples that the files must supply, if that is checked (spec/tfds.md §8.11).
    pub expected: Option<u64>,
    /// The operations on the examples, in order.
    pub ops: Vec<StreamOp>,
}
