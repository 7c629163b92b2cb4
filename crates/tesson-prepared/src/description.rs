//! The description of a dataset in the files beside the data: dataset_info.json, features.json, names of classes
//! (spec/tfds.md §1).

use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::PreparedRefusal;
use tesson_core::store::{Store, read_small, read_text, unreadable};
use tesson_core::{ConfigError, Error, StoreError};
use tesson_tfds::features::json::Parsed;
use tesson_tfds::features::{self, Feature};
use tesson_tfds::info::{self, Dataset, DatasetInfo};

/// Reads dataset_info.json, and sees that features.json is there.
pub(super) fn read_info(store: &dyn Store, directory: &Path) -> Result<DatasetInfo, Error> {
    let file = directory.join("dataset_info.json");
    let text = read_small(store, &file).map_err(|error| undescribed(store, directory, &file, error))?;
    let info = DatasetInfo::parse(&file.as_path().into(), &text)?;
    let features = directory.join("features.json");
    if info.features.is_none() && !is_file(store, &features) {
        let what = "there is no such file; TFDS 3.2.1 and older wrote none, prepare the dataset again";
        return Err(
            StoreError::new(features.into(), None, io::Error::new(io::ErrorKind::NotFound, what)).into()
        );
    }
    Ok(info)
}

fn is_file(store: &dyn Store, path: &Path) -> bool {
    store.entry(path).is_ok_and(|found| found.is_file())
}

/// The folder of the description: the directory itself, or, of a dataset's parent folder, that of its only version.
pub(super) fn version_directory(store: &dyn Store, directory: &Path) -> PathBuf {
    if store.entry(&directory.join("dataset_info.json")).is_ok() {
        return directory.to_path_buf();
    }
    let mut below = prepared_below(store, directory);
    if below.len() == 1 { below.remove(0) } else { directory.to_path_buf() }
}

/// The prepared datasets in a folder, as `VERSION` or `CONFIG/VERSION`, by name.
fn prepared_below(store: &dyn Store, directory: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let names = store.names(folder).unwrap_or_default().into_iter().take(LOOKED_AT);
        names.filter(|name| name.is_folder).map(|name| folder.join(name.name)).collect()
    };
    let is_prepared = |path: &PathBuf| is_file(store, &path.join("dataset_info.json"));
    let children = inside(directory);
    let grandchildren = children.iter().filter(|child| !is_prepared(child)).flat_map(|child| inside(child));
    let mut found: Vec<PathBuf> = grandchildren.filter(is_prepared).collect();
    found.extend(children.iter().filter(|child| is_prepared(child)).cloned());
    found.sort();
    found
}

/// Folders that are looked into, and datasets that are listed.
const LOOKED_AT: usize = 1000;
const LISTED: usize = 5;

/// The error of a description that cannot be read.
fn undescribed(store: &dyn Store, directory: &Path, file: &Path, error: io::Error) -> StoreError {
    if error.kind() != io::ErrorKind::NotFound || !store.entry(directory).is_ok_and(|found| found.is_folder())
    {
        return unreadable(store, file, error);
    }
    let below = prepared_below(store, directory);
    if !below.is_empty() {
        let first: Vec<String> =
            below.iter().take(LISTED).map(|path| format!("`{}`", path.display())).collect();
        let more = if below.len() > LISTED { ", …" } else { "" };
        let remedy = format!(
            "the folder holds {} prepared datasets, choose one: {}{more}",
            below.len(),
            first.join(", ")
        );
        return StoreError::new(file.into(), None, error).with_remedy(Some(remedy));
    }
    let there = store.remedy(directory, &io::ErrorKind::IsADirectory.into());
    let there = there.unwrap_or_else(|| format!("`{}` is empty", directory.display()));
    let remedy = format!("the folder of a prepared dataset is expected, {there}");
    StoreError::new(file.into(), None, error).with_remedy(Some(remedy))
}

/// The features of a dataset: what its description says of them, or features.json beside it. What was understood by
/// guessing is warned of.
///
/// # Errors
/// A file that cannot be read, or unknown features.
pub fn features_of(store: &dyn Store, dataset: &Dataset) -> Result<Feature, Error> {
    let directory = Path::new(&dataset.directories[0]);
    let parsed = features_in(store, directory, &dataset.info)?;
    parsed.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    refuse_encoders(store, directory, &parsed.root)?;
    Ok(parsed.root)
}

/// The features of a dataset with their classes, as front ends need them: [`Parsed::classes`].
///
/// # Errors
/// Those of [`features_of`].
pub fn feature_classes(store: &dyn Store, dataset: &Dataset) -> Result<serde_json::Value, Error> {
    Ok(features_in(store, Path::new(&dataset.directories[0]), &dataset.info)?.classes())
}

