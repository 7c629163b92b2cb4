//! Picking sequences out of decoded chunks, in any order, into columns of their own.

use std::ops::Range;

use tesson_core::{Chunk, Data, Offsets, StreamColumn, Values};

/// A sequence of one of several chunks, or none: that has no samples.
pub(super) type Pick = Option<(u32, u32)>;

/// Copies sequences of one stream, which has `dim` values in a dense sample.
///
/// `None` if the result would hold 2^32 samples or values, or take more than `most` bytes.
pub(super) fn gather(
    chunks: &[Chunk],
    stream: usize,
    picks: &[Pick],
    shape: (usize, bool),
    most: usize,
) -> Option<StreamColumn> {
    let (dim, sparse) = shape;
    let columns: Vec<&StreamColumn> = chunks.iter().map(|c| &c.streams[stream]).collect();
    let ranges = || picks.iter().map(|pick| pick.map(|(chunk, row)| (columns[chunk as usize], row)));
    let samples_of =
        |at: Option<(&StreamColumn, u32)>| at.map_or(0..0, |(c, row)| c.samples.range(row as usize));
    let mut samples = Ends::with_capacity(picks.len());
    for at in ranges() {
        samples.push(samples_of(at).len())?;
    }
    let mut values = widest(columns.iter().map(|c| values_of(c)));
    if sparse {
        let (mut rows, mut indices) = (Ends::with_capacity(samples.total()), Vec::new());
        for (column, row) in ranges().flatten() {
            let Data::Sparse { rows: from, columns, values: v } = &column.data else { continue };
            let picked = column.samples.range(row as usize);
            picked.clone().try_for_each(|sample| rows.push(from.range(sample).len()))?;
            let entries = from.start(picked.start)..from.start(picked.end);
            fits(indices.len() + entries.len(), 12, most)?;
            indices.extend_from_slice(&columns[entries.clone()]);
            append(&mut values, v, entries);
        }
        let data = Data::Sparse { rows: Offsets::At(rows.0), columns: indices, values };
        return Some(StreamColumn { samples: Offsets::At(samples.0), data });
    }
    for (column, row) in ranges().flatten() {
        let picked = column.samples.range(row as usize);
        fits(values.len() + picked.len() * dim, 8, most)?;
        append(&mut values, values_of(column), picked.start * dim..picked.end * dim);
    }
    Some(StreamColumn { samples: Offsets::At(samples.0), data: Data::Dense { values } })
}

fn fits(n: usize, bytes: usize, most: usize) -> Option<()> {
    (n <= most / bytes && u32::try_from(n).is_ok()).then_some(())
}

/// Where entries begin, as they come.
struct Ends(Vec<u32>);

impl Ends {
    fn with_capacity(n: usize) -> Ends {
        let mut ends = Vec::with_capacity(n + 1);
        ends.push(0);
        Ends(ends)
    }

    fn push(&mut self, n: usize) -> Option<()> {
        let end = self.total().checked_add(n)?;
        self.0.push(u32::try_from(end).ok()?);
        Some(())
    }

    fn total(&self) -> usize {
        self.0[self.0.len() - 1] as usize
    }
}

fn values_of(column: &StreamColumn) -> &Values {
    match &column.data {
        Data::Dense { values } | Data::Sparse { values, .. } => values,
    }
}

/// No values yet, of the narrowest type that takes those of all columns.
fn widest<'a>(all: impl Iterator<Item = &'a Values>) -> Values {
    let rank = |values: &Values| match values {
        Values::Ones(_) => 0,
        Values::Bytes(_) => 1,
        Values::F32(_) => 2,
        Values::F64(_) => 3,
    };
    match all.map(rank).max() {
        None | Some(0) => Values::Ones(0),
        Some(1) => Values::Bytes(Vec::new()),
        Some(2) => Values::F32(Vec::new()),
        Some(_) => Values::F64(Vec::new()),
    }
}

/// Appends values to a column that takes them.
fn append(out: &mut Values, values: &Values, range: Range<usize>) {
    match (out, values) {
        (Values::Ones(n), _) => *n += range.len(),
        (Values::Bytes(out), Values::Bytes(v)) => out.extend_from_slice(&v[range]),
        (Values::Bytes(out), _) => out.resize(out.len() + range.len(), 1),
        (Values::F32(out), Values::F32(v)) => out.extend_from_slice(&v[range]),
        (Values::F32(out), Values::Bytes(v)) => out.extend(v[range].iter().map(|&x| f32::from(x))),
        (Values::F32(out), _) => out.resize(out.len() + range.len(), 1.0),
        (Values::F64(out), Values::F64(v)) => out.extend_from_slice(&v[range]),
        (Values::F64(out), Values::F32(v)) => out.extend(v[range].iter().map(|&x| f64::from(x))),
        (Values::F64(out), Values::Bytes(v)) => out.extend(v[range].iter().map(|&x| f64::from(x))),
        (Values::F64(out), Values::Ones(_)) => out.resize(out.len() + range.len(), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(n: u32, samples: Offsets, data: Data) -> Chunk {
        Chunk { n_sequences: n, streams: vec![StreamColumn { samples, data }], ..Chunk::empty() }
    }

    #[test]
    fn dense_sequences_come_in_the_order_asked_for_in_the_widest_type() {
        let chunks = [
            chunk(2, Offsets::Every(1), Data::Dense { values: Values::Bytes(vec![1, 2, 3, 4]) }),
            chunk(
                2,
                Offsets::At(vec![0, 2, 2]),
                Data::Dense { values: Values::F32(vec![0.5, 6.0, 7.0, 8.0]) },
            ),
        ];
        let picks = [Some((0, 1)), None, Some((1, 0)), Some((1, 1)), Some((0, 1))];
        let found = gather(&chunks, 0, &picks, (2, false), usize::MAX).unwrap();
        let values = Values::F32(vec![3.0, 4.0, 0.5, 6.0, 7.0, 8.0, 3.0, 4.0]);
        assert_eq!(
            found,
            StreamColumn { samples: Offsets::At(vec![0, 1, 1, 3, 3, 4]), data: Data::Dense { values } }
        );
        assert_eq!(gather(&chunks, 0, &picks, (2, false), 60), None);
    }

    #[test]
    fn sparse_sequences_keep_their_pairs() {
        let rows = Offsets::At(vec![0, 2, 2, 3]);
        let data = Data::Sparse { rows, columns: vec![4, 9, 1], values: Values::Ones(3) };
        let chunks = [chunk(2, Offsets::At(vec![0, 2, 3]), data)];
        let found = gather(&chunks, 0, &[Some((0, 1)), Some((0, 0))], (10, true), usize::MAX).unwrap();
        let data = Data::Sparse {
            rows: Offsets::At(vec![0, 1, 3, 3]),
            columns: vec![1, 4, 9],
            values: Values::Ones(3),
        };
        assert_eq!(found, StreamColumn { samples: Offsets::At(vec![0, 1, 3]), data });
    }
}
