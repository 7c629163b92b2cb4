//! JSON lines: an object in each line, which is a sequence. If a field has the key, consecutive lines with the same
//! key are one sequence.
//!
//! | a field | is |
//! |---|---|
//! | `0.5` | a dense sample of one value |
//! | `[1, 2]` | a dense sample |
//! | `[[1, 2], [3, 4]]` | dense samples |
//! | `{"3": 0.5}` | a sparse sample: columns and values |
//! | `[{"3": 0.5}, {}]` | sparse samples |
//!
//! A field has the same form in all lines as in the first one. Objects without entries and empty lists fit any form:
//! they are empty sparse samples, or none.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tesson_core::store::Store;
use tesson_core::{Key, did_you_mean};
use tesson_formats::write::StreamSpec;

use crate::ConvertError;
use crate::json::{Json, Object};
use crate::table::{
    Building, Row, Stream, TableOptions, Value, check, is_number, key_of, label_stream, put_label,
    sequences_of_rows,
};

/// The lines of a file as sequences.
pub struct JsonLines {
    file: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    /// The next line, understood; `None` at the end.
    object: Option<Object>,
    text: String,
    line: u64,
    bytes: u64,
    /// The field of each stream.
    fields: Vec<String>,
    label: Option<String>,
    key: Option<String>,
    numeric_keys: bool,
    building: Building,
}

impl JsonLines {
    /// Opens a file and reads its first line.
    ///
    /// # Errors
    /// A file that cannot be read, has no line, or does not begin with an object that has the requested fields.
    pub fn open(store: &dyn Store, file: &Path, options: &TableOptions) -> Result<JsonLines, ConvertError> {
        check(options)?;
        let opened = store.stream(file).map_err(|e| ConvertError::file(file, e))?;
        let mut lines = JsonLines {
            file: file.into(),
            reader: BufReader::with_capacity(1 << 16, opened),
            object: None,
            text: String::new(),
            line: 0,
            bytes: 0,
            fields: Vec::new(),
            label: options.label.clone().filter(|_| options.one_hot.is_some()),
            key: options.key.clone(),
            numeric_keys: true,
            building: Building::new(Vec::new(), options)?,
        };
        lines.next_line()?;
        let row = Row { file, line: lines.line };
        let Some(first) = &lines.object else { return Err(row.error("there is no line")) };
        let chosen: Vec<(String, String)> = if options.streams.is_empty() {
            let fields = first.keys().filter(|field| Some(*field) != options.key.as_ref());
            fields.map(|field| (field.clone(), field.clone())).collect()
        } else {
            options.streams.iter().map(|s| (s.name.clone(), s.columns.0.clone())).collect()
        };
        let mut specs = Vec::new();
        for (name, field) in &chosen {
            let value = first.get(field).ok_or_else(|| missing(&row, field, first))?;
            specs.push(match &lines.label {
                Some(label) if label == field => label_stream(name, options),
                _ => spec(name, value, options, &row)?,
            });
        }
        if let Some(label) =
            lines.label.as_ref().filter(|label| chosen.iter().all(|(_, field)| field != *label))
        {
            return Err(if first.contains_key(label) {
                row.error(format!(
                    "no stream has the label `{label}`; add it to the streams, such as `--streams {label}={label}`"
                ))
            } else {
                missing(&row, label, first)
            });
        }
        if let Some(key) = &options.key {
            let value = first.get(key).ok_or_else(|| missing(&row, key, first))?;
            lines.numeric_keys = is_number(&plain(value));
        }
        lines.fields = chosen.into_iter().map(|(_, field)| field).collect();
        lines.building = Building::new(specs, options)?;
        Ok(lines)
    }

    fn next_line(&mut self) -> Result<(), ConvertError> {
        self.object = None;
        loop {
            self.text.clear();
            let n = self.reader.read_line(&mut self.text).map_err(|e| ConvertError::file(&self.file, e))?;
            if n == 0 {
                return Ok(());
            }
            self.bytes += n as u64;
            self.line += 1;
            if self.text.trim().is_empty() {
                continue;
            }
            let row = Row { file: &self.file, line: self.line };
            return match Json::parse(&self.text) {
                Ok(Json::Object(object)) => {
                    self.object = Some(object);
                    Ok(())
                }
                Ok(_) => Err(row.error("found no object, expected one such as `{\"x\": [1, 2]}`")),
                Err(e) => Err(row.error(format!("no valid JSON: {e}"))),
            };
        }
    }
}

