//! Cores, supplied by the engine.

use std::sync::OnceLock;

/// Runs jobs side by side.
pub trait Parallelism: Sync {
    /// The number of jobs that run at the same time.
    fn width(&self) -> usize;

    /// The bytes that all jobs together may hold while they run, in addition to their results.
    fn memory(&self) -> u64;

    /// Runs `job(0)`, …, `job(n - 1)`, several at a time, and returns when all have ended.
    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync));
}

impl<'a> dyn Parallelism + 'a {
    /// The results of `job(0)`, …, `job(n - 1)`, run as by [`Parallelism::run`].
    pub fn map<T: Send + Sync>(&self, n: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let results: Vec<OnceLock<T>> = (0..n).map(|_| OnceLock::new()).collect();
        self.run(n, &|i| {
            results[i].get_or_init(|| job(i));
        });
        results.into_iter().map(|result| result.into_inner().expect("every job has run")).collect()
    }
}

/// One job after the other, on the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct OneCore {
    /// Bytes that a job may hold while it runs.
    pub memory: u64,
}

impl Parallelism for OneCore {
    fn width(&self) -> usize {
        1
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(job);
    }
}
