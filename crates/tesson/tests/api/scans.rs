//! A small format for tests of what deserializers may store: lines of digits, `key`, a tab, and rows that `/` separates.

use std::ops::Range;
use std::sync::Arc;

use tesson::{ConfigError, Element, Error, Shape, StreamInfo};
use tesson_core::Storage;
use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, Data, Defects, Deserializer, DeserializerFacts,
    EncodedColumn, Fetch, Format, Frame, FrameColumn, Index, Indexed, Keys, Offsets, OptionKind, OptionSpec,
    OptionTable, Options, Origin, Parallelism, ReaderDefaults, ResourceId, Scattered, Scratch, SequenceId,
    SequenceSelection, StreamColumn, StreamMismatch, StreamingDecoder, Values,
};

pub(crate) static FORMAT: Format = Format::new("Scans", "", &OPTIONS, open);

static OPTIONS: OptionTable = OptionTable(&[
    option("file", OptionKind::Path, "f"),
    option("stream", OptionKind::Text, "x"),
    option("storage", OptionKind::OneOf(&["encoded", "frames", "values", "repeated"]), "encoded"),
    option("views", OptionKind::Whole, "1"),
    option("maxErrors", OptionKind::Whole, "0"),
    option("needsAnotherFirst", OptionKind::Bool, "false"),
]);

const fn option(name: &'static str, kind: OptionKind, default: &'static str) -> OptionSpec {
    OptionSpec::with_default(name, kind, default, "")
}

/// Lines of a chunk.
const LINES: usize = 4;

fn open(options: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let storage = match options.text("storage")?.as_str() {
        "encoded" => Storage::Encoded,
        "frames" => Storage::Frames,
        "repeated" => Storage::Repeated,
        _ => Storage::Values,
    };
    let name = options.text("stream")?;
    let stream = match storage {
        Storage::Encoded => StreamInfo::encoded(name, Element::F32),
        _ => StreamInfo::dense(name, Shape::new([1]), Element::F32).stored_as(storage),
    };
    let views = options.whole("views")? as u32;
    let identity = format!("{} {storage:?} views={views}", FORMAT.name);
    let file = options.text("file")?.into();
    let mut facts = DeserializerFacts::new(FORMAT.name, vec![file], vec![stream], identity);
    facts.max_errors = Some(options.whole("maxErrors")?);
    facts.needs_another_first = options.bool("needsAnotherFirst")?;
    Ok(Box::new(Scans { facts, views }))
}

struct Scans {
    facts: DeserializerFacts,
    views: u32,
}

/// A sequence: its line, and which view or frame of it.
#[derive(Clone)]
struct Entry {
    key: u64,
    /// The digits, in the file.
    bytes: Range<u64>,
    line: u64,
    part: u32,
}

struct Entries {
    /// Those of each chunk.
    chunks: Vec<Vec<Entry>>,
    storage: Storage,
    facts: CorpusFacts,
}

const FILE: ResourceId = ResourceId(0);

