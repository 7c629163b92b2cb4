//! File names relative to a folder of the user's choice.

use std::path::Path;
use std::slice;

use crate::ReaderRefusal;
use crate::Result;
use tesson_core::{ConfigError, OptionKind, OptionTable, Registry, Section, Value};

/// Puts `base_dir` before every relative file name of a section: the options that `table` declares as paths, also
/// those of sections and transforms within it. `path` is where the section stands, for errors. What stands for no
/// file, and transforms of unknown types, are left for others to look at.
///
/// # Errors
/// A joined name that is no UTF-8, as configurations are.
pub(crate) fn resolve(
    section: &mut Section,
    table: &OptionTable,
    base_dir: &Path,
    registry: &Registry,
    path: &str,
) -> Result<()> {
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
                        resolve(entry, inner, base_dir, registry, &path)?;
                    }
                }
            }
            (OptionKind::Transforms, value) => {
                let list =
                    if let Value::List(list) = value { list.as_mut_slice() } else { slice::from_mut(value) };
                for (i, transform) in list.iter_mut().enumerate() {
                    if let Value::Section(transform) = transform {
                        resolve_transform(transform, base_dir, registry, &format!("{path}[{i}]"))?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Resolves the paths of a transform, whose table is that of its type.
pub(crate) fn resolve_transform(
    transform: &mut Section,
    base_dir: &Path,
    registry: &Registry,
    path: &str,
) -> Result<()> {
    let Some(Value::Text(kind)) = transform.get("type") else { return Ok(()) };
    let Ok(format) = registry.find_transform(kind, "") else { return Ok(()) };
    resolve(transform, format.options, base_dir, registry, path)
}

/// True if a name is a URL, which names its store and is never relative.
fn is_url(file: &str) -> bool {
    file.contains("://")
}

fn joined(base_dir: &Path, file: &str, path: &str) -> Result<String> {
    // As for every option: nothing was given, or nothing is relative.
    if file.is_empty() || file == "default" || is_url(file) {
        return Ok(file.into());
    }
    let joined = base_dir.join(file);
    joined.to_str().map(str::to_owned).ok_or_else(|| {
        let folder = base_dir.display().to_string();
        ConfigError::refused(path, &ReaderRefusal::FolderNotUtf8 { folder })
    })
}
