//! Names of files that are patterns: a pattern stands for the files that it matches.

use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use tesson_core::{ConfigError, Listing, OptionKind, OptionTable, Section, Value};

use crate::braces;
use crate::refusal::EngineRefusal;
use crate::store::{Store, file_glob};

/// True if a name may be a pattern: it contains a pattern character.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['{', '*', '?', '['])
}

/// The files that a name stands for: itself, unless there is no such file and it is a pattern. Then braces, such as
/// `{000..012}` or `{train,test}`, stand for names in the order in which they are written, and `*`, `?` and `[…]` in each of these for
/// the files of the store that match, by name. `path` is where the name stands in the configuration.
///
/// # Errors
/// A pattern that is none, or that no file matches.
pub fn matching(store: &dyn Store, name: &str, path: &str) -> Result<Vec<PathBuf>, ConfigError> {
    if !is_pattern(name) || exists(store, name) {
        return Ok(vec![PathBuf::from(name)]);
    }
    let names = braces::expanded(name).map_err(|e| refused(path, name, &e))?;
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        globbed(store, &name, path, &mut files)?;
    }
    Ok(files)
}

/// The error of a pattern that is none.
fn refused(path: &str, name: &str, reason: &dyn std::fmt::Display) -> ConfigError {
    let (pattern, reason) = (name.to_owned(), reason.to_string());
    ConfigError::refused(path, &EngineRefusal::BadPattern { pattern, reason })
}

/// True if there is something of this name.
fn exists(store: &dyn Store, name: &str) -> bool {
    store.entry(Path::new(name)).is_ok()
}

/// Appends the files that `*`, `?` and `[…]` in a name stand for.
fn globbed(store: &dyn Store, name: &str, path: &str, files: &mut Vec<PathBuf>) -> Result<(), ConfigError> {
    if !name.contains(['*', '?', '[']) || exists(store, name) {
        files.push(PathBuf::from(name));
        return Ok(());
    }
    let local = store.local_path(Path::new(name));
    let found = match local.as_deref().and_then(Path::to_str) {
        Some(local) => file_glob(local),
        None => listed(store, name),
    };
    let found = found.map_err(|e| refused(path, name, &e))?;
    if found.is_empty() {
        return Err(ConfigError::refused(path, &EngineRefusal::NoFileMatches { pattern: name.to_owned() }));
    }
    files.extend(found);
    Ok(())
}

/// The files of a store that a pattern matches: those below the last folder that is named without one. `*` and `?` stand for
/// characters within a name, `**` for any folders.
fn listed(store: &dyn Store, pattern: &str) -> io::Result<Vec<PathBuf>> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let matched = Pattern::new(pattern).map_err(io::Error::other)?;
    let literal = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    let folder = pattern[..literal].rfind('/').map_or("", |end| &pattern[..end]);
    let listing = store.list(Path::new(folder))?.into_bytes();
    let names = Listing::names(&listing).into_iter().flatten().filter(|name| !name.ends_with('/'));
    let names = names.map(|name| if folder.is_empty() { name.into() } else { format!("{folder}/{name}") });
    Ok(names.filter(|name| matched.matches_with(name, options)).map(PathBuf::from).collect())
}

/// Puts the files that patterns stand for into the options of a deserializer, also into those of sections within it.
///
/// # Errors
/// Those of [`matching`], and names that are no UTF-8.
pub fn expand(
    store: &dyn Store,
    options: &mut Section,
    table: &OptionTable,
    path: &str,
) -> Result<(), ConfigError> {
    for (name, value) in &mut options.0 {
        let Some(spec) = table.find(name) else { continue };
        let path = format!("{path}.{name}");
        match (spec.kind, value) {
            (OptionKind::Files, value) => expand_files(store, value, &path)?,
            (OptionKind::Sections(inner) | OptionKind::Streams(inner), Value::Section(entries)) => {
                for (name, entry) in &mut entries.0 {
                    if let Value::Section(entry) = entry {
                        expand(store, entry, inner, &format!("{path}.{name}"))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Expands the patterns in the value of one option.
fn expand_files(store: &dyn Store, value: &mut Value, path: &str) -> Result<(), ConfigError> {
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
        for file in matching(store, name, path)? {
            let no_text =
                |file: PathBuf| ConfigError::wrong_form(path, file.display().to_string(), "a name in UTF-8");
            files.push(Value::Text(file.into_os_string().into_string().map_err(|f| no_text(f.into()))?));
        }
    }
    *value = if files.len() == 1 { files.remove(0) } else { Value::List(files) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn a_pattern_stands_for_the_files_of_any_store_that_can_list() {
        let names =
            ["far://d/b-2.ctf", "far://d/b-1.ctf", "far://d/in/b-3.ctf", "far://d/c.ctf", "far://d/[c].ctf"];
        let store = names.iter().fold(MemoryStore::new(), |store, name| store.with(name, *b""));
        let found = |name: &str| {
            let found = matching(&store, name, "file").map_err(|e| e.to_string());
            found.map(|files| files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(found("far://d/b-*.ctf").unwrap(), ["far://d/b-1.ctf", "far://d/b-2.ctf"]);
        assert_eq!(found("far://d/**/b-*.ctf").unwrap().len(), 3);
        assert_eq!(found("far://d/{c,b-1}.ctf").unwrap(), ["far://d/c.ctf", "far://d/b-1.ctf"]);
        assert_eq!(found("far://d/[c].ctf").unwrap(), ["far://d/[c].ctf"]);
        assert_eq!(found("far://d/x*").unwrap_err(), "file: the pattern `far://d/x*`: no file matches it");
    }
}
