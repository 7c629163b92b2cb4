//! Descriptions of prepared datasets from outside: what they say is consistent, or they are refused.

use std::path::Path;

use tesson_tfds::ids::Ids;
use tesson_tfds::info::{Dataset, DatasetInfo, FileFormat, Split};
use tesson_tfds::split::{Selection, file_instructions};

/// A split as text: a plan of records that are there, or a complaint.
pub fn split_grammar(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(selection) = Selection::parse(text) else { return };
    let info = r#"{"name": "d", "version": "1.0.0", "splits": [
        {"name": "train", "shardLengths": ["3", "0", "7", "1", "0"]}, {"name": "test", "shardLengths": [2]},
        {"name": "none", "shardLengths": [0, 0]}, {"name": "hundreds", "shardLengths": ["250", "99", "1000000"]}]}"#;
    check_plan(&dataset(info.as_bytes()).expect("the description is right"), &selection);
}

/// A dataset_info.json: its splits have shards, and plans of them hold together, or it is refused.
pub fn dataset_info_json(bytes: &[u8]) {
    let Some(dataset) = dataset(bytes) else { return };
    let _ = dataset.describe();
    let mut next = 0;
    for split in &dataset.splits {
        assert!(split.shards.is_empty() || split.first() == next, "records are counted through");
        for shard in &split.shards {
            assert_eq!(shard.first, next);
            next += shard.len;
        }
        assert_eq!(split.n_examples(), split.shards.iter().map(|shard| shard.len).sum::<u64>());
        check_parts(&dataset, split);
    }
    check_plan(&dataset, &Selection::All);
}

fn dataset(text: &[u8]) -> Option<Dataset> {
    let info = DatasetInfo::parse(&Path::new("dataset_info.json").into(), text).ok()?;
    Dataset::new(vec![("d".into(), info)], Some(FileFormat::TfRecord)).ok()
}

/// A split in two parts is the split.
fn check_parts(dataset: &Dataset, split: &Split) {
    let n = split.n_examples();
    let of = |text: String| {
        let plan = Selection::parse(&text).and_then(|s| file_instructions(&s.resolve(dataset)?, dataset));
        plan.map(|plan| plan.iter().map(|file| file.take).sum::<u64>())
    };
    let (Ok(front), Ok(back)) = (of(format!("{}[:50%]", split.name)), of(format!("{}[50%:]", split.name)))
    else {
        return;
    };
    assert_eq!(front + back, n, "{}", split.name);
}

fn check_plan(dataset: &Dataset, selection: &Selection) {
    let Ok(parts) = selection.resolve(dataset) else { return };
    let Ok(plan) = file_instructions(&parts, dataset) else { return };
    let ids = Ids::new(dataset, &plan);
    for file in &plan {
        assert!(
            file.take > 0
                && file.skip.checked_add(file.take).is_some_and(|end| end <= file.examples_in_shard)
        );
        let first = file.shard(dataset).first + file.skip;
        assert!(ids.id(first).is_some_and(|id| id.ends_with(&format!("__{}", file.skip))));
    }
}
