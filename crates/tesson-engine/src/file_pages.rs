//! Files that stay in memory as they are, such as pictures, in pages that files of any size share.
//!
//! Pictures differ in size: what one leaves when it is evicted seldom fits the next one, unless it comes in pages of one
//! size. Whoever decodes a file has it put together.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tesson_core::EncodedColumn;

/// Bytes of a page with what the allocator adds. Of a small picture little is wasted, and a large one takes some hundred.
const PAGE: usize = 1024;

/// Bytes of files in a page.
const ROOM: usize = PAGE - 2 * size_of::<usize>();

/// A page and those that follow it.
#[derive(Debug)]
struct Page {
    next: Option<Box<Page>>,
    bytes: [u8; ROOM],
}

/// Bytes in pages, one after the other.
#[derive(Debug, Default)]
pub(crate) struct FilePages {
    first: Option<Box<Page>>,
    n: usize,
}

impl FilePages {
    pub(crate) fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.n * PAGE
    }

    /// A part of the bytes: in place if it lies in one page, otherwise copied to `memory`.
    pub(crate) fn get<'a>(&'a self, range: Range<usize>, memory: &'a mut Vec<u8>) -> &'a [u8] {
        let (mut skipped, mut left) = (range.start, range.len());
        let mut pages = self.iter();
        let Some(mut page) = pages.nth(skipped / ROOM) else { return &[] };
        skipped %= ROOM;
        if skipped + left <= ROOM {
            return &page.bytes[skipped..skipped + left];
        }
        memory.clear();
        memory.reserve(left);
        loop {
            let n = left.min(ROOM - skipped);
            memory.extend_from_slice(&page.bytes[skipped..skipped + n]);
            (skipped, left) = (0, left - n);
            match pages.next() {
                Some(next) if left > 0 => page = next,
                _ => return memory,
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Page> {
        std::iter::successors(self.first.as_deref(), |page| page.next.as_deref())
    }

    /// Removes the first page.
    fn pop(&mut self) -> Option<Box<Page>> {
        let mut page = self.first.take()?;
        self.first = page.next.take();
        self.n -= 1;
        Some(page)
    }
}

impl Drop for FilePages {
    fn drop(&mut self) {
        // One by one: each dropping the next would take a large file's number of calls within each other.
        while self.pop().is_some() {}
    }
}

/// A column of encoded samples, whose bytes are its own or lie in pages.
#[derive(Clone, Copy)]
pub(crate) struct EncodedBytes<'a> {
    pub(crate) column: &'a EncodedColumn,
    pub(crate) pages: Option<&'a FilePages>,
}

impl<'a> EncodedBytes<'a> {
    /// The bytes of a sample, in place if they are in one piece, otherwise put together in `memory`.
    pub(crate) fn get(self, sample: usize, memory: &'a mut Vec<u8>) -> &'a [u8] {
        match self.pages {
            None => self.column.get(sample),
            Some(pages) => pages.get(self.column.span(sample), memory),
        }
    }
}

/// Pages of files that were evicted, waiting for the next ones. They take the room of blocks that are not in memory, until
/// that is needed for something else.
#[derive(Debug, Default)]
pub(crate) struct PagePool(Mutex<Idle>);

#[derive(Debug, Default)]
struct Idle {
    files: Vec<FilePages>,
    bytes: usize,
}

impl PagePool {
    /// Frees pages until those that are left take at most so many bytes.
    pub(crate) fn free(&self, most: usize) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while idle.bytes > most
            && let Some(pages) = idle.files.pop()
        {
            idle.bytes -= pages.bytes();
        }
    }

    /// Keeps pages.
    pub(crate) fn give(&self, pages: FilePages) {
        if pages.is_empty() {
            return;
        }
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.bytes += pages.bytes();
        idle.files.push(pages);
    }

    /// What one file has left; nothing where none is kept.
    fn take(&self) -> FilePages {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = idle.files.pop().unwrap_or_default();
        idle.bytes -= pages.bytes();
        pages
    }

    /// Copies bytes into pages, the parts one after the other.
    pub(crate) fn store<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> FilePages {
        let (mut idle, mut none_left) = (FilePages::default(), false);
        let mut page = || {
            if idle.first.is_none() && !none_left {
                idle = self.take();
                none_left = idle.first.is_none();
            }
            idle.pop().unwrap_or_else(|| Box::new(Page { next: None, bytes: [0; ROOM] }))
        };
        let (mut first, mut n) = (None, 0);
        let mut end: &mut Option<Box<Page>> = &mut first;
        let mut filled = ROOM;
        for mut part in parts {
            while !part.is_empty() {
                if filled == ROOM {
                    if let Some(last) = end {
                        end = &mut last.next;
                    }
                    *end = Some(page());
                    (filled, n) = (0, n + 1);
                }
                let Some(last) = end.as_mut() else { unreachable!("a page that is not full is there") };
                let taken;
                (taken, part) = part.split_at(part.len().min(ROOM - filled));
                last.bytes[filled..filled + taken.len()].copy_from_slice(taken);
                filled += taken.len();
            }
        }
        self.give(idle);
        FilePages { first, n }
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
        let pool = PagePool::default();
        for n in [0, 1, ROOM - 1, ROOM, ROOM + 1, 10 * ROOM, 10 * ROOM + 7] {
            let file = bytes(n);
            // In parts that end anywhere, some of them empty.
            let pages = pool.store(file.chunks(700).chain([&[][..]]));
            assert_eq!(pages.n, n.div_ceil(ROOM));
            for range in [0..n, n / 2..n, n / 3..n / 2, n..n, 0..n.min(1)] {
                assert_eq!(pages.get(range.clone(), &mut vec![9]), &file[range]);
            }
            pool.give(pages);
        }
    }

    #[test]
    fn pages_are_used_again_for_files_of_any_size() {
        let pool = PagePool::default();
        let store = |n: usize| pool.store([&bytes(n * ROOM)[..]].into_iter());
        let held = || pool.0.lock().unwrap().bytes / PAGE;
        pool.give(store(50));
        assert_eq!(held(), 50);
        let small = store(3);
        assert_eq!(held(), 47);
        let large = store(60);
        assert_eq!(held(), 0);
        pool.give(large);
        pool.give(small);
        assert_eq!(held(), 63);
        pool.free(62 * PAGE);
        assert_eq!(held(), 60);
        pool.free(0);
        assert_eq!(held(), 0);
    }

    #[test]
    fn a_file_of_many_pages_can_be_dropped() {
        drop(PagePool::default().store([&bytes(200_000 * ROOM)[..]].into_iter()));
    }
}
