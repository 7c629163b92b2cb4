//! Resources that data list: 100,000 files are neither opened nor read to open a source, members of archives are files
//! like any other. The format here is as small as one can be: a line a sequence, `path samples`, of raw floats.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson::store::{Resource, Store};
use tesson::{ConfigError, Demand, Element, Error, OpenOptions, Shape, Source, StreamInfo};
use tesson_config::{json, lower};
use tesson_core::{
    Chunk, ChunkId, CompactLengths, Corpus, CorpusFacts, Data, Defects, Deserializer, DeserializerFacts,
    Fetch, Format, Index, Indexed, Keys, ListedAt, Offsets, OptionDefault, OptionKind, OptionSpec,
    OptionTable, Options, Parallelism, ReaderDefaults, ResourceId, Scattered, Scratch, SequenceId,
    SequenceSelection, StreamColumn, StreamMismatch, StreamingDecoder, Values,
};

use crate::kit::{rest, store_of, values};
use crate::zip;

static FORMAT: Format = Format::new("ListedFloats", "A list of files of 32-bit floats.", &OPTIONS, open);

static OPTIONS: OptionTable = OptionTable(&[OptionSpec {
    name: "file",
    aliases: &[],
    kind: OptionKind::Path,
    default: OptionDefault::Required,
    help: "The list: a path and a number of samples in each line, or `archive@/member` and a number.",
}]);

const LIST: ResourceId = ResourceId(0);

/// Sequences in a chunk.
const CHUNK: usize = 64;

fn open(options: &Options<'_>, _: &ReaderDefaults) -> Result<Box<dyn Deserializer>, ConfigError> {
    let stream = StreamInfo::dense("x", Shape::new([1]), Element::F32);
    let file = options.text("file")?.into();
    let facts = DeserializerFacts::new(FORMAT.name, vec![file], vec![stream], "listed 1");
    Ok(Box::new(Listed { facts, sequences: Arc::default() }))
}

/// A sequence's resource, and how many samples it has.
type Sequence = (ResourceId, u32);

struct Listed {
    facts: DeserializerFacts,
    sequences: Arc<Vec<Sequence>>,
}

impl Deserializer for Listed {
    fn facts(&self) -> &DeserializerFacts {
        &self.facts
    }

