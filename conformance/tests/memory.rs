//! Memory stays inside `memoryLimit`, whatever the file's size and the order.
//!
//! Alone in its binary: the allocator counts everything that is allocated in the process.

mod counting;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counting::{alone, peak};
use tesson::store::{MemoryStore, Store, Stores};
use tesson::{OpenOptions, Shape, Source};
use tesson_config::Transforms;
use tesson_conformance::prepared;
use tesson_convert::{Corpus, Form};
use tesson_core::{
    Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform, ValueType,
};
use tesson_engine::atomic_file::Existing;
use tesson_engine::store::{FakeStore, InjectedFault};
use tesson_formats::example::{Value, Value as ExampleValue, write};
use tesson_formats::user::UserError;
use tesson_prepared::{DatasetWriter, ExampleBatch, OnDamage, Reader, ReaderLimits};

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

/// Converts a text to the binary format, in chunks of `chunk_bytes` bytes.
fn binary(file: &Path, chunk_bytes: u64) -> PathBuf {
    let json = format!(r#"{{"deserializers": [{}], "randomize": false, "maxSweeps": 1}}"#, text(file));
    let source = tesson::open(&tesson::config::from_json(&json).expect("the configuration is right"));
    let mut corpus = Corpus::new(source.expect("the text is right"), |stream| stream.element);
    let output = file.with_extension("cbf");
    let written = tesson_convert::write(
        &mut corpus,
        &output,
        Existing::Replace,
        Form::Binary { chunk_bytes },
        &mut |_| (),
    );
    written.expect("the folder for temporary files can be written");
    output
}

/// Makes a prepared dataset of the rows of a text, in four shards beside it.
fn prepare(file: &Path) -> PathBuf {
    let text = std::fs::read_to_string(file).expect("the text was written");
    let rows: Vec<&str> = text.lines().collect();
    let lengths = tesson_tfds::info::rounded_lengths(rows.len() as u64, 4);
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
    let config = tesson::config::from_json(&json).expect("the configuration is right");
    drop(text);
    let (seen, peak) = peak(|| {
        let mut source = tesson::open(&config).expect("the limit is enough");
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
        // By default the binary format's window is everything, so the plan, with four bytes for each sequence and
        // twice that, would alone take the limit.
        let formats = if test == "memory-everything" { &FORMATS[..1] } else { FORMATS };
        for format in formats {
            let peak = peak_of(test, format, order, limit);
            assert!(peak <= limit, "{test}, {}: {peak} bytes at a time, the limit is {limit}", format.name);
        }
    }
}

/// Reads rows of one value, which a dense stream of `dim` fills up with zeros, in minibatches of a given size.
/// Returns the most that was allocated at a time, and the number of sequences or their error.
fn peak_of_wide(
    rows: &str,
    dim: usize,
    order: &str,
    limit: usize,
    size: u64,
) -> (Result<usize, String>, usize) {
    peak_of_held(rows, dim, order, limit, size, 0)
}

/// Measures like `peak_of_wide`, for a caller that holds `n_held` minibatches while it waits for another one.
fn peak_of_held(
    rows: &str,
    dim: usize,
    order: &str,
    limit: usize,
    size: u64,
    n_held: usize,
) -> (Result<usize, String>, usize) {
    let store = MemoryStore::new().with("wide.ctf", rows.as_bytes().to_vec());
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "wide.ctf",
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": {dim}, "format": "dense"}}}}}}],
            {order}, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
    );
    let config = tesson::config::from_json(&json).expect("the configuration is right");
    peak(|| {
        let mut source = OpenOptions::in_store(&store).open(&config).map_err(|e| e.to_string())?;
        read_all(&mut source, size, n_held)
    })
}

/// Reads to the end of the data and holds `n_held` minibatches while waiting for another one. Returns the number of
/// sequences or their error.
fn read_all(source: &mut Source, size: u64, n_held: usize) -> Result<usize, String> {
    let mut seen = 0;
    let mut held = VecDeque::new();
    while let Some(minibatch) = source.next_minibatch(size).map_err(|e| e.to_string())? {
        seen += minibatch.n_sequences();
        held.push_back(minibatch);
        held.drain(..held.len().saturating_sub(n_held));
    }
    Ok(seen)
}

const WIDE_ORDERS: [&str; 3] = [r#""randomize": false"#, r#""randomize": true"#, r#""randomize": "global""#];

#[test]
fn short_rows_of_wide_streams_are_read_within_the_limit() {
    let _alone = alone();
    // 12 MB are made of each kilobyte of text, and 1.2 GB of all.
    let limit = 16 << 20;
    for value in ["5", "0.3"] {
        let rows: String = (0..3000).map(|i| format!("{i} |x 1 |s {value}\n")).collect();
        for order in WIDE_ORDERS {
            let (seen, peak) = peak_of_wide(&rows, 100_000, order, limit, 4);
            assert_eq!(seen, Ok(3000), "{order}");
            assert!(peak <= limit, "{value}, {order}: {peak} bytes at a time, the limit is {limit}");
        }
    }
}

#[test]
fn sequences_of_several_wide_samples_are_read_within_the_limit() {
    let _alone = alone();
    let limit = 16 << 20;
    // A sample takes 100 kB, and a sequence up to 600 kB: a 27th of the limit.
    let row = |i: usize| format!("{i} |x 1 |s 5\n").repeat(1 + i * 7 % 6);
    let rows: String = (0..600).map(row).collect();
    for order in WIDE_ORDERS {
        for size in [4, 8, 16, 32] {
            let (seen, peak) = peak_of_wide(&rows, 25_000, order, limit, size);
            assert_eq!(seen, Ok(600), "{order}, {size}");
            assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
        }
    }
}

#[test]
fn large_minibatches_are_made_within_the_limit() {
    let _alone = alone();
    let limit = 16 << 20;
    // A row takes 100 kB.
    let rows: String = (0..1500).map(|i| format!("{i} |x 1 |s 5\n")).collect();
    for order in WIDE_ORDERS {
        for (size, n_held) in
            [(8, 1), (16, 1), (24, 1), (32, 1), (40, 1), (64, 1), (64, 0), (96, 0), (120, 0)]
        {
            let (seen, peak) = peak_of_held(&rows, 25_000, order, limit, size, n_held);
            assert_eq!(seen, Ok(1500), "{order}, {size}");
            assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
        }
        let (seen, _) = peak_of_wide(&rows, 25_000, order, limit, 128);
        let what = "the minibatch takes 12801536 bytes, at most 12582912 fit into this `memoryLimit`; choose a smaller size, or a `memoryLimit` of 17068715";
        assert_eq!(seen, Err(what.into()), "{order}");
    }
}

#[test]
fn truncated_minibatches_are_made_within_the_limit() {
    let _alone = alone();
    let limit = 16 << 20;
    // A row takes 100 kB. A slot holds two rows where sequences have one, and up to ten where they have five.
    for (rows_of_sequence, sizes) in
        [(1, &[(4, 1), (16, 1), (24, 1), (32, 1), (38, 0)][..]), (5, &[(4, 1), (8, 1), (9, 0)][..])]
    {
        let row = |i: usize| format!("{} |x 1 |s 5\n", i / rows_of_sequence);
        let rows: String = (0..1500).map(row).collect();
        for order in WIDE_ORDERS {
            let order = format!(r#"{order}, "truncated": true, "truncationLength": 1"#);
            for &(size, n_held) in sizes {
                let (seen, peak) = peak_of_held(&rows, 25_000, &order, limit, size, n_held);
                assert_eq!(seen, Ok(1500), "{order}, {size}");
                assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
            }
        }
    }
}

/// Rows of a joined text: one sample for each of `n` keys, which are in another order than the first text's.
fn shuffled_rows(stream: &str, n: usize) -> Vec<u8> {
    let row = |i: usize| format!("{} |{stream} {}\n", i * 7919 % n, i % 97);
    (0..n).map(row).collect::<String>().into_bytes()
}

#[test]
fn many_short_joined_sequences_wait_in_slots_within_the_limit() {
    let _alone = alone();
    let n = 40_000;
    let store = MemoryStore::new().with("x.ctf", shuffled_rows("x", n)).with("y.ctf", shuffled_rows("y", n));
    let part = |stream: &str| {
        format!(
            r#"{{"type": "CNTKTextFormatDeserializer", "file": "{stream}.ctf",
                "input": {{"{stream}": {{"dim": 1, "format": "dense"}}}}}}"#
        )
    };
    let limit = 24 << 20;
    // A slot holds seventeen sequences of one sample.
    for size in [256, 6400] {
        for order in WIDE_ORDERS {
            let json = format!(
                r#"{{"deserializers": [{}, {}], {order}, "truncated": true, "truncationLength": 16, "maxSweeps": 1,
                    "threads": 2, "memoryLimit": {limit}}}"#,
                part("x"),
                part("y")
            );
            let config = tesson::config::from_json(&json).expect("the configuration is right");
            let (seen, peak) = peak(|| {
                let mut source = OpenOptions::in_store(&store).open(&config).expect("the limit is enough");
                read_all(&mut source, size, 0)
            });
            assert_eq!(seen, Ok(n), "{order}, {size}");
            assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
        }
    }
}

