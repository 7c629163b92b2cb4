//! The result of a user's code, checked and converted to a [`Chunk`].

use std::ops::Range;

use tesson_core::{
    Chunk, Data, DataErrorKind, Element, EncodedColumn, Frame, FrameColumn, Keys, Offsets, Storage,
    StreamColumn, StreamInfo, Values,
};

use super::fault::{ChunkError, UserFault};

/// The columns of a chunk, checked: sizes that fit, sparse samples sorted, values of the stream's type. Keys count from 0.
///
/// A sequence's length is the number of its samples in the stream `counted`, by default in its longest one.
///
/// # Errors
/// Data that do not fit, and their stream.
pub fn checked(
    columns: Vec<StreamColumn>,
    streams: &[StreamInfo],
    counted: Option<usize>,
) -> Result<Chunk, ChunkError> {
    if columns.len() != streams.len() {
        return Err(UserFault::ColumnCount { found: columns.len(), streams: streams.len() }.into());
    }
    let n_sequences = columns.first().map_or(Ok(0), |c| n_sequences(c, &streams[0]))?;
    let mut chunk = Chunk::empty();
    chunk.n_sequences = n_sequences;
    for (column, stream) in columns.into_iter().zip(streams) {
        let found = self::n_sequences(&column, stream)?;
        if found != n_sequences {
            let (stream, first) = (stream.name.clone(), streams[0].name.clone());
            return Err(UserFault::SequenceCount { stream, found, first, expected: n_sequences }.into());
        }
        let column = checked_column(column, found, stream)
            .map_err(|kind| ChunkError { stream: Some(stream.name.clone()), kind })?;
        chunk.streams.push(column);
    }
    chunk.lengths = lengths(&chunk, counted);
    Ok(chunk)
}

/// Number of sequences in a column.
fn n_sequences(column: &StreamColumn, stream: &StreamInfo) -> Result<u32, UserFault> {
    let found = match &column.samples {
        Offsets::At(at) => at.len().checked_sub(1).ok_or(UserFault::NoOffsets)?,
        Offsets::Every(0) => return Err(UserFault::NoSamples { stream: stream.name.clone() }),
        Offsets::Every(length) => n_samples(column, stream) / *length as usize,
    };
    u32::try_from(found).map_err(|_| UserFault::TooMany { found, what: "sequences" })
}

/// Number of samples in a column's data, rounded down where they do not fit.
fn n_samples(column: &StreamColumn, stream: &StreamInfo) -> usize {
    match &column.data {
        Data::Dense { values } => values.len() / stream.shape.len().max(1),
        Data::Sparse { rows: Offsets::At(at), .. } => at.len().saturating_sub(1),
        Data::Sparse { rows: Offsets::Every(n), columns, .. } => columns.len() / (*n).max(1) as usize,
        Data::Encoded(column) => column.len(),
        Data::Frames(column) => column.frames.len(),
        _ => 0,
    }
}

fn checked_column(column: StreamColumn, n: u32, stream: &StreamInfo) -> Result<StreamColumn, DataErrorKind> {
    let found = n_samples(&column, stream);
    check_offsets(&column.samples, found, "samples")?;
    let in_sequences = column.samples.start(n as usize);
    if in_sequences != found {
        return Err(UserFault::SampleCount { found, in_sequences }.into());
    }
    let dim = stream.shape.len();
    let data = match (column.data, stream.sparse) {
        (data @ Data::Encoded(_), _) if stream.storage == Storage::Encoded => data,
        (Data::Frames(column), _) if stream.storage == Storage::Frames => {
            check_frames(&column, stream)?;
            Data::Frames(column)
        }
        (Data::Dense { values }, false) if values.len() != found * dim => {
            return Err(UserFault::ValueCount { found: values.len(), dim }.into());
        }
        (Data::Dense { values }, false) => Data::Dense { values: converted(values, stream.element)? },
        (Data::Sparse { rows, columns, values }, true) => {
            check_offsets(&rows, columns.len(), "pairs")?;
            let (pairs, n_columns) = (rows.start(found), columns.len());
            if n_columns != values.len() || pairs != n_columns {
                return Err(UserFault::PairCount { columns: n_columns, values: values.len(), pairs }.into());
            }
            if let Some(index) = columns.iter().find(|&&c| c as usize >= dim) {
                return Err(DataErrorKind::IndexOutOfRange { index: index.to_string(), dim: dim as u64 });
            }
            sorted(rows, columns, values, found, stream.element)?
        }
        (Data::Dense { .. }, true) => {
            return Err(UserFault::Sparsity { found: "dense", expected: "sparse" }.into());
        }
        (Data::Sparse { .. }, false) => {
            return Err(UserFault::Sparsity { found: "sparse", expected: "dense" }.into());
        }
        _ => return Err(UserFault::OtherStorage { expected: stream.storage.name() }.into()),
    };
    Ok(StreamColumn { samples: column.samples, data })
}

