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
    let path = &common.input.input;
    if common.dataset.data_dir.is_none() {
        out.pair("in Python", &calls::in_python(InputKind::Dataset, path, std::iter::empty(), 1))?;
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

fn describe(split: &Split) -> String {
    let lengths = split.shards.iter().map(|shard| shard.len);
    let (least, most) = (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0));
    let each = if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    let shards = counted(split.shards.len() as u64, "shard");
    format!("{}: {} in {shards} of {each}", split.name, counted(split.n_examples(), "example"))
}
