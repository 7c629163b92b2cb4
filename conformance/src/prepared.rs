//! Corpora as datasets that TFDS prepared: the descriptions lie in `data/`, the shards are made here.

use tesson_convert::records::{ArrayRecordOptions, ArrayRecordWriter, TfRecordWriter};
use tesson_formats::example::{Value, write};

/// The folder with the description of the dataset in TFRecord files.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/prepared");

/// The folder with the description of the dataset in ArrayRecord files.
pub const ARRAY_RECORD_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/prepared-array-record");

/// The files that describe both datasets, with their paths.
pub fn descriptions() -> Vec<(String, Vec<u8>)> {
    let file = |folder: &str, name: &str, text: &str| (format!("{folder}/{name}"), text.as_bytes().to_vec());
    vec![
        file(FOLDER, "dataset_info.json", include_str!("../data/prepared/dataset_info.json")),
        file(FOLDER, "features.json", include_str!("../data/prepared/features.json")),
        file(
            ARRAY_RECORD_FOLDER,
            "dataset_info.json",
            include_str!("../data/prepared-array-record/dataset_info.json"),
        ),
        file(
            ARRAY_RECORD_FOLDER,
            "features.json",
            include_str!("../data/prepared-array-record/features.json"),
        ),
    ]
}

/// Shards of the split `train`, which both descriptions speak of; `whole` has one with the same examples.
const SHARDS: usize = 12;

/// Examples of a shard of `train`.
const OF_A_SHARD: usize = 20;

/// An example for each sequence of a text of [`crate::corpus`]: the number before its rows is the feature `id`, `x` are its
/// dense samples, and `y` has the first column of each sparse one.
///
/// # Panics
/// If the text is another one.
pub fn examples(text: &str) -> Vec<Vec<u8>> {
    let lines: Vec<&str> = text.lines().collect();
    let id = |line: &&str| line.split(' ').next().unwrap_or_default().to_string();
    lines.chunk_by(|a, b| id(a) == id(b)).map(|rows| example(&id(&rows[0]), rows)).collect()
}

fn example(id: &str, rows: &[&str]) -> Vec<u8> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for input in rows.iter().flat_map(|row| row.split('|').skip(1)) {
        let words: Vec<&str> = input.split_whitespace().collect();
        match words[..] {
            ["x", first, second] => {
                x.extend([first, second].map(|value| value.parse::<f32>().expect("a number")));
            }
            _ => y.push(words[1].split(':').next().and_then(|c| c.parse().ok()).expect("a column")),
        }
    }
    let (mut bytes, id) = (Vec::new(), [id.parse().expect("a number")]);
    write(&[("id", Value::Ints(&id)), ("x", Value::Floats(&x)), ("y", Value::Ints(&y))], &mut bytes);
    bytes
}

/// A TFRecord file of these examples.
///
/// # Panics
/// Never: memory takes all.
pub fn tfrecord(examples: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = TfRecordWriter::new(Vec::new());
    examples.iter().for_each(|example| writer.record(example).expect("memory takes all"));
    writer.finish().expect("memory takes all")
}

/// An ArrayRecord file of these examples, several in a chunk.
///
/// # Panics
/// Never: memory takes all.
pub fn array_record(examples: &[Vec<u8>]) -> Vec<u8> {
    let options = ArrayRecordOptions { group_size: 7, ..ArrayRecordOptions::TFDS };
    let mut writer = ArrayRecordWriter::new(Vec::new(), options).expect("memory takes all");
    examples.iter().for_each(|example| writer.record(example).expect("memory takes all"));
    writer.finish().expect("memory takes all")
}

/// The name of the one shard of `whole`.
pub fn whole(folder: &str) -> String {
    let suffix = if folder == FOLDER { "tfrecord" } else { "array_record" };
    format!("{folder}/corpus-whole.{suffix}-00000-of-00001")
}

/// All shards of `train`, with their names.
pub fn shards(text: &str) -> Vec<(String, Vec<u8>)> {
    let examples = examples(text);
    let shard = |i: usize| {
        let from = (i * OF_A_SHARD).min(examples.len());
        let of = &examples[from..(from + OF_A_SHARD).min(examples.len())];
        (format!("{FOLDER}/corpus-train.tfrecord-{i:05}-of-{SHARDS:05}"), tfrecord(of))
    };
    (0..SHARDS).map(shard).collect()
}
