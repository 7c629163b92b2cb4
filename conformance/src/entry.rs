//! The entry points for bytes from outside: one function for each, which panics if a property is violated.
//!
//! Fuzz targets call these with generated inputs; the tests call them with inputs that were kept, and with those of
//! proptest. An error is always a good answer.

use std::sync::Arc;

pub use crate::descriptions::{dataset_info_json, split_grammar};
pub use crate::features::{example_decode, features_json, image_decode};
pub use crate::image_files::{imdecode, opencv_storage};
pub use crate::records::{array_record_read, tfrecord_read};
pub use crate::sources::{
    Input, base64_images, htk_features, htk_scp, image_map, image_transforms, kaldi_features, numpy_arrays,
    recordings, speech_labels, tar_images, tar_tables, text_tables, token_files, zip_members,
};
pub use crate::tables::table_convert;
use tesson::store::MemoryStore;
use tesson::{ConfigError, Element, Error, Key, OpenOptions, ResumeState};
use tesson_config::brainscript::{Script, Variables};
use tesson_core::{
    ByteRun, Chunk, ChunkId, Corpus, Data, Defects, Deserializer, Fault, Fetch, InMemory, Indexed, Options,
    Parallelism, ReaderDefaults, Scratch, Section, SequenceSelection, StreamColumn, StreamingDecoder, Value,
    Values,
};

/// A configuration: it is understood or refused.
pub fn config_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(config) = tesson::config::from_json(text) else { return };
    for deserializer in &config.deserializers {
        let options =
            Options::new(deserializer.format.options, &deserializer.options, deserializer.path.clone());
        // Only the options are interpreted; nothing is read.
        let opened =
            options.and_then(|options| (deserializer.format.open)(&options, &config.reader_defaults()));
        drop(opened);
    }
}

/// A BrainScript configuration: it has a tree, which comes back from its text, and readers that mean something, or it is
/// refused with a place.
pub fn brainscript(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let no_file = |name: &str| Err(ConfigError::wrong_form("", name.to_owned(), "no files here"));
    let parse = |text: &str, at: &str| {
        let mut script = Script::new();
        script.text(at, text, &no_file)?;
        tesson_config::brainscript::parse(&script, &Variables { extended: true, environment: None })
    };
    let tree = match parse(text, "text") {
        Ok(tree) => tree,
        Err(e) => {
            assert!(e.at.is_some(), "an error without a place: {e}");
            return;
        }
    };
    if spellable(&tree) {
        let printed = tesson_config::brainscript::print(&tree);
        assert_eq!(parse(&printed, "printed").as_ref(), Ok(&tree), "{printed}");
    }
    let Ok(resolved) = tesson_config::Resolved::new(tree, &tesson::registry()) else { return };
    let told = resolved.to_json(&tesson::registry());
    let sources = resolved.readers.iter().map(|reader| reader.source(&tesson::registry()));
    let refused = sources.filter(Result::is_err).count();
    assert!(told.is_ok() || refused > 0, "what was understood can be told: {told:?}");
}

/// True if BrainScript can spell all names and texts of a tree.
fn spellable(section: &Section) -> bool {
    fn is(value: &Value) -> bool {
        match value {
            Value::Text(text) => !text.contains(['"', '$', '\n', '\r']),
            Value::List(items) => items.iter().all(is),
            Value::Section(section) => spellable(section),
            _ => true,
        }
    }
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    section.0.iter().all(|(name, value)| {
        let is_code = name.to_ascii_lowercase().ends_with("networkbuilder");
        name.chars().all(is_plain) && !is_code && is(value)
    })
}

/// Checks a saved state in either form: one that is accepted is the same after writing and reading both forms, and a
/// source accepts or refuses it and can still be read.
pub fn resume_state(bytes: &[u8]) {
    let from_json = |text: &str| ResumeState::from_json(&serde_json::from_str(text).ok()?).ok();
    let by_json = std::str::from_utf8(bytes).ok().and_then(from_json);
    for state in ResumeState::from_bytes(bytes).ok().into_iter().chain(by_json) {
        if !state.is_bare() {
            assert_eq!(ResumeState::from_bytes(&state.to_bytes()).as_ref(), Ok(&state), "by bytes");
            assert_eq!(ResumeState::from_json(&state.to_json()).as_ref(), Ok(&state), "by JSON");
        }
        for randomize in [false, true] {
            go_on_from(&state, randomize);
        }
    }
}

