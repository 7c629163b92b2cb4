//! Memory that a worker keeps from one chunk to the next, and how much may be decoded into it.

use std::any::Any;

use crate::DecodeWarnings;

/// Scratch memory of one worker thread, kept from one chunk to the next.
#[derive(Default)]
pub struct Scratch {
    /// Bytes of the resource being decoded.
    pub bytes: Vec<u8>,
    /// Anything else a format keeps; it finds here what it left, or what another format did.
    pub format: Option<Box<dyn Any + Send>>,
    /// Findings that are worth a line in a log and are no faults.
    pub warnings: DecodeWarnings,
    /// Whether [`Chunk::notes`](crate::Chunk::notes) are wanted: when data are checked.
    pub notes: bool,
    /// How much may be decoded where it is more than the bytes tell, as missing values are filled with zeros.
    pub room: DecodeRoom,
    /// Set by a format whose decoding ended, with an error, because [`DecodeRoom::all`] was not enough.
    pub outgrown: bool,
}

/// Bytes of dense values that may be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeRoom {
    /// Of one sequence.
    pub sequence: usize,
    /// Of everything that is decoded at once.
    pub all: usize,
}

impl Default for DecodeRoom {
    /// As much as there is.
    fn default() -> DecodeRoom {
        DecodeRoom { sequence: usize::MAX, all: usize::MAX }
    }
}
