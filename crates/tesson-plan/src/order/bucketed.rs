//! Bucketing: groups sequences of similar length, so that minibatches hold little padding.
//!
//! A sweep of a shuffled order is cut into *pools* of as many sequences as its window holds. In each pool the
//! sequences are sorted by length (of equal ones the earlier first), cut into *buckets* of a number of samples and
//! sequences, and the buckets are shuffled. So each pool keeps its sequences, each once. The result is a function of
//! index, seed, sweep and size of the buckets, not of the minibatches, and any position is reached by working out one
//! pool.
//!
//! Advice for the next editor: states depend on the stable sort, on where buckets end, on the seed of a pool and on
//! the draws of the shuffle. Sorted runs without shuffled buckets were rejected, because training notices rising
//! lengths; so were buckets of the requested minibatch size and buckets of each rank's own sequences, because the
//! order would depend on calls and on the number of workers (decision 11).

use std::ops::Range;

use tesson_core::{ChunkId, Index};

use super::sweep::SweepOrder;
use super::{Next, Order, OrderMemory};
use crate::Cursor;
use crate::rng::{GOLDEN, Mt19937_64, mix};
use crate::size::Size;

/// The size of the buckets in which sequences of similar length are grouped. Both limits hold; a longer sequence is
/// alone in its bucket.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bucketing {
    /// Samples of a bucket; the number in a minibatch serves best.
    pub samples: u64,
    /// Sequences of a bucket; the number in a minibatch serves best. [`u64::MAX`] for any number.
    pub sequences: u64,
}

impl Bucketing {
    /// Bytes of memory that bucketing takes for a corpus of `n_sequences`.
    pub fn bytes(n_sequences: u64) -> u64 {
        POOL_BYTES * n_sequences.min(MOST)
    }
}

/// The most sequences in a pool. A larger one is cut: it would take more memory and time without saving padding.
const MOST: u64 = 1 << 17;

/// Bytes that a pool takes for each of its sequences, including those for making it.
const POOL_BYTES: u64 = 64;

/// A shuffled order in buckets.
pub(crate) struct Bucketed {
    inner: Box<dyn Order>,
    size: Size,
    seed: u64,
    /// The sweep, and the first sequences of its pools, with the end of the sweep as the last.
    pools: (u64, Vec<u64>),
    /// The number of the first sequence of the pool that has been worked out.
    first: u64,
    pool: Vec<Next>,
    /// For the first sequence of a bucket the size of the bucket; for others [`Size::NOTHING`].
    buckets: Vec<Size>,
}

impl Bucketed {
    /// Groups the sequences of a shuffled order with this seed into buckets.
    pub(crate) fn new(inner: Box<dyn Order>, seed: u64, size: Bucketing) -> Bucketed {
        Bucketed {
            inner,
            size: Size { samples: size.samples, sequences: size.sequences },
            seed,
            pools: (0, Vec::new()),
            first: 0,
            pool: Vec::new(),
            buckets: Vec::new(),
        }
    }

    /// The sequences of the pool that has been worked out.
    fn range(&self) -> Range<u64> {
        self.first..self.first + self.pool.len() as u64
    }

    /// The first sequence of a cursor's pool. For a sweep that is not the current one: the first of all.
    fn pool_of(&self, cursor: &Cursor) -> u64 {
        if cursor.sweep == self.pools.0 { self.pool_around(cursor.sequence).start } else { 0 }
    }

    /// The pool of a sequence in the current sweep; an empty range after the last one.
    fn pool_around(&self, sequence: u64) -> Range<u64> {
        let begins = &self.pools.1;
        let at = begins.partition_point(|&begin| begin <= sequence);
        let Some(&end) = begins.get(at) else { return sequence..sequence };
        let begin = begins[at - 1];
        let begin = begin + (sequence - begin) / MOST * MOST;
        begin..end.min(begin + MOST)
    }

