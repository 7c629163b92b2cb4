//! `tesson plan` on a prepared dataset: which examples come when, without opening a data file.

use serde_json::{Value, json};
use tesson::{DataError, Error, Location};
use tesson_core::DataErrorKind;
use tesson_tfds::ids::Ids;
use tesson_tfds::info::Dataset;
use tesson_tfds::split::{FileInstruction, file_instructions};

use super::open;
use crate::args::{DatasetArgs, PlanArgs};
use crate::failure::Failure;
use crate::output::{JsonList, Output};

pub(crate) fn run(args: &PlanArgs, out: &mut Output) -> Result<(), Failure> {
    let dataset = open(&args.common)?;
    if args.files {
        return files(&args.common.dataset, &dataset, out);
    }
    let plan = args.common.dataset.plan(&dataset)?;
    let take = args.common.order.take;
    let mut stream = plan.stream()?;
    if stream.len().is_none() && take.is_none() {
        return Err(Failure::Usage(
            "the order has no end; say with --take how many examples are to be shown".into(),
        ));
    }
    let ids = Ids::new(&dataset, &plan.files);
    let name = |record| if args.numbers { json!(number(&dataset, record)) } else { json!(ids.id(record)) };
    for epoch in 0..args.epochs.or(args.common.order.sweeps).unwrap_or(1) {
        if epoch > 0 {
            stream.begin();
        }
        let mut left = take.unwrap_or(u64::MAX);
        let form = if args.numbers { "ids" } else { "tfds_ids" };
        let mut list = out.is_json().then(|| JsonList::begin(form, out)).transpose()?;
        let ended = loop {
            if left == 0 {
                break Ok(());
            }
            match stream.next() {
                Ok(Some(record)) => match &mut list {
                    Some(list) => list.push(&name(record), out)?,
                    None => out.line(&text(&name(record)))?,
                },
                Ok(None) => break Ok(()),
                Err(mismatch) => break Err(mismatch),
            }
            left -= 1;
        };
        list.map_or(Ok(()), |list| list.end(out))?;
        ended.map_err(|mismatch| wrong_count(&dataset, &mismatch.to_string()))?;
    }
    Ok(())
}

/// Shows the records that are read of each file, split by split.
fn files(args: &DatasetArgs, dataset: &Dataset, out: &mut Output) -> Result<(), Failure> {
    for (split, selection) in args.selections() {
        let planned = selection
            .and_then(|selection| file_instructions(&selection.resolve(dataset)?, dataset))
            .map_err(Error::from);
        match (planned, out.is_json()) {
            (Ok(files), false) => {
                for file in files {
                    let FileInstruction { skip, take, examples_in_shard, .. } = file;
                    let name = &file.shard(dataset).file;
                    out.line(&format!("{name}  {skip}+{take} of {examples_in_shard}"))?;
                }
            }
            (Ok(files), true) => {
                let files: Vec<Value> = files.iter().map(|file| json_of(file, dataset)).collect();
                out.json(&json!({"split": split, "file_instructions": files}))?;
            }
            // One that cannot be read does not hide the others.
            (Err(error), true) => {
                out.json(&json!({"split": split, "error": error.to_string()}))?;
            }
            (Err(error), false) => return Err(error.into()),
        }
    }
    Ok(())
}

fn json_of(file: &FileInstruction, dataset: &Dataset) -> Value {
    json!({
        "filename": file.shard(dataset).file,
        "skip": file.skip,
        "take": file.take,
        "examples_in_shard": file.examples_in_shard,
    })
}

/// The number of a record in its split.
fn number(dataset: &Dataset, record: u64) -> Option<u64> {
    dataset.split_of(record).map(|split| record - split.first())
}

fn text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn wrong_count(dataset: &Dataset, what: &str) -> Failure {
    let file = std::path::Path::new(&dataset.directories[0]).into();
    let at = Location { file, offset: 0, line: None };
    Error::from(DataError::new(DataErrorKind::Malformed { what: what.to_owned() }, at)).into()
}
