//! Corpora for tests that hold for every source: many small chunks, little memory, a store that dawdles.

use std::fmt::Write as _;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::sync::Arc;

use tesson::store::{MemoryStore, Store};
use tesson::{Minibatch, SampleValue, Samples, Source, SourceConfig};
use tesson_engine::Layout;
use tesson_engine::store::{FakeStore, InjectedFault};

use crate::{arrays, binary, images, marked, prepared, speech, user};

/// The name of the only file.
pub const FILE: &str = "corpus.ctf";

/// A file with the same sequences in reverse order, and one more, which [`JOINED`] joins to the first.
pub const OTHER: &str = "other.ctf";

/// An option to be added to others: both streams of [`FILE`].
pub const TEXT: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "corpus.ctf", "chunkSizeInBytes": 1024,
        "input": {"x": {"dim": 2, "format": "dense"}, "y": {"dim": 10, "format": "sparse"}}}]"#;

/// An option to be added to others: one stream of each of the two files, in place of both streams of [`FILE`].
pub const JOINED: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "corpus.ctf", "chunkSizeInBytes": 1024,
        "input": {"x": {"dim": 2, "format": "dense"}}},
    {"type": "CNTKTextFormatDeserializer", "file": "other.ctf", "chunkSizeInBytes": 700,
        "input": {"y": {"dim": 10, "format": "sparse"}}}]"#;

/// An option to be added to others: both files, one after the other, as one corpus.
pub const SEVERAL: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": ["corpus.ctf", "other.ctf"], "chunkSizeInBytes": 1024,
        "input": {"x": {"dim": 2, "format": "dense"}, "y": {"dim": 10, "format": "sparse"}}}]"#;

/// An option to be added to others: both streams of the rows without ids, many of which are faulty and left out.
pub const FAULTY_ROWS: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "rows.ctf", "chunkSizeInBytes": 1024, "maxErrors": 100000,
        "input": {"x": {"dim": 2, "format": "dense"}, "y": {"dim": 10, "format": "sparse"}}}]"#;

/// [`FAULTY_ROWS`] with a deserializer for each stream: a sequence that is left out of one is left out of both.
pub const FAULTY_ROWS_JOINED: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "rows.ctf", "chunkSizeInBytes": 1024, "maxErrors": 100000,
        "input": {"x": {"dim": 2, "format": "dense"}}},
    {"type": "CNTKTextFormatDeserializer", "file": "rows.ctf", "chunkSizeInBytes": 700, "maxErrors": 100000,
        "input": {"y": {"dim": 10, "format": "sparse"}}}]"#;

/// An option to be added to others: the dense stream, with sequences that can be truncated, and the sparse one of the
/// other file, which has the same number of samples.
pub const TRUNCATED: &str = r#""truncationLength": 5, "deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "corpus.ctf", "chunkSizeInBytes": 1024,
        "input": {"x": {"dim": 2, "format": "dense"}}},
    {"type": "CNTKTextFormatDeserializer", "file": "other.ctf", "chunkSizeInBytes": 700,
        "input": {"x2": {"alias": "x", "dim": 2, "format": "dense"}}}]"#;

/// An option to be added to others: the dense stream by a custom deserializer, which has its own timeline.
pub const LOCAL: &str = r#""deserializers": [{"type": "UserDeserializer", "file": "chunks.json"}]"#;

/// [`LOCAL`] as 16-bit whole numbers, ordered as files are.
pub const WHOLE_16: &str =
    r#""deserializers": [{"type": "UserDeserializer", "file": "chunks.json", "element": "int16"}]"#;

/// [`LOCAL`] as 64-bit whole numbers, ordered as files are.
pub const WHOLE_64: &str =
    r#""deserializers": [{"type": "UserDeserializer", "file": "chunks.json", "element": "int64"}]"#;

/// [`LOCAL`] as texts, ordered as files are.
pub const TEXTS: &str =
    r#""deserializers": [{"type": "UserDeserializer", "file": "chunks.json", "element": "str"}]"#;

/// An option to be added to others: both streams of the same sequences in CNTK's binary format, where a sequence's
/// key is its number.
pub const BINARY: &str =
    r#""deserializers": [{"type": "CNTKBinaryFormatDeserializer", "file": "corpus.cbf"}]"#;

