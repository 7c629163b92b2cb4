//! Images of prepared datasets through transforms: nothing but seed, pass and example changes them.

// What tests share is not known as a test to clippy.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;
use tesson::Error;
use tesson::tfds::image_transforms;
use tesson_config::json;
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;
use tesson_prepared::{ExampleBatch, OnDamage, Reader, ReaderLimits, features_of, open};
use tesson_tfds::features::{DType, Data, Schema, Selection as Features, Shapes};
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::Selection;

use crate::dataset::{Dataset, bitmap, feature, record, tensor, text};

/// Examples of the datasets.
const N: u64 = 60;

fn image() -> serde_json::Value {
    let image = json!({"image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"}});
    feature("image_feature.Image", image)
}

/// Gray images of several sizes, of which this one is none.
fn dataset(name: &str, damaged: Option<u64>) -> Dataset {
    let file = |i: u64| match damaged {
        Some(bad) if bad == i => b"no picture".to_vec(),
        _ => bitmap(8 + i as usize % 5, 6, 40 + i as u8),
    };
    let example = |i: u64| {
        let values = [
            ("id", Value::Ints(&[i as i64])),
            ("image", Value::Bytes(&[&file(i)])),
            ("name", Value::Bytes(&[b"x"])),
        ];
        record(&values)
    };
    let features = json!({"id": tensor("int64", &[]), "image": image(), "name": text()});
    Dataset::of(name, features, &(0..N).map(example).collect::<Vec<_>>(), 3)
}

/// Every image another brightness in each pass.
fn random() -> serde_json::Value {
    json!([
        {"type": "Scale", "width": 2, "height": 3, "channels": 3},
        {"type": "Color", "brightnessRadius": 0.5},
    ])
}

struct Request {
    ops: Vec<serde_json::Value>,
    transforms: serde_json::Value,
    seed: u64,
    limits: ReaderLimits,
}

impl Request {
    fn new(ops: &[serde_json::Value]) -> Request {
        let limits = ReaderLimits { threads: 1, memory_limit: 1 << 30 };
        Request { ops: ops.to_vec(), transforms: random(), seed: 1, limits }
    }

    fn open(&self, of: &Dataset) -> Result<Reader, Error> {
        let dataset = Arc::new(open(&FileStore, &of.0)?);
        let features = features_of(&FileStore, &dataset)?;
        let given = json::parse(&json!({"image": self.transforms}).to_string())?;
        let transforms = image_transforms(&FileStore, &features, &given, self.seed)?;
        let selection = Features { features: None, raw: vec!["image".into()] };
        let schema = Arc::new(Schema::new(&features, &selection)?);
        let mut reading = Reading::of(Selection::parse("train")?);
        reading.ops = self.ops.iter().map(|op| Op::from_json(op, "ops")).collect::<Result<_, _>>()?;
        let plan = Plan::new(&dataset, &reading, &mut || 1)?;
        let reader = Reader::with(&FileStore, dataset, plan, schema, OnDamage::Fail, self.limits)?;
        Ok(reader.with_transforms(transforms)?)
    }
}

/// The column of images, after that of numbers and before that of names.
const IMAGE: usize = 1;

/// The values of each image.
fn values(rows: &ExampleBatch) -> Vec<Vec<u8>> {
    let Data::Fixed { bytes, size: 4 } = &rows.batch.columns[IMAGE].data else { panic!("32-bit floats") };
    assert!(rows.batch.columns.iter().all(|column| column.rows() == rows.len()));
    bytes.chunks(2 * 3 * 3 * 4).map(<[u8]>::to_vec).collect()
}

/// The rest of a traversal, so many at a time.
fn rest(reader: &mut Reader, at_once: usize) -> Vec<Vec<u8>> {
    let (mut rows, mut all) = (ExampleBatch::new(reader.schema()), Vec::new());
    loop {
        rows.clear();
        reader.read(at_once, &mut rows).unwrap();
        all.extend(values(&rows));
        if rows.len() < at_once {
            return all;
        }
    }
}

fn shuffled() -> serde_json::Value {
    json!({"shuffle": {"buffer_size": 20, "seed": 3}})
}

#[test]
fn threads_memory_and_sizes_of_requests_change_nothing() {
    let dataset = dataset("pictures-threads", None);
    for ops in [vec![], vec![shuffled(), json!({"repeat": 2}), json!({"skip": 17})]] {
        let expected = rest(&mut Request::new(&ops).open(&dataset).unwrap(), 1000);
        assert_eq!(expected.len() as u64, if ops.is_empty() { N } else { 2 * N - 17 });
        for (threads, memory_limit, at_once) in
            // The smallest has room for decoding an image, and for nothing beside it.
            [(2, 1 << 30, 7), (8, 1 << 30, 16), (3, 20_000, 25), (2, 400, 1)]
        {
            let limits = ReaderLimits { threads, memory_limit };
            let request = Request { limits, ..Request::new(&ops) };
            assert!(rest(&mut request.open(&dataset).unwrap(), at_once) == expected, "{limits:?}");
        }
    }
}

#[test]
fn a_reader_resumes_with_the_same_images() {
    let dataset = dataset("pictures-resume", None);
    let request = Request::new(&[shuffled(), json!({"repeat": 2})]);
    let all = rest(&mut request.open(&dataset).unwrap(), 1000);
    let mut reader = request.open(&dataset).unwrap();
    let mut rows = ExampleBatch::new(reader.schema());
    for given in (0..all.len()).step_by(13) {
        let mut other = request.open(&dataset).unwrap();
        other.restore(&reader.state()).unwrap();
        assert!(rest(&mut other, 9) == all[given..], "after {given}");
        reader.read(13, &mut rows).unwrap();
    }
}

