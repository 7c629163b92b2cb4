//! Memory for encoded samples while they are decoded and transformed.
//!
//! A file of a few bytes may declare an image of gigabytes. What decoding a sample takes is therefore set aside before it begins.
//! Whether a sample fits depends on the memory limit alone; when it is decoded, on what other threads decode at the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::memory_budget::{largest_batch, largest_with_sample, limit_for, limit_with_sample};

/// The share of the limit, one part of this many, that all threads together may decode without waiting for each other.
const FREE_SHARE: u64 = 8;

/// Memory for samples that several threads decode.
#[derive(Debug)]
pub struct SampleRoom {
    /// Bytes that one sample may take.
    most: u64,
    /// Bytes that one sample, its file and the minibatch that it becomes part of may take.
    with_batch: u64,
    /// Bytes of a sample that are not counted: each thread keeps as many.
    free: u64,
    /// Bytes of all samples that are being decoded, without those that are free.
    in_use: Mutex<u64>,
    /// The most of these lately; all there is before the first sample.
    lately: AtomicU64,
    left: Condvar,
}

/// The part by which the memory that was in use lately falls with each sample.
const LATELY: u64 = 64;

/// A sample that takes more than there is, or a sample and its minibatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BeyondRoom {
    pub(crate) bytes: u64,
    pub(crate) most: u64,
    /// The memory limit that is needed.
    pub(crate) limit: u64,
    /// True if the sample would fit beside a smaller minibatch.
    pub(crate) with_batch: bool,
}

impl SampleRoom {
    /// The room of a reader with this memory limit and so many threads. A sample may take as much of the limit as a minibatch.
    pub fn new(memory_limit: u64, threads: usize) -> SampleRoom {
        let free = memory_limit / (FREE_SHARE * threads.max(1) as u64);
        let with_batch = largest_with_sample(memory_limit);
        SampleRoom { free, with_batch, ..SampleRoom::of(largest_batch(memory_limit)) }
    }

    fn of(most: u64) -> SampleRoom {
        let (in_use, lately) = (Mutex::new(0), AtomicU64::new(most));
        SampleRoom { most, with_batch: u64::MAX, free: most, in_use, lately, left: Condvar::new() }
    }

    /// Bytes that are set aside.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> u64 {
        *self.lock()
    }

    /// Bytes that samples will probably take: as many as lately. Blocks that are loaded before have to leave them.
    pub(crate) fn expected(&self) -> u64 {
        self.lately.load(Ordering::Relaxed)
    }

    /// Notes what is in use. All threads look at it, and of small samples it seldom changes.
    fn note(&self, in_use: u64) {
        let before = self.lately.load(Ordering::Relaxed);
        let is_first = before == self.most;
        let now = if is_first { in_use } else { in_use.max(before - before.div_ceil(LATELY)) };
        if now != before {
            self.lately.store(now, Ordering::Relaxed);
        }
    }

    /// The part of a sequence, which has nothing yet.
    pub(crate) fn enter(&self) -> Entered<'_> {
        Entered { room: self, bytes: 0, counted: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SampleRoom {
    /// As much as there is.
    fn default() -> SampleRoom {
        SampleRoom::of(u64::MAX)
    }
}

/// A reservation of memory for one sequence, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    room: &'a SampleRoom,
    bytes: u64,
    counted: u64,
}

