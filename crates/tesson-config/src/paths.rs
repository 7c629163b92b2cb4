//! File names relative to a folder of the user's choice.

use std::path::Path;

use tesson_core::{ConfigError, OptionKind, OptionTable, Section, Value};

/// Puts `base_dir` before every relative file name of a section: the options that `table` declares as paths, also
/// those of sections within it. `path` is where the section stands, for errors.
///
/// # Errors
/// A joined name that is no UTF-8, as configurations are.
pub(crate) fn resolve(
    section: &mut Section,
    table: &OptionTable,
    base_dir: &Path,
    path: &str,
) -> Result<(), ConfigError> {
    for (name, value) in &mut section.0 {
        let Some(spec) = table.find(name) else { continue };
        let path = format!("{path}.{name}");
        match (spec.kind, value) {
            (OptionKind::Path | OptionKind::Files, Value::Text(file)) => {
                *file = joined(base_dir, file, &path)?
            }
            (OptionKind::Paths | OptionKind::Files, Value::List(files)) => {
                for file in files {
                    if let Value::Text(file) = file {
                        *file = joined(base_dir, file, &path)?;
                    }
                }
            }
            (OptionKind::Paths, Value::Text(list)) => {
                let files = list.split(':').map(|file| joined(base_dir, file, &path));
                *list = files.collect::<Result<Vec<_>, _>>()?.join(":");
            }
            (OptionKind::Sections(inner) | OptionKind::Streams(inner), Value::Section(entries)) => {
                for (_, entry) in &mut entries.0 {
                    if let Value::Section(entry) = entry {
                        resolve(entry, inner, base_dir, &path)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn joined(base_dir: &Path, file: &str, path: &str) -> Result<String, ConfigError> {
    let joined = base_dir.join(file);
    joined.to_str().map(str::to_owned).ok_or_else(|| {
        ConfigError::new(path, format!("found the folder `{}`, expected a name in UTF-8", base_dir.display()))
    })
}
