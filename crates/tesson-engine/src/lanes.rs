//! Cores for index passes.

use std::sync::atomic::{AtomicUsize, Ordering};

use tesson_core::Lanes;

/// Up to this many threads, made for a call and gone after it.
pub(crate) struct Threads(pub(crate) usize);

impl Lanes for Threads {
    fn width(&self) -> usize {
        self.0
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
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
            for _ in 1..self.0.min(n) {
                scope.spawn(work);
            }
            work();
        });
    }
}
