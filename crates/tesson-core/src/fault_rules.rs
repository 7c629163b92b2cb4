//! The rules for faults in the data.

use std::path::PathBuf;

crate::options! {
    /// The rules for faults in the data.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FaultRules(options) {
        /// Faults that are forgiven over the life of a state, of the deserializers without a budget of their own.
        pub max_errors: u64 = "maxErrors", "0"
            => "Number of faults to tolerate before reading fails, in all deserializers without their own `maxErrors`; faulty \
             sequences are left out.";
        /// As many faults are forgiven as this share of the sequences passed so far, if the deserializers forgive fewer.
        pub share: f64 = "maxErrorShare", "0"
            => "Share of the sequences passed so far, from 0 to 1, that may be faulty, if that allows more faults than \
             `maxErrors`."
            [read options.share("maxErrorShare")?];
        /// A file to which a line of JSON is appended for every fault that is forgiven.
        pub report: Option<PathBuf> = "quarantine", optional
            => "A file to which a line of JSON is appended for every tolerated fault, with its text, file, line, byte, stream \
             and key.";
    }
}

impl FaultRules {
    /// True if any fault is tolerated.
    pub fn forgive(&self) -> bool {
        self.max_errors > 0 || self.share > 0.0
    }
}
