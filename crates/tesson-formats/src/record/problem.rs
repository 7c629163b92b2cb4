//! What can be wrong with a record.

use std::fmt;

use tesson_core::{DataError, ErrorCodes, ErrorInfo, FormatFaults, Location};

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

tesson_core::error_kinds! {
    /// What is wrong with a record, or with the file that should hold it.
    pub enum Problem {
        /// The length of a TFRecord has another checksum: no record after it can be found.
        LengthChecksum {
            /// Computed.
            found: u32 = 0x3ade_68b1,
            /// Written in the file.
            expected: u32 = 0xe393_7c1d,
            /// Whether it is the first record: the file may be something else altogether.
            first: bool = true,
        } = "tfrecord.length-checksum": "Check that this is a TFRecord file, and write it anew.",
        /// The data of a TFRecord has another checksum.
        DataChecksum {
            /// Computed.
            found: u32 = 0x3ade_68b1,
            /// Written in the file.
            expected: u32 = 0xe393_7c1d,
        } = "tfrecord.data-checksum": "Write the file anew, or leave the record out with `maxErrors`.",
        /// A compressed TFRecord file cannot be decompressed to its end.
        Decompression {
            /// About how many bytes of the file could be decompressed.
            taken: u64 = 4096,
            /// What the decompressor says.
            what: String = "corrupt deflate stream".into(),
        } = "tfrecord.decompression": "Copy or write the file anew.",
        /// The file ends within the record.
        Truncated {
            /// Bytes that it takes, as far as is known.
            needed: u64 = 120,
            /// Bytes left in the file.
            left: u64 = 40,
        } = "record.truncated": "Copy or write the file anew: it was cut off.",
        /// The record is larger than what may be read at once.
        TooLarge {
            /// Its bytes.
            found: u64 = 200_000,
            /// The limit.
            limit: u64 = 125_000,
        } = "record.too-large": "Raise `memoryLimit`.",
        /// The file has fewer records.
        Absent {
            /// How many it has.
            records: u64 = 3,
        } = "record.absent": "Prepare the dataset anew: its description lists more records.",
        /// A part of an ArrayRecord file has another hash.
        Hash {
            /// The part.
            of: &'static str = "chunk header",
            /// Computed.
            found: u64 = 0x3ade_68b1,
            /// Written in the file.
            expected: u64 = 0xe393_7c1d,
            /// Where the chunk begins that it belongs to.
            chunk: u64 = 65_536,
        } = "array-record.hash": "Copy or write the file anew.",
        /// A chunk of an ArrayRecord file is not as the format has it, or of a kind that is not read.
        BadChunk {
            /// What was found, and what was expected.
            what: String = "the chunk is transposed, expected a simple one; write the file with `transpose:false`".into(),
        } = "array-record.bad-chunk": "Write the file anew, with `transpose:false`.",
        /// The index of an ArrayRecord file is not as the format has it, or the file is another one.
        BadIndex {
            /// What was found, and what was expected.
            what: String = "the file does not begin as ArrayRecord files do".into(),
        } = "array-record.bad-index": "Check that this is an ArrayRecord file, and copy or write it anew.",
        /// A row of a Parquet file has no example.
        NoExample = "parquet.no-example": "Write the file anew, or leave the row out with `maxErrors`.",
        /// A row group of a Parquet file cannot be decoded.
        BadRowGroup {
            /// Its number.
            group: u64 = 2,
            /// Why.
            what: String = "the page is damaged".into(),
        } = "parquet.bad-row-group": "Copy or write the file anew.",
        /// The description at the end of a Parquet file is not as the format has it, or the file is another one.
        BadDescription {
            /// What was found, and what was expected.
            what: String = "the file does not begin and end as Parquet files do".into(),
        } = "parquet.bad-description": "Check that this is a Parquet file of examples, and copy or write it anew.",
    }
}

impl Eq for Problem {}

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
            Problem::Decompression { taken, what } => {
                write!(f, "the file cannot be decompressed beyond byte {taken} or so: {what}")
            }
            Problem::NoExample => f.write_str("the row holds no example"),
            Problem::BadRowGroup { group, what } => write!(f, "row group {group} cannot be read: {what}"),
            Problem::BadChunk { what } | Problem::BadIndex { what } | Problem::BadDescription { what } => {
                f.write_str(what)
            }
        }
    }
}

impl Fault {
    /// The fault as an error of the file.
    pub fn in_file(&self, file: &std::path::Path) -> DataError {
        DataError::new(self.clone(), Location { file: file.into(), offset: self.offset, line: None })
    }
}

impl ErrorCodes for Fault {
    const TABLE: &'static [ErrorInfo] = Problem::TABLE;

    fn code(&self) -> &'static str {
        self.problem.code()
    }

    fn examples() -> Vec<Fault> {
        Problem::examples().into_iter().map(|problem| Fault { record: 3, offset: 0, problem }).collect()
    }
}

impl FormatFaults for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.record, self.problem)
    }
}
