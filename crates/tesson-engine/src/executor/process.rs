//! The process that has the threads.

use tesson_core::UsageError;

use crate::refusal::EngineRefusal;

/// The process in which something was opened. Its threads do not survive a fork, and locks that they held stay locked in
/// the copy: what was opened there must be neither used nor ended here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGuard(u32);

impl ProcessGuard {
    /// This process.
    pub fn here() -> ProcessGuard {
        ProcessGuard(std::process::id())
    }

    /// True if the code runs in another process: a copy made by a fork.
    pub fn is_forked(self) -> bool {
        self != ProcessGuard::here()
    }

    /// Refuses to use, in another process, what `subject` names (“the source”).
    ///
    /// # Errors
    /// A call from a forked process, with what to do instead.
    pub fn check(self, subject: &'static str) -> Result<(), UsageError> {
        if !self.is_forked() {
            return Ok(());
        }
        Err(EngineRefusal::Forked { subject }.into())
    }

    /// Drops what holds threads; in another process leaks it, as there is none of them to wait for.
    pub fn end<T>(self, threads: T) {
        if self.is_forked() {
            std::mem::forget(threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ended<'a>(&'a std::cell::Cell<bool>);

    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn what_another_process_opened_is_neither_used_nor_ended() {
        let ended = std::cell::Cell::new(false);
        let elsewhere = ProcessGuard(0);
        assert!(elsewhere.is_forked());
        elsewhere.end(Ended(&ended));
        assert!(!ended.get());
        let refused = elsewhere.check("the source").expect_err("no process has this number");
        assert!(refused.to_string().starts_with("the source was opened before a fork"));
        let here = ProcessGuard::here();
        here.end(Ended(&ended));
        assert!(ended.get() && here.check("the source").is_ok());
    }
}
