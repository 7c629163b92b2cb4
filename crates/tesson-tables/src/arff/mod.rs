//! ARFF, the format of Weka: a header that names attributes and their types, and a row in each line after `@data`.
//!
//! | file | subject |
//! |---|---|
//! | `words` | the words of a line: in quotes or not, commas, braces |
//! | `row` | the values of a row, all or only some of them |
//! | `date` | times in the forms that headers give |
//! | `header` | the attributes |
//! | `table` | the rows of a file |

mod date;
mod header;
mod row;
mod table;
mod words;

pub use header::begins;
pub(crate) use table::ARFF;
