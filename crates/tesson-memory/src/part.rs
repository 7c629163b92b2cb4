//! Parts of a buffer, each with one owner.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use crate::pool::Pool;

/// Consecutive elements of a buffer, which no other part has. The memory goes back to the buffer's pool when the last of its
/// parts is dropped.
#[derive(Debug)]
pub(crate) struct Part<T> {
    start: NonNull<T>,
    len: usize,
    whole: Arc<Whole<T>>,
}

// SAFETY: a part is the only owner of its elements, as a vector is.
unsafe impl<T: Send> Send for Part<T> {}
// SAFETY: who shares a part can only read its elements, as of a vector.
unsafe impl<T: Sync> Sync for Part<T> {}

/// The memory that parts lie in, taken out of a vector. It gives no way to the elements: those are their parts' alone.
#[derive(Debug)]
struct Whole<T> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    pool: Weak<Pool<T>>,
}

// SAFETY: only dropping it touches the elements, which happens on one thread, after all parts are gone.
unsafe impl<T: Send> Send for Whole<T> {}
// SAFETY: nothing of the elements can be had through a shared one.
unsafe impl<T: Send> Sync for Whole<T> {}

impl<T> Drop for Whole<T> {
    fn drop(&mut self) {
        // SAFETY: they are what the vector consisted of in `Part::of`, and no part is left that has any of it.
        let items = unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, self.capacity) };
        if let Some(pool) = self.pool.upgrade() {
            pool.give(items);
        }
    }
}

impl<T> Part<T> {
    /// All elements of a vector, whose memory goes to this pool in the end.
    pub(crate) fn of(items: Vec<T>, pool: Weak<Pool<T>>) -> Part<T> {
        let mut items = ManuallyDrop::new(items);
        let start = NonNull::new(items.as_mut_ptr()).expect("vectors have no null pointers");
        let (len, capacity) = (items.len(), items.capacity());
        Part { start, len, whole: Arc::new(Whole { start, len, capacity, pool }) }
    }

    /// The elements from `at` on, which this part loses.
    ///
    /// # Panics
    /// If the part has fewer than `at` elements.
    pub(crate) fn split_off(&mut self, at: usize) -> Part<T> {
        let n = self.len.checked_sub(at).expect("a part is split within its elements");
        self.len = at;
        // SAFETY: `at` is at most the number of elements that follow `start`.
        let start = unsafe { self.start.add(at) };
        Part { start, len: n, whole: self.whole.clone() }
    }

    /// The pool that the memory goes to.
    pub(crate) fn pool(&self) -> Weak<Pool<T>> {
        self.whole.pool.clone()
    }
}

impl<T> Deref for Part<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` points to `len` initialised elements, and only this part can write to them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `start` points to `len` initialised elements, and no other part overlaps them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
