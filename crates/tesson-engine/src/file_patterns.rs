//! Names of files that are patterns: a pattern stands for the files that it matches.

use std::path::{Path, PathBuf};

use tesson_core::{ConfigError, OptionKind, OptionTable, Section, Value};

/// The files that a name stands for: itself, unless there is no such file and it is a pattern with `*`, `?` or `[…]`;
/// then those that match, by name. `path` is where the name stands in the configuration.
///
/// # Errors
/// A pattern that is none, or that no file matches.
pub fn matching(name: &str, path: &str) -> Result<Vec<PathBuf>, ConfigError> {
    if !name.contains(['*', '?', '[']) || Path::new(name).exists() {
        return Ok(vec![PathBuf::from(name)]);
    }
    let wrong = |e: &dyn std::fmt::Display| ConfigError::new(path, format!("the pattern `{name}`: {e}"));
    let mut files = Vec::new();
    for file in glob::glob(name).map_err(|e| wrong(&e))? {
        let file = file.map_err(|e| wrong(&e))?;
        if file.is_file() {
            files.push(file);
        }
    }
    match files.is_empty() {
        true => Err(wrong(&"no file matches it")),
        false => Ok(files),
    }
}

/// Puts the files that patterns stand for into the options of a deserializer.
///
/// # Errors
/// As [`matching`], and names that are no UTF-8.
pub fn expand(options: &mut Section, table: &OptionTable, path: &str) -> Result<(), ConfigError> {
    for (name, value) in &mut options.0 {
        if table.find(name).is_none_or(|spec| spec.kind != OptionKind::Files) {
            continue;
        }
        let path = format!("{path}.{name}");
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
            for file in matching(name, &path)? {
                let no_text = |file: PathBuf| {
                    ConfigError::new(&path, format!("found {}, expected a name in UTF-8", file.display()))
                };
                files.push(Value::Text(file.into_os_string().into_string().map_err(|f| no_text(f.into()))?));
            }
        }
        *value = if files.len() == 1 { files.remove(0) } else { Value::List(files) };
    }
    Ok(())
}