    fn prepare(&mut self, fetch: &dyn Fetch) -> Result<(), Error> {
        let mut bytes = Vec::new();
        fetch.read(LIST, 0..fetch.size(LIST)?, &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let (mut sequences, mut last_archive) = (Vec::new(), None::<(&str, ResourceId)>);
        for (line, entry) in (1..).zip(text.lines()) {
            let at = ListedAt { root: LIST, line };
            let (path, samples) = entry.split_once(' ').expect("a path and a number");
            let resource = match path.split_once("@/") {
                None => self.facts.push_file(path, at),
                Some((archive, member)) => {
                    let known = last_archive.filter(|(name, _)| *name == archive);
                    let archive_id = known.map_or_else(|| self.facts.push_file(archive, at), |(_, id)| id);
                    last_archive = Some((archive, archive_id));
                    self.facts.push_member(archive_id, member, at)
                }
            };
            sequences.push((resource, samples.parse().expect("a number of samples")));
        }
        // FNV-1a: the list says the sizes of all.
        let hash = |h: u64, byte: &u8| (h ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.facts.fingerprint = Some(bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash));
        self.sequences = Arc::new(sequences);
        Ok(())
    }

    fn index(&self, _: &dyn Fetch, _: &dyn Parallelism, _: &mut Defects<'_>) -> Result<Indexed, Error> {
        let mut index = Index::new();
        for chunk in self.sequences.chunks(CHUNK) {
            let lengths: Vec<u32> = chunk.iter().map(|&(_, samples)| samples).collect();
            index.push(CompactLengths::new(&lengths), 4 * lengths.iter().map(|&n| u64::from(n)).sum::<u64>());
        }
        index.seal();
        let facts = CorpusFacts::new(self.sequences.capacity() * size_of::<Sequence>());
        let corpus = Arc::new(ListedCorpus { facts, sequences: self.sequences.clone() });
        Ok(Indexed { index: Arc::new(index), corpus })
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

struct ListedCorpus {
    facts: CorpusFacts,
    sequences: Arc<Vec<Sequence>>,
}

impl Corpus for ListedCorpus {
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
        let first = chunk.index() * CHUNK;
        let numbers: Vec<usize> = wanted.to_vec().iter().map(|&i| first + i as usize).collect();
        let (mut ends, mut floats) = (vec![0], Vec::new());
        for &number in &numbers {
            let (resource, samples) = self.sequences[number];
            fetch.read_over(resource, 0..4 * u64::from(samples), &mut scratch.bytes)?;
            floats.extend(scratch.bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)));
            ends.push(floats.len() as u32);
        }
        *out = Chunk::new(
            Keys::Numbers(numbers.iter().map(|&number| number as u64).collect()),
            numbers.iter().map(|&number| self.sequences[number].1).collect(),
            vec![StreamColumn {
                samples: Offsets::At(ends),
                data: Data::Dense { values: Values::F32(floats) },
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
        let (resource, samples) = self.sequences[at.chunk.index() * CHUNK + at.sequence as usize];
        (resource, 0..4 * u64::from(samples))
    }

    fn save(&self, _: &Index, _: &mut Vec<u8>) {}
}

/// A store that makes files by their names and counts what is opened: `list` has `n` lines, file `i` one or two samples.
#[derive(Clone, Default)]
struct Counting {
    n: usize,
    opened: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
}

impl Counting {
    fn of(n: usize) -> Counting {
        Counting { n, ..Counting::default() }
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        if name == "list" {
            let line = |i: usize| format!("{i}.raw {}\n", 1 + i % 2);
            return Some((0..self.n).map(line).collect::<String>().into_bytes());
        }
        let number: usize = name.strip_suffix(".raw")?.parse().ok()?;
        let exists = number < self.n;
        exists.then(|| floats(number))
    }
}

fn floats(number: usize) -> Vec<u8> {
    std::iter::repeat_n(number as f32, 1 + number % 2).flat_map(f32::to_le_bytes).collect()
}

impl Store for Counting {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let bytes = self.bytes(&path.display().to_string()).ok_or(io::ErrorKind::NotFound)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open.fetch_max(open, Ordering::Relaxed);
        Ok(Box::new(Counted { bytes, open: self.open.clone() }))
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }
}

struct Counted {
    bytes: Vec<u8>,
    open: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Resource for Counted {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn modified_ns(&self) -> Option<u128> {
        None
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[(offset as usize).min(self.bytes.len())..];
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

fn source_in(store: &dyn Store, reader: &str) -> Result<Source, Error> {
    let text = format!(r#"{{"deserializers": [{{"type": "ListedFloats", "file": "list"}}], {reader}}}"#);
    OpenOptions::in_store(store).open(&lower(&json::parse(&text)?, &tesson::registry().with(&FORMAT))?)
}

/// The values of all files, in ascending order.
fn all_values(n: u32) -> Vec<f64> {
    (0..n).flat_map(|i| vec![f64::from(i); 1 + i as usize % 2]).collect()
}

#[test]
fn a_source_of_a_hundred_thousand_files_is_opened_without_touching_them() {
    let store = Counting::of(100_000);
    for order in ["false", "true", "\"global\""] {
        store.opened.store(0, Ordering::Relaxed);
        let reader = format!(r#""randomize": {order}, "prefetch": false, "maxSweeps": 1"#);
        let mut source = source_in(&store, &reader).unwrap();
        assert_eq!(source.num_sequences().unwrap(), 100_000);
        assert_eq!(store.opened.load(Ordering::Relaxed), 1, "the list alone, {order}");
    }
}

#[test]
fn few_files_are_open_at_a_time_and_each_is_read() {
    let store = Counting::of(1000);
    let mut source = source_in(&store, r#""randomize": "global", "maxSweeps": 1, "threads": 4"#).unwrap();
    let mut found = rest(&mut source, 16).concat();
    found.sort_by(f64::total_cmp);
    assert_eq!(found, all_values(1000));
    let most = store.most_open.load(Ordering::Relaxed);
    assert!(most <= 64 + 8, "{most} were open at a time");
}

#[test]
fn listed_files_are_resumed_after_every_minibatch() {
    let store = Counting::of(300);
    let reader = r#""randomizationWindow": 3, "maxSweeps": 1"#;
    let all = rest(&mut source_in(&store, reader).unwrap(), 16);
    let mut source = source_in(&store, reader).unwrap();
    for taken in 1..=all.len() {
        source.next_minibatch(16).unwrap();
        let mut resumed = source_in(&store, reader).unwrap();
        resumed.restore(&source.state().clone()).unwrap();
        assert_eq!(rest(&mut resumed, 16), all[taken..], "after {taken} minibatches");
    }
    // A list of other sizes is another corpus.
    let state = source.state().clone();
    let refused = source_in(&Counting::of(301), reader).unwrap().restore(&state).unwrap_err();
    assert!(matches!(refused, Error::Resume(_)), "{refused}");
}

#[test]
fn two_ranks_deliver_what_one_does() {
    let store = Counting::of(300);
    for sharing in ["position", "chunk"] {
        for order in ["true", "\"global\""] {
            let reader = format!(r#""randomize": {order}, "sharing": "{sharing}", "maxSweeps": 1"#);
            let sorted = |mut values: Vec<f64>| {
                values.sort_by(f64::total_cmp);
                values
            };
            let all = rest(&mut source_in(&store, &reader).unwrap(), 16).concat();
            let shares = [0, 1].map(|rank| {
                let mut source = source_in(&store, &reader).unwrap();
                let demand = Demand { samples: 16, workers: 2, rank };
                let next = || source.next(demand).expect("the files are there");
                let shares: Vec<f64> = std::iter::from_fn(next).flat_map(|share| values(&share)).collect();
                assert!(!shares.is_empty(), "{sharing}, {order}, rank {rank}");
                shares
            });
            assert_eq!(sorted(shares.concat()), sorted(all), "{sharing}, {order}");
        }
    }
}

#[test]
fn a_missing_file_is_an_error_with_the_line_that_lists_it() {
    let store = store_of([("0.raw", floats(0)), ("list", b"0.raw 1\n1.raw 2\n".to_vec())]);
    let mut source = source_in(&store, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let error = source.next_minibatch(16).unwrap_err();
    assert!(error.to_string().starts_with("1.raw: "), "{error}");
    assert!(error.to_string().contains("line 2 of list lists it"), "{error}");
}

#[test]
fn members_of_an_archive_are_read_as_files_are() {
    let mut archive = zip::Writer::default();
    let mut list = String::new();
    for number in 0..150 {
        let name = format!("floats/{number}.raw");
        match number % 3 {
            0 => archive.store(&name, &floats(number)),
            _ => archive.deflate(&name, &floats(number)),
        }
        list.push_str(&format!("all.zip@/{name} {}\n", 1 + number % 2));
    }
    let store = store_of([("all.zip", archive.finish()), ("list", list.into_bytes())]);
    for options in [r#""randomize": false"#, r#""randomize": "global", "threads": 3"#] {
        let open = || source_in(&store, &format!(r#"{options}, "maxSweeps": 1"#)).unwrap();
        let all = rest(&mut open(), 16);
        let mut found = all.concat();
        found.sort_by(f64::total_cmp);
        assert_eq!(found, all_values(150), "{options}");
        let (mut source, mut resumed) = (open(), open());
        source.next_minibatch(16).unwrap();
        resumed.restore(&source.state().clone()).unwrap();
        assert_eq!(rest(&mut resumed, 16), all[1..], "{options}");
    }
}

#[test]
fn a_hostile_archive_is_refused_before_anything_is_allocated() {
    let error = |archive: Vec<u8>, entry: &str| {
        let store = store_of([("a.zip", archive), ("list", format!("a.zip@/{entry}\n").into_bytes())]);
        let mut source = source_in(&store, r#""randomize": false, "maxSweeps": 1"#).unwrap();
        source.next_minibatch(16).unwrap_err().to_string()
    };
    let one = |change: fn(&mut zip::Writer)| {
        let mut archive = zip::Writer::default();
        archive.deflate("x", &floats(1));
        change(&mut archive);
        archive.finish()
    };
    let cases: [(Vec<u8>, &str, &str); 7] = [
        (one(|a| a.entries[0].size = 1 << 31), "x 536870912", "declares 2147483648 bytes"),
        (one(|a| a.entries[0].size = 400), "x 100", "expected 400, got 8"),
        (one(|a| a.entries[0].crc ^= 1), "x 2", "checksum"),
        (one(|a| a.entries[0].method = 12), "x 2", "is compressed by method 12, expected stored or deflated"),
        (one(|a| a.deflate("x", &floats(1))), "x 2", "is in the archive twice"),
        (one(|_| ()), "y 2", "the archive has no member of this name"),
        (b"no archive".to_vec(), "x 2", "is no zip archive"),
    ];
    for (archive, entry, expected) in cases {
        let found = error(archive, entry);
        assert!(found.contains(expected), "{found}, expected {expected}");
        assert!(found.contains("line 1 of list lists it"), "{found}");
    }
}
