//! Sets of options: the types that [`options!`](crate::options) makes, and how their parts are put together.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use crate::identity::Identity;
use crate::{
    ConfigError, Format, OpenFn, OpenTransform, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults,
    Registry, Section, TransformFormat, Value, Words,
};

/// Options that are declared once, by [`options!`](crate::options): their table, their values, what of them is part of an
/// identity, and how they are described.
pub trait OptionSet: Sized {
    /// The context of the section, which decides what it leaves open, such as [`ReaderDefaults`].
    type Context;

    /// The parts that make the table.
    const PARTS: &'static [TablePart];

    /// The table that a section is matched against.
    const TABLE: &'static OptionTable;

    /// The values that a section gives, and the defaults of all others.
    ///
    /// # Errors
    /// Values that are not of their option's kind, required options that are missing, and options that exclude each other.
    fn read(options: &Options<'_>, context: &Self::Context) -> Result<Self, ConfigError>;

    /// The lines of the description, as [`OptionSet::describe`] puts them together.
    ///
    /// # Errors
    /// Transforms that cannot be described.
    fn lines(&self, options: &Options<'_>, registry: &Registry) -> Result<Vec<Placed<Section>>, ConfigError>;

    /// The parts of the identity, as [`OptionSet::identify`] puts them together.
    fn parts(&self) -> Vec<Placed<Identity>>;

    /// The options that were read from a section, typed and with their defaults, for people and for other programs.
    ///
    /// # Errors
    /// The errors of [`OptionSet::lines`].
    fn describe(&self, options: &Options<'_>, registry: &Registry) -> Result<Section, ConfigError> {
        let lines = in_order(self.lines(options, registry)?);
        Ok(Section(lines.into_iter().flat_map(|line| line.0).collect()))
    }

    /// Appends what sequences, keys and values depend on to an identity.
    fn identify(&self, identity: Identity) -> Identity {
        let parts = in_order(self.parts()).into_iter().map(Identity::text);
        parts.filter(|part| !part.is_empty()).fold(identity, Identity::word)
    }
}

/// The line or part of one option in a text that several make.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The option's name.
    pub name: &'static str,
    /// Its place among the others.
    pub place: Place,
    /// The line or part.
    pub content: T,
}

/// Where the line or part of an option stands, as texts of earlier releases have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where the option is declared.
    Declared,
    /// Right after that of another option.
    After(&'static str),
    /// At the end.
    Last,
}

/// Lines or parts in the order of their places.
fn in_order<T>(parts: Vec<Placed<T>>) -> Vec<T> {
    fn follow<T>(name: &'static str, moved: &mut Vec<Placed<T>>, order: &mut Vec<T>) {
        while let Some(i) = moved.iter().position(|part| part.place == Place::After(name)) {
            let part = moved.remove(i);
            order.push(part.content);
            follow(part.name, moved, order);
        }
    }
    let (declared, mut moved): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| part.place == Place::Declared);
    let (last, others) = moved.into_iter().partition(|part| part.place == Place::Last);
    moved = others;
    let mut order = Vec::new();
    for part in declared.into_iter().chain::<Vec<_>>(last) {
        order.push(part.content);
        follow(part.name, &mut moved, &mut order);
    }
    debug_assert!(moved.is_empty(), "an option has its place after one that is not declared");
    order
}

