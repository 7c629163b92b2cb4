//! Files that stay in memory as they are, such as images, in pages that files of any size share.
//!
//! Images differ in size: what one leaves when it is evicted seldom fits the next one, unless it comes in pages of one
//! size. A file has large pages, and small ones for what is left: little of a small file is wasted, and what large files
//! leave can be used for something else once it is freed. A file is put together again when it is decoded.

use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tesson_core::EncodedColumn;

/// Bytes of files in a page; with the next page's address and what the allocator adds it is a power of two.
const LARGE: usize = (16 << 10) - 2 * size_of::<usize>();
const SMALL: usize = (1 << 10) - 2 * size_of::<usize>();

/// A page and those that follow it.
#[derive(Debug)]
struct Page<const ROOM: usize> {
    next: Option<Box<Page<ROOM>>>,
    bytes: [u8; ROOM],
}

/// Pages of one size.
#[derive(Debug)]
struct Chain<const ROOM: usize> {
    first: Option<Box<Page<ROOM>>>,
    n: usize,
}

impl<const ROOM: usize> Default for Chain<ROOM> {
    fn default() -> Self {
        Chain { first: None, n: 0 }
    }
}

impl<const ROOM: usize> Chain<ROOM> {
    /// Bytes of memory held.
    fn bytes(&self) -> usize {
        self.n * (ROOM + 2 * size_of::<usize>())
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::successors(self.first.as_deref(), |page| page.next.as_deref()).map(|page| &page.bytes[..])
    }

    /// Removes the first page.
    fn pop(&mut self) -> Option<Box<Page<ROOM>>> {
        let mut page = self.first.take()?;
        self.first = page.next.take();
        self.n -= 1;
        Some(page)
    }
}

impl<const ROOM: usize> Drop for Chain<ROOM> {
    fn drop(&mut self) {
        // One by one: each dropping the next would take a large file's number of calls within each other.
        while self.pop().is_some() {}
    }
}

/// Bytes in pages, one after the other.
#[derive(Debug, Default)]
pub struct FilePages {
    large: Chain<LARGE>,
    small: Chain<SMALL>,
}

impl FilePages {
    /// True if it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.large.n + self.small.n == 0
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.large.bytes() + self.small.bytes()
    }

    /// A part of the bytes: in place if it lies in one page, otherwise copied to `memory`.
    pub fn get<'a>(&'a self, range: Range<usize>, memory: &'a mut Vec<u8>) -> &'a [u8] {
        let (mut skipped, mut left) = (range.start, range.len());
        memory.clear();
        for page in self.large.iter().chain(self.small.iter()) {
            let Some(page) = page.get(skipped..).filter(|page| !page.is_empty()) else {
                skipped -= page.len();
                continue;
            };
            if memory.is_empty() && left <= page.len() {
                return &page[..left];
            }
            memory.reserve(left);
            let n = left.min(page.len());
            memory.extend_from_slice(&page[..n]);
            (skipped, left) = (0, left - n);
            if left == 0 {
                break;
            }
        }
        memory
    }
}

/// A column of encoded samples, whose bytes are its own or lie in pages.
#[derive(Clone, Copy, Debug)]
pub struct EncodedBytes<'a> {
    /// The column.
    pub column: &'a EncodedColumn,
    /// Its bytes, if they are not its own.
    pub pages: Option<&'a FilePages>,
}

impl<'a> EncodedBytes<'a> {
    /// The bytes of a sample, in place if they are in one piece, otherwise put together in `memory`.
    pub fn get(self, sample: usize, memory: &'a mut Vec<u8>) -> &'a [u8] {
        match self.pages {
            None => self.column.get(sample),
            Some(pages) => pages.get(self.column.span(sample), memory),
        }
    }
}

/// Pages of one size that wait for the next file, as files have left them.
type Idle<const ROOM: usize> = Mutex<Vec<Chain<ROOM>>>;

/// Pages of files that were evicted, waiting for the next ones.
#[derive(Debug)]
pub struct PagePool {
    large: Idle<LARGE>,
    small: Idle<SMALL>,
    /// Bytes of all of them.
    bytes: AtomicUsize,
    /// Bytes kept, at most.
    limit: AtomicUsize,
}

impl PagePool {
    /// A pool that keeps at most this many bytes.
    pub fn new(limit: usize) -> PagePool {
        PagePool {
            large: Mutex::default(),
            small: Mutex::default(),
            bytes: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
        }
    }

