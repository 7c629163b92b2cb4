//! Sequence keys, which identify a sequence within a corpus and join it to others.

use std::fmt;
use std::ops::Range;

/// One sequence's key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A numeric id, or a line number counted from 0.
    Number(u64),
    /// A text id (`useNumericSequenceKeys = false`).
    Text(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Number(n) => n.fmt(f),
            Key::Text(t) => t.fmt(f),
        }
    }
}

/// The keys of a chunk's sequences, one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// Sequence `i` has the key `first + i`.
    Consecutive(u64),
    /// Any numbers.
    Numbers(Vec<u64>),
    /// Texts, end to end; sequence `i` has `bytes[ends[i - 1]..ends[i]]`.
    Texts {
        /// All texts, one after the other.
        bytes: Vec<u8>,
        /// The end of each text in `bytes`.
        ends: Vec<u32>,
    },
    /// Runs of sequences of one key that belong together: the frames of utterances.
    Runs {
        /// The key of each run.
        keys: Box<Keys>,
        /// The number of the first sequence after each run.
        ends: Vec<u32>,
    },
}

impl Keys {
    /// The key of sequence `i`.
    pub fn get(&self, i: usize) -> Key {
        match self {
            Keys::Consecutive(first) => Key::Number(first + i as u64),
            Keys::Numbers(v) => Key::Number(v[i]),
            Keys::Texts { bytes, ends } => {
                let start = if i == 0 { 0 } else { ends[i - 1] as usize };
                let text = String::from_utf8_lossy(&bytes[start..ends[i] as usize]);
                Key::Text(text.into_owned())
            }
            Keys::Runs { keys, ends } => keys.get(run_of(ends, i)),
        }
    }

    /// The numeric key of sequence `i`, if keys are numbers.
    #[inline]
    pub fn number(&self, i: usize) -> Option<u64> {
        match self {
            Keys::Consecutive(first) => Some(first + i as u64),
            Keys::Numbers(v) => Some(v[i]),
            Keys::Texts { .. } => None,
            Keys::Runs { keys, ends } => number_in_runs(keys, ends, i),
        }
    }

    /// True if keys are texts.
    pub fn are_texts(&self) -> bool {
        match self {
            Keys::Texts { .. } => true,
            Keys::Runs { keys, .. } => keys.are_texts(),
            _ => false,
        }
    }

    /// The text of sequence `i`, as bytes, if keys are texts.
    #[inline]
    pub fn text(&self, i: usize) -> Option<&[u8]> {
        match self {
            Keys::Texts { bytes, ends } => {
                let start = if i == 0 { 0 } else { ends[i - 1] as usize };
                Some(&bytes[start..ends[i] as usize])
            }
            Keys::Runs { keys, ends } => keys.text(run_of(ends, i)),
            _ => None,
        }
    }

    /// Sequences around sequence `i` that are known to have its key.
    pub fn run(&self, i: usize) -> Range<usize> {
        match self {
            Keys::Runs { ends, .. } => {
                let run = run_of(ends, i);
                run.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[run] as usize
            }
            _ => i..i + 1,
        }
    }

    /// Keys out of several columns: of each pick the column, and the number in it.
    pub fn gathered(columns: &[Keys], picks: impl Iterator<Item = (u32, u32)>) -> Keys {
        if columns.iter().any(|keys| matches!(keys, Keys::Runs { .. })) {
            return gathered_runs(columns, picks);
        }
        let mut keys = KeyList::default();
        for (column, i) in picks {
            let (column, i) = (&columns[column as usize], i as usize);
            match column.text(i) {
                Some(text) => keys.push_text(text),
                None => keys.push(column.get(i)),
            }
        }
        keys.finish()
    }

    /// A column of the key of sequence `i` alone.
    pub fn single(&self, i: usize) -> Keys {
        match self.text(i) {
            Some(text) => Keys::Texts { bytes: text.to_vec(), ends: vec![text.len() as u32] },
            None => Keys::Consecutive(self.number(i).expect("keys are numbers or texts")),
        }
    }

    /// The keys in the fewest bytes: consecutive numbers become their first.
    pub fn compacted(&self) -> Keys {
        match self {
            Keys::Numbers(v) => match v.first() {
                Some(&first) if v.iter().zip(0..).all(|(&key, i)| first.checked_add(i) == Some(key)) => {
                    Keys::Consecutive(first)
                }
                _ => self.clone(),
            },
            _ => self.clone(),
        }
    }