#[test]
fn workers_have_the_images_of_one_alone() {
    let dataset = dataset("pictures-workers", None);
    for ops in [vec![], vec![shuffled(), json!({"repeat": 2})]] {
        let request = Request::new(&ops);
        let all = rest(&mut request.open(&dataset).unwrap(), 1000);
        for (workers, threads) in [(2, 1), (3, 4)] {
            let limits = ReaderLimits { threads, ..request.limits };
            let request = Request { limits, ..Request::new(&ops) };
            let share = |rank| {
                let mut reader = request.open(&dataset).unwrap();
                let (mut rows, mut found) = (ExampleBatch::new(reader.schema()), Vec::new());
                while reader.read_share(20, workers, rank, &mut rows).unwrap() > 0 {
                    found.push(values(&rows));
                    rows.clear();
                }
                found
            };
            let shares: Vec<_> = (0..workers).map(share).collect();
            for (number, batch) in all.chunks(20).enumerate() {
                for (i, expected) in batch.iter().enumerate() {
                    assert!(
                        shares[i % workers][number][i / workers] == *expected,
                        "{workers}, {number}, {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn passes_repeats_and_seeds_draw_anew() {
    let dataset = dataset("pictures-passes", None);
    let differ = |a: &[Vec<u8>], b: &[Vec<u8>]| {
        assert_eq!(a.len(), b.len());
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
        assert!(same < a.len() / 10, "{same} are the same");
    };
    let mut reader = Request::new(&[]).open(&dataset).unwrap();
    let first = rest(&mut reader, 10);
    reader.begin();
    differ(&first, &rest(&mut reader, 10));
    let twice = rest(&mut Request::new(&[json!({"repeat": 2})]).open(&dataset).unwrap(), 10);
    differ(&twice[..N as usize], &twice[N as usize..]);
    let other = Request { seed: 2, ..Request::new(&[]) };
    differ(&first, &rest(&mut other.open(&dataset).unwrap(), 10));
}

#[test]
fn the_order_of_the_examples_does_not_count() {
    let dataset = dataset("pictures-order", None);
    let mut in_order = rest(&mut Request::new(&[]).open(&dataset).unwrap(), 10);
    let mut shuffled = rest(&mut Request::new(&[shuffled()]).open(&dataset).unwrap(), 10);
    assert!(in_order != shuffled);
    in_order.sort();
    shuffled.sort();
    assert!(in_order == shuffled);
}

#[test]
fn images_have_the_type_and_shape_that_transforms_leave() {
    let dataset = dataset("pictures-shapes", None);
    let column = |transforms: serde_json::Value| {
        let request = Request { transforms, ..Request::new(&[]) };
        let mut reader = request.open(&dataset).unwrap();
        let mut rows = ExampleBatch::new(reader.schema());
        reader.read(6, &mut rows).unwrap();
        rows.batch.columns.remove(IMAGE)
    };
    let scaled = column(json!([{"type": "Scale", "width": 2, "height": 3, "channels": 3}]));
    assert_eq!((scaled.dtype, &scaled.shapes), (DType::UInt8, &Shapes::Same(vec![3, 2, 3])));
    let cut = column(
        json!([{"type": "Decode", "grayscale": true}, {"type": "Crop", "sideRatio": 0.5}, {"type": "Transpose"}]),
    );
    assert_eq!(cut.dtype, DType::UInt8);
    let Shapes::Each { dims, .. } = &cut.shapes else { panic!("sizes that differ") };
    assert_eq!(dims[..6], [1, 3, 3, 1, 3, 3]);
    let plain = column(json!([]));
    let Shapes::Each { dims, .. } = &plain.shapes else { panic!("sizes that differ") };
    assert_eq!(dims[..6], [6, 8, 3, 6, 9, 3]);
}

#[test]
fn an_image_that_cannot_be_transformed_is_met_in_its_place() {
    let damaged = dataset("pictures-damaged", Some(33));
    for threads in [1, 4] {
        let limits = ReaderLimits { threads, memory_limit: 1 << 30 };
        let mut reader = Request { limits, ..Request::new(&[]) }.open(&damaged).unwrap();
        let mut rows = ExampleBatch::new(reader.schema());
        let error = reader.read(50, &mut rows).unwrap_err().to_string();
        // 16 records of each of the three files in turns.
        assert_eq!(rows.len(), 16 + 13);
        assert!(rows.batch.columns.iter().all(|column| column.rows() == rows.len()));
        assert!(
            error.contains("feature `image`") && error.contains("expected a PNG, JPEG, GIF or BMP file"),
            "{error}"
        );
    }
    let whole = dataset("pictures-refused", None);
    let transforms = json!([{"type": "Scale", "width": 2, "height": 3, "channels": 1}]);
    let error = Request { transforms, ..Request::new(&[]) }.open(&whole).err().unwrap().to_string();
    assert!(error.starts_with("transforms.image"), "{error}");
}

#[test]
fn states_belong_to_their_transforms() {
    let dataset = dataset("pictures-states", None);
    let mut reader = Request::new(&[]).open(&dataset).unwrap();
    let state = reader.to_json(&reader.state());
    assert!(reader.restore_json(&state).is_ok());
    let mut other = Request { seed: 2, ..Request::new(&[]) }.open(&dataset).unwrap();
    let error = other.restore_json(&state).unwrap_err().to_string();
    assert!(error.contains("order"), "{error}");
}
