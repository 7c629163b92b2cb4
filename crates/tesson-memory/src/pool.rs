//! Buffers that minibatches are packed into, used again when their last owner lets go.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes kept for reuse, at most: what is made in advance, and some.
pub const KEPT_BYTES: usize = 16 << 20;

/// A few buffers are kept whatever their size, as long as this part of the memory limit has room for them.
const FEW: usize = 4;

/// Buffers that wait to be used again take this part of the memory limit at most.
pub const KEPT_SHARE: usize = 8;

/// Bytes that an allocator takes beside the memory it gives, and for rounding it up.
const ALLOCATION: usize = 32;

/// Buffers that are looked at for one that fits.
const LOOKED_AT: usize = 16;

/// A place where buffers of one element type wait to be used again.
#[derive(Debug)]
pub struct Pool<T> {
    idle: Mutex<Idle<T>>,
}

#[derive(Debug)]
struct Idle<T> {
    buffers: Vec<Vec<T>>,
    bytes: usize,
    /// Bytes that a few buffers may take together, unless [large ones](Pool::keep_large) are kept.
    share: usize,
    keeps_large: bool,
}

impl<T> Idle<T> {
    /// Bytes that many buffers may take together.
    fn kept(&self) -> usize {
        KEPT_BYTES.min(self.share)
    }

    /// Frees buffers until the rest may be kept.
    fn shrink(&mut self) {
        while !self.keeps_large && self.bytes > self.share {
            self.take(0);
        }
    }

    fn take(&mut self, at: usize) -> Vec<T> {
        let buffer = self.buffers.swap_remove(at);
        self.bytes -= Idle::cost(&buffer);
        buffer
    }

    /// Bytes that keeping a buffer takes: its elements, its entry here, and what an allocator adds. Without the latter two, buffers
    /// of a few bytes would be kept by the million, which take many times as much.
    fn cost(buffer: &Vec<T>) -> usize {
        buffer.capacity() * size_of::<T>() + size_of::<Vec<T>>() + ALLOCATION
    }

    fn give(&mut self, buffer: Vec<T>) {
        let bytes = Idle::cost(&buffer);
        let is_few = self.buffers.len() < FEW;
        let most = if is_few { self.share } else { self.kept() };
        if self.bytes + bytes <= most || is_few && self.keeps_large {
            self.bytes += bytes;
            self.buffers.push(buffer);
        }
    }
}

impl<T> Pool<T> {
    /// Of a source with this memory limit.
    pub fn new(memory_limit: usize) -> Arc<Pool<T>> {
        let share = memory_limit / KEPT_SHARE;
        Arc::new(Pool { idle: Mutex::new(Idle { buffers: Vec::new(), bytes: 0, share, keeps_large: false }) })
    }

    /// Says whether a few buffers are kept whatever their size.
    pub fn keep_large(&self, keeps_large: bool) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.keeps_large = keeps_large;
        idle.shrink();
    }

    /// Keeps as much from now on as a pool of a source with this memory limit.
    pub fn set_limit(&self, memory_limit: usize) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.share = memory_limit / KEPT_SHARE;
        idle.shrink();
    }

    /// Bytes of the buffers that wait to be used again.
    pub fn idle_bytes(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// An empty buffer with room for `capacity` elements. Its memory may have been used before.
    pub fn take(self: &Arc<Self>, capacity: usize) -> Buffer<T> {
        let mut buffer = self.take_used(capacity);
        buffer.items.clear();
        buffer
    }

    /// A buffer like [`take`](Pool::take), with the elements that its memory held last, if it was used: who writes over them need
    /// not make them.
    fn take_used(self: &Arc<Self>, capacity: usize) -> Buffer<T> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The latest ones are the likeliest to be in the cache; one that is much too large stays for larger requests.
        let latest = idle.buffers.len().saturating_sub(LOOKED_AT);
        let fits = |v: &Vec<T>| v.capacity() >= capacity && !is_too_large(v, capacity);
        let mut items = match idle.buffers[latest..].iter().rposition(fits) {
            Some(at) => idle.take(latest + at),
            // One that is too small grows: otherwise small ones would fill the pool for ever.
            None if idle.bytes > idle.kept() / 2 => idle.take(latest),
            None => Vec::new(),
        };
        drop(idle);
        if items.capacity() < capacity || is_too_large(&items, capacity) {
            // Not twice as much, and not beside the old memory that is no longer needed.
            items = Vec::new();
            items.reserve_exact(capacity);
        }
        Buffer { items, pool: Arc::downgrade(self) }
    }

    /// Removes the elements of a buffer, and makes room for `capacity`. One without memory, or much too large for them, is
    /// exchanged for one of the pool's.
    pub fn refill(self: &Arc<Self>, buffer: &mut Buffer<T>, capacity: usize) {
        if buffer.items.capacity() == 0 || is_too_large(&buffer.items, capacity) {
            *buffer = self.take(capacity);
            return;
        }
        buffer.items.clear();
        buffer.items.reserve(capacity);
    }

    /// Puts these elements into a buffer without copying them. In their place there is used memory with about as much room then: the
    /// buffer's, or of the pool if that has none, with any elements.
    pub fn exchange(self: &Arc<Self>, buffer: &mut Buffer<T>, items: &mut Vec<T>) {
        if buffer.items.capacity() == 0 || is_too_large(&buffer.items, items.len()) {
            *buffer = self.take_used(items.len());
        }
        std::mem::swap(&mut buffer.items, items);
    }
}

