//! Writing text: a row a sample, each with its sequence's id.
//!
//! Numbers have the digits that bring them back exactly, in the form that every reader of the format takes
//! (spec/ctf.md §5): what is written here and read again is the same, bit for bit.

use std::fmt::{Display, LowerExp};
use std::io::Write;

use tesson_core::Key;

use super::bytes::is_end;
use crate::write::{
    Batch, Numbers, Sequence, SequenceData, SequenceWriter, StreamSpec, WriteError, check_key, check_names,
    with_columns,
};

/// Writes a text file.
pub struct Writer<W> {
    out: W,
    streams: Vec<StreamSpec>,
    /// Columns needed so far, by stream.
    columns: Vec<u64>,
    last: Option<Key>,
    n_sequences: u64,
    /// Rows of one sequence.
    text: Vec<u8>,
}

/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<W: Write> Writer<W> {
    /// A writer of these streams.
    ///
    /// # Errors
    /// Names that cannot stand in the format (spec/ctf.md §4).
    pub fn new(out: W, streams: &[StreamSpec]) -> Result<Writer<W>, WriteError> {
        check_names(streams)?;
        for stream in streams {
            let name = stream.name.as_bytes();
            if name.is_empty() || name[0] == b'#' || name.iter().any(|&b| is_end(b)) {
                let what = format!(
                    "stream `{}` cannot be named in the text format: expected printable ASCII without blanks and `|`, not beginning with `#`; give it another name",
                    stream.name
                );
                return Err(WriteError::refused(what));
            }
        }
        Ok(Writer {
            out,
            columns: vec![0; streams.len()],
            streams: streams.to_vec(),
            last: None,
            n_sequences: 0,
            text: Vec::new(),
        })
    }

    fn check_key(&self, key: &Key) -> Result<(), String> {
        if self.last.as_ref() == Some(key) {
            return Err(format!(
                "it has the key {key} of the sequence before it, so that the two would be one; give each a key of its own, or \
                 write the binary format, which has none"
            ));
        }
        match key {
            Key::Text(text) if text.is_empty() || text.bytes().any(|b| b <= b' ' || b == b'|') => {
                Err(format!(
                    "its key `{text}` is empty or holds blanks or `|`, which the text format cannot tell from values"
                ))
            }
            key => check_key(key),
        }
    }
}

impl<W: Write> SequenceWriter for Writer<W> {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        batch.one_by_one(|sequence| self.sequence(sequence))
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        if self.n_sequences == 0 {
            return Err(WriteError::refused("there is no sequence to be written"));
        }
        Ok(self.out.flush()?)
    }

    fn streams(&self) -> Vec<StreamSpec> {
        with_columns(&self.streams, &self.columns)
    }

    fn lost_key(&self) -> Option<&Key> {
        None
    }
}

impl<W: Write> Writer<W> {
    fn sequence(&mut self, sequence: &dyn Sequence) -> Result<(), WriteError> {
        let refused = |what| WriteError::Refused { sequence: Some(self.n_sequences), what };
        let key = &sequence.key();
        self.check_key(key).map_err(refused)?;
        let data = || (0..self.streams.len()).map(|i| sequence.stream(i));
        let rows = data().map(|data| data.n_samples()).max().unwrap_or(0);
        if rows == 0 {
            return Err(refused("it has no sample in any stream, which the text format cannot say".into()));
        }
        let is_void = |data: &SequenceData<'_>| matches!(data, SequenceData::Dense { n_samples: 1.., values } if values.is_empty());
        if let Some((stream, _)) = self.streams.iter().zip(data()).find(|(_, data)| is_void(data)) {
            let what = format!(
                "stream `{}` has a sample without values, which the text format cannot say; leave the stream out",
                stream.name
            );
            return Err(refused(what));
        }
        self.text.clear();
        // Readers skip any beginning of a byte order mark, also where a key begins so: they skip a whole one before it then.
        if self.n_sequences == 0
            && matches!(key, Key::Text(text) if text.as_bytes().starts_with(&BYTE_ORDER_MARK[..1]))
        {
            self.text.extend(BYTE_ORDER_MARK);
        }
        for row in 0..rows {
            put(&mut self.text, format_args!("{key}"));
            for (stream, data) in self.streams.iter().zip(data()) {
                if row < data.n_samples() {
                    self.text.extend(b" |");
                    self.text.extend(stream.name.as_bytes());
                    sample(&data, row as usize, &mut self.text)
                        .map_err(|what| refused(format!("stream `{}`: {what}", stream.name)))?;
                }
            }
            self.text.push(b'\n');
        }
        for (largest, data) in self.columns.iter_mut().zip(data()) {
            if let SequenceData::Sparse { columns, .. } = data {
                *largest = columns.iter().fold(*largest, |n, &column| n.max(column as u64 + 1));
            }
        }
        self.out.write_all(&self.text)?;
        self.last = Some(key.clone());
        self.n_sequences += 1;
        Ok(())
    }
}

/// Appends the values or pairs of one sample.
fn sample(data: &SequenceData<'_>, row: usize, text: &mut Vec<u8>) -> Result<(), String> {
    match *data {
        SequenceData::Dense { n_samples, values } => {
            let dim = values.len() / n_samples as usize;
            (row * dim..(row + 1) * dim).try_for_each(|i| {
                text.push(b' ');
                number(values, i, text)
            })
        }
        SequenceData::Sparse { bounds, columns, values } => {
            let entry = |row: usize| (bounds[row] - bounds[0]) as usize;
            (entry(row)..entry(row + 1)).try_for_each(|i| {
                put(text, format_args!(" {}:", columns[i]));
                number(values, i, text)
            })
        }
    }
}

fn number(values: Numbers<'_>, i: usize, text: &mut Vec<u8>) -> Result<(), String> {
    match values {
        Numbers::F32(v) => put_number(v[i], v[i].into(), text),
        Numbers::F64(_) | Numbers::Bytes(_) | Numbers::Ones(_) => {
            let x = values.get(i);
            put_number(x, x, text)
        }
    }
}

/// Appends a number with the fewest digits that bring it back, `x` being the same as `number`.
fn put_number(number: impl Display + LowerExp, x: f64, text: &mut Vec<u8>) -> Result<(), String> {
    if !x.is_finite() {
        return Err(format!(
            "the value {x} is no number of the text format; replace it, or write the binary format"
        ));
    }
    if x == 0.0 || (1e-5..1e16).contains(&x.abs()) {
        put(text, format_args!("{number}"));
    } else {
        put(text, format_args!("{number:e}"));
    }
    Ok(())
}

fn put(text: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    // Memory takes everything.
    let _ = text.write_fmt(what);
}
