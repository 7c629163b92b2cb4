//! What a user's code hands over, checked and brought into the form of a [`Chunk`].

use std::ops::Range;

use tesson_core::{
    Chunk, Data, Element, EncodedColumn, Frame, FrameColumn, Keys, Offsets, Storage, StreamColumn,
    StreamInfo, Values,
};

/// The columns of a chunk, checked: sizes that fit, sparse samples sorted, values of the stream's type. Keys count from 0.
///
/// A sequence's length is the number of its samples in the stream `counted`, by default in its longest one.
///
/// # Errors
/// A sentence that says what does not fit, and where.
pub fn checked(
    columns: Vec<StreamColumn>,
    streams: &[StreamInfo],
    counted: Option<usize>,
) -> Result<Chunk, String> {
    if columns.len() != streams.len() {
        return Err(format!("{} columns, expected one for each of {} streams", columns.len(), streams.len()));
    }
    let n_sequences = columns.first().map_or(Ok(0), |c| n_sequences(c, &streams[0]))?;
    let mut chunk = Chunk { n_sequences, ..Chunk::empty() };
    for (column, stream) in columns.into_iter().zip(streams) {
        let n = self::n_sequences(&column, stream)?;
        if n != n_sequences {
            return Err(format!(
                "stream `{}` has {n} sequences, stream `{}` has {n_sequences}",
                stream.name, streams[0].name
            ));
        }
        let column =
            checked_column(column, n, stream).map_err(|e| format!("stream `{}`: {e}", stream.name))?;
        chunk.streams.push(column);
    }
    chunk.lengths = lengths(&chunk, counted);
    Ok(chunk)
}

