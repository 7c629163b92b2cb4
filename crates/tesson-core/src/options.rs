//! Options: values of configurations, matched with the table that a format declares.

mod describe;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::real_number::real;

use crate::{
    ConfigError, ConfigErrorKind, Expected, OptionDefault, OptionKind, OptionName, OptionSpec, OptionTable,
    Section, Value, Words, bytes, nearest,
};

pub use describe::{describe_from_table, split_type};

/// A section matched against its table: typed look-ups with errors that name the option's path.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    table: &'static OptionTable,
    section: &'a Section,
    path: String,
    entry: &'a str,
}

impl<'a> Options<'a> {
    /// Matches a section against a table.
    ///
    /// # Errors
    /// Names that the table does not hold, with the nearest one that it does.
    pub fn new(
        table: &'static OptionTable,
        section: &'a Section,
        path: impl Into<String>,
    ) -> Result<Options<'a>, ConfigError> {
        let path = path.into();
        for (name, _) in &section.0 {
            if table.find(name).is_none() {
                let nearest = nearest(name, table.names()).map(OptionName::from);
                let unknown = ConfigErrorKind::UnknownOption { name: name.to_string(), nearest };
                return Err(ConfigError::refused(path, &unknown).at(name.span().cloned()));
            }
        }
        Ok(Options { table, section, path, entry: "" })
    }

    /// The table.
    pub fn table(&self) -> &'static OptionTable {
        self.table
    }

    /// The name of this section among those of an option such as `input`; empty where it is not one of those.
    pub fn entry(&self) -> &'a str {
        self.entry
    }

    /// The path of an option of this section, for errors.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    fn spec(&self, name: &str) -> &'static OptionSpec {
        self.table.find(name).expect("formats ask for options of their own table")
    }

    /// The value that was written for an option, even `default` or the empty text.
    pub fn written(&self, name: &str) -> Option<&'a Value> {
        let spec = self.spec(name);
        spec.names().find_map(|n| self.section.get(n))
    }

    /// The value that was set for an option; `default` and the empty text count as missing.
    pub fn given(&self, name: &str) -> Option<&'a Value> {
        let spec = self.spec(name);
        self.written(name)
            .filter(|v| !matches!(v, Value::Text(t) if t == "default" || (t.is_empty() && spec.kind != OptionKind::Bool)))
    }

    /// The value that was set, or else the table's default as text; `None` if the option has no default.
    fn value(&self, name: &str) -> Result<Option<Value>, ConfigError> {
        match (self.given(name), self.spec(name).default) {
            (Some(v), _) => Ok(Some(v.clone())),
            (None, OptionDefault::Absent) => Ok(None),
            (None, OptionDefault::Value(d)) => Ok(Some(Value::Text(d.into()))),
            (None, OptionDefault::Required) => Err(self.missing(name)),
        }
    }

    /// The error of an option that is required and missing.
    pub fn missing(&self, name: &str) -> ConfigError {
        ConfigError::refused(self.path(name), &ConfigErrorKind::MissingOption { expected: "" })
    }

    /// The error of an option whose value is of another type.
    pub fn wrong_type(&self, name: &str, found: &Value, expected: impl Into<Expected>) -> ConfigError {
        ConfigError::wrong_type(self.path(name), found, expected)
    }

    fn unknown_word(&self, name: &str, found: &Value, words: &'static [&'static str]) -> ConfigError {
        ConfigError::unknown_word(self.path(name), found, Expected::OneOf(words))
    }

    /// The value that was set or is the default, parsed.
    fn parsed<T>(
        &self,
        name: &str,
        expected: impl Into<Expected>,
        parse: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        parse(&value).map(Some).ok_or_else(|| self.wrong_type(name, &value, expected))
    }

    /// A truth value; false if none is set and there is no default.
    ///
    /// # Errors
    /// The errors of [`Options::bool_if_given`].
    pub fn bool(&self, name: &str) -> Result<bool, ConfigError> {
        Ok(self.bool_if_given(name)?.unwrap_or(false))
    }

    /// A truth value, if it is set or has a default.
    ///
    /// # Errors
    /// Anything but the spellings of configurations: `t true T True TRUE 1`, `f false F False FALSE 0` and nothing.
    pub fn bool_if_given(&self, name: &str) -> Result<Option<bool>, ConfigError> {
        self.parsed(name, Expected::Truth, |value| match value {
            Value::Bool(b) => Some(*b),
            Value::Whole(1) => Some(true),
            Value::Whole(0) => Some(false),
            Value::Text(t) => match t.as_str() {
                "t" | "true" | "T" | "True" | "TRUE" | "1" => Some(true),
                "f" | "false" | "F" | "False" | "FALSE" | "0" | "" => Some(false),
                _ => None,
            },
            _ => None,
        })
    }

    /// The whole number of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::whole_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn whole(&self, name: &str) -> Result<u64, ConfigError> {
        Ok(present(name, self.whole_if_given(name)?))
    }

    /// A whole number, if it is set or has a default.
    ///
    /// # Errors
    /// Anything but a whole number from 0 below 2^64.
    pub fn whole_if_given(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        self.parsed(name, "a whole number from 0 to 2^64-1", |value| match value {
            Value::Whole(n) => u64::try_from(*n).ok(),
            Value::Real(x) if x.fract() == 0.0 && (0.0..1.8e19).contains(x) => Some(*x as u64),
            Value::Text(t) => t.strip_prefix('+').unwrap_or(t).parse().ok().filter(|_| !t.starts_with("++")),
            _ => None,
        })
    }

    /// The whole number of an option that is required or has a default, within limits.
    ///
    /// # Errors
    /// A value that [`Options::whole`] refuses, or a number outside the limits.
    ///
    /// # Panics
    /// If the option's table says that it may be absent, and it is.
    pub fn whole_within(&self, name: &str, limits: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        match self.whole(name)? {
            n if limits.contains(&n) => Ok(n),
            n => {
                let expected = format!("{} to {}", limits.start(), limits.end());
                Err(ConfigError::out_of_range(self.path(name), n.to_string(), expected))
            }
        }
    }

    /// The number of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::real_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn real(&self, name: &str) -> Result<f64, ConfigError> {
        Ok(present(name, self.real_if_given(name)?))
    }

    /// A real number, if it is set or has a default.
    ///
    /// # Errors
    /// Anything but a number.
    pub fn real_if_given(&self, name: &str) -> Result<Option<f64>, ConfigError> {
        self.parsed(name, "a number", number)
    }

    /// The share of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::real_if_given`], and numbers that are not from 0 to 1.
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn share(&self, name: &str) -> Result<f64, ConfigError> {
        match self.real(name)? {
            share @ 0.0..=1.0 => Ok(share),
            share => {
                Err(ConfigError::out_of_range(self.path(name), share.to_string(), "a share from 0 to 1"))
            }
        }
    }

    /// A size in bytes above 0, if it is set or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::text_if_given`], and texts that are no such size.
    pub fn bytes_if_given(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        let Some(text) = self.text_if_given(name)? else { return Ok(None) };
        match bytes::parse(&text) {
            Some(bytes) if bytes > 0 => Ok(Some(bytes)),
            _ => {
                let expected = "a size in bytes such as `2GiB` or `512MB`";
                Err(ConfigError::wrong_form(self.path(name), format!("`{text}`"), expected))
            }
        }
    }

    /// The whole number of either sign of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::integer_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn integer(&self, name: &str) -> Result<i64, ConfigError> {
        Ok(present(name, self.integer_if_given(name)?))
    }

    /// A whole number of either sign, if it is set or has a default.
    ///
    /// # Errors
    /// Anything but a whole number within 64 bits.
    pub fn integer_if_given(&self, name: &str) -> Result<Option<i64>, ConfigError> {
        self.parsed(name, "a whole number", |value| match value {
            Value::Whole(n) => i64::try_from(*n).ok(),
            Value::Text(t) => t.parse().ok(),
            _ => None,
        })
    }

    /// The items of a list, if it is set or has a default: of a list itself, or of a text with `:` between items,
    /// where `x*3` is `x` three times. Other values are lists of one.
    ///
    /// # Errors
    /// Repeat counts of 0, and lists of more than a million items.
    pub fn items_if_given(&self, name: &str) -> Result<Option<Vec<Value>>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let text = match value {
            Value::List(items) => return Ok(Some(items)),
            Value::Text(text) => text,
            other => return Ok(Some(vec![other])),
        };
        let mut items = Vec::new();
        for item in text.split(':') {
            let (item, count) = repeated(item.trim());
            if count == 0 || count > (MOST_ITEMS - items.len()) as u64 {
                let expected = format!("repeat counts from 1, {MOST_ITEMS} items at most");
                return Err(ConfigError::out_of_range(self.path(name), format!("`{text}`"), expected));
            }
            items.extend(std::iter::repeat_n(Value::Text(item.into()), count as usize));
        }
        Ok(Some(items))
    }

    /// The file names of an option of kind [`OptionKind::Files`], at least one.
    ///
    /// # Errors
    /// A required one that is missing, an empty list, and items that are no names.
    pub fn files(&self, name: &str) -> Result<Vec<PathBuf>, ConfigError> {
        let files = match self.value(name)? {
            Some(Value::List(files)) => files,
            Some(one) => vec![one],
            None => Vec::new(),
        };
        if files.is_empty() {
            return Err(ConfigError::nothing_given(self.path(name), "no file", "at least one"));
        }
        let file = |value: Value| match value {
            Value::Text(file) => Ok(PathBuf::from(file)),
            other => Err(self.wrong_type(name, &other, "a file name")),
        };
        files.into_iter().map(file).collect()
    }

    /// The numbers of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::numbers_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, ConfigError> {
        Ok(present(name, self.numbers_if_given(name)?))
    }

    /// The numbers of a list, if it is set or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::items_if_given`], and items that are not numbers.
    pub fn numbers_if_given(&self, name: &str) -> Result<Option<Vec<f64>>, ConfigError> {
        let Some(items) = self.items_if_given(name)? else { return Ok(None) };
        let number = |item| number(item).ok_or_else(|| self.wrong_type(name, item, "a number"));
        items.iter().map(number).collect::<Result<_, _>>().map(Some)
    }

    /// The text of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::text_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn text(&self, name: &str) -> Result<String, ConfigError> {
        Ok(present(name, self.text_if_given(name)?))
    }

    /// A text, if it is set or has a default. For an option with a list of words, the word as the table spells it.
    ///
    /// # Errors
    /// Sections and lists; words that are not in the table's list.
    pub fn text_if_given(&self, name: &str) -> Result<Option<String>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let text = match &value {
            Value::Text(t) => t.clone(),
            Value::Whole(n) => n.to_string(),
            Value::Real(x) => x.to_string(),
            Value::Bool(b) => b.to_string(),
            Value::List(_) | Value::Section(_) | Value::Code | Value::Object(_) => {
                return Err(self.wrong_type(name, &value, "a text"));
            }
        };
        match self.spec(name).kind {
            OptionKind::OneOf(words) => match words.iter().find(|w| w.eq_ignore_ascii_case(&text)) {
                Some(word) => Ok(Some((*word).to_string())),
                None => Err(self.unknown_word(name, &value, words)),
            },
            _ => Ok(Some(text)),
        }
    }

    /// The texts of a list, or one text as a list of one, if it is set or has a default.
    ///
    /// # Errors
    /// Items that are not texts.
    pub fn texts_if_given(&self, name: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let items = if let Value::List(items) = value { items } else { vec![value] };
        let text = |item: Value| match item {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong_type(name, &other, "a text")),
        };
        items.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// The meaning of the word of an option that is required or has a default.
    ///
    /// # Errors
    /// The errors of [`Options::word_if_given`].
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn word<T: Copy, const N: usize>(
        &self,
        name: &str,
        words: &'static Words<T, N>,
    ) -> Result<T, ConfigError> {
        Ok(present(name, self.word_if_given(name, words)?))
    }

    /// The meaning of a word, if it is set or has a default. `words` are those of the option's table.
    ///
    /// # Errors
    /// The errors of [`Options::text_if_given`].
    pub fn word_if_given<T: Copy, const N: usize>(
        &self,
        name: &str,
        words: &'static Words<T, N>,
    ) -> Result<Option<T>, ConfigError> {
        debug_assert_eq!(self.spec(name).kind, words.kind(), "`{name}` has other words in its table");
        Ok(self.text_if_given(name)?.and_then(|word| words.meaning(&word)))
    }

    /// The meanings of the words, at least one, of an option that is required or has a default. `words` are those of
    /// the option's table.
    ///
    /// # Errors
    /// The errors of [`Options::items_if_given`], an empty list, and words that are not in the table's list.
    ///
    /// # Panics
    /// If the option is absent, which its table allows.
    pub fn words<T: Copy, const N: usize>(
        &self,
        name: &str,
        words: &'static Words<T, N>,
    ) -> Result<Vec<T>, ConfigError> {
        debug_assert_eq!(self.spec(name).kind, words.kind_of_list(), "`{name}` has other words in its table");
        let items = present(name, self.items_if_given(name)?);
        let meaning = |item: &Value| match item {
            Value::Text(word) => {
                words.meaning(word).ok_or_else(|| self.unknown_word(name, item, words.listed()))
            }
            _ => Err(self.unknown_word(name, item, words.listed())),
        };
        if items.is_empty() {
            return Err(self.unknown_word(name, &Value::List(items), words.listed()));
        }
        items.iter().map(meaning).collect()
    }

    /// The object of this type that a program supplied.
    ///
    /// # Errors
    /// A missing value, any value that a file can hold, and objects of another type.
    pub fn object<T: std::any::Any>(&self, name: &str, expected: &'static str) -> Result<&'a T, ConfigError> {
        match self.given(name) {
            None => Err(self.missing(name)),
            Some(Value::Object(object)) if object.get::<T>().is_some() => {
                Ok(object.get().expect("looked at above"))
            }
            Some(other) => Err(self.wrong_type(name, other, expected)),
        }
    }

    /// The entries of a section of sections, each matched against the option's own table.
    ///
    /// # Errors
    /// Anything that is no section of sections, and unknown names in them.
    pub fn sections(&self, name: &str) -> Result<Vec<(&'a str, Options<'a>)>, ConfigError> {
        let (OptionKind::Sections(table) | OptionKind::Streams(table)) = self.spec(name).kind else {
            unreachable!("`{name}` is declared with another kind")
        };
        let entries = match self.given(name) {
            None => return Ok(Vec::new()),
            Some(Value::Section(s)) => &s.0,
            Some(other) => return Err(self.wrong_type(name, other, "a section")),
        };
        entries
            .iter()
            .map(|(entry, value)| {
                let path = format!("{}.{entry}", self.path(name));
                match value {
                    Value::Section(s) => {
                        Ok((entry.as_str(), Options { entry, ..Options::new(table, s, path)? }))
                    }
                    other => Err(ConfigError::wrong_type(path, other, "a section")),
                }
            })
            .collect()
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(n) => Some(*n as f64),
        Value::Real(x) => Some(*x),
        Value::Text(t) => real(t),
        _ => None,
    }
}

