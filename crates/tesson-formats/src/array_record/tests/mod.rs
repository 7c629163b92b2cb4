//! Tests of files as a whole.

mod damage;
mod reading;

use tesson_core::ResourceId;

use super::ArrayRecordFile;
use super::write::{Compression, Options, Writer};
use crate::record::RecordFile;

const NONE: Options = Options { group_size: 1, compression: Compression::None };

/// A file of these records.
fn file_of<T: AsRef<[u8]>>(records: &[T], options: Options) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), options).expect("memory takes all");
    records.iter().for_each(|record| writer.record(record.as_ref()).expect("memory takes all"));
    let n = writer.records();
    assert_eq!(n, records.len() as u64);
    writer.finish().expect("memory takes all")
}

fn new() -> Box<dyn RecordFile> {
    Box::new(ArrayRecordFile::new(ResourceId(0)))
}
