//! Cores, supplied by the engine.

/// Runs jobs side by side.
pub trait Parallelism: Sync {
    /// How many jobs run at the same time.
    fn width(&self) -> usize;

    /// Bytes that all jobs together may hold while they run, beside what they return.
    fn memory(&self) -> u64;

    /// Runs `job(0)`, …, `job(n - 1)`, several at a time, and returns when all have ended.
    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync));
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
