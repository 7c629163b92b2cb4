//! TFRecord: records with checksums, back to back (spec/tfds.md §2).
//!
//! | file | subject |
//! |---|---|
//! | `scan` | one pass over a block: places of records, both checksums checked |
//! | `crc` | the checksum, and kernels for short records |
//! | `places` | where records lie, as far as is known |
//! | `file` | reading runs and single records of a file |
//! | `inflate` | compressed files, which are streams |
//! | `write` | the way back |
//!
//! The result for a record depends on the file's bytes alone. `places` only saves looking at
//! headers again; a file is read alike with and without what it knows.

mod crc;
mod file;
mod inflate;
mod places;
mod scan;
pub mod write;

#[cfg(test)]
mod tests;

pub use file::TfRecordFile;
