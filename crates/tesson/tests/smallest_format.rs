//! A complete custom format: raw 32-bit floats, `dim` of them a record, every record a sequence of one sample.
//!
//! The smallest format there can be, and the one that CONTRIBUTING.md walks through. It uses nothing but the public
//! parts of the façade, so it also shows what a user's own deserializer looks like.

use std::sync::Arc;

use tesson::store::MemoryStore;
use tesson::{
    ConfigError, DataError, Element, Error, Location, OpenOptions, SampleValues, Samples, Shape, Source,
    StreamInfo,
};
use tesson_config::{json, lower};
use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, Data, DataErrorKind, Defects, Deserializer,
    DeserializerFacts, Fetch, Format, Index, Indexed, Keys, Offsets, OptionKind, OptionName, OptionSpec,
    OptionTable, Options, Parallelism, ReaderDefaults, ResourceId, Scattered, Scratch, SequenceId,
    SequenceSelection, StreamColumn, StreamMismatch, StreamingDecoder, Values, error_kinds,
};

/// The entry of the registry. A built-in format's entry also stands in `tesson_formats::FORMATS`.
static FORMAT: Format = Format::new(
    "RawFloats",
    "Little-endian 32-bit floats without any header, `dim` of them a record.",
    &OPTIONS,
    open,
);

static OPTIONS: OptionTable = OptionTable(&[
    OptionSpec::required("file", OptionKind::Path, "The file."),
    OptionSpec::required("dim", OptionKind::Whole, "Floats in a record."),
    OptionSpec::with_default("recordsPerChunk", OptionKind::Whole, "1024", "Records that are read together."),
]);

const PRECISION: OptionName = OptionName::new("precision");

error_kinds! {
    /// Reasons why options of the format are refused.
    pub enum RawFloatsRefusal {
        /// Values of another type are asked for.
        Precision
            = "raw-floats.precision": "the format holds 32-bit floats, {PRECISION} asks for others"
            => in manual "Leave {PRECISION} out.",
    }
}

/// From options to a deserializer; nothing is read yet.
fn open(options: &Options<'_>, defaults: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    if defaults.element != Element::F32 {
        return Err(ConfigError::refused(options.path("file"), &RawFloatsRefusal::Precision));
    }
    let dim = at_least_one(options, "dim")?;
    let per_chunk = at_least_one(options, "recordsPerChunk")?;
    let shape = Shape::new([dim as usize]);
    let stream = StreamInfo::dense("x", shape, Element::F32);
    let file = options.text("file")?.into();
    // All that changes what is delivered, and so what a saved state is good for.
    let identity = format!("{} dim={dim} recordsPerChunk={per_chunk}", FORMAT.name);
    let facts = DeserializerFacts::new(FORMAT.name, vec![file], vec![stream], identity);
    Ok(Box::new(RawFloats { facts, records: Records { dim, per_chunk, facts: CorpusFacts::new(0) } }))
}

fn at_least_one(options: &Options<'_>, name: &str) -> Result<u64, ConfigError> {
    let n = options.whole(name)?;
    if n == 0 { Err(ConfigError::out_of_range(options.path(name), "0", "at least 1")) } else { Ok(n) }
}

struct RawFloats {
    facts: DeserializerFacts,
    records: Records,
}

const FILE: ResourceId = ResourceId(0);

impl Deserializer for RawFloats {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let (size, record) = (fetch.size(FILE)?, self.records.record_bytes());
        if size > 0 && size % record == 0 {
            return Ok(());
        }
        let what = format!("{size} bytes, expected a multiple of {record} (`dim` = {})", self.records.dim);
        let file = self.facts.resources[0].as_path().into();
        let at = Location { file, offset: size - size % record, line: None };
        Err(DataError::new(DataErrorKind::Malformed { what }, at).into())
    }

    // The size of the file says all that there is to know. A format of lines or records of unequal size would read.
    fn index(&self, fetch: &dyn Fetch, _: &dyn Parallelism, _: &mut Defects<'_>) -> Result<Indexed, Error> {
        let mut index = Index::new();
        let mut left = fetch.size(FILE)? / self.records.record_bytes();
        while left > 0 {
            let n = left.min(self.records.per_chunk);
            index.push(CompactLengths::constant(1, n as u32), n * self.records.record_bytes());
            left -= n;
        }
        index.seal();
        Ok(Indexed { index: Arc::new(index), corpus: Arc::new(self.records.clone()) })
    }

    // Making this index again costs nothing, so nothing is kept for the next time.
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

