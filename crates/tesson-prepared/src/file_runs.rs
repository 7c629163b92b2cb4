//! The runs of files that one stretch needs, read by the thread that loads the stretch and used by no other.
//!
//! Where files are read in turns a stretch takes some records of each, in many turns, but in one run. A thread that reads
//! just those runs shares nothing with the threads that load the stretches before and after: none waits for a block that
//! another reads, and what has been read is in the cache of the core that decodes it. It is for files whose records stand
//! there as they are ([`RecordFile::is_plain`]); what lies in chunks is read once, for all threads, by way of the cache.
//!
//! [`RecordFile::is_plain`]: tesson_formats::record::RecordFile::is_plain

use std::ops::Range;
use std::sync::Arc;

use tesson_core::Error;
use tesson_formats::record::End;

use crate::block_cache::{Block, BlockCache, REUSED};
use crate::loader::{RecordId, run_of};
use crate::stretches::Stretch;

/// Parts of a stretch at most: with more of them reading each by itself is not worth its calls.
const MOST: usize = 64;

/// Records of a part that are worth it, on average over a stretch.
const WORTH: usize = 8;

/// A run of records of one file.
struct Part {
    /// Their numbers.
    numbers: Range<u64>,
    /// True if the file should end with this part, which is then checked.
    to_the_end: bool,
    /// Records read and not yet used, and their numbers.
    block: Option<Arc<Block>>,
    held: Range<u64>,
    /// The part that followed it the last time.
    next: usize,
    /// How many records the file has, if its end was seen.
    ended: Option<u64>,
}

/// The parts of a stretch; none if they are not worth it.
#[derive(Default)]
pub(super) struct Parts {
    /// Ascending by their first numbers.
    parts: Vec<Part>,
    /// The one that was used last.
    last: usize,
}

/// Memory of blocks that were used up, to be reused.
#[derive(Default)]
pub(super) struct BlockPool(Vec<Block>);

impl Parts {
    pub(super) fn of(stretch: &Stretch) -> Parts {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let (mut rest, mut turn) = (&stretch.numbers[..], 0);
        while let Some(first) = rest.first() {
            let len = run_of(rest);
            rest = &rest[len..];
            let continues = |run: &Range<u64>| run.end == *first;
            // As a rule it is the turn of the run after the last one.
            let at = if runs.get(turn).is_some_and(continues) {
                Some(turn)
            } else {
                runs.iter().position(continues)
            };
            match at {
                Some(at) => {
                    runs[at].end += len as u64;
                    turn = (at + 1) % runs.len();
                }
                None if runs.len() == MOST => return Parts::default(),
                None => {
                    runs.push(*first..first + len as u64);
                    turn = 0;
                }
            }
        }
        if stretch.numbers.len() < runs.len() * WORTH {
            return Parts::default();
        }
        runs.sort_unstable_by_key(|run| (run.start, run.end));
        let ends_file = |run: &Range<u64>| stretch.ends.iter().any(|(_, last)| last.number() + 1 == run.end);
        let part = |numbers: Range<u64>| Part {
            to_the_end: ends_file(&numbers),
            numbers,
            block: None,
            held: 0..0,
            next: 0,
            ended: None,
        };
        Parts { parts: runs.into_iter().map(part).collect(), last: 0 }
    }

    /// The part that a record belongs to.
    fn find(&mut self, number: u64) -> Option<usize> {
        // Turns repeat themselves.
        let guess = self.parts.get(self.last)?.next;
        if self.parts[guess].held.contains(&number) {
            self.last = guess;
            return Some(guess);
        }
        let at = self.parts.partition_point(|part| part.numbers.start <= number).checked_sub(1)?;
        if !self.parts[at].numbers.contains(&number) {
            return None;
        }
        self.parts[self.last].next = at;
        self.last = at;
        Some(at)
    }

    /// Takes out the block that holds a record, read if need be, and says which part it is of; without records it says why
    /// there is none. `None` if the cache is to be asked.
    ///
    /// # Errors
    /// Bytes that cannot be had.
    pub(super) fn take(
        &mut self,
        id: RecordId,
        cache: &BlockCache,
        pool: &mut BlockPool,
    ) -> Result<Option<(usize, Arc<Block>)>, Error> {
        let number = id.number();
        let Some(at) = self.find(number) else { return Ok(None) };
        let part = &mut self.parts[at];
        match part.block.take() {
            Some(block) if part.held.contains(&number) => return Ok(Some((at, block))),
            Some(other) => pool.keep(other),
            None => {}
        }
        if !cache.is_plain(id.file) {
            return Ok(None);
        }
        if self.bytes() + pool.bytes() > cache.own_bytes() {
            // What is needed again is read again.
            *pool = BlockPool::default();
            self.parts.iter_mut().for_each(|part| part.block = None);
        }
        let part = &mut self.parts[at];
        let most = if part.to_the_end { u64::MAX } else { part.numbers.end - number };
        let block = cache.read_own(id, most, pool.take())?;
        part.held = number..number + block.records.len() as u64;
        if *block.records.end() == End::File {
            part.ended = Some(block.end());
        }
        Ok(Some((at, Arc::new(block))))
    }

