//! What can be wrong with a binary file, beside what can be wrong with any data.

use std::fmt;

use tesson_core::FormatFaults;

use super::layout::{MOST_STREAMS, PREAMBLE, VERSION};

tesson_core::error_kinds! {
    /// What is wrong with a file in CNTK's binary format.
    pub enum CbfFault {
        /// The file does not begin with the format's magic number.
        NoMagic {
            /// Whether it begins as text does.
            text: bool = true,
        } = "cbf.no-magic": "Check that this is a file in CNTK's binary format.",
        /// The file has another version of the format.
        UnknownVersion {
            /// The version.
            found: u32 = 2,
        } = "cbf.unknown-version": "Write the file anew, in version 1.",
        /// The file ends before all of its header was read.
        EndsWithin {
            /// The part that is cut off.
            part: &'static str = "the chunk table",
        } = "cbf.ends-within": "Copy or write the file anew: it was cut off.",
        /// The last bytes of the file do not lead to its header.
        HeaderOffset {
            /// The offset found.
            found: i64 = 4000,
            /// The largest possible offset.
            most: u64 = 95,
        } = "cbf.header-offset": "Copy or write the file anew: it was cut off or changed.",
        /// No header begins where the last bytes of the file say.
        NoHeader = "cbf.no-header": "Copy or write the file anew: it was changed.",
        /// The header declares no streams, or too many.
        StreamCount {
            /// Streams declared.
            found: u32 = 0,
        } = "cbf.stream-count": "Write the file anew with at least one stream.",
        /// A name in the header is not UTF-8.
        NotUtf8 {
            /// Which text.
            part: &'static str = "a stream's name",
        } = "cbf.not-utf-8": "Write the file anew with names in UTF-8.",
        /// The header declares a stream that cannot be.
        BadStream {
            /// The stream's name.
            name: String = "features".into(),
            /// Found and expected.
            problem: String = "is dense with dim 0, expected at least 1".into(),
        } = "cbf.bad-stream": "Write the file anew.",
        /// Two streams have the same name.
        RepeatedStream {
            /// The name.
            name: String = "features".into(),
        } = "cbf.repeated-stream": "Give one of the streams another name in `input`.",
        /// The chunk table does not fit into the file.
        TableTooLarge {
            /// Chunks declared.
            chunks: u32 = 2,
            /// Bytes of their table.
            needed: u64 = 32,
            /// Bytes left for it.
            left: u64 = 16,
        } = "cbf.table-too-large": "Copy or write the file anew: it was cut off or changed.",
        /// The chunk table lists a chunk outside of the file's data.
        ChunkOffset {
            /// The chunk.
            chunk: u32 = 1,
            /// The offset found.
            found: i64 = 4000,
            /// The largest possible offset.
            most: u64 = 95,
        } = "cbf.chunk-offset": "Copy or write the file anew: it was changed.",
        /// The chunk table counts sequences but no samples.
        NoSamples {
            /// Sequences counted.
            sequences: u64 = 2,
        } = "cbf.no-samples": "Write the file anew with at least one sample.",
        /// The chunk table leaves a chunk no room for its sequences.
        ChunkTooSmall {
            /// The chunk.
            chunk: u32 = 1,
            /// Its sequences.
            sequences: u32 = 9,
            /// Bytes until the next chunk or the header.
            bytes: u64 = 20,
        } = "cbf.chunk-too-small": "Write the file anew: the table is wrong, or chunks overlap.",
        /// The chunk table counts samples in a chunk without sequences.
        SamplesWithoutSequence {
            /// The chunk.
            chunk: u32 = 1,
            /// Samples counted.
            samples: u32 = 3,
        } = "cbf.samples-without-sequence": "Write the file anew.",
        /// The lengths that a chunk begins with add up to another number of samples than its table entry.
        LengthsDisagree {
            /// The chunk.
            chunk: u32 = 1,
            /// Samples of the lengths.
            sum: u64 = 7,
            /// Samples in the table.
            listed: u32 = 8,
        } = "cbf.lengths-disagree": "Write the file anew.",
        /// The records of a chunk do not fit into it, so that none of its sequences can be told from its neighbours.
        DamagedChunk {
            /// The chunk.
            chunk: u32 = 1,
            /// The sequence where that shows, counted within the chunk.
            sequence: u32 = 0,
            /// Sequences of the chunk.
            sequences: u32 = 2,
            /// What is wrong with that sequence.
            why: String = "needs 804 bytes, 76 are left until the next chunk or the header begins".into(),
        } = "cbf.damaged-chunk": "Write the file anew; no `maxErrors` forgives the chunk.",
        /// A sample of a sparse stream has a negative number of entries.
        NegativeCount {
            /// The number.
            found: i32 = -1,
        } = "cbf.negative-count": "Write the file anew.",
        /// The entries of a sequence's samples add up to another number than the sequence has.
        CountsDisagree {
            /// Entries of all samples.
            sum: i64 = 7,
            /// Entries of the sequence.
            declared: u32 = 8,
        } = "cbf.counts-disagree": "Write the file anew.",
        /// A column number of a sparse value is negative.
        NegativeIndex {
            /// The column number.
            found: i32 = -1,
            /// The stream's dimension.
            dim: u32 = 5,
        } = "cbf.negative-index": "Write the file anew.",
        /// The declared length of a sequence differs from its longest stream. A note: the sequence counts as declared.
        OtherLength {
            /// Samples that it counts as.
            counted: u32 = 3,
            /// Samples of its longest stream.
            longest: u32 = 4,
        } = "cbf.other-length": "Write the file anew if minibatches are to count the longest stream.",
    }
}

