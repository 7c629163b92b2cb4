//! Packers: from sequences in decoded blocks to the flat arrays of a minibatch.

mod sequence;
mod slices;
mod truncated;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytemuck::cast_vec;
use tesson_core::{Chunk, Data, StreamColumn, StreamInfo, Values};
use tesson_memory::file_pages::FilePages;
use tesson_memory::packed::{KERNEL_ROOM, PackedRows};
use tesson_memory::pool::{AnyPool, KEPT_SHARE, Pool};

use crate::batch_keys::{BatchKeys, TextKeys};
use crate::memory_budget::largest_batch;
use crate::sample_values::SampleValues;
use crate::samples::Samples;

pub(crate) use sequence::{AHEAD, Packing, items_ahead, pack, packed_streams};
pub(crate) use slices::{Slice, SliceOf, Slices};
pub(crate) use truncated::{
    LayoutSize, Whole, append_dense, batch_bytes, keys as segment_keys, pack as pack_segments,
};

/// A sequence to be packed: the row `row` of block `held`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) held: u32,
    pub(crate) row: u32,
}

/// A decoded chunk and the line its line numbers count from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) chunk: &'a Chunk,
    /// The sequences, where they are not in the chunk's columns.
    pub(crate) rows: Option<&'a PackedRows>,
    /// The bytes of encoded samples, where they are not in the chunk's columns.
    pub(crate) pages: Option<&'a FilePages>,
    /// The values that the minibatch has taken of the block, where they are not in the chunk's columns.
    pub(crate) slice: Option<SliceOf<'a>>,
    pub(crate) line_base: u64,
}

impl<'a> Source<'a> {
    /// A chunk that has all that belongs to its sequences.
    pub(crate) fn of(chunk: &'a Chunk, line_base: u64) -> Source<'a> {
        Source { chunk, rows: None, pages: None, slice: None, line_base }
    }
}

/// The size of a minibatch, known before it is packed.
#[derive(Clone, Copy)]
pub(crate) struct BatchSize {
    pub(crate) n_sequences: usize,
    /// No stream has more samples.
    pub(crate) most_samples: usize,
}

/// Samples or values by which the next minibatch is expected to be larger than the last one, at most.
const MOST_SPARE: usize = 1 << 16;

/// The size that the next minibatch of a stream may have: that of the last ones, and some.
#[derive(Default)]
struct StreamSize {
    samples: AtomicUsize,
    values: AtomicUsize,
    /// Bytes of strings.
    string_bytes: AtomicUsize,
    /// Values of the last column that was taken over by minibatches.
    taken: AtomicUsize,
}

/// The size that a stream's next batch will probably have.
struct ExpectedSize {
    samples: usize,
    values: usize,
    /// Bytes of strings.
    string_bytes: usize,
}

/// Where packed values go.
pub(crate) struct Pools {
    pub(crate) f32s: Arc<Pool<f32>>,
    pub(crate) f64s: Arc<Pool<f64>>,
    pub(crate) u8s: Arc<Pool<u8>>,
    pub(crate) u16s: Arc<Pool<u16>>,
    pub(crate) u32s: Arc<Pool<u32>>,
    pub(crate) u64s: Arc<Pool<u64>>,
    pub(crate) i32s: Arc<Pool<i32>>,
    /// The size of each stream in the last minibatch: what the next one is likely to need.
    sizes: Vec<StreamSize>,
    memory_limit: usize,
    keeps_large: AtomicBool,
}

impl Pools {
    /// Of sources that may take so much memory.
    pub(crate) fn new(n_streams: usize, memory_limit: usize) -> Pools {
        let sizes = (0..n_streams).map(|_| Default::default()).collect();
        Pools {
            f32s: Pool::new(memory_limit),
            f64s: Pool::new(memory_limit),
            u8s: Pool::new(memory_limit),
            u16s: Pool::new(memory_limit),
            u32s: Pool::new(memory_limit),
            u64s: Pool::new(memory_limit),
            i32s: Pool::new(memory_limit),
            sizes,
            memory_limit,
            keeps_large: AtomicBool::new(false),
        }
    }

