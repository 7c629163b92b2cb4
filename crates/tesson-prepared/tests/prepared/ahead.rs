//! Properties of readers of prepared datasets: threads, memory, the sizes of requests and the position of a resumed
//! reader change nothing; damage is met at its position.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;
use tesson_prepared::{
    DatasetWriter, ExampleBatch, NewDataset, NewSplit, OnDamage, Reader, ReaderLimits, features_of,
};
use tesson_tfds::features::{Schema, Selection as Features, node};
use tesson_tfds::info::{FileFormat, Version};
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::Selection;

use crate::dataset::{Dataset, bitmap, feature, record};

/// Examples of the datasets.
const N: i64 = 230;

/// ReaderLimits that differ in all that must not be seen.
const MEANS: [ReaderLimits; 5] = [
    ReaderLimits { threads: 1, memory_limit: 1 << 30 },
    ReaderLimits { threads: 2, memory_limit: 1 << 30 },
    ReaderLimits { threads: 8, memory_limit: 1 << 30 },
    ReaderLimits { threads: 3, memory_limit: 20_000 },
    ReaderLimits { threads: 2, memory_limit: 1 },
];

/// A dataset of examples with a number, a text of any length and a list; the 100th one is much larger than the others.
fn dataset(test: &str, file_format: FileFormat) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prepared-{test}-{file_format}"));
    let _ = fs::remove_dir_all(&folder);
    let class = |name: &str, content: serde_json::Value| json!({"type": format!("tensorflow_datasets.core.features.{name}"), "content": content});
    let tensor =
        |shape: serde_json::Value| class("tensor_feature.Tensor", json!({"shape": shape, "dtype": "int64"}));
    let features = json!({
        "id": tensor(json!([])), "text": class("text_feature.Text", json!({})), "list": tensor(json!([null])),
    });
    let mut new = NewDataset::new("some", Version([1, 0, 0]), class("features_dict.FeaturesDict", features));
    new.file_format = file_format;
    new.splits = vec![NewSplit::new("train", Some(7))];
    let mut writer = DatasetWriter::open(&folder, new).unwrap();
    for n in 0..N {
        let text = "some text ".repeat(if n == 100 { 20_000 } else { n as usize % 11 });
        let list: Vec<i64> = (0..n % 5).collect();
        let values = [
            ("id", Value::Ints(&[n])),
            ("text", Value::Bytes(&[text.as_bytes()])),
            ("list", Value::Ints(&list)),
        ];
        writer.example("train", &values).unwrap();
    }
    writer.finish().unwrap()
}

/// Orders of all kinds: in turns, shuffled, repeated, shared, one file after the other.
fn readings() -> Vec<Reading> {
    let of = |split: &str, ops: &[serde_json::Value], config: &[(&str, serde_json::Value)]| {
        let mut reading = Reading::of(Selection::parse(split).unwrap());
        reading.ops = ops.iter().map(|op| Op::from_json(op, "ops").unwrap()).collect();
        config.iter().for_each(|(name, value)| reading.config.set(name, value).unwrap());
        reading
    };
    let shuffle = json!({"shuffle": {"buffer_size": 20, "seed": 3}});
    vec![
        of("train", &[], &[]),
        of(
            "train[5%:80%]",
            &[],
            &[("interleave_cycle_length", json!(3)), ("interleave_block_length", json!(2))],
        ),
        of("train", &[shuffle, json!({"repeat": 2}), json!({"skip": 17})], &[]),
        of(
            "train",
            &[json!({"shard": {"num_shards": 3, "index": 1}})],
            &[("interleave_cycle_length", json!(1))],
        ),
    ]
}

fn open(folder: &Path, reading: &Reading, on_damage: OnDamage, means: ReaderLimits) -> Reader {
    let dataset = Arc::new(tesson_prepared::open(&FileStore, folder).unwrap());
    let features = features_of(&FileStore, &dataset).unwrap();
    let schema = Arc::new(Schema::new(&features, &Features::default()).unwrap());
    let plan = Plan::new(&dataset, reading, &mut || 1).unwrap();
    Reader::with(&FileStore, dataset, plan, schema, on_damage, means).unwrap()
}

/// Examples with their ids.
fn shown(reader: &Reader, rows: &ExampleBatch) -> Vec<String> {
    let example = |row| node(&rows.batch.value(reader.schema(), row)).to_string();
    (0..rows.len()).map(|row| format!("{} {}", reader.id(rows, row), example(row))).collect()
}

/// The rest of a traversal, so many examples at a time, and what it ends with.
fn rest(reader: &mut Reader, at_once: usize) -> (Vec<String>, Option<String>) {
    let mut rows = ExampleBatch::new(reader.schema());
    let mut all = Vec::new();
    loop {
        rows.clear();
        let failed = reader.read(at_once, &mut rows).err();
        all.extend(shown(reader, &rows));
        if failed.is_some() || rows.len() < at_once {
            return (all, failed.map(|e| e.to_string()));
        }
    }
}

