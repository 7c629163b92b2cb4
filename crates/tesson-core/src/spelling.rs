//! Options in texts: each is named through a type here, so that one text can be had in two spellings.
//!
//! Python's callers give keywords where configurations have options: `max_errors`, `streams.x.shape` for `maxErrors`,
//! `input.x.dim`. A text that names an option through [`OptionName`] or [`OptionSetting`], and whose path is written by
//! [`Spelling::path`], follows [`Spelling::within`]; no text is ever searched for names.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

thread_local! {
    /// The spelling of the texts that this thread is writing.
    static SPELLING: Cell<Spelling> = const { Cell::new(Spelling::Configurations) };
    /// The options that have been named since [`options_named`] began to listen.
    static NAMED: Cell<Option<Vec<NamedOption>>> = const { Cell::new(None) };
}

/// An option that a text names, with the value that it proposes.
pub type NamedOption = (String, Option<&'static str>);

/// How options are named in texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As in configurations: `maxErrors`.
    #[default]
    Configurations,
    /// As Python's keywords: `max_errors`.
    Keywords,
}

/// Options whose keyword is another word.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("alias", "field"),
    ("arkFile", "ark"),
    ("contextWindow", "context"),
    ("definesMBSize", "defines_mb_size"),
    ("dim", "shape"),
    ("expandToUtterance", "broadcast"),
    ("feature", "field"),
    ("file", "filename"),
    ("input", "streams"),
    ("labelDim", "shape"),
    ("maxSequenceSize", "max_sequence_length"),
    ("meanFile", "filename"),
    ("mlfFile", "mlf"),
    ("mlfFileList", "mlf"),
    ("multiThreadedDeserialization", "multithreaded_deserializer"),
    ("precision", "dtype"),
    ("prefixPathInSCP", "prefix_path_in_scp"),
    ("scpFile", "scp"),
];

/// The option of a stream whose keyword is another word, and a question. Deserializers have an option of this name too, which is no
/// such question: the format of files.
const STREAM_FORMAT: (&str, &str) = ("format", "is_sparse");

/// Options that are no keywords: what they say is part of other keywords, or of configurations alone.
const NO_KEYWORDS: &[&str] = &[
    "checkData",
    "crossSweepEnds",
    "epochSize",
    "hashSequenceKeys",
    "localTimeline",
    "maxEpochs",
    "minibatchSize",
    "pathsRelativeTo",
    "phoneBoundaries",
    "randomizationWindow",
    "rightSplice",
    "sampleBasedRandomizationWindow",
    "useNumericSequenceKeys",
];

impl Spelling {
    /// Does something whose texts name options in this spelling: those that this thread writes meanwhile.
    pub fn within<T>(self, write: impl FnOnce() -> T) -> T {
        /// Puts the former spelling back, also after a panic.
        struct Former(Spelling);
        impl Drop for Former {
            fn drop(&mut self) {
                SPELLING.set(self.0);
            }
        }
        let _former = Former(SPELLING.replace(self));
        write()
    }

    /// The spelling of the texts that this thread writes now.
    pub fn current() -> Spelling {
        SPELLING.get()
    }

    /// The name of an option.
    pub fn option(self, name: &str) -> Cow<'_, str> {
        match self {
            Spelling::Configurations => name.into(),
            Spelling::Keywords => keyword(name),
        }
    }

    /// The path of an option: `deserializers[0].input.x.dim` is `deserializers[0].streams.x.shape`.
    pub fn path(self, path: &str) -> Cow<'_, str> {
        if self == Spelling::Configurations {
            return path.into();
        }
        match path.split_once('.') {
            None => keyword(path),
            Some((first, within)) if first.starts_with("deserializers") => {
                let (option, rest) =
                    within.split_once('.').map_or((within, None), |(o, rest)| (o, Some(rest)));
                match (option, rest) {
                    // The names of streams between are the caller's own, and may hold dots.
                    ("input", Some(rest)) => match rest.rsplit_once('.') {
                        Some((stream, option)) => {
                            format!("{first}.streams.{stream}.{}", stream_keyword(option)).into()
                        }
                        None => format!("{first}.streams.{rest}").into(),
                    },
                    (_, Some(rest)) => format!("{first}.{}.{rest}", keyword(option)).into(),
                    (_, None) => format!("{first}.{}", keyword(option)).into(),
                }
            }
            // Of streams by name, and of what has no keywords.
            Some(_) => path.into(),
        }
    }
}

/// The keyword of an option of a stream.
fn stream_keyword(name: &str) -> Cow<'_, str> {
    if name == STREAM_FORMAT.0 { STREAM_FORMAT.1.into() } else { keyword(name) }
}

/// The keyword of an option in Python; the option itself where it has none.
fn keyword(name: &str) -> Cow<'_, str> {
    if let Some((_, other)) = OTHER_WORDS.iter().find(|(option, _)| *option == name) {
        return (*other).into();
    }
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && !NO_KEYWORDS.contains(&name) {
        snake_case(name).into()
    } else {
        name.into()
    }
}

/// A name of configurations as Python writes names: `maxErrors` is `max_errors`.
pub fn snake_case(name: &str) -> String {
    let mut keyword = String::new();
    for c in name.chars() {
        let begins = c.is_ascii_uppercase()
            && keyword.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit());
        keyword.push_str(if begins { "_" } else { "" });
        keyword.push(c.to_ascii_lowercase());
    }
    keyword
}

