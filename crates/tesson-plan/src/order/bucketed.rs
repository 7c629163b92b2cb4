//! Bucketing: sequences of similar length are put together, so that minibatches hold little padding.
//!
//! A sweep of a shuffled order is cut into *pools*, as many sequences as its window takes in. In each pool the sequences
//! are sorted by length (of equal ones the earlier first), cut into *buckets* of so many samples and sequences, and the
//! buckets are shuffled. So a pool holds what it held before, each sequence once; where a sequence comes is a function of
//! index, seed, sweep and size of the buckets, whatever the minibatches are; and any position is reached by working out
//! one pool.

use std::ops::Range;

use tesson_core::Index;

use super::{Global, Next, Order, Windowed};
use crate::cut::Size;
use crate::rng::{GOLDEN, Mt19937_64, mix};
use crate::{Bucketing, Cursor};

/// Most sequences of a pool. A larger one is cut: it would take memory and time, and pad no less.
pub(crate) const MOST: u64 = 1 << 17;

/// Bytes that a pool takes for each of its sequences, and to be made.
pub(crate) const POOL_BYTES: u64 = 64;

/// The orders that can be bucketed.
pub(crate) enum Shuffled {
    Windowed(Box<Windowed>),
    Global(Box<Global>),
}

/// A shuffled order in buckets.
pub(crate) struct Bucketed {
    inner: Shuffled,
    size: Size,
    seed: u64,
    /// The sweep, and where its pools begin; one more at the end.
    pools: (u64, Vec<u64>),
    /// The number of the first sequence of the pool that has been worked out.
    first: u64,
    pool: Vec<Next>,
    /// For the first sequence of a bucket what the bucket holds, for others nothing.
    buckets: Vec<Size>,
}

impl Bucketed {
    pub(crate) fn new(inner: Shuffled, seed: u64, size: Bucketing) -> Bucketed {
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

    /// Says that nobody will go back behind this cursor.
    pub(crate) fn release(&mut self, oldest: Cursor) {
        let sequence = self.pool_of(oldest);
        if let Shuffled::Windowed(order) = &mut self.inner {
            order.release(Cursor { sequence, ..oldest });
        }
    }

    /// Makes a cursor's sweep current, and its pool one that can be worked out.
    pub(crate) fn rewind(&mut self, index: &Index, cursor: Cursor) {
        self.enter(index, cursor.sweep);
        let sequence = self.pool_of(cursor);
        let is_there = self.range().contains(&cursor.sequence);
        if let Shuffled::Windowed(order) = &mut self.inner
            && !is_there
        {
            order.rewind(index, Cursor { sequence, ..cursor });
        }
    }

    /// Reports chunks that their sweep does not come back to after `cursor`: those behind its pool.
    pub(crate) fn take_retired(&mut self, cursor: Cursor, into: &mut Vec<u32>) {
        let sequence = self.pool_of(cursor);
        if let Shuffled::Windowed(order) = &mut self.inner {
            order.take_retired(Cursor { sequence, ..cursor }, into);
        }
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        let inner = match &self.inner {
            Shuffled::Windowed(order) => order.bytes(),
            Shuffled::Global(order) => order.bytes(),
        };
        inner
            + self.pools.1.capacity() * size_of::<u64>()
            + self.pool.capacity() * size_of::<Next>()
            + self.buckets.capacity() * size_of::<Size>()
    }

    /// The sequences of the pool that has been worked out.
    fn range(&self) -> Range<u64> {
        self.first..self.first + self.pool.len() as u64
    }

    /// The first sequence of a cursor's pool; of a sweep that has not been looked at, the first of all.
    fn pool_of(&self, cursor: Cursor) -> u64 {
        if cursor.sweep == self.pools.0 { self.pool_around(cursor.sequence).start } else { 0 }
    }

    /// The pool that a sequence of the current sweep lies in. Behind the last one it is empty.
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
        match &mut self.inner {
            Shuffled::Windowed(order) => collect(&mut **order, index, range, &mut self.pool),
            Shuffled::Global(order) => collect(&mut **order, index, range, &mut self.pool),
        }
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

/// Appends the sequences of a range, in the order given.
fn collect<O: Order>(order: &mut O, index: &Index, range: Range<u64>, into: &mut Vec<Next>) {
    let mut ready = range.start;
    for sequence in range {
        if sequence == ready {
            ready = order.prepare(index, sequence);
        }
        into.push(order.get(sequence));
    }
}

impl Order for Bucketed {
    fn enter(&mut self, index: &Index, sweep: u64) {
        let pools = match &mut self.inner {
            Shuffled::Windowed(order) => {
                order.enter(index, sweep);
                (self.pools.0 != sweep || self.pools.1.is_empty()).then(|| order.pools(index))
            }
            Shuffled::Global(order) => {
                order.enter(index, sweep);
                (self.pools.0 != sweep || self.pools.1.is_empty()).then(|| vec![0, index.n_sequences()])
            }
        };
        if let Some(pools) = pools {
            self.pools = (sweep, pools);
            self.pool.clear();
        }
    }

    fn prepare(&mut self, index: &Index, from: u64) -> u64 {
        if !self.range().contains(&from) {
            self.fill(index, from);
        }
        self.range().end
    }

    #[inline]
    fn get(&self, sequence: u64) -> Next {
        self.pool[(sequence - self.first) as usize]
    }

    #[inline]
    fn bucket_at(&self, sequence: u64) -> Option<Size> {
        Some(self.buckets[(sequence - self.first) as usize]).filter(|&size| size != Size::NOTHING)
    }
}
