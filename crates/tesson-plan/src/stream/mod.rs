//! Streams of examples as tf.data composes them: which record comes when, from lengths, seeds and counts alone.
//!
//! A [`StreamSpec`] says what is read: spans of files, shuffled or not, interleaved, and then operations on the examples.
//! A [`Stream`] is traversed any number of times; each traversal is the next *pass* of every shuffle in it.
//! Nothing here depends on data, so the state of a stream is a handful of integers ([`StreamState`]), and any position of it
//! is found again without reading.
//!
//! Start reading at `chain.rs`; `operators` has the operations, one a file, `interleave` and `buffer` are the two orders,
//! `seeds` their seeds. The rules are those of spec/tfds.md §8.

mod buffer;
mod buffer_state;
mod chain;
mod element_order;
mod files;
mod interleave;
mod operators;
mod passes;
mod seeds;
mod spec;
mod state;

#[cfg(test)]
mod tests;

pub use chain::Stream;
pub use element_order::{ElementOrder, ElementStep};
pub use files::Taken;
pub use operators::CountMismatch;
pub use seeds::{GlobalSeeds, SeedPair, Seeding};
pub use spec::{Span, StreamOp, StreamSpec};
pub use state::StreamState;
