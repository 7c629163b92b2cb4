//! The faults that data of any format can have, and those of one format, which only that format knows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{Cause, ErrorCodes};

/// The number of sequences of the largest size for which memory limits have room: decoding and packing one takes
/// several times its bytes.
pub const SEQUENCES_IN_MEMORY: u64 = 8;

crate::error_kinds! {
    /// A fault of data.
    pub enum DataErrorKind {
        /// The file is empty, or holds only white space.
        EmptyFile
            = "data.empty-file": "the file is empty or holds only white space, expected at least one sequence"
            => "Give a file with at least one sequence.",
        /// The file holds no sequence: the rules, or `definesMBSize`, drop all of its rows.
        NoSequences
            = "data.no-sequences": "the file holds no sequence under the given options"
            => "Check `definesMBSize` and the names of the inputs.",
        /// A sequence is larger than the format supports.
        SequenceTooLarge { found: u64 = 5_000_000_000, limit: u64 = 4_294_967_295 }
            = "data.sequence-too-large": "the sequence has {found} bytes, at most {limit} are supported"
            => "Split the sequence.",
        /// A sequence takes more memory than the memory limit grants to one sequence.
        SequenceBeyondMemory { found: u64 = 200_000, limit: u64 = 125_000 }
            = "data.sequence-beyond-memory": ("the sequence has at least {found} bytes, at most {limit} fit into \
                this `memoryLimit`; {} or more is needed", found.saturating_mul(SEQUENCES_IN_MEMORY))
            => "Raise `memoryLimit` to the value that the message names.",
        /// Decoding and transforming a sample takes more memory than the memory limit grants.
        SampleBeyondMemory {
            shape: String = "16383x16383x3".into(),
            found: u64 = 2_700_000_000,
            most: u64 = 50_331_648,
            limit: u64 = 3_600_000_000
        }
            = "data.sample-beyond-memory": "decoding a sample of {shape} values takes {found} bytes, at most {most} fit into \
                this `memoryLimit`; {limit} or more is needed"
            => "Raise `memoryLimit` to the value that the message names, or set `onCorruptImage = \"skip\"` of a deserializer of \
                pictures.",
        /// The column number of a sparse value is not below the stream's dimension.
        IndexOutOfRange { index: String = "5".into(), dim: u64 = 5 }
            = "data.index-out-of-range": "index {index} is not below dim {dim}"
            => "Raise the stream's `dim`, or mend the column number.",
        /// Samples have fewer values than the stream's dimension. A note: the missing values are read as zeros.
        ShortSamples { samples: u64 = 3, most: u64 = 9, dim: u64 = 10 }
            = "data.short-samples": ("{}{most} of {dim} values, the others are zeros; is `dim` too large?",
                short_samples(*samples))
            => "Lower the stream's `dim` if all of its samples are shorter.",
        /// Two sequences of one file have the same key. A note: both are read.
        RepeatedKey { first: u64 = 120 }
            = "data.repeated-key": "the key occurs again, the first sequence with it begins at byte {first}; all \
                rows of a sequence are expected to follow each other"
            => "Store all rows of a sequence one after the other.",
        /// A sequence has more than one sample, but `frameMode` expects exactly one.
        NotAFrame { samples: u64 = 3 }
            = "data.not-a-frame": "frame mode expects sequences of one sample, found one of {samples}"
            => "Turn `frameMode` off.",
        /// Two streams of a sequence have different lengths, but truncation cuts them together.
        UnequalStreams { samples: u64 = 3, other: String = "labels".into(), other_samples: u64 = 2 }
            = "data.unequal-streams": "streams of one length are truncated together, found {samples} samples beside \
                {other_samples} of stream `{other}`"
            => "Give the streams equal lengths, or turn truncation off.",
        /// A sequence is longer or shorter than that of the first deserializer by more than is tolerated.
        LengthsDiffer { found: u64 = 120, expected: u32 = 123, tolerance: u32 = 2 }
            = "data.lengths-differ": "the sequence has {found} samples, that of the first deserializer {expected}; they may \
                differ by {tolerance}"
            => "Mend the data, or raise `lengthTolerance`.",
        /// A stream of a sequence whose samples join the frames of an utterance has another number of them.
        SamplesAndFrames { found: u64 = 2, expected: u32 = 3 }
            = "data.samples-and-frames": "the stream has {found} samples in a sequence of {expected}, expected as many, or one for \
                all frames; which frames they belong to is not known"
            => "Give each frame its sample, or the sequence a single one.",
        /// Samples of one minibatch have different shapes, and the stream's transforms do not bring them to one.
        ShapesDiffer { found: String = "480x640x3".into(), expected: String = "375x500x3".into() }
            = "data.shapes-differ": "the sample has the shape {found}, those before it in the minibatch have {expected}; \
                scale all to one shape, or set `ragged` of the stream"
            => "Add a `Scale` of fixed width and height to the stream's transforms, or set `ragged = true` of it, where each sample \
                is to have a shape of its own.",
        /// Samples of a stream have different shapes, and its transforms do not bring them to one. A note: it is an error where
        /// they come into one minibatch.
        MixedShapes { found: String = "480x640x3".into(), first: String = "375x500x3".into() }
            = "data.mixed-shapes": "the sample has the shape {found}, the first one of the stream {first}; a minibatch of \
                both is an error"
            => "Add a `Scale` of fixed width and height to the stream's transforms, or set `ragged = true` of it, where each sample \
                is to have a shape of its own.",
        /// Something about a sample is worth knowing, although it is no fault. A remark.
        Remark { what: String = "it is a JPEG in CMYK".into(), samples: u64 = 12 }
            = "data.remark": ("{what}{}", in_all(*samples))
            => "Nothing has to be done.",
        /// The data has more faults than the fault budget forgives. Without a budget the error has the code of the fault.
        BudgetSpent {
            last: Box<DataErrorKind> = Box::new(DataErrorKind::IndexOutOfRange { index: "5".into(), dim: 5 }),
            budget: u64 = 3,
            owner: &'static str = "reader",
        }
            = "data.budget-spent": ("{last}; {}", match budget {
                0 => format!("`maxErrors` of the {owner} leaves such data out, `tesson check` lists all of it"),
                budget => format!("this is one more than the {budget} faults that `maxErrors` and `maxErrorShare` forgive"),
            })
            => "Mend the data (`tesson check` lists all faults), or raise `maxErrors`.",
        /// The data changed after it was indexed.
        Changed { what: String = "the sequence is 40 bytes shorter".into() }
            = "data.changed": "the data has changed since it was indexed: {what}"
            => "Open the source anew, and delete a stale index cache.",
        /// User-defined code raised an error while it read data.
        User {
            what: String = "the table has no column `x`".into(),
            cause: Cause = Cause(Arc::new(fmt::Error)),
        }
            = "data.user-code": "{what}"
            => "Mend the code; the error has the original one as its cause.",
        /// A sample could not be decoded, or a transform refused it.
        Transform {
            transform: String = "crop".into(),
            what: String = "the image is 3 pixels wide".into(),
            cause: Cause = Cause(Arc::new(fmt::Error)),
        }
            = "data.transform": "transform `{transform}`: {what}"
            => "Mend the sample, or the transform; the error has the original one as its cause.",
        /// A sequence has more than one sample in a stream whose one sample is repeated to the length of another stream.
        NotOneSample
            = "data.not-one-sample": "the sequence has several samples, expected one that is repeated"
            => "Store one sample for each sequence, or leave out `expandToUtterance`.",
        /// Any other violation of a format.
        Malformed { what: String = "found 3 columns, expected 4".into() }
            = "data.malformed": "{what}"
            => "Mend the file at the place that the error names.",
        ..
        /// A fault that only one format knows.
        Format(FormatFault)
    }
}

