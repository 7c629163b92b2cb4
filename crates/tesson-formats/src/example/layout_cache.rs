//! Messages that are laid out as one before: the same keys in the same order, values that take as many bytes.
//!
//! As a rule a writer puts the same bytes around the values of all messages of one size. A [`Layout`] is made of one
//! message that was parsed: which of its bytes are not values, and where the values are. Another message that has the
//! same bytes there means the same, so it is compared word by word and its values are taken out. Whatever does not fit
//! is parsed: what is read never depends on layouts.

use super::columns::{Column, Columns, List};
use super::wire::Wire;
use super::{FeatureSpec, Kind, Span, list};

/// Layouts that are kept: messages of other sizes follow each other.
const KEPT: usize = 8;

/// Words and values of a layout, at most: beyond that comparing is not faster than parsing.
const MOST: usize = 64;

/// Bytes of messages that are taken together: they stay in a core's cache from comparing to taking their values out.
const TOGETHER: usize = 16 << 10;

/// Layouts that may be made before one has fitted, and more of them for each that has fitted: making one costs as much as
/// parsing the message once more.
const CREDIT: Credit = Credit { first: 16, most: 256, again: 512 };

struct Credit {
    first: u32,
    most: u32,
    /// With none left, another layout is tried after so many messages.
    again: u32,
}

/// The layouts of the messages that came last.
#[derive(Clone, Debug)]
pub(super) struct LayoutCache {
    of: Vec<Layout>,
    /// The one that fitted last, and the one that is replaced next.
    last: usize,
    oldest: usize,
    credit: u32,
    passed: u32,
}

impl LayoutCache {
    pub(super) fn new() -> LayoutCache {
        LayoutCache { of: Vec::new(), last: 0, oldest: 0, credit: CREDIT.first, passed: 0 }
    }

    /// Appends a row for each of the first messages that one layout fits, and returns how many they are.
    #[inline]
    pub(super) fn take(
        &mut self,
        block: &[u8],
        records: impl Iterator<Item = Span> + Clone,
        columns: &mut Columns,
    ) -> usize {
        let Some(first) = records.clone().next() else { return 0 };
        let is_of_size = |layout: &Layout| layout.size == first.len;
        if !self.of.get(self.last).is_some_and(is_of_size) {
            let Some(at) = self.of.iter().position(is_of_size) else { return 0 };
            self.last = at;
        }
        let taken = self.of[self.last].take(block, records, columns);
        self.credit = self.credit.saturating_add(taken as u32).min(CREDIT.most);
        taken
    }

    /// Makes a layout of a message that none has fitted, if that seems worth while.
    pub(super) fn learn(
        &mut self,
        message: &[u8],
        wanted: &[FeatureSpec],
        column: impl Fn(&[u8]) -> Option<usize>,
    ) {
        if self.credit == 0 {
            self.passed += 1;
            if self.passed < CREDIT.again {
                return;
            }
            (self.passed, self.credit) = (0, 1);
        }
        self.credit -= 1;
        let Some(layout) = Layout::of(message, wanted, column) else { return };
        let same = self.of.iter().position(|m| m.size == layout.size);
        match same {
            Some(at) => self.of[at] = layout,
            None if self.of.len() < KEPT => self.of.push(layout),
            None => {
                self.of[self.oldest] = layout;
                self.oldest = (self.oldest + 1) % KEPT;
            }
        }
    }
}

/// The bytes and places that messages of one size have in common.
#[derive(Clone, Debug)]
struct Layout {
    size: usize,
    words: Vec<Word>,
    parts: Vec<Part>,
}

/// Eight bytes of the message, and which of their bits are not values.
#[derive(Clone, Copy, Debug)]
struct Word {
    at: usize,
    mask: u64,
    bits: u64,
}

/// A run of bytes that are values of a column.
#[derive(Clone, Copy, Debug)]
struct Part {
    column: usize,
    at: usize,
    len: usize,
    /// True if the column's row ends with it.
    ends: bool,
}

impl Layout {
    /// Of a message that is written as writers do it: each wanted key is there once, its numbers are packed. `None` for any
    /// other one.
    fn of(message: &[u8], wanted: &[FeatureSpec], column: impl Fn(&[u8]) -> Option<usize>) -> Option<Layout> {
        let mut parts = Vec::new();
        // Values of keys that are not wanted may be anything, too.
        let mut free = Vec::new();
        let mut seen = vec![false; wanted.len()];
        let mut whole = Wire::new(message, 0, message.len());
        let mut features = only(&mut whole, 0x0a)?;
        while !features.is_empty() {
            let mut entry = field(&mut features, 0x0a)?;
            let key = field(&mut entry, 0x0a)?;
            let mut feature = only(&mut entry, 0x12)?;
            let Some(column) = column(key.rest()) else {
                free.push(feature.at..feature.at + feature.len());
                continue;
            };
            if std::mem::replace(&mut seen[column], true) {
                return None;
            }
            let mut list = only(&mut feature, tag(wanted[column].kind))?;
            let before = parts.len();
            while !list.is_empty() {
                let value = field(&mut list, 0x0a)?;
                let once = wanted[column].kind == Kind::Bytes || list.is_empty();
                if !once || parts.len() == MOST {
                    return None;
                }
                parts.push(Part { column, at: value.at, len: value.len(), ends: false });
                free.push(value.at..value.at + value.len());
            }
            if parts.len() == before {
                // A list without values.
                parts.push(Part { column, at: 0, len: 0, ends: false });
                if wanted[column].kind == Kind::Bytes {
                    return None;
                }
            }
            parts.last_mut()?.ends = true;
        }
        let words = seen.iter().all(|seen| *seen).then(|| words(message, &free))??;
        Some(Layout { size: message.len(), words, parts })
    }

