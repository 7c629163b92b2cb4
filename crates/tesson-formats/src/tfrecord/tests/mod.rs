//! Tests of files as a whole.

mod compressed;
mod damage;
mod reading;

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

/// Records of sizes that follow no pattern, `largest` at most.
fn records(n: usize, largest: usize) -> Vec<Vec<u8>> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    (0..n).map(|_| (0..next() % (largest + 1)).map(|_| next() as u8).collect()).collect()
}

fn new() -> Box<dyn RecordFile> {
    Box::new(TfRecordFile::new(ResourceId(0)))
}
