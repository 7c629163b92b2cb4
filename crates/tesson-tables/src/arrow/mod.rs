//! Arrow's columns: those of its own files, and of Parquet.
//!
//! | file | subject |
//! |---|---|
//! | `leaf` | fields of a schema, those within structs as `a.b` |
//! | `column` | arrays to columns of streams |
//! | `memory` | memory of a worker that is lent to Arrow's crates |
//! | `file` | Arrow's files and streams: record batches at offsets |

pub(crate) mod column;
mod file;
pub(crate) mod leaf;
pub(crate) mod memory;

pub(crate) use file::ARROW;
