//! Parquet files whose rows are examples.
//!
//! | file | subject |
//! |---|---|
//! | `footer` | the file's end: schema, row groups, where pages are |
//! | `file` | the rows of a group |
//! | `bytes` | the parts of a file that are in memory |

mod bytes;
mod file;
mod footer;

pub(crate) use file::PARQUET;
