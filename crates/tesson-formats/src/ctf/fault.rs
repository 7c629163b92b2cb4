//! Faults of text files, beside those of any data.

use tesson_core::FormatFaults;

tesson_core::error_kinds! {
    /// A fault of a file in the CNTK text format.
    pub enum CtfFault {
        /// The file is UTF-16: it starts with the byte order mark.
        Utf16
            = "ctf.utf-16": "the file is UTF-16, expected ASCII or UTF-8"
            => "Convert the file to UTF-8.",
        /// The file is in CNTK's binary format.
        Binary
            = "ctf.binary": "the file is in CNTK's binary format, expected text; read it with \
                `CNTKBinaryFormatDeserializer`"
            => "Read the file with `CNTKBinaryFormatDeserializer`.",
        /// The file is compressed.
        Compressed { program: &'static str = "gzip", remedy: &'static str = "gunzip --keep" }
            = "ctf.compressed": "the file is compressed by {program}, expected text; decompress it with `{remedy}`"
            => "Decompress the file with the command that the message names.",
        /// The first row starts with neither a sequence id nor an input.
        ExpectedSequenceId { found: u8 = b'x' }
            = "ctf.expected-sequence-id": ("found `{}`, expected a sequence id (digits) or an input (`|name`){}", found.escape_ascii(), id_remedy(*found))
            => "Check that this is a text file; for ids that are text set `useNumericSequenceKeys = false`.",
        /// A sequence id does not fit into 64 bits.
        IdOverflow { found: String = "18446744073709551616".into() }
            = "ctf.id-overflow": "found sequence id {found}, expected one below 2^64"
            => "Use ids below 2^64, or `useNumericSequenceKeys = false`.",
        /// A chunk has more bytes than the format supports.
        ChunkTooLarge { found: u64 = 5_000_000_000, limit: u64 = 4_294_967_295 }
            = "ctf.chunk-too-large": "a chunk has {found} bytes, at most {limit} are supported; lower \
                `chunkSizeInBytes`"
            => "Lower `chunkSizeInBytes`.",
        /// Text stands where an input (`|name`) is expected.
        StrayText { found: String = "x".into() }
            = "ctf.stray-text": "found `{found}`, expected an input (`|name`)"
            => "Start each sample with `|` and the name of its input.",
        /// A `|` has no name after it.
        UnnamedInput
            = "ctf.unnamed-input": "`|` is not followed at once by a name"
            => "Write the name of the input directly after `|`, without a blank.",
        /// A value of a dense sample is not a number.
        BadNumber { found: String = "1x".into() }
            = "ctf.bad-number": ("`{found}` is not a number{}", number_remedy(found))
            => "Mend the value; `numbers = \"extended\"` accepts `nan` and `inf`, `format = \"sparse\"` accepts pairs.",
        /// A dense sample has more values than the stream's dimension.
        TooManyValues { dim: u64 = 2 }
            = "ctf.too-many-values": "the sample has more than {dim} values, the stream's dim is {dim}"
            => "Raise the stream's `dim`, or remove the surplus values.",
        /// A value of a sparse sample is not a pair `index:value`.
        BadPair { found: String = "0:".into() }
            = "ctf.bad-pair": ("`{found}` is not a pair `index:value`{}", pair_remedy(found))
            => "Mend the pair; values without an index need `format = \"dense\"`.",
        /// A row has no valid sample of a configured input.
        RowWithoutSample
            = "ctf.row-without-sample": "the row holds no valid sample of a known input"
            => "Remove the row, or configure one of its inputs.",
        /// An input occurs more than once in a row. A note: all of its samples are read.
        RepeatedInput
            = "ctf.repeated-input": "the input occurs again in the same row, expected one sample a row"
            => "Write each sample into a row of its own.",
        /// A row has text but no input.
        RowWithoutInput { found: String = "x".into() }
            = "ctf.row-without-input": "found `{found}` in a row without any input, expected `|name` and values"
            => "Start each sample with `|` and the name of its input.",
        /// A stream has more samples than the sequence has rows.
        MoreSamplesThanRows { samples: u64 = 2, rows: u64 = 1 }
            = "ctf.more-samples-than-rows": "found {samples} samples in a sequence of {rows} rows, expected at most \
                one a row"
            => "Write at most one sample of each input into a row.",
        /// No stream has as many samples as the sequence has rows.
        FewerSamplesThanRows { samples: u64 = 1, rows: u64 = 2 }
            = "ctf.fewer-samples-than-rows": "the longest input has {samples} samples in a sequence of {rows} rows, \
                expected one a row"
            => "Let one input have a sample in each row, or set `rules = \"lenient\"`.",
        /// A stream has no sample in a sequence, which cannot be delivered.
        EmptyInput
            = "ctf.empty-input": "the input has no sample in this sequence (`rules = \"lenient\"` and `emptyInputs` \
                accept that)"
            => "Set `rules = \"lenient\"` and choose with `emptyInputs` what happens to such sequences.",
        /// A stream has no sample in a sequence, which is left out of all streams.
        MissingInput
            = "ctf.missing-input": "the input has no sample in this sequence, which is left out of all streams \
                (`emptyInputs = \"keep\"` delivers it)"
            => "Set `emptyInputs = \"keep\"` to deliver the sequence.",
    }
}

impl FormatFaults for CtfFault {}

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
