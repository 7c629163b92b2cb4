//! JSON lines: an object in each line, whose members are columns.
//!
//! | file | subject |
//! |---|---|
//! | `schema` | the columns, from the first rows |
//! | `parse` | the values of a line, straight into columns |
//! | `table` | the rows of a file |

mod parse;
mod schema;
mod table;

pub(crate) use table::JSON_LINES;
