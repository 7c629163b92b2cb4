//! Buffers that minibatches are packed into, used again when their last owner lets go.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::part::Part;

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
    /// Bytes that a few buffers may take together, unless [large ones](AnyPool::keep_large) are kept.
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

/// A pool, whatever its elements.
pub trait AnyPool {
    /// Says whether a few buffers are kept whatever their size.
    fn keep_large(&self, keeps_large: bool);

    /// Keeps as much from now on as a pool of a source with this memory limit.
    fn set_limit(&self, memory_limit: usize);

    /// Frees the buffers that wait to be used again.
    fn clear(&self);

    /// Bytes of the buffers that wait to be used again.
    fn idle_bytes(&self) -> usize;
}

impl<T> AnyPool for Pool<T> {
    fn keep_large(&self, keeps_large: bool) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.keeps_large = keeps_large;
        idle.shrink();
    }

    fn set_limit(&self, memory_limit: usize) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.share = memory_limit / KEPT_SHARE;
        idle.shrink();
    }

    fn clear(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.bytes = 0;
        let buffers = std::mem::take(&mut idle.buffers);
        drop(idle);
        drop(buffers);
    }

    fn idle_bytes(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }
}

impl<T> Pool<T> {
    /// Of a source with this memory limit.
    pub fn new(memory_limit: usize) -> Arc<Pool<T>> {
        let share = memory_limit / KEPT_SHARE;
        Arc::new(Pool { idle: Mutex::new(Idle { buffers: Vec::new(), bytes: 0, share, keeps_large: false }) })
    }

    /// An empty buffer with room for `capacity` elements. Its memory may have been used before.
    pub fn take(self: &Arc<Self>, capacity: usize) -> Buffer<T> {
        let mut items = self.lend(capacity);
        items.clear();
        Buffer::own(items, Arc::downgrade(self))
    }

    /// Room for `capacity` elements, with the elements that the memory held last, if it was used: who writes over them need not
    /// make them. It comes back with a [buffer](Pool::exchange) of this pool.
    pub fn lend(&self, capacity: usize) -> Vec<T> {
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
        items
    }

    /// Keeps memory for the next buffer.
    pub(crate) fn give(&self, items: Vec<T>) {
        if items.capacity() > 0 {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).give(items);
        }
    }

    /// Removes the elements of a buffer, and makes room for `capacity`. One without memory of its own, or much too large for them,
    /// is exchanged for one of the pool's.
    pub fn refill(self: &Arc<Self>, buffer: &mut Buffer<T>, capacity: usize) {
        match &mut buffer.memory {
            Memory::Own(Own { items, .. }) if items.capacity() > 0 && !is_too_large(items, capacity) => {
                items.clear();
                items.reserve(capacity);
            }
            _ => *buffer = self.take(capacity),
        }
    }

    /// Puts these elements into a buffer without copying them. The buffer's own memory comes in their place, with any elements,
    /// unless it is much too large for as many.
    pub fn exchange(self: &Arc<Self>, buffer: &mut Buffer<T>, items: &mut Vec<T>) {
        let used = match &mut buffer.memory {
            Memory::Own(own) if !is_too_large(&own.items, items.len()) => std::mem::take(&mut own.items),
            _ => Vec::new(),
        };
        *buffer = Buffer::own(std::mem::replace(items, used), Arc::downgrade(self));
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
///
/// It can be [divided](Buffer::split_off) into several, which share their memory and none of their elements.
#[derive(Debug)]
pub struct Buffer<T> {
    memory: Memory<T>,
}

/// Where the elements of a buffer lie.
#[derive(Debug)]
enum Memory<T> {
    Own(Own<T>),
    /// In memory that is shared with other buffers.
    Part(Part<T>),
}

/// Memory of one buffer, and the pool that it goes to.
#[derive(Debug)]
struct Own<T> {
    items: Vec<T>,
    pool: Weak<Pool<T>>,
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.items.capacity() == 0 {
            return;
        }
        if let Some(pool) = self.pool.upgrade() {
            pool.give(std::mem::take(&mut self.items));
        }
    }
}

