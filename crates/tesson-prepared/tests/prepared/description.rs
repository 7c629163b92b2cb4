//! Readable and refused descriptions of datasets.

use std::fs;

use serde_json::{Value as Json, json};
use tesson_engine::store::FileStore;
use tesson_formats::example::Value;
use tesson_prepared::{features_of, find, labels_of, open, open_all};
use tesson_tfds::reading::{Op, Plan, Reading};
use tesson_tfds::split::{Selection, file_instructions};

use crate::dataset::{Dataset, feature, record, tensor, text};

/// A dataset without shards.
fn described(name: &str, features: Json) -> Dataset {
    Dataset::of(name, features, &[], 1)
}

#[test]
fn names_of_classes_count_them_where_nothing_else_does() {
    let class = |content| feature("class_label_feature.ClassLabel", json!({ "classLabel": content }));
    let dataset = described(
        "classes",
        json!({"a": class(json!({})), "b": class(json!({})), "c": class(json!({"numClasses": 2}))}),
    );
    fs::write(dataset.0.join("a.labels.txt"), "cat\ndog\ncow\n").unwrap();
    let opened = open(&FileStore, &dataset.0).unwrap();
    let features = features_of(&FileStore, &opened).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = [("a".to_owned(), names(&["cat", "dog", "cow"])), ("c".to_owned(), names(&["0", "1"]))];
    assert_eq!(labels_of(&FileStore, &opened, &features).unwrap(), expected);
    fs::write(dataset.0.join("c.labels.txt"), "one\n").unwrap();
    let error = labels_of(&FileStore, &opened, &features).unwrap_err().to_string();
    assert!(error.contains("1 names for 2 classes"), "{error}");
}

#[test]
fn texts_of_the_encoders_that_are_gone_are_refused() {
    let features = json!({"of": feature("features_dict.FeaturesDict",
        json!({"featuresDict": {"features": {"a/b": text()}}}))});
    let dataset = described("encoders", features);
    let opened = open(&FileStore, &dataset.0).unwrap();
    fs::write(dataset.0.join("of-a.text"), "").unwrap();
    features_of(&FileStore, &opened).unwrap();
    fs::write(dataset.0.join("of-a.b.text.subwords"), "").unwrap();
    let error = features_of(&FileStore, &opened).unwrap_err().to_string();
    assert!(error.contains("of/a/b") && error.contains("of-a.b.text.subwords"), "{error}");
}

#[test]
fn directories_that_are_read_as_one_have_the_same_features() {
    let first = described("alike-1", json!({"a": tensor("int64", &[2]), "b": text()}));
    // The order of names means nothing.
    let alike = described("alike-2", json!({"b": text(), "a": tensor("int64", &[2])}));
    open_all(&FileStore, &[&first.0, &alike.0], None).unwrap();
    let others = [
        ("a", json!({"a": tensor("int64", &[3]), "b": text()})),
        ("a", json!({"a": tensor("int32", &[2]), "b": text()})),
        ("b", json!({"a": tensor("int64", &[2])})),
        ("c", json!({"a": tensor("int64", &[2]), "b": text(), "c": text()})),
    ];
    for (i, (path, features)) in others.into_iter().enumerate() {
        let other = described(&format!("other-{i}"), features);
        let error = open_all(&FileStore, &[&first.0, &other.0], None).unwrap_err().to_string();
        assert!(error.contains(&format!("feature `{path}` in")), "{error}");
    }
}

#[test]
fn a_version_that_is_named_is_found_by_its_features() {
    let dataset = described("named", json!({"i": tensor("int64", &[])}));
    let folder = dataset.0.join("data/ds/1.0.0");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(dataset.0.join("features.json"), folder.join("features.json")).unwrap();
    let find = |name: &str| find(&FileStore, name, &[dataset.0.join("data")]);
    assert_eq!(find("ds:1.0.0").unwrap(), folder);
    // Among several, one that is half-written is passed over.
    assert!(find("ds").is_err() && find("ds:1.*.*").is_err());
    let error = open(&FileStore, &folder).unwrap_err().to_string();
    assert!(error.contains("dataset_info.json"), "{error}");
}

#[test]
fn seeds_and_shards_may_have_numbers_beyond_63_bits() {
    let examples: Vec<Vec<u8>> = (0..9).map(|i| record(&[("i", Value::Ints(&[i]))])).collect();
    let dataset = Dataset::of("wide", json!({"i": tensor("int64", &[])}), &examples, 3);
    let opened = open(&FileStore, &dataset.0).unwrap();
    let order = |seed: u64| {
        let ops = [json!({"shuffle": {"buffer_size": 9, "seed": seed}})];
        let ops = ops.iter().map(|op| Op::from_json(op, "ops").unwrap()).collect();
        let reading = Reading { ops, ..Reading::of(Selection::parse("train").unwrap()) };
        let mut stream = Plan::new(&opened, &reading, &mut || 0).unwrap().stream().unwrap();
        let mut records = Vec::new();
        stream.fill(9, &mut records).unwrap();
        records
    };
    // Seeds count by their remainder (spec/tfds.md §8.4).
    assert_eq!(order(u64::MAX), order(u64::MAX % ((1 << 31) - 1)));
    assert_ne!(order(u64::MAX), order(0));
    let files = |split: &str| {
        let parts = Selection::parse(split).unwrap().resolve(&opened).map_err(|e| e.to_string())?;
        Ok::<_, String>(file_instructions(&parts, &opened).unwrap().len())
    };
    assert_eq!(files("train[:99999999999999999999shard]"), Ok(3));
    assert_eq!(files("train[-99999999999999999999shard:]"), Ok(3));
    assert_eq!(files("train[99999999999999999999shard]"), Ok(0));
    assert!(files("train[:99999999999999999999]").is_err());
}