#[test]
fn a_binary_file_of_many_streams_is_read_within_the_limit() {
    let _alone = alone();
    let limit = 32 << 20;
    let n = 3000;
    let input = |i: usize| format!(r#""s{i}": {{"dim": 1, "format": "dense"}}"#);
    let inputs: Vec<String> = (0..n).map(input).collect();
    let row = |k: usize| (0..n).map(|i| format!("|s{i} {k} ")).collect::<String>() + "\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-streams");
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let (text, output) = (folder.join("many.ctf"), folder.join("many.cbf"));
    std::fs::write(&text, (0..4).map(row).collect::<String>()).expect("the folder can be written");
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {text:?}, "input": {{{}}}}}],
            "randomize": false, "maxSweeps": 1}}"#,
        inputs.join(", ")
    );
    let source = tesson::open(&tesson::config::from_json(&json).expect("the configuration is right"));
    let mut corpus = Corpus::new(source.expect("the text is right"), |stream| stream.element);
    let form = Form::Binary { chunk_bytes: 1 << 20 };
    tesson_convert::write(&mut corpus, &output, Existing::Replace, form, &mut |_| ())
        .expect("the data are right");
    drop(corpus);
    let json = format!(
        r#"{{"deserializers": [{}], "randomize": false, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#,
        in_binary(&output)
    );
    let config = tesson::config::from_json(&json).expect("the configuration is right");
    let (seen, peak) = peak(|| {
        let mut source = tesson::open(&config).expect("the limit is enough");
        let mut seen = 0;
        while let Some(minibatch) = source.next_minibatch(2).expect("the data are right") {
            seen += minibatch.n_sequences();
        }
        seen
    });
    assert_eq!(seen, 4);
    assert!(peak <= limit, "{peak} bytes at a time, the limit is {limit}");
}

