//! States of readers, on other machines and in later versions, and files that end early.

use std::fs;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tesson_convert::records::{RecordKind, RecordsFile};
use tesson_core::Error;
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;
use tesson_plan::StreamState;
use tesson_prepared::{ExampleBatch, OnDamage, Reader, Restoring, features_of, find, open};
use tesson_tfds::features::{Data, Schema, Selection};
use tesson_tfds::read_config::ReadConfig;
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split;

use crate::dataset::{Dataset, record, tensor};

const N: i64 = 40;
const SHARDS: usize = 4;

/// Forty examples in four files, each with its number.
fn numbered(name: &str) -> Dataset {
    let examples: Vec<Vec<u8>> = (0..N).map(|i| record(&[("i", Value::Ints(&[i]))])).collect();
    Dataset::of(name, json!({"i": tensor("int64", &[])}), &examples, SHARDS)
}

/// Files shuffled, two at a time by three examples; and what is done with the examples.
fn reading(ops: &[Json]) -> Reading {
    let mut config = ReadConfig::default();
    for (name, value) in
        [("interleave_cycle_length", 2), ("interleave_block_length", 3), ("shuffle_seed", 32)]
    {
        config.set(name, &json!(value)).unwrap();
    }
    let ops = ops.iter().map(|op| Op::from_json(op, "ops").unwrap()).collect();
    Reading { shuffle_files: true, config, ops, ..Reading::of(split::Selection::parse("train").unwrap()) }
}

fn reader(dataset: &Dataset, ops: &[Json], on_damage: OnDamage) -> Result<Reader, Error> {
    let dataset = Arc::new(open(&FileStore, &dataset.0)?);
    let plan = Plan::new(&dataset, &reading(ops), &mut || 7)?;
    let schema = Arc::new(Schema::new(&features_of(&FileStore, &dataset)?, &Selection::default())?);
    Reader::new(&FileStore, dataset, plan, schema, on_damage)
}

/// The numbers of the next examples, and what ended them before there were so many.
fn read(reader: &mut Reader, n: usize) -> (Vec<i64>, Option<Error>) {
    let mut rows = ExampleBatch::new(reader.schema());
    let failed = reader.read(n, &mut rows).err();
    let Data::Fixed { bytes, .. } = &rows.batch.columns[0].data else { panic!("strings") };
    (bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect(), failed)
}

