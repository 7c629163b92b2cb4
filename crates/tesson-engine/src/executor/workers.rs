//! Threads that end with what they work for.
//!
//! For the next editor: dropping joins, so nothing that a thread uses may be freed before it, and the owner has to tell
//! the threads to end first, or the drop waits for ever. After a fork the child has the handles and not the threads:
//! joining them would never return, so they are forgotten there.

use std::io;
use std::thread::{Builder, JoinHandle};

use tesson_core::UsageError;
use tracing::Span;

use super::ProcessGuard;
use crate::refusal::EngineRefusal;

/// Threads that belong together. Dropping this waits for them, in the process that started them: before dropping it, tell
/// them to end.
#[derive(Debug)]
pub struct Workers {
    threads: Vec<JoinHandle<()>>,
    /// Those that were told to end, and may not have yet.
    dismissed: Vec<JoinHandle<()>>,
    process: ProcessGuard,
}

impl Default for Workers {
    fn default() -> Workers {
        Workers { threads: Vec::new(), dismissed: Vec::new(), process: ProcessGuard::here() }
    }
}

impl Workers {
    /// Starts another thread, with this name and its number. It is in the caller's span.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = Builder::new().name(format!("{name}-{}", self.threads.len()));
        let span = Span::current();
        self.threads.push(thread.spawn(move || span.in_scope(work))?);
        Ok(())
    }

    /// Counts the threads no more that have been started: they have been told to end. Only dropping this waits for them.
    pub fn dismiss(&mut self) {
        self.dismissed.append(&mut self.threads);
        // A thread that has ended holds its stack until it is joined.
        for ended in self.dismissed.extract_if(.., |thread| thread.is_finished()) {
            let _ = ended.join();
        }
    }

    /// How many threads have been started and not been dismissed.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// True if there are no workers.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let threads = [&mut self.dismissed, &mut self.threads].map(std::mem::take);
        if self.process.is_forked() {
            return std::mem::forget(threads);
        }
        for thread in threads.into_iter().flatten() {
            // A thread that panicked has notified those who wait for it.
            let _ = thread.join();
        }
    }
}

/// The error of a call that needs a thread which the system does not start.
pub fn no_thread(reason: &io::Error) -> UsageError {
    EngineRefusal::NoThread { reason: reason.to_string() }.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn dropping_waits_for_all_threads_also_those_that_panic() {
        let done = Arc::new(AtomicUsize::new(0));
        let mut workers = Workers::default();
        for number in 0..3 {
            let done = Arc::clone(&done);
            let work = move || {
                done.fetch_add(1, Ordering::SeqCst);
                assert_ne!(number, 1, "one of them panics");
            };
            workers.start("test", work).expect("the system has threads");
        }
        assert_eq!(workers.len(), 3);
        drop(workers);
        assert_eq!(done.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn dismissed_threads_are_waited_for_and_not_counted() {
        let done = Arc::new(AtomicUsize::new(0));
        let mut workers = Workers::default();
        for _ in 0..2 {
            let (go, told) = std::sync::mpsc::channel::<()>();
            let done = Arc::clone(&done);
            let work = move || {
                let _ = told.recv();
                done.fetch_add(1, Ordering::SeqCst);
            };
            workers.start("test", work).expect("the system has threads");
            workers.dismiss();
            assert!(workers.is_empty());
            drop(go);
        }
        drop(workers);
        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
}