fn go_on_from(state: &ResumeState, randomize: bool) {
    let text = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "a", "chunkSizeInBytes": 12,
            "input": {{"x": {{"dim": 1, "format": "dense"}}}}}}], "maxSweeps": 3, "threads": 1, "randomize": {randomize}}}"#
    );
    let config = tesson::config::from_json(&text).expect("the configuration is right");
    let store = MemoryStore::new().with("a", b"1|x 1\n1|x 2\n2|x 3\n3|x 4\n3|x 5\n4|x 6\n".to_vec());
    let mut source = OpenOptions::in_store(&store).open(&config).expect("the data are right");
    if source.restore(state).is_ok() {
        // A state of another rank is refused here at the latest.
        drop(source.next_minibatch(2));
    }
}

/// Checks a text file, with options chosen by the first byte: the index is the same for every way to make it, is
/// consistent, and can be saved and loaded.
pub fn ctf_index(bytes: &[u8]) {
    let Some((deserializer, file)) = open(bytes) else { return };
    let one = deserializer.index(&file, &Cores(1), &mut Defects::Refuse);
    let three = deserializer.index(&file, &Cores(3), &mut Defects::Refuse);
    let (Ok(one), Ok(three)) = (&one, &three) else {
        assert_eq!(one.is_err(), three.is_err(), "more cores make no error and hide none");
        return;
    };
    assert_eq!(shape(one), shape(three));
    let mut saved = Vec::new();
    one.corpus.save(&one.index, &mut saved);
    let restored = deserializer.restore(&saved).expect("what was saved comes back");
    assert_eq!(shape(one), shape(&restored));
    // A cut or changed cache is refused, or is an index that loads or fails.
    for end in [0, saved.len() / 2, saved.len().saturating_sub(1)] {
        if let Some(cut) = deserializer.restore(&saved[..end]) {
            drop(sequences_of(&*deserializer, &cut, &file));
        }
    }
}

/// The contents of an index: for each chunk the bytes, and the counted lengths and extents of its sequences.
fn shape(indexed: &Indexed) -> Vec<(u64, Vec<u32>)> {
    let chunk = |c: ChunkId| {
        let span = indexed.index.chunk(c);
        let lengths = (0..span.n_sequences as usize).map(|i| indexed.index.lengths(c).get(i)).collect();
        (span.bytes, lengths)
    };
    indexed.index.chunk_ids().map(chunk).collect()
}

/// A text file, its first byte choosing options: read in pieces, in chunks, and sequence by sequence it holds the
/// same sequences with the same faults.
pub fn ctf_decode(bytes: &[u8]) {
    let Some((deserializer, file)) = open(bytes) else { return };
    let Ok(indexed) = deserializer.index(&file, &Cores(1), &mut Defects::Refuse) else { return };
    let in_chunks =
        sequences_of(&*deserializer, &indexed, &file).expect("the file is the one that was indexed");
    let decoded: Vec<Key> = in_chunks.iter().map(|sequence| sequence.key.clone()).collect();
    assert_eq!(keys_of(&indexed, &file), decoded, "keys read by themselves");
    read_otherwise(&*deserializer, &indexed, &file, &in_chunks);
}

/// A binary file, its first byte choosing options: read in pieces, in chunks, and sequence by sequence it holds the same
/// sequences with the same faults.
pub fn cbf_decode(bytes: &[u8]) {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let options = serde_json::json!({"file": "input.cbf"});
    let opened = prepared("CNTKBinaryFormatDeserializer", &options, defaults(choice & 1 == 1, true), file);
    let Some((deserializer, file)) = opened.expect("the options are right") else { return };
    let Ok(indexed) = deserializer.index(&file, &Cores(1), &mut Defects::Refuse) else { return };
    // A chunk of one sequence shows only now that the table says something else of it.
    let Ok(in_chunks) = sequences_of(&*deserializer, &indexed, &file) else { return };
    read_otherwise(&*deserializer, &indexed, &file, &in_chunks);
}