/// Bytes of memory that a trimmed buffer takes at most for so many bytes of elements.
pub fn trimmed_bytes(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(7)
}

/// True if a buffer would be wasted on a request for so little capacity.
fn is_too_large<T>(buffer: &Vec<T>, capacity: usize) -> bool {
    buffer.capacity() / 4 > capacity.max(256)
}

/// A pooled, exclusively owned array of numbers. Dropping it gives its memory back for the next minibatch.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    items: Vec<T>,
    pool: Weak<Pool<T>>,
}

impl<T> Buffer<T> {
    /// The elements, to be written.
    pub fn items(&mut self) -> &mut Vec<T> {
        &mut self.items
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.items.capacity() * size_of::<T>()
    }

    /// Frees memory beyond the elements, if it is [more than an eighth](trimmed_bytes).
    pub fn trim(&mut self) {
        if self.items.capacity() - self.items.len() > self.items.capacity() / 8 {
            self.items.shrink_to_fit();
        }
    }
}

impl<T> Default for Buffer<T> {
    /// A buffer without memory, of no pool.
    fn default() -> Buffer<T> {
        Buffer { items: Vec::new(), pool: Weak::new() }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.items.capacity() == 0 {
            return;
        }
        let Some(pool) = self.pool.upgrade() else { return };
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.give(std::mem::take(&mut self.items));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_after_its_owner_let_go() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut a = pool.take(1000);
        a.items().extend([1.0; 1000]);
        let at = a.as_ptr();
        drop(a);
        let b = pool.take(900);
        assert!(b.is_empty());
        assert_eq!(b.items.as_ptr(), at);
        assert_ne!(pool.take(900).items.as_ptr(), at);
    }

    #[test]
    fn tiny_buffers_are_charged_for_more_than_their_elements() {
        let limit = 1 << 20;
        let pool = Pool::<f32>::new(limit);
        let made = |_| {
            let mut buffer = pool.take(1);
            buffer.items().push(1.0);
            buffer
        };
        let buffers: Vec<_> = (0..12_500).map(made).collect();
        drop(buffers);
        let kept = pool.idle.lock().expect("no test panics with it").buffers.len();
        let each = size_of::<f32>() + size_of::<Vec<f32>>() + ALLOCATION;
        assert!(kept > 125 && kept * each <= limit / KEPT_SHARE, "{kept} buffers of {each} bytes");
    }

    #[test]
    fn a_large_buffer_is_not_taken_for_a_few_elements() {
        let pool = Pool::<f32>::new(usize::MAX);
        drop(pool.take(10_000_000));
        assert_eq!(pool.take(10).items.capacity(), 10);
    }

    #[test]
    fn elements_change_places_with_used_memory() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut used = pool.take(3);
        used.items().extend([7.0; 3]);
        drop(used);
        let (mut buffer, mut items) = (Buffer::default(), vec![1.0, 2.0]);
        let at = items.as_ptr();
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], buffer.as_ptr(), &items[..]), (&[1.0, 2.0][..], at, &[7.0; 3][..]));
        // The buffer's own memory goes first, and none that is much too large for what comes in its place.
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], &items[..]), (&[7.0; 3][..], &[1.0, 2.0][..]));
        buffer.items().reserve(1 << 16);
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], items.capacity()), (&[1.0, 2.0][..], 2));
    }

    #[test]
    fn a_buffer_may_outlive_its_pool() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut a = pool.take(4);
        a.items().push(7.0);
        drop(pool);
        assert_eq!(&a[..], [7.0]);
    }
}
