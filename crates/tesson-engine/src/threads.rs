//! Cores for index passes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use tesson_core::Parallelism;
use tracing::Span;

/// Threads that are made for a call and gone after it.
pub(crate) struct Threads {
    /// How many at a time.
    pub(crate) n: usize,
    /// Bytes that all of them together may hold.
    pub(crate) memory: u64,
}

impl Parallelism for Threads {
    fn width(&self) -> usize {
        self.n
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        let (next, span) = (AtomicUsize::new(0), Span::current());
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= n {
                    break;
                }
                job(i);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.n.min(n) {
                // Without another thread, those that there are do the work.
                if Builder::new().spawn_scoped(scope, || span.in_scope(work)).is_err() {
                    break;
                }
            }
            work();
        });
    }
}
