//! Tables of numbers with a delimiter between them.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::store::Store;
use tesson_core::{Key, number_of};
use tesson_formats::write::StreamSpec;
use tesson_tables::rows::Records;

use crate::ConvertError;
use crate::table::{
    Building, Row, TableOptions, Value, check, is_number, key_of, label_stream, put_label, sequences_of_rows,
};

type Record = Records<BufReader<Box<dyn Read + Send>>>;

/// The rows of a CSV file as sequences.
pub struct Csv {
    file: PathBuf,
    /// The next row, and whether there is one.
    record: Record,
    waiting: bool,
    n_columns: usize,
    /// The columns of each stream; with a label that is the first stream.
    columns: Vec<Vec<usize>>,
    label: bool,
    key: Option<usize>,
    numeric_keys: bool,
    building: Building,
}

impl Csv {
    /// Opens a file and looks at its first row.
    ///
    /// # Errors
    /// A file that cannot be read or has no rows, and columns that it does not have.
    pub fn open(store: &dyn Store, file: &Path, options: &TableOptions) -> Result<Csv, ConvertError> {
        check(options)?;
        let opened = store.stream(file).map_err(|e| ConvertError::file(file, e))?;
        let mut record = Records::new(BufReader::with_capacity(1 << 16, opened), options.delimiter);
        let mut waiting = advance(&mut record, file)?;
        let mut names = None;
        if options.header && waiting {
            names = Some(fields(&record).map(shown).collect::<Vec<_>>());
            waiting = advance(&mut record, file)?;
        }
        if !waiting {
            return Err(Row { file, line: 1 }.error("there is no row"));
        }
        let n_columns = names.as_ref().map_or(record.len(), Vec::len);
        let resolve = |name: &String| {
            let columns = crate::Columns(name.clone()).resolve(n_columns, names.as_deref())?;
            match columns[..] {
                [one] => Ok(one),
                _ => Err(ConvertError::Usage(format!(
                    "`{name}` names {} columns, expected one",
                    columns.len()
                ))),
            }
        };
        let label = options.label.as_ref().map(resolve).transpose()?;
        let key = options.key.as_ref().map(resolve).transpose()?;
        let (mut columns, mut specs) = (Vec::new(), Vec::new());
        if let Some(label) = label {
            columns.push(vec![label]);
            specs.push(label_stream("labels", options));
        }
        for stream in &options.streams {
            columns.push(stream.columns.resolve(n_columns, names.as_deref())?);
            specs.push(features(&stream.name, columns[columns.len() - 1].len(), options));
        }
        if options.streams.is_empty() {
            let rest: Vec<usize> = (0..n_columns).filter(|&c| Some(c) != label && Some(c) != key).collect();
            if !rest.is_empty() {
                specs.push(features("features", rest.len(), options));
                columns.push(rest);
            }
        }
        // One that is no text is refused where its row is read.
        let numeric_keys = key.and_then(|key| field(&record, key)).is_none_or(|k| is_number(&shown(k)));
        Ok(Csv {
            file: file.into(),
            record,
            waiting,
            n_columns,
            columns,
            label: label.is_some(),
            key,
            numeric_keys,
            building: Building::new(specs, options)?,
        })
    }

    fn line(&self) -> u64 {
        self.record.line() + 1
    }

    /// The key of the next row; `None` where each row is a sequence.
    fn key_here(&self) -> Result<Option<Key>, ConvertError> {
        let Some(key) = self.key else { return Ok(None) };
        let row = Row { file: &self.file, line: self.line() };
        let field = field(&self.record, key).ok_or_else(|| row.error("the key is missing"))?;
        let text = std::str::from_utf8(field).map_err(|_| {
            row.error(format!("the key `{}` is no UTF-8; write the file in UTF-8", field.escape_ascii()))
        })?;
        key_of(text.trim(), self.numeric_keys, &row).map(Some)
    }

    /// Appends the next row to the sequence, and reads the one after it.
    fn take_row(&mut self) -> Result<(), ConvertError> {
        let row = Row { file: &self.file, line: self.line() };
        if self.record.len() != self.n_columns {
            let what =
                format!("found {}, expected {}", number_of(self.record.len(), "field"), self.n_columns);
            return Err(row.error(what));
        }
        for (number, (stream, columns)) in self.building.streams.iter_mut().zip(&self.columns).enumerate() {
            if self.label && number == 0 {
                put_label(stream, &shown(self.record.field(columns[0])), &row)?;
                continue;
            }
            for (place, &column) in columns.iter().enumerate() {
                let field = self.record.field(column);
                // A field that is not UTF-8 is not a number.
                let value =
                    stream.number(std::str::from_utf8(field).unwrap_or_default()).map_err(|what| {
                        let hint = hint(&self.record, column, row.line);
                        row.error(format!("field {column} is `{}`, {what}{hint}", shown(field)))
                    })?;
                stream.at(place, value);
            }
            stream.end_sample();
        }
        self.waiting = advance(&mut self.record, &self.file)?;
        Ok(())
    }
}

/// A hint on a field that is not a number.
fn hint(record: &Record, column: usize, line: u64) -> String {
    let field = shown(record.field(column));
    let is_value = |part: &str| Value::parse(part).is_some();
    for (delimiter, name) in [(';', ";"), ('\t', "tab"), (',', ",")] {
        let parts = || field.split(delimiter);
        if parts().count() > 1 && parts().all(is_value) {
            return match delimiter {
                ',' => "; decimals are written with a point".into(),
                _ => format!("; name what separates the fields, `--delimiter '{name}'`"),
            };
        }
    }
    let is_header = line == 1 && fields(record).all(|field| !field.is_empty() && !is_value(&shown(field)));
    if is_header {
        "; if the first row has the names of the columns, add `--header`".into()
    } else {
        String::new()
    }
}

fn features(name: &str, n: usize, options: &TableOptions) -> StreamSpec {
    StreamSpec {
        name: name.into(),
        sparse: options.sparse,
        dim: Some(n as u64),
        element: options.element,
        classes: Arc::default(),
    }
}

/// A field as text, for messages and for the test whether it is a number or empty.
fn shown(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_owned()
}

/// The fields of a row.
fn fields(record: &Record) -> impl Iterator<Item = &[u8]> {
    (0..record.len()).map(|i| record.field(i))
}

/// A field of a row, if it has that many.
fn field(record: &Record, i: usize) -> Option<&[u8]> {
    (i < record.len()).then(|| record.field(i))
}

fn advance(record: &mut Record, file: &Path) -> Result<bool, ConvertError> {
    record.advance().map_err(|e| ConvertError::file(file, e))
}

sequences_of_rows!(Csv, |csv| csv.waiting, |csv| csv.record.end());
