//! Reads that are put together and tried again.
//!
//! For the next editor: a store may answer any read with fewer bytes than asked for, so sources read through
//! this. The patience counts from the first failure without progress, not for the whole read: reading
//! from a slow store continues as long as it delivers something now and then. `WouldBlock` and `TimedOut` are the kinds by which a store says
//! that a failure may pass; all others are final, as a retry would only delay their report.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tesson_core::{Error, StoreError};

use crate::store::Resource;

/// How long a read that fails for passing reasons is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// A read that is completed: short reads are put together, failures that may pass are tried again.
pub struct RetryingRead<'a> {
    /// The file's name, asked for when there is an error.
    pub path: &'a dyn Fn() -> Arc<Path>,
    /// The open file.
    pub file: &'a dyn Resource,
    /// Bytes that it had when it was opened.
    pub size: u64,
    /// Asked before each attempt: whether the bytes are not wanted any more.
    pub is_cancelled: &'a dyn Fn() -> bool,
    /// Called before each further attempt.
    pub retries: &'a dyn Fn(),
}

impl RetryingRead<'_> {
    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Those of the store, for several seconds if it may pass; the end of the file; [`Error::Cancelled`].
    pub fn fill(&self, offset: u64, mut into: &mut [u8]) -> Result<(), Error> {
        let mut at = offset;
        let mut since: Option<Instant> = None;
        while !into.is_empty() {
            if (self.is_cancelled)() {
                return Err(Error::Cancelled);
            }
            let failure = match self.file.read_at(at, into) {
                Ok(0) => io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("the file ends here, it had {} bytes when it was opened", self.size),
                ),
                Ok(n) => {
                    into = &mut into[n..];
                    at += n as u64;
                    since = None;
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => e,
            };
            let may_pass = matches!(failure.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            let first = *since.get_or_insert_with(Instant::now);
            if !may_pass || first.elapsed() > PATIENCE {
                return Err(StoreError::new((self.path)(), Some(at), failure).into());
            }
            (self.retries)();
            // The pauses grow with the trouble: a short one costs a millisecond, a long one a few dozen attempts.
            std::thread::sleep(Duration::from_millis(1).max(first.elapsed() / 4));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::{FakeStore, InjectedFault, MemoryStore, Store};

    /// Reads a file of ten bytes; what it holds from byte 2 on, and how often it was tried again.
    fn read(n: usize, fate: fn(u64) -> InjectedFault, is_cancelled: bool) -> (Result<Vec<u8>, Error>, u32) {
        let store = FakeStore::new(Arc::new(MemoryStore::new().with("f", b"0123456789".to_vec())), fate);
        let path: Arc<Path> = Path::new("f").into();
        let file = store.open(&path).expect("it is there");
        let retries = Cell::new(0);
        let mut into = vec![0; n];
        let read = RetryingRead {
            path: &|| path.clone(),
            file: &*file,
            size: 10,
            is_cancelled: &|| is_cancelled && retries.get() == 2,
            retries: &|| retries.set(retries.get() + 1),
        };
        let done = read.fill(2, &mut into);
        (done.map(|()| into), retries.get())
    }

    #[test]
    fn short_reads_are_put_together_and_passing_failures_tried_again() {
        let fate = |n: u64| match n % 3 {
            0 => InjectedFault::Error(io::ErrorKind::WouldBlock),
            1 => InjectedFault::Error(io::ErrorKind::Interrupted),
            _ => InjectedFault::Short(3),
        };
        let (done, retries) = read(8, fate, false);
        assert_eq!((done.expect("failures pass"), retries), (b"23456789".to_vec(), 3));
    }

    #[test]
    fn other_failures_and_the_end_of_the_file_are_errors_with_their_offset() {
        let (done, retries) = read(8, |_| InjectedFault::Error(io::ErrorKind::PermissionDenied), false);
        assert!(done.expect_err("it is denied").to_string().contains("f (byte 2)"));
        assert_eq!(retries, 0);
        let error = read(9, |_| InjectedFault::None, false).0.expect_err("there are eight").to_string();
        assert!(
            error.contains("(byte 10)") && error.contains("it had 10 bytes when it was opened"),
            "{error}"
        );
    }

    #[test]
    fn a_read_that_is_tried_again_ends_when_it_is_cancelled() {
        let (done, retries) = read(8, |_| InjectedFault::Error(io::ErrorKind::TimedOut), true);
        assert!(matches!(done, Err(Error::Cancelled)));
        assert_eq!(retries, 2);
    }
}
