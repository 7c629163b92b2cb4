//! Writing label files: as text, and in CNTK's binary form.
//!
//! Labels are what the deserializers of such files deliver: one class a frame, with the value 2 where a phone begins, if
//! boundaries are asked for. Frames of one class are one line, or one run, up to the next boundary.

use std::fmt::Write as _;
use std::io::Write;

use tesson_core::Key;

use super::binary::{FIRST_BYTES, VERSION_OF_TEXTS};
use crate::write::{Batch, Sequence, SequenceData, SequenceWriter, StreamSpec, WriteError, check_key};

/// How label files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelForm {
    /// Master label files, in which frames last 10 ms.
    Text,
    /// CNTK's binary form of them.
    Binary,
}

/// Units of 100 ns in a frame.
const PERIOD: u64 = 100_000;

/// Writes a label file.
pub struct Writer<W> {
    out: W,
    form: LabelForm,
    stream: StreamSpec,
    n_sequences: u64,
    /// One entry.
    entry: Vec<u8>,
    runs: Vec<Run>,
}

/// Frames of one class.
struct Run {
    class: u16,
    frames: u32,
}

impl<W: Write> Writer<W> {
    /// A writer of these streams.
    ///
    /// # Errors
    /// Anything but one stream of classes, with names that can stand in a text; errors of the output.
    pub fn new(mut out: W, streams: &[StreamSpec], form: LabelForm) -> Result<Writer<W>, WriteError> {
        let [stream] = streams else {
            let n = streams.len();
            return Err(WriteError::refused(format!("found {n} streams, expected one of labels")));
        };
        let name = &stream.name;
        if !stream.sparse || stream.dim.is_none_or(|dim| dim > 1 << 16) {
            let what = "expected classes below 65536, one in each sample";
            return Err(WriteError::refused(format!("stream `{name}` has no labels: {what}")));
        }
        let is_split = |class: &&String| class.is_empty() || class.contains([' ', '\t', '\r', '\n']);
        if let Some(class) = stream.classes.iter().find(is_split).filter(|_| form == LabelForm::Text) {
            let what = "which holds blanks or is empty; rename it, or write the binary form (`--to bmlf`)";
            return Err(WriteError::refused(format!("stream `{name}` has the class `{class}`, {what}")));
        }
        match form {
            LabelForm::Text => out.write_all(b"#!MLF!#\n")?,
            LabelForm::Binary => {
                out.write_all(FIRST_BYTES)?;
                out.write_all(&VERSION_OF_TEXTS.to_le_bytes())?;
            }
        }
        let stream = stream.clone();
        Ok(Writer { out, form, stream, n_sequences: 0, entry: Vec::new(), runs: Vec::new() })
    }

    fn sequence(&mut self, sequence: &dyn Sequence) -> Result<(), WriteError> {
        let key = sequence.key();
        let checked = check_key(&key);
        let key = key.to_string();
        let made = checked.and_then(|()| self.take_runs(sequence.stream(0))).and_then(|()| match self.form {
            LabelForm::Text => self.text(&key),
            LabelForm::Binary => self.binary(&key),
        });
        let refused = |what| WriteError::Refused {
            sequence: Some(self.n_sequences),
            what: format!("utterance `{key}`: {what}"),
        };
        made.map_err(refused)?;
        self.out.write_all(&self.entry)?;
        self.n_sequences += 1;
        Ok(())
    }

    /// The runs of a sequence.
    fn take_runs(&mut self, data: SequenceData<'_>) -> Result<(), String> {
        let SequenceData::Sparse { bounds, columns, values } = data else {
            return Err("its samples are dense, expected classes".into());
        };
        self.runs.clear();
        for (frame, ends) in bounds.windows(2).enumerate() {
            let n = ends[1] - ends[0];
            if n != 1 {
                return Err(format!("frame {frame} has {n} classes, expected one"));
            }
            let class = columns[frame] as u16;
            match self.runs.last_mut() {
                Some(run) if run.class == class && values.get(frame) != BOUNDARY => run.frames += 1,
                _ => self.runs.push(Run { class, frames: 1 }),
            }
        }
        if self.runs.is_empty() { Err("it has no frames".into()) } else { Ok(()) }
    }

    /// The entry of an utterance as text. A class stands there by its name and by its number, for readers with a list of
    /// names and without one.
    fn text(&mut self, key: &str) -> Result<(), String> {
        if key.contains(['\n', '\r']) {
            return Err("its key has several lines".into());
        }
        let mut text = String::new();
        // A first `*/` would be taken for a pattern.
        let pattern = if key.starts_with("*/") { "*/" } else { "" };
        let _ = writeln!(text, "\"{pattern}{key}.lab\"");
        let mut start = 0;
        for Run { class, frames } in &self.runs {
            let end = start + u64::from(*frames) * PERIOD;
            let _ = match self.stream.classes.get(usize::from(*class)) {
                Some(name) => writeln!(text, "{start} {end} {name} {class}"),
                None => writeln!(text, "{start} {end} {class} {class}"),
            };
            start = end;
        }
        text.push_str(".\n");
        self.entry = text.into_bytes();
        Ok(())
    }

    fn binary(&mut self, key: &str) -> Result<(), String> {
        let too_many = |what: &str, n: usize| {
            format!("it has {what} of {n}, at most 65535 fit into the binary form; write text (`--to mlf`)")
        };
        let key_bytes = u16::try_from(key.len()).map_err(|_| too_many("a key of the length", key.len()))?;
        let n_runs = self.runs.len();
        let n_runs = u16::try_from(n_runs).map_err(|_| too_many("a number of runs", n_runs))?;
        let frames: u64 = self.runs.iter().map(|run| u64::from(run.frames)).sum();
        let frames = u32::try_from(frames).map_err(|_| format!("it has {frames} frames, too many"))?;
        self.entry.clear();
        self.entry.extend(key_bytes.to_le_bytes());
        self.entry.extend(key.as_bytes());
        self.entry.extend(frames.to_le_bytes());
        self.entry.extend(n_runs.to_le_bytes());
        for run in &self.runs {
            let frames = u16::try_from(run.frames);
            let frames = frames.map_err(|_| too_many("a run with a length", run.frames as usize))?;
            self.entry.extend(run.class.to_le_bytes());
            self.entry.extend(frames.to_le_bytes());
        }
        Ok(())
    }
}

/// The value of the first frame of a phone.
pub(super) const BOUNDARY: f64 = 2.0;

impl<W: Write> SequenceWriter for Writer<W> {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        batch.one_by_one(|sequence| self.sequence(sequence))
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        if self.n_sequences == 0 {
            return Err(WriteError::refused("there is no utterance to be written"));
        }
        Ok(self.out.flush()?)
    }

    fn streams(&self) -> Vec<StreamSpec> {
        vec![self.stream.clone()]
    }

    fn lost_key(&self) -> Option<&Key> {
        None
    }
}
