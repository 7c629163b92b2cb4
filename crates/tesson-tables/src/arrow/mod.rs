//! Arrow's columns: those of its own files, and of Parquet.
//!
//! | file | subject |
//! |---|---|
//! | `leaf` | fields of a schema, those within structs as `a.b` |
//! | `column` | arrays to columns of streams |
//! | `file` | Arrow's files and streams: record batches at offsets |

pub(crate) mod column;
mod file;
pub(crate) mod leaf;

pub(crate) use file::ARROW;
