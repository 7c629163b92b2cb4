//! Packers: from sequences in decoded blocks to the flat arrays of a minibatch.

mod sequence;
mod truncated;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson_core::{Chunk, Keys, StreamInfo};

use crate::minibatch::{BatchKeys, StreamBatch};
use crate::packed::PackedRows;
use crate::pool::Pool;

pub(crate) use truncated::{Whole, dense_bytes, keys as piece_keys, pack as pack_pieces};

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
    pub(crate) line_base: u64,
}

/// Where packed values go.
pub(crate) struct Pools {
    f32s: Arc<Pool<f32>>,
    f64s: Arc<Pool<f64>>,
    i32s: Arc<Pool<i32>>,
    /// Samples and values of each stream in the last minibatch: what the next one is likely to need.
    sizes: Vec<(AtomicUsize, AtomicUsize)>,
}

impl Pools {
    pub(crate) fn new(n_streams: usize) -> Pools {
        let sizes = (0..n_streams).map(|_| Default::default()).collect();
        Pools { f32s: Pool::new(), f64s: Pool::new(), i32s: Pool::new(), sizes }
    }

    /// Samples and values that a stream's next batch will probably have.
    fn expected(&self, stream: usize) -> (usize, usize) {
        let (samples, values) = &self.sizes[stream];
        (samples.load(Ordering::Relaxed), values.load(Ordering::Relaxed))
    }

    /// Says how large a stream's batch was. A little is added, so that the next one seldom has to grow.
    fn expect(&self, stream: usize, n_samples: usize, n_values: usize) {
        let (samples, values) = &self.sizes[stream];
        samples.store(n_samples + n_samples / 8, Ordering::Relaxed);
        values.store(n_values + n_values / 8, Ordering::Relaxed);
    }
}

/// Packs the items, in order, into one batch a stream.
pub(crate) fn pack(
    streams: &[Arc<StreamInfo>],
    items: &[Item],
    sources: &[Source<'_>],
    pools: &Pools,
) -> Vec<StreamBatch> {
    sequence::pack(streams, items, sources, pools)
}

/// The keys of the items.
pub(crate) fn keys(items: &[Item], sources: &[Source<'_>]) -> BatchKeys {
    let texts = items.iter().any(|i| matches!(sources[i.held as usize].chunk.keys, Keys::Texts { .. }));
    if texts {
        return BatchKeys::Texts(
            items.iter().map(|i| sources[i.held as usize].chunk.key(i.row as usize).to_string()).collect(),
        );
    }
    let number = |i: &Item| {
        let source = &sources[i.held as usize];
        let chunk = source.chunk;
        let base = if chunk.keys_are_lines { chunk.first_line + source.line_base } else { 0 };
        base + chunk.keys.number(i.row as usize).expect("texts are handled above")
    };
    BatchKeys::Numbers(items.iter().map(number).collect())
}