    /// The pools of all types of elements.
    fn all(&self) -> [&dyn AnyPool; 7] {
        [&*self.f32s, &*self.f64s, &*self.u8s, &*self.u16s, &*self.u32s, &*self.u64s, &*self.i32s]
    }

    /// Says how many bytes a minibatch has that will be packed. Buffers of large ones are kept for the next, as memory that
    /// is freed and asked for again may stay with the allocator of each thread.
    pub(crate) fn set_batch_bytes(&self, bytes: u64) {
        let is_large = bytes > (self.memory_limit / KEPT_SHARE) as u64;
        // All threads look at it, and it seldom changes.
        let changes = self.keeps_large.load(Ordering::Relaxed) != is_large;
        if changes && self.keeps_large.swap(is_large, Ordering::Relaxed) != is_large {
            self.all().iter().for_each(|pool| pool.keep_large(is_large));
        }
    }

    /// Keeps buffers from now on like pools of a source with this memory limit.
    pub(crate) fn set_limit(&self, memory_limit: usize) {
        self.all().iter().for_each(|pool| pool.set_limit(memory_limit));
    }

    /// Bytes of the largest minibatch.
    pub(crate) fn largest_batch(&self) -> u64 {
        largest_batch(self.memory_limit as u64)
    }

    /// Frees all buffers that wait to be used again.
    pub(crate) fn clear(&self) {
        self.all().iter().for_each(|pool| pool.clear());
    }

    /// Bytes of all buffers that wait to be used again.
    pub(crate) fn idle_bytes(&self) -> usize {
        self.all().iter().map(|pool| pool.idle_bytes()).sum()
    }

    /// Samples and values that a stream's next batch will probably have: as many as the last ones, or in proportion where
    /// it has fewer samples; of dense values those of a sample for each sequence at least, and the room that kernels want
    /// past them. Arrays that grow while they are packed take their memory twice.
    fn expected(&self, stream: usize, info: &StreamInfo, size: BatchSize) -> ExpectedSize {
        let StreamSize { samples, values, string_bytes, .. } = &self.sizes[stream];
        let samples = samples.load(Ordering::Relaxed);
        let in_proportion = |n: &AtomicUsize| {
            let n = n.load(Ordering::Relaxed);
            if samples > size.most_samples {
                (n as u128 * size.most_samples as u128 / samples as u128) as usize
            } else {
                n
            }
        };
        let (mut values, string_bytes) = (in_proportion(values), in_proportion(string_bytes));
        let dense = size.n_sequences.saturating_mul(info.shape.len());
        if !info.sparse && dense.saturating_mul(info.element.size()) <= self.memory_limit {
            values = values.max(dense + KERNEL_ROOM);
        }
        ExpectedSize { samples: samples.min(size.most_samples), values, string_bytes }
    }

    /// The values that a stream's batch may have, after those before it; 0 before the first one.
    pub(crate) fn expected_values(&self, stream: usize) -> usize {
        self.sizes[stream].values.load(Ordering::Relaxed)
    }

    /// Says how large a stream's batch was. A little is added, so that the next one seldom has to grow; what fits
    /// already is left, as all threads look at it. After a small one half as much is expected: where large and small ones take turns,
    /// each large one would otherwise grow from the size of a small one, into memory that is too large to be used again.
    pub(crate) fn expect(&self, stream: usize, n_samples: usize, packed: &SampleValues) {
        let StreamSize { samples, values, string_bytes, .. } = &self.sizes[stream];
        let sizes = [(samples, n_samples), (values, packed.len()), (string_bytes, packed.string_bytes())];
        for (expected, n) in sizes {
            let before = expected.load(Ordering::Relaxed);
            if n > before {
                expected.store(n + (n / 8).min(MOST_SPARE), Ordering::Relaxed);
            } else if n < before / 2 {
                expected.store(before / 2, Ordering::Relaxed);
            }
        }
    }