const SHUFFLED: [&str; 2] = [r#"{"shuffle": {"buffer_size": 9, "seed": 3}}"#, r#"{"repeat": 2}"#];

fn shuffled() -> Vec<Json> {
    SHUFFLED.iter().map(|op| serde_json::from_str(op).unwrap()).collect()
}

#[test]
fn a_reader_that_is_cancelled_from_another_thread_reads_no_further() {
    let dataset = numbered("cancelled");
    let mut reader = reader(&dataset, &shuffled(), OnDamage::Fail).expect("the dataset is right");
    assert_eq!(read(&mut reader, 5).0.len(), 5);
    let canceller = reader.canceller();
    std::thread::spawn(move || canceller.cancel()).join().expect("it does not panic");
    let (examples, error) = read(&mut reader, 5);
    assert!(examples.is_empty() && matches!(error, Some(Error::Cancelled)), "{error:?}");
}

/// States that were saved by a version are taken by all later ones. These were saved after 55 examples.
#[test]
fn states_of_every_version_are_resumed_from() {
    let dataset = numbered("compat");
    let straight = read(&mut reader(&dataset, &shuffled(), OnDamage::Fail).unwrap(), 80).0;
    assert_eq!(straight.len(), 80);
    let mut today = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    read(&mut today, 55);
    let today = today.to_json(&today.state());
    let v2 = include_str!("compat/v2.json");
    let versions = [
        include_str!("compat/v1.json"),
        include_str!("compat/v1-rings.json"),
        v2,
        include_str!("compat/v2-buffers.json"),
    ];
    for saved in versions {
        let mut other = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
        other.restore_json(&serde_json::from_str(saved).unwrap()).unwrap();
        assert_eq!(read(&mut other, 80).0, straight[55..]);
    }
    let v2: Json = serde_json::from_str(v2).unwrap();
    assert_eq!(today, v2, "the form has changed: keep v2.json and add another");
}

#[test]
fn members_of_later_releases_are_ignored_unless_they_are_required_and_later_versions_are_refused() {
    let dataset = numbered("later");
    let straight = read(&mut reader(&dataset, &shuffled(), OnDamage::Fail).unwrap(), 80).0;
    let mut first = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    read(&mut first, 33);
    let mut saved = first.to_json(&first.state());
    saved["weather"] = json!("fine");
    let mut other = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    other.restore_json(&saved).unwrap();
    assert_eq!(read(&mut other, 80).0, straight[33..]);
    for (requires, why) in
        [(json!(["weather"]), "\"weather\", of a later release"), (json!(null), "requires")]
    {
        saved["requires"] = requires;
        let error = other.restore_json(&saved).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    (saved["requires"], saved["tfds"]) = (json!([]), json!(99));
    let error = other.restore_json(&saved).unwrap_err().to_string();
    assert!(error.contains("`tfds`, is 99, expected 2 or an earlier one"), "{error}");
}

#[test]
fn a_state_without_buffers_is_shorter_than_1_kib() {
    let dataset = numbered("small");
    let ops = [
        json!({"shard": {"num_shards": 2, "index": 1}}),
        json!({"shuffle": {"buffer_size": 1_000_000, "seed": i64::MAX, "reshuffle_each_iteration": false}}),
        json!({"repeat": 1_000_000_000}),
        json!({"shuffle": {"buffer_size": 1_000_000, "seed": i64::MIN}}),
        json!({"skip": 1_u64 << 40}),
        json!({"take": 1_000_000_000_000_i64}),
    ];
    let reader = reader(&dataset, &ops, OnDamage::Fail).unwrap();
    let started = vec![u64::MAX; reader.state().started.len()];
    let saved = reader.to_json(&StreamState { started, delivered: u64::MAX, ended: false });
    assert!(saved.to_string().len() < 1024, "{saved}");
}

#[test]
fn what_buffers_hold_is_saved_on_request_and_belongs_to_its_place() {
    let dataset = numbered("rings");
    let straight = read(&mut reader(&dataset, &shuffled(), OnDamage::Fail).unwrap(), 80).0;
    let mut first = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    let mut other = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    let mut given = 0;
    let mut states = Vec::new();
    for n in [0, 1, 16, 20, 18, 24, 1] {
        given += read(&mut first, n).0.len();
        let saved = first.to_json_with_buffers(&first.state()).unwrap();
        other.restore_json(&serde_json::from_str(&saved.to_string()).unwrap()).unwrap();
        assert_eq!(read(&mut other, 80).0, straight[given..]);
        states.push(saved);
    }
    let (saved, later) = (states[4].clone(), states[3].clone());
    let form: Json = serde_json::from_str(include_str!("compat/v2-buffers.json")).unwrap();
    assert_eq!(saved, form, "the form has changed: keep v2-buffers.json and add another");
    let v1: Json = serde_json::from_str(include_str!("compat/v1-rings.json")).unwrap();
    let mut check = |saved: &Json, key: &str, name: &str, value: Json| {
        let mut foreign = saved.clone();
        foreign[key][name] = value;
        let place = other.state();
        let error = other.restore_json(&foreign).unwrap_err().to_string();
        assert!(error.contains(key) && other.state() == place, "{name}: {error}");
    };
    for (saved, key) in [(&saved, "buffers"), (&v1, "rings")] {
        check(saved, key, "held", later["buffers"]["held"].clone());
        check(saved, key, "held", json!(17));
        check(saved, key, "hash", json!(null));
        check(saved, key, "hash", later["buffers"]["hash"].clone());
    }
}

#[test]
fn files_that_moved_are_gone_on_with_by_force() {
    let (dataset, other) = (numbered("unmoved"), numbered("moved"));
    let straight = read(&mut reader(&dataset, &shuffled(), OnDamage::Fail).unwrap(), 80).0;
    let mut first = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    read(&mut first, 33);
    let mut saved = first.to_json(&first.state());
    // As if they had had other names.
    saved["files"] = json!("4 files, 0123456789abcdef");
    let mut moved = reader(&other, &shuffled(), OnDamage::Fail).unwrap();
    assert!(moved.restore_json(&saved).is_err());
    let mut force = |saved: &Json| {
        moved.restore_json_with(saved, Restoring { force: true, interrupted: &mut || false })?;
        Ok::<_, tesson_core::ResumeError>(read(&mut moved, 80).0)
    };
    assert_eq!(force(&saved).unwrap(), straight[33..]);
    saved["files"] = json!("5 files, 0");
    assert!(force(&saved).unwrap_err().to_string().contains("5 files"));
}

#[test]
fn a_state_of_something_else_is_refused_with_both_values() {
    let dataset = numbered("foreign");
    let mut reader = reader(&dataset, &shuffled(), OnDamage::Fail).unwrap();
    let saved = reader.to_json(&reader.state());
    let mut check = |name: &str, value: Json, parts: [&str; 3]| {
        let mut foreign = saved.clone();
        foreign[name] = value;
        let error = reader.restore_json(&foreign).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
    };
    check("tfds", json!(0), ["version", "0", "1 to 2"]);
    check("tfds", json!("2"), ["version", "2", "1 to 2"]);
    check("requires", json!(["weather"]), ["requires", "weather", "later release"]);
    check("dataset", json!("d 2.0.0"), ["the dataset", "d 2.0.0", "d 1.0.0"]);
    check("files", json!("3 files, 0123456789abcdef"), ["its files", "3 files", "4 files"]);
    check("order", json!("files in order"), ["the order", "files in order", "cycle 2 block 3"]);
    check("stream", json!({}), ["", "", ""]);
    check("stream", json!({"started": [1, 2, 3], "delivered": 3, "ended": false}), ["", "", ""]);
    let of_source = json!({"minibatchSourcePosition": 3, "tesson": "AAAA"});
    let error = reader.restore_json(&of_source).unwrap_err().to_string();
    let expected = "it is that of a source of minibatches, expected that of a prepared dataset";
    assert!(error.contains(expected), "{error}");
    reader.restore_json(&saved).unwrap();
}

/// Damages the data of one record of a file, and the head of one of another.
fn damaged(name: &str) -> Dataset {
    let dataset = numbered(name);
    let size = 16 + record(&[("i", Value::Ints(&[0]))]).len();
    for (shard, at) in [(1, 4 * size + 12), (2, 6 * size)] {
        let file = dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{SHARDS:05}"));
        let mut bytes = fs::read(&file).unwrap();
        bytes[at] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    dataset
}

#[test]
fn a_damaged_file_ends_where_it_is_damaged() {
    let dataset = damaged("stopped");
    let mut short = numbered("short");
    // As if the files had been so long: another description, and the same order of files.
    let info = json!({"name": "d", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": [10, 4, 6, 10]}]});
    fs::write(short.0.join("dataset_info.json"), info.to_string()).unwrap();
    cut(&mut short, 1, 4);
    cut(&mut short, 2, 6);
    for ops in [vec![], vec![json!({"repeat": 2})], vec![json!({"skip": 5}), json!({"take": 20})]] {
        let expected = read(&mut reader(&short, &ops, OnDamage::Fail).unwrap(), 100).0;
        let (found, failed) = read(&mut reader(&dataset, &ops, OnDamage::StopShard).unwrap(), 100);
        assert!(failed.is_none());
        assert_eq!(found, expected, "{ops:?}");
        for place in 0..=expected.len() {
            let mut first = reader(&dataset, &ops, OnDamage::StopShard).unwrap();
            assert_eq!(read(&mut first, place).0, expected[..place]);
            let saved = first.to_json(&first.state());
            let mut other = reader(&dataset, &ops, OnDamage::StopShard).unwrap();
            other.restore_json(&saved).unwrap();
            assert_eq!(read(&mut other, 100).0, expected[place..], "{ops:?}, behind {place}");
        }
    }
    // What a buffer has taken from behind the damage cannot be taken back.
    let error = reader(&dataset, &shuffled(), OnDamage::StopShard).err().expect("it is refused").to_string();
    assert!(error.contains("`skip`"), "{error}");
}

/// Leaves so many records of a file.
fn cut(dataset: &mut Dataset, shard: usize, records: usize) {
    let size = 16 + record(&[("i", Value::Ints(&[0]))]).len();
    let file = dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{SHARDS:05}"));
    let bytes = fs::read(&file).unwrap();
    fs::write(file, &bytes[..records * size]).unwrap();
}

#[test]
fn damaged_records_are_left_out_and_all_others_keep_their_places() {
    let dataset = damaged("skipped");
    let whole = read(&mut reader(&numbered("whole"), &shuffled(), OnDamage::Fail).unwrap(), 80).0;
    // Behind a damaged head nothing can be found.
    let lost = |i: &i64| *i == 14 || (26..30).contains(i);
    let expected: Vec<i64> = whole.iter().copied().filter(|i| !lost(i)).collect();
    let mut straight = reader(&dataset, &shuffled(), OnDamage::Skip).unwrap();
    assert_eq!(read(&mut straight, 80).0, expected);
    assert_eq!(straight.skipped(), 10);
    for place in (0..expected.len()).step_by(7) {
        let mut first = reader(&dataset, &shuffled(), OnDamage::Skip).unwrap();
        assert_eq!(read(&mut first, place).0, expected[..place]);
        let mut other = reader(&dataset, &shuffled(), OnDamage::Skip).unwrap();
        other.restore_json(&first.to_json(&first.state())).unwrap();
        assert_eq!(read(&mut other, 80).0, expected[place..], "behind {place}");
    }
}

#[test]
fn missing_shards_are_all_named_and_versions_that_are_there_are_listed() {
    let dataset = numbered("missing");
    for shard in [0, 3] {
        fs::remove_file(dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{SHARDS:05}"))).unwrap();
    }
    let error = reader(&dataset, &[], OnDamage::Fail).err().expect("two are missing").to_string();
    assert!(error.contains("00000-of-00004") && error.contains("00003-of-00004"), "{error}");
    let data_dir = dataset.0.join("data");
    for version in ["ds/1.0.0", "ds/10.2.0", "other/cfg/2.0.0"] {
        let folder = data_dir.join(version);
        fs::create_dir_all(&folder).unwrap();
        for file in ["dataset_info.json", "features.json"] {
            fs::copy(dataset.0.join(file), folder.join(file)).unwrap();
        }
    }
    let find = |name: &str| find(&FileStore, name, &[&data_dir]).map_err(|e| e.to_string());
    assert_eq!(find("ds").unwrap(), data_dir.join("ds/10.2.0"));
    let error = find("ds:2.0.0").unwrap_err();
    assert!(error.contains("there are `ds:1.0.0`, `ds:10.2.0`"), "{error}");
    let error = find("other:1.0.0").unwrap_err();
    assert!(error.contains("there is `other/cfg:2.0.0`"), "{error}");
    let error = find("nothing").unwrap_err();
    assert!(error.contains("is not found in") && !error.contains("there"), "{error}");
    assert!(error.contains("nothing is downloaded: prepare the dataset first"), "{error}");
    assert!(find("othre").unwrap_err().ends_with("did you mean `other`?"));
}

#[test]
fn shards_of_another_number_are_told_where_the_described_ones_are_missing() {
    let dataset = numbered("other-number");
    let path = |shard: usize, of: usize| dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{of:05}"));
    let missing = || reader(&dataset, &[], OnDamage::Fail).err().expect("they are missing").to_string();
    for shard in 0..SHARDS {
        fs::rename(path(shard, SHARDS), path(shard, 7)).unwrap();
    }
    let error = missing();
    let others = "the folder holds `d-train.tfrecord-00000-of-00007` and 3 more like it, which dataset_info.json does not list: \
                  copy description and shards of one preparation";
    assert!(error.ends_with(others), "{error}");
    for shard in 0..SHARDS {
        fs::remove_file(path(shard, 7)).unwrap();
    }
    assert!(missing().ends_with("the folder holds no shard of the split, copy them there"), "{}", missing());
}

#[test]
fn a_kept_index_saves_the_way_to_a_record() {
    let text = "x".repeat(600);
    let examples: Vec<Vec<u8>> = (0..N)
        .map(|i| record(&[("i", Value::Ints(&[i])), ("text", Value::Bytes(&[text.as_bytes()]))]))
        .collect();
    let dataset = Dataset::of("kept", json!({"i": tensor("int64", &[])}), &examples, 1);
    let path = dataset.0.join("d-train.tfrecord-00000-of-00001");
    let file = RecordsFile::open(&FileStore, &path, RecordKind::TfRecord, 1 << 20).unwrap();
    let index = file.write_index(None).unwrap().expect("the file is no stream");
    drop(file);
    // Walking to the last record would meet the second one's head.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16 + examples[0].len()] ^= 1;
    fs::write(&path, bytes).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let last = || {
        let mut reader = reader(&dataset, &[], OnDamage::Fail).unwrap();
        let mut rows = ExampleBatch::new(reader.schema());
        reader.read_at(&[N as u64 - 1], &mut rows).map(|()| rows.len())
    };
    assert_eq!(last().unwrap(), 1);
    // Where it does not fit the file it is as if it were not there.
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert!(last().is_err());
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    fs::remove_file(index).unwrap();
    assert!(last().is_err());
}

#[test]
fn a_way_that_is_given_up_leaves_the_reader_where_it_was() {
    let dataset = numbered("given-up");
    let endless = [
        json!({"shuffle": {"buffer_size": 9, "seed": 3}}),
        json!({"repeat": -1}),
        json!({"shuffle": {"buffer_size": 5, "seed": 1}}),
    ];
    let straight = read(&mut reader(&dataset, &endless, OnDamage::Fail).unwrap(), 90).0;
    let mut other = reader(&dataset, &endless, OnDamage::Fail).unwrap();
    let mut found = read(&mut other, 30).0;
    let far = StreamState { delivered: 1 << 40, ..other.state() };
    let mut rows = ExampleBatch::new(other.schema());
    for _ in 0..2 {
        assert!(other.seek_with(None, far.delivered, &mut || true).is_err());
        assert!(other.restore_with(&far, &mut || true).is_err());
        assert!(other.read_nth(0, far.delivered, &mut rows, &mut || true).is_err());
        found.extend(read(&mut other, 30).0);
    }
    assert_eq!(found, straight);
    // Also where traversals have to be followed one by one.
    let followed =
        [json!({"repeat": 2}), json!({"shuffle": {"buffer_size": 9, "seed": 3}}), json!({"take": 70})];
    let mut followed = reader(&dataset, &followed, OnDamage::Fail).unwrap();
    let mut asked = 0;
    let far = followed.seek_with(Some(1 << 30), 3, &mut || {
        asked += 1;
        asked >= 2
    });
    assert!(far.is_err() && asked == 2);
}

#[test]
fn files_that_are_shorter_keep_the_places_of_all_others_where_damage_is_left_out() {
    let mut dataset = numbered("shorter");
    cut(&mut dataset, 1, 4);
    cut(&mut dataset, 3, 0);
    for ops in [vec![], shuffled()] {
        let whole = read(&mut reader(&numbered("longer"), &ops, OnDamage::Fail).unwrap(), 80).0;
        let expected: Vec<i64> = whole.iter().copied().filter(|i| *i < 14 || (20..30).contains(i)).collect();
        let mut alone = reader(&dataset, &ops, OnDamage::Skip).unwrap();
        assert_eq!(read(&mut alone, 80).0, expected);
        assert_eq!(alone.skipped() as usize, whole.len() - expected.len());
        let shares = (0..3).flat_map(|rank| {
            let mut share = reader(&dataset, &ops, OnDamage::Skip).unwrap();
            let mut rows = ExampleBatch::new(share.schema());
            while share.read_share(7, 3, rank, &mut rows).unwrap() > 0 {}
            assert_eq!(share.state(), alone.state());
            (0..rows.len()).map(|row| share.id(&rows, row)).collect::<Vec<_>>()
        });
        let mut shares: Vec<String> = shares.collect();
        let mut again = reader(&dataset, &ops, OnDamage::Skip).unwrap();
        let mut rows = ExampleBatch::new(again.schema());
        again.read(80, &mut rows).unwrap();
        let mut all: Vec<String> = (0..rows.len()).map(|row| again.id(&rows, row)).collect();
        shares.sort();
        all.sort();
        assert_eq!(shares, all);
    }
}

#[test]
fn wrong_counts_are_told_behind_a_buffer_that_holds_everything() {
    for (name, records) in [("buffered-short", 4), ("buffered-long", 0)] {
        let mut dataset = numbered(name);
        if records > 0 {
            cut(&mut dataset, 1, records);
        } else {
            let file = |shard: usize| dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{SHARDS:05}"));
            let longer = [fs::read(file(1)).unwrap(), fs::read(file(0)).unwrap()].concat();
            fs::write(file(1), longer).unwrap();
        }
        let mut reader =
            reader(&dataset, &[json!({"shuffle": {"buffer_size": 100, "seed": 3}})], OnDamage::Fail).unwrap();
        for _ in 0..2 {
            let (found, failed) = read(&mut reader, 50);
            let failed = failed.expect("the counts are wrong").to_string();
            assert!(
                found.len() < 40 && failed.contains("in the shards, expected the 40 of the split"),
                "{failed}"
            );
            assert!(failed.contains("00001-of-00004)"), "{failed}");
        }
    }
}

#[test]
fn missing_shards_may_be_told_where_they_are_reached() {
    let dataset = numbered("lazy");
    fs::remove_file(dataset.0.join(format!("d-train.tfrecord-00001-of-{SHARDS:05}"))).unwrap();
    let reader = |lazy| {
        let opened = Arc::new(open(&FileStore, &dataset.0).unwrap());
        let mut reading = Reading::of(split::Selection::parse("train").unwrap());
        reading.config.set("interleave_cycle_length", &json!(1)).unwrap();
        reading.config.set("lazy", &json!(lazy)).unwrap();
        let plan = Plan::new(&opened, &reading, &mut || 7).unwrap();
        let schema = Schema::new(&features_of(&FileStore, &opened).unwrap(), &Selection::default()).unwrap();
        Reader::new(&FileStore, opened, plan, Arc::new(schema), OnDamage::Fail)
    };
    assert!(reader(false).is_err());
    let mut lazy = reader(true).unwrap();
    let (found, failed) = read(&mut lazy, 40);
    let failed = failed.expect("a shard is missing");
    assert_eq!(found, (0..10).collect::<Vec<i64>>());
    assert!(matches!(&failed, Error::Store(_)) && failed.to_string().contains("00001-of-00004"), "{failed}");
    let mut rows = ExampleBatch::new(lazy.schema());
    lazy.read_at(&[25], &mut rows).unwrap();
    assert!(lazy.read_at(&[15], &mut rows).is_err());
}

#[test]
fn any_place_of_any_traversal_is_found() {
    let dataset = numbered("sought");
    let shuffle = vec![shuffled().remove(0)];
    let mut straight = reader(&dataset, &shuffle, OnDamage::Fail).unwrap();
    let mut traversals = Vec::new();
    for _ in 0..3 {
        traversals.push(read(&mut straight, 100).0);
        straight.begin();
    }
    let mut other = reader(&dataset, &shuffle, OnDamage::Fail).unwrap();
    for (traversal, place) in [(2, 7), (0, 0), (1, 39), (0, 40), (2, 0)] {
        other.seek(Some(traversal), place).unwrap();
        let rest = &traversals[traversal as usize][place as usize..];
        assert_eq!(read(&mut other, 100).0, rest, "{traversal}, {place}");
    }
    assert_eq!(other.seek(Some(0), 41).unwrap_err().to_string(), "found place 41, the traversal has 40");
    let mut endless = reader(&dataset, &[json!({"repeat": -1})], OnDamage::Fail).unwrap();
    assert!(endless.seek(Some(1), 0).is_err());
    endless.seek(Some(0), 1_000_000).unwrap();
    assert_eq!(read(&mut endless, 5).0.len(), 5);
}

/// A zlib stream that holds bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap();
    let sums = bytes.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let head = [&[0x78, 0x01, 0x01][..], &len.to_le_bytes(), &(!len).to_le_bytes()].concat();
    [&head, bytes, &(sums.1 << 16 | sums.0).to_be_bytes()].concat()
}

#[test]
fn compressed_shards_are_streams_and_have_no_places() {
    let dataset = numbered("streams");
    let shard = dataset.0.join("d-train.tfrecord-00001-of-00004");
    let whole = fs::read(&shard).unwrap();
    fs::write(&shard, stored(&whole)).unwrap();
    let mut reader = reader(&dataset, &[], OnDamage::Fail).unwrap();
    let (mut given, failed) = read(&mut reader, 100);
    given.sort_unstable();
    assert!(failed.is_none() && given == Vec::from_iter(0..N), "{given:?} {failed:?}");
    let mut rows = ExampleBatch::new(reader.schema());
    reader.read_at(&[9, 20], &mut rows).unwrap();
    let error = reader.read_at(&[20, 10], &mut rows).unwrap_err().to_string();
    assert!(error.contains("compressed as a whole") && error.contains("00001-of-00004"), "{error}");
    assert_eq!(rows.len(), 2);
    let refused = (0..N as u64).filter(|place| reader.read_nth(0, *place, &mut rows, &mut || false).is_err());
    assert_eq!(refused.count(), 10);
}