#[test]
fn truncated_minibatches_that_are_too_large_are_refused_with_the_limit_that_they_need() {
    let _alone = alone();
    let limit = 16 << 20;
    let rows: String = (0..1500).map(|i| format!("{i} |x 1 |s 5\n")).collect();
    for order in WIDE_ORDERS {
        let order = format!(r#"{order}, "truncated": true, "truncationLength": 1"#);
        for size in [48, 64, 1000] {
            let (seen, peak) = peak_of_wide(&rows, 25_000, &order, limit, size);
            let e = seen.expect_err("it takes more than three quarters of the limit");
            assert!(e.contains("at most 12582912 fit into this `memoryLimit`"), "{order}, {size}: {e}");
            assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
            let needed = e.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("it names a limit");
            let (seen, peak) = peak_of_wide(&rows, 25_000, &order, needed, size);
            assert_eq!(seen, Ok(1500), "{order}, {size}: {e}");
            assert!(peak <= needed, "{order}, {size}: {peak} bytes at a time, the limit is {needed}");
        }
    }
}

/// Repeats the values of each sample ten times.
#[derive(Debug)]
struct TenTimes;

impl Transform for TenTimes {
    fn name(&self) -> &str {
        "ten-times"
    }

    fn identity(&self) -> String {
        "1".into()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        let dim = input.dims[0].ok_or("found an open dimension")?;
        Ok(input.clone().with_shape(&Shape::new([10 * dim])))
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        _: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let (InputValues::F32(values), OutputValues::F32(output)) = (input.values, output.values) else {
            return Err("float32 is expected".into());
        };
        for sample in values.chunks(input.shape[0]) {
            (0..10).for_each(|_| output.extend_from_slice(sample));
        }
        Ok(())
    }
}

#[test]
fn what_transforms_make_is_within_the_limit() {
    let _alone = alone();
    let limit = 16 << 20;
    let rows: String = (0..1500).map(|i| format!("{i} |x 1 |s 5\n")).collect();
    let store = MemoryStore::new().with("wide.ctf", rows.into_bytes());
    // 10 kB of a row become 100 kB.
    let read = |order: &str, size, n_held| {
        let json = format!(
            r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "wide.ctf",
                "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": 2500, "format": "dense"}}}}}}],
                {order}, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
        );
        let mut config = tesson::config::from_json(&json).expect("the configuration is right");
        config.transforms = Transforms::of("s", [Arc::new(TenTimes) as Arc<dyn Transform>]);
        peak(|| {
            read_all(
                &mut OpenOptions::in_store(&store).open(&config).expect("the limit is enough"),
                size,
                n_held,
            )
        })
    };
    for order in WIDE_ORDERS {
        for (size, n_held) in [(8, 1), (24, 1), (40, 1), (64, 1), (100, 0), (112, 0)] {
            let (seen, peak) = read(order, size, n_held);
            assert_eq!(seen, Ok(1500), "{order}, {size}");
            assert!(peak <= limit, "{order}, {size}: {peak} bytes at a time, the limit is {limit}");
        }
        let (seen, peak) = read(order, 120, 0);
        let what = "the minibatch takes 13201440 bytes, at most 12582912 fit into this `memoryLimit`; choose a smaller size, or a `memoryLimit` of 17601920";
        assert_eq!(seen, Err(what.into()), "{order}");
        assert!(peak <= limit, "{order}: {peak} bytes at a time, the limit is {limit}");
    }
}

