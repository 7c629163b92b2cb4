//! Messages in protobuf's JSON form: names in camel or snake case, 64-bit integers as strings or numbers, defaults left
//! out (spec/tfds.md §1.2).

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use tesson_core::{DataError, Location};

use crate::fault::TfdsFault;

/// A message, and its location in the file.
#[derive(Clone, Debug)]
pub(crate) struct Message<'a> {
    file: &'a Arc<Path>,
    /// Names from the root to here, such as `splits[0]`.
    path: String,
    fields: &'a Map<String, Value>,
}

/// The JSON text of a file.
///
/// # Errors
/// Text that is no JSON object, with its line.
pub(crate) fn parse(file: &Arc<Path>, text: &[u8]) -> Result<Map<String, Value>, DataError> {
    let (fault, line) = match serde_json::from_slice(text) {
        Ok(Value::Object(fields)) => return Ok(fields),
        Ok(other) => {
            let found = kind(&other).to_owned();
            (TfdsFault::FieldKind { path: String::new(), found, expected: "an object" }, None)
        }
        Err(error) => (TfdsFault::NotJson { what: error.to_string() }, Some(error.line() as u64)),
    };
    Err(DataError::new(fault, Location { file: file.clone(), offset: 0, line }))
}

impl<'a> Message<'a> {
    /// The message that is a whole file.
    pub(crate) fn root(file: &'a Arc<Path>, fields: &'a Map<String, Value>) -> Message<'a> {
        Message { file, path: String::new(), fields }
    }

    /// All fields as they are written.
    pub(crate) fn fields(&self) -> &'a Map<String, Value> {
        self.fields
    }

    /// The field of a name in camel case, unless it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        field(self.fields, name)
    }

    /// A text; empty if absent.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, DataError> {
        let text = |v: &'a Value| v.as_str().ok_or_else(|| self.wrong(name, v, "text"));
        self.get(name).map_or(Ok(""), text)
    }

    /// A truth value; false if absent.
    pub(crate) fn truth(&self, name: &str) -> Result<bool, DataError> {
        let truth = |v: &Value| v.as_bool().ok_or_else(|| self.wrong(name, v, "true or false"));
        self.get(name).map_or(Ok(false), truth)
    }

    /// An integer; `None` if absent.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, DataError> {
        self.get(name).map(|v| self.as_integer(name, v)).transpose()
    }

    /// A list; empty if absent.
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value], DataError> {
        let list = |v: &'a Value| v.as_array().ok_or_else(|| self.wrong(name, v, "a list"));
        Ok(self.get(name).map(list).transpose()?.map_or(&[], |list| list))
    }

    /// A list of integers; empty if absent.
    pub(crate) fn integers(&self, name: &str) -> Result<Vec<i64>, DataError> {
        self.list(name)?.iter().map(|v| self.as_integer(name, v)).collect()
    }

    /// A list of texts; empty if absent.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, DataError> {
        let text = |v: &Value| v.as_str().map(str::to_owned).ok_or_else(|| self.wrong(name, v, "text"));
        self.list(name)?.iter().map(text).collect()
    }

    /// A message; `None` if absent.
    pub(crate) fn message(&self, name: &str) -> Result<Option<Message<'a>>, DataError> {
        self.get(name).map(|v| self.within(name, v)).transpose()
    }

    /// A list of messages; empty if absent.
    pub(crate) fn messages(&self, name: &str) -> Result<Vec<Message<'a>>, DataError> {
        let each = self.list(name)?.iter().enumerate();
        each.map(|(i, v)| self.within(&format!("{name}[{i}]"), v)).collect()
    }

    /// A value below this one, as a message.
    pub(crate) fn within(&self, name: &str, value: &'a Value) -> Result<Message<'a>, DataError> {
        let fields = value.as_object().ok_or_else(|| self.wrong(name, value, "an object"))?;
        Ok(Message { file: self.file, path: self.path_of(name), fields })
    }

    /// An error of a field.
    pub(crate) fn malformed(&self, name: &str, what: impl Into<String>) -> DataError {
        self.error(TfdsFault::Field { path: self.path_of(name), what: what.into() })
    }

    /// An error of the file.
    pub(crate) fn error(&self, fault: TfdsFault) -> DataError {
        DataError::new(fault, Location { file: self.file.clone(), offset: 0, line: None })
    }

    fn as_integer(&self, name: &str, value: &Value) -> Result<i64, DataError> {
        integer(value).ok_or_else(|| self.wrong(name, value, "an integer of 64 bits"))
    }

    fn wrong(&self, name: &str, found: &Value, expected: &'static str) -> DataError {
        let found = match found {
            Value::Array(_) | Value::Object(_) => kind(found).to_owned(),
            short => format!("`{short}`"),
        };
        self.error(TfdsFault::FieldKind { path: self.path_of(name), found, expected })
    }

    fn path_of(&self, name: &str) -> String {
        let dot = if self.path.is_empty() || name.is_empty() { "" } else { "." };
        format!("{}{dot}{name}", self.path)
    }
}

/// The field of a name in camel case, also if it is written in snake case, unless it is null.
pub(crate) fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| fields.get(&snake_case(name))).filter(|value| !value.is_null())
}

/// An integer in any of the forms that protobuf accepts: `5`, `"5"`, `5.0`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 9.0e15).then_some(x as i64);
    match value {
        Value::Number(n) => n.as_i64().or_else(|| whole(n.as_f64()?)),
        Value::String(s) => s.parse().ok().or_else(|| whole(s.parse().ok()?)),
        _ => None,
    }
}

/// An integer that may need an unsigned 64-bit type, as seeds do.
pub(crate) fn wide_integer(value: &Value) -> Option<i128> {
    integer(value).map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// `shardLengths` → `shard_lengths`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, read: impl Fn(&Message<'_>)) {
        let file: Arc<Path> = Path::new("dataset_info.json").into();
        let fields = parse(&file, text.as_bytes()).unwrap();
        read(&Message::root(&file, &fields));
    }

    #[test]
    fn names_have_two_spellings_and_integers_three() {
        check(r#"{"shard_lengths": ["3", 4, 5.0], "disableShuffling": true, "name": null}"#, |m| {
            assert_eq!(m.integers("shardLengths").unwrap(), [3, 4, 5]);
            assert!(m.truth("disableShuffling").unwrap());
            assert_eq!(m.text("name").unwrap(), "");
        });
    }

    #[test]
    fn a_value_of_another_kind_is_named_with_its_path() {
        check(r#"{"splits": [{"name": 5}]}"#, |m| {
            let split = m.messages("splits").unwrap().remove(0);
            let error = split.text("name").unwrap_err().to_string();
            assert_eq!(
                error,
                "dataset_info.json (byte 0): splits[0].name: found `5`, expected text; correct it, or prepare the dataset again"
            );
        });
        check(r#"{"n": "1.5", "m": [], "big": 9223372036854775808}"#, |m| {
            for name in ["n", "m", "big"] {
                assert!(m.integer(name).is_err(), "{name}");
            }
        });
    }

    #[test]
    fn text_that_is_no_object_is_refused_with_its_line() {
        let file: Arc<Path> = Path::new("f").into();
        assert_eq!(
            parse(&file, b"[]").unwrap_err().to_string(),
            "f (byte 0): found a list, expected an object; correct it, or prepare the dataset again"
        );
        assert_eq!(parse(&file, b"{\n\"a\": }").unwrap_err().at().line, Some(2));
    }
}
