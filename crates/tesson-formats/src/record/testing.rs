//! Files in memory, and all that can be asked of a file of records, for tests.

use tesson_core::InMemory;

use super::{End, Fault, RecordFile, Records, Want};

/// A file in memory.
pub(crate) type Memory = InMemory<Vec<u8>>;

/// A record, or what is wrong with it.
pub(crate) type Found = Result<Vec<u8>, Fault>;

/// The records of a block.
pub(crate) fn found(records: &Records) -> Vec<Found> {
    let found = |i: usize| records.fault(i).map_or_else(|| Ok(records.get(i).to_vec()), |f| Err(f.clone()));
    (0..records.len()).map(found).collect()
}

/// All records from `first` on, in blocks of so many records and bytes, and how the file ends.
pub(crate) fn read_all(
    file: &dyn RecordFile,
    bytes: &Memory,
    first: u64,
    most: u64,
    block: u64,
) -> (Vec<Found>, End) {
    let (mut records, mut all) = (Records::new(), Vec::new());
    loop {
        let want = Want { first: first + all.len() as u64, most, bytes: block };
        file.read(want, bytes, &mut records).expect("the bytes are in memory");
        for i in 0..records.len() {
            assert_eq!(records.number(i), want.first + i as u64);
        }
        all.extend(found(&records));
        if *records.end() != End::More {
            return (all, records.end().clone());
        }
        assert!(!records.is_empty(), "a block without a record and without an end");
    }
}

/// These records, each by itself.
pub(crate) fn read_rows(file: &dyn RecordFile, bytes: &Memory, rows: &[u64]) -> Vec<Found> {
    let (mut records, mut all) = (Records::new(), Vec::new());
    while all.len() < rows.len() {
        file.read_rows(&rows[all.len()..], bytes, &mut records).expect("the bytes are in memory");
        assert!(!records.is_empty(), "the first one always comes");
        let numbers: Vec<u64> = (0..records.len()).map(|i| records.number(i)).collect();
        assert_eq!(numbers, rows[all.len()..][..records.len()]);
        all.extend(found(&records));
    }
    all
}

/// Checks that a file gives the same however it is read, and returns that: by blocks of any size, by rows forwards and
/// backwards, by a file object that knows nothing and one that knows all.
pub(crate) fn read_every_way(new: &dyn Fn() -> Box<dyn RecordFile>, bytes: &Memory) -> (Vec<Found>, End) {
    let whole = read_all(&*new(), bytes, 0, u64::MAX, u64::MAX);
    let n = whole.0.len() as u64;
    let known = new();
    for (most, block) in [(1, 1), (3, u64::MAX), (u64::MAX, 1), (u64::MAX, 100), (7, 5000)] {
        assert_eq!(read_all(&*known, bytes, 0, most, block), whole, "by {most} and {block} bytes");
        for first in 0..n.min(12) {
            let from = read_all(&*new(), bytes, first, most, block);
            assert_eq!((&from.0[..], &from.1), (&whole.0[first as usize..], &whole.1), "from {first}");
        }
    }
    let forwards: Vec<u64> = (0..n).collect();
    let backwards: Vec<u64> = (0..n).rev().collect();
    for file in [&known, &new()] {
        assert_eq!(read_rows(&**file, bytes, &forwards), whole.0);
        let mut found = read_rows(&**file, bytes, &backwards);
        found.reverse();
        assert_eq!(found, whole.0);
    }
    let fault = if let End::Damaged(fault) = &whole.1 { Some(fault.clone()) } else { None };
    assert_eq!(new().count(bytes).expect("the bytes are in memory"), (n, fault));
    for records in (0..=n + 1).step_by(1 + n as usize / 50).chain(n..=n + 1) {
        for file in [&known, &new()] {
            let reaches = file.reaches(records, bytes).expect("the bytes are in memory");
            assert!(reaches.is_none_or(|reaches| reaches == (n >= records)), "{records} of {n}");
        }
    }
    whole
}

/// Records of sizes that follow no pattern, `largest` at most.
pub(crate) fn some_records(n: usize, largest: usize) -> Vec<Vec<u8>> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    (0..n).map(|_| (0..next() % (largest + 1)).map(|_| next() as u8).collect()).collect()
}
