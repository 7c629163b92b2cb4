//! Loading entries of indexed files.

use std::ops::Range;
use std::sync::Arc;

use tesson_core::{
    Chunk, ChunkId, Corpus, CorpusFacts, Data, DataErrorKind, Error, Fault, Fetch, Index, Indexed, Keys,
    Offsets, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection, StreamColumn, Values,
};

use super::label::MAX_CLASS;
use super::options::Encoding;
use super::runs::{LabelRules, Problem, Run};
use super::table::{Entry, LabelChunk};
use crate::near::NearBytes;

/// Indexed files.
struct LabelCorpus {
    rules: LabelRules,
    chunks: Vec<LabelChunk>,
    /// The resource of each file.
    files: Vec<ResourceId>,
    phone_boundaries: bool,
    as_numbers: bool,
    facts: CorpusFacts,
}

/// The data that loading needs beside the chunks.
pub(super) struct CorpusParts {
    pub(super) rules: LabelRules,
    pub(super) files: Vec<ResourceId>,
    pub(super) phone_boundaries: bool,
    /// True if samples are the numbers of classes.
    pub(super) as_numbers: bool,
}

/// Joins an index and its chunks, which take so many bytes of memory.
pub(super) fn indexed(parts: CorpusParts, index: Index, chunks: Vec<LabelChunk>, memory: usize) -> Indexed {
    let CorpusParts { rules, files, phone_boundaries, as_numbers } = parts;
    let facts = CorpusFacts::new(memory);
    let corpus = LabelCorpus { rules, chunks, files, phone_boundaries, as_numbers, facts };
    Indexed { index: Arc::new(index), corpus: Arc::new(corpus) }
}

/// The value of a frame, and of one that begins a phone where these are marked.
const ONE: u8 = 1;
const BOUNDARY: u8 = 2;

/// Bytes that a frame takes when it is decoded, as a column of a sparse sample and as a number.
const COLUMN_BYTES: u64 = 4;
const NUMBER_BYTES: u64 = 8;

impl Corpus for LabelCorpus {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let chunk = &self.chunks[chunk.index()];
        let resource = self.files[chunk.file as usize];
        let sequences = wanted.to_vec();
        let mut bytes = NearBytes::new(resource, std::mem::take(&mut scratch.bytes));
        let mut frames = FrameColumns::recycled(out);
        let (mut runs, mut problem, mut last) = (Vec::new(), None, None);
        let (mut faults, mut left_out) = (Vec::new(), Vec::new());
        for (i, &sequence) in (0..).zip(&sequences) {
            let (number, own) = chunk.find(sequence);
            // The frames of an entry follow each other: it is decoded once.
            if last != Some(number) {
                let entry = chunk.entry(number);
                let next =
                    sequences[i as usize..].iter().map(|&next| end_of(chunk.entry(chunk.find(next).0)));
                problem = match beyond_memory(entry, self.as_numbers, fetch) {
                    Some(kind) => Some(EntryProblem { kind, offset: 0, line: 0, fatal: true }),
                    None => {
                        let text = bytes.get(entry.offset..end_of(entry), next, fetch)?;
                        self.rules.decode(text, entry.frames, &mut runs).err().map(EntryProblem::from)
                    }
                };
                last = Some(number);
            }
            if let Some(found) = &problem {
                let entry = chunk.entry(number);
                faults.push(Fault {
                    sequence: i,
                    kind: found.kind.clone(),
                    stream: Some(0),
                    resource,
                    offset: entry.offset + found.offset,
                    line: (self.rules.encoding == Encoding::Text)
                        .then_some(entry.line - chunk.line + found.line),
                    fatal: found.fatal,
                });
                left_out.push(i);
            } else {
                frames.push(&runs, own, self.phone_boundaries);
            }
            frames.end_sequence();
        }
        scratch.bytes = bytes.into_buffer();
        let lengths = sequences.iter().map(|&sequence| chunk.find(sequence).1.len() as u32).collect();
        *out = Chunk::new(
            Keys::gathered(std::slice::from_ref(&chunk.keys), sequences.iter().map(|&i| (0, i))),
            lengths,
            vec![frames.finish(self.as_numbers)],
        );
        out.faults = faults;
        out.left_out = left_out;
        out.first_line = chunk.line;
        Ok(())
    }

    fn keys(&self, chunk: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(Some(self.chunks[chunk.index()].keys.clone()))
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        let chunk = &self.chunks[at.chunk.index()];
        let entry = chunk.entry(chunk.find(at.sequence).0);
        (self.files[chunk.file as usize], entry.offset..end_of(entry))
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}

