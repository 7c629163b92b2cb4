//! TOML, the other spelling of JSON's trees.

use serde_json::Value as Json;
use tesson_core::{ConfigError, Section};
use toml::de::{DeTable, DeValue};

use crate::TextFault;
use crate::json;
use crate::name_spans::{Offsets, joined};

/// Parses a configuration in TOML.
///
/// # Errors
/// Text that is no TOML, with line and column (both from 1).
pub fn parse(text: &str) -> Result<Section, ConfigError> {
    let tree: Json = toml::from_str(text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start.min(text.len()));
        let before = &text.as_bytes()[..start];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let column = start - before.iter().rposition(|&b| b == b'\n').map_or(0, |feed| feed + 1) + 1;
        ConfigError::refused("", &TextFault::NotToml { line, column, what: e.message().to_owned() })
    })?;
    json::from_object(tree)
}

/// Parses a configuration like [`parse`] and records where names stand in the text of `file`.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_file(text: &str, file: &str) -> Result<Section, ConfigError> {
    let mut tree = parse(text)?;
    // What has been parsed once parses again.
    if let Ok(table) = DeTable::parse(text) {
        let mut offsets = Offsets::default();
        in_table(table.get_ref(), "", &mut offsets);
        offsets.put(&mut tree, text, file);
    }
    Ok(tree)
}

fn in_table(table: &DeTable<'_>, path: &str, found: &mut Offsets) {
    for (name, value) in table {
        let path = joined(path, name.get_ref());
        in_value(value.get_ref(), &path, found);
        found.insert(path, name.span().start);
    }
}

fn in_value(value: &DeValue<'_>, path: &str, found: &mut Offsets) {
    match value {
        DeValue::Table(table) => in_table(table, path, found),
        DeValue::Array(items) => {
            let all = items.iter().enumerate();
            all.for_each(|(i, item)| in_value(item.get_ref(), &format!("{path}[{i}]"), found));
        }
        _ => {}
    }
}

/// A tree as TOML.
///
/// # Errors
/// Values that TOML has no spelling for: lists with code in them.
pub fn print(section: &Section) -> Result<String, ConfigError> {
    let mut tree = json::section_to_json(section);
    drop_nulls(&mut tree);
    toml::to_string_pretty(&tree)
        .map_err(|e| ConfigError::refused("", &TextFault::NoToml { what: e.to_string() }))
}

/// TOML spells that nothing is given by not saying it.
fn drop_nulls(tree: &mut Json) {
    match tree {
        Json::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(drop_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_and_json_are_one_tree() {
        let text = "randomize = false\n[[deserializers]]\ntype = \"T\"\ndim = [1, 2.5]\n[deserializers.input.x]\ndim = 3\n";
        let tree = parse(text).unwrap();
        let same = r#"{"randomize": false,
            "deserializers": [{"type": "T", "dim": [1, 2.5], "input": {"x": {"dim": 3}}}]}"#;
        assert_eq!(tree, json::parse(same).unwrap());
        assert_eq!(parse(&print(&tree).unwrap()), Ok(tree));
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_place() {
        let e = parse("a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(e.starts_with("line 2, column 5: "), "{e}");
    }
}
