//! The binary form of states: `TSNR`, the version of the writer, [tagged sections](tesson_core::sections), and a checksum of
//! all before (8 bytes). At most 128 bytes, but for merged states, truncated minibatches and equal steps.
//!
//! Numbers have 64 bits, little endian, unless stated otherwise.
//!
//! | tag | section | payload |
//! |---|---|---|
//! | 1 | position | faults; position; sweep; sequence; on local timelines the place and the sweep at which the window begins |
//! | 2 | share | workers; rank |
//! | 3 | order | its number (1 byte: 0 as stored, 1 window in chunks, 2 window in samples, 3 global, 4 local as stored, 5 tumbling window in chunks, 6 in samples); its version (1 byte); seed; window |
//! | 4 | source | whether minibatches cross sweep ends (1 byte); corpus; options; the index, if it is known |
//! | 5 | consumed | number of layers; of each the number of ranks and their positions |
//! | 6 | steps | the fields of [`Steps`](crate::Steps), in order |
//! | 7 | rows | number of rows; of each the cursor, the number of its sequences, and of these twice the number, plus 1 where a sweep ended; twice the sweep, plus 1 where the data end inside the sequence; then the samples that are kept of it |
//!
//! Versions 1 and 2 had no sections: see `legacy`. A state of a later release is read if its version is known here
//! and each of its sections is known or optional.

use std::sync::Arc;

use tesson_core::{ResumeError, sections};

use super::numbers::{Numbers, bytes_of};
use super::steps;
use super::{
    Fingerprint, ResumeState, SECTIONS_SINCE, STATE_VERSION, WITHOUT_SWEEPS, check_order_version,
    later_version, legacy, order_of_numbers,
};
use crate::rng::{GOLDEN, mix};
use crate::{Cursor, Share, WindowStart};

const MAGIC: &[u8] = b"TSNR";

const POSITION: u8 = 1;
const SHARE: u8 = 2;
const ORDER: u8 = 3;
const SOURCE: u8 = 4;
const CONSUMED: u8 = 5;
const STEPS: u8 = 6;
const ROWS: u8 = 7;

impl ResumeState {
    /// The binary form: at most 128 bytes, but for merged states, rows, and equal steps.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(STATE_VERSION);
        let Cursor { position, sweep, sequence, window, steps } = self.cursor;
        let mut put = |tag: u8, payload: &[u8]| sections::put(tag, payload, &mut bytes);
        let window = if self.is_local() { &[window.place, window.sweep][..] } else { &[] };
        let numbers = [self.faults, position, sweep, sequence];
        put(POSITION, &bytes_of(numbers.iter().chain(window).copied()));
        if let Some(Share { workers, rank }) = self.share {
            put(SHARE, &bytes_of([workers, rank]));
        }
        if let Some(Fingerprint { corpus, index, order, cross_sweep_ends, options }) =
            self.fingerprint.as_deref()
        {
            let window = order.window().map_or(0, |window| window.size());
            let numbers = bytes_of([order.seed().unwrap_or(0), window]);
            put(ORDER, &[&[order.code(), order.version()], &numbers[..]].concat());
            let hashes = bytes_of([*corpus, *options].into_iter().chain(*index));
            put(SOURCE, &[&[u8::from(*cross_sweep_ends)], &hashes[..]].concat());
        }
        if let Some(consumed) = &self.consumed {
            let of_layer =
                |positions: &Vec<u64>| bytes_of([positions.len() as u64].iter().chain(positions).copied());
            let layers: Vec<u8> =
                consumed.layers.iter().flat_map(|layer| of_layer(&layer.positions)).collect();
            put(CONSUMED, &[bytes_of([consumed.layers.len() as u64]), layers].concat());
        }
        if steps.is_running() {
            put(STEPS, &bytes_of(steps::numbers(steps).map(|(_, number)| number)));
        }
        if let Some(state) = &self.rows {
            let mut numbers = vec![state.slots.len() as u64];
            for row in &state.slots {
                numbers.extend([row.cursor.into(), row.waiting.len() as u64]);
                for pending in &row.waiting {
                    numbers.push(pending.sequence << 1 | u64::from(pending.sweep_end));
                    numbers.push(pending.sweep << 1 | u64::from(pending.keep.is_some()));
                    numbers.extend(pending.keep.map(u64::from));
                }
            }
            put(ROWS, &bytes_of(numbers));
        }
        let checksum = checksum(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// The state of its binary form.
    ///
    /// # Errors
    /// [`ResumeError`] for anything else, and for states of later releases with sections that this one must know and
    /// does not.
    pub fn from_bytes(bytes: &[u8]) -> Result<ResumeState, ResumeError> {
        let body = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| ResumeError::unreadable("its beginning", "something else", "`TSNR`"))?;
        let too_short =
            || ResumeError::unreadable("its length", format_args!("{} bytes", bytes.len()), "more bytes");
        let (&version, body) = body.split_first().ok_or_else(too_short)?;
        if version < WITHOUT_SWEEPS {
            return Err(ResumeError::unreadable(
                "the version of the state",
                version,
                format_args!("1 to {STATE_VERSION}"),
            ));
        }
        if version > STATE_VERSION {
            return Err(later_version(version.into()));
        }
        let (body, sum) = body.split_last_chunk::<8>().ok_or_else(too_short)?;
        let (found, expected) = (u64::from_le_bytes(*sum), checksum(&bytes[..bytes.len() - 8]));
        if found != expected {
            let hex = |sum: u64| format!("{sum:016x}");
            return Err(ResumeError::unreadable("the checksum", hex(found), hex(expected)));
        }
        if version < SECTIONS_SINCE { legacy::read(version, body) } else { read_sections(version, body) }
    }
}

