//! The arrays of a minibatch, which are used again as a whole.
//!
//! A minibatch is packed by one thread and dropped by another. Giving each of its arrays back by itself costs several
//! exchanges between the two cores, which for small minibatches is a good part of the whole work; together they cost one.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tesson_core::SequenceId;
use tesson_memory::pool::{KEPT_BYTES, KEPT_SHARE};

use crate::batch_keys::BatchKeys;
use crate::samples::StreamBatch;

/// Streams and keys of a minibatch. Dropping them gives them back for another minibatch of the same streams.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub(crate) streams: Vec<StreamBatch>,
    pub(crate) keys: BatchKeys,
    /// The sequences by their places in the data; none where no plan names them.
    pub(crate) sequences: Vec<SequenceId>,
    /// Bytes of memory held when that was [measured](Arrays::measure) last.
    memory: usize,
    pool: Weak<ArraysPool>,
}

impl Arrays {
    /// Arrays that are not used again.
    pub(crate) fn new(streams: Vec<StreamBatch>, keys: BatchKeys) -> Arrays {
        Arrays { streams, keys, sequences: Vec::new(), memory: 0, pool: Weak::new() }
    }

    /// Takes them apart: they do not come back to the pool.
    pub(crate) fn into_parts(mut self) -> (Vec<StreamBatch>, BatchKeys) {
        self.pool = Weak::new();
        (std::mem::take(&mut self.streams), std::mem::take(&mut self.keys))
    }

    /// Bytes of the samples and their lengths.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.iter().map(StreamBatch::bytes).sum()
    }

    /// Finds out how many bytes of memory are held: each array is asked, which would be much for every look at it.
    pub(crate) fn measure(&mut self) {
        let sequences = self.sequences.capacity() * size_of::<SequenceId>();
        self.memory =
            self.streams.iter().map(StreamBatch::memory).sum::<usize>() + self.keys.memory() + sequences;
    }

    /// Bytes of memory held when that was measured last.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
}

impl Drop for Arrays {
    fn drop(&mut self) {
        let Some(arrays_pool) = self.pool.upgrade() else { return };
        let pool = std::mem::take(&mut self.pool);
        let (streams, keys) = (std::mem::take(&mut self.streams), std::mem::take(&mut self.keys));
        let sequences = std::mem::take(&mut self.sequences);
        arrays_pool.give(Arrays { streams, keys, sequences, memory: 0, pool });
    }
}

/// Where the arrays of one pipeline's minibatches wait to be used again.
#[derive(Debug)]
pub(crate) struct ArraysPool {
    idle: Mutex<Idle>,
    /// Bytes kept, at most.
    kept: usize,
}

#[derive(Debug, Default)]
struct Idle {
    arrays: Vec<Arrays>,
    bytes: usize,
}

impl ArraysPool {
    /// A place for no more than a part of the memory limit.
    pub(crate) fn new(memory_limit: usize) -> ArraysPool {
        ArraysPool { idle: Mutex::default(), kept: KEPT_BYTES.min(memory_limit / KEPT_SHARE) }
    }

    /// Takes as many as are there, up to `most`; the latest ones, which are the likeliest to be in the cache.
    pub(crate) fn take(&self, most: usize, into: &mut Vec<Arrays>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let from = idle.arrays.len().saturating_sub(most);
        idle.bytes -= idle.arrays[from..].iter().map(Arrays::memory).sum::<usize>();
        into.extend(idle.arrays.drain(from..));
    }

    /// Lets go of the arrays that wait to be used again. Their buffers go to the pools that these are from.
    pub(crate) fn clear(&self) {
        let mut arrays = Vec::new();
        self.take(usize::MAX, &mut arrays);
        arrays.iter_mut().for_each(|arrays| arrays.pool = Weak::new());
    }

    /// Bytes of the arrays that wait to be used again.
    pub(crate) fn idle_bytes(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Arrays without any memory yet, which come back here when they are dropped.
    pub(crate) fn fresh(self: &Arc<Self>) -> Arrays {
        let (streams, keys, sequences) = Default::default();
        Arrays { streams, keys, sequences, memory: 0, pool: Arc::downgrade(self) }
    }

    fn give(&self, mut arrays: Arrays) {
        arrays.streams.iter_mut().for_each(StreamBatch::release_shared);
        arrays.measure();
        let bytes = arrays.memory();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.bytes + bytes <= self.kept {
            idle.bytes += bytes;
            idle.arrays.push(arrays);
        } else {
            drop(idle);
            arrays.pool = Weak::new();
        }
    }
}
