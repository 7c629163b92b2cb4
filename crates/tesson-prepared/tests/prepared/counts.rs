//! Files that hold another number of records than the dataset says: the order is that of the files, whatever is done with
//! the examples, or there is an error before the first example that would be another one.

use std::fs;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tesson_core::Error;
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;
use tesson_prepared::{ExampleBatch, OnDamage, Reader, ReaderLimits, features_of, open};
use tesson_tfds::features::{Data, Schema, Selection};
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split;

use crate::dataset::{Dataset, record, tensor};

/// Numbered examples in files of these lengths, of which dataset_info.json says that they have others.
struct Miscounted {
    dataset: Dataset,
    held: Vec<u64>,
}

impl Miscounted {
    fn new(name: &str, held: &[u64], said: &[u64]) -> Miscounted {
        let n: u64 = held.iter().sum();
        let examples: Vec<Vec<u8>> = (0..n as i64).map(|i| record(&[("i", Value::Ints(&[i]))])).collect();
        let dataset = Dataset::of(name, json!({"i": tensor("int64", &[])}), &examples, 1);
        let path =
            |shard: usize, of: usize| dataset.0.join(format!("d-train.tfrecord-{shard:05}-of-{of:05}"));
        let bytes = fs::read(path(0, 1)).unwrap();
        let mut at = 0;
        for (shard, len) in held.iter().enumerate() {
            let end = (0..*len).fold(at, |at, _| at + 16 + u64_at(&bytes, at) as usize);
            fs::write(path(shard, held.len()), &bytes[at..end]).unwrap();
            at = end;
        }
        let made = Miscounted { dataset, held: held.to_vec() };
        made.say(said);
        made
    }