impl FormatFaults for CbfFault {}

impl fmt::Display for CbfFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CbfFault::*;
        match self {
            NoMagic { text } => {
                f.write_str("the file does not begin with the magic number of CNTK's binary format")?;
                f.write_str(if *text { "; text is read with `CNTKTextFormatDeserializer`" } else { "" })
            }
            UnknownVersion { found } => {
                write!(f, "found version {found} of the binary format, expected version {VERSION}")
            }
            EndsWithin { part } => write!(f, "the file ends within {part}"),
            HeaderOffset { found, most } => write!(
                f,
                "the file declares that its header begins at byte {found}, expected one from {PREAMBLE} to {most}; the file was \
                 cut off or changed"
            ),
            NoHeader => {
                f.write_str("no header begins here; the file is not in CNTK's binary format, or was changed")
            }
            StreamCount { found } => {
                write!(f, "the header declares {found} streams, expected 1 to {MOST_STREAMS}")
            }
            NotUtf8 { part } => write!(f, "{part} is not UTF-8"),
            BadStream { name, problem } => write!(f, "stream `{name}` {problem}"),
            RepeatedStream { name } => {
                write!(f, "two streams have the name `{name}`; give one of them another in `input`")
            }
            TableTooLarge { chunks, needed, left } => {
                write!(f, "the table of {chunks} chunks takes {needed} bytes, {left} are left for it")
            }
            ChunkOffset { chunk, found, most } => write!(
                f,
                "the table lists chunk {chunk} at byte {found}, expected one from {PREAMBLE} to {most}"
            ),
            NoSamples { sequences } => write!(f, "the table counts {sequences} sequences without a sample"),
            ChunkTooSmall { chunk, sequences, bytes } => write!(
                f,
                "chunk {chunk} of {sequences} sequences has {bytes} bytes until the next chunk or the header begins: the table \
                 is wrong, or chunks lie over each other"
            ),
            SamplesWithoutSequence { chunk, samples } => {
                write!(f, "the table counts {samples} samples in chunk {chunk}, which has no sequence")
            }
            LengthsDisagree { chunk, sum, listed } => write!(
                f,
                "the lengths in front of chunk {chunk} add up to {sum} samples, the chunk table lists {listed}"
            ),
            DamagedChunk { chunk, sequence, sequences, why } => write!(
                f,
                "chunk {chunk} is damaged: sequence {sequence} of {sequences} {why}; the whole chunk is refused"
            ),
            NegativeCount { found } => write!(f, "a sample has {found} entries, expected 0 or more"),
            CountsDisagree { sum, declared } => {
                write!(f, "its samples have {sum} entries in all, the sequence has {declared}")
            }
            NegativeIndex { found, dim } => {
                write!(f, "index {found} is negative, expected one from 0 and below dim {dim}")
            }
            OtherLength { counted, longest } => write!(
                f,
                "the sequence counts as {counted} samples, the longest of its streams has {longest}"
            ),
        }
    }
}
