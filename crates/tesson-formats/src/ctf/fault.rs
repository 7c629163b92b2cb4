//! What can be wrong with a text file, beside what can be wrong with any data.

use std::fmt;

use tesson_core::FormatFaults;

tesson_core::error_kinds! {
    /// What is wrong with a file in the CNTK text format.
    pub enum CtfFault {
        /// The file is UTF-16: it starts with the byte order mark.
        Utf16 = "ctf.utf-16": "Convert the file to UTF-8.",
        /// The file is in CNTK's binary format.
        Binary = "ctf.binary": "Read the file with `CNTKBinaryFormatDeserializer`.",
        /// The file is compressed.
        Compressed {
            /// The program that compresses so.
            program: &'static str = "gzip",
            /// The command that decompresses it.
            remedy: &'static str = "gunzip --keep",
        } = "ctf.compressed": "Decompress the file with the command that the message names.",
        /// The first row starts with neither a sequence id nor an input.
        ExpectedSequenceId {
            /// The byte found instead.
            found: u8 = b'x',
        } = "ctf.expected-sequence-id": "Check that this is a text file; for ids that are text set `useNumericSequenceKeys = false`.",
        /// A sequence id does not fit into 64 bits.
        IdOverflow {
            /// Its digits.
            found: String = "18446744073709551616".into(),
        } = "ctf.id-overflow": "Use ids below 2^64, or `useNumericSequenceKeys = false`.",
        /// A chunk has more bytes than the format supports.
        ChunkTooLarge {
            /// Its size in bytes.
            found: u64 = 5_000_000_000,
            /// The largest size supported.
            limit: u64 = 4_294_967_295,
        } = "ctf.chunk-too-large": "Lower `chunkSizeInBytes`.",
        /// Text stands where an input (`|name`) is expected.
        StrayText {
            /// The first of the text.
            found: String = "x".into(),
        } = "ctf.stray-text": "Start each sample with `|` and the name of its input.",
        /// A `|` has no name after it.
        UnnamedInput = "ctf.unnamed-input": "Name the input after `|`.",
        /// A value of a dense sample is not a number.
        BadNumber {
            /// The text of the value.
            found: String = "1x".into(),
        } = "ctf.bad-number": "Mend the value; `numbers = \"extended\"` accepts `nan` and `inf`, `format = \"sparse\"` accepts pairs.",
        /// A dense sample has more values than the stream's dimension.
        TooManyValues {
            /// The stream's dimension.
            dim: u64 = 2,
        } = "ctf.too-many-values": "Raise the stream's `dim`, or remove the surplus values.",
        /// A value of a sparse sample is not a pair `index:value`.
        BadPair {
            /// The text of the pair.
            found: String = "0:".into(),
        } = "ctf.bad-pair": "Mend the pair; values without an index need `format = \"dense\"`.",
        /// A row has no valid sample of a configured input.
        RowWithoutSample = "ctf.row-without-sample": "Remove the row, or configure one of its inputs.",
        /// An input occurs more than once in a row. A note: all of its samples are read.
        RepeatedInput = "ctf.repeated-input": "Write each sample into a row of its own.",
        /// A row has text but no input.
        RowWithoutInput {
            /// The first of the text.
            found: String = "x".into(),
        } = "ctf.row-without-input": "Start each sample with `|` and the name of its input.",
        /// A stream has more samples than the sequence has rows.
        MoreSamplesThanRows {
            /// Samples found.
            samples: u64 = 2,
            /// Rows, as indexed.
            rows: u64 = 1,
        } = "ctf.more-samples-than-rows": "Write at most one sample of each input into a row.",
        /// No stream has as many samples as the sequence has rows.
        FewerSamplesThanRows {
            /// Samples of the longest stream.
            samples: u64 = 1,
            /// Rows, as indexed.
            rows: u64 = 2,
        } = "ctf.fewer-samples-than-rows": "Let one input have a sample in each row, or set `rules = \"lenient\"`.",
        /// A stream has no sample in a sequence, which cannot be delivered.
        EmptyInput = "ctf.empty-input": "Set `rules = \"lenient\"` and choose with `emptyInputs` what happens to such sequences.",
        /// A stream has no sample in a sequence, which is left out of all streams.
        MissingInput = "ctf.missing-input": "Set `emptyInputs = \"keep\"` to deliver the sequence.",
    }
}

impl FormatFaults for CtfFault {}

