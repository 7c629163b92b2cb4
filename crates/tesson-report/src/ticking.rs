//! A thread that looks on while something works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// Does something, and calls `tick` every `pause` meanwhile. Where no thread can be started, `tick` is not called.
pub fn ticking<T>(pause: Duration, tick: impl Fn() + Sync, act: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            while !is_done.load(Ordering::Acquire) {
                tick();
                thread::park_timeout(pause);
            }
        };
        let _end = End { is_done: &is_done, watcher: thread::Builder::new().spawn_scoped(scope, watch).ok() };
        act()
    })
}

/// Ends the thread when it is dropped, also by a panic: the scope would wait for it for ever.
struct End<'a> {
    is_done: &'a AtomicBool,
    watcher: Option<ScopedJoinHandle<'a, ()>>,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        if let Some(watcher) = &self.watcher {
            watcher.thread().unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_looks_on_ends_with_the_work_and_with_its_panic() {
        let (ticks, ticked) = channel();
        let pause = Duration::from_secs(3600);
        let tick = || ticks.send(()).expect("it is received below");
        assert_eq!(ticking(pause, tick, || ticked.recv().map(|()| 7)), Ok(7));
        let panics = || ticking(pause, tick, || ticked.recv().map(|()| panic!("the work's own")));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }
}