#[test]
fn threads_memory_and_sizes_of_requests_change_nothing() {
    for format in [FileFormat::TfRecord, FileFormat::ArrayRecord] {
        let folder = dataset("means", format);
        for reading in readings() {
            let mut plain = open(&folder, &reading, OnDamage::Fail, MEANS[0]);
            let first = rest(&mut plain, 1);
            plain.begin();
            let second = rest(&mut plain, 1);
            assert!(first.0.len() >= 70 && first.1.is_none(), "{} examples, {:?}", first.0.len(), first.1);
            for means in MEANS {
                for at_once in [1, 7, 64, 10_000] {
                    let mut reader = open(&folder, &reading, OnDamage::Fail, means);
                    assert!(rest(&mut reader, at_once) == first, "{means:?}, {at_once} at once");
                    assert_eq!(reader.state().delivered, first.0.len() as u64);
                    reader.begin();
                    assert!(
                        rest(&mut reader, at_once) == second,
                        "{means:?}, {at_once} at once, the second pass"
                    );
                }
            }
        }
    }
}

#[test]
fn every_place_is_gone_on_from() {
    let folder = dataset("places", FileFormat::TfRecord);
    for reading in readings() {
        let (all, _) = rest(&mut open(&folder, &reading, OnDamage::Fail, MEANS[0]), 64);
        let mut reader = open(&folder, &reading, OnDamage::Fail, MEANS[1]);
        let mut other = open(&folder, &reading, OnDamage::Fail, MEANS[3]);
        let mut rows = ExampleBatch::new(reader.schema());
        for at in (0..all.len()).step_by(3) {
            assert_eq!(reader.state().delivered, at as u64);
            other.restore(&reader.state()).unwrap();
            // A few examples are enough: what is behind them was restored from, or will be.
            let mut some = ExampleBatch::new(other.schema());
            other.read(20, &mut some).unwrap();
            for row in 0..some.len() {
                assert!(all[at + row].starts_with(&format!("{} ", other.id(&some, row))), "behind {at}");
            }
            rows.clear();
            reader.read(3, &mut rows).unwrap();
        }
        // One that has read ahead and is abandoned begins the next pass where one does that has not.
        let mut plain = open(&folder, &reading, OnDamage::Fail, MEANS[0]);
        for reader in [&mut reader, &mut plain] {
            reader.restore(&other.state()).unwrap();
            rows.clear();
            reader.read(1, &mut rows).unwrap();
            reader.begin();
        }
        assert_eq!(reader.state(), plain.state());
        assert!(rest(&mut reader, 50) == rest(&mut plain, 50));
    }
}

#[test]
fn workers_share_what_one_reads() {
    let folder = dataset("workers", FileFormat::TfRecord);
    let reading = &readings()[2];
    let (all, _) = rest(&mut open(&folder, reading, OnDamage::Fail, MEANS[0]), 64);
    let mut ranks = [0, 1, 2].map(|_| open(&folder, reading, OnDamage::Fail, MEANS[1]));
    let mut found = vec![String::new(); 90];
    for minibatch in 0..9 {
        for (rank, reader) in ranks.iter_mut().enumerate() {
            let mut rows = ExampleBatch::new(reader.schema());
            assert_eq!(reader.read_share(10, 3, rank, &mut rows).unwrap(), 10);
            for row in 0..rows.len() {
                found[minibatch * 10 + rank + row * 3] = reader.id(&rows, row);
            }
        }
    }
    // From there one alone, which has threads.
    let (behind, _) = rest(&mut ranks[1], 25);
    assert!(found.iter().zip(&all).all(|(id, example)| example.starts_with(&format!("{id} "))));
    assert!(behind == all[90..]);
}