fn read_sections(version: u8, mut bytes: &[u8]) -> Result<ResumeState, ResumeError> {
    let mut state = ResumeState::default();
    let (mut is_placed, mut order, mut source) = (false, None, None);
    while !bytes.is_empty() {
        let (tag, payload) = sections::take(&mut bytes)
            .ok_or_else(|| ResumeError::unreadable("a section", "cut off", "the whole"))?;
        let mut numbers = Numbers { bytes: payload };
        match tag {
            POSITION => {
                let [faults, position, sweep, sequence] = numbers.array()?;
                if !numbers.bytes.is_empty() {
                    let [place, sweep] = numbers.array()?;
                    state.cursor.window = WindowStart { place, sweep };
                }
                state.faults = faults;
                state.cursor = Cursor { position, sweep, sequence, ..state.cursor };
                is_placed = true;
            }
            SHARE => state.share = Some(numbers.array().map(|[workers, rank]| Share { workers, rank })?),
            ORDER => {
                let [code, order_version] = numbers.small()?;
                let [seed, window] = numbers.array()?;
                let found = order_of_numbers(code, seed, window)?;
                check_order_version(&found, order_version.into())?;
                order = Some(found);
            }
            SOURCE => {
                let [cross_sweep_ends] = numbers.small()?;
                let [corpus, options] = numbers.array()?;
                let index = if numbers.bytes.is_empty() { None } else { Some(numbers.take()?) };
                source = Some((corpus, index, cross_sweep_ends != 0, options));
            }
            CONSUMED => state.consumed = Some(Arc::new(numbers.consumed()?)),
            STEPS => state.cursor.steps = steps::from_numbers(|_| numbers.take())?,
            ROWS => state.rows = Some(Arc::new(numbers.rows(version)?)),
            _ if sections::is_optional(tag) => continue,
            _ => {
                return Err(ResumeError::other_version(
                    "a section of the state",
                    format_args!("number {tag}, of a later release"),
                    format_args!("1 to {ROWS}"),
                ));
            }
        }
        if !numbers.bytes.is_empty() {
            return Err(ResumeError::unreadable(
                format_args!("the length of section {tag}"),
                payload.len(),
                "fewer bytes",
            ));
        }
    }
    if !is_placed {
        return Err(ResumeError::unreadable("the position", "missing", "a section with it"));
    }
    state.fingerprint = match (order, source) {
        (Some(order), Some((corpus, index, cross_sweep_ends, options))) => {
            Some(Arc::new(Fingerprint { corpus, index, order, cross_sweep_ends, options }))
        }
        (None, None) => None,
        _ => {
            return Err(ResumeError::unreadable(
                "what the order and the source have",
                "one section",
                "both or none",
            ));
        }
    };
    Ok(state)
}

pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(GOLDEN, |sum, &byte| mix(sum ^ u64::from(byte)))
}