impl<T> Buffer<T> {
    fn own(items: Vec<T>, pool: Weak<Pool<T>>) -> Buffer<T> {
        Buffer { memory: Memory::Own(Own { items, pool }) }
    }

    /// Bytes of memory held; of shared memory those of the elements.
    pub fn memory(&self) -> usize {
        let n = match &self.memory {
            Memory::Own(Own { items, .. }) => items.capacity(),
            Memory::Part(part) => part.len(),
        };
        n * size_of::<T>()
    }

    /// Frees memory beyond the elements, if it is [more than an eighth](trimmed_bytes). The rest does not go back to the pool: who
    /// asks for more than it needs seldom asks for as little as that, and a pool would collect such buffers up to its bounds.
    /// Shared memory is left.
    pub fn trim(&mut self) {
        if let Memory::Own(Own { items, pool }) = &mut self.memory
            && items.capacity() - items.len() > items.capacity() / 8
        {
            items.shrink_to_fit();
            *pool = Weak::new();
        }
    }

    /// The elements from `at` on, which this buffer loses. Both lie where they lay: nothing is copied, and the memory goes back to
    /// the pool when both are dropped.
    ///
    /// # Panics
    /// If there are fewer than `at` elements.
    pub fn split_off(&mut self, at: usize) -> Buffer<T> {
        if let Memory::Own(Own { items, pool }) = &mut self.memory {
            self.memory = Memory::Part(Part::of(std::mem::take(items), std::mem::take(pool)));
        }
        let Memory::Part(part) = &mut self.memory else { unreachable!("it has become one") };
        Buffer { memory: Memory::Part(part.split_off(at)) }
    }

    /// Lets go of memory that is shared with other buffers, with the elements in it: kept for the next minibatch, it would keep
    /// theirs.
    pub fn release_shared(&mut self) {
        if matches!(self.memory, Memory::Part(_)) {
            *self = Buffer::default();
        }
    }
}

impl<T: Copy> Buffer<T> {
    /// The elements, to be written. Those in memory that is shared with other buffers are copied first.
    pub fn items(&mut self) -> &mut Vec<T> {
        if let Memory::Part(_) = self.memory {
            *self = self.clone();
        }
        match &mut self.memory {
            Memory::Own(Own { items, .. }) => items,
            Memory::Part(_) => unreachable!("its copy has memory of its own"),
        }
    }
}

impl<T: Copy> Clone for Buffer<T> {
    #[cold]
    fn clone(&self) -> Buffer<T> {
        let pool = match &self.memory {
            Memory::Own(Own { pool, .. }) => pool.clone(),
            Memory::Part(part) => part.pool(),
        };
        Buffer::own(self.to_vec(), pool)
    }
}

