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

/// A stream of brotli that holds bytes as they are, for which no compressor is needed: a window of 2^16 (one bit), blocks
/// that say that they are not compressed, and an empty last one.
pub(super) fn brotli(bytes: &[u8], into: &mut Vec<u8>) {
    let mut window_bits = 1;
    for block in bytes.chunks(1 << 16) {
        let head = (block.len() as u32 - 1) << 3 | 1 << 19;
        into.extend_from_slice(&(head << window_bits).to_le_bytes()[..3]);
        into.extend_from_slice(block);
        window_bits = 0;
    }
    into.push(0b11 << window_bits);
}

const COMPRESSIONS: [Compression; 4] =
    [Compression::None, Compression::Zstd, Compression::Snappy, Compression::Brotli];

fn new() -> Box<dyn RecordFile> {
    Box::new(ArrayRecordFile::new(ResourceId(0)))
}
