//! Findings of decoding that are worth a warning and are no faults.

/// Findings of decoding that are worth a line in a log. Decoders add to them; the logging code takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodeWarnings {
    /// The number of findings: samples that were filled up, streams without samples, and similar ones.
    pub count: u64,
    /// The first of them, with its location.
    pub first: Option<String>,
    /// Inputs that were skipped because no stream asks for them.
    pub skipped: u64,
    /// JPEG files that were decoded without SIMD, because the library was built without it.
    pub plain_jpegs: u64,
    /// JPEG files that were decoded in Rust, to other pixels than libjpeg-turbo's.
    pub rust_jpegs: u64,
}

impl DecodeWarnings {
    /// Adds the findings of another decoder.
    pub fn merge(&mut self, other: DecodeWarnings) {
        self.count += other.count;
        self.skipped += other.skipped;
        self.plain_jpegs += other.plain_jpegs;
        self.rust_jpegs += other.rust_jpegs;
        self.first = self.first.take().or(other.first);
    }
}
