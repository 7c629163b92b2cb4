//! A dataset as it is read: its splits and their shards, from one directory or from several (spec/tfds.md §1.5, §7.5).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tesson_core::{ConfigError, DataError};

use super::template::Names;
use super::{DatasetInfo, FileFormat, Nest, SplitInfo};
use crate::refusal::DatasetRefusal;

/// File names that a description lists for each split.
const FILES_DESCRIBED: usize = 4;

/// A data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of its directory in the dataset.
    pub directory: usize,
    /// Its path below that.
    pub file: String,
    /// The number of its first record in the whole dataset.
    pub first: u64,
    /// Records that it holds.
    pub len: u64,
}

/// A split with its shards, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Its name.
    pub name: String,
    /// Its shards.
    pub shards: Vec<Shard>,
    /// Bytes of its examples, as far as the dataset says.
    pub n_bytes: u64,
}

impl Split {
    /// Records of all shards.
    pub fn n_examples(&self) -> u64 {
        self.shards.iter().map(|shard| shard.len).sum()
    }

    /// The number of its first record in the whole dataset.
    pub fn first(&self) -> u64 {
        self.shards.first().map_or(0, |shard| shard.first)
    }

    /// The shard that holds a record of this split, by its number in the whole dataset.
    pub fn shard_of(&self, record: u64) -> Option<&Shard> {
        // Of shards without records, which begin where the next one does, the last one is found.
        let n = self.shards.partition_point(|shard| shard.first <= record);
        self.shards[..n].last().filter(|shard| record - shard.first < shard.len)
    }

    /// Its description for other programs: the first file names alone, as there may be thousands.
    fn describe(&self) -> Value {
        let lengths: Vec<u64> = self.shards.iter().map(|shard| shard.len).collect();
        let files: Vec<&str> =
            self.shards.iter().take(FILES_DESCRIBED).map(|shard| shard.file.as_str()).collect();
        json!({"num_examples": self.n_examples(), "shard_lengths": lengths, "filenames": files})
    }
}

/// A prepared dataset. Its records are numbered through: splits and shards in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The description in the first directory.
    pub info: DatasetInfo,
    /// The directories, as they were given, with `/` between folders.
    pub directories: Vec<String>,
    /// The format that is read, which file names follow.
    pub file_format: FileFormat,
    /// The splits, in the order of the split `all`.
    pub splits: Vec<Split>,
    /// The remark that shuffling files changes nothing.
    pub(crate) idle_shuffle: Once,
    logged_damage: LoggedDamage,
}

/// Damage that has been logged of a dataset and its clones: each pass over it meets the same.
#[derive(Clone, Debug, Default)]
struct LoggedDamage(Arc<Mutex<BTreeSet<String>>>);

/// The most entries of damage that are remembered; further ones are logged in every pass.
const MOST_LOGGED: usize = 1000;

/// Always equal: the log is no part of a dataset.
impl PartialEq for LoggedDamage {
    fn eq(&self, _: &LoggedDamage) -> bool {
        true
    }
}

/// A remark that is made once for a dataset and its clones, however often it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Once(Arc<AtomicBool>);

impl Once {
    /// True at the first call.
    pub(crate) fn is_first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// Remarks are no part of a dataset.
impl PartialEq for Once {
    fn eq(&self, _: &Once) -> bool {
        true
    }
}

impl Dataset {
    /// True if this damage is met for the first time since the dataset was opened, and so should be logged.
    pub fn is_new_damage(&self, error: &DataError) -> bool {
        let mut logged = self.logged_damage.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = error.to_string();
        logged.len() >= MOST_LOGGED && !logged.contains(&text) || logged.insert(text)
    }

    /// A dataset of one directory, or of several: their splits of the same name are joined. `format` selects one of
    /// the available formats.
    ///
    /// # Errors
    /// No directory, directories of different datasets, or a format without shards.
    pub fn new(
        parts: Vec<(String, DatasetInfo)>,
        format: Option<FileFormat>,
    ) -> Result<Dataset, ConfigError> {
        let (directories, infos): (Vec<String>, Vec<DatasetInfo>) = parts.into_iter().unzip();
        let Some(info) = infos.first() else {
            return Err(ConfigError::refused("dirs", &DatasetRefusal::NoDirectory));
        };
        for (other, directory) in infos.iter().zip(&directories).skip(1) {
            check_same(info, other, directory)?;
        }
        let file_format = choose(info, format)?;
        let mut splits: Vec<Split> = Vec::new();
        for (directory, info) in infos.iter().enumerate() {
            for described in &info.splits {
                let files = shard_files(&info.name, described, file_format);
                let with_lengths = files.into_iter().zip(&described.shard_lengths);
                let shards = with_lengths.map(|(file, &len)| Shard { directory, file, first: 0, len });
                match splits.iter_mut().find(|split| split.name == described.name) {
                    Some(split) => {
                        split.shards.extend(shards);
                        split.n_bytes = split.n_bytes.saturating_add(described.n_bytes);
                    }
                    None => splits.push(Split {
                        name: described.name.clone(),
                        shards: shards.collect(),
                        n_bytes: described.n_bytes,
                    }),
                }
            }
        }
        let mut first = 0u64;
        for shard in splits.iter_mut().flat_map(|split| &mut split.shards) {
            shard.first = first;
            first = first
                .checked_add(shard.len)
                .ok_or_else(|| ConfigError::refused("splits", &DatasetRefusal::TooMany))?;
        }
        let info = info.clone();
        Ok(Dataset {
            info,
            directories,
            file_format,
            splits,
            idle_shuffle: Once::default(),
            logged_damage: LoggedDamage::default(),
        })
    }