/// Makes sure that frames lie in their recordings, and those in the column.
fn check_frames(column: &FrameColumn, stream: &StreamInfo) -> Result<(), UserFault> {
    let (frames, dim) = (column.n_frames, stream.shape.len());
    if !matches!(
        (&column.values, stream.element),
        (Values::F32(_), Element::F32) | (Values::F64(_), Element::F64)
    ) {
        return Err(UserFault::FrameType { expected: stream.element.name() });
    }
    if column.values.len() != frames as usize * dim {
        return Err(UserFault::FrameCount { values: column.values.len(), frames, dim });
    }
    match column.frames.iter().find(|f| !f.recording.contains(&f.at) || f.recording.end > frames) {
        Some(Frame { recording, at }) => {
            Err(UserFault::FrameRange { at: *at, first: recording.start, end: recording.end, frames })
        }
        None => Ok(()),
    }
}

fn check_offsets(offsets: &Offsets, found: usize, what: &'static str) -> Result<(), UserFault> {
    if u32::try_from(found).is_err() {
        return Err(UserFault::TooMany { found, what });
    }
    match offsets {
        Offsets::At(at) if at.first() != Some(&0) || !at.is_sorted() => Err(UserFault::Offsets { what }),
        _ => Ok(()),
    }
}

/// Values of a stream's type: floating-point numbers are converted, others have to be of it.
fn converted(values: Values, element: Element) -> Result<Values, UserFault> {
    let values = match (values, element) {
        (Values::F64(v), Element::F32) => Values::F32(v.into_iter().map(|x| x as f32).collect()),
        (Values::F32(v), Element::F64) => Values::F64(v.into_iter().map(f64::from).collect()),
        (values, _) => values,
    };
    if let (Values::Strings(strings), Element::Text) = (&values, element)
        && let Some((string, byte)) = strings.first_invalid_utf8()
    {
        return Err(UserFault::NoText { string, byte });
    }
    if values.fit(element) { Ok(values) } else { Err(UserFault::ValueType { expected: element.name() }) }
}

/// Sparse samples with ascending columns, none twice.
fn sorted(
    rows: Offsets,
    columns: Vec<u32>,
    values: Values,
    samples: usize,
    element: Element,
) -> Result<Data, UserFault> {
    let values = converted(values, element)?;
    let ascends = |i: usize| columns[rows.range(i)].windows(2).all(|w| w[0] < w[1]);
    if (0..samples).all(ascends) {
        return Ok(Data::Sparse { rows, columns, values });
    }
    // Sums of small numbers may be larger ones, so these become floats of the right type first.
    Ok(match (values, element) {
        (Values::F64(v), _) => merged(&rows, &columns, |i| v[i], samples, Values::F64),
        (Values::F32(v), _) => merged(&rows, &columns, |i| v[i], samples, Values::F32),
        (Values::Bytes(v), Element::F32) => {
            merged(&rows, &columns, |i| f32::from(v[i]), samples, Values::F32)
        }
        (Values::Bytes(v), Element::F64) => {
            merged(&rows, &columns, |i| f64::from(v[i]), samples, Values::F64)
        }
        (Values::Ones(_), Element::F64) => merged(&rows, &columns, |_| 1f64, samples, Values::F64),
        (Values::Ones(_), _) => merged(&rows, &columns, |_| 1f32, samples, Values::F32),
        _ => return Err(UserFault::UnsortedColumns { element: element.name() }),
    })
}

