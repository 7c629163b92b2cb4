//! The files of a split, in their order (spec/tfds.md §1.5).

use super::template::Names;
use super::{FileFormat, SplitInfo};

/// Paths below the dataset's directory, sorted as paths are: folder by folder. Lengths belong to them in that order.
pub(super) fn files(dataset: &str, split: &SplitInfo, format: FileFormat) -> Vec<String> {
    let n_shards = split.shard_lengths.len();
    let names = Names { dataset, split: &split.name, suffix: format.suffix(), n_shards };
    let mut files: Vec<String> = (0..n_shards).map(|shard| split.template.name(names, shard)).collect();
    files.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    files
}