impl Entered<'_> {
    /// Sets memory aside for another sample, beside so many bytes of its file and its minibatch. Waits until others leave as much, unless the sequence has some already: two that
    /// wait for each other would wait for ever.
    ///
    /// # Errors
    /// More than the room has at all, or has beside the minibatch.
    pub(crate) fn add(&mut self, bytes: u64, beside: u64) -> Result<(), BeyondRoom> {
        let SampleRoom { most, with_batch, free, .. } = *self.room;
        let bytes = self.bytes.saturating_add(bytes);
        if bytes > most {
            return Err(BeyondRoom { bytes, most, limit: limit_for(bytes), with_batch: false });
        }
        let all = bytes.saturating_add(beside);
        if all > with_batch {
            let limit = limit_with_sample(all);
            return Err(BeyondRoom { bytes: all, most: with_batch, limit, with_batch: true });
        }
        let most = most.min(with_batch - beside);
        let counted = bytes.saturating_sub(free);
        let more = counted - self.counted;
        if more > 0 {
            let mut in_use = self.room.lock();
            while self.counted == 0 && *in_use > 0 && in_use.saturating_add(more) > most {
                in_use = self.room.left.wait(in_use).unwrap_or_else(PoisonError::into_inner);
            }
            *in_use = in_use.saturating_add(more);
            self.room.note(*in_use);
        } else if self.room.expected() > 0 {
            self.room.note(counted);
        }
        (self.bytes, self.counted) = (bytes, counted);
        Ok(())
    }

    /// True if the sequence reserves more than a thread keeps.
    pub(crate) fn is_large(&self) -> bool {
        self.counted > 0
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.counted > 0 {
            let mut in_use = self.room.lock();
            *in_use = in_use.saturating_sub(self.counted);
            drop(in_use);
            self.room.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_may_take_three_quarters_of_the_limit() {
        for threads in [1, 16] {
            let room = SampleRoom::new(64 << 20, threads);
            assert_eq!(room.enter().add(48 << 20, 0), Ok(()));
            let refused = BeyondRoom {
                bytes: (48 << 20) + 1,
                most: 48 << 20,
                limit: (64 << 20) + 2,
                with_batch: false,
            };
            assert_eq!(room.enter().add((48 << 20) + 1, 0), Err(refused));
            // With what it needs it is not refused.
            assert_eq!(SampleRoom::new(refused.limit, threads).enter().add(refused.bytes, 0), Ok(()));
        }
    }

    #[test]
    fn a_sample_and_its_minibatch_leave_an_eighth_of_the_limit() {
        let room = SampleRoom::new(64 << 20, 2);
        assert_eq!(room.enter().add(16 << 20, 40 << 20), Ok(()));
        let refused = room.enter().add((16 << 20) + 1, 40 << 20).unwrap_err();
        assert!(refused.with_batch && (refused.bytes, refused.most) == ((56 << 20) + 1, 56 << 20));
        // With what both need they are not refused.
        assert_eq!(SampleRoom::new(refused.limit, 2).enter().add((16 << 20) + 1, 40 << 20), Ok(()));
        // Limits that leave nothing aside for minibatches do not here.
        assert_eq!(SampleRoom::new(1 << 20, 2).enter().add(1 << 20, 1 << 20), Ok(()));
    }

    #[test]
    fn samples_of_one_sequence_add_up_and_leave_together() {
        let room = SampleRoom::new(64 << 20, 2);
        let mut entered = room.enter();
        assert!(entered.add(4 << 20, 0).is_ok() && !entered.is_large());
        assert!(entered.add(20 << 20, 0).is_ok() && entered.is_large());
        assert_eq!(room.in_use(), 20 << 20);
        assert!(entered.add(25 << 20, 0).is_err());
        drop(entered);
        assert_eq!(room.in_use(), 0);
    }

    #[test]
    fn samples_are_expected_to_take_what_they_took_lately() {
        let room = SampleRoom::new(64 << 20, 2);
        assert_eq!(room.expected(), 48 << 20);
        room.enter().add(24 << 20, 0).expect("it fits");
        assert_eq!(room.expected(), 20 << 20);
        room.enter().add(1 << 20, 0).expect("it fits");
        assert!((19 << 20..20 << 20).contains(&room.expected()));
        (0..2000).for_each(|_| room.enter().add(1 << 20, 0).expect("it fits"));
        assert_eq!(room.expected(), 0);
    }

    #[test]
    fn threads_wait_for_each_other_and_never_have_more_than_there_is() {
        let room = SampleRoom::new(64 << 20, 8);
        let (now, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (room, now, peak) = (&room, &now, &peak);
                scope.spawn(move || {
                    for i in 0..200 {
                        let bytes = (1 + (thread * 7 + i * 5) % 46) << 20;
                        let mut entered = room.enter();
                        entered.add(bytes, 0).expect("it fits");
                        let counted = bytes.saturating_sub(1 << 20);
                        peak.fetch_max(now.fetch_add(counted, Ordering::SeqCst) + counted, Ordering::SeqCst);
                        now.fetch_sub(counted, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(peak.into_inner() <= 48 << 20);
        assert_eq!(room.in_use(), 0);
    }
}