    /// Appends a column of `n_next` keys to this one of `n`; `shift` is added to numbers.
    pub(crate) fn append(&mut self, n: usize, next: &Keys, n_next: usize, shift: u64) {
        let number = |keys: &Keys, i| keys.number(i).expect("keys of one corpus are of one kind");
        match (&mut *self, next) {
            (Keys::Consecutive(first), Keys::Consecutive(behind))
                if first.checked_add(n as u64) == Some(behind + shift) => {}
            (Keys::Texts { bytes, ends }, Keys::Texts { bytes: more, ends: more_ends }) => {
                let start = bytes.len() as u32;
                bytes.extend_from_slice(more);
                ends.extend(more_ends.iter().map(|end| start + end));
            }
            (Keys::Runs { keys, ends }, Keys::Runs { keys: more, ends: more_ends }) => {
                keys.append(ends.len(), more, more_ends.len(), shift);
                ends.extend(more_ends.iter().map(|end| n as u32 + end));
            }
            (Keys::Numbers(v), next) => v.extend((0..n_next).map(|i| number(next, i) + shift)),
            _ => {
                let own = (0..n).map(|i| number(self, i));
                let numbers = own.chain((0..n_next).map(|i| number(next, i) + shift)).collect();
                *self = Keys::Numbers(numbers);
            }
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Keys::Consecutive(_) => 0,
            Keys::Numbers(v) => v.capacity() * 8,
            Keys::Texts { bytes, ends } => bytes.capacity() + ends.capacity() * 4,
            Keys::Runs { keys, ends } => size_of::<Keys>() + keys.bytes() + ends.capacity() * 4,
        }
    }
}

/// The numeric key of a sequence, of keys that several share. Apart from [`Keys::number`], which could not be inlined if it
/// called itself.
#[inline(never)]
fn number_in_runs(keys: &Keys, ends: &[u32], i: usize) -> Option<u64> {
    keys.number(run_of(ends, i))
}

/// The number of the run of sequence `i`.
#[inline]
fn run_of(ends: &[u32], i: usize) -> usize {
    ends.partition_point(|&end| end as usize <= i)
}

/// Keys out of columns of runs: those of one run that follow each other are one again.
fn gathered_runs(columns: &[Keys], picks: impl Iterator<Item = (u32, u32)>) -> Keys {
    let (mut keys, mut ends, mut last) = (KeyList::default(), Vec::new(), None);
    for (n, (column, i)) in (1..).zip(picks) {
        let (from, i) = (&columns[column as usize], i as usize);
        let run = match from {
            Keys::Runs { ends, .. } => run_of(ends, i),
            _ => i,
        };
        if last.replace((column, run)) != Some((column, run)) {
            match from.text(i) {
                Some(text) => keys.push_text(text),
                None => keys.push(from.get(i)),
            }
            ends.push(n);
        }
        *ends.last_mut().expect("there is a run") = n;
    }
    Keys::Runs { keys: Box::new(keys.finish()), ends }
}

/// Keys that are put together one by one.
#[derive(Default)]
pub(crate) struct KeyList {
    numbers: Vec<u64>,
    texts: (Vec<u8>, Vec<u32>),
}

impl KeyList {
    /// Appends a key; all of one list are of the same kind.
    pub(crate) fn push(&mut self, key: Key) {
        match key {
            Key::Number(n) => self.numbers.push(n),
            Key::Text(t) => self.push_text(t.as_bytes()),
        }
    }

    fn push_text(&mut self, text: &[u8]) {
        self.texts.0.extend_from_slice(text);
        self.texts.1.push(self.texts.0.len() as u32);
    }

    pub(crate) fn finish(self) -> Keys {
        match self.texts {
            (_, ends) if ends.is_empty() => Keys::Numbers(self.numbers).compacted(),
            (bytes, ends) => Keys::Texts { bytes, ends },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_key_also_where_columns_are_put_together() {
        let texts = |texts: [&str; 2]| Keys::Texts {
            bytes: texts.concat().into_bytes(),
            ends: vec![texts[0].len() as u32, texts.concat().len() as u32],
        };
        let mut keys = Keys::Runs { keys: Box::new(texts(["a", "bc"])), ends: vec![2, 3] };
        let next = Keys::Runs { keys: Box::new(texts(["d", "e"])), ends: vec![1, 4] };
        keys.append(3, &next, 4, 0);
        let all: Vec<_> = (0..7).filter_map(|i| keys.text(i)).collect();
        assert_eq!(all, [&b"a"[..], b"a", b"bc", b"d", b"e", b"e", b"e"]);
        assert_eq!(keys.get(1), Key::Text("a".into()));
        let picked = Keys::gathered(std::slice::from_ref(&keys), [(0, 5), (0, 6), (0, 0)].into_iter());
        let runs = Keys::Runs { keys: Box::new(texts(["e", "a"])), ends: vec![2, 3] };
        assert_eq!(picked, runs);
        let numbers = Keys::Runs { keys: Box::new(Keys::Numbers(vec![7, 9])), ends: vec![1, 3] };
        assert_eq!((numbers.number(2), numbers.text(2)), (Some(9), None));
    }
}