fn present<T>(name: &str, value: Option<T>) -> T {
    value.unwrap_or_else(|| panic!("`{name}` may be absent: it has to be read by the method `…_if_given`"))
}

/// The most items of a list: a few bytes of text must not request more than fits into memory.
const MOST_ITEMS: usize = 1_000_000;

/// An item and its number of repetitions: `x*3` is `x` three times.
pub fn repeated(item: &str) -> (&str, u64) {
    let counted = item.rsplit_once('*').and_then(|(item, count)| {
        let (item, count) = (item.trim_end(), count.trim());
        let is_count = !item.is_empty() && !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit());
        is_count.then(|| (item, count.parse().unwrap_or(u64::MAX)))
    });
    counted.unwrap_or((item, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    static STREAM: OptionTable =
        OptionTable(&[OptionSpec::required("dim", OptionKind::Whole, "Values in a sample.")]);
    static TABLE: OptionTable = OptionTable(&[
        OptionSpec::with_default("cacheIndex", OptionKind::Bool, "false", ""),
        OptionSpec::with_default("maxErrors", OptionKind::Whole, "0", ""),
        OptionSpec::with_default("precision", OptionKind::OneOf(&["float", "double"]), "float", ""),
        OptionSpec::optional("input", OptionKind::Sections(&STREAM), ""),
    ]);

    fn section(entries: &[(&str, Value)]) -> Section {
        entries.iter().map(|(n, v)| (*n, v.clone())).collect()
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest_known_one() {
        let s = section(&[("maxErors", Value::Whole(1))]);
        let e = Options::new(&TABLE, &s, "reader").expect_err("misspelt");
        assert_eq!(e.to_string(), "reader: unknown option `maxErors`, did you mean `maxErrors`?");
    }

    #[test]
    fn values_have_the_spellings_of_configurations() {
        let s = section(&[
            ("CACHEINDEX", Value::Text("True".into())),
            ("maxerrors", Value::Text("+007".into())),
            ("precision", Value::Text("Double".into())),
        ]);
        let o = Options::new(&TABLE, &s, "").unwrap();
        assert_eq!(o.bool("cacheIndex"), Ok(true));
        assert_eq!(o.whole("maxErrors"), Ok(7));
        assert_eq!(o.text("precision"), Ok("double".into()));
        let s = section(&[("cacheIndex", Value::Text("yes".into())), ("maxErrors", Value::Whole(-1))]);
        let o = Options::new(&TABLE, &s, "r").unwrap();
        assert_eq!(
            o.bool("cacheIndex").unwrap_err().to_string(),
            "r.cacheIndex: found `yes`, expected `true` or `false`"
        );
        assert!(
            o.whole("maxErrors").unwrap_err().to_string().contains("found `-1`, expected a whole number")
        );
    }

    #[test]
    fn a_missing_required_option_names_its_path() {
        let s = section(&[("input", Value::Section(section(&[("x", Value::Section(Section::default()))])))]);
        let o = Options::new(&TABLE, &s, "deserializers[0]").unwrap();
        let inputs = o.sections("input").unwrap();
        let e = inputs[0].1.whole("dim").unwrap_err();
        assert_eq!(e.to_string(), "deserializers[0].input.x.dim: required option is missing");
    }
}
