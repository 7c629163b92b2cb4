//! Streams of examples as tf.data composes them: which record comes when follows from lengths, seeds and counts
//! alone.
//!
//! A [`StreamSpec`] describes the stream: spans of files, shuffled or not, interleaved, and then operations on the
//! examples. A [`Stream`] is traversed any number of times; each traversal is the next *pass* of every shuffle in it.
//! Nothing here depends on data, so the state of a stream is a few integers ([`StreamState`]), and any position of it
//! is found again without reading.
//!
//! Advice for the next editor. Going to a position is `skip` from the start of a traversal, which every layer does as
//! cheaply as it can, so there is one way to reach a position and not a second one, a state of each layer, that has
//! to agree with it. Closed formulas for whole compositions were rejected: they are wrong for the first composition
//! that was not considered (decision 12). A layer imitates one iterator of tf.data, including the passes that it
//! begins and never reads, because the next traversal's seeds show them.
//!
//! Start reading at `chain.rs`. `operators` has the operations, one in each file; `interleave` and `buffer` are the
//! two orders, `seeds` has their seeds. The rules are those of spec/tfds.md §8; `tests.rs` has a plain model of them.

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
