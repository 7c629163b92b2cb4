//! Byte strings of any lengths, one after the other.

use std::ops::Range;

/// Byte strings as one run of bytes and their ends: nothing is allocated for a string.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Takes over bytes, and the end of each string in them.
    ///
    /// Returns `None` unless the ends ascend to the number of bytes.
    pub fn new(bytes: Vec<u8>, ends: Vec<usize>) -> Option<Strings> {
        let fits = ends.is_sorted() && ends.last().copied().unwrap_or(0) == bytes.len();
        fits.then_some(Strings { bytes, ends })
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`.
    pub fn get(&self, i: usize) -> &[u8] {
        let (bytes, _) = self.run(i..i + 1);
        bytes
    }

    /// The bytes of consecutive strings, and the end of each, counted from the first byte of all strings.
    pub fn run(&self, strings: Range<usize>) -> (&[u8], &[usize]) {
        (&self.bytes[self.start(strings.start)..self.start(strings.end)], &self.ends[strings])
    }

    /// The end of each string, counted from the first byte of all strings.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Position of the first byte of string `i`, or of the end if `i` is their number.
    pub fn start(&self, i: usize) -> usize {
        i.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Appends some of other strings.
    pub fn append(&mut self, from: &Strings, strings: Range<usize>) {
        let (first, start) = (self.bytes.len(), from.start(strings.start));
        let (bytes, ends) = from.run(strings);
        self.bytes.extend_from_slice(bytes);
        self.ends.extend(ends.iter().map(|end| end - start + first));
    }

    /// Appends empty strings.
    pub fn append_empty(&mut self, n: usize) {
        self.ends.resize(self.ends.len() + n, self.bytes.len());
    }

    /// Keeps the first `n` strings.
    pub fn truncate(&mut self, n: usize) {
        self.ends.truncate(n);
        self.bytes.truncate(self.start(self.ends.len()));
    }

    /// The first string, by number, that is not valid UTF-8, and the position in it of the first invalid byte.
    pub fn first_invalid_utf8(&self) -> Option<(usize, usize)> {
        // Valid bytes are cut between characters in most cases, which is one look at each end.
        if let Ok(text) = std::str::from_utf8(&self.bytes)
            && self.ends.iter().all(|&end| text.is_char_boundary(end))
        {
            return None;
        }
        let invalid = |i: usize| std::str::from_utf8(self.get(i)).err().map(|e| (i, e.valid_up_to()));
        (0..self.len()).find_map(invalid)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Strings {
        strings.into_iter().fold(Strings::default(), |mut all, string| {
            all.push(string.as_ref());
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_lengths_are_appended() {
        let from: Strings = ["ab", "", "cde", "f"].into_iter().collect();
        let mut to = Strings::default();
        to.push(b"x");
        to.append(&from, 1..3);
        to.append_empty(1);
        to.append(&from, 0..0);
        assert_eq!(to, ["x", "", "cde", ""].into_iter().collect());
        assert_eq!((to.len(), to.get(2), to.start(4)), (4, &b"cde"[..], 4));
        to.truncate(2);
        assert_eq!(to, ["x", ""].into_iter().collect());
    }

    #[test]
    fn ends_have_to_ascend_to_the_number_of_bytes() {
        assert!(Strings::new(b"abc".to_vec(), vec![1, 1, 3]).is_some());
        assert!(Strings::new(Vec::new(), Vec::new()).is_some());
        for ends in [vec![], vec![2], vec![4], vec![2, 1, 3]] {
            assert_eq!(Strings::new(b"abc".to_vec(), ends), None);
        }
    }

    #[test]
    fn text_is_checked_string_by_string() {
        let strings = |all: &[&[u8]]| all.iter().collect::<Strings>().first_invalid_utf8();
        assert_eq!(strings(&["ä".as_bytes(), b"b"]), None);
        // Together they would be valid.
        assert_eq!(strings(&[b"a", &[b'b', 0xc3], &[0xa4]]), Some((1, 1)));
        assert_eq!(strings(&[b"a", &[0xff]]), Some((1, 0)));
    }
}
