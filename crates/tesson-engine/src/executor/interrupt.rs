//! The one way in which a call ends early because its caller says so.
//!
//! A caller hands over a question, which the waiting thread asks every few hundredths of a second: so the answer may come from
//! code that runs on that thread alone, such as Python's signal handlers. Everything that waits for long waits here, in one of
//! three ways: for a condition ([`Interrupt::wait`]), for a call that is asked to stop and waited for ([`Interrupt::attend`]), or
//! for one that is left to its fate ([`CallThread`]).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

use tesson_core::{Error, UsageError};
use tracing::Span;

use super::no_thread;

/// Time between two questions.
pub(crate) const POLL: Duration = Duration::from_millis(40);

/// The question whether a call is interrupted.
pub struct Interrupt<'a>(&'a mut dyn FnMut() -> bool);

impl<'a> Interrupt<'a> {
    /// A call that ends early when `interrupted` answers yes.
    pub fn new(interrupted: &'a mut dyn FnMut() -> bool) -> Interrupt<'a> {
        Interrupt(interrupted)
    }

    /// Waits until `done` is notified, or for a while. `woken` is called under the lock before anything else happens. The
    /// question is asked without the lock, unless the condition was notified.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn wait<'m, T>(
        &mut self,
        done: &Condvar,
        state: &'m Mutex<T>,
        held: MutexGuard<'m, T>,
        woken: impl FnOnce(&mut T),
    ) -> Result<MutexGuard<'m, T>, Error> {
        let (mut held, waited) = done.wait_timeout(held, POLL).unwrap_or_else(PoisonError::into_inner);
        woken(&mut held);
        if !waited.timed_out() {
            return Ok(held);
        }
        drop(held);
        if (self.0)() {
            return Err(Error::Cancelled);
        }
        Ok(state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something that takes long, in another thread, and waits until it is done. `stop` is called with whether the call is
    /// interrupted before it begins, and once more if it is interrupted later: `act` then ends as soon as it can.
    ///
    /// # Errors
    /// Those of `act`; [`Error::Cancelled`] after an interruption, also where `act` was done before it noticed, because
    /// the interrupting thread waits for that answer.
    ///
    /// # Panics
    /// With what `act` panics with.
    pub(crate) fn attend<T: Send>(
        &mut self,
        stop: impl Fn(bool),
        act: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        thread::scope(|scope| {
            let (running, over) = channel::<()>();
            let mut is_interrupted = (self.0)();
            stop(is_interrupted);
            let span = Span::current();
            let work = move || {
                let _running = running;
                span.in_scope(act)
            };
            let worker = Builder::new().spawn_scoped(scope, work).map_err(|e| no_thread(&e))?;
            // Nothing is sent: the channel closes when the call is over.
            while over.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if !is_interrupted && (self.0)() {
                    is_interrupted = true;
                    stop(true);
                }
            }
            let done = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            if is_interrupted { done.and(Err(Error::Cancelled)) } else { done }
        })
    }

    /// Waits for what a thread sends.
    ///
    /// # Errors
    /// [`Error::Cancelled`], also when the thread ends without sending.
    fn receive<T>(&mut self, sent: &Receiver<T>) -> Result<T, Error> {
        loop {
            match sent.recv_timeout(POLL) {
                Ok(sent) => return Ok(sent),
                Err(RecvTimeoutError::Timeout) if !(self.0)() => {}
                Err(_) => return Err(Error::Cancelled),
            }
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread for calls that may have to be abandoned, however long what they wait for takes. It is started for the first one.
#[derive(Default)]
pub struct CallThread(Option<Sender<Job>>);

/// How a call on a [`CallThread`] ended.
pub enum Called<T> {
    /// It returned.
    Returned(T),
    /// It panicked, with this.
    Panicked(Box<dyn Any + Send>),
    /// It was interrupted: what it was given stays with its thread, which ends when the call does.
    Abandoned,
}

impl CallThread {
    /// Makes a call and waits for it.
    ///
    /// # Errors
    /// The system has no thread to give; nothing was called then.
    ///
    /// # Panics
    /// Never: the thread lives as long as this.
    pub fn call<T: Send + 'static>(
        &mut self,
        mut interrupt: Interrupt<'_>,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Called<T>, UsageError> {
        let calls = match &self.0 {
            Some(calls) => calls,
            None => {
                let (calls, jobs) = channel::<Job>();
                let serve = move || jobs.into_iter().for_each(|job| job());
                Builder::new().name("tesson-call".into()).spawn(serve).map_err(|e| no_thread(&e))?;
                self.0.insert(calls)
            }
        };
        let (done, returned) = channel();
        let job = move || {
            // What an abandoned call returns is dropped here.
            let _ = done.send(catch_unwind(AssertUnwindSafe(act)));
        };
        calls.send(Box::new(job)).expect("the thread for calls ends with its sender");
        Ok(match interrupt.receive(&returned) {
            Ok(Ok(result)) => Called::Returned(result),
            Ok(Err(panic)) => Called::Panicked(panic),
            Err(_) => {
                // The thread may be blocked for long: the next call gets another one.
                self.end();
                Called::Abandoned
            }
        })
    }

    /// Ends the thread, when what it does is done.
    pub fn end(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_call_is_stopped_and_waited_for() {
        let stopped = AtomicBool::new(false);
        let mut asked = 0;
        let mut interrupted = || {
            asked += 1;
            asked > 1
        };
        let act = || {
            while !stopped.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(())
        };
        let done = Interrupt::new(&mut interrupted).attend(|stop| stopped.store(stop, Ordering::SeqCst), act);
        assert!(matches!(done, Err(Error::Cancelled)));
        let done = Interrupt::new(&mut || false).attend(|stop| assert!(!stop), || Ok(7));
        assert_eq!(done.unwrap(), 7);
    }

    #[test]
    fn a_call_is_abandoned_and_the_next_one_has_another_thread() {
        let mut thread = CallThread::default();
        let (release, wait) = channel::<()>();
        let blocked = thread.call(Interrupt::new(&mut || true), move || wait.recv().is_ok()).unwrap();
        assert!(matches!(blocked, Called::Abandoned));
        let next = thread.call(Interrupt::new(&mut || false), || 3).unwrap();
        assert!(matches!(next, Called::Returned(3)));
        drop(release);
        let panicked = thread.call(Interrupt::new(&mut || false), || panic!("it is broken")).unwrap();
        let Called::<()>::Panicked(panic) = panicked else { panic!("it panics") };
        assert_eq!(panic.downcast_ref(), Some(&"it is broken"));
    }

    #[test]
    fn a_condition_that_is_not_met_is_waited_for_until_the_caller_says_so() {
        let (state, done) = (Mutex::new(0), Condvar::new());
        let held = state.lock().unwrap();
        let waited = Interrupt::new(&mut || true).wait(&done, &state, held, |n| *n += 1);
        assert!(matches!(waited, Err(Error::Cancelled)));
        assert_eq!(*state.lock().unwrap(), 1);
    }
}
