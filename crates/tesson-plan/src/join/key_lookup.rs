//! Finding the sequence of a key: without a table where keys ascend, or else in a hash table of sequence numbers.
//!
//! The table holds numbers only and compares the keys in the columns, so it takes 8 to 16 bytes for each key however
//! long keys are. It is never iterated over; the order of the join does not depend on hashes.

use std::ops::Range;

use tesson_core::RepeatedKeys;

use super::keys::{KeyColumns, KeyRef};
use crate::rng::mix;

/// Finds sequences by key.
pub(super) struct KeyLookup<'a> {
    keys: &'a KeyColumns,
    search: Search,
    /// The number of sequences with the key of an earlier one.
    pub(super) repeated: u64,
    /// Some of them: an earlier sequence with the key, and the one that repeats it.
    pub(super) repeated_at: Vec<(u32, u32)>,
}

enum Search {
    /// The keys ascend, and the search starts where the last one was found. Two corpora in the same order are joined
    /// in one pass.
    Ascending { chunk: usize, at: usize },
    /// A table, and in ascending order the sequences with a key that counts as missing because it is repeated.
    Table { table: Table, ambiguous: Vec<u32> },
}

/// The number of steps forward before a bisection.
const NEAR: usize = 16;

impl<'a> KeyLookup<'a> {
    /// Prepares to find any of these keys, fewer than 2^32 − 1. Up to `most_named` repeated ones are listed.
    pub(super) fn new(keys: &'a KeyColumns, repeated: RepeatedKeys, most_named: usize) -> KeyLookup<'a> {
        let search = Search::Ascending { chunk: 0, at: 0 };
        let mut lookup = KeyLookup { keys, search, repeated: 0, repeated_at: Vec::new() };
        if !keys.are_ascending() {
            lookup.search = lookup.tabulate(repeated, most_named);
        }
        lookup
    }

    /// Enters all keys into a table and records the repeated ones.
    fn tabulate(&mut self, repeated: RepeatedKeys, most_named: usize) -> Search {
        let (mut table, mut ambiguous) = (Table::new(self.keys.n_runs()), Vec::new());
        for (sequence, key) in self.keys.runs() {
            let slot = table.slot(self.keys, key);
            let first = std::mem::replace(&mut table.0[slot], sequence);
            if first == Table::EMPTY {
                continue;
            }
            self.repeated += 1;
            if self.repeated_at.len() < most_named {
                self.repeated_at.push((first, sequence));
            }
            if repeated != RepeatedKeys::Last {
                table.0[slot] = first;
            }
            if repeated == RepeatedKeys::Nothing {
                ambiguous.push(first);
            }
        }
        ambiguous.sort_unstable();
        Search::Table { table, ambiguous }
    }

    /// The sequences of a key that belong together: one, or the frames of an utterance.
    pub(super) fn find_run(&mut self, key: KeyRef<'_>) -> Option<Range<u32>> {
        self.find(key).map(|first| self.keys.run(first))
    }

    /// The sequence of a key.
    fn find(&mut self, key: KeyRef<'_>) -> Option<u32> {
        match &mut self.search {
            Search::Table { table, ambiguous } => match table.0[table.slot(self.keys, key)] {
                Table::EMPTY => None,
                sequence => ambiguous.binary_search(&sequence).is_err().then_some(sequence),
            },
            Search::Ascending { chunk, at } => {
                let KeyRef::Number(number) = key else { return None };
                ascend(self.keys, number, chunk, at)
            }
        }
    }
}

/// The key of a sequence, where all keys are numbers.
fn number(keys: &KeyColumns, chunk: usize, i: usize) -> u64 {
    match keys.in_chunk(chunk, i) {
        KeyRef::Number(n) => n,
        KeyRef::Text(_) => unreachable!("ascending keys are numbers"),
    }
}

/// Finds a key among ascending ones, beginning where the last one was found.
fn ascend(keys: &KeyColumns, key: u64, chunk: &mut usize, at: &mut usize) -> Option<u32> {
    let len = |chunk: usize| (keys.chunk(chunk).end - keys.chunk(chunk).start) as usize;
    let within = |c: usize| len(c) > 0 && number(keys, c, 0) <= key && key <= number(keys, c, len(c) - 1);
    if *chunk >= keys.n_chunks() || !within(*chunk) {
        // `from` skips empty chunks, which have no first and last key to compare.
        let from = |c: usize| (c..keys.n_chunks()).find(|&c| len(c) > 0);
        let (mut low, mut high) = (0, keys.n_chunks());
        while low < high {
            let middle = low + (high - low) / 2;
            match from(middle) {
                Some(c) if number(keys, c, len(c) - 1) < key => low = c + 1,
                _ => high = middle,
            }
        }
        let found = from(low).filter(|&c| within(c))?;
        (*chunk, *at) = (found, 0);
    }
    // Corpora in the same order find the next key within a few steps, also where some keys are missing; only after
    // that a bisection is worth it.
    let (n, first) = (len(*chunk), keys.chunk(*chunk).start);
    let mut i = if *at < n && number(keys, *chunk, *at) <= key { *at } else { 0 };
    let mut steps = 0;
    while number(keys, *chunk, i) < key && steps < NEAR {
        (i, steps) = (i + 1, steps + 1);
    }
    if number(keys, *chunk, i) < key {
        let (mut low, mut high) = (i, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if number(keys, *chunk, middle) < key { low = middle + 1 } else { high = middle }
        }
        i = low;
    }
    *at = i;
    (number(keys, *chunk, i) == key).then_some((first + i as u64) as u32)
}

/// A hash table of sequences with open addressing. Results depend on its keys alone, never on the order of its slots.
struct Table(Vec<u32>);

/// Bytes of a table for `n` keys.
pub(super) fn table_bytes(n: u64) -> u64 {
    4 * (2 * n).max(2).next_power_of_two()
}

impl Table {
    const EMPTY: u32 = u32::MAX;

    fn new(n: u64) -> Table {
        Table(vec![Table::EMPTY; (table_bytes(n) / 4) as usize])
    }

    /// The slot of a key's sequence, or the empty slot where it would be entered.
    fn slot(&self, keys: &KeyColumns, key: KeyRef<'_>) -> usize {
        let mask = self.0.len() - 1;
        let mut slot = hash(key) as usize & mask;
        while self.0[slot] != Table::EMPTY && keys.get(self.0[slot].into()) != key {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn hash(key: KeyRef<'_>) -> u64 {
    match key {
        KeyRef::Number(n) => mix(n),
        KeyRef::Text(text) => {
            let (words, rest) = text.as_chunks::<8>();
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            let words = words.iter().chain([&last]);
            words.fold(text.len() as u64, |h, &word| mix(h ^ u64::from_le_bytes(word)).rotate_left(5))
        }
    }
}
