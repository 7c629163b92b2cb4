//! Memory that is read at random, in large pages where there is enough of it.
//!
//! Each page that is touched costs a walk through tables of pages, and a fault the first time. Sequences that come in a
//! random order touch another page each.

use std::ops::Deref;

use memmap2::{MmapMut, MmapOptions};

/// Bytes of a large page on the systems that have them.
const LARGE: usize = 2 << 20;

/// The last large page may be used up to here only if what lies after is at most this part of all.
const WASTE: usize = 8;

/// From here on memory comes from the system itself, which has set it to 0 and gets it back at once. An allocator that keeps
/// what is freed would have to set it to 0 again.
const MAPPED: usize = 256 << 10;

/// Bytes, at a place that can be divided by 64 (and by [`LARGE`], if that much is asked for).
#[derive(Debug)]
pub(super) struct Pages {
    memory: Memory,
    /// Where they lie in it.
    from: usize,
    len: usize,
    /// Bytes that the system has to give for them.
    held: usize,
}

#[derive(Debug)]
enum Memory {
    Heap(Box<[u8]>),
    Mapped(MmapMut),
}

impl Pages {
    /// So many bytes, all 0.
    pub(super) fn zeroed(len: usize) -> Pages {
        // Miri knows neither large pages nor such as the system fills at once.
        let mapped = if cfg!(miri) { None } else { Pages::large(len).or_else(|| Pages::small(len)) };
        mapped.unwrap_or_else(|| {
            let held = len + super::CACHE_LINE;
            let memory = vec![0; held].into_boxed_slice();
            let from = memory.as_ptr().align_offset(super::CACHE_LINE).min(super::CACHE_LINE);
            Pages { memory: Memory::Heap(memory), from, len, held }
        })
    }

    /// As many bytes in large pages, if that is worth while.
    fn large(len: usize) -> Option<Pages> {
        let rounded = len.next_multiple_of(LARGE);
        let large = if (rounded - len) * WASTE <= rounded { rounded } else { rounded - LARGE };
        if large == 0 {
            return None;
        }
        let map = MmapMut::map_anon(rounded + LARGE).ok()?;
        let from = map.as_ptr().align_offset(LARGE).min(LARGE);
        #[cfg(target_os = "linux")]
        // A system without large pages refuses, and small ones do as well.
        let _ = map.advise_range(memmap2::Advice::HugePage, from, large);
        Some(Pages { memory: Memory::Mapped(map), from, len, held: large.max(len) })
    }

    /// As many bytes in pages of the usual size, if they fill enough of them.
    fn small(len: usize) -> Option<Pages> {
        // All of it will be written: one call costs less than a fault for each page.
        let map = || MmapOptions::new().len(len).populate().map_anon().ok();
        let memory = (len >= MAPPED).then(map)??;
        Some(Pages { memory: Memory::Mapped(memory), from: 0, len, held: len })
    }

    pub(super) fn items(&mut self) -> &mut [u8] {
        let memory = match &mut self.memory {
            Memory::Heap(memory) => memory,
            Memory::Mapped(map) => &mut map[..],
        };
        &mut memory[self.from..self.from + self.len]
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> usize {
        self.held
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let memory = match &self.memory {
            Memory::Heap(memory) => memory,
            Memory::Mapped(map) => &map[..],
        };
        &memory[self.from..self.from + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no pages")]
    fn a_large_page_is_used_where_little_of_it_is_wasted() {
        let cases = [
            (10, 10 + super::super::CACHE_LINE),
            (MAPPED - 1, MAPPED - 1 + super::super::CACHE_LINE),
            (MAPPED, MAPPED),
            (LARGE / 2, LARGE / 2),
            (LARGE - LARGE / 16, LARGE),
            (LARGE + 1, LARGE + 1),
            (2 * LARGE, 2 * LARGE),
            (4 * LARGE - LARGE / 4, 4 * LARGE),
        ];
        for (len, held) in cases {
            let mut pages = Pages::zeroed(len);
            assert_eq!((pages.len(), pages.bytes()), (len, held));
            assert_eq!(pages.as_ptr().align_offset(super::super::CACHE_LINE), 0);
            assert!(pages.iter().all(|&b| b == 0));
            pages.items().fill(7);
            assert_eq!(pages[len - 1], 7);
        }
    }
}
