//! Finding the directory of a dataset by its name (spec/tfds.md §1.1).

use std::io;

use super::{DatasetName, Version};

/// A view of a data directory for resolving names. Paths are below it, with `/` between folders.
pub trait Folders {
    /// True if the file exists.
    fn has_file(&self, path: &str) -> bool;

    /// The text of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Names of the folders in a folder, in any order; none if the folder does not exist.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn folders(&self, path: &str) -> io::Result<Vec<String>>;
}

/// A directory that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Below the data directory.
    pub path: String,
    /// Newer versions that were passed over, since they do not hold both JSON files.
    pub incomplete: Vec<String>,
}

/// Looks for a dataset in one data directory; `None` if it does not exist there.
///
/// # Errors
/// The errors of [`Folders`].
pub fn resolve(folders: &dyn Folders, name: &DatasetName) -> io::Result<Option<Resolved>> {
    let exact = name.version.and_then(|version| version.exact());
    let asked = match &name.config {
        None => name.name.clone(),
        Some(config) => format!("{}/{config}", name.name),
    };
    let at = |base: &str, version: Version| format!("{base}/{version}");
    let found = |path| Some(Resolved { path, incomplete: Vec::new() });
    // Of a version that is named the description may be missing: opening it says so.
    if let Some(version) = exact
        && has_features(folders, &at(&asked, version))
    {
        return Ok(found(at(&asked, version)));
    }
    let config = match name.config {
        None => default_config(folders, &name.name)?,
        Some(_) => None,
    };
    let base = config.map_or(asked, |config| format!("{}/{config}", name.name));
    if let Some(version) = exact {
        let path = at(&base, version);
        return Ok(has_features(folders, &path).then(|| Resolved { path, incomplete: Vec::new() }));
    }
    let wanted = |version: &Version| name.version.is_none_or(|pattern| pattern.matches(*version));
    let mut versions: Vec<Version> =
        folders.folders(&base)?.iter().filter_map(|folder| folder.parse().ok()).filter(wanted).collect();
    versions.sort_unstable();
    // TFDS looks at the newest only; a half-written one must not hide the others.
    let mut incomplete = Vec::new();
    for version in versions.into_iter().rev() {
        let path = at(&base, version);
        if is_dataset(folders, &path) {
            return Ok(Some(Resolved { path, incomplete }));
        }
        incomplete.push(path);
    }
    Ok(None)
}

/// Names of all datasets in one data directory, in their order.
///
/// # Errors
/// The errors of [`Folders`].
pub fn names(folders: &dyn Folders) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in folders.folders("")? {
        if name.parse::<DatasetName>().is_ok_and(|parsed| parsed.name == name)
            && !versions(folders, &name)?.is_empty()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// All configurations and versions of a dataset in one data directory, as names that resolve to them.
///
/// # Errors
/// The errors of [`Folders`].
pub fn versions(folders: &dyn Folders, name: &str) -> io::Result<Vec<String>> {
    let of = |base: String| -> io::Result<Vec<(String, Version)>> {
        let versions = folders.folders(&base)?.into_iter().filter_map(|folder| folder.parse().ok());
        let whole = versions.filter(|version| is_dataset(folders, &format!("{base}/{version}")));
        Ok(whole.map(|version| (base.clone(), version)).collect())
    };
    let mut found = of(name.to_owned())?;
    for config in folders.folders(name)? {
        if config.parse::<Version>().is_err() {
            found.extend(of(format!("{name}/{config}"))?);
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(base, version)| format!("{base}:{version}")).collect())
}

fn is_dataset(folders: &dyn Folders, path: &str) -> bool {
    has_features(folders, path) && folders.has_file(&format!("{path}/dataset_info.json"))
}

fn has_features(folders: &dyn Folders, path: &str) -> bool {
    folders.has_file(&format!("{path}/features.json"))
}

fn default_config(folders: &dyn Folders, name: &str) -> io::Result<Option<String>> {
    let Some(text) = folders.read(&format!("{name}/.config/metadata.json"))? else { return Ok(None) };
    let json: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let config = json.as_ref().and_then(|json| json.get("default_config_name")?.as_str());
    // The name of a folder, not a way out of the data directory.
    let is_folder = |config: &&str| !config.is_empty() && !config.contains('/') && *config != "..";
    Ok(config.filter(is_folder).map(str::to_owned))
}
