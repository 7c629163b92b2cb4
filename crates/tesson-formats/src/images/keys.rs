//! The keys of lines of images, in as little memory as they allow.

use tesson_core::{Keys, PackedTexts};

use super::parse_numeric_key;

/// The keys of the lines so far, as they are written.
pub(crate) struct KeyColumn {
    n: u32,
    written: Written,
    /// True if a key has no digit to begin with.
    has_name: bool,
}

/// Keys in the form that they allow.
enum Written {
    /// Numbers that have no digit or sign too many.
    Numbers(Numbers),
    Texts(PackedTexts),
}

impl Default for KeyColumn {
    fn default() -> KeyColumn {
        KeyColumn { n: 0, written: Written::Numbers(Numbers::default()), has_name: false }
    }
}

impl KeyColumn {
    /// Appends the key of a line, by default its number from 0.
    pub(crate) fn push(&mut self, key: Option<&[u8]>, line: u64) {
        if let Some(key) = key {
            self.has_name |= parse_numeric_key(key).is_none();
        }
        match (&mut self.written, key.map_or(Some(line), plain_number)) {
            (Written::Numbers(numbers), Some(number)) => numbers.push(self.n, number),
            (Written::Numbers(numbers), None) => {
                let mut texts = PackedTexts::default();
                (0..self.n).for_each(|i| texts.push(numbers.get(i).to_string().as_bytes()));
                texts.push(key.expect("the number of a line is plain"));
                self.written = Written::Texts(texts);
            }
            (Written::Texts(texts), _) => match key {
                Some(key) => texts.push(key),
                None => texts.push(line.to_string().as_bytes()),
            },
        }
        self.n += 1;
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        match &self.written {
            Written::Numbers(numbers) => numbers.bytes(),
            Written::Texts(texts) => texts.bytes(),
        }
    }

    /// Numbers where all keys are and the reader wants them, else texts.
    pub(crate) fn finish(self, numeric: bool) -> KeyTable {
        let KeyColumn { n, written, has_name } = self;
        match written {
            Written::Numbers(mut numbers) => {
                numbers.shrink();
                if numeric { KeyTable::Numbers(numbers) } else { KeyTable::NumbersAsTexts(numbers) }
            }
            Written::Texts(mut texts) if !numeric || has_name => {
                texts.shrink();
                KeyTable::Texts(texts)
            }
            Written::Texts(texts) => {
                let (mut numbers, mut text) = (Numbers::default(), Vec::new());
                for i in 0..n {
                    let key = texts.get(i as usize, &mut text);
                    numbers.push(i, parse_numeric_key(key).expect("all keys are numbers"));
                }
                numbers.shrink();
                KeyTable::Numbers(numbers)
            }
        }
    }
}

/// The keys of images, by the numbers of these.
pub(crate) enum KeyTable {
    Numbers(Numbers),
    NumbersAsTexts(Numbers),
    Texts(PackedTexts),
}

impl KeyTable {
    /// The keys of some images, as a column.
    pub(crate) fn gathered(&self, images: impl Iterator<Item = u32>) -> Keys {
        let mut texts = Texts::default();
        match self {
            KeyTable::Numbers(numbers) => {
                return Keys::Numbers(images.map(|i| numbers.get(i)).collect()).compacted();
            }
            KeyTable::NumbersAsTexts(numbers) => {
                images.for_each(|i| texts.push_number(numbers.get(i)));
            }
            KeyTable::Texts(all) => {
                let mut text = Vec::new();
                images.for_each(|i| texts.push(all.get(i as usize, &mut text)));
            }
        }
        Keys::Texts { bytes: texts.bytes, ends: texts.ends }
    }

    /// A column of the key of one image.
    pub(crate) fn single(&self, image: u32) -> Keys {
        match self {
            KeyTable::Numbers(numbers) => Keys::Consecutive(numbers.get(image)),
            _ => self.gathered(std::iter::once(image)),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            KeyTable::Numbers(numbers) | KeyTable::NumbersAsTexts(numbers) => numbers.bytes(),
            KeyTable::Texts(texts) => texts.bytes(),
        }
    }
}

/// Numbers of lines, in runs that ascend without gaps as long as these are few.
pub(crate) enum Numbers {
    Runs(Vec<Run>),
    Each(Vec<u64>),
}