/// Leaves images as they are, but as 32-bit floats.
#[derive(Debug)]
struct AsFloats;

impl Transform for AsFloats {
    fn name(&self) -> &str {
        "as-floats"
    }

    fn identity(&self) -> String {
        "1".into()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        Ok(input.clone().with_values(ValueType::F32))
    }

    fn apply(
        &self,
        input: Input<'_>,
        mut output: Output<'_>,
        _: &mut Draw<'_>,
        _: &mut Scratch,
    ) -> Result<(), UserError> {
        let OutputValues::F32(out) = &mut output.values else { return Err("float32 is expected".into()) };
        match input.values {
            InputValues::F32(values) => out.extend_from_slice(values),
            InputValues::U8(values) => out.extend(values.iter().map(|&x| f32::from(x))),
            _ => return Err("images are expected".into()),
        }
        output.set_shape(input.shape);
        Ok(())
    }
}

/// An image of 400 by 500 pixels without compression, 600 kB.
fn image() -> Vec<u8> {
    let mut file = b"P6\n500 400\n255\n".to_vec();
    file.extend((0..400 * 500 * 3).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8));
    file
}

/// Reads a few images through transforms, in minibatches of `size`, and returns the most bytes that were allocated at a time.
fn peak_of_images(
    transforms: &str,
    as_floats: bool,
    size: u64,
    limit: u64,
) -> (Result<usize, String>, usize) {
    let map: String = (0..8).map(|_| "image.ppm\t0\n").collect();
    let store = MemoryStore::new().with("image.ppm", image()).with("map", map.into_bytes());
    let json = format!(
        r#"{{"deserializers": [{{"type": "ImageDeserializer", "file": "map",
            "input": {{"x": {{"transforms": [{transforms}]}}}}}}],
            "randomize": false, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
    );
    let mut config = tesson::config::from_json(&json).expect("the configuration is right");
    if as_floats {
        config.transforms = Transforms::of("x", [Arc::new(AsFloats) as Arc<dyn Transform>]);
    }
    peak(|| read_all(&mut OpenOptions::in_store(&store).open(&config).map_err(|e| e.to_string())?, size, 0))
}

