//! Files of records from outside: read in every way, with the same answer or the same complaint.

use tesson_convert::records::{End, Fault, RecordFile, RecordKind, Records, Want};
use tesson_core::{InMemory, ResourceId};

/// The distance from one block header of an ArrayRecord file to the next.
const BLOCK: usize = 1 << 16;

/// A TFRecord file.
pub fn tfrecord_read(bytes: &[u8]) {
    read_every_way(RecordKind::TfRecord, bytes);
}

/// Checks an ArrayRecord file in a short form without padding: the size of its front in two bytes, the front, and the
/// beginning of its last 64 KiB.
pub fn array_record_read(bytes: &[u8]) {
    let Some((size, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (front, back) = rest.split_at(rest.len().min(u16::from_le_bytes(*size).into()));
    let mut file = front.to_vec();
    file.resize(front.len().next_multiple_of(BLOCK).max(BLOCK), 0);
    file.extend(back);
    file.resize(file.len().next_multiple_of(BLOCK), 0);
    read_every_way(RecordKind::ArrayRecord, &file);
}

/// A file in memory.
type Memory<'a> = InMemory<&'a [u8]>;

type Found = Vec<Result<Vec<u8>, Fault>>;

fn read_every_way(kind: RecordKind, bytes: &[u8]) {
    for largest in [1 << 20, 4 << 10] {
        let bytes = Memory { largest, ..Memory::new(bytes) };
        let new = || kind.reader(ResourceId(0));
        let whole = in_blocks(&*new(), &bytes, u64::MAX, u64::MAX);
        let known = new();
        for (most, block) in [(1, 1), (3, u64::MAX), (u64::MAX, 50)] {
            assert_eq!(in_blocks(&*known, &bytes, most, block), whole, "by {most} and {block} bytes");
        }
        let backwards: Vec<u64> = (0..whole.0.len() as u64).rev().collect();
        for file in [&known, &new()] {
            let mut found = by_rows(&**file, &bytes, &backwards);
            found.reverse();
            assert_eq!(found, whole.0, "one by one");
        }
        let fault = if let End::Damaged(fault) = whole.1 { Some(fault) } else { None };
        assert_eq!(known.count(&bytes).expect("the bytes are in memory"), (whole.0.len() as u64, fault));
        if let Some(saved) = known.save() {
            let restored = new();
            assert!(restored.restore(&saved, bytes.bytes.len() as u64), "what was saved comes back");
            assert_eq!(in_blocks(&*restored, &bytes, 2, u64::MAX).0, whole.0, "by a kept index");
        }
    }
}

fn in_blocks(file: &dyn RecordFile, bytes: &Memory<'_>, most: u64, block: u64) -> (Found, End) {
    let (mut records, mut all) = (Records::new(), Vec::new());
    loop {
        let want = Want { first: all.len() as u64, most, bytes: block };
        file.read(want, bytes, &mut records).expect("the bytes are in memory");
        all.extend(found(&records));
        match records.end() {
            End::More => assert!(!records.is_empty(), "a block without a record and without an end"),
            end => return (all, end.clone()),
        }
    }
}

fn by_rows(file: &dyn RecordFile, bytes: &Memory<'_>, rows: &[u64]) -> Found {
    let (mut records, mut all) = (Records::new(), Vec::new());
    while all.len() < rows.len() {
        file.read_rows(&rows[all.len()..], bytes, &mut records).expect("the bytes are in memory");
        assert!(!records.is_empty(), "the first one always comes");
        all.extend(found(&records));
    }
    all
}

fn found(records: &Records) -> impl Iterator<Item = Result<Vec<u8>, Fault>> {
    let found = |i| records.fault(i).map_or_else(|| Ok(records.get(i).to_vec()), |fault| Err(fault.clone()));
    (0..records.len()).map(found)
}
