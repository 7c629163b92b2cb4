//! Bytes and cores for tests, and corpora as readable text.

pub(super) use tesson_core::InMemory as Memory;
use tesson_core::{
    Chunk, Data, DataErrorKind, DecodeWarnings, Defects, Element, Fetch, Indexed, Key, OptionSet, Options,
    Parallelism, ReaderDefaults, Scratch, Section, SequenceSelection, StreamColumn, Value, Values,
};

use crate::files::DataFile;

use super::super::fault::CtfFault;
use super::super::index::Cut;
use super::super::options::CtfOptions;
use super::super::tokens::Kernel;
use super::super::{Ctf, Rules};

/// This many cores, which do jobs in an order of their own.
pub(super) struct Cores(pub(super) usize);

impl Parallelism for Cores {
    fn width(&self) -> usize {
        self.0
    }

    fn memory(&self) -> u64 {
        u64::MAX
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(job);
    }
}

/// A section from `name=value` words; `input` from words `stream:format:dim[:alias][:main]`.
pub(super) fn section(options: &str, streams: &str) -> Section {
    let text = |t: &str| Value::Text(t.to_string());
    let input = streams.split_whitespace().map(|word| {
        let mut parts = word.split(':');
        let name = parts.next().unwrap().to_string();
        let mut entries = vec![("format".to_string(), text(parts.next().unwrap()))];
        entries.extend(parts.next().filter(|d| *d != "?").map(|d| ("dim".to_string(), text(d))));
        for part in parts {
            entries.push(match part {
                "main" => ("definesMBSize".to_string(), Value::Bool(true)),
                alias => ("alias".to_string(), text(alias)),
            });
        }
        (name, Value::Section(entries.into_iter().collect()))
    });
    let mut entries =
        vec![("file".to_string(), text("input.txt")), ("input".to_string(), Value::Section(input.collect()))];
    for option in options.split_whitespace().filter(|o| *o != "textKeys") {
        let (name, value) = option.split_once('=').unwrap();
        entries.push((name.to_string(), text(value)));
    }
    entries.into_iter().collect()
}

pub(super) const SETTING: ReaderDefaults = ReaderDefaults {
    element: Element::F32,
    frame_mode: false,
    numeric_keys: true,
    cache_index: false,
    forgives: false,
};

/// A deserializer of these options that has seen the file.
pub(super) fn opened(options: &str, streams: &str, file: &Memory<Vec<u8>>) -> Result<Ctf, String> {
    let section = section(options, streams);
    let defaults = ReaderDefaults { numeric_keys: !options.contains("textKeys"), ..SETTING };
    let options = Options::new(CtfOptions::TABLE, &section, "").map_err(|e| e.to_string())?;
    let resolved = CtfOptions::read(&options, &defaults).map_err(|e| e.to_string())?;
    let mut ctf = Ctf::new(resolved.clone().into(), &Rules::new(&resolved), &resolved.files[0]);
    ctf.prepare(file).map_err(|e| e.to_string())?;
    Ok(ctf)
}

/// A deserializer that uses another kernel.
pub(super) fn with_kernel(mut ctf: Ctf, kernel: Kernel) -> Ctf {
    std::sync::Arc::make_mut(&mut ctf.rules).kernel = kernel;
    ctf
}

/// A deserializer that indexes in ranges and reads of these sizes.
pub(super) fn with_cut(mut ctf: Ctf, range: u64, read: u64) -> Ctf {
    ctf.cut = Cut { range, read };
    ctf
}

pub(super) fn indexed(ctf: &Ctf, file: &Memory<Vec<u8>>) -> Result<Indexed, String> {
    ctf.index(file, &Cores(3), &mut Defects::Refuse).map_err(|e| e.to_string())
}

/// All sequences by way of the index, chunk by chunk, a line each.
pub(super) fn by_index(ctf: &Ctf, file: &Memory<Vec<u8>>) -> Result<Vec<String>, String> {
    all_chunks(ctf, &indexed(ctf, file)?, file)
}

/// All sequences of an indexed file, a line each.
pub(super) fn all_chunks(
    ctf: &Ctf,
    indexed: &Indexed,
    file: &Memory<Vec<u8>>,
) -> Result<Vec<String>, String> {
    let (mut scratch, mut chunk, mut lines) = (Scratch::default(), Chunk::empty(), Vec::new());
    for c in indexed.index.chunk_ids() {
        let n = indexed.index.chunk(c).n_sequences;
        indexed
            .corpus
            .load(c, SequenceSelection::Range(0..n), file, &mut scratch, &mut chunk)
            .map_err(|e| e.to_string())?;
        assert_eq!(chunk.n_sequences, n);
        assert!((0..n as usize).all(|i| chunk.lengths[i] == indexed.index.lengths(c).get(i)));
        lines.extend(render(ctf, &chunk));
    }
    Ok(lines)
}

