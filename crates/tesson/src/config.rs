//! Configurations: from a file or a text to a description of a source.

use std::path::Path;

pub use tesson_config::*;
pub use tesson_core::{ConfigSpan, Name, OptionDefault, OptionKind, Section, Value, nearest};

use tesson_core::ConfigError;

use crate::files::read_text;
use crate::{Error, registry};
use brainscript::Variables;
use reader::{Found, Reader, ReaderType};

/// What a JSON configuration means, with the built-in formats.
///
/// # Errors
/// Text that is no JSON, and options that mean nothing.
pub fn from_json(text: &str) -> Result<SourceConfig, Error> {
    let reader = dictionary(&json::parse(text)?, None)?;
    Ok(lower(&reader.section, &registry())?)
}

/// What is said beside a configuration itself.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Behind a BrainScript file, as on CNTK's command line: `name=value`, `configFile=…`, `currentDirectory=…`.
    pub arguments: Vec<String>,
    /// Values put in the places of their paths, such as `Train.reader.randomize` or `deserializers[0].file`.
    pub overrides: Vec<(String, Value)>,
    /// How the user gives overrides, for errors: the option of a command line, such as `--set`.
    pub override_option: Option<&'static str>,
    /// Whether `$env:NAME$` and `$name|value$` are variables in BrainScript.
    pub extended_variables: bool,
}

impl Choices {
    /// Where an override stands, for errors.
    fn span_of(&self, path: &str, value: &Value) -> ConfigSpan {
        match (self.override_option, spelt(value)) {
            (Some(option), Some(value)) => ConfigSpan::argument(format!("{option} {path}={value}")),
            (Some(option), None) => ConfigSpan::argument(format!("{option} {path}=…")),
            (None, _) => ConfigSpan::argument(format!("override `{path}`")),
        }
    }
}

/// A configuration that has been read, and nothing of it opened.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The whole configuration, variables replaced.
    pub tree: Section,
    /// Whether the tree is one of BrainScript, with readers in it, or a reader itself.
    pub is_brainscript: bool,
    /// The folder of the file; `None` for a text.
    folder: Option<String>,
    /// What `currentDirectory` said; empty if nothing.
    directory: String,
    /// What is odd about the arguments.
    warnings: Vec<String>,
}

/// Reads a configuration: the path of a file (`*.json`, `*.toml`, anything else is BrainScript), or a text. A text is
/// JSON if it begins with a brace, else BrainScript; it is told from a path by a brace, an equals sign or a line feed.
///
/// # Errors
/// A file that cannot be read, text that is no configuration, and overrides without a place.
pub fn load(config: &str, choices: &Choices) -> Result<Loaded, Error> {
    let is_text = config.trim_start().starts_with('{') || config.contains('\n');
    let path = Path::new(config);
    let is_text = is_text || (config.contains('=') && !path.exists());
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let is_json = if is_text { config.trim_start().starts_with('{') } else { extension == "json" };
    let is_toml = !is_text && extension == "toml";
    if !is_json && !is_toml {
        return load_brainscript(config, is_text, choices);
    }
    if let Some(argument) = choices.arguments.first() {
        let what = format!("found the argument `{argument}` behind JSON or TOML, expected overrides by path");
        return Err(ConfigError::new("", what).into());
    }
    let text = if is_text { config.to_string() } else { read_text(path)? };
    let name = if is_text { "configuration".into() } else { path.display().to_string() };
    let parsed = if is_toml { toml::parse_file(&text, &name) } else { json::parse_file(&text, &name) };
    let mut tree = parsed.map_err(|e| e.within(&name))?;
    for (path, value) in &choices.overrides {
        set_value(&mut tree, path, value.clone(), Some(&choices.span_of(path, value)))?;
    }
    let folder = if is_text { None } else { folder(path) };
    Ok(Loaded { tree, is_brainscript: false, folder, directory: String::new(), warnings: Vec::new() })
}

fn load_brainscript(config: &str, is_text: bool, choices: &Choices) -> Result<Loaded, Error> {
    // An error of a file is one of storage, whoever asked for the file.
    let mut missing = None;
    let tree = {
        let missing = std::cell::RefCell::new(&mut missing);
        let read_file = |name: &str| {
            read_text(Path::new(name)).map_err(|e| {
                let what = ConfigError::new("", e.to_string());
                **missing.borrow_mut() = Some(e);
                what
            })
        };
        parse_brainscript(config, is_text, choices, &read_file)
    };
    match (tree, missing) {
        (Ok(loaded), _) => Ok(loaded),
        (Err(_), Some(missing)) => Err(missing.into()),
        (Err(e), None) => Err(e.into()),
    }
}