/// [`TRUNCATED`] for the binary file without its sparse stream.
pub const BINARY_TRUNCATED: &str = r#""truncationLength": 5, "deserializers": [
    {"type": "CNTKBinaryFormatDeserializer", "file": "corpus.cbf", "input": {"y": {"skip": true}}}]"#;

/// [`JOINED`] with the sparse stream of the binary file.
pub const BINARY_JOINED: &str = r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "corpus.ctf", "chunkSizeInBytes": 1024,
        "input": {"x": {"dim": 2, "format": "dense"}}},
    {"type": "CNTKBinaryFormatDeserializer", "file": "corpus.cbf", "input": {"x": {"skip": true}}}]"#;

/// [`BINARY`] in the records of a prepared dataset, with examples that have the keys of the text's sequences. The
/// sparse stream has one entry in each sample.
pub const PREPARED: &str = concat!(
    r#""deserializers": [{"type": "TFDSDeserializer", "split": "train", "key": "id", "directory": ""#,
    env!("CARGO_MANIFEST_DIR"),
    r#"/data/prepared", "input": {"x": {}, "y": {"format": "sparse"}}}]"#
);

/// [`TRUNCATED`] for the dense stream of the prepared dataset.
pub const PREPARED_TRUNCATED: &str = concat!(
    r#""truncationLength": 5, "deserializers": [{"type": "TFDSDeserializer", "split": "train", "directory": ""#,
    env!("CARGO_MANIFEST_DIR"),
    r#"/data/prepared", "input": {"x": {}}}]"#
);

/// [`JOINED`] with the sparse stream of the prepared dataset.
pub const PREPARED_JOINED: &str = concat!(
    r#""deserializers": [
    {"type": "CNTKTextFormatDeserializer", "file": "other.ctf", "chunkSizeInBytes": 700,
        "input": {"x": {"dim": 2, "format": "dense"}}},
    {"type": "TFDSDeserializer", "split": "train", "key": "id", "directory": ""#,
    env!("CARGO_MANIFEST_DIR"),
    r#"/data/prepared", "input": {"y": {"format": "sparse"}}}]"#
);

/// The transforms of [`MAP`], [`BAD_MAP`], [`BASE64`] and [`ARCHIVES`], all of which draw but the last two.
macro_rules! transforms {
    () => {
        r#"{"x": {"transforms": [
            {"type": "Crop", "cropType": "RandomArea", "areaRatio": "0.3:0.9", "jitterType": "UniRatio", "seed": 4},
            {"type": "Color", "brightnessRadius": 0.4, "contrastRadius": 0.3, "saturationRadius": 0.5},
            {"type": "Scale", "width": 4, "height": 3, "channels": 3}, {"type": "Transpose"}]},
        "y": {"labelDim": 10}}"#
    };
}

/// An option to be added to others: images of a map, cut, mirrored and coloured at random.
pub const MAP: &str = concat!(
    r#""deserializers": [{"type": "ImageDeserializer", "file": "map.txt", "input": "#,
    transforms!(),
    "}]"
);

/// [`MAP`] with some files in the map that cannot be decoded, which are left out.
pub const BAD_MAP: &str = concat!(
    r#""deserializers": [{"type": "ImageDeserializer", "file": "bad-map.txt", "onCorruptImage": "skip", "input": "#,
    transforms!(),
    "}]"
);

/// [`MAP`] with images that stay in 8 bits.
pub const BYTES: &str = r#""deserializers": [{"type": "ImageDeserializer", "file": "map.txt", "input": {
    "x": {"dtype": "uint8", "transforms": [{"type": "RandomResizedCrop"}, {"type": "HorizontalFlip"},
        {"type": "Scale", "width": 4, "height": 3, "channels": 3, "interpolations": "linear-aa:nearest:cubic", "seed": 2},
        {"type": "RandomRotation", "degrees": 40, "interpolation": "linear", "value": "7:8:9"},
        {"type": "RandomErasing", "areaRatio": "0.1:0.5"}, {"type": "Transpose"}]},
    "y": {"labelDim": 10}}}]"#;

