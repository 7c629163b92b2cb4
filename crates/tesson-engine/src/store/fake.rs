//! A store that misbehaves on purpose, for tests: short reads and errors, by a schedule.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tesson_core::Listing;

use super::{Entry, FolderName, Resource, Store};

/// A fault that a read produces instead of the requested bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing unusual.
    None,
    /// At most this many bytes come.
    Short(usize),
    /// The calling thread gives way this many times first, so that other threads overtake it.
    Delay(u32),
    /// An error of this kind.
    Error(io::ErrorKind),
}

/// The n-th read's fate.
pub type Schedule = Arc<dyn Fn(u64) -> InjectedFault + Send + Sync>;

/// Another store's resources under a schedule of faults. Never offers bytes in place.
#[derive(Clone)]
pub struct FakeStore {
    inner: Arc<dyn Store>,
    schedule: Schedule,
}

impl FakeStore {
    /// Puts `schedule` between `inner` and its readers; it is asked once a read, with the read's running number.
    pub fn new(
        inner: Arc<dyn Store>,
        schedule: impl Fn(u64) -> InjectedFault + Send + Sync + 'static,
    ) -> FakeStore {
        FakeStore { inner, schedule: Arc::new(schedule) }
    }
}

impl Store for FakeStore {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Resource>> {
        let inner = self.inner.open(path)?;
        Ok(Box::new(Faked { inner, schedule: self.schedule.clone(), reads: AtomicU64::new(0) }))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        self.inner.entry(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<FolderName>> {
        self.inner.names(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Listing> {
        self.inner.list(folder)
    }

    fn local_path(&self, path: &Path) -> Option<PathBuf> {
        self.inner.local_path(path)
    }

    fn shared(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn remedy(&self, path: &Path, error: &io::Error) -> Option<String> {
        self.inner.remedy(path, error)
    }
}

struct Faked {
    inner: Box<dyn Resource>,
    schedule: Schedule,
    reads: AtomicU64,
}

impl Resource for Faked {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn modified_ns(&self) -> Option<u128> {
        self.inner.modified_ns()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match (self.schedule)(self.reads.fetch_add(1, Ordering::Relaxed)) {
            InjectedFault::None => self.inner.read_at(offset, into),
            InjectedFault::Short(most) => {
                let n = into.len().min(most.max(1));
                self.inner.read_at(offset, &mut into[..n])
            }
            InjectedFault::Delay(times) => {
                (0..times).for_each(|_| std::thread::yield_now());
                self.inner.read_at(offset, into)
            }
            InjectedFault::Error(kind) => Err(io::Error::new(kind, "a scheduled mishap")),
        }
    }

    fn will_need(&self, range: Range<u64>) {
        self.inner.will_need(range);
    }
}