/// Reads a file sequence by sequence and in pieces, and compares both with its chunks.
fn read_otherwise(
    deserializer: &dyn Deserializer,
    indexed: &Indexed,
    file: &Memory<'_>,
    in_chunks: &[Sequence],
) {
    assert_eq!(in_chunks, one_by_one(deserializer, indexed, file), "sequence by sequence");
    let Some(pieces) = deserializer.streaming() else { return };
    for target in [1, 40, u64::MAX / 2] {
        let in_pieces = sequences_in_pieces(deserializer, pieces, target, file);
        assert_eq!(in_pieces.expect("indexing found no error"), in_chunks, "in pieces of {target} bytes");
    }
}

/// A file in memory.
type Memory<'a> = InMemory<&'a [u8]>;

/// A deserializer, and the file that it reads.
type Opened<'a> = (Box<dyn Deserializer>, Memory<'a>);

/// A number of cores, which take their jobs in reverse order.
struct Cores(usize);

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

/// A text deserializer with the options that the first byte chooses, and the file that the others are.
fn open(bytes: &[u8]) -> Option<Opened<'_>> {
    let (&choice, file) = bytes.split_first()?;
    let bit = |n: u32| choice >> n & 1 == 1;
    let options = serde_json::json!({
        "file": "input.txt",
        "input": {
            "A": {"alias": "a", "format": "dense", "dim": 2, "definesMBSize": bit(0)},
            "S": {"alias": "s", "format": "sparse", "dim": 5, "definesMBSize": false},
        },
        "rules": if bit(1) { "cntk" } else { "lenient" },
        "skipSequenceIds": bit(2),
        "chunkSizeInBytes": if bit(3) { 30 } else { 1 << 20 },
        "numbers": if bit(4) { "extended" } else { "cntk" },
    });
    // Some choices exclude each other.
    prepared("CNTKTextFormatDeserializer", &options, defaults(bit(5), !bit(6)), file).ok().flatten()
}

/// The defaults of a reader of 64-bit or 32-bit values, with keys that are numbers or texts.
fn defaults(is_double: bool, numeric_keys: bool) -> ReaderDefaults {
    let element = if is_double { Element::F64 } else { Element::F32 };
    ReaderDefaults { element, frame_mode: false, numeric_keys, cache_index: false, forgives: false }
}

/// A deserializer of a file with these options. `None` if the beginning of the file is wrong.
fn prepared<'a>(
    name: &str,
    options: &serde_json::Value,
    defaults: ReaderDefaults,
    file: &'a [u8],
) -> Result<Option<Opened<'a>>, ConfigError> {
    let options = tesson_config::json::parse(&options.to_string()).expect("the options are JSON");
    let registry = tesson::registry();
    let format = registry.find(name, "").expect("the format is there");
    let options = Options::new(format.options, &options, "").expect("the options are right");
    let mut deserializer = (format.open)(&options, &defaults)?;
    let file = InMemory::new(file);
    Ok(deserializer.prepare(&file).is_ok().then_some((deserializer, file)))
}

/// A decoded sequence with all that is known of it.
#[derive(Clone, Debug, PartialEq)]
struct Sequence {
    key: Key,
    counted: u32,
    left_out: bool,
    /// By stream, by sample: columns and the bits of values.
    streams: Vec<Vec<Vec<(u32, u64)>>>,
    /// Their lines counted from the beginning of the file.
    faults: Vec<Fault>,
    damage: Option<String>,
}

fn sequences_of(
    deserializer: &dyn Deserializer,
    indexed: &Indexed,
    file: &Memory<'_>,
) -> Result<Vec<Sequence>, Error> {
    let (mut scratch, mut chunk, mut found) = (Scratch::default(), Chunk::empty(), Vec::new());
    for c in indexed.index.chunk_ids() {
        let n = indexed.index.chunk(c).n_sequences;
        indexed.corpus.load(c, SequenceSelection::Range(0..n), file, &mut scratch, &mut chunk)?;
        assert_eq!(chunk.n_sequences, n);
        found.extend(sequences(deserializer, &chunk));
    }
    Ok(found)
}