impl fmt::Display for CtfFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CtfFault::*;
        match self {
            Utf16 => f.write_str("the file is UTF-16, expected ASCII or UTF-8"),
            Binary => f.write_str(
                "the file is in CNTK's binary format, expected text; read it with `CNTKBinaryFormatDeserializer`",
            ),
            Compressed { program, remedy } => {
                write!(f, "the file is compressed by {program}, expected text; decompress it with `{remedy}`")
            }
            ExpectedSequenceId { found } => write!(
                f,
                "found `{}`, expected a sequence id (digits) or an input (`|name`){}",
                found.escape_ascii(),
                id_remedy(*found)
            ),
            IdOverflow { found } => write!(f, "found sequence id {found}, expected one below 2^64"),
            ChunkTooLarge { found, limit } => {
                write!(f, "a chunk has {found} bytes, at most {limit} are supported; lower `chunkSizeInBytes`")
            }
            StrayText { found } => write!(f, "found `{found}`, expected an input (`|name`)"),
            UnnamedInput => f.write_str("`|` is not followed by a name"),
            BadNumber { found } => write!(f, "`{found}` is not a number{}", number_remedy(found)),
            TooManyValues { dim } => {
                write!(f, "the sample has more than {dim} values, the stream's dim is {dim}")
            }
            BadPair { found } => write!(f, "`{found}` is not a pair `index:value`{}", pair_remedy(found)),
            RowWithoutSample => f.write_str("the row holds no valid sample of a known input"),
            RepeatedInput => f.write_str("the input occurs again in the same row, expected one sample a row"),
            RowWithoutInput { found } => {
                write!(f, "found `{found}` in a row without any input, expected `|name` and values")
            }
            MoreSamplesThanRows { samples, rows } => {
                write!(f, "found {samples} samples in a sequence of {rows} rows, expected at most one a row")
            }
            FewerSamplesThanRows { samples, rows } => write!(
                f,
                "the longest input has {samples} samples in a sequence of {rows} rows, expected one a row"
            ),
            EmptyInput => f.write_str(
                "the input has no sample in this sequence (`rules = \"lenient\"` and `emptyInputs` accept that)",
            ),
            MissingInput => f.write_str(
                "the input has no sample in this sequence, which is left out of all streams (`emptyInputs = \"keep\"` \
                 delivers it)",
            ),
        }
    }
}

/// Suggests what fits a file that begins with `found`.
fn id_remedy(found: u8) -> &'static str {
    match found {
        b if b.is_ascii_alphabetic() => "; for ids that are text set `useNumericSequenceKeys = false`",
        b if b.is_ascii_graphic() => "",
        _ => "; is this a text file?",
    }
}

/// Suggests the option under which `found` is read, where the text shows what was meant.
fn number_remedy(found: &str) -> &'static str {
    match found.split_once(':') {
        Some((index, value)) if index.parse::<u64>().is_ok() && value.parse::<f64>().is_ok() => {
            "; pairs `index:value` are values of a sparse stream, `format = \"sparse\"`"
        }
        None if found.parse::<f64>().is_ok() => "; `numbers = \"extended\"` accepts it",
        _ => ", expected one such as `1`, `-0.5` or `2e-3`",
    }
}

/// Suggests the option under which `found` is read as the value of a dense stream.
fn pair_remedy(found: &str) -> &'static str {
    match found.parse::<f64>() {
        Ok(_) => "; values without an index are those of a dense stream, `format = \"dense\"`",
        Err(_) => ", expected one such as `3:0.5`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_other_storage_form_name_the_option_that_reads_them() {
        let number = |found: &str| CtfFault::BadNumber { found: found.into() }.to_string();
        assert!(
            number("3:1.5")
                .ends_with("; pairs `index:value` are values of a sparse stream, `format = \"sparse\"`")
        );
        assert!(number("nan").ends_with("; `numbers = \"extended\"` accepts it"));
        assert_eq!(number("1x"), "`1x` is not a number, expected one such as `1`, `-0.5` or `2e-3`");
        assert_eq!(number("a:1"), "`a:1` is not a number, expected one such as `1`, `-0.5` or `2e-3`");
        let pair = |found: &str| CtfFault::BadPair { found: found.into() }.to_string();
        assert!(
            pair("1")
                .ends_with("; values without an index are those of a dense stream, `format = \"dense\"`")
        );
        assert_eq!(pair("1:x"), "`1:x` is not a pair `index:value`, expected one such as `3:0.5`");
    }
}
