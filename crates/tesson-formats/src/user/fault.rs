//! Faults of what a user's code returns.

use std::fmt;

use tesson_core::{DataErrorKind, FormatFaults, OptionName, OptionSetting, number_of};

const PRECISION: OptionName = OptionName::new("precision");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

tesson_core::error_kinds! {
    /// A fault of what a user-defined deserializer returns.
    pub enum UserFault {
        /// A chunk has another number of columns than there are streams.
        ColumnCount { found: usize = 1, streams: usize = 2 }
            = "user.column-count": ("{}, expected one for each of {}", number_of(found, "column"), number_of(streams, "stream"))
            => "Return one column for each stream, in the order of the streams.",
        /// Two streams of a chunk have different numbers of sequences.
        SequenceCount { stream: String = "y".into(), found: u32 = 3, first: String = "x".into(), expected: u32 = 2 }
            = "user.sequence-count": ("stream `{stream}` has {}, stream `{first}` has {expected}", number_of(found, "sequence"))
            => "Return equally many sequences of all streams.",
        /// A column does not describe its sequences.
        NoOffsets
            = "user.no-offsets": "no offsets, expected one more than there are sequences"
            => "Return the offset of each sequence's samples, and the end of the last.",
        /// All sequences of a chunk have no samples in a stream, so that their number is open.
        NoSamples { stream: String = "x".into() }
            = "user.no-samples": "stream `{stream}` has no samples at all"
            => "Return samples, or the offsets of the sequences.",
        /// A chunk has more entries than 32 bits can count.
        TooMany { found: usize = 5_000_000_000, what: &'static str = "samples" }
            = "user.too-many": ("{found} {what}, at most {} in a chunk are possible", u32::MAX)
            => "Divide the data into more chunks.",
        /// Offsets do not begin with 0, or one is below the one before it.
        Offsets { what: &'static str = "samples" }
            = "user.offsets": "offsets of {what} that do not ascend from 0"
            => "Correct the offsets.",
        /// The sequences have another number of samples than the column.
        SampleCount { found: usize = 2, in_sequences: usize = 3 }
            = "user.sample-count": ("{}, {in_sequences} in sequences", number_of(found, "sample"))
            => "Let the last offset be the number of samples.",
        /// Dense values do not fill whole samples.
        ValueCount { found: usize = 5, dim: usize = 2 }
            = "user.value-count": ("{}, expected a multiple of {dim}", number_of(found, "value"))
            => "Return as many values for each sample as its shape has.",
        /// Sparse samples have different numbers of columns and values.
        PairCount { columns: usize = 3, values: usize = 2, pairs: usize = 3 }
            = "user.pair-count": "{columns} columns, {values} values and {pairs} pairs in samples, expected equally many"
            => "Return one value for each column number.",
        /// Samples are dense in a sparse stream, or sparse in a dense one.
        Sparsity { found: &'static str = "sparse", expected: &'static str = "dense" }
            = "user.sparsity": "{found} samples, expected {expected} ones"
            => "Return samples as the stream declares them.",
        /// Samples are stored in another way than the stream declares.
        OtherStorage { expected: &'static str = "encoded bytes" }
            = "user.storage": "samples in another storage than the stream's, expected {expected}"
            => "Return samples as the stream declares them.",
        /// Frames have values of another type than the stream.
        FrameType { expected: &'static str = "float32" }
            = "user.frame-type": "frames of another type than {expected}"
            => "Return frames in the reader's {PRECISION}.",
        /// Values do not fill whole frames.
        FrameCount { values: usize = 5, frames: u32 = 2, dim: usize = 3 }
            = "user.frame-count": ("{}, expected {} of {dim}", number_of(values, "value"), number_of(frames, "frame"))
            => "Return as many values for each frame as its shape has.",
        /// A frame lies outside of its recording, or a recording outside of the column.
        FrameRange { at: u32 = 7, first: u32 = 0, end: u32 = 5, frames: u32 = 5 }
            = "user.frame-range": "frame {at} of a recording from frame {first} to before {end}, there are {frames} frames"
            => "Correct the numbers of the frames.",
        /// No chunk has a sequence.
        NoSequences { chunks: u32 = 3 }
            = "user.no-sequences": "none of the {chunks} chunks holds a sequence"
            => "Return at least one sequence.",
        /// A stream has values of another type than it declares.
        ValueType { expected: &'static str = "int64" }
            = "user.value-type": "values of another type than {expected}, which the stream declares"
            => "Convert the values, or declare their type.",
        /// A text is no valid UTF-8.
        NoText { string: usize = 4, byte: usize = 17 }
            = "user.no-text": "text {string} is no UTF-8 from its byte {byte} on"
            => "Convert the text to UTF-8, or declare the stream as bytes.",
        /// The columns of a sparse sample are not in order, and its values cannot be added up.
        UnsortedColumns { element: &'static str = "int64" }
            = "user.unsorted-columns": "columns of a sample do not ascend, which only floating-point numbers may do, found {element}"
            => "Sort the columns of each sample, and name each once.",
        /// A length is declared as 0.
        EmptySequence { sequence: usize = 4 }
            = "user.empty-sequence": "sequence {sequence} declares 0 samples, expected at least 1"
            => "Declare the number of samples, at least 1.",
        /// A chunk has another number of keys than of sequences.
        KeyCount { found: usize = 2, sequences: usize = 3 }
            = "user.key-count": ("{} for {}", number_of(found, "key"), number_of(sequences, "sequence"))
            => "Return one key for each sequence.",
        /// Keys are texts where the reader asks for numbers.
        TextKeys
            = "user.text-keys": "keys are texts, expected numbers ({USE_NUMERIC_SEQUENCE_KEYS_FALSE} asks for texts)"
            => "Return numbers, or set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}.",
    }
}

impl FormatFaults for UserFault {}

/// A chunk that does not fit its streams.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkError {
    /// The stream at fault, if it is one.
    pub stream: Option<String>,
    /// The fault.
    pub kind: DataErrorKind,
}

impl<T: Into<DataErrorKind>> From<T> for ChunkError {
    fn from(kind: T) -> ChunkError {
        ChunkError { stream: None, kind: kind.into() }
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.iter().try_for_each(|stream| write!(f, "stream `{stream}`: "))?;
        self.kind.fmt(f)
    }
}

impl std::error::Error for ChunkError {}

tesson_core::error_kinds! {
    /// Why a user-defined deserializer is refused.
    pub enum UserRefusal {
        /// It has no streams.
        NoStreams { name: String = "Words".into() }
            = "user.no-streams": "`{name}` has no streams, expected at least 1"
            => in manual "Declare the streams.",
        /// A stream has no name.
        NamelessStream { name: String = "Words".into(), number: usize = 0 }
            = "user.nameless-stream": "stream {number} of `{name}`: it has no name"
            => in manual "Give the stream a name.",
        /// Samples of a stream have no fixed shape, or no value.
        StreamShape { name: String = "Words".into(), number: usize = 0, stream: String = "x".into(), shape: String = "0".into() }
            = "user.stream-shape": "stream {number} of `{name}`: found the shape {shape} of `{stream}`, expected a fixed one of at \
                least one value"
            => in manual "Declare the shape of the stream's samples.",
        /// Two streams have one name.
        StreamTwice { name: String = "Words".into(), stream: String = "x".into() }
            = "user.stream-twice": "`{name}` has two streams of the name `{stream}`"
            => in manual "Give each stream a name of its own.",
        /// The stream that defines the size of minibatches does not exist.
        NoSuchStream { name: String = "Words".into(), number: usize = 2, n: usize = 2 }
            = "user.no-such-stream": "`{name}` counts the samples of stream {number}, expected one below {n}"
            => in manual "Give the number of a stream, from 0.",
        /// It has no chunks.
        NoChunks { name: String = "Words".into() }
            = "user.no-chunks": "`{name}` has 0 chunks, expected at least 1"
            => in manual "Return at least one chunk.",
    }
}
