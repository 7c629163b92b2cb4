//! Jobs for any number of threads, whose results are taken in the order of the jobs.
//!
//! For the next editor: the queue has no limit of its own; callers bound it by [`OrderedJobs::under_way`], since only
//! they know what a result costs in memory. A discarded job that a thread is doing ends normally, and its result is
//! dropped on arrival. A panic must reach the caller, which would otherwise wait for a result that never comes.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Reorder;

/// Jobs that one caller gives, threads do in any order, and the caller takes the results of in the order in which it gave
/// them. Each thread calls [`OrderedJobs::serve`].
#[derive(Debug)]
pub struct OrderedJobs<J, R> {
    state: Mutex<State<J, R>>,
    /// There is a job, or there will be none.
    work: Condvar,
    /// A result has arrived, or a thread has panicked.
    ready: Condvar,
}

#[derive(Debug)]
struct State<J, R> {
    jobs: VecDeque<(u64, J)>,
    /// Jobs that were given.
    given: u64,
    results: Reorder<R>,
    is_closed: bool,
    /// A thread has panicked, and with what, until a caller has been told.
    panicked: Option<Option<Box<dyn Any + Send>>>,
}

impl<J, R> Default for OrderedJobs<J, R> {
    fn default() -> OrderedJobs<J, R> {
        let state = State {
            jobs: VecDeque::new(),
            given: 0,
            results: Reorder::default(),
            is_closed: false,
            panicked: None,
        };
        OrderedJobs { state: Mutex::new(state), work: Condvar::new(), ready: Condvar::new() }
    }
}

impl<J, R> OrderedJobs<J, R> {
    /// Adds a job.
    pub fn give(&self, job: J) {
        let mut state = self.lock();
        let number = state.given;
        state.given += 1;
        state.jobs.push_back((number, job));
        drop(state);
        self.work.notify_one();
    }

    /// Jobs whose results have not been taken.
    pub fn under_way(&self) -> usize {
        let state = self.lock();
        (state.given - state.results.next()) as usize
    }

    /// The result of the first job that was given and whose result was not taken; waits for it. There is one.
    ///
    /// # Panics
    /// With what a thread panicked with; later calls, too, as its result never comes.
    pub fn take(&self) -> R {
        let mut state = self.lock();
        loop {
            if let Some(panic) = &mut state.panicked {
                let panic = panic.take().unwrap_or_else(|| Box::new("a thread panicked before this call"));
                drop(state);
                resume_unwind(panic);
            }
            if let Some(result) = state.results.take() {
                return result;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Discards all jobs that were given and whose results were not taken.
    pub fn discard(&self) {
        let mut state = self.lock();
        let given = state.given;
        state.results.skip_to(given);
        state.jobs.clear();
    }

    /// Ends the threads: each after the job that it does.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.jobs.clear();
        drop(state);
        self.work.notify_all();
    }

    /// Serves jobs on the calling thread until they are [closed](OrderedJobs::close), and runs `between` before each. A
    /// panic of either ends the thread, and is passed on to the caller that takes results.
    pub fn serve(&self, mut between: impl FnMut(), mut run: impl FnMut(J) -> R) {
        let served = catch_unwind(AssertUnwindSafe(|| {
            loop {
                between();
                let Some((number, job)) = self.next() else { return };
                let result = run(job);
                self.lock().results.put(number, result);
                self.ready.notify_one();
            }
        }));
        if let Err(panic) = served {
            self.lock().panicked = Some(Some(panic));
            self.ready.notify_one();
        }
    }

    /// The next job, waited for; `None` when there will be none.
    fn next(&self) -> Option<(u64, J)> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::scope;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs_whoever_is_done_first() {
        let jobs = OrderedJobs::default();
        scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    jobs.serve(
                        || (),
                        |n: u64| {
                            (0..(13 * n) % 7).for_each(|_| std::thread::yield_now());
                            n * n
                        },
                    );
                });
            }
            (0..100).for_each(|n| jobs.give(n));
            assert_eq!(jobs.under_way(), 100);
            assert!((0..100).all(|n| jobs.take() == n * n));
            // What is discarded is never taken, even if a thread is doing it.
            (0..10).for_each(|n| jobs.give(n));
            jobs.discard();
            assert_eq!(jobs.under_way(), 0);
            jobs.give(7);
            assert_eq!(jobs.take(), 49);
            jobs.close();
        });
    }

    #[test]
    fn a_panic_of_a_job_reaches_the_caller() {
        let jobs = OrderedJobs::<(), ()>::default();
        jobs.give(());
        let caught = scope(|threads| {
            threads.spawn(|| jobs.serve(|| (), |()| panic!("it is broken")));
            [(); 2].map(|()| catch_unwind(AssertUnwindSafe(|| jobs.take())))
        });
        let panics = caught.map(|caught| caught.expect_err("the job panics"));
        let texts = panics.each_ref().map(|panic| panic.downcast_ref::<&str>().copied());
        assert_eq!(texts, [Some("it is broken"), Some("a thread panicked before this call")]);
    }
}
