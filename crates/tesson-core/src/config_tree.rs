//! The tree of a configuration: named values that no option has converted to a type yet.

use crate::{ConfigSpan, Name, Object};

/// A value in a configuration that no option has converted to a type yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text, as written in a BrainScript file or a JSON string.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Real(f64),
    /// A truth value.
    Bool(bool),
    /// A list.
    List(Vec<Value>),
    /// A section.
    Section(Section),
    /// Text in another language, such as a network's, of which nothing is kept.
    Code,
    /// Something that only a program can put here.
    Object(Object),
}

impl Value {
    /// The value as a person would write it, for messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Text(t) => format!("`{t}`"),
            Value::Whole(n) => format!("`{n}`"),
            Value::Real(x) => format!("`{x}`"),
            Value::Bool(b) => format!("`{b}`"),
            Value::List(_) => "a list".into(),
            Value::Section(_) => "a section".into(),
            Value::Code => "code".into(),
            Value::Object(o) => format!("an object (`{}`)", o.name()),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<i32> for Value {
    fn from(whole: i32) -> Value {
        Value::Whole(whole.into())
    }
}

impl From<u64> for Value {
    fn from(whole: u64) -> Value {
        Value::Whole(whole.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<Section> for Value {
    fn from(section: Section) -> Value {
        Value::Section(section)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

/// Named values in the order they were written. Names are looked up without regard to case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section(pub Vec<(Name, Value)>);

impl Section {
    /// The last value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The last entry of this name.
    pub fn entry(&self, name: &str) -> Option<(&Name, &Value)> {
        self.0.iter().rev().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(n, v)| (n, v))
    }

    /// Adds an entry.
    pub fn push(&mut self, name: impl Into<Name>, value: Value) {
        self.0.push((name.into(), value));
    }

    /// The location of the option with a path such as `deserializers[0].input.x.dim`: that of the innermost section
    /// or option on the way there with a known location.
    pub fn span_of(&self, path: &str) -> Option<&ConfigSpan> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let (name, places) = first.split_once('[').unwrap_or((first, ""));
        let (name, mut value) = self.entry(name)?;
        for item in places.split('[') {
            let item = item.strip_suffix(']').and_then(|i| i.parse::<usize>().ok());
            if let (Value::List(items), Some(i)) = (value, item) {
                value = items.get(i)?;
            }
        }
        // For an option that exists its own location; for one that is missing in a section the section's beginning.
        let inner = match value {
            Value::Section(section) => section.span_of(rest).or(section.begins()),
            _ => None,
        };
        inner.or(name.span())
    }

    /// The beginning of the section in a text: its first entry with a known location there. An argument sets a single
    /// entry and has no location of the section.
    pub fn begins(&self) -> Option<&ConfigSpan> {
        self.0.iter().filter_map(|(name, _)| name.span()).find(|place| !place.is_argument())
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Section {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(entries: I) -> Section {
        Section(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}
