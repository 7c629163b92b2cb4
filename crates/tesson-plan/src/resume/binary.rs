//! The binary form of states.
//!
//! Version 2, little endian; 112 bytes, and 8 more a rank for merged states, 16 on local timelines, 16 a row and 16 a
//! sequence in it of truncated reading, 112 where ranks are kept together:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `TSNR` |
//! | 1, 1, 1, 1 | state version; version of the order; flags (1 share, 2 fingerprint, 4 index, 8 minibatches cross sweep ends, 16 consumed, 32 rows, 64 local timeline, 128 steps); order (0 as stored, 1 window in chunks, 2 window in samples, 3 global, 4 local as stored, 5 tumbling window in chunks, 6 in samples) |
//! | 8 × 4 | position; sweep; sequence; faults |
//! | 8 × 2 | workers; rank |
//! | 8 × 5 | corpus; index; options; seed; window |
//! | 8 + … | layers consumed, if any: their number; of each the number of ranks and their positions |
//! | 16 | on local timelines: place and sweep at which the window begins |
//! | 8 × 14 | where ranks are kept together: the fields of [`Steps`](crate::Steps), in order |
//! | 8 + … | truncated: number of rows; of each the cursor, the number of its sequences, and of these twice the number, plus 1 where a sweep ended; twice the sweep, plus 1 where the data end inside the sequence; then the samples that are kept of it |
//! | 8 | checksum of all before |
//!
//! Version 1 had no sweeps and no ends inside sequences; its states are read. Those without rows are the same in both, and
//! are still written as version 1.

use std::sync::Arc;

use tesson_core::ResumeError;

use super::{
    Fingerprint, ResumeState, WITHOUT_SWEEPS, check_order_version, check_version, layer, refusal, same,
};
use crate::rng::{GOLDEN, mix};
use crate::{Consumed, Cursor, OrderSpec, RowState, RowsState, Steps, Waits, Window, WindowStart};

impl ResumeState {
    /// The binary form: at most 128 bytes, but for merged states, rows, and ranks that are kept together.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"TSNR".to_vec();
        let fingerprint = self.fingerprint.as_deref();
        let (order, seed, size) = order_to_numbers(fingerprint.map(|f| &f.order));
        bytes.extend([self.version(), self.order_version(), self.flags(), order]);
        let (workers, rank) = self.share.unwrap_or_default();
        let Cursor { position, sweep, sequence, window, steps } = self.cursor;
        let hashes = fingerprint.map_or([0; 3], |f| [f.corpus, f.index.unwrap_or(0), f.options]);
        let numbers = [position, sweep, sequence, self.faults, workers, rank];
        let mut put = |number: u64| bytes.extend(number.to_le_bytes());
        numbers.into_iter().chain(hashes).chain([seed, size]).for_each(&mut put);
        if let Some(consumed) = &self.consumed {
            put(consumed.layers.len() as u64);
            for layer in &consumed.layers {
                put(layer.positions.len() as u64);
                layer.positions.iter().for_each(|&position| put(position));
            }
        }
        if self.is_local() {
            [window.place, window.sweep].into_iter().for_each(&mut put);
        }
        if steps.is_running() {
            steps.numbers().into_iter().for_each(&mut put);
        }
        if let Some(state) = &self.rows {
            put(state.rows.len() as u64);
            for row in &state.rows {
                put(row.cursor.into());
                put(row.waiting.len() as u64);
                for waits in &row.waiting {
                    put(waits.sequence << 1 | u64::from(waits.sweep_end));
                    put(waits.sweep << 1 | u64::from(waits.keep.is_some()));
                    waits.keep.map(u64::from).into_iter().for_each(&mut put);
                }
            }
        }
        let checksum = checksum(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    fn flags(&self) -> u8 {
        let fingerprint = self.fingerprint.as_deref();
        u8::from(self.share.is_some())
            | u8::from(fingerprint.is_some()) << 1
            | u8::from(fingerprint.is_some_and(|f| f.index.is_some())) << 2
            | u8::from(fingerprint.is_some_and(|f| f.cross_sweep_ends)) << 3
            | u8::from(self.consumed.is_some()) << 4
            | u8::from(self.rows.is_some()) << 5
            | u8::from(self.is_local()) << 6
            | u8::from(self.cursor.steps.is_running()) << 7
    }

    /// The state of its binary form.
    ///
    /// # Errors
    /// [`ResumeError`] for anything else, and for states of other versions.
    pub fn from_bytes(bytes: &[u8]) -> Result<ResumeState, ResumeError> {
        let body = bytes
            .strip_prefix(b"TSNR")
            .ok_or_else(|| refusal("the beginning", "something else", "`TSNR`"))?;
        let &[state, order_version, flags, order, ..] = body else { return Err(too_short(bytes)) };
        let version = check_version(state.into())?;
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| too_short(bytes))?;
        let (found, expected) = (u64::from_le_bytes(*sum), checksum(content));
        same("the checksum", format!("{found:016x}"), format!("{expected:016x}"))?;
        let mut numbers = Numbers { bytes: content.get(8..).unwrap_or_default(), total: bytes.len() };
        let [position, sweep, sequence] = [numbers.take()?, numbers.take()?, numbers.take()?];
        let faults = numbers.take()?;
        let share = (numbers.take()?, numbers.take()?);
        let [corpus, index, options] = [numbers.take()?, numbers.take()?, numbers.take()?];
        let order = order_from_numbers(order, numbers.take()?, numbers.take()?)?;
        check_order_version(&order, order_version.into())?;
        let consumed = if flags & 16 != 0 { Some(Arc::new(numbers.consumed()?)) } else { None };
        let window = match flags & 64 {
            0 => WindowStart::default(),
            _ => WindowStart { place: numbers.take()?, sweep: numbers.take()? },
        };
        let steps = if flags & 128 != 0 { numbers.steps()? } else { Steps::default() };
        let cursor = Cursor { position, sweep, sequence, window, steps };
        let rows = if flags & 32 != 0 { Some(Arc::new(numbers.rows(version)?)) } else { None };
        let fingerprint = Fingerprint {
            corpus,
            index: (flags & 4 != 0).then_some(index),
            order,
            cross_sweep_ends: flags & 8 != 0,
            options,
        };
        Ok(ResumeState {
            cursor,
            share: (flags & 1 != 0).then_some(share),
            faults,
            rows,
            consumed,
            fingerprint: (flags & 2 != 0).then(|| Arc::new(fingerprint)),
        })
    }
}