#[test]
fn images_are_transformed_within_the_limit() {
    let _alone = alone();
    const COLOR: &str = r#"{"type": "Color", "brightnessRadius": 0.2, "saturationRadius": 0.2}"#;
    let scale = |height: usize, width: usize| {
        format!(r#"{{"type": "Scale", "width": {width}, "height": {height}, "channels": 3}}"#)
    };
    let limit = 16 << 20;
    // Decoded an image takes 0.6 MB, as floats 2.4 MB.
    let (same, half, larger) = (scale(400, 500), scale(200, 250), scale(600, 750));
    let chains = [
        String::new(),
        COLOR.into(),
        format!("{same}, {COLOR}"),
        format!("{COLOR}, {same}"),
        format!("{same}, {COLOR}, {half}"),
        format!("{COLOR}, {larger}"),
        format!("{larger}, {COLOR}, {half}"),
    ];
    let mut refused = 0;
    for chain in &chains {
        for (as_floats, size) in [(false, 1), (false, 4), (true, 1), (true, 2)] {
            // A minibatch that is too large alone may be so beside its samples, too; then it is read with the limit that is needed.
            let mut limit = limit;
            for attempt in 0.. {
                let (seen, peak) = peak_of_images(chain, as_floats, size, limit);
                let what = format!("{chain}, {as_floats}, {size}");
                assert!(peak as u64 <= limit, "{what}: {peak} bytes at a time, the limit is {limit}");
                let Err(error) = seen else {
                    assert_eq!(seen, Ok(8), "{what}");
                    break;
                };
                assert!(attempt < 2, "{what}: {error}");
                refused += 1;
                let numbers = error.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
                limit = numbers.filter(|needed| *needed > limit).max().expect("the error has the limit");
            }
        }
    }
    assert!(refused >= 3, "{refused} chains");
}

/// Opens rows of one value in order, of which a dense stream of `dim` makes samples with zeros.
fn open_wide(rows: &str, dim: usize, limit: usize) -> Source {
    let store = MemoryStore::new().with("wide.ctf", rows.as_bytes().to_vec());
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": "wide.ctf",
            "input": {{"x": {{"dim": 1, "format": "dense"}}, "s": {{"dim": {dim}, "format": "dense"}}}}}}],
            "randomize": false, "maxSweeps": 1, "threads": 2, "memoryLimit": {limit}}}"#
    );
    let config = tesson::config::from_json(&json).expect("the configuration is right");
    OpenOptions::in_store(&store).open(&config).expect("the limit is enough")
}

#[test]
fn short_rows_of_wide_streams_are_converted_and_checked_within_the_limit() {
    let _alone = alone();
    let limit = 8 << 20;
    let rows: String = (0..400).map(|i| format!("{i} |x 1 |s 5\n")).collect();
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-wide.cbf");
    let ((), peak) = peak(|| {
        let mut corpus = Corpus::new(open_wide(&rows, 25_000, limit), |stream| stream.element);
        let form = Form::Binary { chunk_bytes: 1 << 20 };
        tesson_convert::write(&mut corpus, &output, Existing::Replace, form, &mut |_| ())
            .expect("the data are right");
        let checked = open_wide(&rows, 25_000, limit).check(&mut |_, _| ()).expect("the data are right");
        assert_eq!((checked.sequences, checked.faults), (400, 0));
    });
    assert!(peak <= limit, "{peak} bytes at a time, the limit is {limit}");
    let written = output.metadata().expect("it was written").len();
    assert!(written > 400 * 100_000, "{written} bytes were written");
}

#[test]
fn converting_and_checking_refuse_a_sequence_that_decoding_makes_too_large() {
    let _alone = alone();
    let limit = 8 << 20;
    let rows = "1 |x 1 |s 5\n2 |x 1 |s 5\n";
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-too-wide.cbf");
    let ((), peak) = peak(|| {
        let mut corpus = Corpus::new(open_wide(rows, 10_000_000, limit), |stream| stream.element);
        let form = Form::Binary { chunk_bytes: 1 << 20 };
        let written =
            tesson_convert::write(&mut corpus, &output, Existing::Replace, form, &mut |_| ()).map(|_| ());
        let checked = open_wide(rows, 10_000_000, limit).check(&mut |_, _| ()).map(|_| ());
        let errors = [written.expect_err("40 MB").to_string(), checked.expect_err("40 MB").to_string()];
        for e in errors {
            assert!(e.contains("bytes, at most 1048576 fit into this `memoryLimit`"), "{e}");
        }
    });
    assert!(peak <= limit, "{peak} bytes at a time, the limit is {limit}");
}

