//! Finding the sequence of a key.

use tesson_core::RepeatedKeys;

use super::keys::{KeyColumns, KeyRef};
use crate::rng::mix;

/// Finds sequences by key.
pub(super) struct Find<'a> {
    keys: &'a KeyColumns,
    way: Way,
    /// Keys that occur more than once, beyond the first time.
    pub(super) repeated: u64,
    /// Some of them: a sequence of the key before, and the one that has it again.
    pub(super) repeated_at: Vec<(u32, u32)>,
}

enum Way {
    /// The keys ascend: from where the last one was found. Two corpora in the same order are joined in one pass.
    Ascending { chunk: usize, at: usize },
    /// By a table; the sequences whose key counts as missing because it is repeated, ascending.
    Table { table: Table, nobody: Vec<u32> },
}

/// Steps forward before the key is searched.
const NEAR: usize = 16;

impl<'a> Find<'a> {
    /// Gets ready to find any of these keys, of which there are fewer than 2^32 − 1.
    pub(super) fn new(keys: &'a KeyColumns, repeated: RepeatedKeys, most_named: usize) -> Find<'a> {
        let mut find =
            Find { keys, way: Way::Ascending { chunk: 0, at: 0 }, repeated: 0, repeated_at: Vec::new() };
        if keys.are_ascending() {
            return find;
        }
        let (mut table, mut nobody) = (Table::new(keys.len()), Vec::new());
        for chunk in 0..keys.n_chunks() {
            for (sequence, i) in keys.chunk(chunk).zip(0..) {
                let key = keys.in_chunk(chunk, i);
                let slot = table.slot(keys, key);
                match table.0[slot] {
                    Table::EMPTY => table.0[slot] = sequence as u32,
                    first => {
                        find.repeated += 1;
                        if find.repeated_at.len() < most_named {
                            find.repeated_at.push((first, sequence as u32));
                        }
                        match repeated {
                            RepeatedKeys::First => {}
                            RepeatedKeys::Last => table.0[slot] = sequence as u32,
                            RepeatedKeys::Nothing => nobody.push(first),
                        }
                    }
                }
            }
        }
        nobody.sort_unstable();
        find.way = Way::Table { table, nobody };
        find
    }

    /// The sequence of a key.
    pub(super) fn find(&mut self, key: KeyRef<'_>) -> Option<u32> {
        match &mut self.way {
            Way::Table { table, nobody } => match table.0[table.slot(self.keys, key)] {
                Table::EMPTY => None,
                sequence => nobody.binary_search(&sequence).is_err().then_some(sequence),
            },
            Way::Ascending { chunk, at } => {
                let KeyRef::Number(number) = key else { return None };
                ascend(self.keys, number, chunk, at)
            }
        }
    }
}

/// The number of a key that is known to be one.
fn number(keys: &KeyColumns, chunk: usize, i: usize) -> u64 {
    match keys.in_chunk(chunk, i) {
        KeyRef::Number(n) => n,
        KeyRef::Text(_) => unreachable!("ascending keys are numbers"),
    }
}

/// Finds a key among ascending ones, beginning near where the last one was.
fn ascend(keys: &KeyColumns, key: u64, chunk: &mut usize, at: &mut usize) -> Option<u32> {
    let len = |chunk: usize| (keys.chunk(chunk).end - keys.chunk(chunk).start) as usize;
    let within = |c: usize| len(c) > 0 && number(keys, c, 0) <= key && key <= number(keys, c, len(c) - 1);
    if *chunk >= keys.n_chunks() || !within(*chunk) {
        // Empty chunks lie with the ones before them.
        let behind = |c: usize| (c..keys.n_chunks()).find(|&c| len(c) > 0);
        let (mut low, mut high) = (0, keys.n_chunks());
        while low < high {
            let middle = low + (high - low) / 2;
            match behind(middle) {
                Some(c) if number(keys, c, len(c) - 1) < key => low = c + 1,
                _ => high = middle,
            }
        }
        let found = behind(low).filter(|&c| within(c))?;
        (*chunk, *at) = (found, 0);
    }
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

/// A hash table of sequences; what it holds never shows but through a key.
struct Table(Vec<u32>);

/// Bytes of a table for so many keys.
pub(super) fn table_bytes(n: u64) -> u64 {
    4 * (2 * n).max(2).next_power_of_two()
}

impl Table {
    const EMPTY: u32 = u32::MAX;

    fn new(n: u64) -> Table {
        Table(vec![Table::EMPTY; (table_bytes(n) / 4) as usize])
    }

    /// Where a key's sequence is, or would be.
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
