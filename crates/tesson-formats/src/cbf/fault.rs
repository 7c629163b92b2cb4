//! Faults of binary files, beside those of any data.

use tesson_core::{FormatFaults, OptionName};

use super::layout::{MOST_STREAMS, PREAMBLE, VERSION};

const INPUT: OptionName = OptionName::new("input");
const MAX_ERRORS: OptionName = OptionName::new("maxErrors");

tesson_core::error_kinds! {
    /// A fault of a file in CNTK's binary format.
    pub enum CbfFault {
        /// The file does not begin with the format's magic number.
        NoMagic { text: bool = true }
            = "cbf.no-magic": "the file does not begin with the magic number of CNTK's binary format";
                (if *text => "text is read with `CNTKTextFormatDeserializer`")
            => "Check that this is a file in CNTK's binary format.",
        /// The file has another version of the format.
        UnknownVersion { found: u32 = 2 }
            = "cbf.unknown-version": "found version {found} of the binary format, expected version {VERSION}"
            => "Rewrite the file, in version 1.",
        /// The file ends before all of its header was read.
        EndsWithin { part: &'static str = "the chunk table" }
            = "cbf.ends-within": "the file ends within {part}"
            => "Copy the file again or rewrite it: it was cut off.",
        /// The last bytes of the file do not lead to its header.
        HeaderOffset { found: i64 = 4000, most: u64 = 95 }
            = "cbf.header-offset": "the file declares that its header begins at byte {found}, expected one from \
                {PREAMBLE} to {most}; the file was cut off or changed"
            => in manual "Copy the file again or rewrite it: it was cut off or changed.",
        /// No header begins where the last bytes of the file say.
        NoHeader
            = "cbf.no-header": "no header begins here; the file is not in CNTK's binary format, or was changed"
            => in manual "Copy the file again or rewrite it: it was changed.",
        /// The header declares no streams, or too many.
        StreamCount { found: u32 = 0 }
            = "cbf.stream-count": "the header declares {found} streams, expected 1 to {MOST_STREAMS}"
            => "Rewrite the file with at least one stream.",
        /// A name in the header is not UTF-8.
        NotUtf8 { part: &'static str = "a stream's name" }
            = "cbf.not-utf-8": "{part} is not UTF-8"
            => "Rewrite the file with names in UTF-8.",
        /// The header declares a stream that cannot be.
        BadStream {
            name: String = "features".into(),
            problem: String = "is dense with dim 0, expected at least 1".into(),
        }
            = "cbf.bad-stream": "stream `{name}` {problem}"
            => "Rewrite the file.",
        /// Two streams have the same name.
        RepeatedStream { name: String = "features".into() }
            = "cbf.repeated-stream": "two streams have the name `{name}`"; "give one of them another in {INPUT}"
            => "Give one of the streams another name in {INPUT}.",
        /// The chunk table does not fit into the file.
        TableTooLarge { chunks: u32 = 2, needed: u64 = 32, left: u64 = 16 }
            = "cbf.table-too-large": "the table of {chunks} chunks takes {needed} bytes, {left} are left for it"
            => "Copy the file again or rewrite it: it was cut off or changed.",
        /// The chunk table lists a chunk outside of the file's data.
        ChunkOffset { chunk: u32 = 1, found: i64 = 4000, most: u64 = 95 }
            = "cbf.chunk-offset": "the table lists chunk {chunk} at byte {found}, expected one from {PREAMBLE} to \
                {most}"
            => "Copy the file again or rewrite it: it was changed.",
        /// The chunk table counts sequences but no samples.
        NoSamples { sequences: u64 = 2 }
            = "cbf.no-samples": "the table counts {sequences} sequences without a sample"
            => "Rewrite the file with at least one sample.",
        /// The chunk table leaves a chunk no room for its sequences.
        ChunkTooSmall { chunk: u32 = 1, sequences: u32 = 9, bytes: u64 = 20 }
            = "cbf.chunk-too-small": "chunk {chunk} of {sequences} sequences has {bytes} bytes until the next chunk \
                or the header begins: the table is wrong, or chunks lie over each other"
            => "Rewrite the file: the table is wrong, or chunks overlap.",
        /// The chunk table counts samples in a chunk without sequences.
        SamplesWithoutSequence { chunk: u32 = 1, samples: u32 = 3 }
            = "cbf.samples-without-sequence": "the table counts {samples} samples in chunk {chunk}, which has no \
                sequence"
            => "Rewrite the file.",
        /// The lengths that a chunk begins with add up to another number of samples than its table entry.
        LengthsDisagree { chunk: u32 = 1, sum: u64 = 7, listed: u32 = 8 }
            = "cbf.lengths-disagree": "the lengths in front of chunk {chunk} add up to {sum} samples, the chunk \
                table lists {listed}"
            => "Rewrite the file.",
        /// The records of a chunk do not fit into it, so its sequences cannot be separated.
        DamagedChunk {
            chunk: u32 = 1,
            sequence: u32 = 0,
            sequences: u32 = 2,
            why: String = "needs 804 bytes, 76 are left until the next chunk or the header begins".into(),
        }
            = "cbf.damaged-chunk": "chunk {chunk} is damaged: sequence {sequence} of {sequences} {why}; the whole \
                chunk is refused"
            => in manual "Rewrite the file; no {MAX_ERRORS} forgives the chunk.",
        /// A sample of a sparse stream has a negative number of entries.
        NegativeCount { found: i32 = -1 }
            = "cbf.negative-count": "a sample has {found} entries, expected 0 or more"
            => "Rewrite the file.",
        /// The entries of a sequence's samples add up to another number than the sequence has.
        CountsDisagree { sum: i64 = 7, declared: u32 = 8 }
            = "cbf.counts-disagree": "its samples have {sum} entries in all, the sequence has {declared}"
            => "Rewrite the file.",
        /// A column number of a sparse value is negative.
        NegativeIndex { found: i32 = -1, dim: u32 = 5 }
            = "cbf.negative-index": "index {found} is negative, expected one from 0 and below dim {dim}"
            => "Rewrite the file.",
        /// The declared length of a sequence differs from its longest stream. A note: the sequence counts as declared.
        OtherLength { counted: u32 = 3, longest: u32 = 4 }
            = "cbf.other-length": "the sequence counts as {counted} samples, the longest of its streams has \
                {longest}"
            => "Rewrite the file if minibatches are to count the longest stream.",
    }
}

impl FormatFaults for CbfFault {}
