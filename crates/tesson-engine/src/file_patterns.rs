//! Names of files that are patterns: a pattern stands for the files that it matches.

use std::path::{Path, PathBuf};

use tesson_core::{ConfigError, OptionKind, OptionTable, Section, Value};

use crate::braces;

/// Whether a name may be a pattern: it has a character of one.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['{', '*', '?', '['])
}

/// The files that a name stands for: itself, unless there is no such file and it is a pattern. Then braces, such as
/// `{000..012}` or `{train,test}`, stand for names in the order in which they are written, and `*`, `?` and `[…]` in each of these for
/// the files that match, by name. `path` is where the name stands in the configuration.
///
/// # Errors
/// A pattern that is none, or that no file matches.
pub fn matching(name: &str, path: &str) -> Result<Vec<PathBuf>, ConfigError> {
    if !is_pattern(name) || Path::new(name).exists() {
        return Ok(vec![PathBuf::from(name)]);
    }
    let names =
        braces::expanded(name).map_err(|e| ConfigError::new(path, format!("the pattern `{name}`: {e}")))?;
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        globbed(&name, path, &mut files)?;
    }
    Ok(files)
}

/// Appends the files that `*`, `?` and `[…]` in a name stand for.
fn globbed(name: &str, path: &str, files: &mut Vec<PathBuf>) -> Result<(), ConfigError> {
    if !name.contains(['*', '?', '[']) || Path::new(name).exists() {
        files.push(PathBuf::from(name));
        return Ok(());
    }
    let wrong = |e: &dyn std::fmt::Display| ConfigError::new(path, format!("the pattern `{name}`: {e}"));
    let before = files.len();
    for file in glob::glob(name).map_err(|e| wrong(&e))? {
        let file = file.map_err(|e| wrong(&e))?;
        if file.is_file() {
            files.push(file);
        }
    }
    match files.len() == before {
        true => Err(wrong(&"no file matches it")),
        false => Ok(()),
    }
}

/// Puts the files that patterns stand for into the options of a deserializer, also into those of sections within it.
///
/// # Errors
/// As [`matching`], and names that are no UTF-8.
pub fn expand(options: &mut Section, table: &OptionTable, path: &str) -> Result<(), ConfigError> {
    for (name, value) in &mut options.0 {
        let Some(spec) = table.find(name) else { continue };
        let path = format!("{path}.{name}");
        match (spec.kind, value) {
            (OptionKind::Files, value) => expand_files(value, &path)?,
            (OptionKind::Sections(inner) | OptionKind::Streams(inner), Value::Section(entries)) => {
                for (name, entry) in &mut entries.0 {
                    if let Value::Section(entry) = entry {
                        expand(entry, inner, &format!("{path}.{name}"))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The same for one option.
fn expand_files(value: &mut Value, path: &str) -> Result<(), ConfigError> {
    let given = match &mut *value {
        Value::List(files) => std::mem::take(files),
        one => vec![one.clone()],
    };
    let mut files = Vec::with_capacity(given.len());
    for value in given {
        let Value::Text(name) = &value else {
            files.push(value);
            continue;
        };
        for file in matching(name, path)? {
            let no_text = |file: PathBuf| {
                ConfigError::new(path, format!("found {}, expected a name in UTF-8", file.display()))
            };
            files.push(Value::Text(file.into_os_string().into_string().map_err(|f| no_text(f.into()))?));
        }
    }
    *value = if files.len() == 1 { files.remove(0) } else { Value::List(files) };
    Ok(())
}
