//! Calls from worker threads into Python.
//!
//! A worker has the GIL inside of such a call and nowhere else, and no thread that has the GIL waits for a worker. When
//! the interpreter ends, calls are no longer made, and those under way are waited for, but not for ever: a thread that
//! asks for the GIL of an interpreter that is being taken apart cannot go on.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tesson::Error;
use tesson_formats::user::UserError;

use crate::errors::misuse;

/// How long the end of the interpreter, and closing a source, wait for a user's code to return.
pub(crate) const PATIENCE_WITH_USERS: Duration = Duration::from_secs(1);

static ENDING: AtomicBool = AtomicBool::new(false);
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Runs something without the GIL. A panic in it is a defect, and becomes an exception that `except Exception` catches.
///
/// # Errors
/// The panic, as a `UsageError` that asks for a report.
pub(crate) fn released<R: Send>(py: Python<'_>, act: impl FnOnce() -> R + Send) -> PyResult<R> {
    // What a panic leaves behind is used no more: sources count as broken, locks are taken over.
    py.detach(|| catch_unwind(AssertUnwindSafe(act))).map_err(|panic| {
        let message = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        misuse(py, format!("Tesson panicked ({message}); this is a defect, please report it"))
    })
}

/// An exception that a user's code has raised.
pub(crate) struct Raised {
    /// A message that names the call and shows the exception as Python prints it.
    message: String,
    pub(crate) exception: PyErr,
}

impl Raised {
    pub(crate) fn new(py: Python<'_>, call: &str, exception: PyErr) -> Raised {
        let kind =
            exception.get_type(py).qualname().map_or_else(|_| "an exception".into(), |n| n.to_string());
        let text =
            exception.value(py).str().map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned());
        let separator = if text.is_empty() { "" } else { ": " };
        Raised { message: format!("`{call}` raised {kind}{separator}{text}"), exception }
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raised({})", self.message)
    }
}

impl std::error::Error for Raised {}

/// The source whose threads call a user's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// No source: nothing can be called back.
    pub(crate) const NONE: Owner = Owner(0);

    /// One that is about to be opened.
    pub(crate) fn new() -> Owner {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Owner(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Refuses a call of the source from a user's code that the source is calling: it would wait for itself.
    ///
    /// # Errors
    /// A `UsageError`.
    pub(crate) fn check_caller(self, py: Python<'_>) -> PyResult<()> {
        if !CALLERS.with_borrow(|callers| callers.contains(&self)) {
            return Ok(());
        }
        let what = "the source is used by its own transform or deserializer, for which it is waiting; expected a function that \
                    uses only what it is given, or another source";
        Err(misuse(py, what))
    }
}

thread_local! {
    /// The sources whose calls of a user's code are under way in this thread.
    static CALLERS: RefCell<Vec<Owner>> = const { RefCell::new(Vec::new()) };
}

/// Calls a user's code, called `call` in errors, from a thread of ours.
///
/// # Errors
/// [`Raised`], or [`Error::Cancelled`] when the interpreter is about to end.
pub(crate) fn call<R>(
    owner: Owner,
    call: &str,
    act: impl FnOnce(Python<'_>) -> PyResult<R>,
) -> Result<R, UserError> {
    let _running = Running::new(owner);
    if ENDING.load(Ordering::SeqCst) {
        return Err(Box::new(Error::Cancelled));
    }
    let done = Python::try_attach(|py| {
        act(py).map_err(|exception| UserError::from(Raised::new(py, call, exception)))
    });
    done.unwrap_or_else(|| Err(Box::new(Error::Cancelled)))
}

/// Counts a call while it runs.
struct Running;

impl Running {
    fn new(owner: Owner) -> Running {
        CALLERS.with_borrow_mut(|callers| callers.push(owner));
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        CALLERS.with_borrow_mut(Vec::pop);
    }
}

/// Lets worker threads make no more calls into Python and waits, for a second at most, until those under way are over.
/// The package calls it before the interpreter ends.
#[pyfunction]
pub(crate) fn end_calls(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let since = Instant::now();
        while RUNNING.load(Ordering::SeqCst) > 0 && since.elapsed() < PATIENCE_WITH_USERS {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