impl<T> Default for Buffer<T> {
    /// A buffer without memory, of no pool.
    fn default() -> Buffer<T> {
        Buffer::own(Vec::new(), Weak::new())
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Own(Own { items, .. }) => items,
            Memory::Part(part) => part,
        }
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Own(Own { items, .. }) => items,
            Memory::Part(part) => part,
        }
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
        assert_eq!(b.as_ptr(), at);
        assert_ne!(pool.take(900).as_ptr(), at);
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
    fn what_is_left_of_a_trimmed_buffer_is_not_kept() {
        let pool = Pool::<f32>::new(usize::MAX);
        let idle_after = |n: usize| {
            let mut buffer = pool.take(100);
            buffer.items().resize(n, 1.0);
            buffer.trim();
            assert_eq!(buffer.len(), n);
            drop(buffer);
            pool.idle_bytes()
        };
        assert!(idle_after(100) >= 400, "a full buffer is not cut, and comes back");
        assert_eq!(idle_after(10), 0, "the same memory was taken, cut and freed");
    }

    #[test]
    fn a_cleared_pool_keeps_nothing_and_goes_on() {
        let pool = Pool::<f32>::new(usize::MAX);
        let lent = pool.take(1000);
        drop(pool.take(1000));
        pool.clear();
        assert_eq!(pool.idle_bytes(), 0);
        drop(lent);
        assert!(pool.idle_bytes() >= 4000);
    }

    #[test]
    fn a_large_buffer_is_not_taken_for_a_few_elements() {
        let pool = Pool::<f32>::new(usize::MAX);
        drop(pool.take(10_000_000));
        assert_eq!(pool.take(10).items().capacity(), 10);
    }

    #[test]
    fn elements_change_places_with_used_memory() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut used = pool.take(3);
        used.items().extend([7.0; 3]);
        drop(used);
        let mut items = pool.lend(2);
        assert_eq!(&items[..], [7.0; 3]);
        let (at, mut buffer) = (items.as_ptr(), Buffer::default());
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], buffer.as_ptr(), items.capacity()), (&[7.0; 3][..], at, 0));
        items.push(1.0);
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], &items[..], items.as_ptr()), (&[1.0][..], &[7.0; 3][..], at));
        // Memory that is much too large for what comes in its place goes to the pool.
        buffer.items().reserve(1 << 16);
        let large = buffer.as_ptr();
        pool.exchange(&mut buffer, &mut items);
        assert_eq!((&buffer[..], items.capacity()), (&[7.0; 3][..], 0));
        assert_eq!(pool.take(1 << 16).as_ptr(), large);
    }

    #[test]
    fn divided_buffers_share_memory_which_goes_back_with_the_last_of_them() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut first = pool.take(5);
        first.items().extend([1.0, 2.0, 3.0, 4.0, 5.0]);
        let at = first.as_ptr();
        let mut last = first.split_off(3);
        let mut middle = first.split_off(1);
        let none = last.split_off(2);
        last[1] = 7.0;
        middle[0] = 8.0;
        assert_eq!(
            (&first[..], &middle[..], &last[..], &none[..]),
            (&[1.0][..], &[8.0, 3.0][..], &[4.0, 7.0][..], &[][..])
        );
        assert_eq!((first.memory(), middle.memory()), (4, 8));
        // What grows has memory of its own then, and a copy has from the beginning.
        let copy = middle.clone();
        middle.items().push(9.0);
        assert_eq!((&middle[..], &copy[..], &first[..]), (&[8.0, 3.0, 9.0][..], &[8.0, 3.0][..], &[1.0][..]));
        drop((first, none));
        std::thread::spawn(move || drop(last)).join().expect("dropping does not panic");
        assert_eq!(pool.take(5).as_ptr(), at);
    }

    #[test]
    fn shared_memory_is_let_go_and_memory_of_its_own_is_kept() {
        let pool = Pool::<f32>::new(usize::MAX);
        let mut buffer = pool.take(2);
        buffer.items().extend([1.0, 2.0]);
        let at = buffer.as_ptr();
        buffer.release_shared();
        assert_eq!(&buffer[..], [1.0, 2.0]);
        drop(buffer.split_off(1));
        buffer.release_shared();
        assert!(buffer.is_empty());
        assert_eq!(pool.take(2).as_ptr(), at);
    }

    #[test]
    fn parts_that_several_threads_write_to_do_not_meet() {
        let pool = Pool::<u32>::new(usize::MAX);
        let mut rest = pool.take(64);
        rest.items().extend(0..64);
        let mut parts: Vec<Buffer<u32>> = (0..8).rev().map(|i| rest.split_off(8 * i)).collect();
        std::thread::scope(|scope| {
            for part in &mut parts {
                scope.spawn(|| part.iter_mut().for_each(|item| *item += 100));
            }
        });
        let all: Vec<u32> = parts.iter().rev().flat_map(|part| part.iter().copied()).collect();
        assert!(all.into_iter().eq(100..164) && rest.is_empty());
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
