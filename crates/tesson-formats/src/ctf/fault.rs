//! Faults of text files, beside those of any data.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const CHUNK_SIZE_IN_BYTES: OptionName = OptionName::new("chunkSizeInBytes");
const EMPTY_INPUTS: OptionName = OptionName::new("emptyInputs");
const EMPTY_INPUTS_KEEP: OptionSetting = OptionName::set_to("emptyInputs", "\"keep\"");
const NUMBERS_EXTENDED: OptionSetting = OptionName::set_to("numbers", "\"extended\"");
const RULES_LENIENT: OptionSetting = OptionName::set_to("rules", "\"lenient\"");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

const DIM: OptionName = OptionName::new("dim");
const FORMAT_DENSE: OptionSetting = OptionName::set_to("format", "\"dense\"");
const FORMAT_SPARSE: OptionSetting = OptionName::set_to("format", "\"sparse\"");

tesson_core::error_kinds! {
    /// A fault of a file in the CNTK text format.
    pub enum CtfFault {
        /// The file is UTF-16: it starts with the byte order mark.
        Utf16
            = "ctf.utf-16": "the file is UTF-16, expected ASCII or UTF-8"
            => "Convert the file to UTF-8.",
        /// The file is in CNTK's binary format.
        Binary
            = "ctf.binary": "the file is in CNTK's binary format, expected text"; "read it with \
                `CNTKBinaryFormatDeserializer`"
            => "Read the file with `CNTKBinaryFormatDeserializer`.",
        /// The file is compressed.
        Compressed { program: &'static str = "gzip", remedy: &'static str = "gunzip --keep" }
            = "ctf.compressed": "the file is compressed by {program}, expected text"; "decompress it with `{remedy}`"
            => "Decompress the file with the command that the message names.",
        /// The first row starts with neither a sequence id nor an input.
        ExpectedSequenceId { found: u8 = b'x' }
            = "ctf.expected-sequence-id": ("found `{}`, expected a sequence id (digits) or an input \
                (`|name`)", found.escape_ascii()); (of id_remedy(*found))
            => "Check that this is a text file; for ids that are text set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}.",
        /// A sequence id does not fit into 64 bits.
        IdOverflow { found: String = "18446744073709551616".into() }
            = "ctf.id-overflow": "found sequence id {found}, expected one below 2^64"
            => "Use ids below 2^64, or {USE_NUMERIC_SEQUENCE_KEYS_FALSE}.",
        /// A chunk has more bytes than the format supports.
        ChunkTooLarge { found: u64 = 5_000_000_000, limit: u64 = 4_294_967_295 }
            = "ctf.chunk-too-large": "a chunk has {found} bytes, at most {limit} are supported"; "lower \
                {CHUNK_SIZE_IN_BYTES}"
            => "Lower {CHUNK_SIZE_IN_BYTES}.",
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
            = "ctf.bad-number": ("`{found}` is not a number{}",
                expected(number_remedy(found), "`1`, `-0.5` or `2e-3`")); (of number_remedy(found))
            => "Fix the value; {NUMBERS_EXTENDED} accepts `nan` and `inf`, {FORMAT_SPARSE} accepts pairs.",
        /// A dense sample has more values than the stream's dimension.
        TooManyValues { dim: u64 = 2 }
            = "ctf.too-many-values": ("the sample has more than {}, the stream's dim is {dim}", number_of(dim, "value"))
            => "Raise the stream's {DIM}, or remove the surplus values.",
        /// A value of a sparse sample is not a pair `index:value`.
        BadPair { found: String = "0:".into() }
            = "ctf.bad-pair": ("`{found}` is not a pair `index:value`{}", expected(pair_remedy(found), "`3:0.5`"));
                (of pair_remedy(found))
            => "Fix the pair; values without an index need {FORMAT_DENSE}.",
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
            = "ctf.more-samples-than-rows": ("found {samples} samples in a sequence of {}, expected at most one a row", number_of(rows, "row"))
            => "Write at most one sample of each input into a row.",
        /// No stream has as many samples as the sequence has rows.
        FewerSamplesThanRows { samples: u64 = 1, rows: u64 = 2 }
            = "ctf.fewer-samples-than-rows": ("the longest input has {} in a sequence of {rows} rows, expected one a row", number_of(samples, "sample"))
            => "Let one input have a sample in each row, or set {RULES_LENIENT}.",
        /// A stream has no sample in a sequence, which cannot be delivered.
        EmptyInput
            = "ctf.empty-input": "the input has no sample in this sequence ({RULES_LENIENT} and {EMPTY_INPUTS} \
                accept that)"
            => "Set {RULES_LENIENT} and choose with {EMPTY_INPUTS} what happens to such sequences.",
        /// A stream has no sample in a sequence, which is left out of all streams.
        MissingInput
            = "ctf.missing-input": "the input has no sample in this sequence, which is left out of all streams \
                ({EMPTY_INPUTS_KEEP} delivers it)"
            => "Set {EMPTY_INPUTS_KEEP} to deliver the sequence.",
    }
}

impl FormatFaults for CtfFault {}

/// Suggests the option under which the first row is read, where its first byte shows what was meant.
fn id_remedy(found: u8) -> Option<String> {
    match found {
        b if b.is_ascii_alphabetic() => {
            Some(format!("for ids that are text set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}"))
        }
        b if b.is_ascii_graphic() => None,
        _ => Some("is this a text file?".into()),
    }
}

/// Suggests the option under which `found` is read, where the text shows what was meant.
fn number_remedy(found: &str) -> Option<String> {
    match found.split_once(':') {
        Some((index, value)) if index.parse::<u64>().is_ok() && value.parse::<f64>().is_ok() => {
            Some(format!("pairs `index:value` are values of a sparse stream, {FORMAT_SPARSE}"))
        }
        None if found.parse::<f64>().is_ok() => Some(format!("{NUMBERS_EXTENDED} accepts it")),
        _ => None,
    }
}

/// Suggests the option under which `found` is read as the value of a dense stream.
fn pair_remedy(found: &str) -> Option<String> {
    found
        .parse::<f64>()
        .is_ok()
        .then(|| format!("values without an index are those of a dense stream, {FORMAT_DENSE}"))
}

/// The numbers or pairs that are expected, where no option is suggested.
fn expected(remedy: Option<String>, example: &str) -> String {
    match remedy {
        Some(_) => String::new(),
        None => format!(", expected one such as {example}"),
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
