//! From files and arguments to the readers of a configuration.

use std::fmt;

use serde_json::Value as Json;
use tesson_core::{ConfigError, Registry, Section, nearest};

use crate::READER_OPTIONS;
use crate::TextFault;
use crate::brainscript::{self, ReadFile, Script, Variables};
use crate::reader::{self, Found, Reader};

/// Arguments of a command line, in order (spec/brainscript.md §6): `configFile=a.cntk+b.cntk`, `currentDirectory=dir`,
/// `name=value`.
#[derive(Clone, Default)]
pub struct Arguments {
    script: Script,
    /// The files alone.
    files: Script,
    /// The names that arguments give values to.
    given: Vec<String>,
    directory: String,
}

impl Arguments {
    /// Nothing, as yet.
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// Appends a file and the files it includes.
    ///
    /// # Errors
    /// Those of `read`, which is given names relative to the working directory.
    pub fn file(&mut self, name: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        self.append(read, |script, read| script.file(name, read))
    }

    /// Appends files, `a.cntk+b.cntk`.
    ///
    /// # Errors
    /// Those of [`Arguments::file`].
    pub fn files(&mut self, names: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        self.append(read, |script, read| script.files(names, read))
    }

    /// Appends a text, called `name` in messages.
    ///
    /// # Errors
    /// Those of reading the files that it includes.
    pub fn text(&mut self, name: &str, text: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        self.append(read, |script, read| script.text(name, text, read))
    }

    fn append(
        &mut self,
        read: ReadFile<'_>,
        append: impl Fn(&mut Script, ReadFile<'_>) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let directory = self.directory.clone();
        let read = |name: &str| read(&joined(&directory, name));
        append(&mut self.script, &read)?;
        append(&mut self.files, &read)
    }

    /// Takes the next argument.
    ///
    /// # Errors
    /// Those of [`Arguments::file`], and an argument that is no `name=value`.
    pub fn argument(&mut self, argument: &str, read: ReadFile<'_>) -> Result<(), ConfigError> {
        let Some((name, value)) = argument.split_once('=') else {
            return Err(ConfigError::refused("", &TextFault::NoAssignment { argument: argument.to_owned() }));
        };
        match name.trim().to_ascii_lowercase().as_str() {
            "configfile" => self.files(value, read)?,
            "currentdirectory" => self.directory = joined(&self.directory, value),
            _ => {
                self.script.argument(argument);
                self.given.push(name.trim().to_string());
            }
        }
        Ok(())
    }

    /// The directory that `currentDirectory` has led to; empty if nothing has.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Names that arguments give values to, that stand nowhere in the files and that no variable asks for, each with the variable
    /// that the files do ask for, or the option of readers, that may have been meant. What is like no variable may be an option of other programs.
    ///
    /// # Errors
    /// Those of [`Arguments::tree`].
    pub fn unread(&self) -> Result<Vec<(&str, &str)>, ConfigError> {
        let (mut wanted, top) = brainscript::names(&self.files)?;
        READER_OPTIONS.names().for_each(|name| wanted.push(name));
        let is_read = |name: &str| {
            wanted.iter().copied().chain(top.iter().map(String::as_str)).any(|n| n.eq_ignore_ascii_case(name))
        };
        let unread = self.given.iter().map(String::as_str).filter(|name| !is_read(name));
        Ok(unread.filter_map(|name| Some((name, nearest(name, wanted.iter().copied())?))).collect())
    }

    /// Refuses an argument for a section that the files do not have, but one of nearly that name.
    ///
    /// # Errors
    /// That, and files that are no configuration.
    pub(crate) fn check_sections(&self, argument: &str) -> Result<(), ConfigError> {
        match brainscript::misspelt_section(&self.files, argument)? {
            None => Ok(()),
            Some((name, nearest)) => {
                let misspelt = TextFault::MisspeltSection { argument: argument.to_owned(), name, nearest };
                Err(ConfigError::refused("", &misspelt))
            }
        }
    }

    /// The tree: later entries over earlier ones, variables replaced.
    ///
    /// # Errors
    /// A text that is no configuration, with its place.
    pub fn tree(&self, variables: &Variables<'_>) -> Result<Section, ConfigError> {
        brainscript::parse(&self.script, variables)
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").field("directory", &self.directory).finish_non_exhaustive()
    }
}

fn joined(directory: &str, name: &str) -> String {
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    if directory.is_empty() || is_absolute { name.to_string() } else { format!("{directory}/{name}") }
}

/// A configuration without variables, and what its readers mean.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The whole configuration.
    pub tree: Section,
    /// The readers in it.
    pub readers: Vec<Reader>,
}

impl Resolved {
    /// Resolves all readers of a tree.
    ///
    /// # Errors
    /// The first of them that means nothing.
    pub fn new(tree: Section, registry: &Registry) -> Result<Resolved, ConfigError> {
        let readers = reader::readers(&tree, registry)?;
        Ok(Resolved { tree, readers })
    }

    /// The tree and its readers as JSON: `{"tree": …, "readers": {path: …}}`.
    ///
    /// # Errors
    /// Values that are not of their option's type.
    pub fn to_json(&self, registry: &Registry) -> Result<Json, ConfigError> {
        reader::resolved(&self.tree, &self.readers, registry)
    }
}

/// One reader of a tree: that of a path such as `Train/reader`, or of a section that has one, or the first one.
///
/// # Errors
/// A path that leads to no reader, with the readers that there are; a reader that means nothing.
pub fn reader(tree: &Section, path: Option<&str>, registry: &Registry) -> Result<Reader, ConfigError> {
    let found = reader::find(tree);
    let paths: Vec<&str> = found.iter().map(|f| f.path.as_str()).collect();
    let one = match path {
        None => found.first(),
        Some(path) => find(&found, path),
    };
    let one = one.ok_or_else(|| {
        if paths.is_empty() {
            let (at, fault) = reader::without_reader(tree);
            return ConfigError::refused(path.unwrap_or("reader"), &fault).at(at);
        }
        let there = paths.join(", ");
        // A section stands for the reader in it.
        let sections = paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.0));
        let names = || paths.iter().copied().chain(sections);
        let nearest = path.and_then(|p| nearest(p, names())).map(str::to_owned);
        ConfigError::refused(path.unwrap_or("reader"), &TextFault::OtherReaders { there, nearest })
    })?;
    Reader::new(one, registry)
}

fn find<'f, 't>(found: &'f [Found<'t>], path: &str) -> Option<&'f Found<'t>> {
    let path = path.trim_matches('/').replace('.', "/");
    let is = |f: &&Found<'_>, p: &str| f.path.replace('.', "/").eq_ignore_ascii_case(p);
    let named = found.iter().find(|f| is(f, &path));
    named.or_else(|| found.iter().find(|f| is(f, &format!("{path}/reader"))))
}
