use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::{file_of, new};
use crate::record::testing::{Memory, read_all, read_every_way, read_rows, some_records};
use crate::record::{End, Problem, RecordSpan};
use crate::tfrecord::crc::{Kernel, Plain, masked};
use crate::tfrecord::scan::{Stop, scan, scan_with};

fn check(records: &[Vec<u8>]) {
    let bytes = Memory::new(file_of(records));
    let (found, end) = read_every_way(&new, &bytes);
    let expected: Vec<_> = records.iter().cloned().map(Ok).collect();
    assert_eq!((found, end), (expected, End::File));
}

#[test]
fn a_record_is_written_as_the_specification_shows_it() {
    let hello =
        [5, 0, 0, 0, 0, 0, 0, 0, 0xEA, 0xB2, 4, 0x3E, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0xBB, 0x1F, 0x1C, 0x19];
    assert_eq!(file_of(&["hello"]), hello);
    assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(masked(0xE306_9283), 0xC78A_B0E5);
}

#[test]
fn files_are_the_same_however_they_are_read() {
    check(&[]);
    check(&[vec![]]);
    check(&some_records(40, 60));
    check(&some_records(25, 9000));
    check(&[vec![1; 70_000], vec![], vec![2; 200_000], vec![3; 5], vec![4; 66_000]]);
}

#[test]
fn kernels_agree_on_data_of_any_size() {
    let data: Vec<u8> = some_records(1, 4096).concat().into_iter().cycle().take(1500).collect();
    // An interpreter that watches over memory takes minutes for a few of them.
    for size in (0..1400).step_by(if cfg!(miri) { 97 } else { 1 }) {
        // Data stand anywhere, and with as little behind them as there can be.
        for from in [0, 1, 3, 7] {
            for behind in [4, 5, 11, 40] {
                let slice = &data[from..from + size + behind];
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                if let Some(kernel) = crate::tfrecord::crc::Instruction::detect() {
                    assert_eq!(kernel.of_data(slice, size), Plain.of_data(slice, size), "{size} bytes");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn kernels_find_the_same_records(mut sizes in prop::collection::vec(0..700_usize, 0..20), flips in prop::collection::vec(any::<prop::sample::Index>(), 0..3), cut in any::<prop::sample::Index>()) {
        sizes.push(1);
        let data: Vec<Vec<u8>> = sizes.iter().map(|&n| (0..n).map(|i| (i * n) as u8).collect()).collect();
        let mut bytes = file_of(&data);
        for flip in flips {
            let at = flip.index(bytes.len());
            bytes[at] ^= 1 << (at % 8);
        }
        bytes.truncate(bytes.len() - cut.index(sizes.len() * 8));
        let (mut places, mut wrong): (Vec<RecordSpan>, _) = (Vec::new(), Vec::new());
        let fast = scan(&bytes, 0, usize::MAX, &mut places, &mut wrong);
        let (mut plain_places, mut plain_wrong) = (Vec::new(), Vec::new());
        let plain = scan_with(Plain, &bytes, 0, usize::MAX, &mut plain_places, &mut plain_wrong);
        prop_assert_eq!((fast, places, wrong), (plain, plain_places, plain_wrong));
    }
}

#[test]
fn a_pass_ends_where_it_was_told_to() {
    let bytes = file_of(&["a", "bc", "def"]);
    let (mut places, mut wrong) = (Vec::new(), Vec::new());
    assert_eq!(scan(&bytes, 0, 2, &mut places, &mut wrong), (17 + 18, Stop::Enough));
    assert_eq!(places, [RecordSpan { start: 12, size: 1 }, RecordSpan { start: 29, size: 2 }]);
    assert_eq!(scan(&bytes, 35, 9, &mut places, &mut wrong), (54, Stop::Short { size: None }));
}

#[test]
fn what_is_behind_the_last_record_wanted_is_not_looked_at() {
    let mut bytes = file_of(&some_records(30, 50));
    let end = bytes.len();
    let whole = read_all(&*new(), &Memory::new(bytes.clone()), 0, u64::MAX, u64::MAX).0;
    bytes[end - 1] ^= 1;
    let mut block = crate::record::Records::new();
    let want = crate::record::Want { first: 0, most: 29, bytes: u64::MAX };
    new().read(want, &Memory::new(bytes), &mut block).expect("the bytes are in memory");
    assert_eq!(block.end(), &End::More);
    assert_eq!(crate::record::testing::found(&block), whole[..29]);
}

#[test]
fn single_records_cost_little_reading_once_the_file_is_known() {
    let bytes = Memory::new(file_of(&some_records(3000, 60)));
    let file = new();
    file.count(&bytes).expect("the bytes are in memory");
    let restored = new();
    assert!(restored.restore(&file.save().expect("the file is well"), bytes.bytes.len() as u64));
    bytes.longest_read.store(0, Ordering::Relaxed);
    let expected = read_rows(&*file, &bytes, &[2999, 0, 17, 1500, 1501]);
    assert!(bytes.longest_read.load(Ordering::Relaxed) < 4200);
    assert_eq!(read_rows(&*restored, &bytes, &[2999, 0, 17, 1500, 1501]), expected);
    assert!(!restored.restore(&[], bytes.bytes.len() as u64));
}

#[test]
fn a_record_that_no_buffer_holds_is_passed_over() {
    let data = [vec![1; 10], vec![2; 5000], vec![3; 10]];
    let mut bytes = Memory::new(file_of(&data));
    bytes.largest = 4096;
    let (found, end) = read_every_way(&new, &bytes);
    assert_eq!(end, End::File);
    assert_eq!((&found[0], &found[2]), (&Ok(data[0].clone()), &Ok(data[2].clone())));
    let fault = found[1].clone().expect_err("it is too large");
    assert_eq!((fault.record, fault.offset), (1, 26));
    assert_eq!(fault.problem, Problem::TooLarge { found: 5000, limit: 4080 });
}

#[test]
fn rows_that_fit_no_buffer_together_come_in_several() {
    let data: Vec<Vec<u8>> = (0..9).map(|i| vec![i; 1000]).collect();
    let mut bytes = Memory::new(file_of(&data));
    bytes.largest = 2500;
    let rows = [8, 1, 2, 3, 4, 0];
    let expected: Vec<_> = rows.iter().map(|&row| Ok(data[row as usize].clone())).collect();
    assert_eq!(read_rows(&*new(), &bytes, &rows), expected);
}