impl Deserializer for Scans {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, _: &dyn Fetch) -> Result<(), Error> {
        Ok(())
    }

    fn index(&self, fetch: &dyn Fetch, _: &dyn Parallelism, _: &mut Defects<'_>) -> Result<Indexed, Error> {
        let storage = self.facts.streams[0].storage;
        let mut text = Vec::new();
        fetch.read(FILE, 0..fetch.size(FILE)?, &mut text)?;
        let (mut at, mut chunks) = (0, vec![Vec::new()]);
        let mut index = Index::new();
        let (mut lengths, mut bytes) = (Vec::new(), 0);
        let lines: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
        for (number, line) in lines.iter().enumerate() {
            let tab = line.iter().position(|&b| b == b'\t').expect("the test's lines have tabs");
            let key =
                std::str::from_utf8(&line[..tab]).expect("keys are text").parse().expect("keys are numbers");
            let digits = at + tab as u64 + 1..at + line.len() as u64 - 1;
            let n_digits = (digits.end - digits.start) as u32;
            let (parts, length) = match storage {
                Storage::Encoded => (self.views, 1),
                Storage::Frames => (n_digits, 1),
                Storage::Repeated => (1, 1),
                _ => (1, n_digits),
            };
            let entry = |part| Entry { key, bytes: digits.clone(), line: number as u64, part };
            chunks.last_mut().expect("a chunk has been started").extend((0..parts).map(entry));
            lengths.extend((0..parts).map(|_| length));
            at += line.len() as u64;
            bytes += line.len() as u64;
            if (number + 1) % LINES == 0 || number + 1 == lines.len() {
                index.push(CompactLengths::new(&std::mem::take(&mut lengths)), std::mem::take(&mut bytes));
                chunks.push(Vec::new());
            }
        }
        index.seal();
        Ok(Indexed {
            index: Arc::new(index),
            corpus: Arc::new(Entries { chunks, storage, facts: CorpusFacts::new(0) }),
        })
    }

    fn restore(&self, _: &[u8]) -> Option<Indexed> {
        None
    }

    fn mismatches(&self, _: &dyn Fetch) -> Result<Vec<StreamMismatch>, Error> {
        Ok(Vec::new())
    }

    fn streaming(&self) -> Option<&dyn StreamingDecoder> {
        None
    }
}

impl Corpus for Entries {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn keys(&self, _: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(None)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        fetch: &dyn Fetch,
        scratch: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let all = &self.chunks[chunk.index()];
        let entries: Vec<&Entry> = wanted.to_vec().into_iter().map(|row| &all[row as usize]).collect();
        let mut encoded = EncodedColumn::default();
        let mut frames = FrameColumn { values: Values::Ones(0), n_frames: 0, frames: Vec::new() };
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        let mut last = None;
        for &entry in &entries {
            let is_again = last == Some(entry.line);
            last = Some(entry.line);
            scratch.bytes.clear();
            fetch.read(FILE, entry.bytes.clone(), &mut scratch.bytes)?;
            let digits = scratch.bytes.iter().map(|&b| f32::from(b) - f32::from(b'0'));
            match self.storage {
                Storage::Encoded if is_again => encoded.repeat_last(),
                Storage::Encoded => {
                    let (offset, line) = (entry.bytes.start, Some(entry.line));
                    encoded.push(&scratch.bytes, Origin { resource: FILE, offset, line, embedded: true });
                }
                Storage::Frames => {
                    if !is_again {
                        let digits = Values::F32(digits.collect());
                        frames.values.append(&digits, 0..digits.len());
                        frames.n_frames += digits.len() as u32;
                    }
                    let start = frames.n_frames - scratch.bytes.len() as u32;
                    frames.frames.push(Frame { recording: start..frames.n_frames, at: start + entry.part });
                }
                Storage::Repeated => values.extend(digits.take(1)),
                _ => values.extend(digits),
            }
            ends.push(values.len() as u32);
        }
        let single = matches!(self.storage, Storage::Encoded | Storage::Frames | Storage::Repeated);
        let samples = if single { Offsets::Every(1) } else { Offsets::At(ends) };
        let lengths = (0..entries.len()).map(|i| samples.range(i).len() as u32).collect();
        let data = match self.storage {
            Storage::Encoded => Data::Encoded(encoded),
            Storage::Frames => Data::Frames(frames),
            _ => Data::Dense { values: Values::F32(values) },
        };
        let is_view = self.storage == Storage::Encoded && entries.iter().any(|entry| entry.part > 0);
        *out = Chunk::new(
            Keys::Numbers(entries.iter().map(|entry| entry.key).collect()),
            lengths,
            vec![StreamColumn { samples, data }],
        );
        out.copies = if is_view { entries.iter().map(|entry| entry.part).collect() } else { Vec::new() };
        Ok(())
    }

    fn span(&self, at: SequenceId) -> (ResourceId, Range<u64>) {
        (FILE, self.chunks[at.chunk.index()][at.sequence as usize].bytes.clone())
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