/// Number of sequences in a column.
fn n_sequences(column: &StreamColumn, stream: &StreamInfo) -> Result<u32, String> {
    let n = match &column.samples {
        Offsets::At(at) => {
            at.len().checked_sub(1).ok_or("no offsets, expected one more than there are sequences")?
        }
        Offsets::Every(0) => return Err(format!("stream `{}` has no samples at all", stream.name)),
        Offsets::Every(length) => n_samples(column, stream) / *length as usize,
    };
    u32::try_from(n).map_err(|_| format!("{n} sequences, at most {} in a chunk are possible", u32::MAX))
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

fn checked_column(column: StreamColumn, n: u32, stream: &StreamInfo) -> Result<StreamColumn, String> {
    let samples = n_samples(&column, stream);
    check_offsets(&column.samples, samples, "samples")?;
    if column.samples.start(n as usize) != samples {
        return Err(format!("{samples} samples, {} in sequences", column.samples.start(n as usize)));
    }
    let data = match (column.data, stream.sparse) {
        (data @ Data::Encoded(_), _) if stream.storage == Storage::Encoded => data,
        (Data::Frames(column), _) if stream.storage == Storage::Frames => {
            check_frames(&column, stream)?;
            Data::Frames(column)
        }
        (Data::Dense { values }, false) => {
            if values.len() != samples * stream.shape.len() {
                return Err(format!(
                    "{} values, expected a multiple of {}",
                    values.len(),
                    stream.shape.len()
                ));
            }
            Data::Dense { values: converted(values, stream.element) }
        }
        (Data::Sparse { rows, columns, values }, true) => {
            check_offsets(&rows, columns.len(), "pairs")?;
            if columns.len() != values.len() || rows.start(samples) != columns.len() {
                return Err(format!(
                    "{} columns, {} values and {} pairs in samples, expected equally many",
                    columns.len(),
                    values.len(),
                    rows.start(samples)
                ));
            }
            let dim = stream.shape.len();
            if let Some(at) = columns.iter().position(|&c| c as usize >= dim) {
                return Err(format!("index {} is not below dim {dim}", columns[at]));
            }
            sorted(rows, columns, values, samples, stream.element)
        }
        (Data::Dense { .. }, true) => return Err("dense samples, expected sparse ones".into()),
        (Data::Sparse { .. }, false) => return Err("sparse samples, expected dense ones".into()),
        _ => return Err(format!("samples in another storage than the stream's, {:?}", stream.storage)),
    };
    Ok(StreamColumn { samples: column.samples, data })
}

/// Makes sure that frames lie in their recordings, and those in the column.
fn check_frames(column: &FrameColumn, stream: &StreamInfo) -> Result<(), String> {
    let (n, dim) = (column.n_frames, stream.shape.len());
    if !matches!(
        (&column.values, stream.element),
        (Values::F32(_), Element::F32) | (Values::F64(_), Element::F64)
    ) {
        return Err(format!("frames of another type than {}", stream.element.name()));
    }
    if column.values.len() != n as usize * dim {
        return Err(format!("{} values, expected {n} frames of {dim}", column.values.len()));
    }
    match column.frames.iter().find(|f| !f.recording.contains(&f.at) || f.recording.end > n) {
        Some(Frame { recording, at }) => Err(format!("frame {at} of {recording:?}, there are {n} frames")),
        None => Ok(()),
    }
}

fn check_offsets(offsets: &Offsets, all: usize, what: &str) -> Result<(), String> {
    if u32::try_from(all).is_err() {
        return Err(format!("{all} {what}, at most {} in a chunk are possible", u32::MAX));
    }
    match offsets {
        Offsets::At(at) if at.first() != Some(&0) || at.windows(2).any(|w| w[0] > w[1]) => {
            Err(format!("offsets of {what} that do not ascend from 0"))
        }
        _ => Ok(()),
    }
}

/// Values of a stream's type.
fn converted(values: Values, element: Element) -> Values {
    match (values, element) {
        (Values::F64(v), Element::F32) => Values::F32(v.into_iter().map(|x| x as f32).collect()),
        (Values::F32(v), Element::F64) => Values::F64(v.into_iter().map(f64::from).collect()),
        (values, _) => values,
    }
}

/// Sparse samples with ascending columns, none twice.
fn sorted(rows: Offsets, columns: Vec<u32>, values: Values, samples: usize, element: Element) -> Data {
    let ascends = |i: usize| columns[rows.range(i)].windows(2).all(|w| w[0] < w[1]);
    if (0..samples).all(ascends) {
        return Data::Sparse { rows, columns, values: converted(values, element) };
    }
    // Sums of small numbers may be larger ones, so these become floats of the right type first.
    match (converted(values, element), element) {
        (Values::F64(v), _) => merged(&rows, &columns, |i| v[i], samples, Values::F64),
        (Values::F32(v), _) => merged(&rows, &columns, |i| v[i], samples, Values::F32),
        (Values::Bytes(v), Element::F32) => {
            merged(&rows, &columns, |i| f32::from(v[i]), samples, Values::F32)
        }
        (Values::Bytes(v), Element::F64) => {
            merged(&rows, &columns, |i| f64::from(v[i]), samples, Values::F64)
        }
        (Values::Ones(_), Element::F32) => merged(&rows, &columns, |_| 1f32, samples, Values::F32),
        (Values::Ones(_), Element::F64) => merged(&rows, &columns, |_| 1f64, samples, Values::F64),
    }
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
/// §8).
fn lengths(chunk: &Chunk, counted: Option<usize>) -> Vec<u32> {
    let streams = counted.map_or(&chunk.streams[..], |i| &chunk.streams[i..=i]);
    let longest = |i: usize| streams.iter().map(|s| s.samples.range(i).len()).max().unwrap_or(0);
    (0..chunk.n_sequences as usize).map(|i| longest(i).max(1) as u32).collect()
}

/// Copies sequences of a chunk, in the order given, to `out`.
pub(super) fn select(chunk: &Chunk, sequences: impl Iterator<Item = u32> + Clone, out: &mut Chunk) {
    let n = sequences.clone().count();
    *out = Chunk {
        n_sequences: n as u32,
        lengths: sequences.clone().map(|i| chunk.lengths[i as usize]).collect(),
        keys: select_keys(&chunk.keys, sequences.clone()),
        streams: Vec::with_capacity(chunk.streams.len()),
        ..Chunk::empty()
    };
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
    fn all<T: Copy>(v: &[T], parts: impl Iterator<Item = Range<usize>>) -> Vec<T> {
        parts.fold(Vec::new(), |mut out, r| {
            out.extend_from_slice(&v[r]);
            out
        })
    }
    match values {
        Values::Ones(_) => Values::Ones(parts.map(|r| r.len()).sum()),
        Values::Bytes(v) => Values::Bytes(all(v, parts)),
        Values::F32(v) => Values::F32(all(v, parts)),
        Values::F64(v) => Values::F64(all(v, parts)),
    }
}

/// The keys of some sequences.
fn select_keys(keys: &Keys, sequences: impl Iterator<Item = u32>) -> Keys {
    match keys {
        Keys::Consecutive(first) => Keys::Numbers(sequences.map(|i| first + u64::from(i)).collect()),
        Keys::Numbers(v) => Keys::Numbers(sequences.map(|i| v[i as usize]).collect()),
        Keys::Texts { bytes, ends } => {
            let (mut out, mut out_ends) = (Vec::new(), Vec::new());
            for i in sequences {
                let start = if i == 0 { 0 } else { ends[i as usize - 1] as usize };
                out.extend_from_slice(&bytes[start..ends[i as usize] as usize]);
                out_ends.push(out.len() as u32);
            }
            Keys::Texts { bytes: out, ends: out_ends }
        }
    }
}
