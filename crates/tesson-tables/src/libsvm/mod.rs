//! The format of libsvm and svmlight: labels, perhaps a query, and pairs of index and value in each line.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the options |
//! | `line` | the parts of a line |
//! | `scan` | the columns, from a pass over the file |
//! | `table` | the rows of a file |

mod line;
mod options;
mod scan;
mod table;

pub use line::{Parts, pair, words};
pub(crate) use options::LibsvmOptions;
pub(crate) use table::LIBSVM;
