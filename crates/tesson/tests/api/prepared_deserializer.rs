//! A split of a prepared dataset as a deserializer: in every order, joined, resumed, and damaged.

// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

use std::fs;

use tesson::{Error, Samples, Source};
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;

use crate::dataset::{Dataset, bitmap, feature, record, tensor, text};
use crate::kit::{self, columns, dense, keys, read_all, refusal, sequences};

/// Examples of the split `train`.
const N: usize = 2500;
const SHARDS: usize = 3;

fn label(classes: u64) -> serde_json::Value {
    let content = serde_json::json!({"classLabel": {"numClasses": classes.to_string()}});
    feature("class_label_feature.ClassLabel", content)
}

fn sequence(of: serde_json::Value) -> serde_json::Value {
    feature("sequence_feature.Sequence", serde_json::json!({"sequence": {"feature": of, "length": "-1"}}))
}

impl Dataset {
    fn numbered(name: &str) -> Dataset {
        let features = serde_json::json!({
            "id": tensor("int64", &[]), "x": tensor("float32", &[2]), "label": label(10), "text": text(),
        });
        Dataset::of(name, features, &(0..N as i64).map(example).collect::<Vec<_>>(), SHARDS)
    }

    fn source(&self, deserializer: &str, source: &str) -> Result<Source, Error> {
        let folder = serde_json::json!(self.0);
        let text = format!(
            r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {folder}, {deserializer}}}], {source}}}"#
        );
        kit::open(&FileStore, &text)
    }
}

fn example(id: i64) -> Vec<u8> {
    record(&[
        ("id", Value::Ints(&[id])),
        ("label", Value::Ints(&[id % 10])),
        ("text", Value::Bytes(&[b"some"])),
        ("x", Value::Floats(&[id as f32, 0.5])),
    ])
}

/// The first value of `x` of every sample, which is the example's number.
fn ids(source: &mut Source) -> Vec<u64> {
    let firsts = |values: Vec<f64>| values.into_iter().step_by(2).map(|x| x as u64).collect::<Vec<_>>();
    read_all(source, 100, |minibatch| firsts(dense(minibatch, "x"))).expect("the data are sound").concat()
}

#[test]
fn features_of_numbers_are_streams() {
    let dataset = Dataset::numbered("streams");
    let input =
        r#""split": "train[2498:]", "input": {"y": {"feature": "label", "format": "sparse"}, "x": {}}"#;
    let mut source = dataset.source(input, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let minibatch = source.next_minibatch(10).unwrap().unwrap();
    assert_eq!(dense(&minibatch, "x"), [2498.0, 0.5, 2499.0, 0.5]);
    assert_eq!(columns(&minibatch, "y"), [8, 9]);
    assert_eq!(minibatch.keys().get(0).to_string(), "2498");
    let source = dataset.source(r#""split": "train""#, r#""maxSweeps": 1"#).unwrap();
    let names: Vec<&str> = source.streams().iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["id", "x", "label"]);
}

#[test]
fn every_order_holds_each_example_once() {
    let dataset = Dataset::numbered("orders");
    for order in ["false", "true", "\"global\""] {
        let with = format!(r#""randomize": {order}, "maxSweeps": 2, "randomizationWindow": 2"#);
        let mut first = ids(&mut dataset.source(r#""split": "train""#, &with).unwrap());
        first.truncate(N);
        first.sort_unstable();
        assert_eq!(first, (0..N as u64).collect::<Vec<_>>(), "{order}");
    }
}

#[test]
fn it_is_joined_with_others_by_number() {
    let dataset = Dataset::numbered("joined");
    let rows: String = (0..N).rev().map(|id| format!("{id} |z {id}\n")).collect();
    let file = dataset.0.join("z.ctf");
    fs::write(&file, rows).unwrap();
    let folder = serde_json::json!(dataset.0);
    let text = format!(
        r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {folder}, "split": "train", "input": {{"x": {{}}}}}},
            {{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "input": {{"z": {{"dim": 1, "format": "dense"}}}}}}],
            "maxSweeps": 1}}"#
    );
    let mut source = kit::open(&FileStore, &text).unwrap();
    let mut n = 0;
    while let Some(minibatch) = source.next_minibatch(128).unwrap() {
        let (x, z) = (dense(&minibatch, "x"), dense(&minibatch, "z"));
        assert!(x.chunks(2).map(|x| x[0]).eq(z.iter().copied()));
        n += z.len();
    }
    assert_eq!(n, N);
}

