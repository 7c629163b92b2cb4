//! How a memory limit is divided.
//!
//! The memory that index and plan leave goes to blocks, to the threads' work, and to minibatches that wait for their
//! caller ([`Budget`]). How large a single minibatch, sample or sequence may be follows from the limit alone, so that
//! no schedule of threads decides whether data can be read.

use tesson_core::{DecodeRoom, SEQUENCES_IN_MEMORY};

/// Storage bytes that are decoded at once, where memory allows: with their columns they fit a core's own cache.
const RUN_BYTES: u64 = 512 << 10;

/// Storage bytes of a block that stays in memory for random access, where memory allows: few enough for the threads to
/// share them out, so many that a minibatch of sequences from everywhere touches few blocks, and large pages of memory.
const BLOCK_BYTES: u64 = 8 << 20;

/// Blocks that a corpus is divided into at least, where they are larger than what is decoded at once.
const BLOCKS: u64 = 16;

/// Minibatches packed in advance take this much at most.
const PREFETCH_BYTES: u64 = 8 << 20;

/// Bytes that the allocator may hold beyond those in use: this part of the limit, and at most this many.
const ALLOCATOR_SHARE: u64 = 16;
const ALLOCATOR_BYTES: u64 = 64 << 20;

/// Minibatches that are being made, or wait for their caller, take this part of the memory limit at most. One that takes
/// more is made alone, when its caller waits for it.
pub(crate) const BATCHES_SHARE: usize = 4;

/// Bytes of dense values that one sequence may have under any limit: twice the text that it may have, as `0 ` makes four
/// bytes of two.
pub(crate) const SEQUENCE_AT_LEAST: usize = 512 << 10;

/// Up to this limit a minibatch may take all of it.
const SMALL_LIMIT: usize = 4 * SEQUENCE_AT_LEAST;

/// How memory is divided, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Decoded blocks that may be in memory.
    pub(crate) blocks: u64,
    /// Packed minibatches that may wait for their caller.
    pub(crate) prefetch: u64,
    /// Storage that is decoded at once.
    pub(crate) run_bytes: u64,
    /// Storage of the largest block that stays in memory.
    pub(crate) block_bytes: u64,
    /// Memory of decoded blocks that may wait to be decoded into again.
    pub(crate) chunk_pool: u64,
}

impl Budget {
    pub(crate) fn of(bytes: u64, threads: usize) -> Budget {
        let prefetch = (bytes / 8).min(PREFETCH_BYTES);
        let run_bytes = (bytes / (32 * threads as u64)).clamp(1, RUN_BYTES);
        let block_bytes = (bytes / (64 * threads as u64)).clamp(run_bytes, BLOCK_BYTES.max(run_bytes));
        // Each worker holds a byte run's text and its columns, and what is packed of a block; as much lies ready to be
        // reused, or more, since byte runs may be larger than they are meant to be.
        let scratch = (4 * run_bytes + block_bytes) * (1 + threads as u64);
        let chunk_pool = (4 * run_bytes * (1 + threads as u64)).max(bytes / 16);
        let allocator = (bytes / ALLOCATOR_SHARE).min(ALLOCATOR_BYTES);
        let blocks = bytes - (2 * prefetch + scratch + chunk_pool + allocator).min(bytes);
        Budget { blocks, prefetch, run_bytes, block_bytes, chunk_pool }
    }

    /// Bytes of a block of a corpus of so many: of a small one there are enough blocks for all threads, too.
    pub(crate) fn block_bytes_of(&self, storage: u64) -> u64 {
        (storage / BLOCKS).clamp(self.run_bytes, self.block_bytes)
    }
}

/// Bytes of the largest minibatch under a memory limit: beside it there is memory for making it. Small limits leave that
/// aside, as they would refuse minibatches of one sequence otherwise.
pub(crate) fn largest_batch(memory_limit: u64) -> u64 {
    let share = memory_limit - memory_limit / BATCHES_SHARE as u64;
    share.max(memory_limit.min(SMALL_LIMIT as u64))
}

/// The least memory limit under which a minibatch of this size is [allowed](largest_batch).
pub(crate) fn limit_for(bytes: u64) -> u64 {
    const SHARE: u64 = BATCHES_SHARE as u64;
    let share = (u128::from(bytes) * u128::from(SHARE)).div_ceil(u128::from(SHARE) - 1);
    if bytes <= SMALL_LIMIT as u64 { bytes } else { u64::try_from(share).unwrap_or(u64::MAX) }
}

/// A minibatch, a file and making a sample of it for the minibatch leave this part of the memory limit to other files and to the
/// allocator.
const OTHERS_SHARE: u64 = 8;

/// Bytes of a minibatch, of a file and of making a sample of it for the minibatch, at most. Small limits bound neither by the other.
pub(crate) fn largest_with_sample(memory_limit: u64) -> u64 {
    if memory_limit <= SMALL_LIMIT as u64 { u64::MAX } else { memory_limit - memory_limit / OTHERS_SHARE }
}

/// The least memory limit under which a minibatch and a sample of these sizes are [allowed](largest_with_sample).
pub(crate) fn limit_with_sample(bytes: u64) -> u64 {
    let share = (u128::from(bytes) * u128::from(OTHERS_SHARE)).div_ceil(u128::from(OTHERS_SHARE) - 1);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// The memory for decoding one sequence under a memory limit.
pub(crate) fn decode_room(memory_limit: usize) -> DecodeRoom {
    let share = memory_limit / SEQUENCES_IN_MEMORY as usize;
    DecodeRoom { sequence: share.max(SEQUENCE_AT_LEAST), ..DecodeRoom::default() }
}

/// The memory for decoding a byte run: as much as the shortest text of numbers can turn into.
pub(crate) fn run_room(bytes: u64) -> usize {
    4 * bytes as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minibatch_fits_the_limit_that_its_refusal_names() {
        for bytes in [1, 1 << 20, 2 << 20, (2 << 20) + 1, 3 << 30, u64::MAX / 2] {
            let limit = limit_for(bytes);
            assert!(largest_batch(limit) >= bytes, "{bytes} under {limit}");
            // Rounding makes it larger by one at most.
            assert!(limit == bytes || largest_batch(limit - 2) < bytes, "{bytes} under less than {limit}");
        }
    }

    #[test]
    fn all_parts_together_are_within_the_limit() {
        for threads in [1, 2, 64] {
            for bytes in [1, 1 << 20, 64 << 20, 4 << 30, 1 << 40] {
                let Budget { blocks, prefetch, run_bytes, block_bytes, chunk_pool } =
                    Budget::of(bytes, threads);
                assert!(run_bytes <= block_bytes && run_bytes <= RUN_BYTES);
                assert!(blocks <= bytes && (blocks == 0 || blocks + 2 * prefetch + chunk_pool <= bytes));
            }
        }
    }
}
