//! Files to the byte, bytes and cores for tests, and corpora as readable text.

use tesson_core::{
    Chunk, ChunkId, Data, Defects, Element, InMemory, Indexed, OptionSet, Options, Parallelism,
    ReaderDefaults, Scratch, Section, SequenceSelection, StreamColumn, Value, Values,
};

use crate::files::DataFile;

use super::super::Cbf;
use super::super::options::CbfOptions;
use super::super::record::Form;

/// A sample: columns and values. Dense ones list all columns.
pub(super) type Sample = Vec<(i32, f64)>;

/// A file: its streams, and of each chunk the sequences with their samples, stream by stream.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) streams: Vec<(&'static str, Form)>,
    pub(super) chunks: Vec<Vec<Vec<Vec<Sample>>>>,
}

pub(super) const fn dense(dim: u32) -> Form {
    Form { sparse: false, double: false, dim }
}

pub(super) const fn sparse(dim: u32) -> Form {
    Form { sparse: true, double: false, dim }
}

/// Dense samples of these values.
pub(super) fn rows<const N: usize>(rows: &[[f64; N]]) -> Vec<Sample> {
    rows.iter().map(|row| (0..).zip(row.iter().copied()).collect()).collect()
}

impl File {
    /// The bytes, as the format says (spec/cbf.md §1).
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"nib_ktnc\x01\0\0\0".to_vec();
        let mut table = Vec::new();
        for chunk in &self.chunks {
            table.push((bytes.len() as u64, chunk.len() as u32, put_chunk(&self.streams, chunk, &mut bytes)));
        }
        put_header(&self.streams, &table, &mut bytes);
        bytes
    }
}

/// Appends a chunk and returns its number of samples.
fn put_chunk(streams: &[(&str, Form)], chunk: &[Vec<Vec<Sample>>], into: &mut Vec<u8>) -> u32 {
    let length = |sequence: &Vec<Vec<Sample>>| sequence.iter().map(Vec::len).max().unwrap_or(0) as u32;
    chunk.iter().for_each(|sequence| into.extend(length(sequence).to_le_bytes()));
    for (number, (_, form)) in streams.iter().enumerate() {
        chunk.iter().for_each(|sequence| put_record(*form, &sequence[number], into));
    }
    chunk.iter().map(length).sum()
}

fn put_record(form: Form, samples: &[Sample], into: &mut Vec<u8>) {
    into.extend((samples.len() as u32).to_le_bytes());
    let entries = || samples.iter().flatten();
    if form.sparse {
        into.extend((entries().count() as i32).to_le_bytes());
    }
    for (_, value) in entries() {
        if form.double {
            into.extend(value.to_le_bytes())
        } else {
            into.extend((*value as f32).to_le_bytes())
        }
    }
    if form.sparse {
        entries().for_each(|(column, _)| into.extend(column.to_le_bytes()));
        samples.iter().for_each(|sample| into.extend((sample.len() as i32).to_le_bytes()));
    }
}

/// Appends header, table (offset, sequences, samples) and the header's offset.
pub(super) fn put_header(streams: &[(&str, Form)], table: &[(u64, u32, u32)], into: &mut Vec<u8>) {
    let header = into.len() as u64;
    into.extend(b"nib_ktnc");
    into.extend((table.len() as u32).to_le_bytes());
    into.extend((streams.len() as u32).to_le_bytes());
    for (name, form) in streams {
        into.push(form.sparse.into());
        into.extend((name.len() as u32).to_le_bytes());
        into.extend(name.as_bytes());
        into.push(form.double.into());
        into.extend(form.dim.to_le_bytes());
    }
    for (offset, sequences, samples) in table {
        into.extend(offset.to_le_bytes());
        into.extend(sequences.to_le_bytes());
        into.extend(samples.to_le_bytes());
    }
    into.extend(header.to_le_bytes());
}

/// A file in memory.
pub(in super::super) type Memory = InMemory<Vec<u8>>;

struct Cores;

impl Parallelism for Cores {
    fn width(&self) -> usize {
        3
    }

    fn memory(&self) -> u64 {
        u64::MAX
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(job);
    }
}

