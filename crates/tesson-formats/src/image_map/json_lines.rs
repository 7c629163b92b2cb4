//! Maps as JSON lines: an object in each line, whose fields are named as the columns of CSV.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::fault::ImageMapFault;
use super::line::Line;
use super::options::Columns;

/// A line, which is neither blank nor a comment.
pub(super) fn parse(
    line: &[u8],
    with_labels: bool,
    columns: &Columns,
) -> Result<Line<'static>, ImageMapFault> {
    let object: Map<String, Value> =
        serde_json::from_slice(line).map_err(|e| ImageMapFault::NotJson { what: without_line(&e) })?;
    let needed =
        |field: &str| text(&object, field)?.ok_or_else(|| ImageMapFault::NoField { field: field.into() });
    let path = needed(columns.path())?;
    let label = with_labels.then(|| needed(columns.label())).transpose()?;
    let key = match &columns.key {
        Some(given) => Some(needed(given)?),
        None => text(&object, Columns::KEY)?,
    };
    let bytes = |text: String| Cow::Owned(text.into_bytes());
    Line { key: key.map(bytes), path: bytes(path), label: label.map(bytes) }.complete()
}

/// The message of an error with its column: the caller knows the line better.
fn without_line(e: &serde_json::Error) -> String {
    let what = e.to_string();
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
    format!("{what} at column {}", e.column())
}

/// A field that is a text or a whole number, as text; `None` where it is absent or null.
fn text(object: &Map<String, Value>, field: &str) -> Result<Option<String>, ImageMapFault> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) if number.is_u64() || number.is_i64() => Ok(Some(number.to_string())),
        Some(other) => Err(ImageMapFault::FieldKind { field: field.into(), found: other.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_texts_or_whole_numbers() {
        let parsed = |line: &str| match parse(line.as_bytes(), true, &Columns::default()) {
            Ok(Line { key, path, label }) => {
                let text = |bytes: Cow<'_, [u8]>| String::from_utf8(bytes.into_owned()).expect("UTF-8");
                format!("{:?} {} {}", key.map(text), text(path), text(label.expect("labels are wanted")))
            }
            Err(fault) => tesson_core::ErrorCodes::code(&fault).to_owned(),
        };
        assert_eq!(parsed(r#"{"path": "a.jpg", "label": 3}"#), "None a.jpg 3");
        assert_eq!(
            parsed(r#"{"label": "cat", "key": 7, "path": "a.jpg", "x": []}"#),
            "Some(\"7\") a.jpg cat"
        );
        assert_eq!(parsed(r#"{"path": "a.jpg", "label": null}"#), "image-map.no-field");
        assert_eq!(parsed(r#"{"label": 3}"#), "image-map.no-field");
        assert_eq!(parsed(r#"{"path": "", "label": 3}"#), "image-map.empty-path");
        assert_eq!(parsed(r#"{"path": "a.jpg", "label": 1.5}"#), "image-map.field-kind");
        assert_eq!(parsed("[1]"), "image-map.not-json");
        assert_eq!(parsed(&"[".repeat(1000)), "image-map.not-json", "no deeper than the parser allows");
    }
}
