//! The keys of a minibatch's sequences.

use tesson_core::Key;

/// The keys of a minibatch's sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchKeys {
    /// Numeric ids or line numbers.
    Numbers(Vec<u64>),
    /// Text ids.
    Texts(TextKeys),
}

impl Default for BatchKeys {
    fn default() -> BatchKeys {
        BatchKeys::Numbers(Vec::new())
    }
}

impl BatchKeys {
    /// The key of sequence `i`.
    pub fn get(&self, i: usize) -> Key {
        match self {
            BatchKeys::Numbers(v) => Key::Number(v[i]),
            BatchKeys::Texts(v) => Key::Text(v.get(i).to_owned()),
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        match self {
            BatchKeys::Numbers(v) => v.len(),
            BatchKeys::Texts(v) => v.len(),
        }
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the key of sequence `i`.
    pub(crate) fn remove(&mut self, i: usize) {
        match self {
            BatchKeys::Numbers(v) => {
                v.remove(i);
            }
            BatchKeys::Texts(v) => {
                let (begin, n) = (v.ends[i] - v.get(i).len(), v.get(i).len());
                v.text.drain(begin..begin + n);
                v.ends.remove(i);
                v.ends[i..].iter_mut().for_each(|end| *end -= n);
            }
        }
    }

    /// Frees memory beyond the keys.
    pub(crate) fn trim(&mut self) {
        match self {
            BatchKeys::Numbers(v) => v.shrink_to_fit(),
            BatchKeys::Texts(v) => {
                v.text.shrink_to_fit();
                v.ends.shrink_to_fit();
            }
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        match self {
            BatchKeys::Numbers(v) => v.capacity() * 8,
            BatchKeys::Texts(v) => v.text.capacity() + v.ends.capacity() * size_of::<usize>(),
        }
    }
}

/// Text keys, one after the other in one piece of memory: frames of speech are many, and each has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextKeys {
    text: String,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl TextKeys {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of sequence `i`.
    pub fn get(&self, i: usize) -> &str {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[i]]
    }

    /// All keys, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends a key.
    pub fn push(&mut self, key: &str) {
        self.text.push_str(key);
        self.ends.push(self.text.len());
    }

    /// Removes all keys and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Room for so many more keys.
    pub(crate) fn reserve(&mut self, n: usize) {
        self.ends.reserve(n);
    }
}

impl<T: AsRef<str>> FromIterator<T> for TextKeys {
    fn from_iter<I: IntoIterator<Item = T>>(keys: I) -> TextKeys {
        let mut all = TextKeys::default();
        keys.into_iter().for_each(|key| all.push(key.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keys_are_those_that_were_put_in() {
        let texts = ["utterance", "", "s1/é", "b"];
        let keys: TextKeys = texts.iter().collect();
        assert_eq!(keys.iter().collect::<Vec<_>>(), texts);
        assert_eq!(BatchKeys::Texts(keys.clone()).get(2), Key::Text("s1/é".into()));
        assert_eq!((keys.len(), keys.is_empty(), TextKeys::default().is_empty()), (4, false, true));
    }
}