#[test]
fn a_damaged_record_is_an_error_with_its_place_or_left_out() {
    let dataset = Dataset::numbered("damaged");
    let file = dataset.0.join("d-train.tfrecord-00000-of-00003");
    let mut bytes = fs::read(&file).unwrap();
    let at = 16 + example(0).len() + 12 + 5;
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let order = r#""randomize": false, "maxSweeps": 1"#;
    let mut strict = dataset.source(r#""split": "train""#, order).unwrap();
    let error = strict.next_minibatch(10).unwrap_err().to_string();
    assert!(
        error.contains("d-train.tfrecord-00000-of-00003") && error.contains("record 1: corrupted"),
        "{error}"
    );
    for order in [order, r#""randomize": "global", "maxSweeps": 1"#] {
        let mut forgiving = dataset.source(r#""split": "train", "maxErrors": 1"#, order).unwrap();
        let mut found = ids(&mut forgiving);
        found.sort_unstable();
        assert_eq!(found, (0..N as u64).filter(|id| *id != 1).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_be_a_stream_is_refused_with_the_reason() {
    let dataset = Dataset::numbered("refused");
    let cases = [
        (
            r#""input": {"text": {}}"#,
            "deserializers[0].input.text: `text` is string of shape (); a stream needs numbers",
        ),
        (
            r#""input": {"y": {"feature": "lable"}}"#,
            "deserializers[0].features: the dataset has no feature `lable`, did you mean `label`?",
        ),
        (
            r#""split": "tran""#,
            "deserializers[0].split: unknown split `tran`, expected one of train; did you mean `train`?",
        ),
        (
            r#""input": {"x": {"shape": 3}}"#,
            "deserializers[0].input.x: `x` has the shape (2), which (3) is not",
        ),
        (
            r#""input": {"x": {"shape": "2:no"}}"#,
            "deserializers[0].input.x.shape: found `no`, expected a number",
        ),
        (
            r#""key": "x""#,
            "deserializers[0].key: `x` is float32 of shape (2); a key is one whole number or one text",
        ),
        (
            r#""input": {"id": {"format": "sparse"}}"#,
            "deserializers[0].input.id: the dataset does not declare how many classes `id` has; set `dim`",
        ),
    ];
    for (deserializer, message) in cases {
        assert_eq!(refusal(dataset.source(deserializer, r#""maxSweeps": 1"#)), message);
    }
}

/// Examples with sequences of 0 to 4 scalars, of 1 to 3 pairs, and of so many classes.
fn of_any_length(name: &str) -> Dataset {
    let features = serde_json::json!({
        "name": text(), "steps": sequence(tensor("float32", &[])), "pairs": tensor("int64", &[-1, 2]),
        "tags": sequence(label(5)),
    });
    let one = |i: i64| {
        let steps: Vec<f32> = (0..i % 5).map(|t| (100 * i + t) as f32).collect();
        let pairs: Vec<i64> = (0..2 * (1 + i % 3)).map(|t| 10 * i + t).collect();
        let tags: Vec<i64> = (0..i % 5).map(|t| (i + t) % 6 - 1).collect();
        let name = format!("n{}", N as i64 - i);
        record(&[
            ("name", Value::Bytes(&[name.as_bytes()])),
            ("pairs", Value::Ints(&pairs)),
            ("steps", Value::Floats(&steps)),
            ("tags", Value::Ints(&tags)),
        ])
    };
    Dataset::of(name, features, &(0..N as i64).map(one).collect::<Vec<_>>(), SHARDS)
}

const SEQUENCES: &str =
    r#""input": {"steps": {}, "pairs": {}, "tags": {"format": "sparse"}}, "split": "train""#;

#[test]
fn features_of_any_length_are_sequences() {
    let dataset = of_any_length("sequences");
    let order = r#""randomize": false, "maxSweeps": 1"#;
    let mut source = dataset.source(SEQUENCES, order).unwrap();
    // Each counts its longest stream: 1, 2, 3, 3, 4.
    let minibatch = source.next_minibatch(13).unwrap().unwrap();
    let lengths = |name: &str| minibatch.stream(name).unwrap().lengths().to_vec();
    assert_eq!(lengths("steps"), [0, 1, 2, 3, 4]);
    assert_eq!(lengths("pairs"), [1, 2, 3, 1, 2]);
    assert_eq!(
        dense(&minibatch, "steps"),
        [100.0, 200.0, 201.0, 300.0, 301.0, 302.0, 400.0, 401.0, 402.0, 403.0]
    );
    assert_eq!(dense(&minibatch, "pairs")[..6], [0.0, 1.0, 10.0, 11.0, 12.0, 13.0]);
    let Samples::Sparse { indptr, indices, .. } = minibatch.stream("tags").unwrap().samples() else {
        panic!("dense")
    };
    // Example 1 has class 0, example 2 classes 1 and 2, and so on; -1 is none.
    assert_eq!(&indices[..], [0, 1, 2, 2, 3, 4, 3, 4, 0]);
    assert_eq!(&indptr[..], [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9]);
    let all = dataset.source(r#""split": "train""#, order).unwrap();
    let names: Vec<&str> = all.streams().iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["steps", "pairs", "tags"]);
}

/// The first value of `pairs` of every sequence, which is ten times the example's number.
fn numbers(source: &mut Source) -> Vec<u64> {
    let first = |pairs: Vec<f64>| pairs[0] as u64 / 10;
    let numbers = read_all(source, 64, |m| sequences(m, "pairs").into_iter().map(first).collect::<Vec<_>>());
    numbers.expect("the data are sound").concat()
}

#[test]
fn counted_lengths_are_kept_if_that_is_asked_for() {
    let dataset = of_any_length("kept-lengths");
    let kept = || {
        let files = fs::read_dir(&dataset.0).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "tesson-index")).collect::<Vec<_>>()
    };
    let open = |streams: &str| {
        let cached = format!(r#"{streams}, "cacheIndex": true"#);
        let mut source = dataset.source(&cached, r#""randomize": false, "maxSweeps": 1"#).unwrap();
        (source.stats().bytes_indexed, numbers(&mut source))
    };
    let all: Vec<u64> = (0..N as u64).collect();
    let (counted, found) = open(SEQUENCES);
    assert!(counted > 0 && found == all);
    let [file] = &kept()[..] else { panic!("one file") };
    assert_eq!(open(SEQUENCES), (0, all.clone()));
    // Each set of streams has its own, and one that does not fit is made anew.
    let others = r#""input": {"pairs": {}}, "split": "train[10%:]""#;
    assert!(open(others).0 > 0 && open(others).0 == 0 && kept().len() == 2);
    let whole = fs::read(file).unwrap();
    for bad in [&whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
        fs::write(file, bad).unwrap();
        assert_eq!(open(SEQUENCES), (counted, all.clone()));
    }
    // Where all examples are as long nothing is counted, and nothing kept.
    let same = Dataset::numbered("kept-nothing");
    let source = same.source(r#""input": {"x": {}}, "cacheIndex": true"#, r#""maxSweeps": 1"#).unwrap();
    assert_eq!(source.stats().bytes_indexed, 0);
    let names = fs::read_dir(&same.0).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().contains("index")).count(), 0);
}

#[test]
fn examples_are_joined_by_a_feature() {
    let dataset = of_any_length("joined-by-key");
    // Names count backwards; some are missing in the other file.
    let rows: String = (1..=N).filter(|n| n % 3 > 0).map(|n| format!("n{n} |z {n}\n")).collect();
    let file = dataset.0.join("z.ctf");
    fs::write(&file, rows).unwrap();
    let folder = serde_json::json!(dataset.0);
    let text = format!(
        r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {folder}, "key": "name", {SEQUENCES}}},
            {{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "input": {{"z": {{"dim": 1, "format": "dense"}}}}}}],
            "useNumericSequenceKeys": false, "maxSweeps": 1, "randomize": false}}"#
    );
    let mut source = kit::open(&FileStore, &text).unwrap();
    let minibatch = source.next_minibatch(8).unwrap().unwrap();
    assert_eq!(dense(&minibatch, "z"), [2500.0, 2498.0, 2497.0]);
    assert_eq!(minibatch.keys().get(1).to_string(), "n2498");
    let rest = numbers(&mut source);
    assert_eq!(rest.len() + 3, (1..=N).filter(|n| n % 3 > 0).count());
    let keyed = format!(r#""key": "name", {SEQUENCES}"#);
    let mut source = dataset.source(&keyed, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let error = source.next_minibatch(8).unwrap_err().to_string();
    assert!(error.contains("the key is `n2500`, expected a number from 0"), "{error}");
}

#[test]
fn images_of_one_shape_are_samples_and_others_are_named() {
    let image = feature(
        "image_feature.Image",
        serde_json::json!({"image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"}}),
    );
    let sized = |i: u8| if i == 7 { bitmap(5, 4, i) } else { bitmap(3, 2, i) };
    let examples: Vec<Vec<u8>> = (0..12).map(|i| record(&[("image", Value::Bytes(&[&sized(i)]))])).collect();
    let dataset = Dataset::of("pictures", serde_json::json!({"image": image}), &examples, SHARDS);
    let open = |shape: &str, errors: u64| {
        let input = format!(r#""input": {{"image": {{{shape}}}}}, "maxErrors": {errors}"#);
        dataset.source(&input, r#""randomize": false, "maxSweeps": 1"#)
    };
    let error = refusal(open("", 0));
    assert!(error.contains("(?, ?, 3)") && error.contains("`shape = 28:28:3`"), "{error}");
    let mut source = open(r#""shape": [2, 3, 3]"#, 0).unwrap();
    let minibatch = source.next_minibatch(7).unwrap().unwrap();
    let pixels = dense(&minibatch, "image");
    assert_eq!((pixels.len(), pixels[18]), (7 * 18, 1.0));
    let error = source.next_minibatch(7).unwrap_err().to_string();
    for part in ["(4, 5, 3)", "(2, 3, 3)", "d-train.tfrecord-00001-of-00003__3", "maxErrors", "prepare"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let mut source = open(r#""shape": [2, 3, 3]"#, 1).unwrap();
    let pixels = dense(&source.next_minibatch(12).unwrap().unwrap(), "image");
    assert_eq!(pixels.len(), 11 * 18);
}

#[test]
fn an_example_that_cannot_be_decoded_is_left_out_of_sequences() {
    let features = serde_json::json!({"steps": sequence(tensor("float32", &[])), "id": tensor("int64", &[])});
    let one = |i: i64| match i {
        // No id, a list of another kind, no example at all.
        5 => record(&[("steps", Value::Floats(&[0.0; 4]))]),
        6 => record(&[("id", Value::Ints(&[6])), ("steps", Value::Ints(&[1, 2]))]),
        7 => vec![0xff; 3],
        _ => record(&[("id", Value::Ints(&[i])), ("steps", Value::Floats(&[i as f32; 2]))]),
    };
    let dataset = Dataset::of("left-out", features, &(0..12).map(one).collect::<Vec<_>>(), SHARDS);
    let deserializer = r#""input": {"steps": {}, "id": {}}, "key": "id", "maxErrors": 3"#;
    for order in ["false", "\"global\""] {
        let order = format!(r#""randomize": {order}, "maxSweeps": 1"#);
        let mut source = dataset.source(deserializer, &order).unwrap();
        let mut keys = read_all(&mut source, 8, keys).unwrap().concat();
        keys.sort_by_key(|key| key.parse::<u64>().unwrap());
        assert_eq!(keys, ["0", "1", "2", "3", "4", "8", "9", "10", "11"]);
    }
    let mut strict =
        dataset.source(&deserializer.replace('3', "2"), r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let error = (0..9).find_map(|_| strict.next_minibatch(8).err()).expect("three are too many").to_string();
    assert!(error.contains("d-train.tfrecord-00001-of-00003__3"), "{error}");
}

/// Says that the shards of a dataset hold these numbers of records.
fn say(dataset: &Dataset, lengths: [usize; SHARDS]) {
    let path = dataset.0.join("dataset_info.json");
    let mut info: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    info["splits"][0]["shardLengths"] = serde_json::json!(lengths);
    fs::write(path, info.to_string()).unwrap();
}

/// The error of reading, and the number of examples before it. Minibatches hold one example: nothing is lost with
/// another one.
fn until_an_error(dataset: &Dataset, deserializer: &str, order: &str) -> (usize, String) {
    let mut source =
        dataset.source(deserializer, &format!(r#""randomize": {order}, "maxSweeps": 1"#)).unwrap();
    let mut n = 0;
    loop {
        match source.next_minibatch(1) {
            Ok(Some(_)) => n += 1,
            Ok(None) => return (n, "no error".into()),
            Err(e) => return (n, e.to_string()),
        }
    }
}

#[test]
fn shards_with_more_or_fewer_records_than_declared_are_errors() {
    let dataset = Dataset::numbered("miscounted");
    // The shards hold 833, 834 and 833 records.
    for (said, shard, found) in
        [([833, 833, 833], 1, 834), ([833, 834, 700], 2, 833), ([833, 834, 834], 2, 833)]
    {
        say(&dataset, said);
        let expected =
            format!("found {found} records in the shard, expected {} as dataset_info.json says", said[shard]);
        let file = format!("d-train.tfrecord-0000{shard}-of-00003");
        let before: usize = said[..shard].iter().sum();
        for split in ["train", "train[50%:]"] {
            for budget in [0, 1000] {
                // Missing records are faults like others, which may be forgiven; surplus ones would be lost unseen.
                if budget > 0 && found < said[shard] {
                    continue;
                }
                let deserializer = format!(r#""split": "{split}", "maxErrors": {budget}"#);
                let (n, error) = until_an_error(&dataset, &deserializer, "false");
                assert!(error.contains(&expected) && error.contains(&file), "{error}");
                if split == "train" {
                    assert_eq!(n, before + said[shard] - 1, "{error}");
                }
                for order in ["true", "\"global\""] {
                    let (_, error) = until_an_error(&dataset, &deserializer, order);
                    assert!(error.contains(&expected) && error.contains(&file), "{order}: {error}");
                }
            }
        }
    }
    // What is read of a shard that is not read to its end is not in doubt.
    say(&dataset, [833, 834, 700]);
    let (n, error) = until_an_error(&dataset, r#""split": "train[:2000]""#, "false");
    assert_eq!((n, &*error), (2000, "no error"));
    let forgiven = r#""split": "train", "maxErrors": 1"#;
    say(&dataset, [833, 834, 834]);
    // The forgiven record is the last: its minibatch is empty and ends the sweep.
    assert_eq!(until_an_error(&dataset, forgiven, "false"), (N + 1, "no error".into()));
}

#[test]
fn less_than_a_record_after_the_last_one_is_the_end_and_more_is_not() {
    let dataset = Dataset::numbered("tails");
    let file = dataset.0.join("d-train.tfrecord-00001-of-00003");
    let whole = fs::read(&file).unwrap();
    for (tail, ends) in [(0, true), (11, true), (12, false), (100, false)] {
        fs::write(&file, [&whole[..], &vec![7; tail]].concat()).unwrap();
        let (n, error) = until_an_error(&dataset, r#""split": "train""#, "false");
        assert_eq!(n == N, ends, "{tail}: {error}");
        assert_eq!(error.contains("found 834 records and damage after them"), !ends, "{tail}: {error}");
    }
}
