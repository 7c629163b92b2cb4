//! The common part of tables: options, the fields of each stream, and the sequence that rows become.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::{Element, Key};
use tesson_formats::write::{Numbers, SequenceData, StreamSpec};

use crate::ConvertError;

/// The options for reading a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableOptions {
    /// The first row of a CSV file has the names of its columns.
    pub header: bool,
    /// The character between the fields of a CSV file.
    pub delimiter: u8,
    /// The column that is the stream `labels`; in JSON lines, the field that `one_hot` is for.
    pub label: Option<String>,
    /// Labels are numbers of classes below this, and become sparse samples with a 1.
    pub one_hot: Option<u64>,
    /// Dense fields become sparse samples of those that are not 0.
    pub sparse: bool,
    /// The column that says which rows, one after the other, are a sequence. Otherwise each is one.
    pub key: Option<String>,
    /// The streams and their columns; by default all columns that are not the label or the key are `features`.
    pub streams: Vec<StreamColumns>,
    /// The number of columns of sparse features; by default as many as occur.
    pub dim: Option<u64>,
    /// The type of values.
    pub element: Element,
    /// Numbers that the type cannot hold become the nearest that it can; otherwise they are refused.
    pub rounded: bool,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            header: false,
            delimiter: b',',
            label: None,
            one_hot: None,
            sparse: false,
            key: None,
            streams: Vec::new(),
            dim: None,
            element: Element::F32,
            rounded: false,
        }
    }
}

/// A stream and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamColumns {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Columns,
}

/// Columns as they are written: `3`, `1-784`, `a,b,c`; numbers count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub String);

impl StreamColumns {
    /// Parses a stream as it is written on a command line: `features=1-784`.
    ///
    /// # Errors
    /// A text without `=`, a name or columns.
    pub fn parse(text: &str) -> Result<StreamColumns, String> {
        match text.split_once('=') {
            Some((name, columns)) if !name.is_empty() && !columns.is_empty() => {
                Ok(StreamColumns { name: name.into(), columns: Columns(columns.into()) })
            }
            _ => Err(format!("found `{text}`, expected NAME=COLUMNS such as `features=1-784` or `x=a,b`")),
        }
    }
}

/// The most columns that a table may have: a range of numbers must not take all memory.
const MOST_COLUMNS: usize = 1 << 24;

impl Columns {
    /// Their numbers in a table of `n` columns; `names` are those of its header, if it has one.
    pub(super) fn resolve(&self, n: usize, names: Option<&[String]>) -> Result<Vec<usize>, ConvertError> {
        let mut columns = Vec::new();
        for word in self.0.split(',') {
            let mut alike = names.into_iter().flatten().enumerate().filter(|(_, name)| *name == word);
            let named = alike.next().map(|(column, _)| column);
            if let (Some(first), Some((second, _))) = (named, alike.next()) {
                let what = format!("columns {first} and {second} are both `{word}`, give the number of one");
                return Err(ConvertError::Usage(what));
            }
            let (first, last) = match (named, word.split_once('-')) {
                (Some(column), _) => (column, column),
                (None, Some((first, last))) => (number(first, word, names)?, number(last, word, names)?),
                (None, None) => (number(word, word, names)?, number(word, word, names)?),
            };
            if last >= n || first > last {
                let what = format!("column `{word}`: the table has {n} columns, counted from 0");
                return Err(ConvertError::Usage(what));
            }
            if columns.len() + (last - first) >= MOST_COLUMNS {
                return Err(ConvertError::Usage(format!(
                    "column `{word}`: at most {MOST_COLUMNS} columns are possible"
                )));
            }
            columns.extend(first..=last);
        }
        Ok(columns)
    }
}

fn number(text: &str, word: &str, names: Option<&[String]>) -> Result<usize, ConvertError> {
    text.trim().parse().map_err(|_| {
        let near = names.and_then(|names| tesson_core::nearest(word, names.iter().map(String::as_str)));
        ConvertError::Usage(match (near, names) {
            (Some(near), _) => format!("there is no column `{word}`, did you mean `{near}`?"),
            (None, Some(_)) => {
                format!("there is no column `{word}`, expected a name in the header or a number from 0")
            }
            (None, None) => format!("column `{word}` is no number; names need a header (`--header`)"),
        })
    })
}