    /// Sets the number of bytes that are kept at most.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        while self.bytes.load(Ordering::Relaxed) > limit {
            if self.take(&self.large).n == 0 && self.take(&self.small).n == 0 {
                break;
            }
        }
    }

    /// Keeps pages, or frees them.
    pub fn give(&self, pages: FilePages) {
        let FilePages { large, small } = pages;
        self.keep(&self.large, large);
        self.keep(&self.small, small);
    }

    fn keep<const ROOM: usize>(&self, idle: &Idle<ROOM>, chain: Chain<ROOM>) {
        let bytes = self.bytes.load(Ordering::Relaxed).saturating_add(chain.bytes());
        if chain.n > 0 && bytes <= self.limit.load(Ordering::Relaxed) {
            self.bytes.fetch_add(chain.bytes(), Ordering::Relaxed);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(chain);
        }
    }

    /// Takes the idle pages of one file; an empty chain if none are kept.
    fn take<const ROOM: usize>(&self, idle: &Idle<ROOM>) -> Chain<ROOM> {
        let chain = idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        self.bytes.fetch_sub(chain.bytes(), Ordering::Relaxed);
        chain
    }

    /// Copies bytes into pages, the parts one after the other.
    pub fn store<'a>(&self, parts: impl Iterator<Item = &'a [u8]> + Clone) -> FilePages {
        let len = parts.clone().map(<[u8]>::len).sum::<usize>();
        let (n_large, n_small) = match (len / LARGE, (len % LARGE).div_ceil(SMALL)) {
            // As many small ones take as much as a large one.
            (large, 16..) => (large + 1, 0),
            numbers => numbers,
        };
        let mut parts = parts;
        let mut part: &[u8] = &[];
        let mut fill = |mut page: &mut [u8]| {
            while !page.is_empty() {
                if part.is_empty() {
                    let Some(next) = parts.next() else { return };
                    part = next;
                }
                let n = page.len().min(part.len());
                page[..n].copy_from_slice(&part[..n]);
                (page, part) = (&mut mem::take(&mut page)[n..], &part[n..]);
            }
        };
        let large = self.filled(&self.large, n_large, &mut fill);
        FilePages { large, small: self.filled(&self.small, n_small, fill) }
    }

    /// So many pages, each filled by `fill`: those that are idle, then new ones.
    fn filled<const ROOM: usize>(
        &self,
        idle: &Idle<ROOM>,
        n: usize,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Chain<ROOM> {
        let (mut taken, mut none_left) = (Chain::default(), false);
        let mut chain = Chain { first: None, n };
        let mut end = &mut chain.first;
        for _ in 0..n {
            if taken.n == 0 && !none_left {
                taken = self.take(idle);
                none_left = taken.n == 0;
            }
            let page = taken.pop().unwrap_or_else(|| Box::new(Page { next: None, bytes: [0; ROOM] }));
            let page = end.insert(page);
            fill(&mut page.bytes);
            end = &mut page.next;
        }
        self.keep(idle, taken);
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn what_is_stored_comes_back() {
        let pool = PagePool::new(usize::MAX);
        let sizes =
            [0, 1, SMALL - 1, SMALL + 1, LARGE + 1, SMALL, LARGE - 1, LARGE, 3 * LARGE, 5 * LARGE + 9000];
        // Miri takes minutes for all of them.
        let sizes = if cfg!(miri) { &sizes[..5] } else { &sizes[..] };
        for &n in sizes {
            let file: Vec<u8> = bytes(n).iter().map(|byte| byte.wrapping_add(n as u8)).collect();
            // In parts that end anywhere, some of them empty.
            let pages = pool.store(file.chunks(700).chain([&[][..]]));
            assert!(pages.bytes() < n + n / 32 + 2 * SMALL, "{n} bytes take {}", pages.bytes());
            for range in [0..n, n / 2..n, n / 3..n / 2, n..n, 0..n.min(1)] {
                assert_eq!(pages.get(range.clone(), &mut vec![9]), &file[range]);
            }
            pool.give(pages);
        }
    }

    #[test]
    fn pages_are_used_again_for_files_of_any_size() {
        let limit = 60 * size_of::<Page<LARGE>>();
        let pool = PagePool::new(limit);
        let store = |n: usize| pool.store([&vec![0; n][..]].into_iter());
        let held = || {
            let large = pool.large.lock().unwrap().iter().map(|chain| chain.n).sum::<usize>();
            (large, pool.small.lock().unwrap().iter().map(|chain| chain.n).sum::<usize>())
        };
        pool.give(store(50 * LARGE + 5 * SMALL));
        assert_eq!(held(), (50, 5));
        let file = store(3 * LARGE + 9 * SMALL);
        assert_eq!(held(), (47, 0));
        pool.give(file);
        assert_eq!(held(), (50, 9));
        // What is beyond the limit is freed.
        pool.give(PagePool::new(0).store([&vec![0; 40 * LARGE][..]].into_iter()));
        assert_eq!(held(), (50, 9));
        let sum = |(large, small)| large * (LARGE + 16) + small * (SMALL + 16);
        assert_eq!(pool.bytes.load(Ordering::Relaxed), sum((50, 9)));
        pool.set_limit(0);
        assert_eq!((held(), pool.bytes.load(Ordering::Relaxed)), ((0, 0), 0));
        // Chain by chain, large pages first.
        pool.set_limit(limit);
        let files: Vec<FilePages> = (0..10).map(|_| store(5 * LARGE + 2 * SMALL)).collect();
        files.into_iter().for_each(|file| pool.give(file));
        pool.set_limit(sum((20, 20)) + 1);
        assert_eq!((held(), pool.bytes.load(Ordering::Relaxed)), ((20, 20), sum((20, 20))));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes too long for so many")]
    fn a_file_of_many_pages_can_be_dropped() {
        drop(PagePool::new(0).filled::<8>(&Mutex::default(), 500_000, |_| ()));
    }
}
