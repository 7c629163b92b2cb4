//! The header of a parameter file (spec/speech.md §4).

use std::fmt;

use super::fault::HtkFault;

/// Bytes of the longest header in front of what `_C` adds.
pub(super) const LONGEST: usize = 28;

/// The order of bytes in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

/// The names of the base kinds, by number.
pub(super) const KINDS: [&str; 13] = [
    "WAVEFORM",
    "LPC",
    "LPREFC",
    "LPCEPSTRA",
    "LPDELCEP",
    "IREFC",
    "MFCC",
    "FBANK",
    "MELSPEC",
    "USER",
    "DISCRETE",
    "PLP",
    "ANON",
];

/// The name in `allowKinds` of files whose vectors are quantized (`_V`).
pub(super) const QUANTIZED: &str = "VQ";

const BASE: u16 = 0o77;
const COMPRESSED: u16 = 0o2000;
const CHECKED: u16 = 0o10000;
const IS_QUANTIZED: u16 = 0o40000;

/// Base kinds of frames that are features: MFCC, FBANK, USER, PLP, ANON.
const FEATURES: u16 = 1 << 6 | 1 << 7 | 1 << 9 | 1 << 11 | 1 << 12;

/// Base kinds whose values are 16-bit numbers: WAVEFORM, IREFC, DISCRETE.
const WHOLE_NUMBERS: u16 = 1 | 1 << 5 | 1 << 10;

/// How headers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeaderRules {
    /// The byte order; `None` where the header has to show it.
    pub(super) order: Option<ByteOrder>,
    /// The kinds that are read, by bit; bit 15 stands for quantized vectors.
    pub(super) kinds: u16,
}

impl HeaderRules {
    /// The bit of a kind by its name.
    pub(super) fn kind_bit(name: &str) -> Option<u16> {
        if name.eq_ignore_ascii_case(QUANTIZED) {
            return Some(1 << 15);
        }
        KINDS.iter().position(|kind| kind.eq_ignore_ascii_case(name)).map(|base| 1 << base)
    }

    /// Rules that accept these kinds beside the features.
    pub(super) fn new(order: Option<ByteOrder>, allowed: u16) -> HeaderRules {
        HeaderRules { order, kinds: FEATURES | allowed }
    }
}

/// How the values of a file are stored: all that reading frames takes beside the number of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding(u8);

impl Encoding {
    const BIG: u8 = 1;
    const HALVES: u8 = 2;
    const SCALED: u8 = 4;
    const LONG: u8 = 8;
    /// Set in every encoding, so that 0 is none.
    const KNOWN: u8 = 16;

    /// The encoding of a byte that [`Encoding::byte`] gave.
    pub(super) fn of(byte: u8) -> Option<Encoding> {
        (byte & Encoding::KNOWN != 0).then_some(Encoding(byte))
    }

    pub(super) fn byte(self) -> u8 {
        self.0
    }

    pub(super) fn is_big_endian(self) -> bool {
        self.0 & Encoding::BIG != 0
    }

    /// True if values have 16 bits.
    pub(super) fn has_halves(self) -> bool {
        self.0 & Encoding::HALVES != 0
    }

    /// True if two vectors scale 16-bit numbers to values.
    pub(super) fn is_scaled(self) -> bool {
        self.0 & Encoding::SCALED != 0
    }

    /// Bytes of a frame of so many values.
    pub(super) fn frame_bytes(self, values: u32) -> u64 {
        u64::from(values) * if self.has_halves() { 2 } else { 4 }
    }

    /// Bytes of both vectors of a file that has them.
    pub(super) fn scale_bytes(self, values: u32) -> u64 {
        if self.is_scaled() { 8 * u64::from(values) } else { 0 }
    }

    /// Where the frames begin.
    pub(super) fn data(self, values: u32) -> u64 {
        let header = if self.0 & Encoding::LONG != 0 { LONGEST } else { 12 };
        header as u64 + self.scale_bytes(values)
    }
}

/// The properties that all files of a deserializer share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileKind {
    /// Base kind and those qualifiers that say what values are.
    kind: u16,
    /// The 16 bytes of an anonymous kind.
    id: Option<[u8; 16]>,
    /// Values in a frame.
    pub(super) values: u32,
    /// From frame to frame, in units of 100 ns.
    pub(super) period: u32,
}

impl FileKind {
    /// The kind that is assumed where no file could be read.
    pub(super) fn unknown(values: u32) -> FileKind {
        FileKind { kind: 9, id: None, values, period: 0 }
    }
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: FileKind,
    pub(super) encoding: Encoding,
    /// Frames that the header declares.
    pub(super) frames: u32,
}