    /// Puts a block back whose records before `next` have been used.
    pub(super) fn put_back(&mut self, at: usize, block: Arc<Block>, next: RecordId, pool: &mut BlockPool) {
        let (part, next) = (&mut self.parts[at], next.number());
        if next == part.held.end || next == part.numbers.end {
            part.held = 0..0;
            pool.keep(block);
        } else {
            part.block = Some(block);
        }
    }

    /// True if a file was seen to end before this record.
    pub(super) fn ends_at(&self, id: RecordId) -> bool {
        let of_file = |part: &Part| RecordId::of(part.numbers.start).file == id.file;
        self.parts.iter().any(|part| of_file(part) && part.ended == Some(id.record))
    }

    fn bytes(&self) -> usize {
        self.parts.iter().filter_map(|part| part.block.as_ref()).map(|block| block.records.memory()).sum()
    }

    /// Takes back the memory of what has not been used up.
    pub(super) fn recycle(self, pool: &mut BlockPool) {
        self.parts.into_iter().filter_map(|part| part.block).for_each(|block| pool.keep(block));
    }
}

impl BlockPool {
    /// Keeps a block's memory, unless there is enough of it or it is larger than most blocks.
    fn keep(&mut self, block: Arc<Block>) {
        if let Some(block) = Arc::into_inner(block)
            && self.0.len() < MOST
            && block.records.memory() as u64 <= REUSED
        {
            self.0.push(block);
        }
    }

    fn take(&mut self) -> Block {
        self.0.pop().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|block| block.records.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stretches::StretchEnd;

    fn number(file: usize, record: u64) -> u64 {
        RecordId { file, record }.number()
    }

    /// The parts of a stretch: file, records, and whether its end is looked for.
    fn parts(records: &[(usize, u64)], ends: &[(usize, u64)]) -> Vec<(usize, Range<u64>, bool)> {
        let numbers: Vec<u64> = records.iter().map(|(file, record)| number(*file, *record)).collect();
        let ends = ends.iter().map(|(file, record)| (0, RecordId { file: *file, record: *record })).collect();
        let stretch = Stretch { numbers, ends, ..Stretch::empty(0, StretchEnd::More) };
        let shown = |part: &Part| {
            let first = RecordId::of(part.numbers.start);
            let len = part.numbers.end - part.numbers.start;
            (first.file, first.record..first.record + len, part.to_the_end)
        };
        Parts::of(&stretch).parts.iter().map(shown).collect()
    }

    /// Files in turns, `block` records each, so many rounds from a record on.
    fn turns(files: &[usize], block: u64, rounds: u64, from: u64) -> Vec<(usize, u64)> {
        let turn = |round: u64, file: usize| (0..block).map(move |i| (file, from + round * block + i));
        (0..rounds).flat_map(|round| files.iter().flat_map(move |file| turn(round, *file))).collect()
    }

    #[test]
    fn files_in_turns_are_a_run_of_each() {
        let found = parts(&turns(&[2, 7, 3], 4, 5, 100), &[(3, 119)]);
        assert_eq!(found, [(2, 100..120, false), (3, 100..120, true), (7, 100..120, false)]);
    }

    #[test]
    fn a_file_that_takes_the_place_of_another_is_a_part_of_its_own() {
        let mut records = turns(&[0, 1], 4, 2, 60);
        records.extend(turns(&[0, 2], 4, 3, 0).into_iter().filter(|(file, _)| *file == 2));
        records.extend(turns(&[1], 4, 3, 68));
        assert_eq!(parts(&records, &[]), [(0, 60..68, false), (1, 60..80, false), (2, 0..12, false)]);
    }

    #[test]
    fn records_that_do_not_follow_each_other_are_left_to_the_cache() {
        let scattered: Vec<_> = (0..60).map(|i| (0, i * 3)).collect();
        assert_eq!(parts(&scattered, &[]), []);
        let files: Vec<usize> = (0..=MOST).collect();
        assert_eq!(parts(&turns(&files, 16, 4, 0), &[]), []);
        assert_eq!(parts(&turns(&files[1..], 16, 4, 0), &[]).len(), MOST);
    }

    #[test]
    fn a_record_is_found_in_its_part() {
        let records = turns(&[4, 1], 8, 2, 0);
        let numbers: Vec<u64> = records.iter().map(|(file, record)| number(*file, *record)).collect();
        let stretch = Stretch { numbers, ..Stretch::empty(0, StretchEnd::More) };
        let mut parts = Parts::of(&stretch);
        let mut of = |file, record| parts.find(number(file, record));
        assert_eq!([of(1, 0), of(1, 15), of(4, 7)], [Some(0), Some(0), Some(1)]);
        assert_eq!([of(0, 3), of(1, 16), of(4, 16), of(5, 0)], [None; 4]);
    }
}