/// [`MAP`] with images of different sizes.
pub const RAGGED: &str = r#""deserializers": [{"type": "ImageDeserializer", "file": "map.txt", "input": {
    "x": {"ragged": true, "transforms": [{"type": "Crop", "cropType": "RandomArea", "areaRatio": "0.2:1"},
        {"type": "Color", "brightnessRadius": 0.4},
        {"type": "Intensity", "intensityFile": "axes.xml", "intensityStdDev": 0.5}]},
    "y": {"labelDim": 10}}}]"#;

/// [`MAP`] with images in Base64.
pub const BASE64: &str = concat!(
    r#""deserializers": [{"type": "Base64ImageDeserializer", "file": "pictures.txt", "input": "#,
    transforms!(),
    "}]"
);

/// [`MAP`] with images in two tar archives.
pub const ARCHIVES: &str = concat!(
    r#""deserializers": [{"type": "TarImageDeserializer", "file": ["0.tar", "1.tar"], "input": "#,
    transforms!(),
    "}]"
);

/// An option to be added to others: features of speech, the dense stream of the text with frames on either side.
pub const FEATURES: &str = r#""deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}}]"#;

/// [`FEATURES`] with each frame as a sequence.
pub const FRAMES: &str = r#""frameMode": true, "deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}}]"#;

/// [`FEATURES`] joined to the same sequences in reverse order, without frames on either side.
pub const FEATURES_JOINED: &str = r#""deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}},
    {"type": "HTKFeatureDeserializer", "input": {
    "x2": {"scpFile": "reversed.scp", "dim": 2, "chunkSizeInFrames": 70}}}]"#;

/// [`FEATURES_JOINED`] frame by frame.
pub const FRAMES_JOINED: &str = r#""frameMode": true, "deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}},
    {"type": "HTKFeatureDeserializer", "input": {
    "x2": {"scpFile": "reversed.scp", "dim": 2, "chunkSizeInFrames": 70}}}]"#;

/// [`FEATURES`] with labels.
pub const LABELLED: &str = r#""deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}},
    {"type": "HTKMLFDeserializer", "chunkSizeInBytes": 500, "input": {
    "y": {"mlfFile": "labels.mlf", "dim": 10, "phoneBoundaries": true}}}]"#;

/// [`FRAMES`] with labels in CNTK's binary form.
pub const FRAMES_LABELLED: &str = r#""frameMode": true, "deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}},
    {"type": "HTKMLFBinaryDeserializer", "chunkSizeInBytes": 500, "input": {
    "y": {"mlfFile": "labels.bin", "dim": 10}}}]"#;

/// [`FRAMES`] without frames on either side, each joined to its row of the text, from the last sequence to the first.
pub const FRAMES_OF_TEXT: &str = r#""frameMode": true, "deserializers": [{"type": "HTKFeatureDeserializer", "input": {
    "x": {"scpFile": "features.scp", "dim": 2, "chunkSizeInFrames": 60}}},
    {"type": "CNTKTextFormatDeserializer", "file": "other.ctf", "chunkSizeInBytes": 700, "input": {
    "x2": {"alias": "x", "dim": 2, "format": "dense"}, "y": {"dim": 10, "format": "sparse"}}}]"#;

/// [`FEATURES`] in Kaldi's archives, some of them compressed.
pub const MATRICES: &str = r#""deserializers": [{"type": "KaldiFeatureDeserializer", "input": {
    "x": {"arkFile": ["1.ark", "2.ark"], "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}}]"#;

/// [`MATRICES`] frame by frame, from a script file that begins with the second archive.
pub const ROWS: &str = r#""frameMode": true, "deserializers": [{"type": "KaldiFeatureDeserializer", "input": {
    "x": {"scpFile": "matrices.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}}]"#;

/// An option to be added to others: two files of NumPy's, as one corpus.
pub const ARRAYS: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": ["table-0.npy", "table-1.npy"], "keyColumn": "id", "chunkSizeInBytes": 1024}]"#;

/// A column of [`ARRAYS`] joined with others, whose files have another order.
pub const ARRAYS_JOINED: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": ["table-0.npy", "table-1.npy"], "keyColumn": "id", "columns": ["x"],
        "chunkSizeInBytes": 1024},
    {"type": "TableDeserializer", "file": ["table-1.npy", "table-0.npy"], "keyColumn": "id", "chunkSizeInBytes": 700,
        "input": {"flag": {}, "half": {"column": "x", "shape": 4, "ragged": true, "dtype": "float64"}}}]"#;

