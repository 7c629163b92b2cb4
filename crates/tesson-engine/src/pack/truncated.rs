//! The truncated packer (spec/engine.md §9.3): segments of sequences, one after the other.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{SequenceId, StreamInfo};
use tesson_memory::pool::trimmed_bytes;
use tesson_plan::Segment;

use super::{Pools, empty};
use crate::arrays::Arrays;
use crate::batch_keys::BatchKeys;
use crate::layout::{Layout, RowSegment};
use crate::sample_values::SampleValues;
use crate::samples::dense_bytes;
use crate::samples::{Samples, StreamBatch};

/// Bytes of a waiting sequence's entries in its row and in the states of the last minibatches.
const IN_ROW: usize = 256 + size_of::<SequenceId>();

/// A decoded sequence that waits in a row, and where it stands in the corpus.
pub(crate) struct Whole {
    pub(crate) streams: Vec<StreamBatch>,
    pub(crate) keys: BatchKeys,
    /// The sequence itself, by its place in the data.
    pub(crate) sequences: Vec<SequenceId>,
}

impl Whole {
    /// A packed sequence, trimmed of its buffers' unused memory.
    pub(crate) fn new(mut arrays: Arrays) -> Whole {
        let mut sequences = std::mem::take(&mut arrays.sequences);
        sequences.shrink_to_fit();
        let (mut streams, mut keys) = arrays.into_parts();
        streams.iter_mut().for_each(StreamBatch::trim);
        keys.trim();
        Whole { streams, keys, sequences }
    }

    /// Bytes of memory held at most.
    pub(crate) fn bytes(&self) -> u64 {
        let stream = |stream: &StreamBatch| trimmed_bytes(stream.bytes() as u64);
        let content = self.streams.iter().map(stream).sum::<u64>() + self.keys.memory() as u64;
        Whole::bytes_beside(self.streams.len()) + content
    }

    /// Bytes that a sequence of so many streams takes in a row beside its values and its key: structures in memory, in the row
    /// and in states, each piece with what the allocator adds.
    pub(crate) fn bytes_beside(n_streams: usize) -> u64 {
        const PIECE: usize = 32;
        let of_stream = size_of::<StreamBatch>() + 4 * PIECE;
        (size_of::<Whole>() + 3 * PIECE + IN_ROW + n_streams * of_stream) as u64
    }
}

/// The cells of a layout.
#[derive(Clone, Copy)]
pub(crate) struct LayoutSize {
    /// Length of a row.
    pub(crate) steps: u32,
    pub(crate) rows: u32,
}

/// Packs segments, in order; streams that are dense in `streams` become so. The layout has this size.
pub(crate) fn pack(
    streams: &[Arc<StreamInfo>],
    segments: &[Segment<Arc<Whole>>],
    LayoutSize { steps, rows }: LayoutSize,
    pools: &Pools,
) -> Vec<StreamBatch> {
    let place = |(number, segment): (u32, &Segment<Arc<Whole>>)| RowSegment {
        sequence: number,
        row: segment.slot,
        begin: segment.begin,
        end: segment.end,
    };
    let layout = Arc::new(Layout { steps, rows, places: (0..).zip(segments).map(place).collect() });
    let lengths: Vec<u32> = segments.iter().map(|segment| segment.samples.1 - segment.samples.0).collect();
    let n_samples = lengths.iter().map(|&n| n as usize).sum();
    let pack = |(number, info): (usize, &Arc<StreamInfo>)| {
        let n_values = if info.sparse { entries(segments, number) } else { n_samples * info.shape.len() };
        let mut samples = empty(info, n_samples, n_values, pools);
        for segment in segments {
            let range = segment.samples.0 as usize..segment.samples.1 as usize;
            append(&mut samples, &segment.sequence.streams[number].samples, range, info.shape.len());
        }
        let layout = Some(layout.clone());
        StreamBatch { info: info.clone(), lengths: lengths.clone(), samples, n_samples, layout }
    };
    streams.iter().enumerate().map(pack).collect()
}

