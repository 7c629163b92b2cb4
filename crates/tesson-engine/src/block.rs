//! Blocks: the runs of sequences that are loaded, kept and evicted together.
//!
//! A block is a slice of a chunk, small enough that several are decoded side by side and that what is not needed any
//! more can be evicted early. Blocks never show in a result.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tesson_core::{Chunk, ChunkAccess, ChunkId, EncodedColumn, Index, Indexed, SequenceId};
use tesson_memory::file_pages::{FilePages, PagePool};
use tesson_memory::packed::PackedRows;

use crate::pack::{Slice, Slices, Source};

/// The number of a block: of an indexed corpus in its [`BlockTable`], of one that grows among its byte runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId(pub(crate) u32);

impl BlockId {
    /// The block of a chunk of a corpus that grows: one byte run is both.
    pub(crate) fn of_run(chunk: ChunkId) -> BlockId {
        BlockId(chunk.0)
    }

    /// Its place in a table of all blocks.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a sequence lies among blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRow {
    pub(crate) block: BlockId,
    pub(crate) row: u32,
}

/// The sequences of a block, within their chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockSpan {
    pub(crate) chunk: ChunkId,
    pub(crate) sequences: Range<u32>,
}

impl BlockSpan {
    /// The sequence that is number `row` of the block.
    pub(crate) fn sequence(&self, row: u32) -> SequenceId {
        SequenceId { chunk: self.chunk, sequence: self.sequences.start + row }
    }
}

/// The division of an indexed corpus into blocks.
pub(crate) struct BlockTable {
    divisions: Divisions,
    /// See [`BlockTable::has_large_whole`].
    has_large_whole: bool,
}

/// How the chunks are divided.
enum Divisions {
    /// `n` chunks that are divided equally.
    Alike { n: u32, division: Division },
    /// Chunks that are divided differently. `first` has the number of each chunk's first block, and one entry more.
    Each { first: Vec<u32>, chunks: Vec<Division> },
}

/// How a chunk is divided.
#[derive(Clone, Copy)]
struct Division {
    n_sequences: u32,
    /// Sequences of each block but the last, which may have fewer.
    of_block: u32,
    /// Sequences of a block that are decoded at once.
    at_once: u32,
    /// Bytes of memory that a block takes while it is loaded, about.
    bytes: u64,
}

/// The sizes that divide a corpus into blocks, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct BlockSizes {
    /// Storage of a block, about.
    pub(crate) block: u64,
    /// Storage that is decoded at once, about.
    pub(crate) at_once: u64,
    /// Dense values of a sample in all streams together.
    pub(crate) sample: u64,
    /// Of chunks that are loaded whole where that is better.
    pub(crate) whole: WholeChunks,
    /// True if blocks are read one after the other and passed by.
    pub(crate) pass_by: bool,
}

/// Which chunks are loaded whole, and what that takes.
#[derive(Clone, Copy)]
pub(crate) struct WholeChunks {
    /// Storage of the largest one, in bytes.
    pub(crate) most: u64,
    /// Memory that a chunk takes while it is loaded, in eighths of its storage.
    pub(crate) loading: u64,
}

impl WholeChunks {
    /// Bytes that a chunk of so many bytes of storage takes while it is loaded.
    pub(crate) fn bytes(self, storage: u64) -> u64 {
        (u128::from(storage) * u128::from(self.loading) / 8).try_into().unwrap_or(u64::MAX)
    }
}

impl BlockSizes {
    /// Bytes that a chunk of so many bytes of storage takes while it is loaded, if it is one block.
    fn of_whole(self, access: ChunkAccess, storage: u64) -> Option<u64> {
        match access {
            ChunkAccess::WholeOnly => Some(storage),
            // Small blocks are decoded on all cores, and stay in their caches.
            ChunkAccess::Runs if self.pass_by => None,
            ChunkAccess::Runs | ChunkAccess::PreferWhole => {
                (storage <= self.whole.most).then(|| self.whole.bytes(storage))
            }
            ChunkAccess::Parts => None,
        }
    }
}

/// Decoded values take up to so many times their storage where none is missing: `0 ` as a 64-bit number. Samples that
/// take more have values that storage has not, and are divided by what they take.
const DECODED: u64 = 4;

/// Packing takes room for so many times a sequence's values beside them.
const PACKING: u64 = 2;

