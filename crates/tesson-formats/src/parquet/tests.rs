//! Files written by the library, read in every way.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tesson_core::ResourceId;

use super::ParquetFile;
use crate::record::testing::{Memory, read_all, read_every_way, read_rows, some_records};
use crate::record::{End, Problem, RecordFile};

fn new() -> Box<dyn RecordFile> {
    Box::new(ParquetFile::new(ResourceId(0)))
}

/// A file of groups of so many rows; an empty record is a row without an example.
fn file_of(records: &[Vec<u8>], column: &str, group: usize, compression: Compression) -> Vec<u8> {
    let schema = parse_message_type(&format!("message schema {{ optional binary {column}; }}"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = Arc::new(schema.expect("it is one"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("memory takes all");
    for rows in records.chunks(group) {
        let mut group = writer.next_row_group().expect("memory takes all");
        let mut columns = group.next_column().expect("memory takes all").expect("there is one");
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(!row.is_empty())).collect();
        let values: Vec<ByteArray> =
            rows.iter().filter(|row| !row.is_empty()).map(|row| row.clone().into()).collect();
        let batch = columns.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None);
        batch.expect("memory takes all");
        columns.close().expect("memory takes all");
        group.close().expect("memory takes all");
    }
    writer.into_inner().expect("memory takes all")
}

#[test]
fn files_are_the_same_however_they_are_read() {
    let records: Vec<_> = some_records(50, 300).into_iter().filter(|record| !record.is_empty()).collect();
    for (group, compression) in
        [(100, Compression::SNAPPY), (7, Compression::SNAPPY), (1, Compression::UNCOMPRESSED)]
    {
        let bytes = Memory::new(file_of(&records, "data", group, compression));
        let (found, end) = read_every_way(&new, &bytes);
        assert_eq!((found, end), (records.iter().cloned().map(Ok).collect(), End::File));
    }
    let (found, end) = read_every_way(&new, &Memory::new(file_of(&[], "data", 9, Compression::SNAPPY)));
    assert_eq!((found, end), (vec![], End::File));
}

#[test]
fn a_row_without_an_example_is_a_fault_and_one_that_is_not_there_is_absent() {
    let bytes = Memory::new(file_of(&[vec![1], vec![], vec![3]], "data", 2, Compression::SNAPPY));
    let found = read_rows(&*new(), &bytes, &[2, 1, 0, 3]);
    assert_eq!((&found[0], &found[2]), (&Ok(vec![3]), &Ok(vec![1])));
    let of = |i: usize| found[i].clone().expect_err("it cannot be had").problem;
    assert_eq!(of(1), Problem::NoExample);
    assert_eq!(of(3), Problem::Absent { records: 3 });
}

#[test]
fn other_files_and_damaged_ones_are_refused_and_nothing_panics() {
    let records = some_records(20, 40);
    let refused = |bytes: Vec<u8>| match read_all(&*new(), &Memory::new(bytes), 0, u64::MAX, u64::MAX) {
        (_, End::Damaged(fault)) => fault.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused(file_of(&records, "other", 9, Compression::SNAPPY)).contains("no column `data`"));
    let whole = file_of(&records, "data", 9, Compression::SNAPPY);
    for cut in [0, 4, 11, whole.len() / 2, whole.len() - 1] {
        refused(whole[..cut].to_vec());
    }
    // Pages need have no checksums: what is asked for is an answer, or an error.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        read_all(&*new(), &Memory::new(bytes), 0, u64::MAX, u64::MAX);
    }
}
