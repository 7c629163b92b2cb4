//! JSON objects as protobuf writes them: names in camel or snake case, 64-bit numbers as strings, defaults left out.

use serde_json::{Map, Value};
use tesson_core::{ConfigError, nearest};

use super::super::dtype::DType;
use super::super::tree::{Coding, Dim};
use crate::json::field;
use crate::refusal::FeaturesRefusal;

/// The members of an object, and the path of the feature that it describes.
pub(super) struct Fields<'a> {
    members: &'a Map<String, Value>,
    path: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value, path: &'a str) -> Result<Fields<'a>, ConfigError> {
        match value {
            Value::Object(members) => Ok(Fields { members, path }),
            other => Err(ConfigError::refused(path, &FeaturesRefusal::NoObject { found: other.to_string() })),
        }
    }

    pub(super) fn error(&self, refusal: &FeaturesRefusal) -> ConfigError {
        ConfigError::refused(self.path, refusal)
    }

    fn wrong(&self, name: &str, found: &Value, expected: &'static str) -> ConfigError {
        let (name, found) = (name.to_owned(), found.to_string());
        self.error(&FeaturesRefusal::Field { name, found, expected })
    }

    /// A member by its name in camel case. `null` is as good as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        field(self.members, name)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, other, "a text")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, ConfigError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(name, other, "true or false")),
        }
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, ConfigError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let parsed = number(value).map(Some);
        parsed.ok_or_else(|| self.wrong(name, value, "a whole number"))
    }

    /// The type under `dtype`.
    pub(super) fn dtype(&self, default: Option<DType>) -> Result<DType, ConfigError> {
        match (self.text("dtype")?, default) {
            (Some(name), _) => {
                DType::from_name(name).ok_or_else(|| self.unknown("dtype", name, DType::names()))
            }
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.error(&FeaturesRefusal::NoType)),
        }
    }

    /// An error for a name that is none of these.
    pub(super) fn unknown(
        &self,
        what: &str,
        found: &str,
        known: impl Iterator<Item = &'static str>,
    ) -> ConfigError {
        let nearest = nearest(found, known).map(str::to_owned);
        let (what, found) = (what.to_owned(), found.to_owned());
        self.error(&FeaturesRefusal::UnknownWord { what, found, nearest })
    }

    /// The shape: a message with `dimensions` (none: a scalar), or a list as constructors take it. `None` if it is absent.
    pub(super) fn shape(&self) -> Result<Option<Vec<Dim>>, ConfigError> {
        let dims = match self.get("shape") {
            None => return Ok(None),
            Some(Value::Array(dims)) => dims,
            Some(message) => match Fields::of(message, self.path)?.get("dimensions") {
                None => return Ok(Some(Vec::new())),
                Some(Value::Array(dims)) => dims,
                Some(other) => {
                    return Err(self.wrong("dimensions", other, "a list"));
                }
            },
        };
        dims.iter().map(|d| self.dim(d)).collect::<Result<_, _>>().map(Some)
    }

    /// A dimension: −1 and `null` are unknown.
    pub(super) fn dim(&self, value: &Value) -> Result<Dim, ConfigError> {
        if value.is_null() {
            return Ok(None);
        }
        match number(value) {
            Some(-1) => Ok(None),
            Some(n) if n >= 0 => usize::try_from(n)
                .map(Some)
                .map_err(|e| self.error(&FeaturesRefusal::LargeDimension { what: e.to_string() })),
            _ => Err(self.error(&FeaturesRefusal::NoDimension { found: value.to_string() })),
        }
    }

    /// The coding of a tensor, under `encoding`, in upper or lower case.
    pub(super) fn coding(&self) -> Result<Coding, ConfigError> {
        let Some(encoding) = self.text("encoding")? else { return Ok(Coding::Plain) };
        match encoding.to_ascii_lowercase().as_str() {
            "" | "none" => Ok(Coding::Plain),
            "bytes" => Ok(Coding::Raw),
            "zlib" => Ok(Coding::Zlib),
            _ => Err(self.unknown("encoding", encoding, ["none", "bytes", "zlib"].into_iter())),
        }
    }
}

/// A whole number, written as one or as a text.
pub(super) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(n) => n.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
