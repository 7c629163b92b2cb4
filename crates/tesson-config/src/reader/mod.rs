//! The readers of a BrainScript configuration, and what each means.
//!
//! | file | subject |
//! |---|---|
//! | `find` | which records are readers |
//! | `scope` | where options are looked up |
//! | `reader_type` | which reader a section is |
//! | `composite`, `single_file`, `speech`, `image` | each kind as a reader of deserializers |
//! | `window` | the defaults of the randomization window |
//! | `training` | sizes of minibatches and epochs, which stand beside a reader |
//! | `unused_options` | options that a table knows, and those that are unused |
//! | `describe` | what a reader means, typed, as JSON |
//!
//! Every reader becomes a section in the form of [`crate::lower`]: the same tree that JSON and keywords are, complete
//! with the defaults that BrainScript has and they have not. There is one way from it to a [`SourceConfig`].

mod composite;
mod describe;
mod find;
mod image;
mod reader_type;
mod scope;
mod single_file;
mod speech;
mod training;
mod unused_options;
mod window;

use tesson_core::{ConfigError, Registry, Section, nearest};

use crate::source::DEFAULT_MINIBATCH;
use crate::{Schedule, SourceConfig, lower};

pub use describe::check_before_modules;
pub(crate) use describe::resolved;
pub use find::{Found, find};
pub(crate) use find::{is_reader, without_reader};
pub use reader_type::{ReaderType, is_cntk_module};

/// A reader section and what it means.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Where it stands: `Train/reader`.
    pub path: String,
    /// Which reader it is.
    pub kind: ReaderType,
    /// The reader's options as those of a source, in the form of dictionaries.
    pub section: Section,
    /// Unused options.
    pub ignored: Vec<Ignored>,
    /// Options that are ignored although the reference knew them.
    pub warnings: Vec<String>,
    /// How many sequences the reference packs side by side, by epoch: older readers of speech only.
    pub parallel_sequences: Option<Vec<u64>>,
}

/// An unused option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ignored {
    /// Its path within the reader's section.
    pub path: String,
    /// The option that may have been meant.
    pub near: Option<&'static str>,
}

impl Reader {
    /// Reads a section that was found.
    ///
    /// # Errors
    /// Options that no reader of its kind accepts, with the place and the option's path.
    pub fn new(found: &Found<'_>, registry: &Registry) -> Result<Reader, ConfigError> {
        let outside = found.path.replace('/', ".");
        let begins = || found.section.begins().cloned();
        let reader = Reader::read(found, registry)
            .map_err(|e| e.located_in(found.section).at(begins()).within(&outside))?;
        reader.describe(registry).map_err(|e| reader.with_likeness(e).at(begins()))?;
        Ok(reader)
    }

    /// The error, naming an unused option beside it that may have been meant by it.
    fn with_likeness(&self, e: ConfigError) -> ConfigError {
        let outside = format!("{}.", self.path.replace('/', "."));
        let path = e.path.strip_prefix(&outside).unwrap_or(&e.path);
        let (beside, name) = path.rsplit_once('.').unwrap_or(("", path));
        let is_meant = |ignored: &&Ignored| {
            let (place, _) = ignored.path.rsplit_once('.').unwrap_or(("", &ignored.path));
            ignored.near == Some(name) && place == beside
        };
        if let Some(ignored) = self.ignored.iter().find(is_meant) {
            let misspelt = ignored.path.rsplit('.').next().unwrap_or_default();
            return e.with_remedy(format!("`{misspelt}` is unused, is that what it is meant to be?"));
        }
        e
    }

    fn read(found: &Found<'_>, registry: &Registry) -> Result<Reader, ConfigError> {
        let scope = scope::Scope::new(found);
        let kind = ReaderType::of(&scope)?;
        let mut draft = Draft::default();
        match kind {
            ReaderType::Composite => composite::read(&scope, registry, &mut draft)?,
            ReaderType::Text | ReaderType::Binary => single_file::read(kind, &scope, registry, &mut draft)?,
            ReaderType::Speech => speech::read(&scope, registry, &mut draft)?,
            ReaderType::Image => image::read(&scope, registry, &mut draft)?,
        }
        training::read(&scope, found.validates(), &mut draft.section)?;
        if let Some(parallel) = &draft.parallel_sequences {
            speech::truncate_by_minibatch(parallel, None, &mut draft.section)?;
        }
        let known: Vec<&'static str> = kind.options(registry);
        draft.ignored.extend(scope.unread().map(|name| {
            // One that is known and was not read is without effect here: nothing else is meant.
            let is_known = known.iter().any(|k| k.eq_ignore_ascii_case(name));
            let near = nearest(name, known.iter().copied()).filter(|_| !is_known);
            Ignored { path: name.to_string(), near }
        }));
        draft.ignored.sort();
        Ok(Reader {
            path: found.path.clone(),
            kind,
            section: draft.section,
            ignored: draft.ignored,
            warnings: draft.warnings,
            parallel_sequences: draft.parallel_sequences,
        })
    }

    /// The source that the section describes.
    ///
    /// # Errors
    /// Options that a source refuses, with the place and the option's path.
    pub fn source(&self, registry: &Registry) -> Result<SourceConfig, ConfigError> {
        let mut section = self.section.clone();
        if let Some(parallel) = &self.parallel_sequences {
            let default = Schedule::constant(DEFAULT_MINIBATCH)?;
            speech::truncate_by_minibatch(parallel, Some(&default), &mut section)?;
        }
        lower(&section, registry).map_err(|e| self.located(e))
    }

    /// The warnings: unused options, and options that are ignored.
    pub fn complaints(&self) -> Vec<String> {
        let near = |i: &Ignored| i.near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        let ignored = self.ignored.iter().map(|i| format!("unused option `{}`{}", i.path, near(i)));
        let all = ignored.chain(self.warnings.iter().cloned());
        all.map(|what| format!("{}: {what}", self.path)).collect()
    }

    /// The error with its place, and with its path as seen from outside of the reader.
    fn located(&self, e: ConfigError) -> ConfigError {
        let mut e = e.located_in(&self.section);
        if matches!(self.kind, ReaderType::Text | ReaderType::Binary) {
            // Options of the only deserializer stand in the reader's own section.
            let inner = e.path.strip_prefix("deserializers[0]");
            e.path = inner.map_or(e.path.clone(), |p| p.trim_start_matches('.').to_string());
        }
        e.within(&self.path.replace('/', "."))
    }
}

/// A reader while its section is read.
#[derive(Default)]
struct Draft {
    section: Section,
    ignored: Vec<Ignored>,
    warnings: Vec<String>,
    parallel_sequences: Option<Vec<u64>>,
}

/// All readers of a configuration.
///
/// # Errors
/// The first one that means nothing.
pub fn readers(tree: &Section, registry: &Registry) -> Result<Vec<Reader>, ConfigError> {
    find(tree).iter().map(|found| Reader::new(found, registry)).collect()
}
