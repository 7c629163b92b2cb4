//! `tf.train.Example` messages: from their bytes straight into columns, and the way back (spec/tfds.md §5).
//!
//! A message is a map from keys to lists of bytes, floats or integers. The caller lists the keys that it wants and which
//! kind of list each has ([`FeatureSpec`]); a [`Parser`] then appends one row a message to each of the [`Columns`]. No map is
//! made and nothing is allocated for a record: what is not wanted is stepped over unread, and byte strings stay where they
//! are, as [`Span`]s of the bytes that were handed in.
//!
//! `wire.rs` takes protobuf's wire format apart, `list.rs` the three kinds of lists, `parse.rs` is the message itself,
//! `layout_cache.rs` the short way for messages that are laid out as one before, `survey.rs` the features that a message has,
//! `write.rs` the way back.

mod columns;
mod error;
mod layout_cache;
mod list;
mod parse;
mod survey;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub use columns::{Column, Columns, Kind, List, Span};
pub use error::{ExampleError, Fault};
pub use parse::{FeatureSpec, Parser};
pub use survey::{Surveyed, survey};
pub use write::{Value, write};
