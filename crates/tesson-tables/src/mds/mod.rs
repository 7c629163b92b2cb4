//! Shards of Mosaic's streaming datasets (MDS), compressed by Zstandard or not at all: each declares its columns, and has the offset of each sample.
//!
//! | file | subject |
//! |---|---|
//! | `header` | the columns and offsets of a shard |
//! | `shard` | the rows of a shard |

mod header;
mod shard;

pub(crate) use shard::MDS;
