//! `tesson check` and `tesson index` on a prepared dataset: on all of its files.

use std::path::{Path, PathBuf};

use tesson_convert::records::{CheckedRecords, RecordKind, RecordsFile};
use tesson_engine::Severity;
use tesson_tfds::info::{Dataset, Shard};

use crate::args::{CheckArgs, InputArgs};
use crate::data;
use crate::failure::Failure;
use crate::fault_list::FaultList;
use crate::input::memory_limit;
use crate::output::Output;
use crate::progress::Progress;
use crate::records::summary;

/// The files of all splits; those that are missing are an error.
pub(crate) fn files(input: &InputArgs) -> Result<Vec<RecordsFile>, Failure> {
    let dataset = open(input)?;
    let shards = dataset.splits.iter().flat_map(|split| &split.shards);
    let path = |shard: &Shard| Path::new(&dataset.directories[shard.directory]).join(&shard.file);
    let paths: Vec<PathBuf> = shards.map(path).collect();
    let format = dataset.file_format.suffix();
    let Some(kind) = RecordKind::parse(format) else {
        return Err(Failure::Usage(format!("{}: {format} files need no index", input.input.display())));
    };
    let limit = memory_limit(input)?;
    Ok(RecordsFile::open_all(&data::stores(), &paths, kind, limit)?)
}

/// Verifies every checksum, decodes every example, and compares the files with what the dataset declares.
pub(crate) fn check(args: &CheckArgs, out: &mut Output) -> Result<(), Failure> {
    let dataset = open(&args.common.input)?;
    let limit = memory_limit(&args.common.input)?;
    let shards = dataset.splits.iter().flat_map(|split| &split.shards);
    let progress = Progress::examples("checking", shards.map(|shard| shard.len).sum());
    let mut listed = FaultList::new(args.list, out);
    let checked = tesson_prepared::check(
        &data::stores(),
        &dataset,
        limit,
        &mut |error| listed.push(error, Severity::Fault),
        &mut |records| progress.at(records),
    )?;
    drop(progress);
    listed.end()?;
    let sum = CheckedRecords { records: checked.records, bytes: checked.bytes, faults: checked.faults };
    summary(checked.files, &sum, out)
}

fn open(input: &InputArgs) -> Result<Dataset, Failure> {
    Ok(tesson_prepared::open_all(&data::stores(), &input.paths(), None)?)
}
