//! A loaded configuration: its tree, the readers in it, and the folder of its data files.

use tesson_core::{ConfigError, Error, Name, Registry, Section, Value};

use crate::TextFault;
use crate::reader::{Found, Reader, ReaderType};
use crate::source::PATH_BASES;
use crate::{Resolved, SourceConfig, json, lower, reader_of};

/// A configuration that has been read; none of its data files is opened.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The whole configuration, variables replaced.
    pub tree: Section,
    /// True if the tree is one of BrainScript, with readers in it; false if it is itself a reader.
    pub is_brainscript: bool,
    /// The folder of the file; `None` for a text.
    pub(crate) folder: Option<String>,
    /// The folder that `currentDirectory` names; empty if it is not given.
    pub(crate) directory: String,
    /// Warnings about the arguments.
    pub(crate) warnings: Vec<String>,
    pub(crate) registry: Registry,
}

impl Loaded {
    /// The reader at a path: `Train/reader`, or a section that has one; by default the first one, or the tree itself.
    ///
    /// # Errors
    /// A path that leads nowhere, and a reader that means nothing.
    pub fn reader(&self, section: Option<&str>) -> Result<Reader, Error> {
        if self.is_brainscript {
            let mut reader = reader_of(&self.tree, section, &self.registry)?;
            reader.warnings.extend_from_slice(&self.warnings);
            return Ok(reader);
        }
        Ok(dictionary(&self.tree, section, &self.registry)?)
    }

    /// The folder that relative names of data files start from; `None` is the working directory. Of a configuration that
    /// says `pathsRelativeTo = config` its own folder, else what `currentDirectory` names.
    pub fn base_dir(&self, reader: &Reader) -> Option<&str> {
        let given = reader.section.get("pathsRelativeTo");
        let own = matches!(given, Some(Value::Text(word)) if PATH_BASES.meaning(word) == Some(true));
        match (own, &self.folder) {
            (true, Some(folder)) => Some(folder),
            _ if self.directory.is_empty() => None,
            _ => Some(&self.directory),
        }
    }

    /// Resolves the configuration to `{"tree": …, "readers": {path: …}}`.
    ///
    /// # Errors
    /// The first reader that means nothing.
    pub fn resolved(&self) -> Result<Resolved, Error> {
        if self.is_brainscript {
            let mut resolved = Resolved::new(self.tree.clone(), &self.registry)?;
            if let Some(reader) = resolved.readers.first_mut() {
                reader.warnings.extend_from_slice(&self.warnings);
            }
            return Ok(resolved);
        }
        let reader = dictionary(&self.tree, None, &self.registry)?;
        Ok(Resolved { tree: self.tree.clone(), readers: vec![reader] })
    }
}

/// Resolves a JSON configuration.
///
/// # Errors
/// Text that is no JSON, and options that mean nothing.
pub fn from_json(text: &str, registry: &Registry) -> Result<SourceConfig, ConfigError> {
    let reader = dictionary(&json::parse(text)?, None, registry)?;
    lower(&reader.section, registry)
}

/// The reader of a tree in the form of dictionaries: as it is, or, of an older reader, as a list of deserializers.
fn dictionary(tree: &Section, path: Option<&str>, registry: &Registry) -> Result<Reader, ConfigError> {
    let (mut section, mut outer) = (tree, Vec::new());
    for name in path.unwrap_or_default().split('/').filter(|n| !n.is_empty()) {
        outer.push(section);
        section = inner(section, name, path.unwrap_or_default())?;
    }
    if path.is_none() && section.get("deserializers").is_none() {
        section = json::source_section(section);
    }
    let path = path.unwrap_or_default().to_string();
    if section.get("deserializers").is_none() && section.get("readerType").is_some() {
        return Reader::new(&Found { path, outer, section }, registry);
    }
    Ok(Reader {
        path,
        kind: ReaderType::Composite,
        section: section.clone(),
        ignored: Vec::new(),
        warnings: Vec::new(),
        parallel_sequences: None,
    })
}

/// A section in a section on the way along a path.
fn inner<'t>(section: &'t Section, name: &str, path: &str) -> Result<&'t Section, ConfigError> {
    if let Some(Value::Section(inner)) = section.get(name) {
        return Ok(inner);
    }
    let is_section = |(n, v): &(Name, Value)| match v {
        Value::Section(_) => Some(n.to_string()),
        _ => None,
    };
    let there: Vec<String> = section.0.iter().filter_map(is_section).collect();
    let (path, name) = (path.to_owned(), name.to_owned());
    Err(ConfigError::refused("", &TextFault::UnknownSection { path, name, there }))
}
