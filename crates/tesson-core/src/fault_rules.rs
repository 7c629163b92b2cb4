//! The rules for faults in the data.

use std::path::PathBuf;

crate::options! {
    /// The rules for faults in the data.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FaultRules(options) {
        /// Faults that are forgiven over the life of a state, of the deserializers without a budget of their own.
        pub max_errors: u64 = "maxErrors", "0"
            => "Faults that leave a sequence out before reading fails, in all deserializers that have no `maxErrors` of their own.";
        /// As many faults are forgiven as this share of the sequences passed so far, if the deserializers forgive fewer.
        pub share: f64 = "maxErrorShare", "0"
            => "Share of the sequences passed, from 0 to 1, that may be faulty in all, where `maxErrors` forgives fewer."
            [read options.share("maxErrorShare")?];
        /// A file to which a line of JSON is appended for every fault that is forgiven.
        pub report: Option<PathBuf> = "quarantine", optional
            => "A file to which a line of JSON is appended for every fault that is forgiven: what it is, file, line, byte, \
            stream and key.";
    }
}

impl FaultRules {
    /// True if any fault is tolerated.
    pub fn forgive(&self) -> bool {
        self.max_errors > 0 || self.share > 0.0
    }
}
