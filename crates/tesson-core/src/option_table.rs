//! Option tables, which declare the options of a deserializer, transform or section.

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
    /// Several texts as a list, or one.
    Texts,
    /// A file name.
    Path,
    /// A file name, or a list of them; a name may be a pattern.
    Files,
    /// Several file names as a list or with `:` between them, or one file that lists them.
    Paths,
    /// A list of keys, or one file that holds a key in each line.
    Keys,
    /// Accepted whatever it is, without effect.
    Unused,
    /// A size in bytes: a whole number, or a text with a unit such as `512MB` or `2GiB`.
    Bytes,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// One or several of these words, as a list or with `:` between them.
    SomeOf(&'static [&'static str]),
    /// A section with its own table for each entry, such as `input`.
    Sections(&'static OptionTable),
    /// A section with its own table for each entry, which inherits missing options from the sections around it.
    Streams(&'static OptionTable),
    /// A list of sections, each with the table of the transform that its `type` names.
    Transforms,
    /// A list of sections, each with the table of the format that its `type` names.
    Formats,
    /// An object that a program supplies; no file can hold it.
    Object,
}

/// One option, as manuals, parsers, `--help` and stubs use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// The name in configurations; Python's is the same in snake case.
    pub name: &'static str,
    /// Other spellings that are accepted.
    pub aliases: &'static [&'static str],
    /// Its type.
    pub kind: OptionKind,
    /// Its value if a configuration does not set it.
    pub default: OptionDefault,
    /// One sentence.
    pub help: &'static str,
}

/// The value of an option that a configuration does not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionDefault {
    /// The option must be set.
    Required,
    /// The option has no value.
    Absent,
    /// This value, as a configuration would spell it.
    Value(&'static str),
}

impl OptionSpec {
    /// An option that must be set.
    pub const fn required(name: &'static str, kind: OptionKind, help: &'static str) -> OptionSpec {
        OptionSpec { name, aliases: &[], kind, default: OptionDefault::Required, help }
    }

    /// An option without a value unless it is set.
    pub const fn optional(name: &'static str, kind: OptionKind, help: &'static str) -> OptionSpec {
        OptionSpec { name, aliases: &[], kind, default: OptionDefault::Absent, help }
    }

    /// An option with a default, which is spelt as in configurations.
    pub const fn with_default(
        name: &'static str,
        kind: OptionKind,
        default: &'static str,
        help: &'static str,
    ) -> OptionSpec {
        OptionSpec { name, aliases: &[], kind, default: OptionDefault::Value(default), help }
    }

    /// Adds further names to the option.
    #[must_use]
    pub const fn also_named(self, aliases: &'static [&'static str]) -> OptionSpec {
        OptionSpec { aliases, ..self }
    }

    /// The name, then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// A table of options, two lines each: name, aliases, kind, and `required`, `optional` or the default; then the help. An
/// [`OptionSpec`] that several tables have stands there by its name.
///
/// ```
/// use tesson_core::{OptionKind, OptionSpec, OptionTable, option_table};
///
/// const VERBOSITY: OptionSpec = OptionSpec::optional("verbosity", OptionKind::Whole, "Accepted; has no effect.");
/// static OPTIONS: OptionTable = option_table! {
///     "file": OptionKind::Path, required
///         => "The file.",
///     "precision" | "dtype": OptionKind::Text, "float"
///         => "Type of all values.",
///     VERBOSITY,
/// };
/// assert_eq!(OPTIONS.find("dtype").map(|option| option.name), Some("precision"));
/// ```
#[macro_export]
macro_rules! option_table {
    (@spec $name:literal, $kind:expr, required, $help:literal) => {
        $crate::OptionSpec::required($name, $kind, $help)
    };
    (@spec $name:literal, $kind:expr, optional, $help:literal) => {
        $crate::OptionSpec::optional($name, $kind, $help)
    };
    (@spec $name:literal, $kind:expr, $default:literal, $help:literal) => {
        $crate::OptionSpec::with_default($name, $kind, $default, $help)
    };
    ($(
        $($shared:ident)?
        $($name:literal $(| $alias:literal)* : $kind:expr, $need:tt => $help:literal)?
    ),*) => {
        $crate::OptionTable(&[$(
            $($shared,)?
            $($crate::option_table!(@spec $name, $kind, $need, $help).also_named(&[$($alias),*]),)?
        )*])
    };
}

/// The words that an option accepts, and the meaning of each. Several words may have the same meaning.
#[derive(Debug)]
pub struct Words<T, const N: usize> {
    words: [&'static str; N],
    meanings: [T; N],
}

impl<T: Copy, const N: usize> Words<T, N> {
    /// These words, at least one.
    pub const fn new(pairs: [(&'static str, T); N]) -> Words<T, N> {
        let mut words = [""; N];
        let mut meanings = [pairs[0].1; N];
        let mut i = 0;
        while i < N {
            (words[i], meanings[i]) = pairs[i];
            i += 1;
        }
        Words { words, meanings }
    }

    /// The kind of an option that is one of them.
    pub const fn kind(&'static self) -> OptionKind {
        OptionKind::OneOf(&self.words)
    }

    /// The kind of an option that is one or several of them.
    pub const fn kind_of_list(&'static self) -> OptionKind {
        OptionKind::SomeOf(&self.words)
    }

    /// The meaning of a word in upper or lower case.
    pub fn meaning(&self, word: &str) -> Option<T> {
        self.words.iter().position(|w| w.eq_ignore_ascii_case(word)).map(|i| self.meanings[i])
    }

    /// All of them, as errors list them.
    pub(crate) fn listed(&'static self) -> &'static [&'static str] {
        &self.words
    }

    /// The first word that means this.
    pub fn word(&self, meaning: T) -> Option<&'static str>
    where
        T: PartialEq,
    {
        self.meanings.iter().position(|m| *m == meaning).map(|i| self.words[i])
    }
}

/// The options of a deserializer, transform or section.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionTable(pub &'static [OptionSpec]);

impl OptionTable {
    /// The option of this name or alias, in any case.
    pub fn find(&self, name: &str) -> Option<&'static OptionSpec> {
        self.0.iter().find(|o| o.names().any(|n| n.eq_ignore_ascii_case(name)))
    }

    /// Names of options, for "did you mean".
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|o| o.name)
    }

    /// The table of the sections within an option, if it has one.
    pub fn inner(&self, name: &str) -> Option<&'static OptionTable> {
        match self.find(name)?.kind {
            OptionKind::Sections(table) | OptionKind::Streams(table) => Some(table),
            _ => None,
        }
    }
}
