//! The text of Vowpal Wabbit: a label, a tag, and features in namespaces in each line.
//!
//! | file | subject |
//! |---|---|
//! | `options` | the number of columns, and how names are hashed |
//! | `hash` | the columns of names |
//! | `line` | the parts of a line |
//! | `table` | the rows of a file |

mod hash;
mod line;
mod options;
mod table;

pub(crate) use options::VwOptions;
pub(crate) use table::VW;