impl BlockTable {
    /// Divides each chunk into blocks of equally many sequences and at most about `sizes.block` storage bytes, of which
    /// about `sizes.at_once` are decoded together; into one where chunks are had only as a whole, or better.
    pub(crate) fn of(indexed: &Indexed, sizes: BlockSizes) -> BlockTable {
        let Indexed { index, corpus } = indexed;
        BlockTable::by_bytes(index, sizes, |bytes| sizes.of_whole(corpus.facts().access, bytes))
    }

    /// `whole` says of a chunk of so many bytes that is one block how many bytes it takes while it is loaded.
    fn by_bytes(index: &Index, sizes: BlockSizes, whole: impl Fn(u64) -> Option<u64>) -> BlockTable {
        let mut has_large_whole = false;
        let mut divide = |chunk: ChunkId| {
            let (division, is_large_whole) = Division::of(index, chunk, sizes, &whole);
            has_large_whole |= is_large_whole;
            division
        };
        let n = index.n_chunks();
        let divisions = match index.common_chunk() {
            Some(_) => Divisions::Alike { n: n as u32, division: divide(ChunkId(0)) },
            None => {
                let chunks: Vec<Division> = index.chunk_ids().map(divide).collect();
                let mut first = Vec::with_capacity(n + 1);
                first.push(0);
                chunks.iter().fold(0, |before, division| {
                    let next = before + division.n_blocks();
                    first.push(next);
                    next
                });
                Divisions::Each { first, chunks }
            }
        };
        BlockTable { divisions, has_large_whole }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.divisions {
            Divisions::Alike { n, division } => *n as usize * division.n_blocks() as usize,
            Divisions::Each { first, .. } => first[first.len() - 1] as usize,
        }
    }

    /// The number of a chunk's first block, and how it is divided.
    fn chunk(&self, chunk: ChunkId) -> (u32, &Division) {
        match &self.divisions {
            Divisions::Alike { division, .. } => (chunk.0 * division.n_blocks(), division),
            Divisions::Each { first, chunks } => (first[chunk.index()], &chunks[chunk.index()]),
        }
    }

    /// The block that holds a sequence of a chunk, and where it lies in it.
    pub(crate) fn find(&self, planned: SequenceId) -> BlockRow {
        let SequenceId { chunk, sequence } = planned;
        let (first, Division { of_block, .. }) = self.chunk(chunk);
        BlockRow { block: BlockId(first + sequence / of_block), row: sequence % of_block }
    }

    /// The blocks of a chunk.
    pub(crate) fn blocks(&self, chunk: ChunkId) -> impl Iterator<Item = BlockId> + use<> {
        let (first, division) = self.chunk(chunk);
        (first..first + division.n_blocks()).map(BlockId)
    }

    /// The sequences of a block.
    pub(crate) fn span(&self, block: BlockId) -> BlockSpan {
        let chunk = match &self.divisions {
            Divisions::Alike { division, .. } => ChunkId(block.0 / division.n_blocks()),
            Divisions::Each { first, .. } => {
                ChunkId::at(first.partition_point(|&first| first <= block.0) - 1)
            }
        };
        let (first, &Division { n_sequences, of_block, .. }) = self.chunk(chunk);
        let start = (block.0 - first) * of_block;
        BlockSpan { chunk, sequences: start..start.saturating_add(of_block).min(n_sequences) }
    }

    /// True if a block is a large chunk that is better read at once: fetching a few of its sequences reads as much.
    pub(crate) fn has_large_whole(&self) -> bool {
        self.has_large_whole
    }

    /// Bytes of memory that a block of a chunk takes while it is loaded, about.
    pub(crate) fn bytes(&self, chunk: ChunkId) -> u64 {
        self.chunk(chunk).1.bytes
    }

    /// Sequences of a chunk's blocks that are decoded at once.
    pub(crate) fn at_once(&self, chunk: ChunkId) -> u32 {
        self.chunk(chunk).1.at_once
    }
}

