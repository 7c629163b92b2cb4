use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::{file_of, new};
use crate::record::End;
use crate::record::testing::{Memory, read_all, read_every_way, some_records};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[test]
fn compressed_files_hold_what_was_compressed() {
    for data in [some_records(30, 60), some_records(40, 3000), vec![vec![5; 300_000]; 9], Vec::new()] {
        let whole = file_of(&data);
        for bytes in [gzip(&whole), zlib(&whole)] {
            let bytes = Memory::new(bytes);
            let (found, end) = read_every_way(&new, &bytes);
            let expected: Vec<_> = data.iter().cloned().map(Ok).collect();
            assert_eq!((found, end), (expected, End::File));
            assert!(!new().random_access(&bytes).expect("the bytes are in memory"));
            assert!(!new().is_plain(&bytes).expect("the bytes are in memory"));
        }
    }
}

#[test]
fn members_of_a_gzip_file_follow_each_other() {
    let data = some_records(20, 60);
    let (one, other) = data.split_at(11);
    let bytes = [gzip(&file_of(one)), gzip(&file_of(other))].concat();
    let (found, end) = read_every_way(&new, &Memory::new(bytes));
    assert_eq!((found, end), (data.into_iter().map(Ok).collect(), End::File));
}

#[test]
fn damage_of_a_compressed_file_is_found() {
    let data = some_records(8, 40);
    for whole in [gzip(&file_of(&data)), zlib(&file_of(&data))] {
        for cut in 12..whole.len() {
            let (found, end) = read_all(&*new(), &Memory::new(whole[..cut].to_vec()), 0, u64::MAX, u64::MAX);
            assert_eq!(found, data[..found.len()].iter().cloned().map(Ok).collect::<Vec<_>>());
            assert!(matches!(end, End::Damaged(_)), "cut at {cut}");
        }
        // Not the bytes of a gzip header that say nothing of the data.
        for at in 10..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x20;
            let (found, end) = read_all(&*new(), &Memory::new(bytes), 0, u64::MAX, u64::MAX);
            // Bits between the last block and what follows it mean nothing.
            let is_whole = found.iter().flatten().eq(&data) && end == End::File;
            let is_found = matches!(end, End::Damaged(_)) || found.iter().any(Result::is_err);
            assert!(is_found || is_whole, "byte {at}");
        }
        let (_, end) = read_every_way(&new, &Memory::new(whole[..whole.len() / 2].to_vec()));
        assert!(matches!(end, End::Damaged(_)));
    }
}

#[test]
fn a_damaged_file_that_looks_compressed_is_damaged() {
    // The length 0x9C78 begins as zlib does.
    let mut bytes = file_of(&[vec![1; 0x9C78]]);
    bytes[9] ^= 1;
    let (found, end) = read_every_way(&new, &Memory::new(bytes));
    assert!(found.is_empty());
    let End::Damaged(fault) = end else { panic!("the first checksum is wrong") };
    assert!(fault.to_string().contains("is this a TFRecord file at all?"), "{fault}");
}