fn missing(row: &Row<'_>, field: &str, object: &Object) -> ConvertError {
    let hint = did_you_mean(field, object.keys().map(String::as_str));
    row.error(format!("there is no field `{field}`{hint}"))
}

/// The specification of a stream, derived from its first value.
fn spec(name: &str, value: &Json, options: &TableOptions, row: &Row<'_>) -> Result<StreamSpec, ConvertError> {
    let (sparse, dim) = match value {
        Json::Number(_) => (false, Some(1)),
        Json::Object(_) => (true, options.dim),
        Json::List(items) => match items.first() {
            Some(Json::Number(_)) => (false, Some(items.len() as u64)),
            Some(Json::List(sample)) => (false, Some(sample.len() as u64)),
            Some(Json::Object(_)) => (true, options.dim),
            _ => return Err(row.error(format!("field `{name}` does not say what its samples are"))),
        },
        _ => return Err(row.error(format!("field `{name}` is {value}, expected numbers"))),
    };
    Ok(StreamSpec { name: name.into(), sparse, dim, element: options.element, classes: Arc::default() })
}

/// A value as it is written in the file, but texts without quotes.
fn plain(value: &Json) -> String {
    if let Json::Text(text) = value { text.clone() } else { value.to_string() }
}

fn is_sample(value: &Json) -> bool {
    matches!(value, Json::List(_) | Json::Object(_))
}

/// Appends all samples of a field.
fn put(stream: &mut Stream, value: &Json) -> Result<(), String> {
    match value {
        Json::List(items) if items.iter().any(is_sample) || items.is_empty() => {
            items.iter().try_for_each(|item| put_sample(stream, item))
        }
        one => put_sample(stream, one),
    }
}

fn put_sample(stream: &mut Stream, value: &Json) -> Result<(), String> {
    let dim = stream.spec.dim;
    match value {
        Json::Object(pairs) if stream.spec.sparse => {
            for (column, value) in pairs {
                let most = dim.unwrap_or(i32::MAX as u64);
                let Some(column) = column.parse().ok().filter(|&c: &u64| c < most) else {
                    return Err(format!(
                        "found column `{column}`, expected a number from 0 and below {most}"
                    ));
                };
                stream.pair(column as i32, number(stream, value)?);
            }
        }
        Json::List(values) if !stream.spec.sparse && dim == Some(values.len() as u64) => {
            values.iter().try_for_each(|value| {
                stream.value(number(stream, value)?);
                Ok::<(), String>(())
            })?;
        }
        Json::Number(_) if !stream.spec.sparse && dim == Some(1) => stream.value(number(stream, value)?),
        other if stream.spec.sparse => {
            return Err(format!("found {other}, expected an object of columns and values"));
        }
        Json::List(values) => {
            return Err(format!(
                "found {} values, the first line has {}",
                values.len(),
                dim.unwrap_or_default()
            ));
        }
        other => return Err(format!("found {other}, expected numbers")),
    }
    stream.end_sample();
    Ok(())
}

fn number(stream: &Stream, value: &Json) -> Result<Value, String> {
    stream.number(value.digits().unwrap_or_default()).map_err(|what| format!("found {value}, {what}"))
}

impl JsonLines {
    /// The key of the next line; `None` where each is a sequence.
    fn key_here(&self) -> Result<Option<Key>, ConvertError> {
        let (Some(key), Some(object)) = (&self.key, &self.object) else { return Ok(None) };
        let row = Row { file: &self.file, line: self.line };
        let value = object.get(key).ok_or_else(|| missing(&row, key, object))?;
        if !matches!(value, Json::Text(_) | Json::Number(_)) {
            return Err(row.error(format!("the key is {value}, expected a text or a number")));
        }
        key_of(&plain(value), self.numeric_keys, &row).map(Some)
    }

    /// Appends the samples of the next line, and reads the one after it.
    fn take_row(&mut self) -> Result<(), ConvertError> {
        let Some(object) = self.object.take() else { return Ok(()) };
        let row = Row { file: &self.file, line: self.line };
        for (stream, field) in self.building.streams.iter_mut().zip(&self.fields) {
            let value = object.get(field).ok_or_else(|| missing(&row, field, &object))?;
            if self.label.as_ref() == Some(field) {
                put_label(stream, &plain(value), &row)?;
            } else {
                put(stream, value).map_err(|what| row.error(format!("field `{field}`: {what}")))?;
            }
        }
        self.next_line()
    }
}

sequences_of_rows!(JsonLines, |lines| lines.object.is_some(), |lines| lines.bytes);