/// The keys of all sequences, as they are read for joining.
fn keys_of(indexed: &Indexed, file: &Memory<'_>) -> Vec<Key> {
    let (mut scratch, mut chunk) = (Scratch::default(), Chunk::empty());
    let of_chunk = |c: ChunkId| {
        let n = indexed.index.chunk(c).n_sequences;
        let keys = indexed.corpus.keys_of_chunk(c, n, file, &mut scratch, &mut chunk);
        let keys = keys.expect("the file is the one that was indexed");
        (0..n as usize).map(|i| keys.get(i)).collect::<Vec<_>>()
    };
    indexed.index.chunk_ids().flat_map(of_chunk).collect()
}

fn one_by_one(deserializer: &dyn Deserializer, indexed: &Indexed, file: &Memory<'_>) -> Vec<Sequence> {
    let (mut scratch, mut chunk, mut found) = (Scratch::default(), Chunk::empty(), Vec::new());
    let corpus: &Arc<dyn Corpus> = &indexed.corpus;
    for c in indexed.index.chunk_ids() {
        for i in 0..indexed.index.chunk(c).n_sequences {
            let loaded = corpus.load(c, SequenceSelection::List(&[i]), file, &mut scratch, &mut chunk);
            loaded.expect("the file is the one that was indexed");
            found.extend(sequences(deserializer, &chunk));
        }
    }
    found
}

fn sequences_in_pieces(
    deserializer: &dyn Deserializer,
    pieces: &dyn StreamingDecoder,
    target: u64,
    file: &Memory<'_>,
) -> Result<Vec<Sequence>, Error> {
    let (mut scratch, mut chunk, mut found) = (Scratch::default(), Chunk::empty(), Vec::new());
    let (mut after, mut line, mut bytes): (Option<ByteRun>, _, _) = (None, 0, Vec::new());
    while let Some(piece) = pieces.cut(after, target, file, &mut bytes)? {
        file.read_after(piece.resource, piece.offset..piece.offset + piece.bytes, 0, &mut bytes)?;
        pieces.decode(piece, &bytes, file, &mut scratch, &mut chunk)?;
        chunk.first_line = line;
        line += chunk.n_lines;
        found.extend(sequences(deserializer, &chunk));
        after = Some(piece);
    }
    Ok(found)
}

fn sequences(deserializer: &dyn Deserializer, chunk: &Chunk) -> Vec<Sequence> {
    let sequence = |i: u32| Sequence {
        key: chunk.key(i as usize),
        counted: chunk.lengths[i as usize],
        left_out: chunk.is_left_out(i),
        streams: chunk
            .streams
            .iter()
            .zip(&deserializer.facts().streams)
            .map(|(column, info)| samples(column, info.shape.len(), i as usize))
            .collect(),
        faults: chunk
            .faults_of(i)
            .iter()
            .map(|f| Fault { sequence: 0, line: f.line.map(|line| line + chunk.first_line), ..f.clone() })
            .collect(),
        damage: chunk.damage_of(i).map(ToString::to_string),
    };
    (0..chunk.n_sequences).map(sequence).collect()
}

fn samples(column: &StreamColumn, dim: usize, i: usize) -> Vec<Vec<(u32, u64)>> {
    let samples = column.samples.range(i);
    match &column.data {
        Data::Dense { values } => {
            let sample = |s: usize| (0..dim).map(|d| (d as u32, bits(values, s * dim + d))).collect();
            samples.map(sample).collect()
        }
        Data::Sparse { rows, columns, values } => {
            let sample = |s: usize| rows.range(s).map(|p| (columns[p], bits(values, p))).collect();
            samples.map(sample).collect()
        }
        other => panic!("no format stores {other:?}"),
    }
}

fn bits(values: &Values, i: usize) -> u64 {
    let value = match values {
        Values::Ones(_) => 1.0,
        Values::Bytes(v) => f64::from(v[i]),
        Values::F32(v) => f64::from(v[i]),
        Values::F64(v) => v[i],
        other => panic!("the cases are of floating-point numbers, found {other:?}"),
    };
    value.to_bits()
}
