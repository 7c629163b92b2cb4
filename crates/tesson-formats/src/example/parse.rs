//! Messages, row by row, into the columns of the wanted keys.

use super::columns::{Columns, Kind};
use super::layout_cache::LayoutCache;
use super::list;
use super::wire::{Tag, Wire, WireType};
use super::{Column, ExampleError, Fault, Span};

type Result<T> = std::result::Result<T, ExampleError>;

/// A key and the kind of list that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureSpec {
    /// The key of the feature.
    pub key: String,
    /// The list it has to hold.
    pub kind: Kind,
}

/// Places of unwanted keys are remembered up to so many entries of a message, and keys up to so many bytes: what a
/// record holds must not decide what a reader keeps.
const REMEMBERED: usize = 1024;

/// The entry that stood at some place in the message before.
///
/// Writers put keys in the same order into every message, as a rule, so that looking a key up is comparing it once.
#[derive(Clone, Debug, Default)]
struct Guess {
    /// The wanted key that it was.
    column: Option<usize>,
    /// The key itself, if it was none.
    unwanted: Vec<u8>,
}

/// Reads the wanted keys of messages.
#[derive(Clone, Debug)]
pub struct Parser {
    wanted: Vec<FeatureSpec>,
    /// Wanted keys in the order of their bytes.
    sorted: Vec<usize>,
    guesses: Vec<Guess>,
    layouts: LayoutCache,
}

impl Parser {
    /// A parser for these keys; each stands there once.
    pub fn new(wanted: Vec<FeatureSpec>) -> Parser {
        let mut sorted: Vec<usize> = (0..wanted.len()).collect();
        sorted.sort_by(|a, b| wanted[*a].key.cmp(&wanted[*b].key));
        debug_assert!(sorted.windows(2).all(|w| wanted[w[0]].key != wanted[w[1]].key));
        Parser { wanted, sorted, guesses: Vec::new(), layouts: LayoutCache::new() }
    }

    /// The wanted keys.
    pub fn wanted(&self) -> &[FeatureSpec] {
        &self.wanted
    }

    /// Empty columns for the wanted keys.
    pub fn columns(&self) -> Columns {
        Columns::new(self.wanted.iter().map(|w| w.kind))
    }

    /// Appends one row to every column: the message in these bytes of `block`. Byte strings become places in `block`.
    ///
    /// A key that stands there twice has its last value, unknown keys and fields are stepped over, and a feature without
    /// any list counts as absent. Lists of keys that are not wanted are not looked into.
    ///
    /// # Errors
    /// The record is no message, or a wanted key holds a list of another kind. The columns are as before then.
    pub fn parse(
        &mut self,
        block: &[u8],
        record: Span,
        columns: &mut Columns,
    ) -> std::result::Result<(), ExampleError> {
        if self.layouts.take(block, std::iter::once(record), columns) == 1 {
            return Ok(());
        }
        self.parse_anew(block, record, columns)
    }

    /// Appends rows as [`Parser::parse`] does, for messages one after the other.
    ///
    /// # Errors
    /// The number of the first message that is none, and why. The rows of those before it are in the columns.
    pub fn parse_all<R>(
        &mut self,
        block: &[u8],
        records: R,
        columns: &mut Columns,
    ) -> std::result::Result<(), (usize, ExampleError)>
    where
        R: IntoIterator<Item = Span, IntoIter: Clone>,
    {
        let (mut records, mut done) = (records.into_iter(), 0);
        loop {
            let taken = self.layouts.take(block, records.clone(), columns);
            done += taken;
            let Some(record) = (if taken > 0 { records.nth(taken - 1) } else { records.next() }) else {
                return Ok(());
            };
            if taken == 0 {
                self.parse_anew(block, record, columns).map_err(|error| (done, error))?;
                done += 1;
            }
        }
    }

    /// Appends a row for a message that no layout fits.
    fn parse_anew(&mut self, block: &[u8], record: Span, columns: &mut Columns) -> Result<()> {
        let rows = columns.rows();
        let message = Wire::new(block, record.start, record.start + record.len);
        self.message(message, columns).map_err(|mut error| {
            columns.truncate(rows);
            error.offset -= record.start;
            error
        })?;
        let Parser { layouts, wanted, sorted, .. } = self;
        layouts.learn(&block[record.range()], wanted, |key| find(wanted, sorted, key));
        Ok(())
    }

    fn message(&mut self, mut message: Wire<'_>, columns: &mut Columns) -> Result<()> {
        let mut row = Row { entry: 0, filled: 0, number: columns.rows() };
        while !message.is_empty() {
            let tag = message.tag()?;
            match tag {
                FIRST => self.features(message.field()?, columns, &mut row)?,
                _ => message.skip(tag)?,
            }
        }
        columns.end_row(row.filled);
        Ok(())
    }

    fn features(&mut self, mut features: Wire<'_>, columns: &mut Columns, row: &mut Row) -> Result<()> {
        while !features.is_empty() {
            let tag = features.tag()?;
            match tag {
                FIRST => self.entry(features.field()?, columns, row)?,
                _ => features.skip(tag)?,
            }
        }
        Ok(())
    }

