//! Memory stays inside `memoryLimit`, whatever the file's size and the order.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use std::path::{Path, PathBuf};

use counting::{alone, peak};
use tesson::convert::{self, Corpus, Form};
use tesson::tfds::example::{Value, write};
use tesson::{Source, config, tfds};
use tesson_conformance::prepared;

/// A format: the file that is made of rows of text, and the deserializer that reads it.
struct Format {
    name: &'static str,
    make: fn(&Path) -> PathBuf,
    deserializer: fn(&Path) -> String,
}

const FORMATS: &[Format] = &[
    Format { name: "text", make: Path::to_path_buf, deserializer: text },
    Format { name: "binary", make: |file| binary(file, 1 << 16), deserializer: in_binary },
    // A few of these are as large as the limit.
    Format { name: "prepared", make: prepare, deserializer: of_prepared },
    Format { name: "large-chunks", make: |file| binary(file, 1 << 18), deserializer: in_binary },
];

fn text(file: &Path) -> String {
    format!(
        r#"{{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "chunkSizeInBytes": 65536,
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "y": {{"dim": 7, "format": "sparse"}}}}}}"#
    )
}

fn in_binary(file: &Path) -> String {
    format!(r#"{{"type": "CNTKBinaryFormatDeserializer", "file": {file:?}}}"#)
}

/// Converts a text to the binary format, in chunks of so many bytes.
fn binary(file: &Path, chunk_bytes: u64) -> PathBuf {
    let json = format!(r#"{{"deserializers": [{}], "randomize": false, "maxSweeps": 1}}"#, text(file));
    let source = Source::open(&config::from_json(&json).expect("the configuration is right"));
    let mut corpus = Corpus::new(source.expect("the text is right"), |stream| stream.element);
    let output = file.with_extension("cbf");
    let written = convert::write(&mut corpus, &output, Form::Binary { chunk_bytes }, &mut |_| ());
    written.expect("the folder for temporary files can be written");
    output
}

/// Makes a prepared dataset of the rows of a text, in four shards beside it.
fn prepare(file: &Path) -> PathBuf {
    let text = std::fs::read_to_string(file).expect("the text was written");
    let rows: Vec<&str> = text.lines().collect();
    let lengths = tfds::info::rounded_lengths(rows.len() as u64, 4);
    let folder = file.with_extension("prepared");
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let put = |name: String, bytes: Vec<u8>| {
        std::fs::write(folder.join(name), bytes).expect("the folder for temporary files can be written");
    };
    let class = "tensorflow_datasets.core.features.Tensor";
    let tensor = |n: u32| {
        format!(
            r#"{{"pythonClassName": "{class}", "tensor": {{"shape": {{"dimensions": ["{n}"]}}, "dtype": "float32"}}}}"#
        )
    };
    let features = format!(
        r#"{{"pythonClassName": "FeaturesDict", "featuresDict": {{"features": {{"x": {}, "y": {}}}}}}}"#,
        tensor(1),
        tensor(7)
    );
    put("features.json".into(), features.into_bytes());
    let info = format!(
        r#"{{"name": "d", "version": "1.0.0", "splits": [{{"name": "train", "shardLengths": {lengths:?}}}]}}"#
    );
    put("dataset_info.json".into(), info.into_bytes());
    let number = |text: &str| text.rsplit(':').next().and_then(|n| n.parse::<f32>().ok());
    let mut rows = rows.into_iter();
    for (i, length) in lengths.iter().enumerate() {
        let examples: Vec<Vec<u8>> = rows
            .by_ref()
            .take(*length as usize)
            .map(|row| {
                let values: Vec<f32> = row.split(' ').filter_map(number).collect();
                let mut bytes = Vec::new();
                let features = [("x", Value::Floats(&values[..1])), ("y", Value::Floats(&values[1..8]))];
                write(&features, &mut bytes);
                bytes
            })
            .collect();
        put(format!("d-train.tfrecord-{i:05}-of-00004"), prepared::tfrecord(&examples));
    }
    folder
}

fn of_prepared(folder: &Path) -> String {
    format!(r#"{{"type": "TFDSDeserializer", "directory": {folder:?}}}"#)
}

/// Reads a file of about ten times the limit and returns the most that was allocated at a time, in bytes.
fn peak_of(test: &str, format: &Format, order: &str, limit: usize) -> usize {
    let row = |i: usize| {
        format!("|x {i} |y 0:0.125 1:-17.5 2:{i} 3:1e-3 4:7.75 5:0.0625 6:{}.5 |# row {i}\n", i % 10)
    };
    let text: String = (0..)
        .map(row)
        .scan(0, |n, row| {
            *n += row.len();
            (*n < 10 * limit).then_some(row)
        })
        .collect();
    let n_sequences = text.lines().count();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", format.name));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let file = folder.join("train.ctf");
    std::fs::write(&file, &text).expect("the folder for temporary files can be written");
    let json = format!(
        r#"{{"deserializers": [{}], {order}, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#,
        (format.deserializer)(&(format.make)(&file))
    );
    let config = config::from_json(&json).expect("the configuration is right");
    drop(text);
    let (seen, peak) = peak(|| {
        let mut source = Source::open(&config).expect("the limit is enough");
        let mut seen = 0;
        while let Some(minibatch) = source.next_minibatch(64).expect("the data are right") {
            seen += minibatch.n_sequences();
        }
        seen
    });
    assert_eq!(seen, n_sequences);
    peak
}

#[test]
fn a_file_ten_times_the_limit_is_read_within_the_limit() {
    let _alone = alone();
    let limit = 4 << 20;
    for (test, order) in [
        ("memory-in-order", r#""randomize": false"#),
        ("memory-window", r#""randomize": true, "randomizationWindow": 32"#),
        ("memory-everything", r#""randomize": true"#),
        ("memory-global", r#""randomize": "global""#),
    ] {
        // By default the binary format's window is everything: the plan of so many sequences, four bytes each and twice,
        // would take the limit alone.
        let formats = if test == "memory-everything" { &FORMATS[..1] } else { FORMATS };
        for format in formats {
            let peak = peak_of(test, format, order, limit);
            assert!(peak <= limit, "{test}, {}: {peak} bytes at a time, the limit is {limit}", format.name);
        }
    }
}
