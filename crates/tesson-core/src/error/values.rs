//! Values in the texts of configuration errors: what an option has, and what it may have.

use std::borrow::Cow;
use std::fmt;

use crate::{Truth, Value};

/// A value that an option has, as texts show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A truth value.
    Truth(bool),
    /// Any other: a text or a number in backticks, or a word for what cannot be shown.
    Shown(Cow<'static, str>),
}

impl From<&Value> for Found {
    fn from(value: &Value) -> Found {
        match value {
            Value::Bool(truth) => Found::Truth(*truth),
            other => Found::Shown(other.describe().into()),
        }
    }
}

impl From<&'static str> for Found {
    fn from(shown: &'static str) -> Found {
        Found::Shown(shown.into())
    }
}

impl From<String> for Found {
    fn from(shown: String) -> Found {
        Found::Shown(shown.into())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Truth(truth) => Truth(*truth).fmt(f),
            Found::Shown(shown) => f.write_str(shown),
        }
    }
}

/// The values that an option may have, as texts tell them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A truth value.
    Truth,
    /// A truth value, or what these words say.
    TruthOr(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The meaning of these words.
    Told(Cow<'static, str>),
}

impl From<&'static str> for Expected {
    fn from(told: &'static str) -> Expected {
        Expected::Told(told.into())
    }
}

impl From<String> for Expected {
    fn from(told: String) -> Expected {
        Expected::Told(told.into())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Truth => write!(f, "{} or {}", Truth(true), Truth(false)),
            Expected::TruthOr(other) => write!(f, "{}, {} or {other}", Truth(true), Truth(false)),
            Expected::OneOf(words) => words.iter().enumerate().try_for_each(|(i, &word)| {
                f.write_str(if i == 0 { "" } else { " or " })?;
                match word.parse() {
                    Ok(truth) => Truth(truth).fmt(f),
                    Err(_) => write!(f, "`{word}`"),
                }
            }),
            Expected::Told(told) => f.write_str(told),
        }
    }
}