    /// Gives columns that minibatches have taken over other memory, to be decoded into: as much as the last one had, with any values.
    pub(crate) fn lend(&self, columns: &mut [StreamColumn]) {
        fn lend<T>(pool: &Pool<T>, items: &mut Vec<T>, n: usize) {
            if items.capacity() == 0 {
                *items = pool.lend(n);
            }
        }
        for (column, StreamSize { taken, .. }) in columns.iter_mut().zip(&self.sizes) {
            let n = taken.load(Ordering::Relaxed);
            if n == 0 {
                continue;
            }
            let values = match &mut column.data {
                Data::Dense { values } => values,
                Data::Sparse { columns, values, .. } => {
                    if columns.capacity() == 0 {
                        *columns = cast_vec(self.i32s.lend(n));
                    }
                    values
                }
                _ => continue,
            };
            match values {
                Values::Bytes(v) => lend(&self.u8s, v, n),
                Values::F32(v) => lend(&self.f32s, v, n),
                Values::F64(v) => lend(&self.f64s, v, n),
                Values::Bits16(v) => lend(&self.u16s, v, n),
                Values::Bits32(v) => lend(&self.u32s, v, n),
                Values::Bits64(v) => lend(&self.u64s, v, n),
                _ => {}
            }
        }
    }

    /// Says how many values a column had that minibatches have taken over.
    fn note_taken(&self, stream: usize, n: usize) {
        // All threads look at it, and it seldom changes.
        let taken = &self.sizes[stream].taken;
        let before = taken.load(Ordering::Relaxed);
        if n > before || n < before / 2 {
            taken.store(n, Ordering::Relaxed);
        }
    }
}

/// No samples yet of a stream, with room for so many of them and their values.
fn empty(info: &StreamInfo, n_samples: usize, n_values: usize, pools: &Pools) -> Samples {
    let values = SampleValues::with_capacity(info.element, n_values, pools);
    if !info.sparse {
        return Samples::Dense { values };
    }
    let mut indptr = pools.i32s.take(n_samples + 1);
    indptr.items().push(0);
    Samples::Sparse { indptr, indices: pools.i32s.take(n_values), values }
}

/// The keys of the items, in place of those in `keys`.
pub(crate) fn keys(items: &[Item], sources: &[Source<'_>], keys: &mut BatchKeys) {
    if sources.iter().any(|source| source.chunk.keys.are_texts()) {
        let mut texts = match std::mem::take(keys) {
            BatchKeys::Texts(texts) => texts,
            BatchKeys::Numbers(_) => TextKeys::default(),
        };
        texts.clear();
        texts.reserve(items.len());
        // Frames of an utterance often follow each other.
        let mut last: Option<(u32, Range<usize>, Cow<'_, str>)> = None;
        for i in items {
            let (chunk, row) = (sources[i.held as usize].chunk, i.row as usize);
            match &last {
                Some((held, run, text)) if *held == i.held && run.contains(&row) => texts.push(text),
                _ => {
                    let text = match chunk.keys.text(row) {
                        Some(text) => String::from_utf8_lossy(text),
                        None => chunk.key(row).to_string().into(),
                    };
                    texts.push(&text);
                    last = Some((i.held, chunk.keys.run(row), text));
                }
            }
        }
        *keys = BatchKeys::Texts(texts);
        return;
    }
    let number = |i: &Item| {
        let source = &sources[i.held as usize];
        let chunk = source.chunk;
        let base = if chunk.keys_are_lines { chunk.first_line + source.line_base } else { 0 };
        base + chunk.keys.number(i.row as usize).expect("texts are handled above")
    };
    let mut numbers = match std::mem::take(keys) {
        BatchKeys::Numbers(numbers) => numbers,
        BatchKeys::Texts(_) => Vec::new(),
    };
    numbers.clear();
    numbers.extend(items.iter().map(number));
    *keys = BatchKeys::Numbers(numbers);
}