/// An option to be added to others: two Parquet files of lists and structs, as one corpus.
pub const PARQUET: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": ["table-0.parquet", "table-1.parquet"], "keyColumn": "id", "chunkSizeInBytes": 2048,
        "input": {"x": {}, "name": {}, "m": {"column": "nested.matrix", "shape": "2:3"}, "n": {"column": "nested.large"}}}]"#;

/// An option to be added to others: a file of tokens, cut into documents.
pub const TOKENS: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "tokens.bin", "format": "tokens", "endOfText": 9, "chunkSizeInBytes": 256}]"#;

/// [`PARQUET`] in Arrow's formats: a file, and a stream.
pub const ARROW: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": ["table-0.arrow", "table-1.arrow"], "keyColumn": "id", "chunkSizeInBytes": 2048,
        "columns": ["x", "flag", "nested.large", "name"]}]"#;

/// An option to be added to others: text with fields between commas.
pub const CSV: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table.csv", "keyColumn": "id", "chunkSizeInBytes": 1024}]"#;

/// [`CSV`], compressed.
pub const CSV_COMPRESSED: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table.csv.zst", "keyColumn": "id", "chunkSizeInBytes": 1024}]"#;

/// A column of [`CSV`] joined with those of JSON lines, of which one has lists.
pub const CSV_AND_JSON: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table.csv", "keyColumn": "id", "columns": ["x"], "chunkSizeInBytes": 1024},
    {"type": "TableDeserializer", "file": "table.jsonl", "keyColumn": "id", "columns": ["text", "list"], "chunkSizeInBytes": 700}]"#;

/// Records of examples without a description, of which one has lists.
pub const TFRECORDS: &str = r#""deserializers": [{"type": "TableDeserializer", "file": "table-*.tfrecord", "keyColumn": "id",
    "input": {"id": {}, "box": {}, "text": {}, "list": {"ragged": true}}, "chunkSizeInBytes": 1024}]"#;

/// [`TFRECORDS`] in ArrayRecord files.
pub const ARRAY_RECORDS: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table-*.array_record", "keyColumn": "id",
        "input": {"id": {}, "box": {}, "text": {}, "list": {"ragged": true}}, "chunkSizeInBytes": 1024}]"#;

/// Records of any kind: byte strings.
pub const RECORDS: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "plain-*.array_record", "chunkSizeInBytes": 1024}]"#;

/// Lines of Vowpal Wabbit, of which features are sparse and names any number of texts.
pub const VW: &str = r#""useNumericSequenceKeys": false, "deserializers": [
    {"type": "TableDeserializer", "file": "table.vw", "keyColumn": "tag", "bits": 8, "chunkSizeInBytes": 1024}]"#;

/// Rows of ARFF, of which some are sparse.
pub const ARFF: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table.arff", "keyColumn": "id", "chunkSizeInBytes": 1024}]"#;

/// Lines of libsvm, whose features are sparse.
pub const LIBSVM: &str = r#""deserializers": [
    {"type": "TableDeserializer", "file": "table.svm", "keyColumn": "qid", "numFeatures": 12, "chunkSizeInBytes": 1024}]"#;

/// Archives whose members with one name are a row, of which one is an array of any length.
pub const WEBDATASET: &str = r#""useNumericSequenceKeys": false, "deserializers": [
    {"type": "TableDeserializer", "file": "table-*.tar", "keyColumn": "__key__", "columns": ["txt", "cls", "npy"],
        "chunkSizeInBytes": 1024}]"#;

/// An option to be added to others: recordings, sequences as long as those of the text.
pub const RECORDINGS: &str = r#""deserializers": [{"type": "AudioDeserializer", "file": "recordings.scp",
    "chunkSizeInFrames": 60, "input": {"x": {"sampleRate": 8000, "filters": 5}}}]"#;

/// [`TRUNCATED`] for features.
pub const FEATURES_TRUNCATED: &str = r#""truncationLength": 5, "deserializers": [
    {"type": "HTKFeatureDeserializer", "input": {
        "x": {"scpFile": "features.scp", "dim": 2, "contextWindow": "1:2", "chunkSizeInFrames": 60}}},
    {"type": "HTKFeatureDeserializer", "input": {
        "x2": {"scpFile": "reversed.scp", "dim": 2, "chunkSizeInFrames": 70}}}]"#;

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 1024;

