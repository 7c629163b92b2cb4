//! An allocator that counts, for separate test binaries, since it counts all allocations of the process.

// Each binary uses a part.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept beside it. Measured reason: there
// is no other way to see what is allocated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TOTAL.fetch_add(layout.size(), Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`, which is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `at` came from `alloc` above with the same layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Locks out all other tests; every test begins with it, so that none allocates while another counts.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of `job`, and the most bytes that it had allocated at a time.
pub(crate) fn peak<T>(job: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let answer = job();
    (answer, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// The bytes that are allocated now.
pub(crate) fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// The result of `job`, and the bytes that it allocated in all.
pub(crate) fn total<T>(job: impl FnOnce() -> T) -> (T, usize) {
    let before = TOTAL.load(Ordering::Relaxed);
    let answer = job();
    (answer, TOTAL.load(Ordering::Relaxed) - before)
}

/// The number of allocations of `job`, and the bytes of the largest one.
pub(crate) fn calls(job: impl FnOnce()) -> (usize, usize) {
    let before = CALLS.load(Ordering::Relaxed);
    LARGEST.store(0, Ordering::Relaxed);
    job();
    (CALLS.load(Ordering::Relaxed) - before, LARGEST.load(Ordering::Relaxed))
}
