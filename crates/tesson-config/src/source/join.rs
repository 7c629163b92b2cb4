//! The join of several deserializers.

use tesson_core::{OptionKind, Value, options};
use tesson_plan::{JoinRules, MissingKeys};

use crate::lower;

options! {
    /// The way in which the sequences of several deserializers go together.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct JoinConfig(options) {
        /// True: text keys are kept as 64-bit hashes.
        pub hash_keys: bool = "hashSequenceKeys", "false"
            => "Replace text keys by 64-bit hashes (djb2), which are then the keys of the sequences."
            [identity after "minibatches" flag "hashed"];
        /// The treatment of sequences that not all of them have.
        pub missing: MissingKeys = "strictKeys": OptionKind::Bool, "false"
            => "Refuse to read several deserializers if one lacks a key of the first (true), or leave such sequences out and \
             count them (false)."
            [read lower::missing_keys(options)?]
            [describe as |join| Value::Bool(join.missing == MissingKeys::Refuse)];
        _ = "outerJoin": OptionKind::Bool, "false"
            => "Keep sequences that another deserializer lacks, without samples in its streams."
            [identity after "precision" with |join, text| text.flag("outer", join.missing == MissingKeys::Empty)];
        /// The share of the first deserializer's sequences that another one may lack.
        pub max_missing: f64 = "maxMissing", "1"
            => "Share of the first deserializer's sequences, from 0 to 1, that another one may lack; reading is refused if one \
             lacks more."
            [read options.share("maxMissing")?];
        /// True: a key that is repeated is refused, in the only deserializer or in any but the first.
        pub unique_keys: bool = "uniqueKeys", "false"
            => "Refuse to read if the only deserializer repeats a key, or any but the first of several does (true), or join the \
             first sequence of the key (false).";
    }
}

impl JoinConfig {
    /// The rules, as the plan knows them.
    pub fn rules(&self) -> JoinRules {
        let JoinConfig { hash_keys, missing, max_missing, unique_keys } = *self;
        JoinRules { hash_keys, missing, max_missing, repeated: !unique_keys }
    }
}
