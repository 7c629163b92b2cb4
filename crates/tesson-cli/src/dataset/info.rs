//! `tesson info` on a prepared dataset.

use tesson_tfds::info::{Dataset, Split};

use super::{find, open};
use crate::args::Common;
use crate::calls;
use crate::data;
use crate::failure::Failure;
use crate::input_kind::InputKind;
use crate::output::{Output, count, counted};

pub(crate) fn run(common: &Common, out: &mut Output) -> Result<(), Failure> {
    let dataset = open(common)?;
    if out.is_json() {
        let mut described = tesson_prepared::describe(&data::stores(), &dataset)?;
        if let Some(data_dir) = &common.dataset.data_dir {
            let found = find(&common.input.input, data_dir)?;
            let below = found.strip_prefix(data_dir).unwrap_or(&found);
            described["resolved"] = below.to_string_lossy().into();
        }
        return Ok(out.json(&described)?);
    }
    text(&dataset, out)?;
    features(&dataset, out)?;
    let path = &common.input.input;
    if common.dataset.data_dir.is_none() {
        let has_train = dataset.splits.iter().any(|split| split.name == "train");
        let split = has_train.then_some("train");
        out.pair("in Python", &calls::in_python(InputKind::Dataset, path, std::iter::empty(), 1, split))?;
        out.pair("command", &calls::by_command(InputKind::Dataset, path, &[]))?;
    }
    Ok(())
}

fn text(dataset: &Dataset, out: &mut Output) -> Result<(), Failure> {
    let info = &dataset.info;
    let config = info.config.as_ref().map_or(String::new(), |config| format!("/{config}"));
    out.pair("dataset", &format!("{}{config} {}", info.name, info.version))?;
    out.pair("format", dataset.file_format.suffix())?;
    let order = if info.disable_shuffling {
        "as it was written, which means something"
    } else {
        "shuffled when it was written"
    };
    out.pair("order", order)?;
    for (i, directory) in dataset.directories.iter().enumerate() {
        out.pair(if i == 0 { "directory" } else { "" }, directory)?;
    }
    for (i, split) in dataset.splits.iter().enumerate() {
        out.pair(if i == 0 { "splits" } else { "" }, &describe(split))?;
    }
    Ok(())
}

/// Names of classes that are shown.
const CLASSES: usize = 5;

/// The features with their types, shapes and classes.
fn features(dataset: &Dataset, out: &mut Output) -> Result<(), Failure> {
    let stores = data::stores();
    let features = tesson_prepared::features_of(&stores, dataset)?;
    let labels = tesson_prepared::labels_of(&stores, dataset, &features)?;
    let mut head = "features";
    for (path, leaf) in features.leaves() {
        let shape = leaf.shape.iter().map(|dim| dim.map_or("?".to_owned(), |n| n.to_string()));
        let shape = shape.collect::<Vec<_>>().join(", ");
        let classes = labels.iter().find(|(of, _)| *of == path).map_or_else(String::new, |(_, names)| {
            let more = if names.len() > CLASSES { ", …" } else { "" };
            let named = names.iter().take(CLASSES).cloned().collect::<Vec<_>>().join(", ");
            format!(", {}: {named}{more}", counted(names.len() as u64, "class"))
        });
        out.pair(std::mem::take(&mut head), &format!("{path}: {} [{shape}]{classes}", leaf.dtype.name()))?;
    }
    Ok(())
}

fn describe(split: &Split) -> String {
    let lengths = split.shards.iter().map(|shard| shard.len);
    let (least, most) = (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0));
    let each = if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    let shards = counted(split.shards.len() as u64, "shard");
    format!("{}: {} in {shards} of {each}", split.name, counted(split.n_examples(), "example"))
}