fn features_in(store: &dyn Store, directory: &Path, info: &DatasetInfo) -> Result<Parsed, Error> {
    if let Some(inline) = &info.features {
        return Ok(features::json::from_value(inline)?);
    }
    let file = directory.join("features.json");
    let text = read_text(store, &file)?;
    let named = |e: ConfigError| e.in_file(file.display().to_string());
    Ok(features::json::parse(&text).map_err(named)?)
}

/// Sees that directories that are read as one hold the same features (spec/tfds.md §7.5).
pub(super) fn same_features(store: &dyn Store, parts: &[(String, DatasetInfo)]) -> Result<(), Error> {
    let [(first, info), others @ ..] = parts else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    let first = features_in(store, Path::new(first), info)?.root;
    for (directory, info) in others {
        if let Some(path) = first.difference(&features_in(store, Path::new(directory), info)?.root) {
            let (feature, directory) = (path.to_string(), directory.clone());
            let refusal = PreparedRefusal::OtherFeatures { feature, directory };
            return Err(ConfigError::refused("dirs", &refusal).into());
        }
    }
    Ok(())
}

/// A file beside a text says that it was encoded by what no longer exists (spec/tfds.md §1.4).
fn refuse_encoders(store: &dyn Store, directory: &Path, features: &Feature) -> Result<(), Error> {
    let texts: Vec<(String, String)> = features
        .texts()
        .into_iter()
        .map(|keys| (format!("{}.text", info::file_stem(keys.iter().copied())), keys.join("/")))
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    let answer = |error| StoreError::new(directory.into(), None, error);
    let names = match store.names(directory) {
        // Where nothing can be listed nothing says that there is none, either.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(()),
        names => names.map_err(answer)?,
    };
    for name in names.into_iter().map(|inside| inside.name) {
        if let Some((_, path)) = texts.iter().find(|(begin, _)| name.starts_with(begin.as_str())) {
            let refusal = PreparedRefusal::OldEncoder { file: name };
            return Err(ConfigError::refused(path.as_str(), &refusal).into());
        }
    }
    Ok(())
}

/// The names of classes, for each feature that has any: the keys to it, joined by `/`, and its names. A feature without a
/// label file has the numbers of its classes for names (spec/tfds.md §1.4).
///
/// # Errors
/// A file that cannot be read, or has another number of names than the feature has classes.
pub fn labels_of(
    store: &dyn Store,
    dataset: &Dataset,
    features: &Feature,
) -> Result<Vec<(String, Vec<String>)>, Error> {
    let named = |(keys, n): (Vec<&str>, u64)| Ok((keys.join("/"), labels(store, dataset, &keys, n)?));
    let all: Vec<(String, Vec<String>)> =
        features.classes().into_iter().map(named).collect::<Result<_, Error>>()?;
    // Nothing says what the classes are, nor how many.
    Ok(all.into_iter().filter(|(_, names)| !names.is_empty()).collect())
}

/// Describes a dataset for other programs: name, version, format, splits, features and names of classes.
///
/// # Errors
/// Those of [`features_of`] and [`labels_of`].
pub fn describe(store: &dyn Store, dataset: &Dataset) -> Result<serde_json::Value, Error> {
    let features = features_of(store, dataset)?;
    let named = |(path, names): (String, Vec<String>)| {
        (path, serde_json::json!({"num_classes": names.len(), "names": names}))
    };
    let labels: serde_json::Map<_, _> =
        labels_of(store, dataset, &features)?.into_iter().map(named).collect();
    let mut described = dataset.describe();
    described["features"] = features.describe();
    described["labels"] = labels.into();
    Ok(described)
}

fn labels(store: &dyn Store, dataset: &Dataset, keys: &[&str], classes: u64) -> Result<Vec<String>, Error> {
    let name = info::label_file(keys.iter().copied());
    let file = Path::new(&dataset.directories[0]).join(&name);
    match read_small(store, &file) {
        Ok(text) => {
            let names = info::labels(&text);
            if classes > 0 && names.len() as u64 != classes {
                let (file, found) = (file.display().to_string(), names.len());
                let refusal = PreparedRefusal::LabelCount { file, found, classes };
                return Err(ConfigError::refused(keys.join("/"), &refusal).into());
            }
            Ok(names)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok((0..classes).map(|n| n.to_string()).collect())
        }
        Err(error) => Err(StoreError::new(file.into(), None, error).into()),
    }
}