/// The options of a table, by themselves or as the table of another set.
#[derive(Clone, Copy, Debug)]
pub enum TablePart {
    /// One option.
    One(OptionSpec),
    /// One that is listed right after another, wherever it is declared.
    After(&'static str, OptionSpec),
    /// Those of a set that is part of this one.
    All(&'static [TablePart]),
    /// None: a value that is not an option's.
    Nothing,
}

impl TablePart {
    /// How many options the parts have.
    pub const fn count(parts: &[TablePart]) -> usize {
        let (mut n, mut i) = (0, 0);
        while i < parts.len() {
            n += match parts[i] {
                TablePart::One(_) | TablePart::After(..) => 1,
                TablePart::All(parts) => TablePart::count(parts),
                TablePart::Nothing => 0,
            };
            i += 1;
        }
        n
    }

    /// The options of the parts in the order of the table, `N` of them. An option whose place is after one that only a larger set has
    /// comes last.
    pub const fn joined<const N: usize>(parts: &[TablePart]) -> [OptionSpec; N] {
        let mut moved = Listing::empty();
        let mut listing: Listing<N> = Listing::empty();
        listing.declare(parts, &mut moved);
        // One that is moved may be the place of another.
        let mut rounds = 0;
        while rounds < moved.n {
            let mut i = 0;
            while i < moved.n {
                let (place, spec) = (moved.places[i], moved.specs[i]);
                if listing.find(spec.name).is_none()
                    && let Some(at) = listing.find(place)
                {
                    listing.insert(at + 1, spec);
                }
                i += 1;
            }
            rounds += 1;
        }
        let mut i = 0;
        while i < moved.n {
            if listing.find(moved.specs[i].name).is_none() {
                listing.insert(listing.n, moved.specs[i]);
            }
            i += 1;
        }
        listing.specs
    }
}

/// Options while they are put in order.
struct Listing<const N: usize> {
    specs: [OptionSpec; N],
    /// The options that they are to be listed after.
    places: [&'static str; N],
    n: usize,
}

impl<const N: usize> Listing<N> {
    const fn empty() -> Listing<N> {
        Listing { specs: [OptionSpec::required("", OptionKind::Unused, ""); N], places: [""; N], n: 0 }
    }

    /// Appends the options of the parts, those that are listed elsewhere to `moved`.
    const fn declare(&mut self, parts: &[TablePart], moved: &mut Listing<N>) {
        let mut i = 0;
        while i < parts.len() {
            match parts[i] {
                TablePart::One(spec) => self.insert(self.n, spec),
                TablePart::After(place, spec) => {
                    moved.places[moved.n] = place;
                    moved.insert(moved.n, spec);
                }
                TablePart::All(parts) => self.declare(parts, moved),
                TablePart::Nothing => {}
            }
            i += 1;
        }
    }

    const fn insert(&mut self, at: usize, spec: OptionSpec) {
        let mut i = self.n;
        while i > at {
            self.specs[i] = self.specs[i - 1];
            i -= 1;
        }
        self.specs[at] = spec;
        self.n += 1;
    }

    const fn find(&self, name: &str) -> Option<usize> {
        let mut i = 0;
        while i < self.n {
            if is_same(self.specs[i].name, name) {
                return Some(i);
            }
            i += 1;
        }
        None
    }
}

/// Compares texts, which constants do not do with `==`.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

/// The type of an option's value, which says what configurations may give.
pub trait OptionType: Sized {
    /// The kind of the options that have this type.
    const KIND: OptionKind;

    /// How the value is described, if there is one.
    ///
    /// # Errors
    /// Transforms that cannot be described.
    fn described(
        &self,
        options: &Options<'_>,
        name: &str,
        registry: &Registry,
    ) -> Result<Option<Value>, ConfigError> {
        options.described_option(name, registry)
    }
}

/// A type of values that are read by name.
pub trait OptionValue: OptionType {
    /// The value that is given or the default, if there is one.
    ///
    /// # Errors
    /// A value of another kind.
    fn read(options: &Options<'_>, name: &str) -> Result<Option<Self>, ConfigError>;
}

macro_rules! values {
    ($($type:ty: $kind:ident, $read:expr;)*) => {$(
        impl OptionType for $type {
            const KIND: OptionKind = OptionKind::$kind;
        }

        impl OptionValue for $type {
            fn read(options: &Options<'_>, name: &str) -> Result<Option<$type>, ConfigError> {
                $read(options, name)
            }
        }
    )*};
}

values! {
    bool: Bool, Options::bool_if_given;
    u64: Whole, Options::whole_if_given;
    i64: Integer, Options::integer_if_given;
    f64: Real, Options::real_if_given;
    Vec<f64>: Numbers, Options::numbers_if_given;
    String: Text, Options::text_if_given;
    Vec<String>: Texts, Options::texts_if_given;
    PathBuf: Path, |options: &Options<'_>, name| Ok(options.text_if_given(name)?.map(PathBuf::from));
    Vec<PathBuf>: Files, |options: &Options<'_>, name| options.files(name).map(Some);
}

impl<T: OptionValue> OptionType for Option<T> {
    const KIND: OptionKind = T::KIND;
}

/// The entries of a section of sections, such as `input`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections<T>(pub Vec<T>);

impl<T> Deref for Sections<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Sections<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: OptionSet> OptionType for Sections<T> {
    const KIND: OptionKind = OptionKind::Sections(T::TABLE);

    fn described(
        &self,
        options: &Options<'_>,
        name: &str,
        registry: &Registry,
    ) -> Result<Option<Value>, ConfigError> {
        let sections = self.0.iter().zip(options.sections(name)?);
        let described = sections
            .map(|(set, (entry, section))| Ok((entry, Value::Section(set.describe(&section, registry)?))));
        Ok(Some(Value::Section(described.collect::<Result<_, ConfigError>>()?)))
    }
}

/// A field of an [`OptionSet`]: a value, one that may be absent, or the entries of a section.
pub trait OptionField<C>: OptionType {
    /// The field's value.
    ///
    /// # Errors
    /// A value of another kind, and a required one that is missing.
    fn read(options: &Options<'_>, name: &str, context: &C) -> Result<Self, ConfigError>;
}

impl<C, T: OptionValue> OptionField<C> for T {
    fn read(options: &Options<'_>, name: &str, _: &C) -> Result<T, ConfigError> {
        Ok(T::read(options, name)?
            .unwrap_or_else(|| panic!("`{name}` may be absent: its field is no `Option`")))
    }
}

impl<C, T: OptionValue> OptionField<C> for Option<T> {
    fn read(options: &Options<'_>, name: &str, _: &C) -> Result<Option<T>, ConfigError> {
        T::read(options, name)
    }
}

impl<T: OptionSet> OptionField<T::Context> for Sections<T> {
    fn read(options: &Options<'_>, name: &str, context: &T::Context) -> Result<Sections<T>, ConfigError> {
        let sections = options.sections(name)?;
        let sets = sections.iter().map(|(_, section)| T::read(section, context));
        Ok(Sections(sets.collect::<Result<_, _>>()?))
    }
}

/// The one entry of a section that may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlySection<T>(pub T);

impl<T> OnlySection<T> {
    /// The entry's name and its options.
    fn of<'a>(options: &Options<'a>, name: &str) -> Result<(&'a str, Options<'a>), ConfigError> {
        let mut sections = options.sections(name)?;
        match sections.len() {
            1 => Ok(sections.remove(0)),
            n => Err(ConfigError::out_of_range(options.path(name), format!("{n} streams"), "1")),
        }
    }
}

impl<T: OptionSet> OptionType for OnlySection<T> {
    const KIND: OptionKind = OptionKind::Streams(T::TABLE);

    fn described(
        &self,
        options: &Options<'_>,
        name: &str,
        registry: &Registry,
    ) -> Result<Option<Value>, ConfigError> {
        let (entry, section) = OnlySection::<T>::of(options, name)?;
        let described = Value::Section(self.0.describe(&section, registry)?);
        Ok(Some(Value::Section(Section::from_iter([(entry, described)]))))
    }
}

impl<T: OptionSet> OptionField<T::Context> for OnlySection<T> {
    fn read(options: &Options<'_>, name: &str, context: &T::Context) -> Result<OnlySection<T>, ConfigError> {
        T::read(&OnlySection::<T>::of(options, name)?.1, context).map(OnlySection)
    }
}

/// A field whose value the words of its option stand for: one of them, or one that may be absent.
pub trait WordField<T, const N: usize>: Sized {
    /// The field's value.
    ///
    /// # Errors
    /// Another word, and a required one that is missing.
    fn read(options: &Options<'_>, name: &str, words: &'static Words<T, N>) -> Result<Self, ConfigError>;
}

impl<T: Copy, const N: usize> WordField<T, N> for T {
    fn read(options: &Options<'_>, name: &str, words: &'static Words<T, N>) -> Result<T, ConfigError> {
        options.word(name, words)
    }
}

impl<T: Copy, const N: usize> WordField<T, N> for Option<T> {
    fn read(
        options: &Options<'_>,
        name: &str,
        words: &'static Words<T, N>,
    ) -> Result<Option<T>, ConfigError> {
        options.word_if_given(name, words)
    }
}

/// A format of numeric keys whose options are those of a set.
pub const fn format_of<T: OptionSet<Context = ReaderDefaults>>(
    name: &'static str,
    help: &'static str,
    open: OpenFn,
) -> Format {
    Format::new(name, help, T::TABLE, open).with_describe(describe::<T>)
}

fn describe<T: OptionSet<Context = ReaderDefaults>>(
    options: &Options<'_>,
    defaults: &ReaderDefaults,
    registry: &Registry,
) -> Result<Section, ConfigError> {
    T::read(options, defaults)?.describe(options, registry)
}

/// A transform whose options are those of a set.
pub const fn transform_of<T: OptionSet<Context = ()>>(
    name: &'static str,
    help: &'static str,
    open: OpenTransform,
) -> TransformFormat {
    TransformFormat { name, help, options: T::TABLE, describe: describe_transform::<T>, open }
}

fn describe_transform<T: OptionSet<Context = ()>>(options: &Options<'_>) -> Result<Section, ConfigError> {
    T::read(options, &())?.describe(options, &Registry::default())
}

/// Declares a set of options, each once: `field: type = "name" | "alias", need => "help" [clause]…;`.
///
/// The kind follows from the type (see [`OptionType`]), from words (`= "name" in WORDS, need`), or is given
/// (`= "name": kind, need`). `need` is `required`, `optional` or the default as a configuration spells it; what is `optional` is
/// an `Option`. Entries may also be
///
/// - `field: type = SPEC;`: an [`OptionSpec`] that several sets have;
/// - `_: type = …;`: an option that is read and of no further use, and `_ = …;`: one that is not even read;
/// - `let field: type = value => [clause]…;`: a value that is not an option's;
/// - `..field: type;`: the options of another set with the same context, or with that of `=> [within context]`;
/// - `expect value;`: a `Result` that has to be `Ok` before what follows is read: fields before it are known by their names;
/// - `check function;`: what options exclude each other, `fn(&Self, &Options) -> Result<(), ConfigError>`.
///
/// Clauses say what is not as usual. Names after the struct's are those by which they know the section and what surrounds it.
///
/// - `[read value]`: how the option is read. Fields before it are known by their names.
/// - `[within context]`: what a set, or the sections of an option, have as their context.
/// - `[listed after "name"]`: where the option stands in the table, if not where it is declared and read.
/// - `[otherwise value]`: the value where none is given; the option is `optional`, its field is not.
/// - `[describe …]`: `never`, `if given`, `as |set| value` or `with |set, options, section| …`, which may push several lines;
///   otherwise whatever has a value is described, as [`describe_from_table`](crate::describe_from_table) does.
/// - `[identity …]`: `"key"` writes `key=value`, `flag "word"` the word if the option is true, `if given "key"` the value that an
///   `Option` has, `with |set, identity| …` anything else. Without it the option changes no sequences, keys or values.
/// - Both may begin with `after "name"`, and a description with `last`: where the line stands in texts that earlier releases wrote.
///   The part of another set (`with |set, identity| …`, after its own options'), which is for what they change together with options
///   outside it, has the field's name.
///
/// ```
/// use tesson_core::identity::Identity;
/// use tesson_core::{OptionSet, Options, ReaderDefaults, Section, options};
///
/// options! {
///     /// The options of comma-separated values.
///     #[derive(Debug)]
///     struct CsvOptions(options, reader: ReaderDefaults) {
///         file: std::path::PathBuf = "file", required => "The file.";
///         has_header: bool = "header", "true" => "The first line names columns." [identity "header"];
///         key: Option<String> = "key", optional => "The column of keys." [identity if given "key"];
///     }
/// }
/// # use tesson_core::{Element, Registry, Value};
/// # let reader = ReaderDefaults { element: Element::F32, frame_mode: false, numeric_keys: true, cache_index: false, forgives: false };
/// let section = Section::from_iter([("file", Value::Text("a.csv".into()))]);
/// let options = Options::new(CsvOptions::TABLE, &section, "").unwrap();
/// let csv = CsvOptions::read(&options, &reader).unwrap();
/// assert_eq!((csv.file.to_str(), csv.has_header, &csv.key), (Some("a.csv"), true, &None));
/// assert_eq!(csv.identify(Identity::new("csv", 1)).text(), "csv 1 header=true");
/// let described = csv.describe(&options, &Registry::default()).unwrap();
/// assert_eq!(described, Section::from_iter([("file", Value::Text("a.csv".into())), ("header", Value::Bool(true))]));
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($options:ident) { $($entries:tt)* }
    ) => {
        $crate::options! { @entry
            {[$(#[$meta])*] [$vis] [$name] [$options] [_context] [()]} {} {} {} {}
            $($entries)*
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($options:ident, $context:ident: $Context:ty) { $($entries:tt)* }
    ) => {
        $crate::options! { @entry
            {[$(#[$meta])*] [$vis] [$name] [$options] [$context] [$Context]} {} {} {} {}
            $($entries)*
        }
    };

    // Entries, one after the other: head, fields, their names, entries in one form, checks; then what is left.
    (@entry $head:tt $fields:tt $names:tt $known:tt {$($checks:tt)*} check $check:expr; $($rest:tt)*) => {
        $crate::options! { @entry $head $fields $names $known {$($checks)* $check;} $($rest)* }
    };
    (@entry $head:tt {$($fields:tt)*} {$($names:tt)*} {$($known:tt)*} $checks:tt
        $(#[$doc:meta])* $vis:vis let $field:ident: $type:ty = $value:expr $(=> $([$($clause:tt)*])+)?; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head {$($fields)* $(#[$doc])* $vis $field: $type,} {$($names)* $field,}
            {$($known)* {$field value [$type] [stringify!($field)] [] [] [[read $value] $($([$($clause)*])+)?]}} $checks
            $($rest)*
        }
    };
    (@entry $head:tt $fields:tt $names:tt {$($known:tt)*} $checks:tt expect $value:expr; $($rest:tt)*) => {
        $crate::options! { @entry $head $fields $names
            {$($known)* {_ value [()] [""] [] [] [[read { $value?; }]]}} $checks
            $($rest)*
        }
    };
    (@entry $head:tt {$($fields:tt)*} {$($names:tt)*} {$($known:tt)*} $checks:tt
        $(#[$doc:meta])* ..$vis:vis $field:ident: $type:ty $(=> $([$($clause:tt)*])+)?; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head {$($fields)* $(#[$doc])* $vis $field: $type,} {$($names)* $field,}
            {$($known)* {$field set [$type] [""] [] [] [$($([$($clause)*])+)?]}} $checks
            $($rest)*
        }
    };
    (@entry $head:tt $fields:tt $names:tt $known:tt $checks:tt _: $type:ty = $($rest:tt)*) => {
        $crate::options! { @option $head $fields $names $known $checks {_ read [$type]} $($rest)* }
    };
    (@entry $head:tt $fields:tt $names:tt $known:tt $checks:tt _ = $($rest:tt)*) => {
        $crate::options! { @option $head $fields $names $known $checks {_ unread [()]} $($rest)* }
    };
    (@entry $head:tt {$($fields:tt)*} {$($names:tt)*} $known:tt $checks:tt
        $(#[$doc:meta])* $vis:vis $field:ident: $type:ty = $($rest:tt)*
    ) => {
        $crate::options! { @option $head {$($fields)* $(#[$doc])* $vis $field: $type,} {$($names)* $field,} $known $checks
            {$field read [$type]} $($rest)*
        }
    };

    // The option of an entry.
    (@option $head:tt $fields:tt $names:tt {$($known:tt)*} $checks:tt {$($entry:tt)*}
        $option:literal $(| $alias:literal)* in $words:ident, $need:tt => $help:literal $([$($clause:tt)*])*; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head $fields $names
            {$($known)* {$($entry)* [$option]
                [$crate::option_table!(@spec $option, $words.kind(), $need, $help).also_named(&[$($alias),*])]
                [$words] [$([$($clause)*])*]}} $checks
            $($rest)*
        }
    };
    (@option $head:tt $fields:tt $names:tt {$($known:tt)*} $checks:tt {$bind:tt $how:ident [$type:ty]}
        $option:literal $(| $alias:literal)*, $need:tt => $help:literal $([$($clause:tt)*])*; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head $fields $names
            {$($known)* {$bind $how [$type] [$option]
                [$crate::option_table!(@spec $option, <$type as $crate::OptionType>::KIND, $need, $help)
                    .also_named(&[$($alias),*])]
                [] [$([$($clause)*])*]}} $checks
            $($rest)*
        }
    };
    (@option $head:tt $fields:tt $names:tt {$($known:tt)*} $checks:tt {$($entry:tt)*}
        $option:literal $(| $alias:literal)*: $kind:expr, $need:tt => $help:literal $([$($clause:tt)*])*; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head $fields $names
            {$($known)* {$($entry)* [$option]
                [$crate::option_table!(@spec $option, $kind, $need, $help).also_named(&[$($alias),*])]
                [] [$([$($clause)*])*]}} $checks
            $($rest)*
        }
    };
    (@option $head:tt $fields:tt $names:tt {$($known:tt)*} $checks:tt {$($entry:tt)*}
        $spec:ident $(in $words:ident)? $([$($clause:tt)*])*; $($rest:tt)*
    ) => {
        $crate::options! { @entry $head $fields $names
            {$($known)* {$($entry)* [$spec.name] [$spec] [$($words)?] [$([$($clause)*])*]}} $checks
            $($rest)*
        }
    };

    // All entries are known.
    (@entry
        {[$($meta:tt)*] [$vis:vis] [$name:ident] [$options:ident] [$context:ident] [$Context:ty]}
        {$($fields:tt)*} {$($names:tt)*}
        {$({$bind:tt $how:ident [$type:ty] [$option:expr] $spec:tt $words:tt $clauses:tt})*}
        {$($check:expr;)*}
    ) => {
        $($meta)*
        $vis struct $name {
            $($fields)*
        }

        impl $crate::OptionSet for $name {
            type Context = $Context;

            const PARTS: &'static [$crate::TablePart] =
                &[$($crate::options!(@table $how [$type] $spec $clauses)),*];

            const TABLE: &'static $crate::OptionTable = {
                const PARTS: &[$crate::TablePart] = <$name as $crate::OptionSet>::PARTS;
                const SPECS: [$crate::OptionSpec; $crate::TablePart::count(PARTS)] =
                    $crate::TablePart::joined(PARTS);
                &$crate::OptionTable(&SPECS)
            };

            #[allow(unused_variables, clippy::let_unit_value)]
            fn read(
                $options: &$crate::Options<'_>,
                $context: &$Context,
            ) -> Result<$name, $crate::ConfigError> {
                // Fields may have the names by which the declaration knows these two.
                let (section, around) = ($options, $context);
                $(let $bind = $crate::options!(@read $how [$type] [$option] $words (section, around) $clauses);)*
                let read = $name { $($names)* };
                $(
                    let check: fn(&$name, &$crate::Options<'_>) -> Result<(), $crate::ConfigError> = $check;
                    check(&read, section)?;
                )*
                Ok(read)
            }

            #[allow(unused_variables)]
            fn lines(
                &self,
                options: &$crate::Options<'_>,
                registry: &$crate::Registry,
            ) -> Result<Vec<$crate::Placed<$crate::Section>>, $crate::ConfigError> {
                #[allow(unused_mut)]
                let mut lines: Vec<$crate::Placed<$crate::Section>> = Vec::new();
                $($crate::options!(@line {$bind $how [$type] [$option] $words $clauses}
                    self options registry lines $clauses);)*
                Ok(lines)
            }

            fn parts(&self) -> Vec<$crate::Placed<$crate::identity::Identity>> {
                #[allow(unused_mut)]
                let mut parts: Vec<$crate::Placed<$crate::identity::Identity>> = Vec::new();
                $($crate::options!(@part {$bind $how [$option] $words} self parts $clauses);)*
                parts
            }
        }
    };

    // The part of an entry in the table.
    (@table value [$type:ty] $spec:tt $clauses:tt) => { $crate::TablePart::Nothing };
    (@table set [$type:ty] $spec:tt $clauses:tt) => {
        $crate::TablePart::All(<$type as $crate::OptionSet>::PARTS)
    };
    (@table $how:ident $type:tt [$($spec:tt)*] [[listed after $place:literal] $($clause:tt)*]) => {
        $crate::TablePart::After($place, $($spec)*)
    };
    (@table $how:ident $type:tt $spec:tt [$other:tt $($clause:tt)*]) => {
        $crate::options!(@table $how $type $spec [$($clause)*])
    };
    (@table $how:ident $type:tt [$($spec:tt)*] []) => { $crate::TablePart::One($($spec)*) };

    // The value of an entry.
    (@read set [$type:ty] $option:tt $words:tt ($options:ident, $context:ident) []) => {
        <$type as $crate::OptionSet>::read($options, $context)?
    };
    (@read set [$type:ty] $option:tt $words:tt ($options:ident, $outer:ident)
        [[within $context:expr] $($clause:tt)*]
    ) => {
        <$type as $crate::OptionSet>::read($options, $context)?
    };
    (@read unread $type:tt $option:tt $words:tt $at:tt $clauses:tt) => { () };
    (@read $how:ident [$type:ty] $option:tt $words:tt $at:tt [[read $value:expr] $($clause:tt)*]) => {{
        let value: $type = $value;
        value
    }};
    (@read $how:ident [$type:ty] $option:tt $words:tt $at:tt [[otherwise $value:expr] $($clause:tt)*]) => {
        match $crate::options!(@read $how [Option<$type>] $option $words $at []) {
            Some(given) => given,
            None => $value,
        }
    };
    (@read $how:ident [$type:ty] [$option:expr] $words:tt ($options:ident, $outer:ident)
        [[within $context:expr] $($clause:tt)*]
    ) => {
        <$type as $crate::OptionField<_>>::read($options, $option, $context)?
    };
    (@read $how:ident $type:tt $option:tt $words:tt $at:tt [$other:tt $($clause:tt)*]) => {
        $crate::options!(@read $how $type $option $words $at [$($clause)*])
    };
    (@read $how:ident [$type:ty] [$option:expr] [] ($options:ident, $context:ident) []) => {
        <$type as $crate::OptionField<_>>::read($options, $option, $context)?
    };
    (@read $how:ident [$type:ty] [$option:expr] [$words:ident] ($options:ident, $context:ident) []) => {
        <$type as $crate::WordField<_, _>>::read($options, $option, &$words)?
    };

    // The lines of an entry in the description.
    (@line {$field:ident set $($entry:tt)*} $this:ident $options:ident $registry:ident $lines:ident $clauses:tt) => {
        $lines.extend($crate::OptionSet::lines(&$this.$field, $options, $registry)?);
    };
    (@line $entry:tt $this:ident $options:ident $registry:ident $lines:ident
        [[describe after $place:literal $($said:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@placed $entry $this $options $registry $lines {$crate::Place::After($place)} $($said)*)
    };
    (@line $entry:tt $this:ident $options:ident $registry:ident $lines:ident
        [[describe last $($said:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@placed $entry $this $options $registry $lines {$crate::Place::Last} $($said)*)
    };
    (@line $entry:tt $this:ident $options:ident $registry:ident $lines:ident
        [[describe $($said:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@placed $entry $this $options $registry $lines {$crate::Place::Declared} $($said)*)
    };
    (@line $entry:tt $this:ident $options:ident $registry:ident $lines:ident [$other:tt $($clause:tt)*]) => {
        $crate::options!(@line $entry $this $options $registry $lines [$($clause)*])
    };
    (@line {$bind:tt value $($entry:tt)*} $this:ident $options:ident $registry:ident $lines:ident []) => {};
    (@line $entry:tt $this:ident $options:ident $registry:ident $lines:ident []) => {
        $crate::options!(@placed $entry $this $options $registry $lines {$crate::Place::Declared})
    };
    (@placed $entry:tt $this:ident $options:ident $registry:ident $lines:ident $place:tt never) => {};
    (@placed {$bind:tt $how:ident $type:tt [$option:expr] $($entry:tt)*} $this:ident $options:ident $registry:ident
        $lines:ident $place:tt $($said:tt)*
    ) => {
        let mut content = $crate::Section::default();
        $crate::options!(@said {$bind $how $type [$option] $($entry)*} $this $options $registry content $($said)*);
        $lines.push($crate::Placed { name: $option, place: $place, content });
    };
    (@said {$bind:tt $how:ident $type:tt [$option:expr] $($entry:tt)*} $this:ident $options:ident $registry:ident
        $content:ident if given
    ) => {
        if $options.given($option).is_some() {
            $crate::options!(@said {$bind $how $type [$option] $($entry)*} $this $options $registry $content);
        }
    };
    (@said {$bind:tt $how:ident $type:tt [$option:expr] $($entry:tt)*} $this:ident $options:ident $registry:ident
        $content:ident as $value:expr
    ) => {
        let value: fn(&Self) -> $crate::Value = $value;
        $content.push($option, value($this));
    };
    (@said $entry:tt $this:ident $options:ident $registry:ident $content:ident with $write:expr) => {
        let write: fn(&Self, &$crate::Options<'_>, &mut $crate::Section) -> Result<(), $crate::ConfigError> = $write;
        write($this, $options, &mut $content)?;
    };
    (@said {$bind:tt $how:ident $type:tt [$option:expr] $words:tt $clauses:tt} $this:ident $options:ident
        $registry:ident $content:ident
    ) => {
        if let Some(value) =
            $crate::options!(@value {$bind $how $type [$option] $words} $this $options $registry $clauses)
        {
            $content.push($option, value);
        }
    };

    // What is described of an option: of plain fields what their type says, of others what the table's kind says.
    (@value {$field:ident read [$type:ty] [$option:expr] []} $this:ident $options:ident $registry:ident []) => {
        <$type as $crate::OptionType>::described(&$this.$field, $options, $option, $registry)?
    };
    (@value {$field:ident read $type:tt $option:tt []} $this:ident $options:ident $registry:ident
        [[describe $($said:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@value {$field read $type $option []} $this $options $registry [$($clause)*])
    };
    (@value {$field:ident read $type:tt $option:tt []} $this:ident $options:ident $registry:ident
        [[within $context:expr] $($clause:tt)*]
    ) => {
        $crate::options!(@value {$field read $type $option []} $this $options $registry [$($clause)*])
    };
    (@value {$field:ident read $type:tt $option:tt []} $this:ident $options:ident $registry:ident
        [[identity $($part:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@value {$field read $type $option []} $this $options $registry [$($clause)*])
    };
    (@value {$field:ident read $type:tt $option:tt []} $this:ident $options:ident $registry:ident
        [[listed $($place:tt)*] $($clause:tt)*]
    ) => {
        $crate::options!(@value {$field read $type $option []} $this $options $registry [$($clause)*])
    };
    (@value {$bind:tt $how:ident $type:tt [$option:expr] $words:tt} $this:ident $options:ident
        $registry:ident $clauses:tt
    ) => {
        $options.described_option($option, $registry)?
    };

    // The part of an entry in the identity.
    (@part {$field:ident set $option:tt $words:tt} $this:ident $parts:ident $clauses:tt) => {
        $parts.extend($crate::OptionSet::parts(&$this.$field));
        $crate::options!(@part {$field read [stringify!($field)] []} $this $parts $clauses);
    };
    (@part {$bind:tt $how:ident [$option:expr] $words:tt} $this:ident $parts:ident
        [[identity after $place:literal $($part:tt)*] $($clause:tt)*]
    ) => {
        let content = $crate::options!(@identity $bind $words $this $($part)*);
        $parts.push($crate::Placed { name: $option, place: $crate::Place::After($place), content });
    };
    (@part {$bind:tt $how:ident [$option:expr] $words:tt} $this:ident $parts:ident
        [[identity $($part:tt)*] $($clause:tt)*]
    ) => {
        let content = $crate::options!(@identity $bind $words $this $($part)*);
        $parts.push($crate::Placed { name: $option, place: $crate::Place::Declared, content });
    };
    (@part $entry:tt $this:ident $parts:ident [$other:tt $($clause:tt)*]) => {
        $crate::options!(@part $entry $this $parts [$($clause)*])
    };
    (@part $entry:tt $this:ident $parts:ident []) => {};
    (@identity $bind:tt $words:tt $this:ident with $write:expr) => {{
        let write: fn(&Self, $crate::identity::Identity) -> $crate::identity::Identity = $write;
        write($this, $crate::identity::Identity::default())
    }};
    (@identity $field:ident $words:tt $this:ident flag $word:literal) => {
        $crate::identity::Identity::default().flag($word, $this.$field)
    };
    (@identity $field:ident [] $this:ident if given $key:literal) => {
        $crate::identity::Identity::default().maybe($key, $this.$field.as_ref())
    };
    (@identity $field:ident [] $this:ident $key:literal) => {
        $crate::identity::Identity::default().field($key, &$this.$field)
    };
    (@identity $field:ident [$words:ident] $this:ident $key:literal) => {
        $crate::identity::Identity::default().field($key, $words.word($this.$field).unwrap_or_default())
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;

    static COLOURS: Words<u8, 3> = Words::new([("Red", 1), ("Blue", 2), ("None", 0)]);

    const SHARED: OptionSpec =
        OptionSpec::with_default("shared", OptionKind::Whole, "7", "Several sets have it.");

    options! {
        /// An entry.
        #[derive(Debug, PartialEq)]
        struct Entry(options, factor: u64) {
            let name: String = options.entry().to_owned() => [identity with |entry, text| text.word(&entry.name)];
            size: u64 = "size", required => "Its size." [read factor * options.whole("size")?] [identity "size"];
        }
    }

    options! {
        /// Options that several sets have.
        #[derive(Debug, PartialEq)]
        struct Group(options, reader: ReaderDefaults) {
            shared: u64 = SHARED [identity "shared"];
            colour: u8 = "colour" in COLOURS, "red" => "Its colour." [identity "colour"];
            expect match colour {
                0 => Err(ConfigError::out_of_range(options.path("colour"), "0", "a colour")),
                _ => Ok(()),
            };
            width: u64 = "width", "1" => "Its width." [listed after "second"] [describe never];
        }
    }

    options! {
        /// A set without context.
        #[derive(Debug, PartialEq)]
        struct Sizes(options) {
            height: u64 = "height", "1" => "Its height." [listed after "width"] [describe never];
        }
    }

    options! {
        /// All there is.
        #[derive(Debug, PartialEq)]
        struct All(options, reader: ReaderDefaults) {
            entries: Sections<Entry> = "input", optional => "The entries." [within &2] [describe last];
            ratio: f64 = "ratio" | "share", "0.5" => "A number." [identity after "shared" "ratio"];
            ..group: Group;
            ..sizes: Sizes => [within &()]
                [identity after "colour" with |all, text| text.flag("tall", all.sizes.height > all.group.width)];
            caches: bool = "caches", optional => "Whether there is a cache." [otherwise reader.cache_index]
                [describe as |all| Value::Bool(all.caches)];
            second: Option<u8> = "second" in COLOURS, optional => "Another colour.";
            steps: Option<Vec<f64>> = "steps", optional => "Numbers."
                [describe with |all, options, section| {
                    let given = options.given("steps").is_some();
                    section.push("hasSteps", Value::Bool(given));
                    section.push("nSteps", Value::Whole(all.steps.iter().flatten().count() as i128));
                    Ok(())
                }];
            most: Option<u64> = "most", optional => "A limit." [describe after "ratio"] [identity if given "most"];
            strict: bool = "strict", "false" => "Whether faults are errors." [describe if given] [identity flag "strict"];
            _: bool = "old", "false" => "Read and dropped." [describe never];
            _ = "unused": OptionKind::Unused, optional => "Not looked at.";
            check |all, options| match all.ratio {
                0.0..=1.0 => Ok(()),
                ratio => Err(ConfigError::out_of_range(options.path("ratio"), ratio.to_string(), "a share")),
            };
        }
    }

    fn reader() -> ReaderDefaults {
        let element = Element::F32;
        ReaderDefaults { element, frame_mode: false, numeric_keys: true, cache_index: true, forgives: false }
    }

    fn section(entries: &[(&str, Value)]) -> Section {
        entries.iter().map(|(name, value)| (*name, value.clone())).collect()
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    fn read(section: &Section) -> Result<(All, Section), ConfigError> {
        let options = Options::new(All::TABLE, section, "")?;
        let all = All::read(&options, &reader())?;
        let described = all.describe(&options, &Registry::default())?;
        Ok((all, described))
    }

    #[test]
    fn the_table_has_the_options_of_groups_in_their_place() {
        let names = [
            "input", "ratio", "shared", "colour", "caches", "second", "width", "height", "steps", "most",
            "strict", "old", "unused",
        ];
        assert!(All::TABLE.names().eq(names));
        assert_eq!(All::TABLE.find("share").map(|option| option.name), Some("ratio"));
        assert_eq!(All::TABLE.inner("input"), Some(Entry::TABLE));
        let kinds = ["ratio", "shared", "colour", "caches", "steps", "most"]
            .map(|name| All::TABLE.find(name).unwrap().kind);
        let expected =
            [OptionKind::Real, OptionKind::Whole, COLOURS.kind(), OptionKind::Bool, OptionKind::Numbers];
        assert_eq!(kinds[..5], expected);
        assert_eq!(kinds[5], OptionKind::Whole);
    }

    #[test]
    fn fields_have_what_is_given_or_their_default() {
        let (all, _) = read(&Section::default()).unwrap();
        let expected = All {
            entries: Sections(Vec::new()),
            ratio: 0.5,
            group: Group { shared: 7, colour: 1, width: 1 },
            sizes: Sizes { height: 1 },
            caches: true,
            second: None,
            steps: None,
            most: None,
            strict: false,
        };
        assert_eq!(all, expected);
        let entry = section(&[("size", Value::Whole(4))]);
        let given = section(&[
            ("share", Value::Real(0.25)),
            ("COLOUR", text("BLUE")),
            ("caches", Value::Bool(false)),
            ("most", Value::Whole(9)),
            ("unused", Value::List(Vec::new())),
            ("input", Value::Section(section(&[("a", Value::Section(entry))]))),
        ]);
        let (all, _) = read(&given).unwrap();
        assert_eq!(all.entries.0, [Entry { name: "a".into(), size: 8 }]);
        assert_eq!((all.ratio, all.group.colour, all.caches, all.most), (0.25, 2, false, Some(9)));
    }

    #[test]
    fn lines_of_a_description_stand_in_their_places() {
        let (_, described) = read(&section(&[("second", text("BLUE")), ("most", Value::Whole(3))])).unwrap();
        let expected = section(&[
            ("ratio", Value::Real(0.5)),
            ("most", Value::Whole(3)),
            ("shared", Value::Whole(7)),
            ("colour", text("red")),
            ("caches", Value::Bool(true)),
            ("second", text("blue")),
            ("hasSteps", Value::Bool(false)),
            ("nSteps", Value::Whole(0)),
            ("input", Value::Section(Section::default())),
        ]);
        assert_eq!(described, expected);
        let (_, described) = read(&section(&[("strict", Value::Bool(false))])).unwrap();
        assert_eq!(described.get("strict"), Some(&Value::Bool(false)));
    }

    #[test]
    fn parts_of_an_identity_stand_in_their_places() {
        let (all, _) = read(&Section::default()).unwrap();
        assert_eq!(all.identify(Identity::new("all", 1)).text(), "all 1 shared=7 ratio=0.5 colour=Red");
        let (all, _) = read(&section(&[("strict", Value::Bool(true)), ("most", Value::Whole(3))])).unwrap();
        assert_eq!(
            all.identify(Identity::new("all", 1)).text(),
            "all 1 shared=7 ratio=0.5 colour=Red most=3 strict"
        );
        let (all, _) = read(&section(&[("strict", Value::Bool(true)), ("height", Value::Whole(3))])).unwrap();
        assert_eq!(
            all.identify(Identity::new("all", 1)).text(),
            "all 1 shared=7 ratio=0.5 colour=Red tall strict"
        );
        let entry = Entry { name: "a".into(), size: 8 };
        assert_eq!(entry.identify(Identity::default()).text(), "a size=8");
    }

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        let wrong = |entries: &[(&str, Value)]| read(&section(entries)).unwrap_err().to_string();
        assert_eq!(wrong(&[("ratio", Value::Whole(2))]), "ratio: found 2, expected a share");
        assert_eq!(wrong(&[("old", Value::Whole(2))]), "old: found `2`, expected `true` or `false`");
        assert_eq!(
            wrong(&[("second", text("green"))]),
            "second: found `green`, expected `Red` or `Blue` or `None`"
        );
        // What is expected is expected before the options after it.
        let colour = [("colour", text("none")), ("width", text("wide"))];
        assert_eq!(wrong(&colour), "colour: found 0, expected a colour");
        let entries = section(&[("a", Value::Section(Section::default()))]);
        assert_eq!(wrong(&[("input", Value::Section(entries))]), "input.a.size: required option is missing");
    }
}