/// The data that loading needs.
#[derive(Clone)]
struct Records {
    dim: u64,
    per_chunk: u64,
    facts: CorpusFacts,
}

impl Records {
    fn record_bytes(&self) -> u64 {
        self.dim * 4
    }
}

impl Corpus for Records {
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
        let rows = wanted.to_vec();
        scratch.bytes.clear();
        for &row in &rows {
            fetch.read(FILE, self.span(SequenceId { chunk, sequence: row }).1, &mut scratch.bytes)?;
        }
        let floats = scratch.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        *out = Chunk::new(
            Keys::Numbers(
                rows.iter().map(|&row| u64::from(chunk) * self.per_chunk + u64::from(row)).collect(),
            ),
            vec![1; rows.len()],
            vec![StreamColumn {
                samples: Offsets::Every(1),
                data: Data::Dense { values: Values::F32(floats.collect()) },
            }],
        );
        Ok(())
    }

    fn keys(&self, _: ChunkId, _: u32, _: &dyn Fetch, _: &mut Scratch) -> Result<Option<Keys>, Error> {
        Ok(None)
    }

    fn scattered(&self) -> Option<&dyn Scattered> {
        None
    }

    fn span(&self, at: SequenceId) -> (ResourceId, std::ops::Range<u64>) {
        let record = u64::from(at.chunk) * self.per_chunk + u64::from(at.sequence);
        (FILE, record * self.record_bytes()..(record + 1) * self.record_bytes())
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}

/// A file of `n` records `[i, -i]`.
fn file(n: u16) -> Vec<u8> {
    (0..n).flat_map(|i| [f32::from(i), -f32::from(i)]).flat_map(f32::to_le_bytes).collect()
}

fn source(bytes: Vec<u8>, deserializer: &str, reader: &str) -> Result<Source, Error> {
    let text =
        format!(r#"{{"deserializers": [{{"type": "RawFloats", "file": "f", {deserializer}}}], {reader}}}"#);
    let config = lower(&json::parse(&text)?, &tesson::registry().with(&FORMAT))?;
    OpenOptions::in_store(&MemoryStore::new().with("f", bytes)).open(&config)
}

/// The first value of each record, to the end of the data.
fn values(source: &mut Source, samples: u64) -> Vec<f32> {
    let mut found = Vec::new();
    while let Some(minibatch) = source.next_minibatch(samples).expect("the records are whole") {
        let Samples::Dense { values: SampleValues::F32(values) } =
            minibatch.stream("x").expect("the one stream").samples()
        else {
            panic!("the stream is dense")
        };
        found.extend(values.chunks_exact(2).map(|record| record[0]));
    }
    found
}

#[test]
fn records_come_as_stored() {
    let mut source = source(file(10), r#""dim": 2"#, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    assert_eq!(values(&mut source, 4), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
}

#[test]
fn all_orders_hold_each_record_once_and_resume_exactly() {
    for order in ["true", "\"global\""] {
        let open = || {
            let reader = format!(r#""randomize": {order}, "maxSweeps": 1"#);
            source(file(100), r#""dim": 2, "recordsPerChunk": 7"#, &reader).unwrap()
        };
        let (mut straight, mut resumed) = (open(), open());
        straight.next_minibatch(32).unwrap();
        resumed.restore(&straight.state().clone()).unwrap();
        let rest = values(&mut straight, 32);
        assert_eq!(values(&mut resumed, 32), rest, "{order}");

        let mut all = values(&mut open(), 32);
        assert_ne!(all, (0..100u8).map(f32::from).collect::<Vec<_>>(), "{order}");
        all.sort_by(f32::total_cmp);
        assert_eq!(all, (0..100u8).map(f32::from).collect::<Vec<_>>(), "{order}");
    }
}

#[test]
fn a_file_that_ends_within_a_record_is_refused_with_its_place() {
    let error = source(vec![0; 20], r#""dim": 2"#, r#""maxSweeps": 1"#).err().unwrap();
    assert_eq!(error.to_string(), "f (byte 16): 20 bytes, expected a multiple of 8 (`dim` = 2)");
}

#[test]
fn an_option_that_is_misspelt_is_named() {
    let error = source(file(1), r#""dims": 2"#, r#""maxSweeps": 1"#).err().unwrap();
    assert!(error.to_string().contains("unknown option `dims`, did you mean `dim`?"), "{error}");
}