/// A place in a table, for errors.
pub(super) struct Row<'a> {
    pub(super) file: &'a Path,
    /// From 1.
    pub(super) line: u64,
}

impl Row<'_> {
    pub(super) fn error(&self, what: impl Into<String>) -> ConvertError {
        ConvertError::Row { file: PathBuf::from(self.file), line: self.line, what: what.into() }
    }
}

/// The key that a text is, of the kind that the first key of the table had.
pub(super) fn key_of(text: &str, numbers: bool, row: &Row<'_>) -> Result<Key, ConvertError> {
    match (key_number(text), numbers) {
        (Some(n), true) => Ok(Key::Number(n)),
        (_, false) if !text.is_empty() => Ok(Key::Text(text.into())),
        _ => Err(row.error(format!(
            "the key is `{text}`, expected {}",
            if numbers { "a whole number without leading zeros, as in the rows before" } else { "a text" }
        ))),
    }
}

/// True if a table with this first key has numbers as keys.
pub(super) fn is_number(key: &str) -> bool {
    key_number(key).is_some()
}

/// The number that a key is; none where its text would be another one afterwards, as of `007`.
fn key_number(key: &str) -> Option<u64> {
    key.parse().ok().filter(|n: &u64| n.to_string() == key)
}

/// Implements [`crate::Sequences`] for a table: consecutive rows with one key are a sequence. A table has a
/// `building`, the key of its next row (`key_here`), and `take_row`, which appends that row; the arguments say if
/// there is a row, and how many bytes were read.
macro_rules! sequences_of_rows {
    ($table:ident, |$rows:ident| $has_row:expr, |$reader:ident| $bytes_read:expr) => {
        impl crate::Sequences for $table {
            fn streams(&self) -> Vec<StreamSpec> {
                self.building.streams.iter().map(|s| s.spec.clone()).collect()
            }

            fn numbers_are_lines(&self) -> bool {
                false
            }

            fn advance(&mut self) -> Result<bool, ConvertError> {
                let has_row = |$rows: &$table| $has_row;
                if !has_row(self) {
                    return Ok(false);
                }
                let key = self.key_here()?;
                self.building.begin(key.clone());
                self.take_row()?;
                while key.is_some() && has_row(self) && self.key_here()? == key {
                    self.take_row()?;
                }
                Ok(true)
            }

            fn bytes_read(&self) -> u64 {
                let $reader = self;
                $bytes_read
            }
        }

        impl crate::Sequence for $table {
            fn key(&self) -> Key {
                self.building.key.clone()
            }

            fn stream(&self, stream: usize) -> crate::SequenceData<'_> {
                self.building.streams[stream].data()
            }
        }
    };
}
pub(super) use sequences_of_rows;

/// A sequence under construction.
pub(super) struct Building {
    pub(super) key: Key,
    /// Sequences begun so far, which number those without a key.
    begun: u64,
    pub(super) streams: Vec<Stream>,
}

/// One stream of it.
pub(super) struct Stream {
    pub(super) spec: StreamSpec,
    /// `true`: numbers that the type cannot hold are rounded to the nearest; `false`: they are refused.
    rounded: bool,
    n_samples: u32,
    values: Values,
    columns: Vec<i32>,
    bounds: Vec<i32>,
}

enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A value in both types, each rounded once from its digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    single: f32,
    double: f64,
}

impl Value {
    pub(super) const ONE: Value = Value { single: 1.0, double: 1.0 };

    /// Reads a number; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Value> {
        let text = text.trim();
        Some(Value { single: text.parse().ok()?, double: text.parse().ok()? })
    }
}

impl Building {
    /// # Errors
    /// Two streams of one name.
    pub(super) fn new(streams: Vec<StreamSpec>, options: &TableOptions) -> Result<Building, ConvertError> {
        for (i, stream) in streams.iter().enumerate() {
            if streams[..i].iter().any(|other| other.name == stream.name) {
                let by_label =
                    if stream.name == "labels" { " (`--label-column` makes `labels`)" } else { "" };
                let what =
                    format!("found two streams `{}`{by_label}, expected each once; rename one", stream.name);
                return Err(ConvertError::Usage(what));
            }
        }
        let stream = |spec: StreamSpec| Stream {
            rounded: options.rounded,
            n_samples: 0,
            values: match spec.element {
                Element::F64 => Values::F64(Vec::new()),
                _ => Values::F32(Vec::new()),
            },
            columns: Vec::new(),
            bounds: vec![0],
            spec,
        };
        let streams = streams.into_iter().map(stream).collect();
        Ok(Building { key: Key::Number(0), begun: 0, streams })
    }