    /// One key and its feature. Every writer puts the key first and the feature behind it; any other form is legal.
    fn entry(&mut self, whole: Wire<'_>, columns: &mut Columns, row: &mut Row) -> Result<()> {
        let mut entry = whole;
        if entry.take(0x0a) {
            let key = entry.field()?;
            if entry.take(0x12) {
                let feature = entry.field()?;
                if entry.is_empty() {
                    return self.feature(key.rest(), feature, columns, row);
                }
            }
        }
        self.odd_entry(whole, columns, row)
    }

    /// An entry in any form: the last key counts, features are put together, and what is missing is empty.
    #[cold]
    fn odd_entry(&mut self, whole: Wire<'_>, columns: &mut Columns, row: &mut Row) -> Result<()> {
        let mut key: &[u8] = &[];
        let mut features = Vec::new();
        let mut entry = whole;
        while !entry.is_empty() {
            let tag = entry.tag()?;
            match tag {
                FIRST => key = entry.field()?.rest(),
                SECOND => features.push(entry.field()?),
                _ => entry.skip(tag)?,
            }
        }
        let Some(at) = self.column(key, row) else { return Ok(()) };
        let mut lists = Lists::into(&mut columns.of[at], row);
        for feature in features {
            lists.feature(feature)?;
        }
        lists.end(&self.wanted[at], whole)
    }

    #[inline]
    fn feature(&mut self, key: &[u8], feature: Wire<'_>, columns: &mut Columns, row: &mut Row) -> Result<()> {
        let Some(at) = self.column(key, row) else { return Ok(()) };
        let mut lists = Lists::into(&mut columns.of[at], row);
        lists.feature(feature)?;
        lists.end(&self.wanted[at], feature)
    }

    /// The column of a key, if it is wanted.
    #[inline]
    fn column(&mut self, key: &[u8], row: &mut Row) -> Option<usize> {
        let place = row.entry;
        row.entry += 1;
        match self.guesses.get(place) {
            Some(Guess { column: Some(at), .. }) if self.wanted[*at].key.as_bytes() == key => Some(*at),
            Some(Guess { column: None, unwanted }) if unwanted == key => None,
            _ => self.look_up(key, place),
        }
    }

    fn look_up(&mut self, key: &[u8], place: usize) -> Option<usize> {
        let column = find(&self.wanted, &self.sorted, key);
        if place < REMEMBERED && key.len() <= REMEMBERED {
            if place >= self.guesses.len() {
                self.guesses.resize(place + 1, Guess::default());
            }
            let guess = &mut self.guesses[place];
            guess.column = column;
            guess.unwanted.clear();
            if column.is_none() {
                guess.unwanted.extend_from_slice(key);
            }
        }
        column
    }
}

/// Which of the wanted keys it is.
fn find(wanted: &[FeatureSpec], sorted: &[usize], key: &[u8]) -> Option<usize> {
    let found = sorted.binary_search_by(|i| wanted[*i].key.as_bytes().cmp(key));
    found.ok().map(|i| sorted[i])
}

const FIRST: Tag = Tag { field: 1, wire: WireType::Bytes };
const SECOND: Tag = Tag { field: 2, wire: WireType::Bytes };

/// Where the message stands.
struct Row {
    /// Entries so far.
    entry: usize,
    /// Columns that this row has ended.
    filled: usize,
    number: usize,
}

/// The lists of one feature, on their way into its column. A feature has one of three lists; where several stand there,
/// the last kind counts, and lists of the same kind in a row are one list.
struct Lists<'a> {
    column: &'a mut Column,
    kind: Kind,
    last: Option<Kind>,
}

impl<'a> Lists<'a> {
    #[inline]
    fn into(column: &'a mut Column, row: &mut Row) -> Lists<'a> {
        if column.ends.len() > row.number {
            // The key has stood there before.
            column.reopen_row();
        } else {
            row.filled += 1;
        }
        let kind = match column.values {
            super::List::Bytes(_) => Kind::Bytes,
            super::List::Floats(_) => Kind::Floats,
            super::List::Ints(_) => Kind::Ints,
        };
        Lists { column, kind, last: None }
    }

    #[inline]
    fn feature(&mut self, mut feature: Wire<'_>) -> Result<()> {
        while !feature.is_empty() {
            let tag = feature.tag()?;
            let kind = match tag {
                FIRST => Kind::Bytes,
                SECOND => Kind::Floats,
                Tag { field: 3, wire: WireType::Bytes } => Kind::Ints,
                _ => {
                    feature.skip(tag)?;
                    continue;
                }
            };
            let list = feature.field()?;
            if self.last.is_some_and(|last| last != kind) {
                self.column.values.truncate(self.column.start(self.column.ends.len()));
            }
            self.last = Some(kind);
            if kind == self.kind {
                list::append(list, &mut self.column.values)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn end(self, wanted: &FeatureSpec, at: Wire<'_>) -> Result<()> {
        match self.last {
            Some(kind) if kind != self.kind => {
                let key = wanted.key.clone();
                at.fail(Fault::WrongKind { key, expected: self.kind, found: kind })
            }
            last => {
                self.column.end_row(last.is_some());
                Ok(())
            }
        }
    }
}
