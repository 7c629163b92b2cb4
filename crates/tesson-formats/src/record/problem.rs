//! What can be wrong with a record.

use std::fmt;

use tesson_core::{DataError, DataErrorKind, Location};

/// A record that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the file, from 0.
    pub record: u64,
    /// Where in the file the damage was found, in bytes; in a compressed file, in what it decompresses to.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a record.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The checksum of a TFRecord's length is another one: nothing behind it can be found.
    LengthChecksum {
        /// Computed.
        found: u32,
        /// Written in the file.
        expected: u32,
        /// Whether it is the first record: the file may be something else altogether.
        first: bool,
    },
    /// The checksum of a TFRecord's data is another one.
    DataChecksum {
        /// Computed.
        found: u32,
        /// Written in the file.
        expected: u32,
    },
    /// The file ends within the record.
    Truncated {
        /// Bytes that it takes, as far as is known.
        needed: u64,
        /// Bytes that are there.
        left: u64,
    },
    /// The record is larger than what may be read at once.
    TooLarge {
        /// Its bytes.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// The file has fewer records.
    Absent {
        /// How many it has.
        records: u64,
    },
    /// A hash of a part of the file is another one.
    Hash {
        /// The part.
        of: &'static str,
        /// Computed.
        found: u64,
        /// Written in the file.
        expected: u64,
        /// Where the chunk begins that it belongs to.
        chunk: u64,
    },
    /// Any other violation of a format; says what was found and what was expected.
    Malformed(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::LengthChecksum { found, expected, first } => {
                write!(
                    f,
                    "corrupted record: its length has the checksum {found:#010x}, {expected:#010x} is expected"
                )?;
                f.write_str(if *first { "; is this a TFRecord file at all?" } else { "" })
            }
            Problem::DataChecksum { found, expected } => {
                write!(
                    f,
                    "corrupted record: its data have the checksum {found:#010x}, {expected:#010x} is expected"
                )
            }
            Problem::Truncated { needed, left } => {
                write!(f, "truncated record: it takes {needed} bytes or more, the file has {left} more")
            }
            Problem::TooLarge { found, limit } => {
                write!(
                    f,
                    "the record has {found} bytes, at most {limit} can be read; a larger `memoryLimit` allows more"
                )
            }
            Problem::Absent { records } => write!(f, "there is no such record, the file has {records}"),
            Problem::Hash { of, found, expected, chunk } => write!(
                f,
                "corrupted {of}: its hash is {found:#018x}, {expected:#018x} is expected, in the chunk at byte {chunk}"
            ),
            Problem::Malformed(what) => f.write_str(what),
        }
    }
}

impl Fault {
    /// The fault as an error of the file.
    pub fn in_file(&self, file: &std::path::Path) -> DataError {
        DataError::new(self.kind(), Location { file: file.into(), offset: self.offset, line: None })
    }

    /// The fault as errors of data have it.
    pub fn kind(&self) -> DataErrorKind {
        DataErrorKind::Malformed { what: self.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.record, self.problem)
    }
}
