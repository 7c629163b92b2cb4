//! From bytes to places of records, both checksums checked: one pass over a block.

use crate::record::RecordSpan;

use super::crc::{Kernel, Plain, masked};

/// Bytes in front of a record's data: its length, and the checksum of that.
pub(super) const HEAD: usize = 12;

/// Bytes around a record's data: with the checksum of the data behind them.
pub(super) const AROUND: usize = 16;

/// The largest block: places in it have 32 bits.
pub(super) const LONGEST: u64 = u32::MAX as u64;

/// Why a pass over a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There are as many records as were wanted.
    Enough,
    /// The block ends before the record does, and in front of its data if `size` is unknown.
    Short {
        /// The size of the record's data.
        size: Option<u64>,
    },
    /// The checksum of a length is another one.
    Length {
        /// Computed, masked.
        found: u32,
        /// Written in the file.
        expected: u32,
    },
}

/// A record whose data have another checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The record, by its place among those of the block.
    pub(super) index: usize,
    /// Computed, masked.
    pub(super) found: u32,
    /// Written in the file.
    pub(super) expected: u32,
}

/// Adds the places of at most `most` records that stand whole in `bytes` from `at` on, checked. Records whose data have
/// another checksum are added, too, and listed in `wrong`. Returns where the next one begins, and why it is not added.
pub(super) fn scan(
    bytes: &[u8],
    at: usize,
    most: usize,
    places: &mut Vec<RecordSpan>,
    wrong: &mut Vec<Wrong>,
) -> (usize, Stop) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(kernel) = super::crc::Instruction::detect() {
        // SAFETY: the processor has the instruction. Measured: one-integer examples three times as fast as by the library.
        #[allow(unsafe_code)]
        return unsafe { scan_by_instruction(kernel, bytes, at, most, places, wrong) };
    }
    scan_with(Plain, bytes, at, most, places, wrong)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
fn scan_by_instruction(
    kernel: super::crc::Instruction,
    bytes: &[u8],
    at: usize,
    most: usize,
    places: &mut Vec<RecordSpan>,
    wrong: &mut Vec<Wrong>,
) -> (usize, Stop) {
    scan_with(kernel, bytes, at, most, places, wrong)
}

#[inline(always)]
pub(super) fn scan_with<K: Kernel>(
    kernel: K,
    bytes: &[u8],
    mut at: usize,
    most: usize,
    places: &mut Vec<RecordSpan>,
    wrong: &mut Vec<Wrong>,
) -> (usize, Stop) {
    let before = places.len();
    places.reserve(most.min((bytes.len() - at) / AROUND));
    while places.len() - before < most {
        let size = match head(kernel, bytes, at) {
            Ok(size) => size,
            Err(stop) => return (at, stop),
        };
        let left = bytes.len() - at - HEAD;
        if size.saturating_add(4) > left as u64 {
            return (at, Stop::Short { size: Some(size) });
        }
        let size = size as usize;
        let data = &bytes[at + HEAD..];
        let expected = u32::from_le_bytes(data[size..size + 4].try_into().expect("four bytes were taken"));
        let found = masked(kernel.of_data(data, size));
        if found != expected {
            wrong.push(Wrong { index: places.len(), found, expected });
        }
        places.push(RecordSpan { start: (at + HEAD) as u32, size: size as u32 });
        at += AROUND + size;
    }
    (at, Stop::Enough)
}

/// Goes over at most `most` records from `at` on by their lengths, which are checked; the data are not looked at, and may
/// reach beyond `bytes`. `each` is called with the offset of each record. Returns where the next one begins and how many were
/// gone over.
pub(super) fn walk(bytes: &[u8], at: u64, most: u64, each: &mut dyn FnMut(u64)) -> (u64, u64, Stop) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(kernel) = super::crc::Instruction::detect() {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        return unsafe { walk_by_instruction(kernel, bytes, at, most, each) };
    }
    walk_with(Plain, bytes, at, most, each)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
fn walk_by_instruction(
    kernel: super::crc::Instruction,
    bytes: &[u8],
    at: u64,
    most: u64,
    each: &mut dyn FnMut(u64),
) -> (u64, u64, Stop) {
    walk_with(kernel, bytes, at, most, each)
}

#[inline(always)]
fn walk_with<K: Kernel>(
    kernel: K,
    bytes: &[u8],
    mut at: u64,
    most: u64,
    each: &mut dyn FnMut(u64),
) -> (u64, u64, Stop) {
    for n in 0..most {
        if at >= bytes.len() as u64 {
            return (at, n, Stop::Short { size: None });
        }
        match head(kernel, bytes, at as usize) {
            Ok(size) => {
                each(at);
                at = at.saturating_add(size).saturating_add(AROUND as u64);
            }
            Err(stop) => return (at, n, stop),
        }
    }
    (at, most, Stop::Enough)
}

/// The size of the data of the record at `at`.
#[inline(always)]
fn head<K: Kernel>(kernel: K, bytes: &[u8], at: usize) -> Result<u64, Stop> {
    let Some(head) = bytes[at..].first_chunk::<HEAD>() else { return Err(Stop::Short { size: None }) };
    let (size, checksum) = head.split_at(8);
    let size = u64::from_le_bytes(size.try_into().expect("eight bytes were split off"));
    let expected = u32::from_le_bytes(checksum.try_into().expect("four bytes are left"));
    let found = masked(kernel.of_length(size));
    if found == expected { Ok(size) } else { Err(Stop::Length { found, expected }) }
}

/// True if a file that begins with these bytes may be a TFRecord file: it is empty, or its first length is right.
pub(super) fn begins_well(bytes: &[u8]) -> bool {
    bytes.is_empty() || head(Plain, bytes, 0).is_ok()
}
