//! Blocks of records that all threads of a reader share.
//!
//! Streams jump from file to file and resume in each where they left it. So the blocks that were used last are kept, and
//! blocks grow where a file is read on; where there are threads, the next one is read before it is asked for. What is
//! delivered depends on none of this.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tesson_core::Error;
use tesson_formats::record::{End, Records, Want};

use crate::loader::RecordId;
use crate::shards::Shards;

/// Bytes of a block where a file is read on: at first, and at most. What has been read is checked and then decoded: blocks
/// that stay in a core's cache until then are worth more than fewer reads.
const READ_ON: Range<u64> = 64 << 10..256 << 10;

/// Bytes of the blocks of all files that are read in turns, which a core's own cache should hold together.
const IN_TURNS: u64 = 1 << 20;

/// Records of a block that is worth holding, so as not to ask for it again.
const WORTH_HOLDING: usize = 64;

/// Blocks that are kept, at least, if their bytes allow it: those of files that are read in turns.
const KEPT: usize = 64;

/// Bytes of a block whose memory is used again, at most: that of large records is not kept for small ones.
pub(super) const REUSED: u64 = 2 << 20;

/// Blocks that are kept for each of the files that are read in turns: the one that is read, the next one, and one more.
const KEPT_OF_A_FILE: usize = 3;

/// A run of a file's records.
#[derive(Default)]
pub(super) struct Block {
    pub(super) file: usize,
    pub(super) first: u64,
    pub(super) records: Records,
    /// Bytes that were asked for where the file was read sequentially, else 0.
    ahead: u64,
}

impl Block {
    pub(super) fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// The first record after which the next block should be read.
    fn half(&self) -> u64 {
        self.first + (self.records.len() as u64).div_ceil(2)
    }

    /// Records from `id` on that can be taken from here without the cache: it wants to know when half of a block has been
    /// used. None where the block is too large to be held when the cache has evicted it, or so small that asking costs
    /// nothing.
    pub(super) fn known_from(&self, id: RecordId) -> Range<u64> {
        let is_worth = self.records.len() >= WORTH_HOLDING && self.records.memory() as u64 <= 2 * READ_ON.end;
        match (is_worth, id.record < self.half()) {
            (false, _) => 0..0,
            (true, true) => self.first..self.half(),
            (true, false) => self.half()..self.end(),
        }
    }
}

/// A block to be read: which records of a file, and how far.
#[derive(Clone, Copy, Debug)]
struct BlockRead {
    file: usize,
    first: u64,
    /// At most so many records.
    most: u64,
    /// Bytes to read where the file is read sequentially, else 0.
    ahead: u64,
    /// Estimated number of records in the block.
    likely: u64,
}

/// Blocks by file and first record.
pub(super) struct BlockCache {
    shards: Arc<Shards>,
    /// For each file of the plan, which of the shards it is.
    files: Vec<usize>,
    /// True if there are threads that read ahead.
    threads: bool,
    /// Blocks that are shared, bytes of all of them, and bytes of one that is read on; at most.
    kept: usize,
    limit: u64,
    largest: u64,
    /// Bytes of blocks that a thread reads for itself, and of one of them; at most.
    own: usize,
    largest_own: u64,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    blocks: BTreeMap<(usize, u64), Kept>,
    bytes: u64,
    /// Counts uses.
    clock: u64,
    /// Reads in progress, and the reads that should follow.
    under_way: Vec<BlockRead>,
    ahead: VecDeque<BlockRead>,
    /// Memory of evicted blocks, which counts, too.
    idle: Vec<Block>,
}

struct Kept {
    block: Arc<Block>,
    used: u64,
}

impl BlockCache {
    /// An empty one, of at most so many bytes; `in_turns` files are read in turns. Several threads read half of it for
    /// themselves.
    pub(super) fn new(
        shards: Arc<Shards>,
        files: Vec<usize>,
        in_turns: u64,
        limit: u64,
        threads: usize,
    ) -> BlockCache {
        let own = limit / 2 / threads as u64;
        let limit = if threads > 1 { limit / 2 } else { limit };
        let in_turns = in_turns.clamp(1, files.len().max(1) as u64);
        let kept = KEPT.max(usize::try_from(in_turns).unwrap_or(KEPT) * KEPT_OF_A_FILE);
        let most = (IN_TURNS / in_turns).clamp(READ_ON.start, READ_ON.end);
        let largest = (limit / (in_turns * KEPT_OF_A_FILE as u64)).clamp(1, most);
        BlockCache {
            shards,
            files,
            threads: threads > 1,
            kept,
            limit,
            largest,
            own: usize::try_from(own).unwrap_or(usize::MAX),
            largest_own: (own / in_turns).clamp(1, most),
            state: Mutex::default(),
            arrived: Condvar::new(),
        }
    }