/// Text of `lengths.len()` sequences; sequence `i` has the key `3 · i`, `lengths[i]` rows, and in row `t` the dense
/// sample `[100 · i + t, -t]` and a sparse one, with fewer rows for some.
pub fn text(lengths: &[u32]) -> String {
    let mut text = String::new();
    for (i, &length) in lengths.iter().enumerate() {
        for t in 0..length {
            write!(text, "{} |x {} -{t}", 3 * i, 100 * i + t as usize).expect("strings take everything");
            if t == 0 || i % 3 != 0 {
                write!(text, " |y {}:{}.5 {}:1", t % 4, i % 10, 4 + i % 6).expect("strings take everything");
            }
            text.push('\n');
        }
    }
    text
}

/// Lengths from 1 to 9, enough of them for more than 20 chunks.
pub fn lengths() -> Vec<u32> {
    (0..240).map(|i| 1 + (i * i + i / 7) % 9).collect()
}

/// The sequences of a text in reverse order, and one that it does not have.
pub fn reversed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let id = |line: &&str| line.split(' ').next().unwrap_or_default().to_string();
    let sequences: Vec<&[&str]> = lines.chunk_by(|a, b| id(a) == id(b)).collect();
    let rows = sequences.into_iter().rev().flatten().copied().chain(["1 |y 1:1"]);
    rows.flat_map(|row| [row, "\n"]).collect()
}

/// The rows of a text without their ids, and with the usual faults of such files: rows that lack a stream or have a
/// bad value in one, text, blank lines and comments.
fn faulty_rows(text: &str) -> String {
    let row = |(i, line): (usize, &str)| {
        let row = line.split_once(' ').unwrap_or_default().1;
        match i % 11 {
            1 => format!(" \t\r\n{row}\n"),
            3 => format!("|y 1:1\n|# {row}\n"),
            5 => format!("{}\n", row.replace('|', "")),
            7 => format!("{} |x bad\n", row.replace("|x", "|z")),
            9 => format!("{row} |x 1 2 3\n"),
            _ => format!("{row}\n"),
        }
    };
    text.lines().enumerate().map(row).collect()
}

/// The configuration that reads [`FILE`], as JSON; `options` are further entries of the source, deserializers among them
/// if others are to be read.
pub fn config_text(options: &str) -> String {
    if options.contains("deserializers") {
        return format!("{{{options}}}");
    }
    let comma = if options.is_empty() { "" } else { ", " };
    format!("{{{TEXT}{comma}{options}}}")
}

/// The configuration of a source with these options. A number among the `transforms` of a stream is a
/// [`Marked`](marked::Marked) of that seed.
///
/// # Panics
/// If the options are invalid.
pub fn config(options: &str) -> SourceConfig {
    let mut tree =
        tesson_config::json::parse(&config_text(options)).expect("the test's configuration is JSON");
    marked::put_into(&mut tree);
    let registry = user::registry();
    tesson_config::lower(tesson_config::json::source_section(&tree), &registry)
        .expect("the test's configuration is right")
}

