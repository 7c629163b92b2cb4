//! Finds datasets by name below data directories, and opens them by directory.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::{env, io};

use tesson_core::store::{Store, read_small, unreadable};
use tesson_core::{ConfigError, Error, StoreError};
use tesson_tfds::info::{self, Dataset, DatasetInfo, DatasetName, FileFormat};

use crate::description::{self, read_info, same_features};
use crate::refusal::PreparedRefusal;

/// Opens the dataset of a version directory. No shard is opened.
///
/// # Errors
/// A description that is missing or cannot be read.
pub fn open(store: &dyn Store, directory: impl AsRef<Path>) -> Result<Dataset, Error> {
    open_all(store, &[directory], None)
}

/// Opens the dataset of one or several directories whose splits are joined, in one of its formats; by default the one
/// that it names.
///
/// # Errors
/// Those of [`open`]; directories of different datasets; a format in which there are no shards.
pub fn open_all(
    store: &dyn Store,
    directories: &[impl AsRef<Path>],
    format: Option<FileFormat>,
) -> Result<Dataset, Error> {
    let describe = |directory: &Path| {
        let directory = &description::version_directory(store, directory);
        let name = directory.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        Ok::<_, Error>((name, read_info(store, directory)?))
    };
    let parts = directories.iter().map(|directory| describe(directory.as_ref()));
    let parts: Vec<(String, DatasetInfo)> = parts.collect::<Result<_, _>>()?;
    same_features(store, &parts)?;
    Ok(Dataset::new(parts, format)?)
}

/// The version directory that a name such as `mnist` or `ds/config:1.*.*` stands for, below one of several data
/// directories.
///
/// # Errors
/// A name that is none; one that is found nowhere or in more than one directory; folders that cannot be listed.
pub fn find(store: &dyn Store, name: &str, data_dirs: &[impl AsRef<Path>]) -> Result<PathBuf, Error> {
    let name: DatasetName = name.parse()?;
    if let [only] = data_dirs
        && let Err(error) = store.entry(only.as_ref())
    {
        let only = only.as_ref();
        // The user did not name the default directory, so listing what lies beside it would not help.
        if error.kind() == io::ErrorKind::NotFound && only == default_data_dir() {
            let remedy = format!("it is where `{name}` is looked for{NOT_PREPARED}");
            return Err(StoreError::new(only.into(), None, error).with_remedy(Some(remedy)).into());
        }
        return Err(unreadable(store, only, error).into());
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in data_dirs.iter().map(AsRef::as_ref) {
        let in_dir = info::resolve(&DataDir(store, dir), &name);
        let Some(resolved) = in_dir.map_err(|error| StoreError::new(dir.into(), None, error))? else {
            continue;
        };
        for path in &resolved.incomplete {
            tracing::warn!("{}: passed over, it holds no whole dataset", dir.join(path).display());
        }
        found.push(dir.join(resolved.path));
    }
    let several = || found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let looked: Vec<String> =
                data_dirs.iter().map(|dir| dir.as_ref().display().to_string()).collect();
            let (looked, hint) = (looked.join(", "), there_are(store, &name, data_dirs)?);
            let refusal = PreparedRefusal::NotFound { name: name.to_string(), looked, hint };
            Err(ConfigError::refused("name", &refusal).into())
        }
        _ => {
            let refusal = PreparedRefusal::FoundTwice { name: name.to_string(), several: several() };
            Err(ConfigError::refused("name", &refusal).into())
        }
    }
}

/// Names of the datasets below data directories, in their order.
///
/// # Errors
/// Folders that cannot be listed.
pub fn list(store: &dyn Store, data_dirs: &[impl AsRef<Path>]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for dir in data_dirs.iter().map(AsRef::as_ref) {
        let names = info::names(&DataDir(store, dir));
        found.extend(names.map_err(|error| StoreError::new(dir.into(), None, error))?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The versions of a dataset that could have been meant, as the rest of a sentence.
fn there_are(store: &dyn Store, name: &DatasetName, data_dirs: &[impl AsRef<Path>]) -> Result<String, Error> {
    let mut found = Vec::new();
    for dir in data_dirs.iter().map(AsRef::as_ref) {
        let in_dir = info::versions(&DataDir(store, dir), &name.name);
        found.extend(in_dir.map_err(|error| StoreError::new(dir.into(), None, error))?);
    }
    let named: Vec<String> = found.iter().map(|version| format!("`{version}`")).collect();
    Ok(match named.len() {
        0 => similar(store, name, data_dirs),
        1 => format!("; there is {}", named[0]),
        _ => format!("; there are {}", named.join(", ")),
    })
}

/// The remedy for a dataset that is not found.
const NOT_PREPARED: &str = "; nothing is downloaded: prepare the dataset first, or name the data directory that holds it \
     (`data_dir`, or the environment variable TFDS_DATA_DIR)";

/// The folder of a data directory whose name is like a dataset's, or what to do instead, as the rest of a sentence.
fn similar(store: &dyn Store, name: &DatasetName, data_dirs: &[impl AsRef<Path>]) -> String {
    let inside = data_dirs.iter().flat_map(|dir| store.names(dir.as_ref()).unwrap_or_default());
    let mut names: Vec<String> = inside.map(|inside| inside.name).collect();
    names.sort();
    let near = tesson_core::nearest(&name.name, names.iter().map(String::as_str));
    let near = near.filter(|near| *near != name.name);
    near.map_or_else(|| NOT_PREPARED.to_owned(), |near| format!(", did you mean `{near}`?"))
}

/// Where datasets are looked for when nothing is said: `TFDS_DATA_DIR`, else `~/tensorflow_datasets`.
pub fn default_data_dir() -> PathBuf {
    let home = || env::home_dir().unwrap_or_default().join("tensorflow_datasets");
    env::var_os("TFDS_DATA_DIR").filter(|dir| !dir.is_empty()).map_or_else(home, PathBuf::from)
}

/// Random bits for seeds that were not given; what is drawn is listed in [`Plan::drawn`](tesson_tfds::reading::Plan::drawn).
pub fn random_seed() -> u64 {
    // Each `RandomState` has new keys that came from the system.
    RandomState::new().hash_one(0u8)
}

/// A data directory in a store.
struct DataDir<'a>(&'a dyn Store, &'a Path);

impl info::Folders for DataDir<'_> {
    fn has_file(&self, path: &str) -> bool {
        self.0.entry(&self.1.join(path)).is_ok_and(|found| found.is_file())
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match read_small(self.0, &self.1.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        match self.0.names(&self.1.join(path)) {
            Ok(names) => Ok(names.into_iter().filter(|name| name.is_folder).map(|name| name.name).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