    /// Begins another sequence.
    pub(super) fn begin(&mut self, key: Option<Key>) {
        self.key = key.unwrap_or(Key::Number(self.begun));
        self.begun += 1;
        for stream in &mut self.streams {
            stream.n_samples = 0;
            stream.columns.clear();
            stream.bounds.truncate(1);
            match &mut stream.values {
                Values::F32(v) => v.clear(),
                Values::F64(v) => v.clear(),
            }
        }
    }
}

impl Stream {
    /// Reads a number for this stream.
    ///
    /// # Errors
    /// The expected value, or why the stream's type cannot hold the number; with the remedy.
    pub(super) fn number(&self, text: &str) -> Result<Value, String> {
        let value = Value::parse(text).ok_or("expected a number")?;
        let double = Held::of(value.double, text, f64::DIGITS);
        let (held, nearest, most) = match &self.values {
            Values::F32(_) => (
                Held::of(value.single.into(), text, f32::DIGITS),
                value.single.to_string(),
                f64::from(f32::MAX),
            ),
            Values::F64(_) => (double, value.double.to_string(), f64::MAX),
        };
        let name = self.spec.element.name();
        match held {
            Held::Exactly => Ok(value),
            Held::Rounded if self.rounded => Ok(value),
            Held::Rounded if double == Held::Exactly => Err(format!(
                "which {name} cannot hold, the nearest is {nearest}; `--precision double` holds it, `--precision float` \
                 writes the nearest"
            )),
            Held::Rounded => Err(format!(
                "which no type holds, the nearest of {name} is {nearest}; write fewer digits, or write the nearest with \
                 `--precision`"
            )),
            Held::Beyond => Err(format!(
                "which is beyond {name}, whose largest is {most:e}; {}",
                match double {
                    Held::Beyond => "replace it",
                    _ => "`--precision double` holds it",
                }
            )),
        }
    }

    /// Appends a value of a dense sample.
    pub(super) fn value(&mut self, value: Value) {
        match &mut self.values {
            Values::F32(v) => v.push(value.single),
            Values::F64(v) => v.push(value.double),
        }
    }

    /// Appends a pair of a sparse sample. Entries of one column are added up when the sample ends.
    pub(super) fn pair(&mut self, column: i32, value: Value) {
        self.columns.push(column);
        self.value(value);
    }

    /// Appends a value; in a sparse stream a 0 is left out.
    pub(super) fn at(&mut self, column: usize, value: Value) {
        if !self.spec.sparse {
            self.value(value);
        } else if value.double != 0.0 {
            self.pair(column as i32, value);
        }
    }

    /// Ends a sample: sparse ones are sorted, entries of one column added up.
    pub(super) fn end_sample(&mut self) {
        self.n_samples += 1;
        if !self.spec.sparse {
            return;
        }
        let first = self.bounds[self.bounds.len() - 1] as usize;
        if !self.columns[first..].windows(2).all(|w| w[0] < w[1]) {
            match &mut self.values {
                Values::F32(v) => sort(&mut self.columns, v, first),
                Values::F64(v) => sort(&mut self.columns, v, first),
            }
        }
        self.bounds.push(self.columns.len() as i32);
    }

    pub(super) fn data(&self) -> SequenceData<'_> {
        let values = match &self.values {
            Values::F32(v) => Numbers::F32(v),
            Values::F64(v) => Numbers::F64(v),
        };
        if self.spec.sparse {
            SequenceData::Sparse { bounds: &self.bounds, columns: &self.columns, values }
        } else {
            SequenceData::Dense { n_samples: self.n_samples, values }
        }
    }
}

