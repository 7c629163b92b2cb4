//! Parquet shards of prepared datasets: one column `data`, an example a row (spec/tfds.md §4).
//!
//! | file | subject |
//! |---|---|
//! | `index` | the file's end: row groups, and the column in them |
//! | `group` | the rows of a group, taken from its pages |
//! | `file` | reading runs and single records of a file |
//!
//! Pages have checksums only if their writer was asked for them; those that are there are checked.

mod file;
mod group;
mod index;

#[cfg(test)]
mod tests;

pub use file::ParquetFile;
