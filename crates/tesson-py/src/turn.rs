//! Taking turns: one thread reads, others wait, and Ctrl-C reaches those that wait.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, WaitTimeoutResult};
use std::time::Duration;

use pyo3::prelude::*;

/// How long a waiting thread sleeps before it looks for signals again.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// How many forks lie between the first process and this one, as Python tells of them.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Counts a fork; to be called in the child.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks there have been. Free, where asking the system for the process costs as much as making an example.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// A thing that one thread at a time may use, for as long as it likes.
///
/// A `Mutex` would do but for its waiters: they could not be interrupted.
#[derive(Debug)]
pub(crate) struct Turn<T> {
    place: Mutex<Place<T>>,
    returned: Condvar,
    /// Threads that wait, counted under the lock: waking none of them is a call of the system all the same, which would be one
    /// for each minibatch and example.
    waiting: AtomicUsize,
}

#[derive(Debug)]
enum Place<T> {
    Here(T),
    /// By a thread of the process after so many forks.
    InUse(u64),
    Gone,
}

/// Why a thread did not get its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// `interrupted` said so.
    Interrupted,
    /// The thing has been taken away for good.
    Gone,
}

/// Puts the thing back when its user is done, or panics.
struct Back<'a, T>(&'a Turn<T>, Option<T>);

impl<T> Drop for Back<'_, T> {
    fn drop(&mut self) {
        if let Some(thing) = self.1.take() {
            *self.0.lock() = Place::Here(thing);
        }
        if self.0.waiting.load(Ordering::Relaxed) > 0 {
            self.0.returned.notify_one();
        }
    }
}

impl<T> Turn<T> {
    pub(crate) fn new(thing: T) -> Turn<T> {
        Turn { place: Mutex::new(Place::Here(thing)), returned: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Uses the thing, alone. While others do, `interrupted` is asked every few hundredths of a second.
    pub(crate) fn with<R>(
        &self,
        interrupted: &mut dyn FnMut() -> bool,
        act: impl FnOnce(&mut T, &mut dyn FnMut() -> bool) -> R,
    ) -> Result<R, NoTurn> {
        let mut back = Back(self, Some(self.take(interrupted)?));
        let thing = back.1.as_mut().expect("just put in");
        Ok(act(thing, interrupted))
    }

    /// Uses the thing if no other thread does, and if it is there.
    pub(crate) fn try_with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        let taken = {
            let mut place = self.lock();
            match std::mem::replace(&mut *place, Place::InUse(forks())) {
                Place::Here(thing) => thing,
                other => {
                    *place = other;
                    return None;
                }
            }
        };
        let mut back = Back(self, Some(taken));
        back.1.as_mut().map(act)
    }

    /// True if the value is used by a thread that this process does not have: one of its parent, when it was forked.
    pub(crate) fn is_abandoned(&self) -> bool {
        matches!(*self.lock(), Place::InUse(since) if since != forks())
    }

    /// Waits until no thread uses the thing, or for as long as signals can wait.
    pub(crate) fn wait(&self) {
        let place = self.lock();
        if matches!(*place, Place::InUse(_)) {
            drop(self.sleep(place));
        }
    }

    /// Takes the thing away for good, when its user is done.
    pub(crate) fn remove(&self, interrupted: &mut dyn FnMut() -> bool) -> Result<T, NoTurn> {
        let thing = self.take(interrupted)?;
        *self.lock() = Place::Gone;
        self.returned.notify_all();
        Ok(thing)
    }

    /// Looks at the thing, if no thread uses it.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        match &*self.place.try_lock().ok()? {
            Place::Here(thing) => Some(look(thing)),
            Place::InUse(_) | Place::Gone => None,
        }
    }

    fn take(&self, interrupted: &mut dyn FnMut() -> bool) -> Result<T, NoTurn> {
        let mut place = self.lock();
        loop {
            match std::mem::replace(&mut *place, Place::InUse(forks())) {
                Place::Here(thing) => return Ok(thing),
                Place::Gone => {
                    *place = Place::Gone;
                    return Err(NoTurn::Gone);
                }
                Place::InUse(since) => {
                    *place = Place::InUse(since);
                    let (back, waited) = self.sleep(place);
                    place = back;
                    if waited.timed_out() {
                        drop(place);
                        if interrupted() {
                            return Err(NoTurn::Interrupted);
                        }
                        place = self.lock();
                    }
                }
            }
        }
    }

    /// Waits until the thing is returned, or for as long as signals can wait.
    fn sleep<'a>(&self, place: MutexGuard<'a, Place<T>>) -> (MutexGuard<'a, Place<T>>, WaitTimeoutResult) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let woken = self.returned.wait_timeout(place, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        woken
    }

    fn lock(&self) -> MutexGuard<'_, Place<T>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
