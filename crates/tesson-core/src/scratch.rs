//! Memory that a worker keeps from one chunk to the next, and how much may be decoded into it.

use std::any::Any;

use crate::DecodeWarnings;

/// Scratch memory of one worker thread, kept from one chunk to the next.
#[derive(Default)]
pub struct Scratch {
    /// Bytes of the resource being decoded.
    pub bytes: Vec<u8>,
    /// Any further memory of a format, which finds here what it left, or what another format left.
    pub format: Option<Box<dyn Any + Send>>,
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
