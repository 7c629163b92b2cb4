//! The recorded shards of prepared datasets: every one holds as many records as its `dataset_info.json` says, but those
//! that were damaged or made shorter or longer on purpose.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tesson_core::ResourceId;

use super::testing::{Found, Memory, read_all, read_every_way};
use super::{End, Fault, Problem, RecordFile};
use crate::array_record::ArrayRecordFile;
use crate::tfrecord::TfRecordFile;

fn new(path: &Path) -> Option<Box<dyn RecordFile>> {
    let name = path.file_name()?.to_str()?;
    if name.contains(".tfrecord-") {
        Some(Box::new(TfRecordFile::new(ResourceId(0))))
    } else if name.contains(".array_record-") {
        Some(Box::new(ArrayRecordFile::new(ResourceId(0))))
    } else {
        None
    }
}

fn read(path: &Path) -> (Vec<Found>, End) {
    let bytes = Memory::new(fs::read(path).expect("the file can be read"));
    read_every_way(&|| new(path).expect("it is a file of records"), &bytes)
}

/// Shards that hold something else than their dataset says, by case and shard, and what they hold.
const OTHERS: &[(&str, &str)] = &[
    ("array-record-damaged", "hash"),
    ("bad-data-crc", "checksum"),
    ("bad-data-crc-interleaved", "checksum"),
    ("bad-length-crc", "checksum"),
    ("damage-after-take", "checksum"),
    ("empty-shard-file", "count"),
    ("skipped-damage", "checksum"),
    ("too-few-records", "count"),
    ("too-few-records-allowed", "count"),
    ("too-many-records", "count"),
    ("trailing-byte", "truncated"),
    ("trailing-zeros", "checksum"),
    ("truncated-data", "truncated"),
    ("truncated-header", "truncated"),
];

/// The class of a shard's fault, if it has one; it should have `n` records.
fn odd(path: &Path, n: u64) -> Option<&'static str> {
    let (found, end) = read(path);
    let ending = if let End::Damaged(fault) = end { Some(fault) } else { None };
    let problem = found.iter().find_map(|f| f.clone().err()).or(ending).map(|fault| fault.problem);
    match problem {
        None if found.len() as u64 == n => None,
        None => Some("count"),
        Some(Problem::Truncated { .. }) => Some("truncated"),
        Some(Problem::Hash { .. }) => Some("hash"),
        Some(Problem::LengthChecksum { .. } | Problem::DataChecksum { .. }) => Some("checksum"),
        Some(other) => panic!("{}: {other}", path.display()),
    }
}

/// All folders below with a `dataset_info.json`.
fn datasets(below: &Path, into: &mut Vec<PathBuf>) {
    if below.join("dataset_info.json").is_file() {
        into.push(below.into());
    }
    let entries = fs::read_dir(below).expect("the folder can be read");
    let mut entries: Vec<PathBuf> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    entries.sort();
    entries.iter().filter(|path| path.is_dir()).for_each(|path| datasets(path, into));
}

#[test]
fn recorded_shards_hold_what_their_datasets_say() {
    let root = tesson_case_lookup::area("tfds");
    let mut folders = Vec::new();
    datasets(&root, &mut folders);
    let (mut shards, mut others) = (0, Vec::new());
    for folder in folders {
        let text = fs::read_to_string(folder.join("dataset_info.json")).expect("the file can be read");
        let Ok(info) = serde_json::from_str::<Json>(&text) else { continue };
        let splits = info["splits"].as_array().cloned().unwrap_or_default();
        for split in splits {
            let lengths = split["shardLengths"].as_array().or(split["shard_lengths"].as_array());
            for (i, length) in lengths.into_iter().flatten().enumerate() {
                let length = length.as_u64().or_else(|| length.as_str()?.parse().ok()).expect("a number");
                let name = split["name"].as_str().expect("a split has a name");
                let of = format!("-{i:05}-of-{:05}", lengths.map_or(0, Vec::len));
                let matches = |path: &PathBuf| {
                    let file = path.file_name().and_then(|f| f.to_str()).unwrap_or_default();
                    file.contains(&format!("-{name}.")) && file.ends_with(&of) && new(path).is_some()
                };
                let entries = fs::read_dir(&folder).expect("the folder can be read");
                for path in entries.map(|e| e.expect("the folder can be read").path()).filter(matches) {
                    shards += 1;
                    let case = folder.strip_prefix(&root).expect("it lies below").iter().next();
                    let case = case.and_then(|c| c.to_str()).expect("cases have plain names").to_owned();
                    others.extend(odd(&path, length).map(|what| (case, what)));
                }
            }
        }
    }
    assert!(shards > 50, "{shards} shards were read");
    others.sort();
    others.dedup();
    let others: Vec<(&str, &str)> = others.iter().map(|(case, what)| (case.as_str(), *what)).collect();
    assert_eq!(others, OTHERS);
}

#[test]
fn a_damaged_chunk_is_named_with_both_hashes_as_the_reference_names_it() {
    let case = tesson_case_lookup::case("tfds/array-record-damaged");
    let path = case.join("data/arrays1-train.array_record-00000-of-00001");
    let bytes = Memory::new(fs::read(&path).expect("the file can be read"));
    let (found, _) = read_all(&*new(&path).expect("it is one"), &bytes, 0, u64::MAX, u64::MAX);
    let (good, damaged): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    assert_eq!((good.len() > 1, damaged.len()), (true, 1));
    let problem = Problem::Hash {
        of: "chunk data",
        found: 0x8097_9dfb_a196_ae80,
        expected: 0xe504_0d9e_b014_33b7,
        chunk: 182,
    };
    assert_eq!(damaged[0], Err(Fault { record: 1, offset: 182, problem }));
}