    /// Appends rows for the first messages that fit, list by list: what is the same for all of them is done once.
    #[inline]
    fn take(
        &self,
        block: &[u8],
        records: impl Iterator<Item = Span> + Clone,
        columns: &mut Columns,
    ) -> usize {
        let most = (TOGETHER / self.size.max(1)).max(1);
        let fit = records.clone().take(most).take_while(|record| self.fits(block, *record)).count();
        let records = records.take(fit);
        let before = columns.rows();
        let mut taken = fit;
        for list in self.parts.chunk_by(|part, _| !part.ends) {
            taken = taken.min(append(list, block, records.clone(), &mut columns.of[list[0].column]));
        }
        columns.add_rows(fit);
        if taken < fit {
            columns.truncate(before + taken);
        }
        taken
    }

    #[inline]
    fn fits(&self, block: &[u8], record: Span) -> bool {
        record.len == self.size && {
            let message = &block[record.range()];
            self.words.iter().all(|word| word_at(message, word.at) & word.mask == word.bits)
        }
    }
}

/// Appends the values of one list, which has these parts in each of the messages, and where rows end. Returns in how many of
/// them, from the first on, the values are well-formed; after that the column has rows too many or too few.
#[inline]
fn append(
    parts: &[Part],
    block: &[u8],
    records: impl Iterator<Item = Span> + Clone,
    column: &mut Column,
) -> usize {
    let before = column.values.len();
    let each = match &mut column.values {
        List::Bytes(to) => {
            let spans = |record: Span| {
                parts.iter().map(move |part| Span { start: record.start + part.at, len: part.len })
            };
            to.extend(records.clone().flat_map(spans));
            parts.len()
        }
        // Numbers are packed in one part.
        List::Floats(to) => {
            let Part { at, len, .. } = parts[0];
            if len % 4 != 0 {
                return 0;
            }
            for record in records.clone() {
                let values = block[record.start + at..][..len].as_chunks::<4>().0;
                to.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
            }
            len / 4
        }
        List::Ints(to) => {
            if !parts[0].single_ints(block, records.clone(), to) {
                return parts[0].packed_ints(block, records, to, &mut column.ends);
            }
            1
        }
    };
    column.ends.extend(records.zip(1..).map(|(_, row)| before + row * each));
    (column.values.len() - before).checked_div(each).unwrap_or(usize::MAX)
}

impl Part {
    /// Appends an integer of each message, put together without a loop. False, and nothing is appended, unless the part is one
    /// integer of up to eight bytes in all of them.
    #[inline]
    fn single_ints(
        self,
        block: &[u8],
        records: impl Iterator<Item = Span> + Clone,
        to: &mut Vec<i64>,
    ) -> bool {
        const MORE: u64 = 0x8080_8080_8080_8080;
        let end = self.at + self.len;
        if !(1..=8).contains(&self.len) || end < 8 {
            return false;
        }
        let unused = 64 - 8 * self.len as u32;
        let (before, more, mut differ) = (to.len(), (MORE << 8 >> 8) >> unused, 0);
        to.extend(records.map(|record| {
            let bytes = word_at(block, record.start + end - 8) >> unused;
            differ |= bytes & MORE ^ more;
            let sevens = bytes & !MORE;
            let pairs = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
            let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
            (fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4) as i64
        }));
        if differ != 0 {
            to.truncate(before);
        }
        differ == 0
    }

    /// Appends the integers of each message, and where they end, up to the first that has none that are whole.
    fn packed_ints(
        self,
        block: &[u8],
        records: impl Iterator<Item = Span>,
        to: &mut Vec<i64>,
        ends: &mut Vec<usize>,
    ) -> usize {
        let whole = records.take_while(|record| {
            let at = record.start + self.at;
            let is_whole = list::packed_ints(Wire::new(block, at, at + self.len), to).is_ok();
            if is_whole {
                ends.push(to.len());
            }
            is_whole
        });
        whole.count()
    }
}

/// Words that cover all bytes that are not free. `None` if there are too many, or the message is shorter than a word.
fn words(message: &[u8], free: &[std::ops::Range<usize>]) -> Option<Vec<Word>> {
    let last = message.len().checked_sub(8)?;
    let mut words = Vec::new();
    let mut free = free.iter().peekable();
    let mut at = 0;
    while at < message.len() {
        if let Some(skipped) = free.next_if(|range| range.start <= at) {
            at = at.max(skipped.end);
            continue;
        }
        let from = at.min(last);
        let is_free = |byte: usize| free.clone().any(|range| range.contains(&byte)) || byte < at;
        let mask = (0..8).filter(|i| !is_free(from + i)).fold(0, |mask, i| mask | 0xff << (8 * i));
        words.push(Word { at: from, mask, bits: word_at(message, from) & mask });
        if words.len() > MOST {
            return None;
        }
        at = from + 8;
    }
    Some(words)
}

#[inline]
fn word_at(message: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes were taken"))
}

fn tag(kind: Kind) -> u8 {
    match kind {
        Kind::Bytes => 0x0a,
        Kind::Floats => 0x12,
        Kind::Ints => 0x1a,
    }
}

/// The next field, if it has this tag.
fn field<'a>(from: &mut Wire<'a>, tag: u8) -> Option<Wire<'a>> {
    if from.take(tag) { from.field().ok() } else { None }
}

/// The next field, if it has this tag and nothing follows it.
fn only<'a>(from: &mut Wire<'a>, tag: u8) -> Option<Wire<'a>> {
    field(from, tag).filter(|_| from.is_empty())
}