impl Division {
    /// How a chunk is divided, and whether it is one large block that is better loaded whole. `whole` is that of
    /// [`BlockTable::by_bytes`].
    fn of(
        index: &Index,
        chunk: ChunkId,
        sizes: BlockSizes,
        whole: &impl Fn(u64) -> Option<u64>,
    ) -> (Division, bool) {
        let span = index.chunk(chunk);
        let n = span.n_sequences.max(1);
        let division = |of_block: u32, at_once: u32, bytes| {
            // Parts of a block are alike.
            let at_once = of_block.div_ceil(of_block.div_ceil(at_once));
            Division { n_sequences: span.n_sequences, of_block, at_once, bytes }
        };
        if let Some(loading) = whole(span.bytes) {
            let is_large = span.bytes > sizes.at_once;
            return (division(n, n, if is_large { loading } else { span.bytes }), is_large);
        }
        let part = |parts: u64| n.div_ceil(parts.clamp(1, u64::from(n)) as u32);
        let of_block = part(span.bytes.div_ceil(sizes.block));
        let at_once = part(span.bytes.div_ceil(sizes.at_once));
        if span.n_samples.saturating_mul(sizes.sample) <= DECODED * span.bytes {
            let bytes = span.bytes * u64::from(of_block) / u64::from(n);
            return (division(of_block, at_once, bytes), false);
        }
        let lengths = index.lengths(chunk);
        let longest = (0..lengths.len()).map(|i| lengths.get(i)).max().unwrap_or(1).max(1);
        let each = u64::from(longest).saturating_mul(sizes.sample);
        let most = |bytes: u64| (DECODED * bytes / each).clamp(1, u64::from(n)) as u32;
        let of_block = of_block.min(most(sizes.block));
        let bytes = each.saturating_mul(u64::from(of_block) + PACKING);
        (division(of_block, at_once.min(most(sizes.at_once)), bytes), false)
    }

    fn n_blocks(&self) -> u32 {
        self.n_sequences.max(1).div_ceil(self.of_block)
    }
}

/// Decoded blocks' memory, waiting to be decoded into again.
pub(crate) struct ChunkPool {
    idle: Mutex<Idle>,
    /// True if the pool serves blocks that stay in memory. These should take no more than they need, so only small
    /// chunks are kept, without their samples.
    keeps_small: bool,
    /// Where files lie that stay.
    pages: PagePool,
}

struct Idle {
    chunks: Vec<Chunk>,
    /// Counters of blocks' users, with blocks without content.
    shells: Vec<Arc<Counted>>,
    /// Bytes of all chunks.
    bytes: usize,
    /// Bytes kept, at most.
    limit: usize,
}

impl ChunkPool {
    pub(crate) fn new(limit: usize) -> ChunkPool {
        let idle = Idle { chunks: Vec::new(), shells: Vec::new(), bytes: 0, limit };
        ChunkPool { idle: Mutex::new(idle), keeps_small: false, pages: PagePool::new(0) }
    }

    /// For blocks that stay in memory, some with their files in pages. `pages` is the number of bytes of idle pages that are
    /// kept.
    pub(crate) fn of_small(limit: usize, pages: usize) -> ChunkPool {
        ChunkPool { keeps_small: true, pages: PagePool::new(pages), ..ChunkPool::new(limit) }
    }