    fn say(&self, lengths: &[u64]) {
        let info =
            json!({"name": "d", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": lengths}]});
        fs::write(self.dataset.0.join("dataset_info.json"), info.to_string()).unwrap();
    }

    fn reader(&self, ops: &[Json], checks: bool, threads: usize) -> Reader {
        let dataset = Arc::new(open(&FileStore, &self.dataset.0).unwrap());
        let mut reading = Reading::of(split::Selection::parse("train").unwrap());
        for (name, value) in [("interleave_cycle_length", 2), ("interleave_block_length", 3)] {
            reading.config.set(name, &json!(value)).unwrap();
        }
        reading.config.set("assert_cardinality", &json!(checks)).unwrap();
        reading.ops = ops.iter().map(|op| Op::from_json(op, "ops").unwrap()).collect();
        let plan = Plan::new(&dataset, &reading, &mut || 7).unwrap();
        let schema = Arc::new(
            Schema::new(&features_of(&FileStore, &dataset).unwrap(), &Selection::default()).unwrap(),
        );
        Reader::with(
            &FileStore,
            dataset,
            plan,
            schema,
            OnDamage::Fail,
            ReaderLimits { threads, ..ReaderLimits::default() },
        )
        .unwrap()
    }

    /// The order of a description that is right, two traversals of it.
    fn right(&self, ops: &[Json]) -> [Vec<i64>; 2] {
        let said = fs::read(self.dataset.0.join("dataset_info.json")).unwrap();
        self.say(&self.held);
        let mut reader = self.reader(ops, true, 1);
        let first = read(&mut reader, 200, 7);
        reader.begin();
        let second = read(&mut reader, 200, 7);
        fs::write(self.dataset.0.join("dataset_info.json"), said).unwrap();
        [first, second].map(|(examples, failed)| {
            assert!(failed.is_none());
            examples
        })
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

fn numbers(rows: &ExampleBatch) -> Vec<i64> {
    let Data::Fixed { bytes, .. } = &rows.batch.columns[0].data else { panic!("strings") };
    bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect()
}

/// At most so many examples, so many at a time, and what ended them.
fn read(reader: &mut Reader, most: usize, at_once: usize) -> (Vec<i64>, Option<Error>) {
    let mut rows = ExampleBatch::new(reader.schema());
    while rows.len() < most {
        let before = rows.len();
        if let Err(error) = reader.read(at_once.min(most - before), &mut rows) {
            return (numbers(&rows), Some(error));
        }
        if rows.len() == before {
            break;
        }
    }
    (numbers(&rows), None)
}

fn chains() -> Vec<Vec<Json>> {
    let shuffle = |buffer: u64| json!({"shuffle": {"buffer_size": buffer, "seed": 1}});
    let shard = |n: u64, index: u64| json!({"shard": {"num_shards": n, "index": index}});
    vec![
        vec![],
        vec![json!({"repeat": 2})],
        vec![json!({"take": 11})],
        vec![json!({"skip": 4})],
        vec![json!({"skip": 9}), json!({"repeat": 3})],
        vec![json!({"repeat": 3}), json!({"skip": 25})],
        vec![shard(2, 1)],
        vec![shard(3, 2), shuffle(4)],
        vec![shuffle(3)],
        vec![shuffle(100)],
        vec![shuffle(5), json!({"repeat": 2}), json!({"skip": 13}), shard(2, 0)],
        vec![json!({"take": 6}), shuffle(4), json!({"repeat": 4})],
    ]
}

/// Files with their true and their declared numbers of records.
const CASES: [(&str, &[u64], &[u64]); 6] = [
    ("longer", &[4, 3], &[3, 3]),
    ("shorter", &[2, 5, 4], &[6, 5, 4]),
    ("both", &[3, 5], &[5, 3]),
    ("moved", &[7, 2, 6, 1], &[8, 1, 1, 6]),
    ("several", &[1, 9, 2, 3], &[2, 9, 4, 1]),
    ("right", &[5, 4, 6], &[5, 4, 6]),
];

#[test]
fn the_order_is_that_of_the_files_where_nothing_checks_the_count() {
    for (name, held, said) in CASES {
        let case = Miscounted::new(&format!("order-{name}"), held, said);
        for ops in chains() {
            let right = case.right(&ops);
            for (threads, at_once) in [(1, 1), (1, 200), (3, 5)] {
                let mut reader = case.reader(&ops, false, threads);
                for right in &right {
                    let (found, failed) = read(&mut reader, 200, at_once);
                    assert!(failed.is_none(), "{name} {ops:?}: {failed:?}");
                    assert_eq!(found, *right, "{name} {ops:?} {threads} {at_once}");
                    reader.begin();
                }
            }
            let mut reader = case.reader(&ops, false, 1);
            assert_eq!(reader.counted_len().unwrap(), Some(right[0].len() as u64), "{name} {ops:?}");
        }
    }
}

#[test]
fn every_place_of_it_is_found_again_by_states_and_by_number() {
    for (name, held, said) in CASES {
        let case = Miscounted::new(&format!("places-{name}"), held, said);
        for ops in chains() {
            let [right, _] = case.right(&ops);
            for place in 0..=right.len() {
                let what = format!("{name} {ops:?} {place}");
                let mut first = case.reader(&ops, false, 1);
                read(&mut first, place, 4);
                let saved = first.to_json(&first.state());
                let mut ahead = case.reader(&ops, false, 1);
                let mut rows = ExampleBatch::new(ahead.schema());
                ahead.read(200, &mut rows).unwrap();
                if place > 0 {
                    let state = ahead.to_json(&ahead.state_after(&rows, place - 1));
                    assert_eq!(state, saved, "{what}: how far ahead files were looked into is in the state");
                }
                let mut other = case.reader(&ops, false, 1);
                other.restore_json(&saved).unwrap();
                assert_eq!(read(&mut other, 200, 3).0, right[place..], "{what}, by a state");
                let mut other = case.reader(&ops, false, 1);
                other.seek(None, place as u64).unwrap();
                assert_eq!(read(&mut other, 200, 3).0, right[place..], "{what}, by its number");
                if let Some(example) = right.get(place) {
                    let mut rows = ExampleBatch::new(other.schema());
                    other.read_nth(0, place as u64, &mut rows, &mut || false).unwrap();
                    assert_eq!(numbers(&rows), [*example], "{what}, alone");
                }
            }
        }
    }
}

#[test]
fn workers_deal_out_the_examples_of_the_files() {
    for (name, held, said) in CASES {
        let case = Miscounted::new(&format!("workers-{name}"), held, said);
        let [right, _] = case.right(&[]);
        for workers in [2, 3] {
            for rank in 0..workers {
                let mut reader = case.reader(&[], false, 1);
                let mut rows = ExampleBatch::new(reader.schema());
                while reader.read_share(6, workers, rank, &mut rows).unwrap() > 0 {}
                // A multiple of the workers at a time, so that shares are shares of the whole.
                let own: Vec<i64> = right.iter().copied().skip(rank).step_by(workers).collect();
                assert_eq!(numbers(&rows), own, "{name}, {rank} of {workers}");
            }
        }
    }
}

/// Checks that the error of a count comes after the examples that the reference gives.
#[test]
fn a_count_that_is_checked_fails_where_the_reference_does() {
    let case = Miscounted::new("checked", &[4, 3], &[3, 3]);
    // One file after the other.
    let check = |op: Json, expected: &[i64]| {
        let dataset = Arc::new(open(&FileStore, &case.dataset.0).unwrap());
        let mut reading = Reading::of(split::Selection::parse("train").unwrap());
        reading.ops = vec![Op::from_json(&op, "ops").unwrap()];
        let plan = Plan::new(&dataset, &reading, &mut || 7).unwrap();
        let schema = Schema::new(&features_of(&FileStore, &dataset).unwrap(), &Selection::default()).unwrap();
        let mut reader = Reader::new(&FileStore, dataset, plan, Arc::new(schema), OnDamage::Fail).unwrap();
        let (found, failed) = read(&mut reader, 100, 100);
        assert_eq!(found, expected, "{op}");
        let failed = failed.expect("the count is wrong").to_string();
        assert!(
            failed.contains("(4 records instead of 3 in ") && failed.contains("00000-of-00002)"),
            "{failed}"
        );
    };
    check(json!({"skip": 4}), &[4, 5]);
    check(json!({"shard": {"num_shards": 2, "index": 1}}), &[1, 3, 5]);
    check(json!({"shuffle": {"buffer_size": 3, "seed": 1}}), &[1, 3, 0, 5]);
}

#[test]
fn damage_among_what_is_passed_over_is_told_where_the_order_comes_to_it() {
    let case = Miscounted::new("passed-over", &[4, 6], &[4, 6]);
    let path = case.dataset.0.join("d-train.tfrecord-00000-of-00002");
    let mut bytes = fs::read(&path).unwrap();
    let each = bytes.len() / 4;
    // The checksum of the third record's length.
    bytes[2 * each + 9] ^= 1;
    fs::write(&path, bytes).unwrap();
    let whole = read(&mut case.reader(&[], false, 1), 100, 100);
    assert_eq!(whole.0, [0, 1]);
    for (op, expected) in [
        (json!({"skip": 1}), vec![1]),
        (json!({"skip": 5}), vec![]),
        (json!({"shard": {"num_shards": 2, "index": 0}}), vec![0]),
        (json!({"shuffle": {"buffer_size": 2, "seed": 1}}), vec![1]),
    ] {
        let (found, failed) = read(&mut case.reader(std::slice::from_ref(&op), false, 1), 100, 100);
        assert_eq!(found.len(), expected.len(), "{op}: {found:?}");
        let failed = failed.expect("it is damaged").to_string();
        assert!(failed.contains("00000-of-00002") && failed.contains("record 2"), "{op}: {failed}");
    }
}
