//! Picking sequences out of decoded chunks, in any order, into columns of their own.

use std::ops::Range;

use tesson_core::{Chunk, Data, EncodedColumn, FrameColumn, Offsets, RecordingColumn, StreamColumn, Values};

/// A sequence of one of several chunks, or none: that has no samples.
pub(super) type Pick = Option<(u32, u32)>;

/// The dimension and kind of a stream's samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnShape {
    /// Values in a dense sample.
    pub(super) dim: usize,
    pub(super) sparse: bool,
}

/// Copies sequences of one stream; of each only one sample where there are `frames`,
/// by number: the only one, or the last one in place of those beyond it.
///
/// `None` if the result would hold 2^32 samples or values, or take more than `most` bytes.
pub(super) fn gather(
    chunks: &[Chunk],
    stream: usize,
    picks: &[Pick],
    frames: Option<&[u32]>,
    shape: ColumnShape,
    most: usize,
) -> Option<StreamColumn> {
    let ColumnShape { dim, sparse } = shape;
    let columns: Vec<&StreamColumn> = chunks.iter().map(|c| &c.streams[stream]).collect();
    let ranges = || {
        picks.iter().enumerate().map(|(i, pick)| {
            let (chunk, row) = (*pick)?;
            let column = columns[chunk as usize];
            let all = column.samples.range(row as usize);
            let picked = match frames {
                Some(frames) if all.len() > 1 => {
                    let at = all.start + (frames[i] as usize).min(all.len() - 1);
                    at..at + 1
                }
                _ => all,
            };
            Some((column, picked))
        })
    };
    let mut samples = Ends::with_capacity(picks.len());
    for at in ranges() {
        samples.push(at.map_or(0, |(_, picked)| picked.len()))?;
    }
    if let Some(kept) = columns.first().filter(|column| column.data.is_kept()) {
        let sequence =
            |&(chunk, row): &(u32, u32)| ((columns[chunk as usize], row), chunks[chunk as usize].first_line);
        let data = gather_kept(&kept.data, picks.iter().flatten().map(sequence), most)?;
        return Some(StreamColumn { samples: Offsets::At(samples.0), data });
    }
    let mut values = Values::Ones(0);
    if sparse {
        let (mut rows, mut indices) = (Ends::with_capacity(samples.total()), Vec::new());
        for (column, picked) in ranges().flatten() {
            let Data::Sparse { rows: from, columns, values: v } = &column.data else { continue };
            picked.clone().try_for_each(|sample| rows.push(from.range(sample).len()))?;
            let entries = from.start(picked.start)..from.start(picked.end);
            fits(indices.len() + entries.len(), 12, most)?;
            indices.extend_from_slice(&columns[entries.clone()]);
            values.append(v, entries);
        }
        let data = Data::Sparse { rows: Offsets::At(rows.0), columns: indices, values };
        return Some(StreamColumn { samples: Offsets::At(samples.0), data });
    }
    for (column, picked) in ranges().flatten() {
        fits(values.len() + picked.len() * dim, 8, most)?;
        values.append(values_of(column), picked.start * dim..picked.end * dim);
    }
    Some(StreamColumn { samples: Offsets::At(samples.0), data: Data::Dense { values } })
}

/// Sequences of columns that are kept as they were read, each with the line its chunk begins at; `None` if they take more than `most` bytes.
fn gather_kept<'a>(
    like: &Data,
    sequences: impl Iterator<Item = ((&'a StreamColumn, u32), u64)>,
    most: usize,
) -> Option<Data> {
    let mut encoded = EncodedColumn::default();
    let mut frames = FrameColumn { values: Values::Ones(0), n_frames: 0, frames: Vec::new() };
    let mut recordings = RecordingColumn::default();
    let mut last: Option<(&FrameColumn, &Range<u32>)> = None;
    let mut last_recording: Option<(&RecordingColumn, u32)> = None;
    for ((column, row), first_line) in sequences {
        let samples = column.samples.range(row as usize);
        match &column.data {
            Data::Frames(column) => {
                for i in samples {
                    let recording = &column.frames[i].recording;
                    let is_last = last.is_some_and(|(of, r)| std::ptr::eq(of, column) && r == recording);
                    frames.push(column, i, is_last);
                    last = Some((column, recording));
                }
            }
            Data::Encoded(column) => encoded.append(column, samples, first_line),
            Data::Recordings(column) => {
                let recording = column.recording_of(row as usize);
                let is_last =
                    last_recording.is_some_and(|(of, last)| std::ptr::eq(of, column) && last == recording);
                recordings.push(column, row as usize, is_last);
                last_recording = Some((column, recording));
            }
            _ => {}
        }
        (encoded.bytes().max(frames.values.bytes()).max(recordings.bytes()) <= most).then_some(())?;
    }
    Some(match like {
        Data::Frames(_) => Data::Frames(frames),
        Data::Recordings(_) => Data::Recordings(recordings),
        _ => Data::Encoded(encoded),
    })
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
        _ => unreachable!("a deserializer keeps to its stream's storage"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(n: u32, samples: Offsets, data: Data) -> Chunk {
        Chunk::new(
            tesson_core::Keys::Consecutive(0),
            vec![1; n as usize],
            vec![StreamColumn { samples, data }],
        )
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
        let found =
            gather(&chunks, 0, &picks, None, ColumnShape { dim: 2, sparse: false }, usize::MAX).unwrap();
        let values = Values::F32(vec![3.0, 4.0, 0.5, 6.0, 7.0, 8.0, 3.0, 4.0]);
        assert_eq!(
            found,
            StreamColumn { samples: Offsets::At(vec![0, 1, 1, 3, 3, 4]), data: Data::Dense { values } }
        );
        assert_eq!(gather(&chunks, 0, &picks, None, ColumnShape { dim: 2, sparse: false }, 60), None);
    }

    #[test]
    fn a_frame_is_one_sample_of_its_sequence() {
        let values = Values::Bytes((0..6).collect());
        let chunks = [chunk(3, Offsets::At(vec![0, 4, 4, 5]), Data::Dense { values })];
        let picks = [Some((0, 0)), Some((0, 0)), Some((0, 0)), Some((0, 2)), Some((0, 1)), None];
        let found = gather(
            &chunks,
            0,
            &picks,
            Some(&[2, 0, 7, 7, 1, 0]),
            ColumnShape { dim: 1, sparse: false },
            usize::MAX,
        )
        .unwrap();
        let data = Data::Dense { values: Values::Bytes(vec![2, 0, 3, 4]) };
        assert_eq!(found, StreamColumn { samples: Offsets::At(vec![0, 1, 2, 3, 4, 4, 4]), data });
    }

    #[test]
    fn sparse_sequences_keep_their_pairs() {
        let rows = Offsets::At(vec![0, 2, 2, 3]);
        let data = Data::Sparse { rows, columns: vec![4, 9, 1], values: Values::Ones(3) };
        let chunks = [chunk(2, Offsets::At(vec![0, 2, 3]), data)];
        let found = gather(
            &chunks,
            0,
            &[Some((0, 1)), Some((0, 0))],
            None,
            ColumnShape { dim: 10, sparse: true },
            usize::MAX,
        )
        .unwrap();
        let data = Data::Sparse {
            rows: Offsets::At(vec![0, 1, 3, 3]),
            columns: vec![1, 4, 9],
            values: Values::Ones(3),
        };
        assert_eq!(found, StreamColumn { samples: Offsets::At(vec![0, 1, 3]), data });
    }
}
