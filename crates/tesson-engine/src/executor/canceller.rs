//! Ending a call from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tesson_core::Error;

/// Ends a blocked call from another thread, and the source or reader with it. Clones end the same one.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// For a source that is yet to be opened, with [`SourceSpec::open`](crate::SourceSpec::open).
    pub fn new() -> Canceller {
        Canceller::default()
    }

    /// Cancels: the call that waits, and all later ones, end with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True if the call has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Ends the caller if it has been cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_ends_the_same_call() {
        let canceller = Canceller::new();
        assert!(canceller.check().is_ok());
        canceller.clone().cancel();
        assert!(matches!(canceller.check(), Err(Error::Cancelled)));
    }
}
