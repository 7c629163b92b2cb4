//! The sequence packer: whole sequences, in order, without padding.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{Data, Element, Offsets, StreamInfo, Values};

use super::{Item, Pools, Source};
use crate::minibatch::{Floats, Samples, StreamBatch};
use crate::pool::Buffer;

/// Consecutive rows of one block that stand together in the minibatch.
pub(super) struct Run {
    held: u32,
    rows: Range<u32>,
}

/// Joins neighbours: sequences that lie together in a block are copied at once.
pub(super) fn runs(items: &[Item]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(items.len());
    for item in items {
        match runs.last_mut() {
            Some(run) if run.held == item.held && run.rows.end == item.row => run.rows.end += 1,
            _ => runs.push(Run { held: item.held, rows: item.row..item.row + 1 }),
        }
    }
    runs
}

/// Packs one stream of the runs.
pub(super) fn pack_stream(
    number: usize,
    info: &Arc<StreamInfo>,
    n_sequences: usize,
    runs: &[Run],
    sources: &[Source<'_>],
    pools: &Pools,
) -> StreamBatch {
    let mut lengths = Vec::with_capacity(n_sequences);
    let column = |run: &Run| &sources[run.held as usize].chunk.streams[number];
    let mut n_samples = 0;
    for run in runs {
        let samples = &column(run).samples;
        n_samples += samples.start(run.rows.end as usize) - samples.start(run.rows.start as usize);
        match samples {
            Offsets::Every(n) => lengths.resize(lengths.len() + run.rows.len(), *n),
            Offsets::At(at) => {
                let at = &at[run.rows.start as usize..=run.rows.end as usize];
                lengths.extend(at.windows(2).map(|w| w[1] - w[0]));
            }
        }
    }
    let spans = runs.iter().map(|run| {
        let column = column(run);
        let from = column.samples.start(run.rows.start as usize);
        (&column.data, from..column.samples.start(run.rows.end as usize))
    });
    let samples = if info.sparse {
        sparse(spans, n_samples, info.element, pools)
    } else {
        dense(spans, n_samples, info.shape.len(), info.element, pools)
    };
    StreamBatch { info: info.clone(), lengths, samples, n_samples }
}

fn dense<'a>(
    spans: impl Iterator<Item = (&'a Data, Range<usize>)>,
    n_samples: usize,
    dim: usize,
    element: Element,
    pools: &Pools,
) -> Samples {
    let mut out = Floats::with_capacity(element, n_samples * dim, pools);
    for (data, samples) in spans {
        let Data::Dense { values } = data else {
            unreachable!("deserializers keep to their stream's storage")
        };
        out.append(values, samples.start * dim..samples.end * dim);
    }
    Samples::Dense { values: out }
}

fn sparse<'a>(
    spans: impl Iterator<Item = (&'a Data, Range<usize>)> + Clone,
    n_samples: usize,
    element: Element,
    pools: &Pools,
) -> Samples {
    let parts = spans.map(|(data, samples)| {
        let Data::Sparse { rows, columns, values } = data else {
            unreachable!("deserializers keep to their stream's storage")
        };
        let entries = rows.start(samples.start)..rows.start(samples.end);
        (rows, columns, values, samples, entries)
    });
    let mut n_entries = 0;
    let mut touched = 0;
    for (_, columns, values, _, entries) in parts.clone() {
        n_entries += entries.len();
        // Blocks lie all over memory: touching them one after the other, before anything depends on it, lets the
        // processor fetch many at a time.
        if let Some(&column) = columns.get(entries.start) {
            touched ^= column ^ values.touch(entries.start);
        }
    }
    std::hint::black_box(touched);
    let mut indptr = pools.i32s.take(n_samples + 1);
    let mut indices = pools.i32s.take(n_entries);
    let mut out = Floats::with_capacity(element, n_entries, pools);
    indptr.items().push(0);
    for (rows, columns, values, samples, entries) in parts {
        let shift = indices.len() as i64 - entries.start as i64;
        match rows {
            Offsets::Every(n) => {
                let first = indices.len() as i32;
                indptr.items().extend((1..=samples.len() as i32).map(|i| first + i * *n as i32));
            }
            Offsets::At(at) => {
                let ends = &at[samples.start + 1..=samples.end];
                indptr.items().extend(ends.iter().map(|&e| (i64::from(e) + shift) as i32));
            }
        }
        indices.items().extend(columns[entries.clone()].iter().map(|&c| c as i32));
        out.append(values, entries);
    }
    Samples::Sparse { indptr, indices, values: out }
}

impl Floats {
    fn with_capacity(element: Element, n: usize, pools: &Pools) -> Floats {
        match element {
            Element::F32 => Floats::F32(pools.f32s.take(n)),
            Element::F64 => Floats::F64(pools.f64s.take(n)),
        }
    }

    /// Appends `range` of a column, widened to the batch's type.
    fn append(&mut self, values: &Values, range: Range<usize>) {
        match (self, values) {
            (Floats::F32(out), Values::F32(v)) => out.items().extend_from_slice(&v[range]),
            (Floats::F64(out), Values::F64(v)) => out.items().extend_from_slice(&v[range]),
            (Floats::F32(out), Values::Bytes(v)) => widen(out, &v[range]),
            (Floats::F64(out), Values::Bytes(v)) => widen(out, &v[range]),
            (Floats::F32(out), Values::Ones(_)) => fill(out, range.len()),
            (Floats::F64(out), Values::Ones(_)) => fill(out, range.len()),
            (Floats::F32(_), Values::F64(_)) | (Floats::F64(_), Values::F32(_)) => {
                unreachable!("deserializers keep to their stream's element type")
            }
        }
    }
}

fn widen<T: From<u8>>(out: &mut Buffer<T>, bytes: &[u8]) {
    out.items().extend(bytes.iter().map(|&b| T::from(b)));
}

fn fill<T: From<u8> + Clone>(out: &mut Buffer<T>, n: usize) {
    let to = out.len() + n;
    out.items().resize(to, T::from(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_core::{Chunk, Shape, StreamColumn};

    fn stream(sparse: bool, dim: usize) -> Arc<StreamInfo> {
        Arc::new(StreamInfo { name: "s".into(), shape: Shape::new([dim]), element: Element::F32, sparse })
    }

    fn chunk(n: u32, samples: Offsets, data: Data) -> Chunk {
        Chunk { n_sequences: n, streams: vec![StreamColumn { samples, data }], ..Chunk::empty() }
    }

    fn pack(info: &Arc<StreamInfo>, chunks: &[Chunk], items: &[(u32, u32)]) -> StreamBatch {
        let items: Vec<Item> = items.iter().map(|&(held, row)| Item { held, row }).collect();
        let sources: Vec<Source<'_>> = chunks.iter().map(|chunk| Source { chunk, line_base: 0 }).collect();
        pack_stream(0, info, items.len(), &runs(&items), &sources, &Pools::new())
    }

    #[test]
    fn dense_sequences_follow_each_other_without_padding() {
        let chunks = [
            chunk(
                2,
                Offsets::At(vec![0, 2, 3]),
                Data::Dense { values: Values::F32(vec![1., 2., 3., 4., 5., 6.]) },
            ),
            chunk(2, Offsets::Every(1), Data::Dense { values: Values::Bytes(vec![7, 8, 9, 10]) }),
        ];
        let batch = pack(&stream(false, 2), &chunks, &[(1, 1), (0, 0), (0, 1), (1, 0)]);
        assert_eq!((batch.lengths(), batch.n_samples()), (&[1, 2, 1, 1][..], 5));
        let Samples::Dense { values: Floats::F32(v) } = batch.samples() else { panic!("dense float32") };
        assert_eq!(&v[..], [9., 10., 1., 2., 3., 4., 5., 6., 7., 8.]);
    }

    #[test]
    fn sparse_samples_become_compressed_rows() {
        let chunks = [
            chunk(
                2,
                Offsets::Every(1),
                Data::Sparse {
                    rows: Offsets::At(vec![0, 2, 2]),
                    columns: vec![3, 5],
                    values: Values::F32(vec![0.5, 2.]),
                },
            ),
            chunk(
                1,
                Offsets::Every(2),
                Data::Sparse { rows: Offsets::Every(1), columns: vec![1, 4], values: Values::Ones(2) },
            ),
        ];
        let batch = pack(&stream(true, 6), &chunks, &[(0, 1), (1, 0), (0, 0)]);
        assert_eq!((batch.lengths(), batch.n_samples()), (&[1, 2, 1][..], 4));
        let Samples::Sparse { indptr, indices, values: Floats::F32(v) } = batch.samples() else {
            panic!("sparse")
        };
        assert_eq!(
            (&indptr[..], &indices[..], &v[..]),
            (&[0, 0, 1, 2, 4][..], &[1, 4, 3, 5][..], &[1., 1., 0.5, 2.][..])
        );
    }
}