#[test]
fn threads_change_nothing_of_shares_and_places() {
    let image = feature(
        "image_feature.Image",
        json!({"image": {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8"}}),
    );
    let sized = |i: i64| bitmap(20, if i == 100 { 900 } else { 16 }, i as u8);
    let examples: Vec<Vec<u8>> = (0..N).map(|i| record(&[("image", Value::Bytes(&[&sized(i)]))])).collect();
    let dataset = Dataset::of("apart", json!({"image": image}), &examples, 3);
    let folder = &dataset.0;
    let shard = folder.join("d-train.tfrecord-00001-of-00003");
    let mut bytes = fs::read(&shard).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 0x10;
    fs::write(&shard, bytes).unwrap();
    let mut reading = readings().swap_remove(0);
    reading.ops = vec![Op::from_json(&json!({"repeat": 8}), "ops").unwrap()];
    let all = |means, on_damage| {
        let mut reader = open(folder, &reading, on_damage, means);
        let (mut rows, mut found) = (ExampleBatch::new(reader.schema()), Vec::new());
        // Calls of so many examples that threads are woken for them; places in no order, some of them again and again.
        let places: Vec<u64> = (0..900).map(|i| i * 101 % N as u64).collect();
        for _ in 0..3 {
            rows.clear();
            let failed = reader.read_share(920, 2, 1, &mut rows).map_err(|e| e.to_string());
            found.push((shown(&reader, &rows), failed.map(|n| n.to_string()), reader.state()));
            rows.clear();
            let failed = reader.read_at(&places, &mut rows).map_err(|e| e.to_string());
            found.push((shown(&reader, &rows), failed.map(|()| String::new()), reader.state()));
        }
        (found, reader.skipped())
    };
    for on_damage in [OnDamage::Skip, OnDamage::Fail] {
        let expected = all(MEANS[0], on_damage);
        assert!(expected.0.iter().any(|(_, failed, _)| failed.is_err()));
        for means in &MEANS[1..] {
            assert!(all(*means, on_damage) == expected, "{on_damage:?}, {means:?}");
        }
    }
}

/// How a dataset is read of which one byte of a shard is changed, or the last bytes are cut off.
fn damaged(test: &str, damage: impl Fn(&mut Vec<u8>)) {
    let folder = dataset(test, FileFormat::TfRecord);
    let shard = folder.join("some-train.tfrecord-00003-of-00007");
    let mut bytes = fs::read(&shard).unwrap();
    damage(&mut bytes);
    fs::write(&shard, bytes).unwrap();
    // The last one is a share that need not hold the damaged record.
    for reading in &readings()[..3] {
        for on_damage in [OnDamage::Fail, OnDamage::Skip, OnDamage::StopShard] {
            // Files do not end below a shuffle of examples.
            if on_damage == OnDamage::StopShard && !reading.ops.is_empty() {
                continue;
            }
            let mut plain = open(&folder, reading, on_damage, MEANS[0]);
            let expected = rest(&mut plain, 1);
            assert_eq!(expected.1.is_some(), on_damage == OnDamage::Fail, "{:?}", expected.1);
            for means in MEANS {
                for at_once in [3, 100] {
                    let mut reader = open(&folder, reading, on_damage, means);
                    assert!(
                        rest(&mut reader, at_once) == expected,
                        "{on_damage:?}, {means:?}, {at_once} at once"
                    );
                    assert_eq!(reader.skipped(), plain.skipped());
                    assert_eq!(reader.state(), plain.state());
                }
            }
        }
    }
}

#[test]
fn a_damaged_record_is_met_at_its_place() {
    // Neither the first record nor the last one of its shard, and one that all orders read.
    damaged("flipped", |bytes| {
        let at = bytes.len() / 2;
        bytes[at] ^= 0x10;
    });
}

#[test]
fn shares_of_damaged_files_add_up() {
    let folder = dataset("shared", FileFormat::TfRecord);
    let shard = folder.join("some-train.tfrecord-00003-of-00007");
    let mut bytes = fs::read(&shard).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 0x10;
    fs::write(&shard, bytes).unwrap();
    let reading = &readings()[0];
    let mut plain = open(&folder, reading, OnDamage::Skip, MEANS[0]);
    let (mut expected, _) = rest(&mut plain, 64);
    let (mut found, mut skipped, mut lengths) = (Vec::new(), 0, Vec::new());
    for rank in 0..3 {
        let mut reader = open(&folder, reading, OnDamage::Skip, MEANS[1]);
        let mut rows = ExampleBatch::new(reader.schema());
        let mut length = 0;
        while reader.read_share(10, 3, rank, &mut rows).unwrap() > 0 {
            length += rows.len();
            found.extend(shown(&reader, &rows));
            rows.clear();
        }
        skipped += reader.skipped();
        lengths.push(length);
        assert_eq!(reader.state(), plain.state());
    }
    expected.sort();
    found.sort();
    assert!(found == expected, "{lengths:?}");
    assert_eq!((skipped, plain.skipped()), (1, 1));
    let mut stops = open(&folder, reading, OnDamage::StopShard, MEANS[0]);
    let mut rows = ExampleBatch::new(stops.schema());
    assert!(stops.read_share(10, 3, 0, &mut rows).unwrap_err().to_string().contains("stop_shard"));
}

#[test]
fn a_reader_that_goes_away_ends_its_threads() {
    let folder = dataset("away", FileFormat::TfRecord);
    let mut reader = open(&folder, &readings()[0], OnDamage::Fail, MEANS[2]);
    let mut rows = ExampleBatch::new(reader.schema());
    reader.read(3, &mut rows).unwrap();
    reader.read(3, &mut rows).unwrap();
    let weak = Arc::downgrade(reader.schema());
    drop((reader, rows));
    // Each of its threads has a decoder, and so the schema.
    assert!(weak.upgrade().is_none());
}
