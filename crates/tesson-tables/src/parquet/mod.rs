//! Parquet files whose rows are examples.
//!
//! | file | subject |
//! |---|---|
//! | `footer` | the file's end: schema, row groups, where pages are |
//! | `file` | the rows of a group |
//! | `walk` | where pages are, in files without an index of them |
//! | `bytes` | the parts of a file that are in memory |

mod bytes;
mod file;
mod footer;
mod walk;

pub(crate) use file::PARQUET;
