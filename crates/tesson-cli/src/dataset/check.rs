//! `tesson check` and `tesson index` on a prepared dataset: on all of its files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tesson::records::{self, CheckedRecords, RecordKind, RecordsFile};
use tesson::tfds::{self, Dataset, Shard};
use tesson::{DataError, DataErrorKind, Error, Location, StoreError};
use tesson_engine::Severity;

use crate::args::InputArgs;
use crate::check::show;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Progress;
use crate::records::{memory_limit, summary};

/// Whether the arguments name a dataset's directory.
pub(crate) fn is_directory(input: &InputArgs) -> bool {
    input.input.is_dir()
}

/// The files of all splits; one that is missing is an error.
pub(crate) fn files(input: &InputArgs) -> Result<Vec<RecordsFile>, Failure> {
    let dataset = open(input)?;
    shards(&dataset).map(|shard| open_file(&dataset, shard, input)).collect()
}

/// Looks at every checksum, and whether the files hold what the dataset says.
pub(crate) fn check(input: &InputArgs, out: &mut Output) -> Result<(), Failure> {
    let dataset = open(input)?;
    let mut sum = CheckedRecords::default();
    let mut n_files = 0u64;
    let _progress = Progress::spinner("checking");
    for shard in shards(&dataset) {
        n_files += 1;
        let path = path(&dataset, shard);
        if !path.is_file() {
            sum.faults += 1;
            show(&fault(&path, "the shard is missing".into()), Severity::Fatal, out)?;
            continue;
        }
        let file = open_file(&dataset, shard, input)?;
        let mut written = Ok(());
        let mut each = |error: &DataError| {
            if written.is_ok() {
                written = show(error, Severity::Fault, out);
            }
        };
        let checked = records::check(&file, &mut each, &mut |_| {})?;
        written?;
        if checked.records != shard.len {
            sum.faults += 1;
            let what = format!("{} records, dataset_info.json says {}", checked.records, shard.len);
            show(&fault(&path, what), Severity::Fatal, out)?;
        }
        sum.records += checked.records;
        sum.bytes += checked.bytes;
        sum.faults += checked.faults;
    }
    summary(n_files, &sum, out)
}

fn open(input: &InputArgs) -> Result<Dataset, Failure> {
    let others = input.arguments.iter().map(PathBuf::from);
    let directories: Vec<PathBuf> = std::iter::once(input.input.clone()).chain(others).collect();
    Ok(tfds::open_all(&directories, None)?)
}

fn shards(dataset: &Dataset) -> impl Iterator<Item = &Shard> {
    dataset.splits.iter().flat_map(|split| &split.shards)
}

fn path(dataset: &Dataset, shard: &Shard) -> PathBuf {
    Path::new(&dataset.directories[shard.directory]).join(&shard.file)
}

fn open_file(dataset: &Dataset, shard: &Shard, input: &InputArgs) -> Result<RecordsFile, Failure> {
    let path = path(dataset, shard);
    let format = dataset.file_format.suffix();
    let Some(kind) = RecordKind::parse(format) else {
        return Err(Failure::Usage(format!("{}: {format} files cannot be checked yet", path.display())));
    };
    if let Err(error) = fs::metadata(&path)
        && error.kind() == io::ErrorKind::NotFound
    {
        return Err(Error::from(StoreError::new(path.into(), None, error)).into());
    }
    Ok(RecordsFile::open(&path, kind, memory_limit(input)?)?)
}

fn fault(path: &Path, what: String) -> DataError {
    let at = Location { file: path.into(), offset: 0, line: None };
    DataError::new(DataErrorKind::Malformed { what }, at)
}
