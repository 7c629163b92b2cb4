//! JSON whose numbers keep the digits that they are written with, which a parser that makes 64-bit numbers of them would change.

use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

/// Lists and objects within each other, at most.
const MOST_LEVELS: usize = 128;

/// Named values in the order in which they are written.
pub(crate) type Object = IndexMap<String, Json>;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// Its digits.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

impl Json {
    /// The value that a text is.
    ///
    /// # Errors
    /// Text that is no JSON, and an object with two values of one name, of which one would be lost.
    pub(crate) fn parse(text: &str) -> Result<Json, Error> {
        Json::of(serde_json::from_str(text)?, MOST_LEVELS)
    }

    fn of(raw: &RawValue, levels: usize) -> Result<Json, Error> {
        let text = raw.get();
        let inside =
            || levels.checked_sub(1).ok_or_else(|| Error::custom("lists and objects are nested too deep"));
        Ok(match text.as_bytes() {
            [b'{', ..] => {
                let (levels, mut object) = (inside()?, Object::new());
                let Pairs(pairs) = serde_json::from_str(text)?;
                for (name, value) in pairs {
                    match object.entry(name) {
                        Entry::Vacant(free) => drop(free.insert(Json::of(value, levels)?)),
                        Entry::Occupied(first) => {
                            let name = first.key();
                            let what = format!("two values of `{name}` in one object, expected one");
                            return Err(Error::custom(what));
                        }
                    }
                }
                Json::Object(object)
            }
            [b'[', ..] => {
                let (levels, items) = (inside()?, serde_json::from_str::<Vec<&RawValue>>(text)?);
                Json::List(items.into_iter().map(|item| Json::of(item, levels)).collect::<Result<_, _>>()?)
            }
            [b'"', ..] => Json::Text(serde_json::from_str(text)?),
            [b't' | b'f', ..] => Json::Bool(text == "true"),
            [b'n', ..] => Json::Null,
            _ => Json::Number(text.to_owned()),
        })
    }

    /// Its digits, of a number.
    pub(crate) fn digits(&self) -> Option<&str> {
        if let Json::Number(digits) = self { Some(digits) } else { None }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &str| serde_json::Value::from(text);
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => value.fmt(f),
            Json::Number(digits) => f.write_str(digits),
            Json::Text(value) => text(value).fmt(f),
            Json::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Json::Object(object) => {
                f.write_str("{")?;
                for (i, (name, value)) in object.iter().enumerate() {
                    write!(f, "{}{}:{value}", if i == 0 { "" } else { "," }, text(name))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// The pairs of an object, of which two may have one name.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Pairs<'de>, D::Error> {
        from.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_values_their_order() {
        for text in [
            r#"{"b":18446744073709551617,"a":[-0.10,1E+400,0],"c":{"\"":null}}"#,
            r#"[true,false,"é\n",[],{}]"#,
            "12345678901234567890123",
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Json::parse(" [ 1.0 , 2 ]\n").unwrap().to_string(), "[1.0,2]");
    }

    #[test]
    fn what_is_no_json_or_loses_a_value_is_refused() {
        let error = |text: &str| Json::parse(text).unwrap_err().to_string();
        assert_eq!(error(r#"{"x": [1, 2}"#), "expected `,` or `]` at line 1 column 12");
        assert_eq!(error(r#"[{"a": 1, "\u0061": 2}]"#), "two values of `a` in one object, expected one");
        for text in ["", "[1", "01", "+1", "nul", "truer", r#""\ud800""#, r#"{"a" 1}"#, "{1: 2}", "[1] 2"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Json::parse(&nested(MOST_LEVELS)).is_ok());
        for n in [MOST_LEVELS + 1, 1_000_000] {
            assert_eq!(error(&nested(n)), "lists and objects are nested too deep");
        }
    }
}
