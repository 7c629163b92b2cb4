//! Memory that a worker keeps from one chunk to the next, and how much may be decoded into it.

use std::any::Any;

use crate::Values;

/// Scratch memory of one worker thread, kept from one chunk to the next.
#[derive(Default)]
pub struct Scratch {
    /// Bytes of the resource being decoded.
    pub bytes: Vec<u8>,
    /// Any further memory of a format, which finds here what it left, or what another format left.
    pub format: Option<Box<dyn Any + Send>>,
    /// Columns of a chunk that is no longer used; new columns take over their memory.
    pub columns: Vec<Values>,
    /// Findings that are worth a line in a log and are no faults.
    pub warnings: DecodeWarnings,
    /// True if [`Chunk::notes`](crate::Chunk::notes) are collected, as in a check.
    pub notes: bool,
    /// The limit of decoded values that exceed the bytes read, as when missing values are filled with zeros.
    pub room: DecodeRoom,
    /// Set by a format when its decoding ended with an error because [`DecodeRoom::all`] was not enough.
    pub outgrown: bool,
}

/// Bytes of dense values that may be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeRoom {
    /// The limit for one sequence.
    pub sequence: usize,
    /// The limit for everything that is decoded at once.
    pub all: usize,
}

impl Default for DecodeRoom {
    /// As much as there is.
    fn default() -> DecodeRoom {
        DecodeRoom { sequence: usize::MAX, all: usize::MAX }
    }
}

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
