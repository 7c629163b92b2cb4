//! Numbers of binary states: 64 bits each, little endian.

use tesson_core::ResumeError;

use super::{WITHOUT_SWEEPS, layer};
use crate::{Consumed, PendingSequence, SlotState, SlotsState};

/// The error for bytes that end before the state does.
pub(super) fn too_short() -> ResumeError {
    ResumeError::unreadable("its length", "too short", "more bytes")
}

/// The numbers of a binary state, in turn.
pub(super) struct Numbers<'a> {
    pub(super) bytes: &'a [u8],
}

impl Numbers<'_> {
    pub(super) fn take(&mut self) -> Result<u64, ResumeError> {
        let (number, rest) = self.bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The next `N` numbers.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u64; N], ResumeError> {
        let mut all = [0; N];
        for number in &mut all {
            *number = self.take()?;
        }
        Ok(all)
    }

    /// The next `N` numbers of one byte each.
    pub(super) fn small<const N: usize>(&mut self) -> Result<[u8; N], ResumeError> {
        let (numbers, rest) = self.bytes.split_first_chunk().ok_or_else(too_short)?;
        self.bytes = rest;
        Ok(*numbers)
    }

    /// Reads the slots of a state of this version.
    pub(super) fn rows(&mut self, version: u8) -> Result<SlotsState, ResumeError> {
        let n_rows = self.take()?;
        let mut rows = Vec::new();
        for _ in 0..n_rows {
            let [cursor, n] = self.array()?;
            let cursor = u32::try_from(cursor)
                .map_err(|_| ResumeError::unreadable("the cursor of a row", cursor, "below 2^32"))?;
            let waiting = (0..n).map(|_| self.pending(version)).collect::<Result<Vec<_>, _>>()?;
            rows.push(SlotState { cursor, waiting });
        }
        Ok(SlotsState { slots: rows })
    }

    fn pending(&mut self, version: u8) -> Result<PendingSequence, ResumeError> {
        let number = self.take()?;
        let sweep = if version == WITHOUT_SWEEPS { 0 } else { self.take()? };
        let keep = if sweep & 1 == 1 { Some(self.take()?) } else { None };
        let keep = keep.map(|n| {
            u32::try_from(n).map_err(|_| ResumeError::unreadable("the samples to keep", n, "below 2^32"))
        });
        Ok(PendingSequence {
            sequence: number >> 1,
            sweep_end: number & 1 == 1,
            sweep: sweep >> 1,
            keep: keep.transpose()?,
        })
    }

    pub(super) fn consumed(&mut self) -> Result<Consumed, ResumeError> {
        let n_layers = self.take()?;
        let mut layers = Vec::new();
        for _ in 0..n_layers {
            let ranks = self.take()?;
            // Collecting stops at the end of the bytes, so a huge number of ranks allocates nothing.
            let positions = (0..ranks).map(|_| self.take()).collect::<Result<Vec<u64>, _>>()?;
            layers.push(layer(positions)?);
        }
        Ok(Consumed { layers })
    }
}

/// Numbers as bytes.
pub(super) fn bytes_of(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}
