//! Tesson's plan, which decides which sequence comes when: orders, sharing, cutting and resume states.
//!
//! The plan is a pure function of (index, options, seed, position). It never sees data, threads, files or time, so
//! it can be tested at a billion sequences, printed without reading, and resumed from a handful of integers.
//! The rules are those of `docs/spec/engine.md`, and for streams of examples those of `docs/spec/tfds.md`.
//!
//! Start reading at [`Planner`]; `cut` forms minibatches, `order` has the orders, `resume` the states.
//! This crate follows the `tesson` façade and has no stability promise of its own.

#![forbid(unsafe_code)]

mod batch;
mod cut;
mod excluded;
mod join;
mod merge;
mod order;
mod planner;
mod refusal;
mod resume;
mod rng;
mod share;
mod size;
mod spec;
mod stream;
mod truncate;

#[cfg(test)]
mod tests;

pub use batch::{BatchKind, BatchPlan, BatchShare, BatchSlot, Cursor, Steps, WindowStart};
pub use excluded::ExcludedSequences;
pub use join::{
    JoinReport, JoinRules, Joined, JoinedChunk, Joiner, KeyColumns, MissingKeys, PartReport, Secondary,
    repeated_keys,
};
pub use merge::{Consumed, Layer, merge_states};
pub use order::{Bucketing, ChunkWindow, Global, OrderSpec, Tumbling, Window};
pub use planner::{Planner, Progress, StepSizes};
pub use refusal::PlanRefusal;
pub(crate) use refusal::Result;
pub use resume::{Fingerprint, ResumeState, STATE_VERSION, index_shape};
pub use rng::{DrawKey, Philox};
pub use share::{Demand, Share, Sharing};
pub use spec::{Ending, EqualSteps, LastSequence, Limit, PlanSpec};
pub use stream::{
    CountMismatch, ElementOrder, ElementStep, GlobalSeeds, SeedPair, Seeding, Span, Stream, StreamOp,
    StreamSpec, StreamState, Taken,
};
pub use truncate::{
    PendingSequence, Segment, SegmentLength, SlotState, Slots, SlotsShape, SlotsState, Truncation,
};
