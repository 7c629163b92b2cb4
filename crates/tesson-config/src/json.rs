//! JSON text → the tree that all configurations lower from.

use serde_json::Value as Json;
use tesson_core::{ConfigError, Section, Value};

use crate::TextFault;
use crate::name_spans::{Offsets, joined};

/// Parses a configuration in JSON. Names keep the order they are written in; of equal names the later one wins.
/// `null` means that nothing was given.
///
/// # Errors
/// Text that is no JSON object, with line and column (both from 1).
pub fn parse(text: &str) -> Result<Section, ConfigError> {
    from_object(serde_json::from_str(text).map_err(|e| syntax_error(&e))?)
}

/// Parses a configuration like [`parse`] and records where names stand in the text of `file`.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_file(text: &str, file: &str) -> Result<Section, ConfigError> {
    let mut tree = parse(text)?;
    names(text).put(&mut tree, text, file);
    Ok(tree)
}

/// An object or a list around the place that has been reached.
struct Level {
    path: String,
    /// In a list the number of the item.
    item: Option<usize>,
    /// In an object the name of the entry.
    name: String,
}

impl Level {
    /// The path of what stands at the place.
    fn inner(&self) -> String {
        match self.item {
            Some(item) => format!("{}[{item}]", self.path),
            None => joined(&self.path, &self.name),
        }
    }
}