    /// Sets the number of bytes that are kept at most.
    pub(crate) fn set_limit(&self, limit: usize) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.limit = limit;
        while idle.bytes > limit
            && let Some(chunk) = idle.chunks.pop()
        {
            idle.bytes = idle.bytes.saturating_sub(chunk.bytes());
        }
    }

    /// Sets the number of bytes of pages that are kept at most while no file lies in them.
    pub(crate) fn set_page_limit(&self, limit: usize) {
        self.pages.set_limit(limit);
    }

    /// True if blocks of this many sequences keep their files in pages.
    pub(crate) fn has_pages(&self, n_sequences: usize) -> bool {
        self.keeps_small && n_sequences <= FEW as usize
    }

    /// A block whose files, which have been read into memory of a worker, lie in pages; in one piece for each column if they have
    /// more than `most` bytes, which would be in memory twice for a while. The worker gets its memory back, or that of new columns,
    /// but no more than that.
    pub(crate) fn with_pages(&self, mut chunk: Chunk, most: usize, memory: &mut Vec<Vec<u8>>) -> Decoded {
        let used = |column: &mut EncodedColumn| column.len().checked_sub(1).map_or(0, |i| column.span(i).end);
        if chunk.encoded_columns().map(used).sum::<usize>() > most {
            chunk.encoded_columns().for_each(EncodedColumn::drop_unused);
            return Decoded::columns(chunk);
        }
        // Buffers that no column took are freed.
        memory.clear();
        let mut bytes = 0;
        for column in chunk.encoded_columns() {
            let taken = column.take_bytes(bytes);
            bytes += taken.len();
            memory.push(taken);
        }
        let pages = self.pages.store(memory.iter().map(Vec::as_slice));
        let mut left = most;
        memory.retain(|file| match left.checked_sub(file.capacity()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        Decoded { pages, ..Decoded::columns(chunk) }
    }

    pub(crate) fn take(&self) -> Chunk {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = idle.chunks.pop().unwrap_or_else(Chunk::empty);
        idle.bytes = idle.bytes.saturating_sub(chunk.bytes());
        chunk
    }

    pub(crate) fn give(&self, chunk: Chunk) {
        let bytes = chunk.bytes();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.bytes + bytes <= idle.limit {
            idle.bytes += bytes;
            idle.chunks.push(chunk);
        }
    }

    /// Keeps a block's memory; the block has no other user.
    fn give_block(&self, mut shell: Arc<Counted>) {
        let Some(Counted { block, .. }) = Arc::get_mut(&mut shell) else { return };
        let Decoded { mut chunk, rows, pages, slices } =
            std::mem::replace(block, Decoded::columns(Chunk::empty()));
        if let Some(slices) = slices {
            chunk.streams = slices.into_columns();
        }
        if self.keeps_small {
            self.pages.give(pages);
            // What lies beside packed rows is of no use to decode into.
            if rows.is_some() || chunk.n_sequences > FEW {
                return;
            }
            chunk.drop_samples();
            if chunk.bytes() > SMALL {
                return;
            }
        }
        self.give(chunk);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.shells.len() < idle.chunks.len() {
            idle.shells.push(shell);
        }
    }
}

/// A decoded block: columns, or packed rows or slices and a chunk without columns.
pub(crate) struct Decoded {
    chunk: Chunk,
    rows: Option<PackedRows>,
    slices: Option<Slices>,
    /// The bytes of encoded samples, if the chunk's columns have none.
    pages: FilePages,
}

impl Decoded {
    /// A block that is read in order: its columns.
    pub(crate) fn columns(chunk: Chunk) -> Decoded {
        Decoded { chunk, rows: None, slices: None, pages: FilePages::default() }
    }

    /// A block that is read in order, whose values minibatches take: its slices, all else of the chunk beside them.
    pub(crate) fn sliced(slices: Slices, beside: Chunk) -> Decoded {
        Decoded { slices: Some(slices), ..Decoded::columns(beside) }
    }

    /// A block that stays in memory and is read at random: its sequences packed, all else of the chunk beside them.
    pub(crate) fn packed(rows: PackedRows, beside: Chunk) -> Decoded {
        Decoded { rows: Some(rows), ..Decoded::columns(beside) }
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        let (rows, slices) = (self.rows.as_ref(), self.slices.as_ref());
        let apart = rows.map_or(0, PackedRows::bytes) + slices.map_or(0, Slices::bytes);
        self.chunk.bytes() + apart + self.pages.bytes()
    }
}

/// Blocks of at most so many sequences have their small memory used again: each may be one image.
const FEW: u32 = 16;

/// Bytes of what is kept of such a block, at most.
const SMALL: usize = 8 << 10;

/// A decoded block in memory, shared by all that use it. When the last one lets go, its memory goes to the pool.
#[derive(Clone)]
pub(crate) struct Resident(Option<Arc<Counted>>);

/// A block whose users are counted.
struct Counted {
    block: Decoded,
    pool: Weak<ChunkPool>,
}

impl Resident {
    pub(crate) fn new(block: Decoded, pool: &Arc<ChunkPool>) -> Resident {
        let shell = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).shells.pop();
        let mut shell = shell.unwrap_or_else(|| {
            let block = Decoded::columns(Chunk::empty());
            Arc::new(Counted { block, pool: Arc::downgrade(pool) })
        });
        Arc::get_mut(&mut shell).expect("it has no other user").block = block;
        Resident(Some(shell))
    }

    /// The block as a source for packing, if its lines count from `line_base`: one that is divided with the slice of it.
    pub(crate) fn source<'a>(&'a self, line_base: u64, slice: Option<&'a Slice>) -> Source<'a> {
        let block = self.block();
        let pages = Some(&block.pages).filter(|pages| !pages.is_empty());
        let slice = block.slices.as_ref().zip(slice).map(|(block, slice)| block.with(slice));
        Source { chunk: &block.chunk, rows: block.rows.as_ref(), pages, slice, line_base }
    }

    /// The parts of the block, if it is divided among minibatches.
    pub(crate) fn slices(&self) -> Option<&Slices> {
        self.block().slices.as_ref()
    }

    fn block(&self) -> &Decoded {
        &self.0.as_ref().expect("only dropping takes it").block
    }
}

impl Drop for Resident {
    #[inline]
    fn drop(&mut self) {
        // Where two users let go at the same moment, the memory is freed instead.
        if let Some(shell) = self.0.take()
            && Arc::strong_count(&shell) == 1
        {
            give_back(shell);
        }
    }
}

