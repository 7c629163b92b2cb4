//! Hints that memory will be read soon: waiting for it is most of what a random order costs.

/// Bytes that come into the cache together.
pub const CACHE_LINE: usize = 64;

/// Has memory brought into the cache, if the processor can be asked to.
#[inline]
pub fn prefetch<T>(place: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = place {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about memory that is there; nothing is read or written.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Has the first of these bytes brought into the cache, at most so many: the processor itself fetches what follows them.
#[inline]
pub fn prefetch_bytes(bytes: &[u8], most: usize) {
    let bytes = &bytes[..bytes.len().min(most)];
    for at in (0..bytes.len()).step_by(CACHE_LINE) {
        prefetch(bytes.get(at));
    }
    prefetch(bytes.last());
}
