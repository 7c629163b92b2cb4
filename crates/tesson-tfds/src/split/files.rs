//! Converting ranges of records into the records that are read of each file (spec/tfds.md §7.3).

use tesson_core::ConfigError;

use super::{Absolute, wrong};
use crate::info::{Dataset, Shard};
use crate::refusal::SplitRefusal;

/// The range of records that is read of a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FileInstruction {
    /// The number of the file's split in the dataset.
    pub split: usize,
    /// The number of the shard in that split.
    pub shard: usize,
    /// Records left out at its beginning.
    pub skip: u64,
    /// Records read then.
    pub take: u64,
    /// Records that the file holds.
    pub examples_in_shard: u64,
}

impl FileInstruction {
    /// The file.
    pub fn shard<'a>(&self, dataset: &'a Dataset) -> &'a Shard {
        &dataset.splits[self.split].shards[self.shard]
    }

    /// True if the file is read to its end.
    pub fn reaches_the_end(&self) -> bool {
        self.skip.checked_add(self.take) == Some(self.examples_in_shard)
    }
}

/// The ranges that are read of each file, part after part.
///
/// # Errors
/// A slice that ends before it begins, within one file: TFDS fails on it when it is read.
pub fn file_instructions(parts: &[Absolute], dataset: &Dataset) -> Result<Vec<FileInstruction>, ConfigError> {
    let mut plan = Vec::new();
    for part in parts {
        if part.from > part.to {
            let name = &dataset.splits[part.split].name;
            tracing::warn!("{name}[{}:{}] ends before it begins and selects nothing", part.from, part.to);
        }
        of_part(*part, dataset, &mut plan)?;
    }
    Ok(plan)
}

fn of_part(part: Absolute, dataset: &Dataset, plan: &mut Vec<FileInstruction>) -> Result<(), ConfigError> {
    let split = &dataset.splits[part.split];
    let mut start = 0;
    for (shard, file) in split.shards.iter().enumerate() {
        let len = file.len as i64;
        let end = start + len;
        if len > 0 && part.from < end && part.to > start {
            let skip = (part.from - start).max(0);
            let take = if part.to < end { part.to - start - skip } else { len - skip };
            let Ok(take) = u64::try_from(take) else {
                let (split, from, to) = (split.name.clone(), part.from, part.to);
                return Err(wrong(&SplitRefusal::Backwards { split, from, to }));
            };
            if take > 0 {
                let (skip, examples_in_shard) = (skip as u64, file.len);
                plan.push(FileInstruction { split: part.split, shard, skip, take, examples_in_shard });
            }
        }
        start = end;
    }
    Ok(())
}
