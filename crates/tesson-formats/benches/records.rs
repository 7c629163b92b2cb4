//! Files of records from memory, in blocks of 512 KiB: millions of records and megabytes a second, on one core.
//!
//! `cargo bench -p tesson-formats --bench records`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use tesson_core::{InMemory, ResourceId};
use tesson_formats::record::{End, RecordFile, Records, Want};
use tesson_formats::{array_record, tfrecord};

/// An example of one integer, as TFDS writes it.
fn integer(n: u64) -> Vec<u8> {
    let value = [0x80 | n as u8, 0x80 | (n >> 7) as u8, (n >> 14 & 0x7F) as u8];
    let feature = [&[0x1A, 5, 0x0A, 3][..], &value].concat();
    let entry = [&[0x0A, 2, b'i', b'd', 0x12, feature.len() as u8][..], &feature].concat();
    let features = [&[0x0A, entry.len() as u8][..], &entry].concat();
    [&[0x0A, features.len() as u8][..], &features].concat()
}

/// Bytes that no compressor makes smaller.
fn noise(n: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(n).collect()
}

fn tfrecord_of(records: impl Iterator<Item = Vec<u8>>) -> InMemory<Vec<u8>> {
    let mut writer = tfrecord::write::Writer::new(Vec::new());
    records.for_each(|record| writer.record(&record).expect("memory takes all"));
    InMemory::new(writer.finish().expect("memory takes all"))
}

fn array_record_of(records: impl Iterator<Item = Vec<u8>>) -> InMemory<Vec<u8>> {
    let options = array_record::write::Options::TFDS;
    let mut writer = array_record::write::Writer::new(Vec::new(), options).expect("memory takes all");
    records.for_each(|record| writer.record(&record).expect("memory takes all"));
    InMemory::new(writer.finish().expect("memory takes all"))
}

fn read(file: &dyn RecordFile, bytes: &InMemory<Vec<u8>>, block: &mut Records) -> u64 {
    let mut n = 0;
    loop {
        let want = Want { first: n, most: u64::MAX, bytes: 512 << 10 };
        file.read(want, bytes, block).expect("the bytes are in memory");
        n += block.len() as u64;
        assert!(block.faults().is_empty(), "the file is well");
        if *block.end() != End::More {
            assert_eq!(*block.end(), End::File);
            return n;
        }
    }
}

fn measure(name: &str, bytes: &InMemory<Vec<u8>>, new: impl Fn() -> Box<dyn RecordFile>) {
    let mut block = Records::new();
    let mut best = f64::INFINITY;
    let mut n = 0;
    for _ in 0..7 {
        let start = Instant::now();
        n = read(&*new(), bytes, &mut block);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (records, megabytes) = (n as f64 / best / 1e6, bytes.bytes.len() as f64 / best / 1e6);
    println!("{name:<32} {records:>9.2} M records/s {megabytes:>9.0} MB/s");
}

fn main() {
    let id = || Box::new(tfrecord::TfRecordFile::new(ResourceId(0))) as Box<dyn RecordFile>;
    let array = || Box::new(array_record::ArrayRecordFile::new(ResourceId(0))) as Box<dyn RecordFile>;
    measure("tfrecord, one integer", &tfrecord_of((0..1 << 20).map(integer)), id);
    measure("tfrecord, 80 kB", &tfrecord_of((0..1000).map(|n| noise(80_000, n))), id);
    measure("array_record, one integer", &array_record_of((0..1 << 18).map(integer)), array);
    measure("array_record, 80 kB of noise", &array_record_of((0..300).map(|n| noise(80_000, n))), array);
    let words =
        |n: u64| format!("{n} words {} that repeat {} and go on ", n * 7, n / 3).repeat(200).into_bytes();
    measure("array_record, 8 kB of text", &array_record_of((0..3000).map(words)), array);
}