/// A deserializer that has seen the file. Options are words: `double`, `skip=stream`, `name=alias`.
pub(super) fn opened(options: &str, file: &Memory) -> Result<Cbf, String> {
    let text = |t: &str| Value::Text(t.to_string());
    let mut section = Section::from_iter([("file", text("f.cbf"))]);
    let mut input = Section::default();
    for word in options.split_whitespace() {
        let (name, entry) = match word.split_once('=') {
            None => {
                section.push("precision", text(word));
                continue;
            }
            Some(("skip", stream)) => (stream, ("skip", Value::Bool(true))),
            Some((name, alias)) => (name, ("alias", text(alias))),
        };
        input.push(name, Value::Section(Section::from_iter([entry])));
    }
    section.push("input", Value::Section(input));
    let options = Options::new(CbfOptions::TABLE, &section, "").map_err(|e| e.to_string())?;
    let defaults = ReaderDefaults {
        element: Element::F32,
        frame_mode: false,
        numeric_keys: true,
        cache_index: false,
        forgives: false,
    };
    let resolved = CbfOptions::read(&options, &defaults).map_err(|e| e.to_string())?;
    let mut cbf = Cbf::new(resolved.clone().into(), &resolved.files[0]);
    cbf.prepare(file).map_err(|e| e.to_string())?;
    Ok(cbf)
}

pub(super) fn indexed(cbf: &Cbf, file: &Memory) -> Result<Indexed, String> {
    cbf.index(file, &Cores, &mut Defects::Refuse).map_err(|e| e.to_string())
}

/// The sequences wanted of a chunk, a line each.
pub(super) fn load(
    cbf: &Cbf,
    indexed: &Indexed,
    file: &Memory,
    chunk: ChunkId,
    wanted: SequenceSelection<'_>,
) -> Result<Vec<String>, String> {
    let (mut scratch, mut out) = (Scratch { notes: true, ..Scratch::default() }, Chunk::empty());
    indexed.corpus.load(chunk, wanted, file, &mut scratch, &mut out).map_err(|e| e.to_string())?;
    Ok(render(cbf, &out))
}

/// All sequences, chunk by chunk, a line each.
pub(super) fn by_index(cbf: &Cbf, file: &Memory) -> Result<Vec<String>, String> {
    let indexed = indexed(cbf, file)?;
    let mut lines = Vec::new();
    for chunk in indexed.index.chunk_ids() {
        let n = indexed.index.chunk(chunk).n_sequences;
        lines.extend(load(cbf, &indexed, file, chunk, SequenceSelection::Range(0..n))?);
    }
    Ok(lines)
}

/// All sequences by way of pieces of this size, a line each.
pub(super) fn by_pieces(cbf: &Cbf, file: &Memory, target: u64) -> Result<Vec<String>, String> {
    let pieces = cbf.streaming().expect("small chunks");
    let mut scratch = Scratch { notes: true, ..Scratch::default() };
    let (mut chunk, mut bytes) = (Chunk::empty(), Vec::new());
    let (mut after, mut lines) = (None, Vec::new());
    while let Some(piece) = pieces.cut(after, target, file, &mut bytes).map_err(|e| e.to_string())? {
        pieces.decode(piece, &bytes, file, &mut scratch, &mut chunk).map_err(|e| e.to_string())?;
        lines.extend(render(cbf, &chunk));
        after = Some(piece);
    }
    Ok(lines)
}

/// A line a sequence: key, counted length, streams, and what is wrong with it.
fn render(cbf: &Cbf, chunk: &Chunk) -> Vec<String> {
    (0..chunk.n_sequences).map(|i| line(cbf, chunk, i)).collect()
}

fn line(cbf: &Cbf, chunk: &Chunk, i: u32) -> String {
    let mut text = format!("{} ({})", chunk.key(i as usize), chunk.lengths[i as usize]);
    for (column, info) in chunk.streams.iter().zip(cbf.streams()) {
        text += &format!(" {}={}", info.name, samples(column, info.shape.len(), i as usize));
    }
    for fault in chunk.faults_of(i).iter().chain(chunk.notes.iter().filter(|note| note.sequence == i)) {
        let stream = fault.stream.map_or("", |s| &cbf.streams()[s as usize].name);
        text += &format!("; byte {} {stream}: {}", fault.offset, fault.kind);
    }
    if let Some(error) = chunk.damage_of(i) {
        text += &format!("; {error}");
    }
    text
}

fn samples(column: &StreamColumn, dim: usize, i: usize) -> String {
    let value = |at: usize| match &column.data {
        Data::Dense { values: Values::F32(v) } | Data::Sparse { values: Values::F32(v), .. } => {
            v[at].to_string()
        }
        Data::Dense { values: Values::F64(v) } | Data::Sparse { values: Values::F64(v), .. } => {
            v[at].to_string()
        }
        other => panic!("no floats: {other:?}"),
    };
    let sample = |s: usize| match &column.data {
        Data::Dense { .. } => (s * dim..(s + 1) * dim).map(value).collect::<Vec<_>>().join(" "),
        Data::Sparse { rows, columns, .. } => {
            rows.range(s).map(|at| format!("{}:{}", columns[at], value(at))).collect::<Vec<_>>().join(" ")
        }
        other => panic!("the format stores no {other:?}"),
    };
    format!("[{}]", column.samples.range(i).map(sample).collect::<Vec<_>>().join(", "))
}