/// The numbers of a binary state, in turn.
struct Numbers<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl Numbers<'_> {
    fn take(&mut self) -> Result<u64, ResumeError> {
        let (number, rest) = self
            .bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| refusal("the length", format_args!("{} bytes", self.total), "more"))?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The rows of a state of this version.
    fn rows(&mut self, version: u8) -> Result<RowsState, ResumeError> {
        let n_rows = self.take()?;
        let mut rows = Vec::new();
        for _ in 0..n_rows {
            let (cursor, n) = (self.take()?, self.take()?);
            let cursor = u32::try_from(cursor).map_err(|_| refusal("the cursor of a row", cursor, "less"))?;
            let waiting = (0..n).map(|_| self.waits(version)).collect::<Result<Vec<_>, _>>()?;
            rows.push(RowState { cursor, waiting });
        }
        Ok(RowsState { rows })
    }

    fn waits(&mut self, version: u8) -> Result<Waits, ResumeError> {
        let number = self.take()?;
        let sweep = if version == WITHOUT_SWEEPS { 0 } else { self.take()? };
        let keep = if sweep & 1 == 1 { Some(self.take()?) } else { None };
        let keep = keep.map(|n| u32::try_from(n).map_err(|_| refusal("the samples to keep", n, "less")));
        Ok(Waits {
            sequence: number >> 1,
            sweep_end: number & 1 == 1,
            sweep: sweep >> 1,
            keep: keep.transpose()?,
        })
    }

    fn steps(&mut self) -> Result<Steps, ResumeError> {
        let mut all = [0; Steps::NAMES.len()];
        for number in &mut all {
            *number = self.take()?;
        }
        Ok(Steps::of_numbers(all))
    }

    fn consumed(&mut self) -> Result<Consumed, ResumeError> {
        let n_layers = self.take()?;
        let mut layers = Vec::new();
        for _ in 0..n_layers {
            let ranks = self.take()?;
            // Collecting stops where the bytes do, so a wild number of ranks allocates nothing.
            let positions = (0..ranks).map(|_| self.take()).collect::<Result<Vec<u64>, _>>()?;
            layers.push(layer(positions)?);
        }
        Ok(Consumed { layers })
    }
}

fn order_to_numbers(order: Option<&OrderSpec>) -> (u8, u64, u64) {
    match order {
        None | Some(OrderSpec::AsStored) => (0, 0, 0),
        Some(&OrderSpec::ChunkWindow { window: Window::Chunks(n), seed }) => (1, seed, n),
        Some(&OrderSpec::ChunkWindow { window: Window::Samples(n), seed }) => (2, seed, n),
        Some(&OrderSpec::Global { seed }) => (3, seed, 0),
        Some(OrderSpec::LocalPlain) => (4, 0, 0),
        Some(&OrderSpec::Tumbling { window: Window::Chunks(n), seed }) => (5, seed, n),
        Some(&OrderSpec::Tumbling { window: Window::Samples(n), seed }) => (6, seed, n),
    }
}

fn order_from_numbers(order: u8, seed: u64, window: u64) -> Result<OrderSpec, ResumeError> {
    Ok(match order {
        0 => OrderSpec::AsStored,
        1 => OrderSpec::ChunkWindow { window: Window::Chunks(window), seed },
        2 => OrderSpec::ChunkWindow { window: Window::Samples(window), seed },
        3 => OrderSpec::Global { seed },
        4 => OrderSpec::LocalPlain,
        5 => OrderSpec::Tumbling { window: Window::Chunks(window), seed },
        6 => OrderSpec::Tumbling { window: Window::Samples(window), seed },
        _ => return Err(refusal("the order", order, "0 to 6")),
    })
}

fn too_short(bytes: &[u8]) -> ResumeError {
    refusal("the length", format_args!("{} bytes", bytes.len()), "112 or more")
}

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(GOLDEN, |sum, &byte| mix(sum ^ u64::from(byte)))
}