/// The findings of loading all chunks that are no faults.
pub(super) fn warnings(ctf: &Ctf, file: &Memory<Vec<u8>>) -> Option<DecodeWarnings> {
    let indexed = indexed(ctf, file).ok()?;
    let (mut scratch, mut chunk) = (Scratch::default(), Chunk::empty());
    for c in indexed.index.chunk_ids() {
        let all = SequenceSelection::Range(0..indexed.index.chunk(c).n_sequences);
        indexed.corpus.load(c, all, file, &mut scratch, &mut chunk).ok()?;
    }
    Some(scratch.warnings)
}

/// All sequences by way of pieces of this size, a line each.
pub(super) fn by_pieces(ctf: &Ctf, file: &Memory<Vec<u8>>, target: u64) -> Result<Vec<String>, String> {
    let pieces = ctf.streaming().expect("no main stream");
    let (mut scratch, mut chunk, mut bytes) = (Scratch::default(), Chunk::empty(), Vec::new());
    let (mut after, mut line, mut lines) = (None, 0, Vec::new());
    while let Some(piece) = pieces.cut(after, target, file, &mut bytes).map_err(|e| e.to_string())? {
        assert_eq!(piece.offset, after.map_or(0, |p: tesson_core::ByteRun| p.offset + p.bytes));
        let extent = piece.offset..piece.offset + piece.bytes;
        file.read_after(piece.resource, extent, 0, &mut bytes).map_err(|e| e.to_string())?;
        pieces.decode(piece, &bytes, file, &mut scratch, &mut chunk).map_err(|e| e.to_string())?;
        chunk.first_line = line;
        line += chunk.n_lines;
        lines.extend(render(ctf, &chunk));
        after = Some(piece);
    }
    Ok(lines)
}

/// A chunk, a line a sequence: `key*length stream[sample][sample] … !fault@offset:line`.
pub(super) fn render(ctf: &Ctf, chunk: &Chunk) -> Vec<String> {
    (0..chunk.n_sequences as usize)
        .map(|i| {
            let key = match chunk.key(i) {
                Key::Number(n) => n.to_string(),
                Key::Text(t) => t,
            };
            let mut line = format!("{key}*{}", chunk.lengths[i]);
            for (stream, info) in chunk.streams.iter().zip(ctf.streams()) {
                line.push(' ');
                line.push_str(
                    &samples(stream, info.shape.len(), i)
                        .iter()
                        .map(|s| format!("[{s}]"))
                        .collect::<String>(),
                );
            }
            if chunk.is_left_out(i as u32) {
                line.push_str(" left out");
            }
            for fault in chunk.faults_of(i as u32) {
                let line_number = fault.line.unwrap_or_default() + chunk.first_line;
                let stream = fault.stream.map_or(String::new(), |s| format!("{s}:"));
                let fatal = if fault.fatal { "!" } else { "" };
                line.push_str(&format!(
                    " !{fatal}{stream}{}@{}:{line_number}",
                    word(&fault.kind),
                    fault.offset
                ));
            }
            line
        })
        .collect()
}

/// The samples of sequence `i`: values, or pairs.
fn samples(stream: &StreamColumn, dim: usize, i: usize) -> Vec<String> {
    let value = |values: &Values, at: usize| match values {
        Values::F32(v) => v[at].to_string(),
        Values::F64(v) => v[at].to_string(),
        other => panic!("decoded as {other:?}"),
    };
    let range = stream.samples.range(i);
    match &stream.data {
        Data::Dense { values } => range
            .map(|s| (0..dim).map(|d| value(values, s * dim + d)).collect::<Vec<_>>().join(" "))
            .collect(),
        Data::Sparse { rows, columns, values } => range
            .map(|s| {
                let pairs = rows.range(s).map(|p| format!("{}:{}", columns[p], value(values, p)));
                pairs.collect::<Vec<_>>().join(" ")
            })
            .collect(),
        other => panic!("the format stores no {other:?}"),
    }
}

/// A fault in a word.
fn word(kind: &DataErrorKind) -> &'static str {
    let fault = match kind {
        DataErrorKind::IndexOutOfRange { .. } => return "index",
        kind => kind.of_format(),
    };
    match fault {
        Some(CtfFault::StrayText { .. }) => "prefix",
        Some(CtfFault::UnnamedInput) => "name",
        Some(CtfFault::BadNumber { .. }) => "number",
        Some(CtfFault::TooManyValues { .. }) => "long",
        Some(CtfFault::BadPair { .. }) => "pair",
        Some(CtfFault::RowWithoutSample) => "row",
        Some(CtfFault::MoreSamplesThanRows { .. }) => "more",
        Some(CtfFault::FewerSamplesThanRows { .. }) => "fewer",
        Some(CtfFault::RowWithoutInput { .. }) => "text",
        Some(CtfFault::EmptyInput) => "empty",
        Some(CtfFault::MissingInput) => "missing",
        _ => "other",
    }
}
