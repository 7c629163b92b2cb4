//! Sequence keys: what identifies a sequence within a corpus and joins it to others.

use std::fmt;

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
        /// Where each text ends in `bytes`.
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
        }
    }

    /// The numeric key of sequence `i`, if keys are numbers.
    #[inline]
    pub fn number(&self, i: usize) -> Option<u64> {
        match self {
            Keys::Consecutive(first) => Some(first + i as u64),
            Keys::Numbers(v) => Some(v[i]),
            Keys::Texts { .. } => None,
        }
    }

    /// The text of sequence `i`, as bytes, if keys are texts.
    #[inline]
    pub fn text(&self, i: usize) -> Option<&[u8]> {
        let Keys::Texts { bytes, ends } = self else { return None };
        let start = if i == 0 { 0 } else { ends[i - 1] as usize };
        Some(&bytes[start..ends[i] as usize])
    }

    /// Keys out of several columns: of each pick the column, and the number in it.
    pub fn gathered(columns: &[Keys], picks: impl Iterator<Item = (u32, u32)>) -> Keys {
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

    /// The same in the fewest bytes: ascending numbers without gaps become their first.
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
        }
    }
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