impl Header {
    /// Reads the header at the beginning of a file of this size: its first [`LONGEST`] bytes, if it has so many.
    ///
    /// # Errors
    /// The fault in it, in the byte order that it seems to have.
    pub(super) fn parse(bytes: &[u8], size: u64, rules: &HeaderRules) -> Result<Header, HtkFault> {
        let short = |expected: u64| HtkFault::ShortFile { found: size, expected };
        let Some(first) = bytes.first_chunk::<12>() else { return Err(short(12)) };
        let period: [u8; 4] = first[4..8].try_into().expect("four bytes");
        let guess = match rules.order {
            Some(order) => order,
            None if u32::from_be_bytes(period) < u32::from_le_bytes(period) => ByteOrder::Big,
            None => ByteOrder::Little,
        };
        let guessed = Header::read(bytes, guess, size, rules);
        if rules.order.is_some() || guessed.as_ref().is_ok_and(|header| header.fits(size)) {
            return guessed;
        }
        let other = if guess == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
        match Header::read(bytes, other, size, rules) {
            Ok(header) if header.fits(size) => Ok(header),
            _ => guessed,
        }
    }

    /// True if the file has room for as many frames as are declared.
    fn fits(&self, size: u64) -> bool {
        u64::from(self.frames) <= self.room(size)
    }

    /// Frames that a file of this size has room for.
    pub(super) fn room(&self, size: u64) -> u64 {
        let Header { kind, encoding, .. } = self;
        size.saturating_sub(encoding.data(kind.values)) / encoding.frame_bytes(kind.values)
    }

    fn read(bytes: &[u8], order: ByteOrder, size: u64, rules: &HeaderRules) -> Result<Header, HtkFault> {
        let half = |at: usize| {
            let two = [bytes[at], bytes[at + 1]];
            if order == ByteOrder::Big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
        };
        let word = |at: usize| {
            let (one, other) = (u32::from(half(at)), u32::from(half(at + 2)));
            if order == ByteOrder::Big { one << 16 | other } else { other << 16 | one }
        };
        let (samples, period, frame_bytes, kind) = (word(0), word(4), half(8), half(10));
        let (base, is_scaled) = (kind & BASE, kind & COMPRESSED != 0);
        let is_known = usize::from(base) < KINDS.len();
        if !is_known || rules.kinds >> base & 1 == 0 {
            return Err(HtkFault::Kind { found: kind_name(kind) });
        }
        if kind & IS_QUANTIZED != 0 && rules.kinds >> 15 == 0 {
            return Err(HtkFault::Kind { found: kind_name(kind) });
        }
        let has_halves = is_scaled || WHOLE_NUMBERS >> base & 1 == 1;
        let value = if has_halves { 2 } else { 4 };
        if frame_bytes == 0 || !u32::from(frame_bytes).is_multiple_of(value) {
            return Err(HtkFault::SampleSize { found: frame_bytes, value });
        }
        let is_long = kind == 12;
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let encoding = Encoding(
            Encoding::KNOWN
                | flag(order == ByteOrder::Big, Encoding::BIG)
                | flag(has_halves, Encoding::HALVES)
                | flag(is_scaled, Encoding::SCALED)
                | flag(is_long, Encoding::LONG),
        );
        let values = u32::from(frame_bytes) / value;
        if size < encoding.data(values) {
            return Err(HtkFault::ShortFile { found: size, expected: encoding.data(values) });
        }
        let id = is_long.then(|| bytes[12..LONGEST].try_into().expect("sixteen bytes"));
        // Both vectors of a compressed file are counted as frames.
        let frames = if is_scaled { samples.wrapping_sub(4) } else { samples };
        let base = if base == 12 { 9 } else { base };
        let kind = kind & !(BASE | COMPRESSED | CHECKED) | base;
        Ok(Header { kind: FileKind { kind, id, values, period }, encoding, frames })
    }
}

/// Qualifiers, by the bit of each.
const QUALIFIERS: [(u16, &str); 10] = [
    (0o100, "_E"),
    (0o200, "_N"),
    (0o400, "_D"),
    (0o1000, "_A"),
    (0o2000, "_C"),
    (0o4000, "_Z"),
    (0o10000, "_K"),
    (0o20000, "_0"),
    (0o40000, "_V"),
    (0o100000, "_T"),
];

fn kind_name(kind: u16) -> String {
    let mut name = match KINDS.get(usize::from(kind & BASE)) {
        Some(name) => (*name).to_owned(),
        None => format!("kind {}", kind & BASE),
    };
    let set = QUALIFIERS.iter().filter(|(bit, _)| kind & bit != 0);
    set.for_each(|(_, qualifier)| name.push_str(qualifier));
    name
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&kind_name(self.kind))?;
        if let Some(id) = self.id {
            f.write_str(" ")?;
            id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        write!(f, ", {} values, period {}", self.values, self.period)
    }
}
