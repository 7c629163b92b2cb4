//! The columns that messages are parsed into: a flat list of values for each wanted key, and where each message's
//! values end.

use std::ops::Range;

/// Which of the three lists a feature holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Byte strings.
    Bytes,
    /// 32-bit floats.
    Floats,
    /// 64-bit integers.
    Ints,
}

impl Kind {
    /// The name of the list in the message's definition, without `_list`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bytes => "bytes",
            Kind::Floats => "float",
            Kind::Ints => "int64",
        }
    }
}

/// A byte string, as a place in the bytes that were handed to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// Its number of bytes.
    pub len: usize,
}

impl Span {
    /// The bytes it covers.
    pub fn range(self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

/// The values of one key, message after message.
#[derive(Clone, Debug, PartialEq)]
pub enum List {
    /// Byte strings, by place.
    Bytes(Vec<Span>),
    /// 32-bit floats.
    Floats(Vec<f32>),
    /// 64-bit integers.
    Ints(Vec<i64>),
}

impl List {
    fn new(kind: Kind) -> List {
        match kind {
            Kind::Bytes => List::Bytes(Vec::new()),
            Kind::Floats => List::Floats(Vec::new()),
            Kind::Ints => List::Ints(Vec::new()),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            List::Bytes(v) => v.len(),
            List::Floats(v) => v.len(),
            List::Ints(v) => v.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            List::Bytes(v) => v.truncate(len),
            List::Floats(v) => v.truncate(len),
            List::Ints(v) => v.truncate(len),
        }
    }
}

/// The values of one key: row `i`, that is message `i`, has `values[row(i)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// All values, flat.
    pub values: List,
    /// Where each row ends.
    pub ends: Vec<usize>,
    /// Rows without the key, ascending. They have no values; a row may also have the key and no values.
    pub absent: Vec<usize>,
}

impl Column {
    fn new(kind: Kind) -> Column {
        Column { values: List::new(kind), ends: Vec::new(), absent: Vec::new() }
    }

    /// Where the values of a row lie.
    pub fn row(&self, row: usize) -> Range<usize> {
        self.start(row)..self.ends[row]
    }

    pub(super) fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }

    /// True if a row lacks the key.
    pub fn is_absent(&self, row: usize) -> bool {
        !self.absent.is_empty() && self.absent.binary_search(&row).is_ok()
    }

    /// Ends the row that is being filled; without the key it has no values.
    pub(super) fn end_row(&mut self, present: bool) {
        if !present {
            self.absent.push(self.ends.len());
        }
        self.ends.push(self.values.len());
    }

    /// Takes the last row back, to be filled again.
    pub(super) fn reopen_row(&mut self) {
        self.ends.pop();
        self.absent.pop_if(|row| *row == self.ends.len());
        self.values.truncate(self.start(self.ends.len()));
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.absent.truncate(self.absent.partition_point(|row| *row < rows));
        self.values.truncate(self.start(self.ends.len()));
    }
}

/// One column for each wanted key, all of the same number of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The columns, in the order in which keys were wanted.
    pub of: Vec<Column>,
    rows: usize,
}

impl Columns {
    pub(super) fn new(kinds: impl Iterator<Item = Kind>) -> Columns {
        Columns { of: kinds.map(Column::new).collect(), rows: 0 }
    }

    /// Number of messages.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Forgets rows from the end.
    pub fn truncate(&mut self, rows: usize) {
        for column in &mut self.of {
            column.truncate(rows);
        }
        self.rows = self.rows.min(rows);
    }

    /// Counts rows that every column has been given.
    pub(super) fn add_rows(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Ends a row in every column: those that were not filled lack the key. `filled` is how many were.
    pub(super) fn end_row(&mut self, filled: usize) {
        self.rows += 1;
        if filled < self.of.len() {
            let open = self.of.iter_mut().filter(|c| c.ends.len() < self.rows);
            open.for_each(|c| c.end_row(false));
        }
    }
}
