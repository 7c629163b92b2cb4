//! Truncation: sequences cut into pieces.

use tesson_core::{ConfigError, Options, Value, options};
use tesson_plan::{SegmentLength, Truncation};

use crate::{ConfigConflict, Result};

options! {
    /// Sequences cut into pieces, or not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TruncationConfig(options) {
        /// Samples of a piece, if `slots` is 0.
        pub length: u64 = "truncationLength", "0"
            => "Number of samples of a sequence in one truncated minibatch; 0 turns truncation off.";
        /// Pieces side by side in a minibatch, whose size then says how long they are; 0: `length` says it.
        pub slots: u64 = "truncationSlots", "0"
            => "In place of `truncationLength`: number of segments side by side in a minibatch; their length is the size of the \
             minibatch divided by it, also if sizes change from epoch to epoch.";
        expect length_or_slots(options, length, slots);
        /// Samples by which a piece repeats the end of the one before it.
        pub right_splice: u64 = "rightSplice", "0"
            => "Number of samples by which a segment of a truncated sequence repeats the end of the segment before it.";
        /// True: sequences are cut. Python says only how long pieces are (0 is off), BrainScript says whether; then the length alone
        /// means nothing.
        pub is_on: bool = "truncated", optional
            => "Cut sequences into segments of `truncationLength` samples; by default true if that or `truncationSlots` is given."
            [listed after "frameMode"]
            [otherwise length > 0 || slots > 0]
            [describe as |truncation| Value::Bool(truncation.is_on)];
        /// True: sparse streams stay sparse; false: they become dense, as in the reference.
        pub keep_sparse: bool = "keepSparse", "false"
            => "Keep sparse streams sparse when truncating; the reference makes them dense.";
    }
}

fn length_or_slots(options: &Options<'_>, length: u64, slots: u64) -> Result<()> {
    if length == 0 || slots == 0 {
        return Ok(());
    }
    let path = options.path("truncationSlots");
    Err(ConfigError::refused(path, &ConfigConflict::LengthAndSlots { length, slots }))
}

impl TruncationConfig {
    /// The truncation, as the plan knows it, if sequences are cut.
    pub fn spec(&self) -> Option<Truncation> {
        let TruncationConfig { length, slots, right_splice, is_on, keep_sparse } = *self;
        let length = if slots > 0 { SegmentLength::BySlots(slots) } else { SegmentLength::Samples(length) };
        is_on.then_some(Truncation { length, right_splice, keep_sparse })
    }
}