impl DataErrorKind {
    /// The fault as the enum of its format, if it is a fault of that format.
    pub fn of_format<T: FormatFaults>(&self) -> Option<&T> {
        match self {
            DataErrorKind::Format(fault) => fault.get(),
            _ => None,
        }
    }
}

/// An enum of the faults that one format can find in data.
pub trait FormatFaults: ErrorCodes {}

impl<T: FormatFaults> From<T> for DataErrorKind {
    fn from(fault: T) -> DataErrorKind {
        DataErrorKind::Format(FormatFault(Arc::new(fault)))
    }
}

/// A fault of one format: a value of an enum of [`FormatFaults`].
#[derive(Clone)]
pub struct FormatFault(Arc<dyn AnyFault>);

impl FormatFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// The fault as the enum of its format.
    pub fn get<T: FormatFaults>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }
}

impl PartialEq for FormatFault {
    fn eq(&self, other: &FormatFault) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

/// The methods that a [`FormatFault`] needs of a value of [`FormatFaults`].
trait AnyFault: Any + fmt::Debug + fmt::Display + Send + Sync {
    fn code(&self) -> &'static str;
    fn equals(&self, other: &dyn AnyFault) -> bool;
}

impl<T: FormatFaults> AnyFault for T {
    fn code(&self) -> &'static str {
        ErrorCodes::code(self)
    }

    fn equals(&self, other: &dyn AnyFault) -> bool {
        (other as &dyn Any).downcast_ref::<T>() == Some(self)
    }
}

/// The number of samples to which a note applies, as a text; empty for one.
fn in_all(samples: u64) -> String {
    match samples {
        1 => String::new(),
        n => format!(" ({n} samples in all)"),
    }
}

/// The beginning of the note about short samples.
fn short_samples(samples: u64) -> String {
    match samples {
        1 => "the sample has ".into(),
        samples => format!("{samples} samples, this is the first, have at most "),
    }
}
