//! TFRecord files of `tf.train.Example`s without a description: features are columns.
//!
//! | file | subject |
//! |---|---|
//! | `schema` | the columns, from the first records |
//! | `column` | the values of rows |
//! | `table` | the records of a file |

mod column;
mod schema;
mod table;

pub(crate) use table::TFRECORD;
