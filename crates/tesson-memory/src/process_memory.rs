//! Memory that has been freed goes back to the system, where the allocator would keep so much of it that the process went
//! over its limit.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The process is looked at each time this part of the limit has been made.
const LOOK_SHARE: u64 = 64;

/// Freed memory may stay with the allocator until the process has taken this much less than its limit, and grown by as much.
const KEPT_SHARE: u64 = 16;

/// Watches what a process takes beside what it took before a source was opened.
#[derive(Debug)]
pub struct ProcessMemory {
    limit: u64,
    /// Bytes made since the last look.
    made: AtomicU64,
    watch: Mutex<Watch>,
}

#[derive(Debug)]
struct Watch {
    /// Bytes that the process had when the source was opened.
    before: u64,
    /// The least that it had since memory was given back: what is still in use then, by whomever, cannot be given back.
    least: u64,
}

impl ProcessMemory {
    /// Of a source with this memory limit. What the process has freed before, such as a former source, is not its own any more:
    /// where that may be much, it goes back to the system now, so that it does not count as memory in use.
    pub fn new(limit: u64) -> ProcessMemory {
        let mut before = allocator::resident().unwrap_or_default();
        if before > limit / KEPT_SHARE {
            allocator::give_back();
            before = allocator::resident().unwrap_or(before);
        }
        let watch = Mutex::new(Watch { before, least: before });
        ProcessMemory { limit, made: AtomicU64::new(0), watch }
    }

    /// Counts bytes that were made, and gives memory back if the process has too much of it.
    pub fn note_made(&self, bytes: usize) {
        let bytes = bytes as u64;
        if self.made.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) < self.limit / LOOK_SHARE {
            return;
        }
        // Where another thread looks already there is nothing to do.
        let Ok(mut watch) = self.watch.try_lock() else { return };
        self.made.store(0, Ordering::Relaxed);
        let Some(now) = allocator::resident() else { return };
        watch.least = watch.least.min(now);
        let kept = self.limit / KEPT_SHARE;
        let most = watch.before.saturating_add(self.limit - 4 * kept);
        if now > most && now > watch.least.saturating_add(kept) {
            allocator::give_back();
            watch.least = allocator::resident().unwrap_or(now);
        }
    }
}

/// The C library's allocator. It serves large requests from its heaps once one of that size has been freed, and each thread
/// has a heap of its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator {
    /// Bytes of memory that the process has.
    pub(super) fn resident() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }

    /// Gives the system what is free.
    pub(super) fn give_back() {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: any thread may call it at any time, with any number.
        unsafe { malloc_trim(0) };
    }
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub(super) fn resident() -> Option<u64> {
        None
    }

    pub(super) fn give_back() {}
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// The process is what is measured: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn freed_memory_is_given_back_where_the_process_has_too_much() {
        let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let memory = ProcessMemory::new(16 * MIB as u64);
        // What is freed lies below what is not, so that the allocator keeps it.
        let freed: Vec<Vec<u8>> = (0..64 * MIB / 65_536).map(|_| vec![1; 65_536]).collect();
        let kept = vec![1_u8; 65_536];
        drop(freed);
        let before = allocator::resident().expect("the system tells");
        memory.note_made(MIB);
        let after = allocator::resident().expect("the system tells");
        assert!(after + 32 * (MIB as u64) < before, "{before} bytes before, {after} after");
        assert_eq!(kept.len(), 65_536);
    }

    #[test]
    fn what_was_freed_before_does_not_count_as_in_use() {
        let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let freed: Vec<Vec<u8>> = (0..64 * MIB / 65_536).map(|_| vec![1; 65_536]).collect();
        let kept = vec![1_u8; 65_536];
        drop(freed);
        let full = allocator::resident().expect("the system tells");
        let watch = ProcessMemory::new(16 * MIB as u64).watch.into_inner().expect("nobody looks");
        assert!(watch.before + 32 * (MIB as u64) < full, "{full} bytes, {} of them in use", watch.before);
        assert_eq!(kept.len(), 65_536);
    }

    #[test]
    fn little_is_left_alone() {
        let memory = ProcessMemory::new(1 << 40);
        memory.note_made(MIB);
        assert_eq!(memory.made.load(Ordering::Relaxed), MIB as u64);
    }
}
