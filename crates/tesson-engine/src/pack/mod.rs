//! Packers: from sequences in decoded blocks to the flat arrays of a minibatch.

mod sequence;

use std::sync::Arc;

use tesson_core::{Chunk, Keys, StreamInfo};

use crate::minibatch::{BatchKeys, StreamBatch};
use crate::pool::Pool;

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
    pub(crate) line_base: u64,
}

/// Where packed values go.
pub(crate) struct Pools {
    f32s: Arc<Pool<f32>>,
    f64s: Arc<Pool<f64>>,
    i32s: Arc<Pool<i32>>,
}

impl Pools {
    pub(crate) fn new() -> Pools {
        Pools { f32s: Pool::new(), f64s: Pool::new(), i32s: Pool::new() }
    }
}

/// Packs the items, in order, into one batch a stream.
pub(crate) fn pack(
    streams: &[Arc<StreamInfo>],
    items: &[Item],
    sources: &[Source<'_>],
    pools: &Pools,
) -> Vec<StreamBatch> {
    let runs = sequence::runs(items);
    streams
        .iter()
        .enumerate()
        .map(|(number, info)| sequence::pack_stream(number, info, items.len(), &runs, sources, pools))
        .collect()
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
