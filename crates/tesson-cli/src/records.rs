//! `tesson check`, `index`, `info` and `convert` on files of records.

use std::path::Path;

use tesson::{DataError, Error};
use tesson_engine::Severity;

use tesson_convert::records::{
    ArrayRecordOptions, CheckedRecords, Compression, RecordForm, RecordKind, RecordsFile,
};

use crate::args::{ConvertArgs, IndexArgs, InputArgs};
use crate::data;
use crate::failure::Failure;
use crate::fault_list::FaultList;
use crate::input::memory_limit;
use crate::output::{Output, count, counted, size};
use crate::progress::Progress;

/// The files of records that the arguments name.
pub(crate) fn files(input: &InputArgs) -> Result<Vec<RecordsFile>, Failure> {
    input.paths().iter().map(|path| open(path, input)).collect()
}

fn open(path: &Path, input: &InputArgs) -> Result<RecordsFile, Failure> {
    let Some(kind) = RecordKind::of(&data::stores(), path) else {
        let what = "expected one more file of records, *.tfrecord* or *.array_record*";
        return Err(Failure::Usage(format!("{}: {what}", path.display())));
    };
    Ok(RecordsFile::open(&data::stores(), path, kind, memory_limit(input)?)?)
}

/// Does something that reads a file from its beginning to its end, and shows how far it is.
fn while_reading<T>(file: &RecordsFile, what: &str, act: impl FnOnce() -> T) -> T {
    let stats = file.stats_reader();
    let done = move || {
        let stats = stats.read();
        // Bytes in memory are worked through without being read.
        stats.bytes_read.max(stats.bytes_indexed)
    };
    let before = done();
    Progress::watching(what, Some(file.size()), move || done() - before, act)
}

/// Looks at every checksum.
pub(crate) fn check(files: &[RecordsFile], most: u64, out: &mut Output) -> Result<(), Failure> {
    let mut sum = CheckedRecords::default();
    let mut listed = FaultList::new(most, out);
    for file in files {
        let mut list = |error: &DataError| listed.push(error, Severity::Fault);
        let check = || tesson_convert::records::check(file, &mut list, &mut |_| {});
        let checked = while_reading(file, "checking", check)?;
        sum.records += checked.records;
        sum.bytes += checked.bytes;
        sum.faults += checked.faults;
    }
    listed.end()?;
    summary(files.len() as u64, &sum, out)
}

/// Shows the summary of `n_files` files. Faults make it an error; they have been shown already.
pub(crate) fn summary(n_files: u64, sum: &CheckedRecords, out: &mut Output) -> Result<(), Failure> {
    if out.is_json() {
        let summary = serde_json::json!({
            "files": n_files, "records": sum.records, "bytes": sum.bytes, "faults": sum.faults,
        });
        out.json(&summary)?;
    } else {
        let faults = if sum.faults == 0 { "no faults".into() } else { counted(sum.faults, "fault") };
        out.line(&format!("{}, {}, {faults}", counted(sum.records, "record"), size(sum.bytes)))?;
    }
    if sum.faults > 0 { Err(Failure::FaultsFound) } else { Ok(()) }
}

/// Describes the files.
pub(crate) fn info(files: &[RecordsFile], out: &mut Output) -> Result<(), Failure> {
    for file in files {
        file.take_index(None);
        let (n, fault) = while_reading(file, "counting", || file.count())?;
        if let Some(fault) = fault {
            return Err(Error::from(fault.in_file(file.path())).into());
        }
        let name = file.path().to_string_lossy();
        let format = file.kind().name();
        out.answer(
            &serde_json::json!({"file": name, "format": format, "records": n, "bytes": file.size()}),
            &[("file", format!("{name} ({format}, {})", size(file.size()))), ("records", count(n))],
        )?;
    }
    Ok(())
}

/// Keeps where records are.
pub(crate) fn index(files: &[RecordsFile], args: &IndexArgs, out: &mut Output) -> Result<(), Failure> {
    for file in files {
        let cache = while_reading(file, "indexing", || file.write_index(args.cache_dir.as_deref()))?;
        let (n, _) = file.count()?;
        let shown = match &cache {
            Some(path) => {
                let bytes = data::size(path)?;
                format!("{} ({})", path.display(), size(bytes))
            }
            None if file.kind() == RecordKind::ArrayRecord => "none: the file holds its own index".into(),
            None => "none: the file is compressed, and read as a stream".into(),
        };
        let json = serde_json::json!({
            "file": file.path().to_string_lossy(),
            "cache": cache.as_ref().map(|path| path.to_string_lossy()),
            "records": n,
        });
        out.answer(&json, &[("cache", shown), ("records", count(n))])?;
    }
    Ok(())
}

/// Converts a file.
pub(crate) fn convert(args: &ConvertArgs, out: &mut Output) -> Result<(), Failure> {
    let path = &args.common.input.input;
    let declared = args.from.as_deref().and_then(RecordKind::parse);
    let from =
        declared.or_else(|| RecordKind::of(&data::stores(), path)).expect("the input is a file of records");
    let form = form(args)?;
    let limit = memory_limit(&args.common.input)?;
    let input = RecordsFile::open(&data::stores(), path, from, limit)?;
    let existing = args.existing();
    tesson_convert::check_output(&args.output, std::slice::from_ref(path), existing)?;
    let written = while_reading(&input, "converting", || {
        tesson_convert::records::convert(&input, &args.output, existing, form, &mut |_| {})
    })?;
    if args.verify {
        let kind = match form {
            RecordForm::TfRecord => RecordKind::TfRecord,
            RecordForm::ArrayRecord(_) => RecordKind::ArrayRecord,
        };
        let output = RecordsFile::open(&data::stores(), &args.output, kind, limit)?;
        while_reading(&input, "verifying", || tesson_convert::records::verify(&input, &output, &mut |_| {}))?;
    }
    let json = serde_json::json!({
        "output": args.output.to_string_lossy(), "bytes": written.bytes, "records": written.records,
        "verified": args.verify,
    });
    let mut pairs = vec![
        ("output", format!("{} ({})", args.output.display(), size(written.bytes))),
        ("records", count(written.records)),
    ];
    if args.verify {
        pairs.push(("verified", "every record, byte for byte".into()));
    }
    Ok(out.answer(&json, &pairs)?)
}

fn form(args: &ConvertArgs) -> Result<RecordForm, Failure> {
    let to = match args.to.as_deref() {
        Some(name) => RecordKind::parse(name),
        None => RecordKind::of_name(&args.output),
    };
    match to {
        Some(RecordKind::TfRecord) => match (args.uncompressed, args.group_size) {
            (false, None) => Ok(RecordForm::TfRecord),
            (uncompressed, _) => Err(Failure::Usage(format!(
                "{}: {} is a TFRecord file, the option is for ArrayRecord (`--to array_record`); leave it out",
                if uncompressed { "--uncompressed" } else { "--group-size" },
                args.output.display()
            ))),
        },
        Some(RecordKind::ArrayRecord) => Ok(RecordForm::ArrayRecord(ArrayRecordOptions {
            group_size: args.group_size.unwrap_or(1),
            compression: if args.uncompressed { Compression::None } else { Compression::Zstd },
        })),
        None => Err(Failure::Usage(format!(
            "{}: records are written to `tfrecord` or `array_record`; name the format with --to",
            args.output.display()
        ))),
    }
}