    /// The file of a record, among the shards.
    pub(super) fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Which of the shards a file of the plan is.
    pub(super) fn shard(&self, file: usize) -> usize {
        self.files[file]
    }

    /// The block that holds a record, or, without records, says why there is none. `run` records from there on are
    /// wanted.
    ///
    /// # Errors
    /// Bytes that cannot be had.
    pub(super) fn block(&self, id: RecordId, run: u64) -> Result<Arc<Block>, Error> {
        let mut state = self.lock();
        loop {
            if let Some(block) = state.holding(id) {
                self.plan_ahead(&mut state, &block, id);
                return Ok(block);
            }
            if !state.under_way.iter().any(|task| task.may_hold(id)) {
                break;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let before = state
            .ending_at(id)
            .map(|before| (self.next_of(&before), RecordId { file: before.file, record: before.first }));
        let task = match before {
            Some((task, before)) => {
                // Without threads, blocks that were passed are not used again, and its memory is still in the cache.
                if !self.threads {
                    state.evict(before);
                }
                task
            }
            None => BlockRead { file: id.file, first: id.record, most: run, ahead: 0, likely: run },
        };
        self.read(state, task)
    }

    /// Bytes of all blocks that a thread reads for itself.
    pub(super) fn own_bytes(&self) -> usize {
        self.own
    }

    /// True if threads read this file for themselves, without the cache. A file that cannot be read is not such a file.
    pub(super) fn is_plain(&self, file: usize) -> bool {
        self.shards.file(self.files[file]).records.is_plain(&*self.shards).unwrap_or(false)
    }

    /// A block of at most `most` records from `id` on, in the memory of another, for the caller alone.
    ///
    /// # Errors
    /// Bytes that cannot be had.
    pub(super) fn read_own(&self, id: RecordId, most: u64, memory: Block) -> Result<Block, Error> {
        let mut block = Block { file: id.file, first: id.record, ahead: 0, ..memory };
        let want = Want { first: id.record, most, bytes: self.largest_own };
        self.shards.file(self.files[id.file]).records.read(want, &*self.shards, &mut block.records)?;
        Ok(block)
    }

    /// Reads a block that was planned ahead, if there is one that no thread reads; false if not.
    pub(super) fn read_ahead(&self) -> bool {
        let mut state = self.lock();
        let Some(task) = state.ahead.pop_front() else { return false };
        let id = RecordId { file: task.file, record: task.first };
        let is_known = state.blocks.contains_key(&(task.file, task.first));
        if !is_known && !state.under_way.iter().any(|other| other.may_hold(id)) {
            // An error is returned when the record's turn comes.
            let _ = self.read(state, task);
        }
        true
    }

    /// True if a file is known to end before this record.
    pub(super) fn ends_at(&self, id: RecordId) -> bool {
        self.lock().ending_at(id).is_some_and(|block| *block.records.end() == End::File)
    }

    /// Forgets what should be read ahead: the order continues elsewhere.
    pub(super) fn forget_plans(&self) {
        self.lock().ahead.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock had not begun to change anything.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The read that follows a block.
    fn next_of(&self, block: &Block) -> BlockRead {
        let ahead = (block.ahead * 4).clamp(READ_ON.start, READ_ON.end).min(self.largest);
        let bytes = block.records.bytes().len() as u64;
        let likely = block.records.len() as u64 * ahead / bytes.max(1) + 1;
        BlockRead { file: block.file, first: block.end(), most: u64::MAX, ahead, likely }
    }

    /// Plans to read the next block when half of this one has been used.
    fn plan_ahead(&self, state: &mut State, block: &Arc<Block>, id: RecordId) {
        let is_near = id.record >= block.half();
        if !self.threads || block.ahead == 0 || !is_near || *block.records.end() != End::More {
            return;
        }
        let task = self.next_of(block);
        let is_known = |other: &BlockRead| other.file == task.file && other.first == task.first;
        if state.blocks.contains_key(&(task.file, task.first))
            || state.under_way.iter().any(is_known)
            || state.ahead.iter().any(is_known)
            || state.bytes + task.ahead > self.limit
        {
            return;
        }
        state.ahead.push_back(task);
    }

    /// Reads a block without the lock and puts it into the cache.
    fn read(&self, mut state: MutexGuard<'_, State>, task: BlockRead) -> Result<Arc<Block>, Error> {
        state.under_way.push(task);
        let mut block = state.idle_block().unwrap_or_default();
        drop(state);
        // Whatever happens, no thread waits for the block after this read has ended.
        let _in_progress = ReadInProgress { cache: self, task };
        let bytes = if task.ahead > 0 { task.ahead } else { READ_ON.end.min(self.largest) };
        let want = Want { first: task.first, most: task.most, bytes };
        (block.file, block.first, block.ahead) = (task.file, task.first, task.ahead);
        self.shards.file(self.files[task.file]).records.read(want, &*self.shards, &mut block.records)?;
        let block = Arc::new(block);
        if !block.records.is_empty() {
            self.put(&block);
        }
        Ok(block)
    }

    /// Puts a block into the cache. Earlier blocks of its file, and those least recently used, are evicted for it.
    fn put(&self, block: &Arc<Block>) {
        let mut state = self.lock();
        if block.ahead > 0 {
            let before = state.blocks.range((block.file, 0)..(block.file, block.first)).rev();
            let passed: Vec<_> = before.skip(KEPT_OF_A_FILE - 1).map(|(key, _)| *key).collect();
            passed.into_iter().for_each(|(file, record)| state.evict(RecordId { file, record }));
        }
        let bytes = block.records.memory() as u64;
        while state.blocks.len() >= self.kept {
            state.evict_oldest();
        }
        while state.bytes + bytes > self.limit && (state.idle_block().is_some() || state.evict_oldest()) {}
        state.clock += 1;
        let used = state.clock;
        let kept = Kept { block: Arc::clone(block), used };
        if let Some(other) = state.blocks.insert((block.file, block.first), kept) {
            state.bytes -= other.block.records.memory() as u64;
        }
        state.bytes += bytes;
    }
}

impl State {
    fn holding(&mut self, id: RecordId) -> Option<Arc<Block>> {
        let (_, kept) = self.blocks.range_mut(..=(id.file, id.record)).next_back()?;
        let holds = kept.block.file == id.file && id.record < kept.block.end();
        if !holds {
            return None;
        }
        self.clock += 1;
        kept.used = self.clock;
        Some(Arc::clone(&kept.block))
    }

    fn ending_at(&self, id: RecordId) -> Option<Arc<Block>> {
        let (_, kept) = self.blocks.range(..(id.file, id.record)).next_back()?;
        let is_it = kept.block.file == id.file && kept.block.end() == id.record;
        is_it.then(|| Arc::clone(&kept.block))
    }

    fn evict(&mut self, first: RecordId) {
        let Some(kept) = self.blocks.remove(&(first.file, first.record)) else { return };
        let bytes = kept.block.records.memory() as u64;
        self.bytes -= bytes;
        // What is being decoded goes when that is done.
        let Some(block) = Arc::into_inner(kept.block) else { return };
        if self.idle.len() < KEPT_OF_A_FILE && bytes <= REUSED {
            self.bytes += bytes;
            self.idle.push(block);
        }
    }

    /// Evicts the least recently used block; false if there is none.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self.blocks.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| *key);
        oldest.is_some_and(|(file, record)| {
            self.evict(RecordId { file, record });
            true
        })
    }

    /// The memory of an evicted block.
    fn idle_block(&mut self) -> Option<Block> {
        let block = self.idle.pop()?;
        self.bytes -= block.records.memory() as u64;
        Some(block)
    }
}

impl BlockRead {
    fn may_hold(&self, id: RecordId) -> bool {
        id.file == self.file && (self.first..self.first.saturating_add(self.likely)).contains(&id.record)
    }
}

/// Removes a read from those in progress when it ends, also by a panic, and wakes those that wait for it.
struct ReadInProgress<'a> {
    cache: &'a BlockCache,
    task: BlockRead,
}

impl Drop for ReadInProgress<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        let is_it = |other: &BlockRead| (other.file, other.first) == (self.task.file, self.task.first);
        if let Some(at) = state.under_way.iter().position(is_it) {
            state.under_way.swap_remove(at);
        }
        drop(state);
        self.cache.arrived.notify_all();
    }
}