/// From entry `from` on, numbers ascend from `first`.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    from: u32,
    first: u64,
}

/// Where there are no more runs than this, it does not matter how short they are.
const FEW_RUNS: usize = 1024;

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Runs(Vec::new())
    }
}

impl Numbers {
    /// Appends entry `i`.
    fn push(&mut self, i: u32, number: u64) {
        match self {
            Numbers::Runs(runs) => {
                let next = runs.last().and_then(|run| run.first.checked_add((i - run.from).into()));
                if next == Some(number) {
                    return;
                }
                runs.push(Run { from: i, first: number });
                if runs.len() > FEW_RUNS && size_of::<Run>() * runs.len() > size_of::<u64>() * i as usize {
                    *self = Numbers::Each((0..=i).map(|i| self.get(i)).collect());
                }
            }
            Numbers::Each(numbers) => numbers.push(number),
        }
    }

    fn get(&self, i: u32) -> u64 {
        match self {
            Numbers::Runs(runs) => {
                let Run { from, first } = runs[runs.partition_point(|run| run.from <= i) - 1];
                first + u64::from(i - from)
            }
            Numbers::Each(numbers) => numbers[i as usize],
        }
    }

    fn shrink(&mut self) {
        match self {
            Numbers::Runs(runs) => runs.shrink_to_fit(),
            Numbers::Each(numbers) => numbers.shrink_to_fit(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Numbers::Runs(runs) => runs.capacity() * size_of::<Run>(),
            Numbers::Each(numbers) => numbers.capacity() * size_of::<u64>(),
        }
    }
}

/// Texts of a column that is handed out, end to end.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Texts {
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }

    fn push_number(&mut self, number: u64) {
        self.push(number.to_string().as_bytes());
    }
}

/// The number that a text is, if it is written as that number would be.
fn plain_number(text: &[u8]) -> Option<u64> {
    let is_plain = match text {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if is_plain { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The keys of lines, and how each is written.
    fn lines() -> impl Strategy<Value = Vec<(Option<String>, u64)>> {
        let key = prop_oneof![
            4 => Just(None),
            4 => (0u64..9).prop_map(|n| Some(n.to_string())),
            1 => (0u64..9).prop_map(|n| Some(format!("0{n}"))),
            1 => Just(Some(u64::MAX.to_string())),
            1 => Just(Some("99999999999999999999".to_owned())),
            1 => "[a-c]{0,2}".prop_map(Some),
        ];
        let gap = prop_oneof![8 => Just(1u64), 1 => 2u64..5];
        let plain = prop::collection::vec((Just(None), gap.clone()), 0..60);
        let mixed = prop::collection::vec((key, gap), 0..60);
        prop_oneof![plain, mixed]
    }

    proptest! {
        #[test]
        fn keys_are_what_is_written_or_its_number(lines in lines(), numeric: bool) {
            let (mut column, mut line) = (KeyColumn::default(), 0);
            let mut written = Vec::new();
            for (key, gap) in &lines {
                line += gap;
                column.push(key.as_ref().map(|key| key.as_bytes()), line);
                written.push(key.clone().unwrap_or_else(|| line.to_string()));
            }
            let numbers: Option<Vec<u64>> =
                written.iter().map(|key| parse_numeric_key(key.as_bytes())).collect();
            let table = column.finish(numeric);
            let n = written.len() as u32;
            let all = table.gathered(0..n);
            for (i, text) in written.iter().enumerate() {
                let one = table.single(i as u32);
                prop_assert_eq!(one.get(0), all.get(i));
                match numbers.as_ref().filter(|_| numeric) {
                    Some(numbers) => prop_assert_eq!(all.number(i), Some(numbers[i])),
                    None => prop_assert_eq!(all.text(i), Some(text.as_bytes())),
                }
            }
        }
    }

    #[test]
    fn the_numbers_of_lines_take_no_memory_and_any_numbers_eight_bytes() {
        let bytes = |key: fn(u64) -> u64| {
            let mut column = KeyColumn::default();
            (0..100_000).for_each(|line| column.push(Some(key(line).to_string().as_bytes()), line));
            (column.bytes(), column.finish(true).bytes())
        };
        assert!(bytes(|line| line).0 < 100);
        assert!(bytes(|line| line + line / 1000).0 < 10_000);
        assert_eq!(bytes(|line| line * 7 % 100_000).1, 800_000);
    }
}
