//! The name of each example: `tfds_id` (spec/tfds.md §8.10).

use std::collections::BTreeMap;

use crate::info::Dataset;
use crate::split::FileInstruction;

/// The ids of a plan's examples, by the numbers of their records in the whole dataset.
#[derive(Clone, Debug)]
pub struct Ids {
    /// For each file of the plan: its first record, the number of its records, and the prefix of its ids.
    files: Vec<(u64, u64, String)>,
}

impl Ids {
    /// The ids of the records that are read of these files.
    pub fn new(dataset: &Dataset, plan: &[FileInstruction]) -> Ids {
        let path = |file: &FileInstruction| {
            let shard = file.shard(dataset);
            format!("{}/{}", dataset.directories[shard.directory].trim_end_matches('/'), shard.file)
        };
        let by_first: BTreeMap<u64, (u64, String)> = plan
            .iter()
            .map(|file| (file.shard(dataset).first, (file.examples_in_shard, path(file))))
            .collect();
        let mut folders: Vec<&str> = by_first.values().map(|(_, path)| folder(path)).collect();
        folders.sort_unstable();
        folders.dedup();
        let common = (folders.len() > 1).then(|| common_suffix(&folders));
        let prefixes: Vec<String> =
            by_first.values().map(|(_, path)| prefix(path, common.as_deref()).to_owned()).collect();
        let files = by_first.into_iter().zip(prefixes);
        Ids { files: files.map(|((first, (len, _)), prefix)| (first, len, prefix)).collect() }
    }

    /// The id of a record; `None` if it is not of this plan's files.
    pub fn id(&self, record: u64) -> Option<String> {
        self.parts(record).map(|(prefix, i)| format!("{prefix}__{i}"))
    }

    /// The parts of an id: the file's prefix, and the number of the record in the file.
    pub fn parts(&self, record: u64) -> Option<(&str, u64)> {
        let n = self.files.partition_point(|(first, ..)| *first <= record);
        let (first, len, prefix) = self.files[..n].last()?;
        (record - first < *len).then_some((prefix.as_str(), record - first))
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The longest text, character by character, that all end with.
fn common_suffix(texts: &[&str]) -> String {
    let mut common: Vec<char> = texts.first().map_or(Vec::new(), |text| text.chars().rev().collect());
    for text in texts {
        let same = common.iter().zip(text.chars().rev()).take_while(|(a, b)| **a == *b).count();
        common.truncate(same);
    }
    common.into_iter().rev().collect()
}

/// The prefix of a file's ids: its name, or, if files lie in several folders, its path from the deepest folder in
/// which they differ.
fn prefix<'a>(path: &'a str, common: Option<&str>) -> &'a str {
    let Some(common) = common else { return path.rsplit_once('/').map_or(path, |(_, file)| file) };
    let Some(before) = folder(path).strip_suffix(common) else { return path };
    // The folder in which they differ: the text before the common part, back to a `/`, and not empty.
    match before.rsplit_once('/') {
        Some((left_out, differs)) if !differs.is_empty() => &path[left_out.len() + 1..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(paths: &[&str], expected: &[&str]) {
        let mut folders: Vec<&str> = paths.iter().map(|path| folder(path)).collect();
        folders.dedup();
        let common = common_suffix(&folders);
        let found: Vec<&str> = paths.iter().map(|path| prefix(path, Some(&common))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_of_several_folders_are_named_from_where_they_differ() {
        check(&["/d/jan/log/1.0.0/f", "/d/feb/log/1.0.0/f"], &["jan/log/1.0.0/f", "feb/log/1.0.0/f"]);
        check(&["/d/1/train/a", "/d/1/test/b"], &["train/a", "test/b"]);
        // The common part may begin within a name.
        check(&["/d/x1/a", "/d/y1/b"], &["x1/a", "y1/b"]);
        // No folder is left in which one of them differs, so the prefix is the whole path.
        check(&["/d/ab/f", "/d/b/f"], &["ab/f", "/d/b/f"]);
        check(&["a/f", "b/f"], &["a/f", "b/f"]);
    }
}