/// The fault of an entry, and its location.
struct EntryProblem {
    kind: DataErrorKind,
    offset: u64,
    line: u64,
    fatal: bool,
}

impl From<Problem> for EntryProblem {
    fn from(Problem { fault, offset, line, fatal }: Problem) -> EntryProblem {
        EntryProblem { kind: fault, offset, line, fatal }
    }
}

/// The fault of an entry that takes more memory than a sequence may.
fn beyond_memory(entry: Entry, as_numbers: bool, fetch: &dyn Fetch) -> Option<DataErrorKind> {
    let frame = if as_numbers { NUMBER_BYTES } else { COLUMN_BYTES };
    let found = (u64::from(entry.frames) * frame).max(entry.size.into());
    let limit = fetch.largest();
    (found > limit).then_some(DataErrorKind::SequenceBeyondMemory { found, limit })
}

fn end_of(entry: Entry) -> u64 {
    entry.offset + u64::from(entry.size)
}

/// The labels of sequences as sparse samples of one value.
struct FrameColumns {
    classes: Vec<u32>,
    /// Values, as far as boundaries are marked.
    values: Vec<u8>,
    ends: Vec<u32>,
}

impl FrameColumns {
    /// Empty columns in the memory that a chunk has held.
    fn recycled(chunk: &mut Chunk) -> FrameColumns {
        let mut columns = FrameColumns { classes: Vec::new(), values: Vec::new(), ends: Vec::new() };
        if let Some(StreamColumn { samples, data }) = chunk.streams.pop() {
            if let Data::Sparse { columns: classes, values, .. } = data {
                columns.classes = classes;
                if let Values::Bytes(values) = values {
                    columns.values = values;
                }
            }
            if let Offsets::At(ends) = samples {
                columns.ends = ends;
            }
        }
        columns.classes.clear();
        columns.values.clear();
        columns.ends.clear();
        columns.ends.push(0);
        columns
    }

    /// Appends these frames of an utterance.
    fn push(&mut self, runs: &[Run], frames: Range<u32>, phone_boundaries: bool) {
        let first = runs.partition_point(|run| run.end <= frames.start);
        let mut start = first.checked_sub(1).map_or(0, |before| runs[before].end);
        for run in &runs[first..] {
            if start >= frames.end {
                break;
            }
            debug_assert!(run.class <= MAX_CLASS, "classes are checked where they are read");
            let n = (run.end.min(frames.end) - start.max(frames.start)) as usize;
            self.classes.extend(std::iter::repeat_n(run.class, n));
            if phone_boundaries {
                self.values.push(if start >= frames.start { BOUNDARY } else { ONE });
                self.values.extend(std::iter::repeat_n(ONE, n - 1));
            }
            start = run.end;
        }
    }

    fn end_sequence(&mut self) {
        self.ends.push(self.classes.len() as u32);
    }

    fn finish(self, as_numbers: bool) -> StreamColumn {
        if as_numbers {
            let values = Values::Bits64(self.classes.into_iter().map(u64::from).collect());
            return StreamColumn { samples: Offsets::At(self.ends), data: Data::Dense { values } };
        }
        let values = if self.values.is_empty() {
            Values::Ones(self.classes.len())
        } else {
            Values::Bytes(self.values)
        };
        let data = Data::Sparse { rows: Offsets::Every(1), columns: self.classes, values };
        StreamColumn { samples: Offsets::At(self.ends), data }
    }
}