    /// A split by its name.
    pub fn split(&self, name: &str) -> Option<&Split> {
        self.splits.iter().find(|split| split.name == name)
    }

    /// Records of all splits.
    pub fn n_examples(&self) -> u64 {
        self.splits.iter().map(Split::n_examples).sum()
    }

    /// The split that holds a record, by its number in the whole dataset.
    pub fn split_of(&self, record: u64) -> Option<&Split> {
        self.splits
            .iter()
            .find(|split| record.checked_sub(split.first()).is_some_and(|i| i < split.n_examples()))
    }

    /// Name, version, format and splits, without features.
    pub fn describe(&self) -> Value {
        let info = &self.info;
        let splits: Map<String, Value> =
            self.splits.iter().map(|split| (split.name.clone(), split.describe())).collect();
        json!({
            "name": info.name,
            "version": info.version.to_string(),
            "config": info.config,
            "file_format": self.file_format.suffix(),
            "disable_shuffling": info.disable_shuffling,
            "supervised_keys": info.supervised_keys.as_ref().map(Nest::describe),
            "splits": splits,
        })
    }
}

/// The files of a split: paths below the dataset's directory, sorted as paths are, folder by folder. Lengths belong to them
/// in that order (spec/tfds.md §1.5).
fn shard_files(dataset: &str, split: &SplitInfo, format: FileFormat) -> Vec<String> {
    let n_shards = split.shard_lengths.len();
    let names = Names { dataset, split: &split.name, suffix: format.suffix(), n_shards };
    let mut files: Vec<String> = (0..n_shards).map(|shard| split.template.name(names, shard)).collect();
    files.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    files
}

fn check_same(info: &DatasetInfo, other: &DatasetInfo, directory: &str) -> Result<(), ConfigError> {
    let identity = |info: &DatasetInfo| format!("{} {} in {}", info.name, info.version, info.file_format);
    if identity(info) == identity(other) {
        return Ok(());
    }
    let (directory, found, first) = (directory.to_owned(), identity(other), identity(info));
    Err(ConfigError::refused("dirs", &DatasetRefusal::Different { directory, found, first }))
}

fn choose(info: &DatasetInfo, wanted: Option<FileFormat>) -> Result<FileFormat, ConfigError> {
    let format = wanted.unwrap_or(info.file_format);
    if format != info.file_format && !info.alternative_formats.contains(&format) {
        let there = [info.file_format]
            .iter()
            .chain(&info.alternative_formats)
            .map(|f| f.suffix())
            .collect::<Vec<_>>();
        let refusal = DatasetRefusal::NoFiles { format: format.suffix(), there: there.join(", ") };
        return Err(ConfigError::refused("file_format", &refusal));
    }
    if format == FileFormat::Riegeli {
        return Err(ConfigError::refused("file_format", &DatasetRefusal::Riegeli));
    }
    Ok(format)
}

/// The shard lengths of `n` records in `shards` shards as TFDS writes them: shard `i` ends at `n · (i + 1) / shards`,
/// rounded, halves to even.
pub fn rounded_lengths(n: u64, shards: usize) -> Vec<u64> {
    let end = |i: usize| ((n as f64 * i as f64) / shards as f64).round_ties_even() as u64;
    (0..shards).map(|i| end(i + 1) - end(i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_end_at_rounded_places() {
        assert_eq!(rounded_lengths(5, 2), [2, 3]);
        assert_eq!(rounded_lengths(23, 4), [6, 6, 5, 6]);
        let imagenet = rounded_lengths(1281167, 1024);
        assert!(imagenet.iter().all(|len| [1251, 1252].contains(len)));
        assert_eq!(imagenet.iter().sum::<u64>(), 1281167);
    }
}
