//! Tests of files as a whole.

mod compressed;
mod damage;
mod reading;
mod threads;

use tesson_core::ResourceId;

use super::TfRecordFile;
use super::write::Writer;
use crate::record::RecordFile;

/// A file of these records.
fn file_of<T: AsRef<[u8]>>(records: &[T]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    records.iter().for_each(|record| writer.record(record.as_ref()).expect("memory takes all"));
    writer.finish().expect("memory takes all")
}

fn new() -> Box<dyn RecordFile> {
    Box::new(TfRecordFile::new(ResourceId(0)))
}
