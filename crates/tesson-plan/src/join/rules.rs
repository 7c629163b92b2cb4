//! The rules for the keys of several deserializers.

/// The treatment of a sequence that has no partner in some corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKeys {
    /// It is left out and counted, as in the reference.
    LeaveOut,
    /// It is delivered without samples in the streams of that corpus.
    Empty,
    /// The corpus is refused. A [`Joiner`](super::Joiner) leaves the sequence out, and the caller refuses because the report counts
    /// it.
    Refuse,
}

/// How several deserializers go together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JoinRules {
    /// How sequences are handled that not all of them have.
    pub missing: MissingKeys,
    /// The share of the first deserializer's sequences that another one may lack.
    pub max_missing: f64,
    /// True if a key may be repeated, in the only part or in another one than the first; the part decides which of its
    /// sequences is joined ([`DeserializerFacts::repeated_keys`]).
    ///
    /// [`DeserializerFacts::repeated_keys`]: tesson_core::DeserializerFacts::repeated_keys
    pub repeated: bool,
    /// True if text keys are kept as 64-bit hashes.
    pub hash_keys: bool,
}