/// Sorts the entries from `first` on by column, and adds up those of one column in their order.
fn sort<T: Copy + std::ops::AddAssign>(columns: &mut Vec<i32>, values: &mut Vec<T>, first: usize) {
    let mut pairs: Vec<(i32, T)> =
        columns[first..].iter().copied().zip(values[first..].iter().copied()).collect();
    pairs.sort_by_key(|&(column, _)| column);
    columns.truncate(first);
    values.truncate(first);
    for (column, value) in pairs {
        match (columns[first..].last(), values.last_mut()) {
            (Some(&last), Some(sum)) if last == column => *sum += value,
            _ => {
                columns.push(column);
                values.push(value);
            }
        }
    }
}

/// The way in which a floating-point type holds a decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// All digits that were written can be recovered.
    Exactly,
    /// The nearest number has other digits.
    Rounded,
    /// The nearest number is infinite.
    Beyond,
}

/// Digits that a decimal number may have, beyond which no number of either type has that many.
const MOST_DIGITS: usize = 800;

impl Held {
    /// The way in which `number`, the nearest to `text`, holds it. A text of up to `digits` digits is recovered if it
    /// is neither tiny nor huge.
    ///
    /// Most decimal numbers lie between two numbers of a type, so the digits that were written decide: `0.1` is
    /// recovered from both types with as many digits, and `16777217` is not in 32 bits. So every text that a program
    /// writes for a number of the type is held, however many digits it has.
    fn of(number: f64, text: &str, digits: u32) -> Held {
        let text = text.trim().trim_start_matches(['+', '-']);
        if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            // Infinite, or not a number.
            return Held::Exactly;
        }
        if number.is_infinite() {
            return Held::Beyond;
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = [whole, fraction].concat();
        let significant = written.trim_start_matches('0');
        let first = whole.len() as i64 - (written.len() - significant.len()) as i64 - 1;
        let significant = significant.trim_end_matches('0');
        if significant.is_empty()
            || significant.len() <= digits as usize && (1e-30..1e30).contains(&number.abs())
        {
            return Held::Exactly;
        }
        let Some(exponent) = exponent.parse::<i64>().ok().and_then(|exponent| exponent.checked_add(first))
        else {
            return Held::Rounded;
        };
        if significant.len() > MOST_DIGITS {
            return Held::Rounded;
        }
        let again = format!("{:.*e}", significant.len() - 1, number.abs());
        let same = again.split_once('e').is_some_and(|(mantissa, found)| {
            mantissa.bytes().filter(|&b| b != b'.').eq(significant.bytes()) && found.parse() == Ok(exponent)
        });
        if same { Held::Exactly } else { Held::Rounded }
    }
}

/// The stream `labels`.
pub(super) fn label_stream(name: &str, options: &TableOptions) -> StreamSpec {
    StreamSpec {
        name: name.into(),
        sparse: options.one_hot.is_some(),
        dim: Some(options.one_hot.unwrap_or(1)),
        element: options.element,
        classes: Arc::default(),
    }
}

/// Appends a label: a class, or a number.
pub(super) fn put_label(stream: &mut Stream, text: &str, row: &Row<'_>) -> Result<(), ConvertError> {
    let text = text.trim();
    let remedy = match text.parse::<f64>() {
        Err(_) if !text.is_empty() => "; classes are numbered from 0: write a number for each name",
        _ => "",
    };
    if stream.spec.sparse {
        let classes = stream.spec.dim.unwrap_or_default();
        // Classes are written as numbers of either kind: `3`, `3.0`.
        let class = text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && *x >= 0.0 && *x < classes as f64);
        let Some(class) = class else {
            return Err(row.error(format!(
                "the label is `{text}`, expected a class from 0 to {}{remedy}",
                classes.saturating_sub(1)
            )));
        };
        stream.pair(class as i32, Value::ONE);
    } else {
        let value = stream
            .number(text)
            .map_err(|what| row.error(format!("the label is `{text}`, {what}{remedy}")))?;
        stream.value(value);
    }
    stream.end_sample();
    Ok(())
}

/// Checks the options that all tables have in common.
pub(super) fn check(options: &TableOptions) -> Result<(), ConvertError> {
    if options.one_hot.is_some_and(|n| n == 0 || n > i32::MAX as u64) {
        return Err(ConvertError::Usage(format!("the number of classes must be from 1 to {}", i32::MAX)));
    }
    if options.one_hot.is_some() && options.label.is_none() {
        let what = "a number of classes (`--one-hot`) needs a label (`--label-column`)";
        return Err(ConvertError::Usage(what.into()));
    }
    Ok(())
}