/// Where the names of a text stand that is known to be JSON.
fn names(text: &str) -> Offsets {
    let bytes = text.as_bytes();
    let (mut found, mut levels) = (Offsets::default(), Vec::<Level>::new());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            opening @ (b'{' | b'[') => {
                let path = levels.last().map_or(String::new(), Level::inner);
                levels.push(Level { path, item: (opening == b'[').then_some(0), name: String::new() });
            }
            b'}' | b']' => drop(levels.pop()),
            b',' => {
                if let Some(Level { item: Some(item), .. }) = levels.last_mut() {
                    *item += 1;
                }
            }
            b'"' => {
                let end = end_of_text(bytes, at);
                let is_name = bytes[end..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if let (true, Some(level), Ok(name)) =
                    (is_name, levels.last_mut(), serde_json::from_str(&text[at..end]))
                {
                    level.name = name;
                    found.insert(level.inner(), at);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Where a text in quotes ends.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The tree of a JSON object.
pub(crate) fn from_object(json: Json) -> Result<Section, ConfigError> {
    match json {
        Json::Object(entries) => section(entries, ""),
        other => Err(ConfigError::refused("", &TextFault::NoObject { found: kind(&other) })),
    }
}

/// The reader's section of a tree: the tree itself, or its entry `source` where it has one.
///
/// So that the request of a conformance case, and a file that holds more than the reader, can be read as they are.
pub fn source_section(tree: &Section) -> &Section {
    match tree.get("source") {
        Some(Value::Section(source)) => source,
        _ => tree,
    }
}

/// Any JSON value as a configuration's value; `None` for `null`.
///
/// # Errors
/// `null` within a list.
pub fn value(json: Json, path: &str) -> Result<Option<Value>, ConfigError> {
    Ok(Some(match json {
        Json::Null => return Ok(None),
        Json::Bool(b) => Value::Bool(b),
        Json::Number(n) => number(&n),
        Json::String(s) => Value::Text(s),
        Json::Array(items) => Value::List(list(items, path)?),
        Json::Object(entries) => Value::Section(section(entries, path)?),
    }))
}

fn number(n: &serde_json::Number) -> Value {
    match (n.as_i128(), n.as_f64()) {
        (Some(whole), _) => Value::Whole(whole),
        (None, real) => Value::Real(real.unwrap_or(f64::INFINITY)),
    }
}

fn list(items: Vec<Json>, path: &str) -> Result<Vec<Value>, ConfigError> {
    items
        .into_iter()
        .enumerate()
        .map(|(i, item)| {
            let path = format!("{path}[{i}]");
            value(item, &path)?.ok_or_else(|| ConfigError::refused(path, &TextFault::NullEntry))
        })
        .collect()
}

fn section(entries: serde_json::Map<String, Json>, path: &str) -> Result<Section, ConfigError> {
    let mut section = Section::default();
    for (name, json) in entries {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(value) = value(json, &path)? {
            section.push(name, value);
        }
    }
    Ok(section)
}

/// A value as JSON. Text in other languages, and what only a program can give, is `null`.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Whole(n) => match (u64::try_from(*n), i64::try_from(*n)) {
            (Ok(n), _) => n.into(),
            (_, Ok(n)) => n.into(),
            _ => (*n as f64).into(),
        },
        Value::Real(x) => (*x).into(),
        Value::Bool(b) => (*b).into(),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Section(section) => section_to_json(section),
        // Neither can be written down.
        Value::Code | Value::Object(_) => Json::Null,
    }
}

/// A section as a JSON object.
pub fn section_to_json(section: &Section) -> Json {
    section.0.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect()
}

fn syntax_error(e: &serde_json::Error) -> ConfigError {
    let text = e.to_string();
    let what = match text.split(" at line ").next().unwrap_or(&text) {
        "EOF while parsing a value" if e.column() == 0 => "the text is empty, expected an object `{…}`",
        "key must be a string" => "found no name, expected one in double quotes (or `}`)",
        "trailing comma" => "found a comma after the last entry, leave it out",
        "expected value" => {
            "expected a value: a text in double quotes, a number, `true`, `false`, `null`, `[…]` or `{…}`"
        }
        other => other,
    };
    let fault = TextFault::NotJson { line: e.line(), column: e.column(), what: what.to_owned() };
    ConfigError::refused("", &fault)
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "`null`",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(text: &str, name: &str) -> Option<Value> {
        parse(text).unwrap().get(name).cloned()
    }

    #[test]
    fn values_keep_their_types() {
        let text = r#"{"w": 18446744073709551615, "n": -1, "r": 0.5, "b": true, "t": "x", "l": [1, "2"]}"#;
        assert_eq!(get(text, "w"), Some(Value::Whole(u64::MAX.into())));
        assert_eq!(get(text, "n"), Some(Value::Whole(-1)));
        assert_eq!(get(text, "r"), Some(Value::Real(0.5)));
        assert_eq!(get(text, "b"), Some(Value::Bool(true)));
        assert_eq!(get(text, "t"), Some(Value::Text("x".into())));
        assert_eq!(get(text, "l"), Some(Value::List(vec![Value::Whole(1), Value::Text("2".into())])));
    }

    #[test]
    fn names_keep_their_order_and_the_later_of_two_wins() {
        let tree = parse(r#"{"z": 1, "a": {"y": 2, "b": 3}, "z": 4}"#).unwrap();
        let names: Vec<&str> = tree.0.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(tree.get("Z"), Some(&Value::Whole(4)));
    }

    #[test]
    fn null_means_that_nothing_was_given() {
        assert_eq!(get(r#"{"a": null}"#, "a"), None);
        let e = parse(r#"{"a": {"b": [1, null]}}"#).unwrap_err();
        assert_eq!(e.to_string(), "a.b[1]: found `null`, expected a value");
    }

    #[test]
    fn a_syntax_error_names_line_and_column() {
        let e = parse("{\n  \"a\": 1\n  \"b\": 2\n}").unwrap_err();
        assert_eq!(e.to_string(), "line 3, column 3: expected `,` or `}`");
        let e = parse("{\"a\": ").unwrap_err();
        assert_eq!(e.to_string(), "line 1, column 6: EOF while parsing a value");
        let e = parse("[1]").unwrap_err();
        assert_eq!(e.to_string(), "found a list, expected an object `{…}`");
    }

    #[test]
    fn names_know_where_they_stand_in_a_file() {
        let text = "{\"a\": {\"é\": \"\\\\\", \"b\": 1},\n \"l\": [[1, 2], {\"x\": \"y\\\":\"}],\n\t\"\\u006c2\" : [\"t\", {\"z\": 0}]}";
        let tree = parse_file(text, "f.json").unwrap();
        let place = |path: &str| tree.span_of(path).map(ToString::to_string).unwrap_or_default();
        assert_eq!(place("a.b"), "f.json:1:19");
        assert_eq!(place("l[1].x"), "f.json:2:17");
        assert_eq!(place("l2[1].z"), "f.json:3:21");
    }

    #[test]
    fn the_source_of_a_larger_file_is_found() {
        let tree = parse(r#"{"name": "x", "source": {"randomize": false}}"#).unwrap();
        assert_eq!(source_section(&tree).get("randomize"), Some(&Value::Bool(false)));
        let tree = parse(r#"{"randomize": true}"#).unwrap();
        assert_eq!(source_section(&tree).get("randomize"), Some(&Value::Bool(true)));
    }
}
