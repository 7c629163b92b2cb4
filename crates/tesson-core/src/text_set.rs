//! Many texts, each once.

use std::hash::{BuildHasher, RandomState};

/// Texts, each once, numbered from 0 in the order in which they were added. A text takes about 16 bytes beside its own.
#[derive(Clone, Debug, Default)]
pub struct TextSet {
    /// All texts, end to end.
    bytes: Vec<u8>,
    ends: Vec<u64>,
    /// The numbers of texts where their hashes say, or in the next place that was free; [`FREE`] elsewhere.
    table: Vec<u32>,
    hasher: RandomState,
}

/// A place of the table without a text.
const FREE: u32 = u32::MAX;

impl TextSet {
    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of the texts.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// The number of a text, if it has been added.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        Some(self.table[self.place(text)]).filter(|&number| number != FREE)
    }

    /// Adds a text, and returns its number.
    ///
    /// # Errors
    /// The number of the same text, where it has been added before; nothing is added then.
    ///
    /// # Panics
    /// If there are 2^32 − 1 texts.
    pub fn insert(&mut self, text: &[u8]) -> Result<u32, u32> {
        // At most three quarters of the table are in use.
        if (self.len() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let place = self.place(text);
        if self.table[place] != FREE {
            return Err(self.table[place]);
        }
        let number = u32::try_from(self.len()).ok().filter(|&number| number != FREE);
        let number = number.expect("texts are numbered with 32 bits");
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
        self.table[place] = number;
        Ok(number)
    }

    /// The place of a text in the table, or the free one that is for it.
    fn place(&self, text: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut place = self.hasher.hash_one(text) as usize & mask;
        while self.table[place] != FREE && self.get(self.table[place]) != text {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(16);
        self.table = Vec::new();
        self.table.resize(size, FREE);
        for number in 0..self.len() as u32 {
            let place = self.place(self.get(number));
            self.table[place] = number;
        }
    }

    /// All texts, end to end, and the end of each.
    pub fn into_parts(self) -> (Vec<u8>, Vec<u64>) {
        (self.bytes, self.ends)
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<u64>()
            + self.table.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_text_has_the_number_of_its_first_time(texts in prop::collection::vec("[ab]{0,4}", 0..200)) {
            let mut set = TextSet::default();
            let mut known: HashMap<&str, u32> = HashMap::new();
            for text in &texts {
                prop_assert_eq!(set.find(text.as_bytes()), known.get(text.as_str()).copied());
                let next = known.len() as u32;
                let expected = match known.get(text.as_str()) {
                    Some(&first) => Err(first),
                    None => Ok(next),
                };
                prop_assert_eq!(set.insert(text.as_bytes()), expected);
                known.entry(text).or_insert(next);
            }
            prop_assert_eq!(set.len(), known.len());
            for (text, number) in known {
                prop_assert_eq!(set.get(number), text.as_bytes());
            }
        }
    }
}
