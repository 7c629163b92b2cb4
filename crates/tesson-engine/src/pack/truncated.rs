//! The truncated packer (§9.3): pieces of sequences, one after the other.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::StreamInfo;
use tesson_plan::Segment;

use super::Pools;
use crate::layout::{Layout, Place};
use crate::minibatch::{BatchKeys, Floats, Samples, StreamBatch};

/// A decoded sequence that waits in a row, and where it stands in the corpus.
pub(crate) struct Whole {
    pub(crate) streams: Vec<StreamBatch>,
    pub(crate) keys: BatchKeys,
}

impl Whole {
    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Whole>() + self.streams.iter().map(StreamBatch::bytes).sum::<usize>()
    }
}

/// Packs pieces, in order; streams that are dense in `streams` become so. `steps` × `rows` is the layout.
pub(crate) fn pack(
    streams: &[Arc<StreamInfo>],
    pieces: &[Segment<Arc<Whole>>],
    (steps, rows): (u32, u32),
    pools: &Pools,
) -> Vec<StreamBatch> {
    let place = |(number, piece): (u32, &Segment<Arc<Whole>>)| Place {
        sequence: number,
        row: piece.row,
        begin: piece.begin,
        end: piece.end,
    };
    let layout = Arc::new(Layout { steps, rows, places: (0..).zip(pieces).map(place).collect() });
    let lengths: Vec<u32> = pieces.iter().map(|piece| piece.samples.1 - piece.samples.0).collect();
    let n_samples = lengths.iter().map(|&n| n as usize).sum();
    let pack = |(number, info): (usize, &Arc<StreamInfo>)| {
        let mut samples = empty(info, n_samples, pools);
        for piece in pieces {
            let range = piece.samples.0 as usize..piece.samples.1 as usize;
            append(&mut samples, &piece.sequence.streams[number].samples, range, info.shape.len());
        }
        let layout = Some(layout.clone());
        StreamBatch { info: info.clone(), lengths: lengths.clone(), samples, n_samples, layout }
    };
    streams.iter().enumerate().map(pack).collect()
}

/// The keys of the pieces' sequences.
pub(crate) fn keys(pieces: &[Segment<Arc<Whole>>]) -> BatchKeys {
    let texts = pieces.iter().any(|piece| matches!(piece.sequence.keys, BatchKeys::Texts(_)));
    let all = pieces.iter().map(|piece| &piece.sequence.keys);
    if texts {
        return BatchKeys::Texts(all.map(|keys| keys.get(0).to_string()).collect());
    }
    let number = |keys: &BatchKeys| match keys {
        BatchKeys::Numbers(v) => v[0],
        BatchKeys::Texts(_) => unreachable!("texts are handled above"),
    };
    BatchKeys::Numbers(all.map(number).collect())
}

/// Bytes of the values of a dense minibatch of so many samples.
pub(crate) fn dense_bytes(streams: &[Arc<StreamInfo>], n_samples: u64) -> u64 {
    let dense = streams.iter().filter(|info| !info.sparse);
    let sample = |info: &StreamInfo| (info.element.size() * info.shape.len()) as u64;
    dense.map(|info| n_samples.saturating_mul(sample(info))).fold(0, u64::saturating_add)
}

fn empty(info: &StreamInfo, n_samples: usize, pools: &Pools) -> Samples {
    if info.sparse {
        let mut indptr = pools.i32s.take(n_samples + 1);
        indptr.items().push(0);
        return Samples::Sparse {
            indptr,
            indices: pools.i32s.take(n_samples),
            values: Floats::with_capacity(info.element, n_samples, pools),
        };
    }
    Samples::Dense { values: Floats::with_capacity(info.element, n_samples * info.shape.len(), pools) }
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
    }
}

/// The same, the samples becoming dense if they are not.
pub(crate) fn append_dense(out: &mut Floats, from: &Samples, range: Range<usize>, dim: usize) {
    match from {
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

impl Floats {
    /// Appends a range of values of the same type.
    fn append_floats(&mut self, from: &Floats, range: Range<usize>) {
        match (self, from) {
            (Floats::F32(out), Floats::F32(v)) => out.items().extend_from_slice(&v[range]),
            (Floats::F64(out), Floats::F64(v)) => out.items().extend_from_slice(&v[range]),
            _ => unreachable!("a stream has one element type"),
        }
    }

    fn append_zeros(&mut self, n: usize) {
        match self {
            Floats::F32(out) => {
                let to = out.len() + n;
                out.items().resize(to, 0.0);
            }
            Floats::F64(out) => {
                let to = out.len() + n;
                out.items().resize(to, 0.0);
            }
        }
    }

    /// Sets value `at` to value `i` of values of the same type.
    fn set(&mut self, at: usize, from: &Floats, i: usize) {
        match (self, from) {
            (Floats::F32(out), Floats::F32(v)) => out[at] = v[i],
            (Floats::F64(out), Floats::F64(v)) => out[at] = v[i],
            _ => unreachable!("a stream has one element type"),
        }
    }
}