/// Sorts the pairs of each sample and adds up values of the same column, in the order they came.
fn merged<T: Copy + std::ops::AddAssign>(
    rows: &Offsets,
    columns: &[u32],
    value: impl Fn(usize) -> T,
    samples: usize,
    wrap: fn(Vec<T>) -> Values,
) -> Data {
    let mut out = (vec![0u32], Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
    let mut order: Vec<usize> = Vec::new();
    for sample in 0..samples {
        order.clear();
        order.extend(rows.range(sample));
        order.sort_by_key(|&i| columns[i]);
        let first = out.1.len();
        for &i in &order {
            match out.1[first..].last() {
                Some(&last) if last == columns[i] => {
                    *out.2.last_mut().expect("a value a column") += value(i);
                }
                _ => {
                    out.1.push(columns[i]);
                    out.2.push(value(i));
                }
            }
        }
        out.0.push(out.1.len() as u32);
    }
    Data::Sparse { rows: Offsets::At(out.0), columns: out.1, values: wrap(out.2) }
}

/// The counted length of each sequence: the counted stream's samples, else those of its longest one; at least 1 (engine,
/// spec/engine.md §8).
fn lengths(chunk: &Chunk, counted: Option<usize>) -> Vec<u32> {
    let streams = counted.map_or(&chunk.streams[..], |i| &chunk.streams[i..=i]);
    let longest = |i: usize| streams.iter().map(|s| s.samples.range(i).len()).max().unwrap_or(0);
    (0..chunk.n_sequences as usize).map(|i| longest(i).max(1) as u32).collect()
}

/// Copies sequences of a chunk, in the order given, to `out`.
pub(super) fn select(chunk: &Chunk, sequences: impl Iterator<Item = u32> + Clone, out: &mut Chunk) {
    *out = Chunk::new(
        Keys::gathered(std::slice::from_ref(&chunk.keys), sequences.clone().map(|i| (0, i))),
        sequences.clone().map(|i| chunk.lengths[i as usize]).collect(),
        Vec::with_capacity(chunk.streams.len()),
    );
    for column in &chunk.streams {
        let parts = sequences.clone().map(|i| column.samples.range(i as usize));
        let samples = match column.samples {
            Offsets::Every(length) => Offsets::Every(length),
            Offsets::At(_) => ends(parts.clone()),
        };
        out.streams.push(StreamColumn { samples, data: select_data(column, chunk.n_sequences, parts) });
    }
}

fn select_data(
    column: &StreamColumn,
    n_sequences: u32,
    samples: impl Iterator<Item = Range<usize>> + Clone,
) -> Data {
    match &column.data {
        Data::Dense { values } => {
            let all = column.samples.start(n_sequences as usize);
            let dim = values.len().checked_div(all).unwrap_or(0);
            Data::Dense { values: gather(values, samples.map(|r| r.start * dim..r.end * dim)) }
        }
        Data::Sparse { rows, columns, values } => {
            let pairs = samples.clone().map(|r| rows.start(r.start)..rows.start(r.end));
            Data::Sparse {
                rows: match rows {
                    Offsets::Every(n) => Offsets::Every(*n),
                    Offsets::At(_) => ends(samples.flatten().map(|s| rows.range(s))),
                },
                columns: pairs.clone().flat_map(|r| columns[r].iter().copied()).collect(),
                values: gather(values, pairs),
            }
        }
        Data::Encoded(column) => {
            let mut selected = EncodedColumn::default();
            samples.for_each(|range| selected.append(column, range, 0));
            Data::Encoded(selected)
        }
        Data::Frames(FrameColumn { values, n_frames, frames }) => Data::Frames(FrameColumn {
            values: values.clone(),
            n_frames: *n_frames,
            frames: samples.flatten().map(|i| frames[i].clone()).collect(),
        }),
        other => other.clone(),
    }
}

/// Where parts end that are put one after the other.
fn ends(parts: impl Iterator<Item = Range<usize>>) -> Offsets {
    let mut at = vec![0];
    let mut end = 0;
    for part in parts {
        end += part.len() as u32;
        at.push(end);
    }
    Offsets::At(at)
}

fn gather(values: &Values, parts: impl Iterator<Item = Range<usize>>) -> Values {
    parts.fold(Values::Ones(0), |mut gathered, part| {
        gathered.append(values, part);
        gathered
    })
}
