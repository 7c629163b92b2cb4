//! Memory for records on their way to a file, in blocks that are used again.
//!
//! A chunk can be written only once it is whole: its records stand behind a prefix as long as it has sequences. It is
//! written while the next one is made: for each block that is needed, one of the finished chunk is written and handed
//! over. So one chunk is all that is held, writing goes on evenly beside decoding, and what is filled is in the cache.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Items that are written at once; what is written beyond those meant is written over.
const AT_ONCE: usize = 16;

/// Bytes that may be written beyond those in use.
pub(super) const BEYOND: usize = 8 * AT_ONCE;

/// Bytes, and how many of them are in use.
#[derive(Default)]
pub(super) struct Block {
    pub(super) bytes: Box<[u8]>,
    pub(super) used: usize,
}

impl Block {
    /// What is not in use.
    #[inline(always)]
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used..]
    }

    #[inline(always)]
    pub(super) fn word(&mut self, word: [u8; 4]) {
        self.room()[..4].copy_from_slice(&word);
        self.used += 4;
    }

    /// Appends the first `n` of `items`; of the others some may be read.
    #[inline(always)]
    pub(super) fn items<T: Copy, const N: usize>(
        &mut self,
        items: &[T],
        n: usize,
        bytes_of: impl Fn(T) -> [u8; N],
    ) {
        let room = self.room().as_chunks_mut().0;
        let at_once = n.next_multiple_of(AT_ONCE);
        if n <= 8 * AT_ONCE
            && let Some(items) = items.get(..at_once)
        {
            let room = room[..at_once].as_chunks_mut::<AT_ONCE>().0;
            for (to, from) in room.iter_mut().zip(items.as_chunks::<AT_ONCE>().0) {
                *to = from.map(&bytes_of);
            }
        } else {
            for (to, &from) in room[..n].iter_mut().zip(&items[..n]) {
                *to = bytes_of(from);
            }
        }
        self.used += N * n;
    }
}

/// The output, and what waits to be written to it.
pub(super) struct Blocks<W> {
    pub(super) out: W,
    block_bytes: usize,
    /// The finished chunk, as far as it has not been written.
    waiting: VecDeque<Block>,
    /// Written blocks, which nobody has needed again so far.
    free: Vec<Block>,
}

impl<W: Write> Blocks<W> {
    /// Blocks of this size.
    pub(super) fn new(out: W, block_bytes: usize) -> Blocks<W> {
        Blocks { out, block_bytes, waiting: VecDeque::new(), free: Vec::new() }
    }

    /// Whether a block can hold so many bytes.
    #[inline(always)]
    pub(super) fn holds(&self, bytes: usize) -> bool {
        bytes + BEYOND <= self.block_bytes
    }

    /// An empty block.
    pub(super) fn take(&mut self) -> io::Result<Block> {
        if let Some(block) = self.free.pop() {
            return Ok(block);
        }
        match self.waiting.pop_front() {
            Some(block) => self.write(block),
            None => Ok(Block { bytes: vec![0; self.block_bytes].into(), used: 0 }),
        }
    }

    /// Puts a block behind those that wait.
    pub(super) fn put(&mut self, block: Block) {
        self.waiting.push_back(block);
    }

    /// Writes all that waits.
    pub(super) fn write_waiting(&mut self) -> io::Result<()> {
        while let Some(block) = self.waiting.pop_front() {
            let block = self.write(block)?;
            self.free.push(block);
        }
        Ok(())
    }

    fn write(&mut self, mut block: Block) -> io::Result<Block> {
        self.out.write_all(&block.bytes[..block.used])?;
        block.used = 0;
        Ok(block)
    }
}