#[test]
fn a_sequence_that_decoding_makes_too_large_is_refused_before_it_is_made() {
    let _alone = alone();
    let limit = 8 << 20;
    // A sample that is too large, and a sequence of samples that are not.
    let long = "1 |x 1 |s 5\n".repeat(1000);
    for (rows, dim) in [("1 |x 1 |s 5\n2 |x 1 |s 5\n", 10_000_000), (long.as_str(), 10_000)] {
        for order in WIDE_ORDERS {
            let (seen, peak) = peak_of_wide(rows, dim, order, limit, 2000);
            let e = seen.expect_err("it takes 40 MB");
            assert!(e.contains("bytes, at most 1048576 fit into this `memoryLimit`"), "{order}: {e}");
            assert!(peak <= limit, "{order}: {peak} bytes at a time, the limit is {limit}");
        }
    }
}

#[test]
fn a_pass_over_large_chunks_reads_their_bytes_once_or_where_they_are_local_twice() {
    let _alone = alone();
    let n = 120_000;
    let text: String = (0..n).map(|i| format!("|x {i} |y 0:0.5 3:{i} 6:1.25\n")).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-once");
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let file = folder.join("train.ctf");
    std::fs::write(&file, text).expect("the folder for temporary files can be written");
    let chunk = 800 << 10;
    let cbf = binary(&file, chunk);
    let size = cbf.metadata().expect("it was written").len();
    assert!(size > 4 * chunk, "several chunks");
    // Under these limits the chunks are too large for pieces, and those that are needed at a time have room as a whole: two in
    // the order of the file, those of the window and two more in random order.
    for (order, limit) in [
        (r#""randomize": false"#, 8),
        (r#""randomize": false"#, 12),
        (r#""randomize": false"#, 24),
        (r#""randomize": false"#, 32),
        (r#""randomize": true, "randomizationWindow": 2"#, 20),
        (r#""randomize": "global""#, 28),
        (r#""randomize": "global""#, 32),
    ] {
        let json = format!(
            r#"{{"deserializers": [{}], {order}, "maxSweeps": 1, "threads": 2, "memoryLimit": "{limit}MiB"}}"#,
            in_binary(&cbf)
        );
        let config = tesson::config::from_json(&json).expect("the configuration is right");
        // Only local stores say that reading again costs no more than a copy: there a walk over a chunk comes before its parts.
        let local = Arc::new(Stores::default());
        let far = FakeStore::new(Arc::clone(&local) as Arc<dyn Store>, |_| InjectedFault::None);
        let stores: [(&dyn Store, u64); 2] = [(&far, 1), (&*local, 2)];
        for (store, times) in stores {
            let ((seen, read), peak) = peak(|| {
                let mut source = OpenOptions::in_store(store).open(&config).expect("the limit is enough");
                let mut seen = 0;
                while let Some(minibatch) = source.next_minibatch(256).expect("the data are right") {
                    seen += minibatch.n_sequences();
                }
                (seen, source.stats().bytes_read)
            });
            assert_eq!(seen, n);
            // Beside the chunks: lengths in front of them, the table, and both ends of the file for its fingerprint.
            let expected = times * size + size / 4;
            assert!(
                read <= expected,
                "{order}, {limit} MiB: {read} bytes were read, {times} times {size} are enough"
            );
            assert!(peak <= limit << 20, "{order}, {limit} MiB: {peak} bytes were allocated");
        }
    }
}

/// The most that is allocated at a time while a corpus of `n` files of one row each is opened and read.
fn peak_of_files(n: usize, order: &str) -> usize {
    let name = |i: usize| format!("part-{i:06}.ctf");
    let store = (0..n).fold(MemoryStore::new(), |store, i| store.with(name(i), b"|x 1\n".to_vec()));
    let files: Vec<String> = (0..n).map(name).collect();
    let json = format!(
        r#"{{"deserializers": [{{"type": "CNTKTextFormatDeserializer", "file": {files:?},
            "input": {{"x": {{"dim": 1, "format": "dense"}}}}}}],
            {order}, "maxSweeps": 1, "threads": 1, "memoryLimit": "64MiB"}}"#
    );
    let config = tesson::config::from_json(&json).expect("the configuration is right");
    drop((files, json));
    let (seen, peak) = peak(|| {
        let mut source = OpenOptions::in_store(&store).open(&config).expect("the limit is enough");
        let mut seen = 0;
        while let Some(minibatch) = source.next_minibatch(64).expect("the data are right") {
            seen += minibatch.n_sequences();
        }
        seen
    });
    assert_eq!(seen, n);
    peak
}

#[test]
fn a_corpus_of_many_files_takes_memory_in_proportion_to_them() {
    let _alone = alone();
    for order in [r#""randomize": false"#, r#""randomize": true"#, r#""randomize": "global""#] {
        // Data that files have in common are stored once for any number of files.
        let peak = peak_of_files(8000, order);
        assert!(peak <= 8000 * 4096, "{order}: {peak} bytes at a time for 8,000 files");
    }
}

/// A prepared dataset with one shard of texts of these sizes.
fn texts(test: &str, sizes: impl Iterator<Item = usize>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    let class = |name: &str, content: &str| {
        format!(r#"{{"type": "tensorflow_datasets.core.features.{name}", "content": {content}}}"#)
    };
    let text = format!(r#"{{"text": {}}}"#, class("text_feature.Text", "{}"));
    let features = class("features_dict.FeaturesDict", &text);
    let features = features.parse().expect("it is JSON");
    let mut new = tesson_prepared::NewDataset::new("texts", tesson_tfds::info::Version([1, 0, 0]), features);
    new.splits = vec![tesson_prepared::NewSplit::new("train", Some(3))];
    let mut writer = DatasetWriter::open(&folder, new).expect("the folder can be written");
    for size in sizes {
        let text = vec![b'x'; size];
        let values = [("text", ExampleValue::Bytes(&[&text]))];
        writer.example("train", &values).expect("the folder can be written");
    }
    writer.finish().expect("the folder can be written")
}

#[test]
fn prepared_datasets_are_read_within_the_limit_whatever_their_shards() {
    let _alone = alone();
    let limit = 8 << 20;
    for (test, size, n) in [("memory-small", 100, 300_000), ("memory-large", 200_000, 300)] {
        let folder = texts(test, std::iter::repeat_n(size, n));
        for threads in [1, 2, 4] {
            let (seen, peak) = peak(|| {
                let dataset =
                    Arc::new(tesson_prepared::open(&Stores::local(), &folder).expect("the dataset is right"));
                let reading = tesson_tfds::reading::Reading::of(
                    tesson_tfds::split::Selection::parse("train").expect("it is a split"),
                );
                let plan = tesson_tfds::reading::Plan::new(&dataset, &reading, &mut || 1)
                    .expect("the dataset is right");
                let features =
                    tesson_prepared::features_of(&Stores::local(), &dataset).expect("the dataset is right");
                let schema = tesson_tfds::features::Schema::new(
                    &features,
                    &tesson_tfds::features::Selection::default(),
                );
                let schema = Arc::new(schema.expect("the dataset is right"));
                let means = ReaderLimits { threads, memory_limit: limit };
                let reader = Reader::with(&Stores::local(), dataset, plan, schema, OnDamage::Fail, means);
                let mut reader = reader.expect("the files are there");
                let mut rows = ExampleBatch::new(reader.schema());
                let mut seen = 0;
                loop {
                    rows.clear();
                    reader.read(4, &mut rows).expect("the data are right");
                    if rows.is_empty() {
                        return seen;
                    }
                    seen += rows.len();
                }
            });
            assert_eq!(seen, n);
            let limit = limit as usize;
            assert!(peak <= limit, "{test}, {threads} threads: {peak} bytes at a time, the limit is {limit}");
        }
    }
}
