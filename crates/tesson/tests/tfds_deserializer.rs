//! A split of a prepared dataset as a deserializer: in every order, joined, gone on with, and damaged.

use std::fs;
use std::path::{Path, PathBuf};

use tesson::tfds::info::rounded_lengths;
use tesson::{Error, Floats, Samples, Source, StreamBatch};
use tesson_formats::example::{Value, write};
use tesson_formats::tfrecord::write::Writer;

/// Examples of the split `train`.
const N: usize = 2500;
const SHARDS: usize = 3;

/// A dataset in a folder of its own, which goes with it.
struct Dataset(PathBuf);

impl Dataset {
    fn new(name: &str) -> Dataset {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tfds-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder of ours");
        let lengths = rounded_lengths(N as u64, SHARDS);
        let info = serde_json::json!({"name": "d", "version": "1.0.0", "fileFormat": "tfrecord",
            "splits": [{"name": "train", "shardLengths": lengths}]});
        fs::write(folder.join("dataset_info.json"), info.to_string()).expect("a file of ours");
        let class = |name: &str, content: &str| {
            format!(r#"{{"pythonClassName": "tensorflow_datasets.core.features.{name}", {content}}}"#)
        };
        let members = [
            format!(r#""id": {}"#, class("scalar.Scalar", r#""tensor": {"shape": {}, "dtype": "int64"}"#)),
            format!(
                r#""x": {}"#,
                class(
                    "tensor_feature.Tensor",
                    r#""tensor": {"shape": {"dimensions": ["2"]}, "dtype": "float32"}"#
                )
            ),
            format!(
                r#""label": {}"#,
                class("class_label_feature.ClassLabel", r#""classLabel": {"numClasses": "10"}"#)
            ),
            format!(r#""text": {}"#, class("text_feature.Text", r#""text": {}"#)),
        ];
        let features = class(
            "features_dict.FeaturesDict",
            &format!(r#""featuresDict": {{"features": {{{}}}}}"#, members.join(",")),
        );
        fs::write(folder.join("features.json"), features).expect("a file of ours");
        let mut id = 0;
        for (shard, len) in lengths.into_iter().enumerate() {
            let file = folder.join(format!("d-train.tfrecord-{shard:05}-of-{SHARDS:05}"));
            let mut writer = Writer::new(Vec::new());
            for _ in 0..len {
                writer.record(&example(id)).expect("memory takes it");
                id += 1;
            }
            fs::write(file, writer.finish().expect("memory takes it")).expect("a file of ours");
        }
        Dataset(folder)
    }

    fn source(&self, deserializer: &str, source: &str) -> Result<Source, Error> {
        let folder = serde_json::json!(self.0);
        let text = format!(
            r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {folder}, {deserializer}}}], {source}}}"#
        );
        Source::open(&tesson::config::from_json(&text)?)
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn example(id: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let x = [id as f32, 0.5];
    write(
        &[
            ("id", Value::Ints(&[id])),
            ("label", Value::Ints(&[id % 10])),
            ("text", Value::Bytes(&[b"some"])),
            ("x", Value::Floats(&x)),
        ],
        &mut bytes,
    );
    bytes
}

fn values(batch: &StreamBatch) -> Vec<f32> {
    match batch.samples() {
        Samples::Dense { values: Floats::F32(values) } => values.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The first value of `x` of every sample, which is the example's number.
fn ids(source: &mut Source, most: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    while ids.len() < most {
        let Some(minibatch) = source.next_minibatch(100).expect("the data are sound") else { break };
        let x = minibatch.stream("x").expect("it is a stream");
        ids.extend(values(x).chunks(2).map(|x| x[0] as u64));
    }
    ids
}

#[test]
fn features_of_numbers_are_streams() {
    let dataset = Dataset::new("streams");
    let input =
        r#""split": "train[2498:]", "input": {"y": {"feature": "label", "format": "sparse"}, "x": {}}"#;
    let mut source = dataset.source(input, r#""randomize": false, "maxSweeps": 1"#).unwrap();
    let minibatch = source.next_minibatch(10).unwrap().unwrap();
    assert_eq!(values(minibatch.stream("x").unwrap()), [2498.0, 0.5, 2499.0, 0.5]);
    let Samples::Sparse { indices, .. } = minibatch.stream("y").unwrap().samples() else { panic!("dense") };
    assert_eq!(&indices[..], [8, 9]);
    assert_eq!(minibatch.keys().get(0).to_string(), "2498");
    let source = dataset.source(r#""split": "train""#, r#""maxSweeps": 1"#).unwrap();
    let names: Vec<&str> = source.streams().iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["id", "x", "label"]);
}

#[test]
fn every_order_holds_each_example_once_and_is_gone_on_with() {
    let dataset = Dataset::new("orders");
    for order in ["false", "true", "\"global\""] {
        let with = format!(r#""randomize": {order}, "maxSweeps": 2, "randomizationWindow": 2"#);
        let open = || dataset.source(r#""split": "train""#, &with).unwrap();
        let all = ids(&mut open(), usize::MAX);
        let mut sorted = all[..N].to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..N as u64).collect::<Vec<_>>(), "{order}");
        let mut source = open();
        let first = ids(&mut source, 1300);
        let state = source.state().clone();
        let mut other = open();
        other.restore(&state).unwrap();
        assert_eq!(ids(&mut other, usize::MAX), all[first.len()..], "{order}");
    }
}

#[test]
fn it_is_joined_with_others_by_number() {
    let dataset = Dataset::new("joined");
    let rows: String = (0..N).rev().map(|id| format!("{id} |z {id}\n")).collect();
    let file = dataset.0.join("z.ctf");
    fs::write(&file, rows).unwrap();
    let folder = serde_json::json!(dataset.0);
    let text = format!(
        r#"{{"deserializers": [{{"type": "TFDSDeserializer", "directory": {folder}, "split": "train", "input": {{"x": {{}}}}}},
            {{"type": "CNTKTextFormatDeserializer", "file": {file:?}, "input": {{"z": {{"dim": 1, "format": "dense"}}}}}}],
            "maxSweeps": 1}}"#
    );
    let mut source = Source::open(&tesson::config::from_json(&text).unwrap()).unwrap();
    let mut n = 0;
    while let Some(minibatch) = source.next_minibatch(128).unwrap() {
        let (x, z) = (values(minibatch.stream("x").unwrap()), values(minibatch.stream("z").unwrap()));
        assert!(x.chunks(2).map(|x| x[0]).eq(z.iter().copied()));
        n += z.len();
    }
    assert_eq!(n, N);
}

#[test]
fn a_damaged_record_is_an_error_with_its_place_or_left_out() {
    let dataset = Dataset::new("damaged");
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
        let mut found = ids(&mut forgiving, usize::MAX);
        found.sort_unstable();
        assert_eq!(found, (0..N as u64).filter(|id| *id != 1).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_be_a_stream_is_refused_with_the_reason() {
    let dataset = Dataset::new("refused");
    let cases = [
        (
            r#""input": {"text": {}}"#,
            "deserializers[0].input: `text` is string of shape (); a stream needs numbers of a fixed shape outside of sequences",
        ),
        (
            r#""input": {"y": {"feature": "lable"}}"#,
            "deserializers[0].features: the dataset has no feature `lable`, did you mean `label`?",
        ),
        (r#""split": "tran""#, "deserializers[0].split: unknown split `tran`, did you mean `train`?"),
        (
            r#""input": {"id": {"format": "sparse"}}"#,
            "deserializers[0].input: the dataset does not say how many classes `id` has; set `dim`",
        ),
    ];
    for (deserializer, message) in cases {
        let error = dataset.source(deserializer, r#""maxSweeps": 1"#).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), Some(message));
    }
}
