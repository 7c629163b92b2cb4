//! TFRecord files of `tf.train.Example`s without a description: features are columns.
//!
//! | file | subject |
//! |---|---|
//! | `schema` | the columns, from the first records |
//! | `column` | the values of rows |
//! | `table` | the records of a file |
//! | `walk` | records one after the other, of any file of records |

mod column;
mod schema;
mod table;
pub(crate) mod walk;

pub(crate) use table::{Examples, TFRECORD};