fn parse_brainscript(
    config: &str,
    is_text: bool,
    choices: &Choices,
    read: brainscript::ReadFile<'_>,
) -> Result<Loaded, ConfigError> {
    let mut arguments = Arguments::new();
    if is_text {
        arguments.text("configuration", config, read)?;
    } else if Path::new(config).exists() {
        arguments.file(config, read)?;
    } else {
        arguments.files(config, read)?;
    }
    for argument in &choices.arguments {
        arguments.argument(argument, read)?;
    }
    // Names at the top are variables: they have to be there before variables are replaced.
    let is_variable = |path: &str, value: &Value| {
        !path.contains(['.', '[', '/']) && matches!(spelt(value), Some(text) if !text.contains(['"', '\n']))
    };
    let (variables, places): (Vec<_>, Vec<_>) =
        choices.overrides.iter().partition(|(path, value)| is_variable(path, value));
    for (name, value) in variables {
        arguments.argument(&format!("{name}=\"{}\"", spelt(value).unwrap_or_default()), read)?;
    }
    let environment = |name: &str| std::env::var(name).ok();
    let variables = Variables { extended: choices.extended_variables, environment: Some(&environment) };
    let mut tree = arguments.tree(&variables)?;
    for (path, value) in places {
        let given = choices.span_of(path, value);
        set_value(&mut tree, &path.replace('/', "."), value.clone(), Some(&given))?;
    }
    let unread = arguments.unread()?;
    let warnings = unread
        .iter()
        .map(|(name, near)| format!("unused variable `{name}` of an argument, did you mean `{near}`?"));
    Ok(Loaded {
        tree,
        warnings: warnings.collect(),
        is_brainscript: true,
        folder: if is_text { None } else { folder(Path::new(config)) },
        directory: arguments.directory().to_string(),
    })
}

/// A value as BrainScript spells it, if it is one of a line.
fn spelt(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Whole(n) => Some(n.to_string()),
        Value::Real(x) => Some(x.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

fn folder(path: &Path) -> Option<String> {
    let folder = path.parent()?.to_str()?;
    Some(if folder.is_empty() { ".".into() } else { folder.into() })
}

/// The reader of a tree in the form of dictionaries: as it is, or, of an older reader, as a list of deserializers.
fn dictionary(tree: &Section, path: Option<&str>) -> Result<Reader, ConfigError> {
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
        return Reader::new(&Found { path, outer, section }, &registry());
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
    let remedy = match there.is_empty() {
        true => ", the reader's options are not in a section; leave the section out".to_owned(),
        false => format!(" (sections here: {})", there.join(", ")),
    };
    Err(ConfigError::new("", format!("section `{path}`: there is no section `{name}`{remedy}")))
}

impl Loaded {
    /// The reader at a path: `Train/reader`, or a section that has one; by default the first one, or the tree itself.
    ///
    /// # Errors
    /// A path that leads nowhere, and a reader that means nothing.
    pub fn reader(&self, section: Option<&str>) -> Result<Reader, Error> {
        if self.is_brainscript {
            let mut reader = reader_of(&self.tree, section, &registry())?;
            reader.warnings.extend_from_slice(&self.warnings);
            return Ok(reader);
        }
        Ok(dictionary(&self.tree, section)?)
    }

    /// The folder that relative names of data files start from; `None` is the working directory. Of a configuration that
    /// says `pathsRelativeTo = config` its own folder, else what `currentDirectory` said.
    pub fn base_dir(&self, reader: &Reader) -> Option<&str> {
        let given = reader.section.get("pathsRelativeTo");
        let own = matches!(given, Some(Value::Text(word)) if word.eq_ignore_ascii_case("config"));
        match (own, &self.folder) {
            (true, Some(folder)) => Some(folder),
            _ if self.directory.is_empty() => None,
            _ => Some(&self.directory),
        }
    }

    /// What the configuration means: `{"tree": …, "readers": {path: …}}`.
    ///
    /// # Errors
    /// The first reader that means nothing.
    pub fn resolved(&self) -> Result<Resolved, Error> {
        if self.is_brainscript {
            let mut resolved = Resolved::new(self.tree.clone(), &registry())?;
            if let Some(reader) = resolved.readers.first_mut() {
                reader.warnings.extend_from_slice(&self.warnings);
            }
            return Ok(resolved);
        }
        let reader = dictionary(&self.tree, None)?;
        Ok(Resolved { tree: self.tree.clone(), readers: vec![reader] })
    }
}
