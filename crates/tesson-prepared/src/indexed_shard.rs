//! The index that was kept of a shard, taken when a reader jumps into it.
//!
//! Who reads a file from its beginning learns where its records are; who jumps would have to walk there first, which an
//! index saves. It is looked for beside the file, or in the folder that `TESSON_INDEX_DIR` names. `tesson index` makes it.

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tesson_core::{Error, Fetch};
use tesson_engine::record_index::{self, Stamp};
use tesson_formats::record::{Fault, RecordFile, Records, Want};

/// A shard, and what was kept of it.
pub(super) struct IndexedShard {
    file: Box<dyn RecordFile>,
    path: PathBuf,
    stamp: Stamp,
    /// Records that have been read from the beginning on.
    reached: AtomicU64,
    looked: AtomicBool,
}

impl IndexedShard {
    pub(super) fn new(file: Box<dyn RecordFile>, path: PathBuf, stamp: Stamp) -> IndexedShard {
        IndexedShard { file, path, stamp, reached: AtomicU64::new(0), looked: AtomicBool::new(false) }
    }

    /// Looks for the index, once, if a record is asked for that reading has not come to. What is read does not depend on
    /// it.
    fn look(&self, record: u64) {
        if record <= self.reached.load(Ordering::Relaxed) || self.looked.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(saved) = record_index::read(&self.path, index_folder().as_deref(), self.stamp) {
            self.file.restore(&saved, self.stamp.size);
        }
    }
}

/// The folder for all indexes, where they cannot lie beside the data.
pub(super) fn index_folder() -> Option<PathBuf> {
    env::var_os("TESSON_INDEX_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

impl RecordFile for IndexedShard {
    fn read(&self, want: Want, fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        self.look(want.first);
        self.file.read(want, fetch, into)?;
        self.reached.fetch_max(want.first + into.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_rows(&self, rows: &[u64], fetch: &dyn Fetch, into: &mut Records) -> Result<(), Error> {
        rows.iter().for_each(|row| self.look(*row));
        self.file.read_rows(rows, fetch, into)
    }

    fn count(&self, fetch: &dyn Fetch) -> Result<(u64, Option<Fault>), Error> {
        self.look(u64::MAX);
        self.file.count(fetch)
    }

    fn reaches(&self, records: u64, fetch: &dyn Fetch) -> Result<Option<bool>, Error> {
        self.look(records);
        self.file.reaches(records, fetch)
    }

    fn random_access(&self, fetch: &dyn Fetch) -> Result<bool, Error> {
        self.file.random_access(fetch)
    }

    fn is_plain(&self, fetch: &dyn Fetch) -> Result<bool, Error> {
        self.file.is_plain(fetch)
    }

    fn memory(&self) -> usize {
        self.file.memory()
    }
}
