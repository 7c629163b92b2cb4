//! Delimiter, names and types, from the options and the first rows.

use tesson_core::{Element, Error, Shape};
use tesson_formats::packed::Packing;

use super::options::delimiter_name;
use super::records::Records;
use crate::fault::TableFault;
use crate::options::TableOptions;
use crate::table::{Field, FieldKind, FileBytes};
use crate::text::{Guess, MOST_ROW_BYTES, SAMPLE_BYTES, long_row, parse_scalar, refuse_other_encodings};

/// Delimiters that are looked for, the first one is that of a single column.
const DELIMITERS: [u8; 4] = *b",\t;|";

/// Rows that types are guessed from, at most.
const SAMPLE_ROWS: usize = 10_000;

/// The structure of a file, from its beginning.
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) fields: Vec<Field>,
    /// Where the first row begins that is no header, and the line of it.
    pub(super) data: (u64, u64),
}

impl Dialect {
    /// Looks at the beginning of a file.
    ///
    /// # Errors
    /// A file without rows, and one that is no text.
    pub(super) fn read(file: FileBytes<'_>, options: &TableOptions) -> Result<Dialect, Error> {
        let size = file.size()?;
        let (mut wanted, mut bytes) = (SAMPLE_BYTES, Vec::new());
        let (mark, whole) = loop {
            file.read_over(0..size.min(wanted), &mut bytes)?;
            let mark = refuse_other_encodings(&bytes, file)?;
            let is_all = wanted >= size;
            // The last row may go on after these bytes, and the first one, too.
            let whole = if is_all { bytes.len() } else { complete(&bytes[mark as usize..]) + mark as usize };
            if is_all || whole > mark as usize {
                break (mark as usize, whole);
            }
            if wanted >= MOST_ROW_BYTES {
                return Err(long_row(file, mark, 0));
            }
            wanted *= 8;
        };
        let sample = &bytes[mark..whole];
        let name = file.path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let is_tsv = name.is_some_and(|name| Packing::stem(&name).ends_with(".tsv"));
        let delimiter = match options.csv.delimiter {
            Some(delimiter) => delimiter,
            None if is_tsv => b'\t',
            None => delimiter_of(sample),
        };
        let mut records = Records::new(sample, delimiter);
        if !records.next_row() {
            return Err(file.error(TableFault::NoFirstRow, size));
        }
        let first: Vec<String> =
            (0..records.len()).map(|i| String::from_utf8_lossy(records.field(i)).trim().to_owned()).collect();
        let has_header = options.csv.header.unwrap_or_else(|| first.iter().all(|name| is_name(name)));
        let data = if has_header {
            (mark + records.end() as usize, records.lines())
        } else {
            (mark + records.start() as usize, records.line())
        };
        let n = first.len();
        let names = match (&options.csv.names, has_header) {
            (Some(names), _) if names.len() == n => names.clone(),
            (Some(names), _) => {
                return Err(
                    file.error(TableFault::FieldCount { found: n, expected: names.len() }, mark as u64)
                );
            }
            (None, true) => first,
            (None, false) => (1..=n).map(|number| format!("column_{number}")).collect(),
        };
        let mut guesses = vec![Guess::default(); n];
        let mut records = Records::new(&sample[data.0 - mark..], delimiter);
        let mut rows = 0;
        while rows < SAMPLE_ROWS && records.next_row() {
            rows += 1;
            // Rows of other lengths are faults where they are read.
            for (i, guess) in guesses.iter_mut().enumerate().take(records.len()) {
                let field = records.field(i);
                match std::str::from_utf8(field) {
                    Ok(text) if is_missing(text) => guess.see_missing(),
                    Ok(text) => guess.see(parse_scalar(text)),
                    Err(_) => guess.see(parse_scalar("text in another encoding")),
                }
            }
        }
        let declared: Vec<Option<Element>> = names.iter().map(|name| options.declared(name)).collect();
        let field = |((name, guess), declared): ((&String, Guess), &Option<Element>)| {
            let element = declared.or_else(|| guess.element(options.nulls)).unwrap_or(Element::Text);
            Field::new(name, FieldKind::Flat(element, Shape::new([])))
        };
        let fields: Vec<Field> = names.iter().zip(guesses).zip(&declared).map(field).collect();
        let shown: Vec<String> =
            fields.iter().map(|field| format!("`{}` {}", field.name, field.kind.name())).collect();
        tracing::info!(
            "{}: delimiter `{}`, {}, columns {}{}",
            file.path.display(),
            delimiter_name(delimiter),
            if has_header { "a header" } else { "no header" },
            shown.join(", "),
            if declared.iter().all(Option::is_some) {
                String::new()
            } else {
                format!("; types from the first {rows} rows")
            },
        );
        Ok(Dialect { delimiter, fields, data: (data.0 as u64, data.1) })
    }
}

/// True for what stands for no value in a column of numbers.
pub(super) fn is_missing(text: &str) -> bool {
    matches!(text.trim_ascii(), "" | "NA" | "N/A" | "null" | "NULL" | "None")
}

/// True if a field of a first row may be the name of a column.
fn is_name(field: &str) -> bool {
    !is_missing(field) && matches!(parse_scalar(field), crate::text::Scalar::Text(_))
}

/// Bytes up to the end of the last line.
fn complete(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
}

/// The delimiter that gives most rows equally many fields, of several.
fn delimiter_of(sample: &[u8]) -> u8 {
    let score = |delimiter: u8| {
        let mut records = Records::new(sample, delimiter);
        let (mut expected, mut equal) = (0, 0);
        for _ in 0..100 {
            if !records.next_row() {
                break;
            }
            if expected == 0 {
                expected = records.len();
            }
            equal += usize::from(records.len() == expected);
        }
        if expected > 1 { equal * 1000 + expected.min(999) } else { 0 }
    };
    // Of equal ones the first.
    let best = DELIMITERS.into_iter().rev().max_by_key(|&delimiter| score(delimiter));
    best.unwrap_or(DELIMITERS[0])
}