/// Gives the memory of a block to its pool, unless that is gone.
#[cold]
fn give_back(shell: Arc<Counted>) {
    if let Some(pool) = shell.pool.upgrade() {
        pool.give_block(shell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_core::CompactLengths;

    #[test]
    fn idle_memory_is_kept_up_to_the_limit() {
        let chunk = || Chunk::new(tesson_core::Keys::Consecutive(0), vec![0; 1000], Vec::new());
        let chunk_pool = ChunkPool::new(2 * chunk().bytes());
        (0..3).for_each(|_| chunk_pool.give(chunk()));
        let kept =
            |chunk_pool: &ChunkPool| (0..3).filter(|_| chunk_pool.take().lengths.capacity() > 0).count();
        assert_eq!(kept(&chunk_pool), 2);
        // What was taken makes room again.
        (0..3).for_each(|_| chunk_pool.give(chunk()));
        assert_eq!(kept(&chunk_pool), 2);
    }

    const SIZES: BlockSizes = BlockSizes {
        block: 10,
        at_once: 3,
        sample: 0,
        whole: WholeChunks { most: 0, loading: 24 },
        pass_by: false,
    };

    #[test]
    fn blocks_are_as_large_as_what_decoding_makes_of_them() {
        let mut index = Index::new();
        index.push(CompactLengths::new(&[1, 2, 1, 1]), 40);
        index.seal();
        let table =
            |sample: u64| BlockTable::by_bytes(&index, BlockSizes { block: 100, sample, ..SIZES }, |_| None);
        let division = |sample: u64| {
            (table(sample).len(), table(sample).at_once(ChunkId(0)), table(sample).bytes(ChunkId(0)))
        };
        // All values are in storage; twice as many, a block of which has 400 bytes; one sequence for each block. The longest
        // sequence has two samples, and is packed beside the others.
        assert_eq!(division(32), (1, 1, 40));
        assert_eq!(division(64), (2, 1, (3 + PACKING) * 128));
        assert_eq!(division(1000), (4, 1, (1 + PACKING) * 2000));
        // What is better loaded whole takes storage, columns and packed sequences.
        let whole = BlockTable::by_bytes(&index, SIZES, |bytes| Some(SIZES.whole.bytes(bytes)));
        assert_eq!((whole.len(), whole.at_once(ChunkId(0)), whole.bytes(ChunkId(0))), (1, 4, 120));
    }

    #[test]
    fn chunks_of_runs_are_divided_where_they_pass_by() {
        let stay = BlockSizes { whole: WholeChunks { most: 100, loading: 16 }, ..SIZES };
        let pass_by = BlockSizes { pass_by: true, ..stay };
        let of = |sizes: BlockSizes, storage: u64| {
            [ChunkAccess::Parts, ChunkAccess::Runs, ChunkAccess::PreferWhole, ChunkAccess::WholeOnly]
                .map(|access| sizes.of_whole(access, storage))
        };
        assert_eq!(of(stay, 50), [None, Some(100), Some(100), Some(50)]);
        assert_eq!(of(pass_by, 50), [None, None, Some(100), Some(50)]);
        assert_eq!(of(stay, 101), [None, None, None, Some(101)]);
    }

    #[test]
    fn every_sequence_lies_in_exactly_the_block_that_says_so() {
        let mut index = Index::new();
        for (n, bytes) in [(1, 1), (7, 100), (100, 99), (3, 1000), (64, 640)] {
            index.push(CompactLengths::constant(1, n), bytes);
        }
        index.seal();
        let table = BlockTable::by_bytes(&index, SIZES, |_| None);
        assert_eq!(table.len(), 1 + 7 + 10 + 3 + 64);
        assert_eq!(table.span(BlockId(1)), BlockSpan { chunk: ChunkId(1), sequences: 0..1 });
        assert_eq!(table.span(BlockId(17)), BlockSpan { chunk: ChunkId(2), sequences: 90..100 });
        let mut next = (ChunkId(0), 0);
        for block in (0..table.len() as u32).map(BlockId) {
            let BlockSpan { chunk, sequences: range } = table.span(block);
            assert!(!range.is_empty());
            assert!((1..=range.len().max(10) as u32).contains(&table.at_once(chunk)));
            if next.1 == index.chunk(next.0).n_sequences {
                next = (ChunkId(next.0.0 + 1), 0);
            }
            assert_eq!((chunk, range.start), next);
            for (i, sequence) in range.clone().enumerate() {
                assert_eq!(table.find(SequenceId { chunk, sequence }), BlockRow { block, row: i as u32 });
            }
            next = (chunk, range.end);
        }
        assert_eq!(next, (ChunkId(4), 64));
    }
}
