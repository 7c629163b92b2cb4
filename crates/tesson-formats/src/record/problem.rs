//! Faults of records.

use std::fmt;

use tesson_core::{DataError, ErrorCodes, ErrorInfo, FormatFaults, Location, OptionName, Remedy};

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the file, from 0.
    pub record: u64,
    /// Where in the file the damage was found, in bytes; in a compressed file, in what it decompresses to.
    pub offset: u64,
    /// The fault.
    pub problem: Problem,
}

const MAX_ERRORS: OptionName = OptionName::new("maxErrors");
const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");

tesson_core::error_kinds! {
    /// A fault of a record, or of the file that should hold it.
    pub enum Problem {
        /// The length of a TFRecord has another checksum: no record after it can be found.
        LengthChecksum { found: u32 = 0x3ade_68b1, expected: u32 = 0xe393_7c1d, first: bool = true }
            = "tfrecord.length-checksum": "corrupted record: its length has the checksum {found:#010x}, {expected:#010x} \
                is expected"; (if *first => "is this a TFRecord file at all?")
            => "Check that this is a TFRecord file, and rewrite it.",
        /// The data of a TFRecord has another checksum.
        DataChecksum { found: u32 = 0x3ade_68b1, expected: u32 = 0xe393_7c1d }
            = "tfrecord.data-checksum": "corrupted record: its data have the checksum {found:#010x}, \
                {expected:#010x} is expected"
            => "Rewrite the file, or leave the record out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// A compressed TFRecord file cannot be decompressed to its end.
        Decompression { taken: u64 = 4096, what: String = "corrupt deflate stream".into() }
            = "tfrecord.decompression": "the file cannot be decompressed beyond byte {taken} or so: {what}"
            => "Copy the file again or rewrite it.",
        /// The file ends within the record.
        Truncated { needed: u64 = 120, left: u64 = 40 }
            = "record.truncated": "truncated record: it takes {needed} bytes or more, the file has {left} more"
            => "Copy the file again or rewrite it: it was cut off.",
        /// The record is larger than what may be read at once.
        TooLarge { found: u64 = 200_000, limit: u64 = 125_000 }
            = "record.too-large": "the record has {found} bytes, at most {limit} can be read; a larger \
                {MEMORY_LIMIT} allows more"
            => in manual "Raise {MEMORY_LIMIT}.",
        /// The file has fewer records.
        Absent { records: u64 = 3 }
            = "record.absent": "there is no such record, the file has {records}"
            => "Prepare the dataset again: its description lists more records.",
        /// A part of an ArrayRecord file has another hash.
        Hash {
            of: &'static str = "chunk header",
            found: u64 = 0x3ade_68b1,
            expected: u64 = 0xe393_7c1d,
            chunk: u64 = 65_536,
        }
            = "array-record.hash": "corrupted {of}: its hash is {found:#018x}, {expected:#018x} is expected, in the \
                chunk at byte {chunk}"
            => "Copy the file again or rewrite it.",
        /// A chunk of an ArrayRecord file is transposed, a form that is not read.
        TransposedChunk
            = "array-record.transposed-chunk": "the chunk is transposed, expected a simple one"; "write the file with \
                `transpose:false`"
            => "Rewrite the file, with `transpose:false`.",
        /// A chunk of an ArrayRecord file holds something other than records.
        ChunkKind { found: u8 = b'p' }
            = "array-record.chunk-kind": ("the chunk is of kind `{}`, expected records", found.escape_ascii())
            => "Copy the file again or rewrite it.",
        /// A chunk of an ArrayRecord file has another number of records than the file's index lists.
        RecordCount { chunk: u64 = 65_536, found: u64 = 3, indexed: u64 = 4 }
            = "array-record.record-count": "the chunk at byte {chunk} has {found} records, {indexed} by the file's index"
            => "Copy the file again or rewrite it.",
        /// A chunk of an ArrayRecord file cannot be decompressed, or its parts do not fit together.
        BadChunk { what: String = "there are fewer sizes than records".into(), chunk: u64 = 65_536 }
            = "array-record.bad-chunk": "{what}, in the chunk at byte {chunk}"
            => "Copy the file again or rewrite it.",
        /// The file does not begin as ArrayRecord files do.
        NoSignature
            = "array-record.no-signature": "the file does not begin as ArrayRecord files do"
            => "Check that this is an ArrayRecord file.",
        /// The size of an ArrayRecord file is not a multiple of the block size.
        CutOff { size: u64 = 100_000 }
            = "array-record.cut-off": "the file has {size} bytes, expected a multiple of 65536, at least 131072: it \
                was cut off"
            => "Copy the file again or rewrite it: it was cut off.",
        /// An ArrayRecord file does not end with the position of its index.
        NoPostscript
            = "array-record.no-postscript": "the file does not end as ArrayRecord files do: it has been cut"
            => "Copy the file again or rewrite it: it was cut off.",
        /// The index of an ArrayRecord file is invalid.
        BadIndex { what: String = "the file's index is wrong: its version is 2, 1 is expected".into() }
            = "array-record.bad-index": "{what}"
            => "Copy the file again or rewrite it.",
        /// A row of a Parquet file has no example.
        NoExample
            = "parquet.no-example": "the row holds no example"
            => "Rewrite the file, or leave the row out: {MAX_ERRORS} of a deserializer, `on_damage` of a dataset.",
        /// A row group of a Parquet file cannot be decoded.
        BadRowGroup { group: u64 = 2, what: String = "the page is damaged".into() }
            = "parquet.bad-row-group": "row group {group} cannot be read: {what}"
            => "Copy the file again or rewrite it.",
        /// The file is too short for a Parquet file.
        TooShort { size: u64 = 4, least: u64 = 12 }
            = "parquet.too-short": "the file has {size} bytes, a Parquet file has {least} or more"
            => "Check that this is a Parquet file, and copy it again or rewrite it.",
        /// The file does not begin and end as Parquet files do.
        NoMagic
            = "parquet.no-magic": "the file does not begin and end as Parquet files do"
            => "Check that this is a Parquet file, and copy it again or rewrite it.",
        /// The description at the end of a Parquet file is larger than the file, or than what may be read.
        DescriptionSize { found: u64 = 5_000_000, most: u64 = 4096 }
            = "parquet.description-size": "the file's description declares {found} bytes, at most {most} are possible"
            => "Copy the file again or rewrite it, or raise {MEMORY_LIMIT}.",
        /// The description at the end of a Parquet file cannot be parsed.
        BadDescription { what: String = "Parquet error: Invalid thrift".into() }
            = "parquet.bad-description": "the file's description cannot be parsed: {what}"
            => "Copy the file again or rewrite it.",
        /// A Parquet file has no column of examples.
        NoColumn { name: &'static str = "data" }
            = "parquet.no-column": "the file has no column `{name}`"
            => "Check that this is a Parquet file of examples.",
        /// The column of a Parquet file holds something other than examples.
        ColumnType { name: &'static str = "data" }
            = "parquet.column-type": "column `{name}` holds something other than one example a row"
            => "Check that this is a Parquet file of examples.",
        /// A row group of a Parquet file declares more rows than are supported.
        RowCount { group: usize = 2, rows: i64 = 5_000_000_000, most: i64 = 1_048_576 }
            = "parquet.row-count": "row group {group} declares {rows} rows, at most {most} are expected"
            => "Rewrite the file with smaller row groups.",
    }
}

impl Eq for Problem {}

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

    fn remedy(&self) -> Remedy {
        self.problem.remedy()
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
