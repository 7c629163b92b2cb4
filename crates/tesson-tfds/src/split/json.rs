//! Splits as JSON: strings, and objects for the forms that are objects in Python, too.

use serde_json::{Value, json};
use tesson_core::ConfigError;

use super::{Bound, Range, ReadInstruction, Rounding, Selection, Unit, wrong};
use crate::refusal::SplitRefusal;

pub(super) fn selection(value: &Value) -> Result<Selection, ConfigError> {
    if let Some(text) = value.as_str() {
        return Selection::parse(text);
    }
    let entry = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.iter().next());
    match entry.map(|(name, value)| (name.as_str(), value)) {
        Some(("read_instruction", fields)) => read_instruction(fields).map(Selection::Part),
        Some(("even_splits", fields)) => even_splits(fields),
        Some(("add", Value::Array(parts))) => {
            Ok(Selection::Sum(parts.iter().map(selection).collect::<Result<_, _>>()?))
        }
        _ => Err(wrong(&SplitRefusal::Form { found: value.to_string() })),
    }
}

/// The JSON form of a selection.
pub(super) fn described(selection: &Selection) -> Value {
    match selection {
        Selection::All => json!("all"),
        Selection::Part(part) => {
            let (from, to, unit, rounding) = match part.range {
                Range::Examples(from, to) => (json!(from), json!(to), "abs", Rounding::Closest),
                Range::Shards(from, to) => (json!(from), json!(to), "shard", Rounding::Closest),
                Range::Percent(from, to, rounding) => (json!(from), json!(to), "%", rounding),
            };
            let rounding = match rounding {
                Rounding::Closest => "closest",
                Rounding::DropRemainder => "pct1_dropremainder",
            };
            json!({"read_instruction": {
                "split_name": part.split, "from": from, "to": to, "unit": unit, "rounding": rounding,
            }})
        }
        Selection::Sum(parts) => json!({"add": parts.iter().map(described).collect::<Vec<_>>()}),
        Selection::Even { of, n, index, drop_remainder } => json!({"even_splits": {
            "split": described(of), "n": n, "index": index, "drop_remainder": drop_remainder,
        }}),
    }
}

fn read_instruction(fields: &Value) -> Result<ReadInstruction, ConfigError> {
    let unit = match text(fields, "unit")? {
        None | Some("abs") => Unit::Examples,
        Some("%") => Unit::Percent,
        Some("shard") => Unit::Shards,
        Some(other) => return Err(word("unit", other, "abs, %, shard")),
    };
    let rounding = match text(fields, "rounding")? {
        None | Some("closest") => Rounding::Closest,
        Some("pct1_dropremainder") => Rounding::DropRemainder,
        Some(other) => return Err(word("rounding", other, "closest, pct1_dropremainder")),
    };
    let name =
        text(fields, "split_name")?.ok_or_else(|| wrong(&SplitRefusal::Missing { field: "`split_name`" }))?;
    let (from, to) = (bound(fields, "from")?, bound(fields, "to")?);
    ReadInstruction::new(name, from, to, unit, rounding).map_err(|refusal| wrong(&refusal))
}

fn even_splits(fields: &Value) -> Result<Selection, ConfigError> {
    let missing = || wrong(&SplitRefusal::MissingInShares);
    let of = selection(fields.get("split").ok_or_else(missing)?)?;
    let number = |name: &str| {
        let found = fields.get(name).and_then(Value::as_u64);
        found.ok_or_else(|| wrong(&SplitRefusal::ShareCount { field: name.to_owned() }))
    };
    let (n, index) = (number("n")?, number("index")?);
    let drop_remainder = fields.get("drop_remainder").and_then(Value::as_bool).unwrap_or(false);
    if index >= n {
        return Err(wrong(&SplitRefusal::NoShare { index, n }));
    }
    Ok(Selection::Even { of: Box::new(of), n, index, drop_remainder })
}

fn word(what: &'static str, found: &str, known: &'static str) -> ConfigError {
    wrong(&SplitRefusal::Word { what, found: found.to_owned(), known })
}

fn field(name: &str, found: &Value, expected: &'static str) -> ConfigError {
    wrong(&SplitRefusal::Field { field: name.to_owned(), found: found.to_string(), expected })
}

fn text<'a>(fields: &'a Value, name: &str) -> Result<Option<&'a str>, ConfigError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(field(name, other, "text")),
    }
}

fn bound(fields: &Value, name: &str) -> Result<Option<Bound>, ConfigError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            let count = number.as_i64().or_else(|| number.as_u64().map(|_| i64::MAX)).map(Bound::Count);
            Ok(count.or_else(|| number.as_f64().map(Bound::Percent)))
        }
        Some(other) => Err(field(name, other, "a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_string_stands_for_is_read_back() {
        for text in ["train", "all", "a[:10]", "a[-5%:]", "a[2shard]", "a[10%:20%]+b"] {
            let selection = Selection::parse(text).expect("it is a split");
            assert_eq!(super::selection(&described(&selection)), Ok(selection), "{text}");
        }
    }
}
