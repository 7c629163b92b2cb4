//! CSV, TSV and the like: fields between delimiters, in quotes where they contain some.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options |
//! | `records` | rows of bytes, with their offsets and lines |
//! | `split` | the fields of the rows of a block |
//! | `header` | delimiter, names and types, from the options and the first rows |
//! | `table` | the rows of a file |

mod header;
mod options;
mod records;
mod split;
mod table;

pub(crate) use options::CsvOptions;
pub use records::Records;
pub(crate) use table::CSV;
