//! An open file of records.

use std::path::{Path, PathBuf};

use tesson_core::store::Store;
use tesson_core::{Error, ResourceId, StoreError};
use tesson_engine::record_index::{self, Stamp};
use tesson_engine::{Canceller, OpenFiles, StatsReader, kernels_from_environment};
use tesson_formats::record::{End, Fault, RecordFile, Records, Want};

use super::RecordKind;

/// The one file of an [`OpenFiles`].
const FILE: ResourceId = ResourceId(0);

/// Bytes of a block, about.
const BLOCK: u64 = 512 << 10;

/// An open file of records.
pub struct RecordsFile {
    path: PathBuf,
    kind: RecordKind,
    bytes: OpenFiles,
    reader: Box<dyn RecordFile>,
}

impl RecordsFile {
    /// Opens a file; records larger than an eighth of `memory_limit` are refused when they come.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(
        store: &dyn Store,
        path: &Path,
        kind: RecordKind,
        memory_limit: u64,
    ) -> Result<RecordsFile, Error> {
        RecordsFile::open_with(store, path, kind, memory_limit, &Canceller::new())
    }

    /// Opens a file like [`RecordsFile::open`]; `canceller` ends calls from another thread.
    ///
    /// # Errors
    /// The errors of [`RecordsFile::open`].
    pub fn open_with(
        store: &dyn Store,
        path: &Path,
        kind: RecordKind,
        memory_limit: u64,
        canceller: &Canceller,
    ) -> Result<RecordsFile, Error> {
        kernels_from_environment()?;
        let bytes = OpenFiles::open(&[path], store, memory_limit / 8, canceller)?;
        Ok(RecordsFile { path: path.into(), kind, bytes, reader: kind.reader(FILE) })
    }

    /// Opens several files; one error names all missing ones.
    ///
    /// # Errors
    /// The errors of [`RecordsFile::open`].
    pub fn open_all<P: AsRef<Path>>(
        store: &dyn Store,
        paths: &[P],
        kind: RecordKind,
        memory_limit: u64,
    ) -> Result<Vec<RecordsFile>, Error> {
        OpenFiles::open(paths, store, memory_limit, &Canceller::new())?;
        paths.iter().map(|path| RecordsFile::open(store, path.as_ref(), kind, memory_limit)).collect()
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.size(FILE)
    }

    /// Reads the next records from `first` on: at most `most`, and no more than a block of a good size.
    ///
    /// # Errors
    /// Unreadable storage. Damage is reported in the block.
    pub fn read(&self, first: u64, most: u64, into: &mut Records) -> Result<(), Error> {
        self.reader.read(Want { first, most, bytes: BLOCK }, self.bytes.fetch(), into)
    }

    /// Reads these records one by one.
    ///
    /// # Errors
    /// The errors of [`RecordsFile::read`].
    pub fn read_rows(&self, rows: &[u64], into: &mut Records) -> Result<(), Error> {
        self.reader.read_rows(rows, self.bytes.fetch(), into)
    }

    /// Counts the records; also returns the fault after the last one, if there is one.
    ///
    /// # Errors
    /// The errors of [`RecordsFile::read`].
    pub fn count(&self) -> Result<(u64, Option<Fault>), Error> {
        self.reader.count(self.bytes.fetch())
    }

    /// Something that reads the counters of the file's bytes while another thread reads it.
    pub fn stats_reader(&self) -> StatsReader {
        self.bytes.stats_reader()
    }

    /// Takes the index that was kept of the file, if there is one that fits.
    pub fn take_index(&self, cache_dir: Option<&Path>) -> bool {
        let saved = record_index::read(&self.path, cache_dir, self.stamp());
        saved.is_some_and(|saved| self.reader.restore(&saved, self.size()))
    }

    /// Indexes the file and keeps the index beside it or in a folder for caches; says where. `None` for a file that needs
    /// none: its format has an index, or it is compressed and can only be read as a stream.
    ///
    /// # Errors
    /// Unreadable storage, a damaged file, an index that cannot be written.
    pub fn write_index(&self, cache_dir: Option<&Path>) -> Result<Option<PathBuf>, Error> {
        if let (_, Some(fault)) = self.count()? {
            return Err(fault.in_file(&self.path).into());
        }
        if !self.reader.random_access(self.bytes.fetch())? {
            return Ok(None);
        }
        let Some(index) = self.reader.save() else { return Ok(None) };
        let written = record_index::write(&self.path, cache_dir, self.stamp(), &index);
        let path = || record_index::path(&self.path, cache_dir);
        Ok(Some(written.map_err(|e| StoreError::new(path().into(), None, e))?))
    }

    /// Reads all records in order and calls `each` with one block at a time.
    ///
    /// # Errors
    /// Unreadable storage; the errors of `each`.
    pub fn for_each_block<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Records) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut block, mut next) = (Records::new(), 0);
        loop {
            self.read(next, u64::MAX, &mut block)?;
            each(&block)?;
            next += block.len() as u64;
            if *block.end() != End::More {
                return Ok(());
            }
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp { size: self.size(), modified_ns: self.bytes.modified_ns(FILE) }
    }
}