/// The dense stream of a text, in chunks of ten sequences.
fn in_chunks(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let sequence = |rows: &[Vec<&str>]| {
        let samples: Vec<String> = rows.iter().map(|row| format!("[{}, {}]", row[2], row[3])).collect();
        format!(r#"{{"x": [{}]}}"#, samples.join(", "))
    };
    let sequences: Vec<String> = lines.chunk_by(|a, b| a[0] == b[0]).map(sequence).collect();
    let chunks: Vec<String> = sequences.chunks(10).map(|chunk| format!("[{}]", chunk.join(", "))).collect();
    format!("[{}]", chunks.join(", "))
}

/// The files of a corpus: this text, [`reversed`] as the other one, and the same for [`BINARY`], [`LOCAL`] and
/// [`FAULTY_ROWS`].
pub fn files(text: &str) -> [(&'static str, Vec<u8>); 5] {
    [
        (FILE, text.as_bytes().to_vec()),
        (OTHER, reversed(text).into_bytes()),
        ("corpus.cbf", binary::of(text, CHUNK_BYTES)),
        ("chunks.json", in_chunks(text).into_bytes()),
        ("rows.ctf", faulty_rows(text).into_bytes()),
    ]
}

/// A store with the [`files`] of a text, the [shards](prepared::shards) of datasets and what [describes](prepared::descriptions)
/// them, images, and features of speech.
pub fn store(text: &str) -> Arc<dyn Store> {
    let files =
        files(text).into_iter().fold(MemoryStore::new(), |store, (name, bytes)| store.with(name, bytes));
    let datasets = prepared::descriptions().into_iter().chain(prepared::shards(text));
    let others = datasets.chain(images::files()).chain(speech::files(&lengths()));
    let others = others.chain(arrays::files(&lengths()));
    Arc::new(others.fold(files, |store, (name, bytes)| store.with(&name, bytes)))
}

/// Wraps a store so that reads come in short pieces, wait for others, and have to be tried again, by a schedule that
/// `seed` chooses.
pub fn dawdling(inner: Arc<dyn Store>, seed: u64) -> FakeStore {
    FakeStore::new(inner, move |n| {
        let dice = (n + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(seed)
            .wrapping_mul(0xd134_2543_de82_ef95)
            >> 57;
        match dice {
            0..40 => InjectedFault::Short(1 + dice as usize * 7),
            40..60 => InjectedFault::Delay(dice as u32 - 39),
            60..64 => InjectedFault::Error(std::io::ErrorKind::Interrupted),
            _ => InjectedFault::None,
        }
    })
}

/// A minibatch, down to the bits: a mark for the end of a sweep, the keys, the slots of truncated sequences, and for
/// each stream the lengths and all entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    /// True if a sweep ends in or with it.
    pub sweep_end: bool,
    /// The keys of its sequences.
    pub keys: Vec<String>,
    /// The last part of the name of the file that each of them begins in.
    pub sources: Vec<Option<String>>,
    /// The rows and places of truncated sequences.
    pub layout: Option<Layout>,
    /// Its streams.
    pub streams: Vec<Entries>,
}

/// One stream of a minibatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// Samples of each sequence.
    pub lengths: Vec<u32>,
    /// The beginning of each sparse sample's entries, and at last their end; empty for dense streams.
    pub indptr: Vec<i32>,
    /// The columns of sparse entries; the shapes of ragged samples.
    pub indices: Vec<i32>,
    /// The bits of all values, widened.
    pub bits: Vec<u64>,
}

impl Delivered {
    /// The contents of a minibatch.
    pub fn of(minibatch: &Minibatch) -> Delivered {
        let streams = minibatch.streams().iter().map(|stream| {
            let (indptr, indices, values) = match stream.samples() {
                Samples::Dense { values } => (Vec::new(), Vec::new(), values),
                Samples::Sparse { indptr, indices, values } => (indptr.to_vec(), indices.to_vec(), values),
                Samples::Ragged { values, shapes } => {
                    (Vec::new(), shapes.iter().map(|&dim| dim as i32).collect(), values)
                }
            };
            let bits = (0..values.len()).map(|i| bits(values.value(i))).collect();
            Entries { lengths: stream.lengths().to_vec(), indptr, indices, bits }
        });
        Delivered {
            sweep_end: minibatch.sweep_end(),
            keys: (0..minibatch.n_sequences()).map(|i| minibatch.keys().get(i).to_string()).collect(),
            sources: minibatch.sources().iter().map(|file| file.as_deref().map(file_name)).collect(),
            layout: minibatch.streams().first().and_then(|stream| stream.truncated_layout()).cloned(),
            streams: streams.collect(),
        }
    }
}

/// The last part of the name of a file.
fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The bits of a value, widened; of a string a hash.
fn bits(value: SampleValue<'_>) -> u64 {
    let hash = |string| BuildHasherDefault::<DefaultHasher>::default().hash_one(string);
    match value {
        SampleValue::Bytes(string) => hash(string),
        SampleValue::Text(string) => hash(string.as_bytes()),
        number => number.rounded().to_bits(),
    }
}

/// Everything that is left of a source, for one of `workers`.
///
/// # Panics
/// If the source answers an error.
pub fn rest(source: &mut Source, samples: u64, workers: u64, rank: u64) -> Vec<Delivered> {
    let demand = tesson::Demand { samples, workers, rank };
    std::iter::from_fn(|| source.next(demand).expect("the data are right"))
        .map(|m| Delivered::of(&m))
        .collect()
}
