//! Several threads that ask the same file at the same time.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use tesson_core::{Error, Fetch, ReadContext, ResourceId};

use super::{file_of, new};
use crate::record::testing::{Memory, found, some_records};
use crate::record::{RecordFile, Records, Want};

/// Bytes in memory. When they are asked for something the n-th time, another thread comes first and looks for a record.
struct Meanwhile<'a> {
    bytes: &'a Memory,
    file: &'a dyn RecordFile,
    calls: AtomicUsize,
    n: usize,
    looks_for: u64,
}

impl Meanwhile<'_> {
    fn another_comes_first(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.n {
            self.file.reaches(self.looks_for, self.bytes).expect("the bytes are in memory");
        }
    }
}

impl Fetch for Meanwhile<'_> {
    fn size(&self, resource: ResourceId) -> Result<u64, Error> {
        self.another_comes_first();
        self.bytes.size(resource)
    }

    fn is_embedded(&self, resource: ResourceId) -> Result<bool, Error> {
        self.bytes.is_embedded(resource)
    }

    fn read_after(
        &self,
        resource: ResourceId,
        range: Range<u64>,
        keep: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.another_comes_first();
        self.bytes.read_after(resource, range, keep, into)
    }

    fn mapped(&self, _: ResourceId, _: Range<u64>) -> Option<&[u8]> {
        None
    }

    fn will_need(&self, _: ResourceId, _: Range<u64>) {}

    fn context(&self) -> &dyn ReadContext {
        self.bytes
    }
}

/// Calls `ask` with a new file again and again; each time another thread comes before another call for bytes.
fn whenever_another_comes(bytes: &Memory, looks_for: u64, ask: &dyn Fn(&dyn RecordFile, &dyn Fetch)) {
    for n in 0.. {
        let file = new();
        let fetch = Meanwhile { bytes, file: &*file, calls: AtomicUsize::new(0), n, looks_for };
        ask(&*file, &fetch);
        if fetch.calls.into_inner() <= n {
            assert!(n > 2, "nothing was read");
            return;
        }
    }
}

#[test]
fn answers_do_not_depend_on_what_other_threads_have_found_meanwhile() {
    let whole = file_of(&some_records(9, 400));
    let cut = whole[..whole.len() - 3].to_vec();
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("it holds records") ^= 1;
    let long = file_of(&some_records(60, 9000));
    for bytes in [whole, cut, damaged, long].map(Memory::new) {
        let expected = new().count(&bytes).expect("the bytes are in memory");
        let (n, _) = expected;
        let mut records = Records::new();
        let want = Want { first: n / 2, most: u64::MAX, bytes: u64::MAX };
        new().read(want, &bytes, &mut records).expect("the bytes are in memory");
        let (second_half, end) = (found(&records), records.end().clone());
        for looks_for in [1, n / 2, n - 1, n, n + 1] {
            whenever_another_comes(&bytes, looks_for, &|file, fetch| {
                assert_eq!(file.count(fetch).expect("the bytes are in memory"), expected);
            });
            for records in [n - 1, n, n + 1] {
                whenever_another_comes(&bytes, looks_for, &|file, fetch| {
                    let reaches = file.reaches(records, fetch).expect("the bytes are in memory");
                    assert_eq!(reaches, Some(n >= records), "{records} of {n}");
                });
            }
            whenever_another_comes(&bytes, looks_for, &|file, fetch| {
                let mut records = Records::new();
                file.read(want, fetch, &mut records).expect("the bytes are in memory");
                assert_eq!((found(&records), records.end()), (second_half.clone(), &end));
                let mut records = Records::new();
                file.read(Want { first: n, ..want }, fetch, &mut records).expect("the bytes are in memory");
                assert_eq!((records.len(), records.end()), (0, &end));
            });
        }
    }
}
