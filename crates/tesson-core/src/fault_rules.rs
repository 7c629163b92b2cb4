//! How faults in the data are handled.

use std::path::PathBuf;

/// How faults in the data are handled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultRules {
    /// Faults that are forgiven over the life of a state, of the deserializers without a budget of their own.
    pub max_errors: u64,
    /// As many faults are forgiven as this share of the sequences passed so far, if the deserializers forgive fewer.
    pub share: f64,
    /// A file to which a line of JSON is appended for every fault that is forgiven.
    pub report: Option<PathBuf>,
}

impl FaultRules {
    /// True if any fault is tolerated.
    pub fn forgive(&self) -> bool {
        self.max_errors > 0 || self.share > 0.0
    }
}
