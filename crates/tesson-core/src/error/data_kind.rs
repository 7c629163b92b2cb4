//! What can be wrong with data of any format; and the faults of one format, which only that format knows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{Cause, ErrorCodes};

/// Memory limits have room for so many sequences of the largest size: decoding and packing one takes several times its
/// bytes.
pub const SEQUENCES_IN_MEMORY: u64 = 8;

crate::error_kinds! {
    /// What is wrong with data.
    pub enum DataErrorKind {
        /// The file is empty, or holds only white space.
        EmptyFile = "data.empty-file": "Give a file with at least one sequence.",
        /// The file holds no sequence: the rules, or `definesMBSize`, drop all of its rows.
        NoSequences = "data.no-sequences": "Check `definesMBSize` and the names of the inputs.",
        /// A sequence is larger than the format supports.
        SequenceTooLarge {
            /// Its size in bytes.
            found: u64 = 5_000_000_000,
            /// The largest size supported.
            limit: u64 = 4_294_967_295,
        } = "data.sequence-too-large": "Split the sequence.",
        /// A sequence takes more memory than the memory limit grants to one sequence.
        SequenceBeyondMemory {
            /// Bytes that it has at least.
            found: u64 = 200_000,
            /// The largest size that the limit allows.
            limit: u64 = 125_000,
        } = "data.sequence-beyond-memory": "Raise `memoryLimit` to the value that the message names.",
        /// The column number of a sparse value is not below the stream's dimension.
        IndexOutOfRange {
            /// The column number, as written.
            index: String = "5".into(),
            /// The stream's dimension.
            dim: u64 = 5,
        } = "data.index-out-of-range": "Raise the stream's `dim`, or mend the column number.",
        /// Samples have fewer values than the stream's dimension. A note: the missing values are read as zeros.
        ShortSamples {
            /// How many samples.
            samples: u64 = 3,
            /// Values of the longest of them.
            most: u64 = 9,
            /// The stream's dimension.
            dim: u64 = 10,
        } = "data.short-samples": "Lower the stream's `dim` if all of its samples are shorter.",
        /// Two sequences of one file have the same key. A note: both are read.
        RepeatedKey {
            /// Where the first one begins, in bytes.
            first: u64 = 120,
        } = "data.repeated-key": "Store all rows of a sequence one after the other.",
        /// A sequence has more than one sample, but `frameMode` expects exactly one.
        NotAFrame {
            /// Samples found.
            samples: u64 = 3,
        } = "data.not-a-frame": "Turn `frameMode` off.",
        /// Two streams of a sequence have different lengths, but truncation cuts them together.
        UnequalStreams {
            /// Its samples.
            samples: u64 = 3,
            /// The other stream.
            other: String = "labels".into(),
            /// Samples of that.
            other_samples: u64 = 2,
        } = "data.unequal-streams": "Give the streams equal lengths, or turn truncation off.",
        /// The data has more faults than the fault budget forgives. Without a budget the error has the code of the fault.
        BudgetSpent {
            /// The fault that exceeded the budget.
            last: Box<DataErrorKind> = Box::new(DataErrorKind::IndexOutOfRange { index: "5".into(), dim: 5 }),
            /// Faults forgiven (`maxErrors`).
            budget: u64 = 3,
        } = "data.budget-spent": "Mend the data (`tesson check` lists all faults), or raise `maxErrors`.",
        /// The data changed after it was indexed.
        Changed {
            /// What differs.
            what: String = "the sequence is 40 bytes shorter".into(),
        } = "data.changed": "Open the source anew, and delete a stale index cache.",
        /// User-defined code raised an error while it read or transformed data.
        User {
            /// What was called, and its answer.
            what: String = "transform `crop`: the image is 3 pixels wide".into(),
            /// The error itself.
            cause: Cause = Cause(Arc::new(fmt::Error)),
        } = "data.user-code": "Mend the code; the error has the original one as its cause.",
        /// Any other violation of a format.
        Malformed {
            /// What was found, and what was expected.
            what: String = "found 3 columns, expected 4".into(),
        } = "data.malformed": "Mend the file at the place that the error names.",
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

/// What a [`FormatFault`] needs of a value of [`FormatFaults`].
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

impl fmt::Display for DataErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DataErrorKind::*;
        match self {
            EmptyFile => {
                f.write_str("the file is empty or holds only white space, expected at least one sequence")
            }
            NoSequences => f.write_str("the file holds no sequence under the given options"),
            SequenceTooLarge { found, limit } => {
                write!(f, "the sequence has {found} bytes, at most {limit} are supported")
            }
            SequenceBeyondMemory { found, limit } => write!(
                f,
                "the sequence has at least {found} bytes, at most {limit} fit into this `memoryLimit`; {} or more is needed",
                found.saturating_mul(SEQUENCES_IN_MEMORY)
            ),
            IndexOutOfRange { index, dim } => write!(f, "index {index} is not below dim {dim}"),
            ShortSamples { samples: 1, most, dim } => {
                write!(f, "the sample has {most} of {dim} values, the others are zeros; is `dim` too large?")
            }
            ShortSamples { samples, most, dim } => write!(
                f,
                "{samples} samples, this is the first, have at most {most} of {dim} values, the others are zeros; is `dim` \
                 too large?"
            ),
            RepeatedKey { first } => write!(
                f,
                "the key occurs again, the first sequence with it begins at byte {first}; all rows of a sequence are \
                 expected to follow each other"
            ),
            NotAFrame { samples } => {
                write!(f, "frame mode expects sequences of one sample, found one of {samples}")
            }
            UnequalStreams { samples, other, other_samples } => {
                write!(
                    f,
                    "streams of one length are truncated together, found {samples} samples beside {other_samples} of stream `{other}`"
                )
            }
            BudgetSpent { last, budget: 0 } => {
                write!(f, "{last}; `maxErrors` leaves such data out, `tesson check` lists all of it")
            }
            BudgetSpent { last, budget } => {
                write!(
                    f,
                    "{last}; this is one more than the {budget} faults that `maxErrors` and `maxErrorShare` forgive"
                )
            }
            Changed { what } => write!(f, "the data has changed since it was indexed: {what}"),
            User { what, .. } | Malformed { what } => f.write_str(what),
            Format(fault) => fault.fmt(f),
        }
    }
}
