//! The user-defined deserializer of the cases: chunks in a file of JSON, each a list of sequences, each an object of
//! streams of dense samples. It is written against the public trait, as a user would.

use std::sync::Arc;

use serde_json::Value;
use tesson::{ConfigError, Element, Error, Shape, StreamInfo};
use tesson_core::Registry;
use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, Data, Defects, Deserializer, DeserializerFacts,
    Fetch, Format, Index, Indexed, Keys, Offsets, OptionKind, OptionSpec, OptionTable, Options, Parallelism,
    ReaderDefaults, ResourceId, Scattered, Scratch, SequenceId, SequenceSelection, StreamColumn,
    StreamMismatch, StreamingDecoder, Values,
};

/// The formats that cases name: those that come with Tesson, and the cases' own.
pub fn registry() -> Registry {
    tesson::registry().with(&FORMAT)
}

/// The format with the name `UserDeserializer` in the cases.
static FORMAT: Format = Format::new(
    "UserDeserializer",
    "Chunks of sequences in a file of JSON, as the conformance cases have them.",
    &OPTIONS,
    open,
);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required("file", OptionKind::Path, "The file."),
    OptionSpec::optional(
        "element",
        OptionKind::Text,
        "The type of thousandths of the values, of any number of bits.",
    ),
]);

const FILE: ResourceId = ResourceId(0);

fn open(options: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let file = options.text("file")?;
    let mut facts = DeserializerFacts::new(FORMAT.name, vec![file.into()], Vec::new(), "conformance user 1");
    let element = options.text_if_given("element")?;
    facts.composable = element.is_some();
    let element = element.map_or(Element::F32, |name| Element::of_name(&name).expect("a type of the cases"));
    Ok(Box::new(User { facts, element, chunks: Arc::default() }))
}

/// A sample of each stream, sample after sample.
type Sequence = Vec<Vec<Vec<f32>>>;

struct User {
    facts: DeserializerFacts,
    element: Element,
    chunks: Arc<Vec<Vec<Sequence>>>,
}

impl User {
    fn read(&mut self, text: &str) -> Option<()> {
        let json: Value = serde_json::from_str(text).ok()?;
        let chunks = json.as_array()?;
        let first = chunks.iter().find_map(|chunk| chunk.get(0))?.as_object()?;
        for (name, samples) in first {
            let dim = samples.get(0)?.as_array()?.len();
            let (name, shape) = (name.clone(), Shape::new([dim]));
            self.facts.streams.push(StreamInfo::dense(name, shape, self.element));
        }
        let sample = |v: &Value| v.as_array()?.iter().map(|x| Some(x.as_f64()? as f32)).collect();
        let stream =
            |sequence: &Value, name: &str| sequence.get(name)?.as_array()?.iter().map(sample).collect();
        let sequence =
            |v: &Value| self.facts.streams.iter().map(|s| stream(v, &s.name)).collect::<Option<Sequence>>();
        let chunk = |v: &Value| v.as_array()?.iter().map(sequence).collect::<Option<Vec<_>>>();
        self.chunks = Arc::new(chunks.iter().map(chunk).collect::<Option<_>>()?);
        Some(())
    }
}

impl Deserializer for User {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let mut bytes = Vec::new();
        fetch.read(FILE, 0..fetch.size(FILE)?, &mut bytes)?;
        let read = self.read(&String::from_utf8_lossy(&bytes));
        read.ok_or_else(|| ConfigError::wrong_type("file", "something else", "a list of chunks").into())
    }

    fn index(&self, _: &dyn Fetch, _: &dyn Parallelism, _: &mut Defects<'_>) -> Result<Indexed, Error> {
        let longest = |s: &Sequence| s.iter().map(|stream| stream.len() as u32).max().unwrap_or(0).max(1);
        let mut index = Index::new();
        for chunk in self.chunks.iter() {
            index.push(CompactLengths::new(&chunk.iter().map(longest).collect::<Vec<_>>()), 1);
        }
        index.seal();
        let firsts = index.chunk_ids().map(|c| index.chunk(c).first_sequence).collect();
        Ok(Indexed {
            index: Arc::new(index),
            corpus: Arc::new(Loaded {
                facts: CorpusFacts::new(0),
                element: self.element,
                chunks: self.chunks.clone(),
                firsts,
            }),
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

struct Loaded {
    facts: CorpusFacts,
    element: Element,
    chunks: Arc<Vec<Vec<Sequence>>>,
    /// Number of each chunk's first sequence, which is its key.
    firsts: Vec<u64>,
}

/// Values of a type, from numbers: floats as they are, whole numbers as thousandths.
fn of_type(values: Vec<f32>, element: Element) -> Values {
    let whole = values.iter().map(|x| (f64::from(*x) * 1000.0) as i64);
    match (element.is_float(), element.size()) {
        _ if element.is_string() => {
            Values::Strings(values.iter().map(|x| "ä".repeat(*x as usize % 7)).collect())
        }
        (true, _) => Values::F32(values),
        (_, 1) => Values::Bytes(whole.map(|x| x as u8).collect()),
        (_, 2) => Values::Bits16(whole.map(|x| x as u16).collect()),
        (_, 4) => Values::Bits32(whole.map(|x| x as u32).collect()),
        _ => Values::Bits64(whole.map(|x| x as u64).collect()),
    }
}

impl Corpus for Loaded {
    fn facts(&self) -> &CorpusFacts {
        &self.facts
    }

    fn load(
        &self,
        chunk: ChunkId,
        wanted: SequenceSelection<'_>,
        _: &dyn Fetch,
        _: &mut Scratch,
        out: &mut Chunk,
    ) -> Result<(), Error> {
        let rows = wanted.to_vec();
        let sequences: Vec<&Sequence> =
            rows.iter().map(|&r| &self.chunks[chunk.index()][r as usize]).collect();
        *out = Chunk::empty();
        out.n_sequences = rows.len() as u32;
        out.lengths =
            sequences.iter().map(|s| s.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32).collect();
        out.keys = Keys::Numbers(rows.iter().map(|&r| self.firsts[chunk.index()] + u64::from(r)).collect());
        for stream in 0..self.chunks[chunk.index()].first().map_or(0, Vec::len) {
            let mut at = vec![0];
            let mut values = Vec::new();
            for sequence in &sequences {
                at.push(at[at.len() - 1] + sequence[stream].len() as u32);
                sequence[stream].iter().for_each(|sample| values.extend_from_slice(sample));
            }
            let data = Data::Dense { values: of_type(values, self.element) };
            out.streams.push(StreamColumn { samples: Offsets::At(at), data });
        }
        Ok(())
    }

    fn keys(&self, _: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(None)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, _: SequenceId) -> (ResourceId, std::ops::Range<u64>) {
        (FILE, 0..0)
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}
