//! Loading configurations from files, texts, arguments and overrides.

use std::cell::RefCell;
use std::path::Path;

use tesson_core::{ConfigError, ConfigSpan, Error, Registry, Section, StoreError, Value};

use crate::TextFault;
use crate::brainscript::{self, Variables};
use crate::overrides::check_way;
use crate::{Arguments, Loaded, json, set_value, toml};

/// Access to the files and environment variables that configurations name.
pub trait ConfigAccess {
    /// The text in a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is not text.
    fn read_text(&self, path: &Path) -> Result<String, StoreError>;

    /// True if the file exists.
    fn exists(&self, path: &Path) -> bool;

    /// The value of an environment variable, if it is set to text.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The caller's choices beside the configuration itself.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Arguments after a BrainScript file, as on CNTK's command line: `name=value`, `configFile=…`, `currentDirectory=…`.
    pub arguments: Vec<String>,
    /// Values that replace those of the configuration, by their paths, such as `Train.reader.randomize` or `deserializers[0].file`.
    pub overrides: Vec<(String, Value)>,
    /// How the user gives overrides, for errors: the option of a command line, such as `--set`.
    pub override_option: Option<&'static str>,
    /// True if `$env:NAME$` and `$name|value$` are variables in BrainScript.
    pub extended_variables: bool,
}

impl Choices {
    /// How errors name an override.
    fn span_of(&self, path: &str, value: &Value) -> ConfigSpan {
        match (self.override_option, one_line(value)) {
            (Some(option), Some(value)) => ConfigSpan::argument(format!("{option} {path}={value}")),
            (Some(option), None) => ConfigSpan::argument(format!("{option} {path}=…")),
            (None, _) => ConfigSpan::argument(format!("override `{path}`")),
        }
    }
}

/// Reads a configuration: the path of a file (`*.json`, `*.toml`, anything else is BrainScript), or a text. A text is
/// JSON if it begins with a brace, else BrainScript; a brace, an equals sign or a line feed tells it from a path.
///
/// # Errors
/// A file that cannot be read, text that is no configuration, and overrides without a place.
pub fn load(
    config: &str,
    choices: &Choices,
    access: &dyn ConfigAccess,
    registry: Registry,
) -> Result<Loaded, Error> {
    let is_text = config.trim_start().starts_with('{') || config.contains('\n');
    let path = Path::new(config);
    let is_text = is_text || (config.contains('=') && !access.exists(path));
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let is_json = if is_text { config.trim_start().starts_with('{') } else { extension == "json" };
    let is_toml = !is_text && extension == "toml";
    if !is_json && !is_toml {
        return load_brainscript(config, is_text, choices, access, registry);
    }
    if let Some(argument) = choices.arguments.first() {
        let fault = TextFault::ArgumentOfOtherForm { argument: argument.clone() };
        return Err(ConfigError::refused("", &fault).into());
    }
    let text = if is_text { config.to_string() } else { access.read_text(path)? };
    let name = if is_text { "configuration".into() } else { path.display().to_string() };
    let parsed = if is_toml { toml::parse_file(&text, &name) } else { json::parse_file(&text, &name) };
    let mut tree = parsed.map_err(|e| e.within(&name))?;
    for (path, value) in &choices.overrides {
        override_value(&mut tree, path, value, false, choices)?;
    }
    let folder = if is_text { None } else { folder(path) };
    Ok(Loaded {
        tree,
        is_brainscript: false,
        folder,
        directory: String::new(),
        warnings: Vec::new(),
        registry,
    })
}

fn load_brainscript(
    config: &str,
    is_text: bool,
    choices: &Choices,
    access: &dyn ConfigAccess,
    registry: Registry,
) -> Result<Loaded, Error> {
    // The parser knows errors of configurations only. That of an unreadable file is kept here, to be returned as it is.
    let unreadable = RefCell::new(None);
    let read_file = |name: &str| {
        access.read_text(Path::new(name)).map_err(|e| {
            let error = ConfigError::refused("", &TextFault::Unreadable { what: e.to_string() });
            *unreadable.borrow_mut() = Some(e);
            error
        })
    };
    let loaded = parse_brainscript(config, is_text, choices, access, registry, &read_file);
    loaded.map_err(|e| unreadable.take().map_or(e.into(), Error::from))
}

fn parse_brainscript(
    config: &str,
    is_text: bool,
    choices: &Choices,
    access: &dyn ConfigAccess,
    registry: Registry,
    read: brainscript::ReadFile<'_>,
) -> Result<Loaded, ConfigError> {
    let mut arguments = Arguments::new();
    if is_text {
        arguments.text("configuration", config, read)?;
    } else if access.exists(Path::new(config)) {
        arguments.file(config, read)?;
    } else {
        arguments.files(config, read)?;
    }
    for argument in &choices.arguments {
        arguments.argument(argument, read)?;
    }
    for argument in &choices.arguments {
        arguments.check_sections(argument)?;
    }
    // Names at the top are variables: they have to be there before variables are replaced.
    let is_variable = |path: &str, value: &Value| {
        !path.contains(['.', '[', '/'])
            && matches!(one_line(value), Some(text) if !text.contains(['"', '\n']))
    };
    let (variables, places): (Vec<_>, Vec<_>) =
        choices.overrides.iter().partition(|(path, value)| is_variable(path, value));
    for (name, value) in variables {
        arguments.argument(&format!("{name}=\"{}\"", one_line(value).unwrap_or_default()), read)?;
    }
    let environment = |name: &str| access.variable(name);
    let variables = Variables { extended: choices.extended_variables, environment: Some(&environment) };
    let mut tree = arguments.tree(&variables)?;
    for (path, value) in places {
        override_value(&mut tree, &path.replace('/', "."), value, true, choices)?;
    }
    let unread = arguments.unread()?;
    let warnings =
        unread.iter().map(|(name, near)| format!("unused `{name}` of an argument, did you mean `{near}`?"));
    Ok(Loaded {
        tree,
        warnings: warnings.collect(),
        is_brainscript: true,
        folder: if is_text { None } else { folder(Path::new(config)) },
        directory: arguments.directory().to_string(),
        registry,
    })
}

/// Sets a value at a path that leads to something.
fn override_value(
    tree: &mut Section,
    path: &str,
    value: &Value,
    is_script: bool,
    choices: &Choices,
) -> Result<(), ConfigError> {
    let given = choices.span_of(path, value);
    check_way(tree, path, is_script).map_err(|e| e.at(Some(given.clone())))?;
    set_value(tree, path, value.clone(), Some(&given))
}

/// A value as BrainScript writes it in one line; `None` for lists and sections.
fn one_line(value: &Value) -> Option<String> {
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