/// The keys of the segments' sequences.
pub(crate) fn keys(segments: &[Segment<Arc<Whole>>]) -> BatchKeys {
    let texts = segments.iter().any(|segment| matches!(segment.sequence.keys, BatchKeys::Texts(_)));
    let all = segments.iter().map(|segment| &segment.sequence.keys);
    if texts {
        return BatchKeys::Texts(all.map(|keys| keys.get(0).to_string()).collect());
    }
    let number = |keys: &BatchKeys| match keys {
        BatchKeys::Numbers(v) => v[0],
        BatchKeys::Texts(_) => unreachable!("texts are handled above"),
    };
    BatchKeys::Numbers(all.map(number).collect())
}

/// Bytes of the samples of a minibatch that is packed from segments.
pub(crate) fn batch_bytes(streams: &[Arc<StreamInfo>], segments: &[Segment<Arc<Whole>>]) -> u64 {
    let n_samples: u64 =
        segments.iter().map(|segment| u64::from(segment.samples.1 - segment.samples.0)).sum();
    let bytes = |(number, info): (usize, &Arc<StreamInfo>)| {
        if info.sparse {
            n_samples * 4 + (entries(segments, number) * (4 + info.element.size())) as u64
        } else {
            n_samples.saturating_mul(dense_bytes(info))
        }
    };
    streams.iter().enumerate().map(bytes).fold(0, u64::saturating_add)
}

/// Entries of the samples in segments, of a stream that is sparse there.
fn entries(segments: &[Segment<Arc<Whole>>], stream: usize) -> usize {
    let entries = |segment: &Segment<Arc<Whole>>| match &segment.sequence.streams[stream].samples {
        Samples::Sparse { indptr, .. } => {
            (indptr[segment.samples.1 as usize] - indptr[segment.samples.0 as usize]) as usize
        }
        Samples::Dense { .. } | Samples::Ragged { .. } => 0,
    };
    segments.iter().map(entries).sum()
}

/// Appends samples of one sequence, `dim` values each.
fn append(out: &mut Samples, from: &Samples, range: Range<usize>, dim: usize) {
    match (out, from) {
        (Samples::Dense { values }, from) => append_dense(values, from, range, dim),
        (
            Samples::Sparse { indptr: ptr_out, indices: columns_out, values: out },
            Samples::Sparse { indptr, indices, values },
        ) => {
            let pairs = indptr[range.start] as usize..indptr[range.end] as usize;
            let shift = columns_out.len() as i64 - pairs.start as i64;
            let ends = &indptr[range.start + 1..=range.end];
            ptr_out.items().extend(ends.iter().map(|&end| (i64::from(end) + shift) as i32));
            columns_out.items().extend_from_slice(&indices[pairs.clone()]);
            out.append_floats(values, pairs);
        }
        (Samples::Sparse { .. }, Samples::Dense { .. }) => {
            unreachable!("a dense stream does not become sparse")
        }
        (Samples::Ragged { .. }, _) | (_, Samples::Ragged { .. }) => {
            unreachable!("ragged samples are not truncated")
        }
    }
}

/// Appends samples of one sequence to dense values, converting sparse ones.
pub(crate) fn append_dense(out: &mut SampleValues, from: &Samples, range: Range<usize>, dim: usize) {
    match from {
        Samples::Ragged { .. } => unreachable!("ragged samples stay as they are"),
        Samples::Dense { values } => out.append_floats(values, range.start * dim..range.end * dim),
        Samples::Sparse { indptr, indices, values } => {
            let start = out.len();
            out.append_zeros(range.len() * dim);
            for (sample, number) in range.zip(0..) {
                for i in indptr[sample] as usize..indptr[sample + 1] as usize {
                    out.set(start + number * dim + indices[i] as usize, values, i);
                }
            }
        }
    }
}
