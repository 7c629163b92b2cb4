//! Truncation: sequences cut into pieces.

use tesson_core::{ConfigError, OptionKind, Options, Value, options};
use tesson_plan::{SegmentLength, Truncation};

use crate::lower::truncation_slots;
use crate::{ConfigConflict, Result, Schedule, schedule};

options! {
    /// Sequences cut into pieces, or not.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TruncationConfig(options) {
        /// Samples of a piece, if `slots` is `None`.
        pub length: u64 = "truncationLength", "0"
            => "Number of samples of a sequence in one truncated minibatch; 0 turns truncation off."
            [identity after "outerJoin" with |truncation, text| {
                let length = truncation.slots.is_none().then_some(truncation.length);
                text.maybe("truncationLength", length.filter(|_| truncation.is_on))
            }];
        /// Pieces side by side in a minibatch, by epoch; its size then says how long they are. `None`: `length` says it.
        pub slots: Option<Schedule> = "truncationSlots": OptionKind::Text, "0"
            => "In place of `truncationLength`: number of segments side by side in a minibatch, or a schedule of it over epochs \
             such as `4*2:16`; their length is the size of the minibatch divided by it, also if sizes change from epoch to epoch."
            [read truncation_slots(options)?]
            [describe as |truncation| slots_value(truncation.slots.as_ref())]
            [identity after "truncationLength" with |truncation, text| {
                let slots = truncation.slots.as_ref().filter(|_| truncation.is_on);
                text.maybe("truncationSlots", slots.map(slots_in_full))
            }];
        expect length_or_slots(options, length, slots.as_ref());
        /// Samples by which a piece repeats the end of the one before it.
        pub right_splice: u64 = "rightSplice", "0"
            => "Number of samples by which a segment of a truncated sequence repeats the end of the segment before it."
            [identity after "truncationSlots" with |truncation, text| {
                text.maybe("rightSplice", truncation.is_on.then_some(truncation.right_splice))
            }];
        /// True: sequences are cut. Python says only how long pieces are (0 is off), BrainScript says whether; then the length alone
        /// means nothing.
        pub is_on: bool = "truncated", optional
            => "Cut sequences into segments of `truncationLength` samples; by default true if that or `truncationSlots` is given."
            [listed after "frameMode"]
            [otherwise length > 0 || slots.is_some()]
            [describe as |truncation| Value::Bool(truncation.is_on)];
        /// True: sparse streams stay sparse; false: they become dense, as in the reference.
        pub keep_sparse: bool = "keepSparse", "false"
            => "Keep sparse streams sparse when truncating; the reference makes them dense."
            [identity after "rightSplice" with |truncation, text| {
                text.maybe("keepSparse", truncation.is_on.then_some(truncation.keep_sparse))
            }];
    }
}

/// Slots as the option has them.
fn slots_value(slots: Option<&Schedule>) -> Value {
    match slots.map_or(&[][..], Schedule::runs) {
        [] => Value::Whole(0),
        [(slots, _)] => Value::Whole((*slots).into()),
        by_epoch => Value::Text(schedule::text(by_epoch)),
    }
}

/// Slots as identities have them: of a schedule each value with its epochs.
fn slots_in_full(slots: &Schedule) -> String {
    match slots.runs() {
        [(slots, _)] => slots.to_string(),
        by_epoch => {
            let runs: Vec<String> =
                by_epoch.iter().map(|(slots, epochs)| format!("{slots}*{epochs}")).collect();
            runs.join(":")
        }
    }
}

fn length_or_slots(options: &Options<'_>, length: u64, slots: Option<&Schedule>) -> Result<()> {
    let Some(slots) = slots.map(|slots| slots.at(0)).filter(|_| length > 0) else { return Ok(()) };
    let path = options.path("truncationSlots");
    Err(ConfigError::refused(path, &ConfigConflict::LengthAndSlots { length, slots }))
}

impl TruncationConfig {
    /// The truncation, as the plan knows it, if sequences are cut.
    pub fn spec(&self) -> Option<Truncation> {
        let TruncationConfig { length, ref slots, right_splice, is_on, keep_sparse } = *self;
        let length = match slots.as_ref().map_or(&[][..], Schedule::runs) {
            [] => SegmentLength::Samples(length),
            [(slots, _)] => SegmentLength::BySlots(*slots),
            by_epoch => SegmentLength::BySlotsOfEpoch(by_epoch.into()),
        };
        is_on.then_some(Truncation { length, right_splice, keep_sparse })
    }
}
