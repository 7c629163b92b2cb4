use std::sync::atomic::Ordering;

use super::{file_of, new};
use crate::record::testing::{Memory, read_every_way, read_rows, some_records};
use crate::record::{End, Fault, Problem};
use crate::tfrecord::crc::masked;

/// A header of a record of so many bytes, with its checksum.
fn header(length: u64) -> Vec<u8> {
    let bytes = length.to_le_bytes();
    let checksum = masked(crc32c::crc32c(&bytes)).to_le_bytes();
    [&bytes[..], &checksum].concat()
}

#[test]
fn every_flipped_bit_is_found_where_it_is() {
    let data = some_records(4, 30);
    let whole = file_of(&data);
    let starts: Vec<usize> =
        data.iter().scan(0, |at, r| Some(std::mem::replace(at, *at + r.len() + 16))).collect();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let record = starts.partition_point(|&start| start <= bit / 8) - 1;
        let (found, end) = read_every_way(&new, &Memory::new(bytes));
        let expected: Vec<_> = data.iter().take(record).cloned().map(Ok).collect();
        assert_eq!(found[..record], expected, "what stands before is read, bit {bit}");
        if bit / 8 < starts[record] + 12 {
            let End::Damaged(fault) = end else { panic!("bit {bit} is not found") };
            assert_eq!(
                (found.len(), fault.record, fault.offset),
                (record, record as u64, starts[record] as u64)
            );
            let first = record == 0;
            assert!(matches!(fault.problem, Problem::LengthChecksum { first: f, .. } if f == first));
        } else {
            let fault = found[record].clone().expect_err("the data are damaged");
            assert_eq!((fault.record, fault.offset), (record as u64, starts[record] as u64 + 12));
            assert!(matches!(fault.problem, Problem::DataChecksum { .. }));
            let behind: Vec<_> = data[record + 1..].iter().cloned().map(Ok).collect();
            assert_eq!((&found[record + 1..], end), (&behind[..], End::File));
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_says_where() {
    let data = some_records(4, 30);
    let whole = file_of(&data);
    let mut start = 0;
    for (n, record) in data.iter().enumerate() {
        for cut in start..start + record.len() + 16 {
            let (found, end) = read_every_way(&new, &Memory::new(whole[..cut].to_vec()));
            assert_eq!(found, data[..n].iter().cloned().map(Ok).collect::<Vec<_>>());
            let left = (cut - start) as u64;
            let needed = if left < 12 { 16 } else { record.len() as u64 + 16 };
            let problem = Problem::Truncated { needed, left };
            let fault = Fault { record: n as u64, offset: start as u64, problem };
            assert_eq!(end, if left == 0 { End::File } else { End::Damaged(fault) }, "cut at {cut}");
        }
        start += record.len() + 16;
    }
}

#[test]
fn a_length_beyond_the_file_reads_and_allocates_nothing() {
    for length in [40, 1 << 20, u64::from(u32::MAX), 1 << 40, u64::MAX - 15, u64::MAX] {
        let good = file_of(&["good"]);
        let bytes = Memory::new([&good[..], &header(length), &[7; 20]].concat());
        let (found, end) = read_every_way(&new, &bytes);
        assert_eq!(found, [Ok(b"good".to_vec())]);
        let problem = Problem::Truncated { needed: length.saturating_add(16), left: 32 };
        assert_eq!(end, End::Damaged(Fault { record: 1, offset: 20, problem }));
        assert!(bytes.longest_read.load(Ordering::Relaxed) <= bytes.bytes.len() as u64);
    }
}

#[test]
fn skipped_records_are_checked_by_their_lengths_alone() {
    let data = some_records(6, 30);
    let whole = file_of(&data);
    let mut bytes = whole.clone();
    bytes[13] ^= 0x10;
    let behind = |bytes: Vec<u8>| read_rows(&*new(), &Memory::new(bytes), &[4]);
    assert_eq!(behind(bytes.clone()), [Ok(data[4].clone())]);
    bytes[3] ^= 1;
    let fault = behind(bytes).remove(0).expect_err("nothing can be found behind a bad length");
    assert_eq!(fault.offset, 0);
}

#[test]
fn a_record_behind_the_last_one_is_said_to_be_absent() {
    let bytes = Memory::new(file_of(&["a", "b"]));
    let found = read_rows(&*new(), &bytes, &[1, 2, 7, 0]);
    assert_eq!((&found[0], &found[3]), (&Ok(b"b".to_vec()), &Ok(b"a".to_vec())));
    for (at, record) in [(1, 2), (2, 7)] {
        let fault = found[at].clone().expect_err("there is no such record");
        assert_eq!((fault.record, fault.problem), (record, Problem::Absent { records: 2 }));
    }
}

#[test]
fn messages_name_the_record_and_both_values() {
    let mut bytes = file_of(&["hello"]);
    bytes[14] ^= 1;
    let fault = read_rows(&*new(), &Memory::new(bytes), &[0]).remove(0).expect_err("it is damaged");
    let error = fault.in_file("data/a.tfrecord".as_ref());
    assert_eq!(
        error.to_string(),
        "data/a.tfrecord (byte 12): record 0: corrupted record: its data have the checksum 0xf4e76938, 0x191c1fbb is expected"
    );
    let (_, end) = read_every_way(&new, &Memory::new(b"PK\x03\x04 and so on, an archive".to_vec()));
    let End::Damaged(fault) = end else { panic!("an archive is no TFRecord file") };
    assert!(fault.to_string().ends_with("is expected; is this a TFRecord file at all?"), "{fault}");
}