    /// Works out the pool of a sequence.
    fn fill(&mut self, index: &Index, from: u64) {
        let range = self.pool_around(from);
        self.first = range.start;
        self.pool.clear();
        let pool = &mut self.pool;
        let from = Cursor { sweep: self.pools.0, sequence: range.start, ..Cursor::default() };
        let len = (range.end - range.start) as usize;
        self.inner.visit(index, &from, &mut |run| {
            pool.extend_from_slice(&run[..run.len().min(len - pool.len())]);
            pool.len() < len
        });
        self.pool.sort_by_key(|next| next.length);
        self.shuffle_buckets();
    }

    fn shuffle_buckets(&mut self) {
        let mut ends: Vec<(u32, Size)> = Vec::new();
        let mut taken = Size::NOTHING;
        for (i, next) in (0..).zip(&self.pool) {
            let length = u64::from(next.length);
            if taken != Size::NOTHING && !self.size.fits(taken, length) {
                ends.push((i, taken));
                taken = Size::NOTHING;
            }
            taken.add(length);
        }
        ends.push((self.pool.len() as u32, taken));
        let mut order: Vec<usize> = (0..ends.len()).collect();
        let seed = mix(self.seed.wrapping_add(self.pools.0)) ^ mix(self.first.wrapping_add(GOLDEN));
        let mut generator = Mt19937_64::new(seed);
        for i in (1..order.len()).rev() {
            order.swap(i, (generator.draw() % (i as u64 + 1)) as usize);
        }
        let sorted = std::mem::take(&mut self.pool);
        self.buckets.clear();
        for bucket in order {
            let begin = if bucket == 0 { 0 } else { ends[bucket - 1].0 };
            let (end, size) = ends[bucket];
            self.buckets.push(size);
            self.pool.extend_from_slice(&sorted[begin as usize..end as usize]);
            self.buckets.resize(self.pool.len(), Size::NOTHING);
        }
    }
}

impl SweepOrder for Bucketed {
    fn enter(&mut self, index: &Index, sweep: u64) {
        if self.pools.0 != sweep || self.pools.1.is_empty() {
            self.pools = (sweep, self.inner.pools(index, sweep));
            self.pool.clear();
        }
    }

    fn prepare(&mut self, index: &Index, from: u64) {
        if !self.range().contains(&from) {
            self.fill(index, from);
        }
    }

    #[inline]
    fn prepared(&self, from: u64) -> &[Next] {
        &self.pool[(from - self.first) as usize..]
    }

    #[inline]
    fn bucket_at(&self, sequence: u64) -> Option<Size> {
        Some(self.buckets[(sequence - self.first) as usize]).filter(|&size| size != Size::NOTHING)
    }
}

impl OrderMemory for Bucketed {
    fn release(&mut self, oldest: &Cursor) {
        let sequence = self.pool_of(oldest);
        self.inner.release(&Cursor { sequence, ..*oldest });
    }

    /// Makes a cursor's sweep current, and prepares the inner order so that the cursor's pool can be worked out.
    fn rewind(&mut self, index: &Index, cursor: &Cursor) {
        self.enter(index, cursor.sweep);
        if !self.range().contains(&cursor.sequence) {
            let sequence = self.pool_of(cursor);
            self.inner.rewind(index, &Cursor { sequence, ..*cursor });
        }
    }

    /// Reports the chunks that are no longer needed from the pool of `until` on.
    fn take_retired(&mut self, index: &Index, since: &Cursor, until: &Cursor, into: &mut Vec<ChunkId>) {
        let sequence = self.pool_of(until);
        self.inner.take_retired(index, since, &Cursor { sequence, ..*until }, into);
    }

    fn bytes(&self) -> usize {
        self.inner.bytes()
            + self.pools.1.capacity() * size_of::<u64>()
            + self.pool.capacity() * size_of::<Next>()
            + self.buckets.capacity() * size_of::<Size>()
    }
}