/// An option that a text names: in backticks, in the spelling of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionName(Cow<'static, str>);

impl OptionName {
    /// The option of this name.
    pub const fn new(name: &'static str) -> OptionName {
        OptionName(Cow::Borrowed(name))
    }

    /// The option with a value that it may have: `` `sharing = "chunk"` ``.
    pub const fn set_to(name: &'static str, value: &'static str) -> OptionSetting {
        OptionSetting { name, value }
    }
}

impl From<String> for OptionName {
    fn from(name: String) -> OptionName {
        OptionName(name.into())
    }
}

impl From<&str> for OptionName {
    fn from(name: &str) -> OptionName {
        OptionName(name.to_owned().into())
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        note(&self.0, None);
        write!(f, "`{}`", Spelling::current().path(&self.0))
    }
}

/// An option with a value, as a text proposes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSetting {
    name: &'static str,
    value: &'static str,
}

impl fmt::Display for OptionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OptionSetting { name, value } = *self;
        note(name, Some(value));
        match (Spelling::current(), name, value) {
            (Spelling::Configurations, ..) => write!(f, "`{name} = {value}`"),
            (Spelling::Keywords, ..) if name == STREAM_FORMAT.0 => {
                let answer = if value.contains("sparse") { "True" } else { "False" };
                write!(f, "`{}={answer}`", STREAM_FORMAT.1)
            }
            (Spelling::Keywords, _, "true") => write!(f, "`{}=True`", keyword(name)),
            (Spelling::Keywords, _, "false") => write!(f, "`{}=False`", keyword(name)),
            (Spelling::Keywords, ..) => write!(f, "`{}={value}`", keyword(name)),
        }
    }
}

/// A truth value in a text, in backticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth(pub bool);

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (Spelling::current(), self.0) {
            (Spelling::Configurations, true) => "`true`",
            (Spelling::Configurations, false) => "`false`",
            (Spelling::Keywords, true) => "`True`",
            (Spelling::Keywords, false) => "`False`",
        })
    }
}

/// The options that the texts name which `write` makes on this thread, with the values proposed.
pub fn options_named(write: impl FnOnce()) -> Vec<NamedOption> {
    NAMED.set(Some(Vec::new()));
    write();
    NAMED.take().unwrap_or_default()
}

fn note(name: &str, value: Option<&'static str>) {
    if let Some(mut named) = NAMED.take() {
        named.push((name.to_owned(), value));
        NAMED.set(Some(named));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(text: impl fmt::Display) -> [String; 2] {
        [Spelling::Configurations, Spelling::Keywords].map(|spelling| spelling.within(|| text.to_string()))
    }

    #[test]
    fn an_option_is_named_in_the_spelling_of_its_text() {
        assert_eq!(both(OptionName::new("maxErrors")), ["`maxErrors`", "`max_errors`"]);
        assert_eq!(both(OptionName::new("labelDim")), ["`labelDim`", "`shape`"]);
        assert_eq!(both(OptionName::new("epochSize")), ["`epochSize`"; 2]);
        assert_eq!(both(OptionName::set_to("ragged", "true")), ["`ragged = true`", "`ragged=True`"]);
        let sharing = OptionName::set_to("sharing", "\"chunk\"");
        assert_eq!(both(sharing), ["`sharing = \"chunk\"`", "`sharing=\"chunk\"`"]);
        let dense = OptionName::set_to("format", "dense");
        assert_eq!(both(dense), ["`format = dense`", "`is_sparse=False`"]);
        assert_eq!(both(Truth(true)), ["`true`", "`True`"]);
    }

    #[test]
    fn a_path_leads_through_keywords() {
        let keywords = |path| Spelling::Keywords.path(path).into_owned();
        assert_eq!(keywords("maxErrors"), "max_errors");
        assert_eq!(keywords("deserializers[0]"), "deserializers[0]");
        assert_eq!(keywords("deserializers[0].file"), "deserializers[0].filename");
        assert_eq!(keywords("deserializers[0].input.a.b.dim"), "deserializers[0].streams.a.b.shape");
        assert_eq!(keywords("deserializers[0].input.x.format"), "deserializers[0].streams.x.is_sparse");
        assert_eq!(keywords("deserializers[0].format"), "deserializers[0].format");
        assert_eq!(keywords("deserializers[0].input.maxErrors"), "deserializers[0].streams.maxErrors");
        assert_eq!(
            keywords("deserializers[0].input.x.transforms[1].cropSize"),
            "deserializers[0].streams.x.transforms[1].crop_size"
        );
        assert_eq!(keywords("transforms.max.errors"), "transforms.max.errors");
        assert_eq!(keywords("TESSON_KERNELS"), "TESSON_KERNELS");
    }

    #[test]
    fn a_spelling_ends_with_its_call() {
        let caught = std::panic::catch_unwind(|| Spelling::Keywords.within(|| panic!("meant")));
        assert!(caught.is_err());
        assert_eq!(Spelling::current(), Spelling::Configurations);
        let named = options_named(|| drop(both(OptionName::set_to("ragged", "true"))));
        assert_eq!(named, vec![("ragged".to_owned(), Some("true")); 2]);
    }
}
