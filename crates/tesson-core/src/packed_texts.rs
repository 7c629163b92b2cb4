//! Long columns of texts that are like their neighbours, packed.

use crate::varint;

/// Texts, each as what it does not have in common with the one before it, and about two bytes for all else.
///
/// They are packed in groups, so that one is unpacked with at most [`PackedTexts::GROUP`] − 1 others.
#[derive(Clone, Debug, Default)]
pub struct PackedTexts {
    /// Complete groups.
    groups: Vec<Box<[u8]>>,
    /// The group that is not complete, and its last text.
    open: Vec<u8>,
    last: Vec<u8>,
    len: usize,
    /// Bytes of all groups.
    packed: usize,
}

/// Bytes that the allocator adds to a group, about.
const ALLOCATION: usize = 16;

impl PackedTexts {
    /// Texts that are packed together.
    pub const GROUP: usize = 32;

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a text.
    pub fn push(&mut self, text: &[u8]) {
        let shared = self.last.iter().zip(text).take_while(|(a, b)| a == b).count();
        varint::put(shared as u64, &mut self.open);
        varint::put((text.len() - shared) as u64, &mut self.open);
        self.open.extend_from_slice(&text[shared..]);
        self.last.truncate(shared);
        self.last.extend_from_slice(&text[shared..]);
        self.len += 1;
        if self.len.is_multiple_of(PackedTexts::GROUP) {
            self.packed += self.open.len();
            self.groups.push(self.open.as_slice().into());
            self.open.clear();
            self.last.clear();
        }
    }

    /// One of the texts. It lies in `text`, over what that holds.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn get<'a>(&self, number: usize, text: &'a mut Vec<u8>) -> &'a [u8] {
        assert!(number < self.len, "text {number} of {}", self.len);
        let mut left = number % PackedTexts::GROUP;
        self.each_of_group(number / PackedTexts::GROUP, text, |_| {
            let goes_on = left > 0;
            left = left.saturating_sub(1);
            goes_on
        });
        text
    }

    /// Calls `each` with the texts of a group, in their order, until it says `false`; returns whether it never did. `text` is
    /// memory to unpack them in.
    pub fn each_of_group(
        &self,
        group: usize,
        text: &mut Vec<u8>,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        let mut packed = self.groups.get(group).map_or(&*self.open, |group| &**group);
        text.clear();
        while !packed.is_empty() {
            let mut next = || varint::take(&mut packed).expect("what was packed is unpacked") as usize;
            let (shared, len) = (next(), next());
            let (rest, after) = packed.split_at(len);
            text.truncate(shared);
            text.extend_from_slice(rest);
            packed = after;
            if !each(text) {
                return false;
            }
        }
        true
    }

    /// The number of groups, the last of which may not be complete.
    pub fn n_groups(&self) -> usize {
        self.len.div_ceil(PackedTexts::GROUP)
    }

    /// Gives back memory that no text takes.
    pub fn shrink(&mut self) {
        self.groups.shrink_to_fit();
        self.open.shrink_to_fit();
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        let groups = self.groups.capacity() * size_of::<Box<[u8]>>() + self.groups.len() * ALLOCATION;
        self.packed + groups + self.open.capacity() + self.last.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_added_is_what_comes_back(
            texts in prop::collection::vec(prop::collection::vec(0u8..3, 0..6), 0..150),
        ) {
            let mut packed = PackedTexts::default();
            texts.iter().for_each(|text| packed.push(text));
            prop_assert_eq!(packed.len(), texts.len());
            let mut memory = b"of another".to_vec();
            for (i, text) in texts.iter().enumerate().rev() {
                prop_assert_eq!(packed.get(i, &mut memory), &text[..]);
            }
            let mut all = Vec::new();
            for group in 0..packed.n_groups() {
                packed.each_of_group(group, &mut memory, |text| {
                    all.push(text.to_vec());
                    true
                });
            }
            prop_assert_eq!(all, texts);
        }
    }

    #[test]
    fn names_in_one_folder_take_little_more_than_what_differs() {
        let mut packed = PackedTexts::default();
        let n = 100_000;
        (0..n).for_each(|i| packed.push(format!("class/of/pictures/{i:06}.jpg").as_bytes()));
        assert!(packed.bytes() < n * (5 + 2 + 3), "{} bytes", packed.bytes());
    }
}
