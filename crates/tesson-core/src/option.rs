//! Options: tables that formats declare, values that configurations give, and the match between them.

use std::path::PathBuf;

use crate::number::real;
use crate::{ConfigError, Name, Object, Place, did_you_mean};

/// A value in a configuration, before any option has asked for a type.
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

    /// Where the option of a path such as `deserializers[0].input.x.dim` stands: the innermost section or option on the way
    /// there whose place is known.
    pub fn place_of(&self, path: &str) -> Option<&Place> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let (name, places) = first.split_once('[').unwrap_or((first, ""));
        let (name, mut value) = self.entry(name)?;
        for item in places.split('[') {
            let item = item.strip_suffix(']').and_then(|i| i.parse::<usize>().ok());
            if let (Value::List(items), Some(i)) = (value, item) {
                value = items.get(i)?;
            }
        }
        // Of an option itself its own place; of what is missing in a section the section's beginning.
        let inner = match value {
            Value::Section(section) => section.place_of(rest).or(section.begins()),
            _ => None,
        };
        inner.or(name.place())
    }

    /// Where the section begins in a text: at its first entry whose place there is known. An argument sets one entry, and
    /// says nothing of the section.
    pub fn begins(&self) -> Option<&Place> {
        self.0.iter().filter_map(|(name, _)| name.place()).find(|place| !place.is_argument())
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Section {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(entries: I) -> Section {
        Section(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true`, `false` and their spellings.
    Bool,
    /// A whole number from 0.
    Whole,
    /// A whole number, also one below 0.
    Integer,
    /// A real number.
    Real,
    /// One or several numbers, as a list or with `:` between them.
    Numbers,
    /// Any text.
    Text,
    /// A file name.
    Path,
    /// A file name, or a list of them; a name may be a pattern for whoever opens files.
    Files,
    /// Several file names as a list or with `:` between them, or one file that lists them.
    Paths,
    /// Accepted whatever it is, and read by nobody.
    Unused,
    /// A size in bytes: a whole number, or a text with a unit such as `512MB` or `2GiB`.
    Bytes,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// A section with its own table for each entry, such as `input`.
    Sections(&'static OptionTable),
    /// The same, where an entry takes what it does not say from the sections around it.
    Streams(&'static OptionTable),
    /// A list of sections, each with the table of the transform that its `type` names.
    Transforms,
    /// A list of sections, each with the table of the format that its `type` names.
    Formats,
    /// Something that only a program can give, not a file.
    Object,
}

/// One option: what manuals, parsers, `--help` and stubs say of it.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// The name in configurations; Python's is the same in snake case.
    pub name: &'static str,
    /// Other spellings that are accepted.
    pub aliases: &'static [&'static str],
    /// Its type.
    pub kind: OptionKind,
    /// The default as text; `None`: the option is required; `Some("")`: absent.
    pub default: Option<&'static str>,
    /// One sentence.
    pub help: &'static str,
}

/// The options of a deserializer, transform or section.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionTable(pub &'static [OptionSpec]);

impl OptionTable {
    /// The option of this name or alias, in any case.
    pub fn find(&self, name: &str) -> Option<&'static OptionSpec> {
        self.0.iter().find(|o| {
            o.name.eq_ignore_ascii_case(name) || o.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
        })
    }

    /// Names of options, for "did you mean".
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|o| o.name)
    }
}

/// A section matched against its table: typed look-ups with errors that name the option's path.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    table: &'static OptionTable,
    section: &'a Section,
    path: String,
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
                let what = format!("unknown option `{name}`{}", did_you_mean(name, table.names()));
                return Err(ConfigError::new(path, what).at(name.place().cloned()));
            }
        }
        Ok(Options { table, section, path })
    }

    /// The table.
    pub fn table(&self) -> &'static OptionTable {
        self.table
    }

    /// The path of an option of this section, for errors.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    fn spec(&self, name: &str) -> &'static OptionSpec {
        self.table.find(name).expect("formats ask for options of their own table")
    }

    /// What was written for an option, be it `default` or the empty text.
    pub fn written(&self, name: &str) -> Option<&'a Value> {
        let spec = self.spec(name);
        std::iter::once(spec.name).chain(spec.aliases.iter().copied()).find_map(|n| self.section.get(n))
    }

    /// What was given for an option; `default` and the empty text mean that nothing was.
    pub fn given(&self, name: &str) -> Option<&'a Value> {
        let spec = self.spec(name);
        self.written(name)
            .filter(|v| !matches!(v, Value::Text(t) if t == "default" || (t.is_empty() && spec.kind != OptionKind::Bool)))
    }

    /// The value given, else the table's default as text, else `None` where the default is absence.
    fn value(&self, name: &str) -> Result<Option<Value>, ConfigError> {
        match (self.given(name), self.spec(name).default) {
            (Some(v), _) => Ok(Some(v.clone())),
            (None, Some("")) => Ok(None),
            (None, Some(d)) => Ok(Some(Value::Text(d.into()))),
            (None, None) => Err(ConfigError::new(self.path(name), "required option is missing")),
        }
    }

    fn wrong(&self, name: &str, found: &Value, expected: &str) -> ConfigError {
        ConfigError::new(self.path(name), format!("found {}, expected {expected}", found.describe()))
    }

    /// A truth value.
    ///
    /// # Errors
    /// Anything but the spellings of configurations: `t true T True TRUE 1`, `f false F False FALSE 0` and nothing.
    pub fn bool(&self, name: &str) -> Result<bool, ConfigError> {
        let value = self.value(name)?.unwrap_or(Value::Bool(false));
        match &value {
            Value::Bool(b) => Ok(*b),
            Value::Whole(1) => Ok(true),
            Value::Whole(0) => Ok(false),
            Value::Text(t) => match t.as_str() {
                "t" | "true" | "T" | "True" | "TRUE" | "1" => Ok(true),
                "f" | "false" | "F" | "False" | "FALSE" | "0" | "" => Ok(false),
                _ => Err(self.wrong(name, &value, "`true` or `false`")),
            },
            _ => Err(self.wrong(name, &value, "`true` or `false`")),
        }
    }

    /// A whole number, if given or defaulted.
    ///
    /// # Errors
    /// Anything that is no whole number from 0 below 2^64.
    pub fn whole(&self, name: &str) -> Result<Option<u64>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let expected = "a whole number from 0 to 2^64-1";
        let number = match &value {
            Value::Whole(n) => u64::try_from(*n).ok(),
            Value::Real(x) if x.fract() == 0.0 && (0.0..1.8e19).contains(x) => Some(*x as u64),
            Value::Text(t) => t.strip_prefix('+').unwrap_or(t).parse().ok().filter(|_| !t.starts_with("++")),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, expected))
    }

    /// A real number, if given or defaulted.
    ///
    /// # Errors
    /// Anything that is no number.
    pub fn real(&self, name: &str) -> Result<Option<f64>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let number = match &value {
            Value::Whole(n) => Some(*n as f64),
            Value::Real(x) => Some(*x),
            Value::Text(t) => real(t),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, "a number"))
    }

    /// A whole number of either sign, if given or defaulted.
    ///
    /// # Errors
    /// Anything that is no whole number within 64 bits.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let number = match &value {
            Value::Whole(n) => i64::try_from(*n).ok(),
            Value::Text(t) => t.parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, "a whole number"))
    }

    /// The items of a list, if given or defaulted: of a list itself, or of a text with `:` between them, where `x*3` is
    /// `x` three times. Other values are lists of one.
    ///
    /// # Errors
    /// Repeat counts of 0, and lists of more than a million items.
    pub fn items(&self, name: &str) -> Result<Option<Vec<Value>>, ConfigError> {
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
                let what =
                    format!("found `{text}`, expected repeat counts from 1, {MOST_ITEMS} items at most");
                return Err(ConfigError::new(self.path(name), what));
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
            return Err(ConfigError::new(self.path(name), "found no file, expected at least one"));
        }
        let file = |value: Value| match value {
            Value::Text(file) => Ok(PathBuf::from(file)),
            other => Err(self.wrong(name, &other, "a file name")),
        };
        files.into_iter().map(file).collect()
    }

    /// The numbers of a list, if given or defaulted.
    ///
    /// # Errors
    /// As [`Options::items`], and items that are no numbers.
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, ConfigError> {
        let Some(items) = self.items(name)? else { return Ok(None) };
        let number = |item: Value| match item {
            Value::Whole(n) => Ok(n as f64),
            Value::Real(x) => Ok(x),
            Value::Text(ref t) => real(t).ok_or_else(|| self.wrong(name, &item, "a number")),
            other => Err(self.wrong(name, &other, "a number")),
        };
        items.into_iter().map(number).collect::<Result<_, _>>().map(Some)
    }

    /// A text, if given or defaulted. For an option with a list of words, the word as the table spells it.
    ///
    /// # Errors
    /// Sections and lists; words that are not in the table's list.
    pub fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        let Some(value) = self.value(name)? else { return Ok(None) };
        let text = match &value {
            Value::Text(t) => t.clone(),
            Value::Whole(n) => n.to_string(),
            Value::Real(x) => x.to_string(),
            Value::Bool(b) => b.to_string(),
            Value::List(_) | Value::Section(_) | Value::Code | Value::Object(_) => {
                return Err(self.wrong(name, &value, "a text"));
            }
        };
        match self.spec(name).kind {
            OptionKind::OneOf(words) => match words.iter().find(|w| w.eq_ignore_ascii_case(&text)) {
                Some(word) => Ok(Some((*word).to_string())),
                None => {
                    let listed: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
                    Err(self.wrong(name, &value, &listed.join(" or ")))
                }
            },
            _ => Ok(Some(text)),
        }
    }

    /// What a program gave, wrapped as this type.
    ///
    /// # Errors
    /// Nothing, anything that a file can hold, and objects of another type.
    pub fn object<T: std::any::Any>(&self, name: &str, expected: &str) -> Result<&'a T, ConfigError> {
        match self.given(name) {
            None => Err(ConfigError::new(self.path(name), "required option is missing")),
            Some(Value::Object(object)) if object.get::<T>().is_some() => {
                Ok(object.get().expect("looked at above"))
            }
            Some(other) => Err(self.wrong(name, other, expected)),
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
            Some(other) => return Err(self.wrong(name, other, "a section")),
        };
        entries
            .iter()
            .map(|(entry, value)| {
                let path = format!("{}.{entry}", self.path(name));
                match value {
                    Value::Section(s) => Ok((entry.as_str(), Options::new(table, s, path)?)),
                    other => {
                        Err(ConfigError::new(path, format!("found {}, expected a section", other.describe())))
                    }
                }
            })
            .collect()
    }
}

/// Items that a list may have: what a few bytes of text can ask for has to fit into memory.
const MOST_ITEMS: usize = 1_000_000;

/// An item and how often it stands there: `x*3` is `x` three times.
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

    static STREAM: OptionTable = OptionTable(&[OptionSpec {
        name: "dim",
        aliases: &[],
        kind: OptionKind::Whole,
        default: None,
        help: "Values in a sample.",
    }]);
    static TABLE: OptionTable = OptionTable(&[
        OptionSpec {
            name: "cacheIndex",
            aliases: &[],
            kind: OptionKind::Bool,
            default: Some("false"),
            help: "",
        },
        OptionSpec { name: "maxErrors", aliases: &[], kind: OptionKind::Whole, default: Some("0"), help: "" },
        OptionSpec {
            name: "precision",
            aliases: &[],
            kind: OptionKind::OneOf(&["float", "double"]),
            default: Some("float"),
            help: "",
        },
        OptionSpec {
            name: "input",
            aliases: &[],
            kind: OptionKind::Sections(&STREAM),
            default: Some(""),
            help: "",
        },
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
        assert_eq!(o.whole("maxErrors"), Ok(Some(7)));
        assert_eq!(o.text("precision"), Ok(Some("double".into())));
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
