//! The faults that data of any format can have, and those of one format, which only that format knows.

use std::fmt;
use std::sync::Arc;

use super::{AnyKind, Cause, ErrorCodes, Remedy, UserError};
use crate::{OptionName, OptionSetting, number_of};

/// The number of sequences of the largest size for which memory limits have room: decoding and packing one takes
/// several times its bytes.
pub const SEQUENCES_IN_MEMORY: u64 = 8;

const FRAME_MODE: OptionName = OptionName::new("frameMode");
const MAX_ERRORS: OptionName = OptionName::new("maxErrors");
const MAX_ERROR_SHARE: OptionName = OptionName::new("maxErrorShare");
const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const ON_CORRUPT_IMAGE_SKIP: OptionSetting = OptionName::set_to("onCorruptImage", "\"skip\"");

const DEFINES_MB_SIZE: OptionName = OptionName::new("definesMBSize");
const DIM: OptionName = OptionName::new("dim");
const EXPAND_TO_UTTERANCE: OptionName = OptionName::new("expandToUtterance");
const LENGTH_TOLERANCE: OptionName = OptionName::new("lengthTolerance");
const RAGGED: OptionName = OptionName::new("ragged");
const RAGGED_TRUE: OptionSetting = OptionName::set_to("ragged", "true");

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
            => "Check {DEFINES_MB_SIZE} and the names of the inputs.",
        /// A sequence is larger than the format supports.
        SequenceTooLarge { found: u64 = 5_000_000_000, limit: u64 = 4_294_967_295 }
            = "data.sequence-too-large": "the sequence has {found} bytes, at most {limit} are supported"
            => "Split the sequence.",
        /// A sequence takes more memory than the memory limit grants to one sequence.
        SequenceBeyondMemory { found: u64 = 200_000, limit: u64 = 125_000 }
            = "data.sequence-beyond-memory": "the sequence has at least {found} bytes, at most {limit} fit into \
                this {MEMORY_LIMIT}"; ("{} or more is needed", found.saturating_mul(SEQUENCES_IN_MEMORY))
            => "Raise {MEMORY_LIMIT} to the value that the message names.",
        /// Decoding and transforming a sample takes more memory than the memory limit grants.
        SampleBeyondMemory {
            shape: String = "16383x16383x3".into(),
            found: u64 = 2_700_000_000,
            most: u64 = 50_331_648,
            limit: u64 = 3_600_000_000
        }
            = "data.sample-beyond-memory": "decoding a sample of {shape} values takes {found} bytes, at most {most} fit into \
                this {MEMORY_LIMIT}"; "{limit} or more is needed"
            => "Raise {MEMORY_LIMIT} to the value that the message names, or set {ON_CORRUPT_IMAGE_SKIP} of a deserializer of \
                images.",
        /// The column number of a sparse value is not below the stream's dimension.
        IndexOutOfRange { index: String = "5".into(), dim: u64 = 5 }
            = "data.index-out-of-range": "index {index} is not below dim {dim}"
            => "Raise the stream's {DIM}, or fix the column number.",
        /// Samples have fewer values than the stream's dimension. A note: the missing values are read as zeros.
        ShortSamples { samples: u64 = 3, most: u64 = 9, dim: u64 = 10 }
            = "data.short-samples": ("{}{most} of {dim} values, the others are zeros", short_samples(*samples));
                "is {DIM} too large?"
            => "Lower the stream's {DIM} if all of its samples are shorter.",
        /// Two sequences of one file have the same key. A note: both are read.
        RepeatedKey { first: u64 = 120 }
            = "data.repeated-key": "the key occurs again, the first sequence with it begins at byte {first}; all \
                rows of a sequence are expected to follow each other"
            => in manual "Store all rows of a sequence one after the other.",
        /// A sequence has more than one sample, but `frameMode` expects exactly one.
        NotAFrame { samples: u64 = 3 }
            = "data.not-a-frame": "frame mode expects sequences of one sample, found one of {samples}"
            => "Turn {FRAME_MODE} off.",
        /// Two streams of a sequence have different lengths, but truncation cuts them together.
        UnequalStreams { samples: u64 = 3, other: String = "labels".into(), other_samples: u64 = 2 }
            = "data.unequal-streams": ("streams of one length are truncated together, found {} beside {other_samples} of stream `{other}`", number_of(samples, "sample"))
            => "Give the streams equal lengths, or turn truncation off.",
        /// A sequence is longer or shorter than that of the first deserializer by more than is tolerated.
        LengthsDiffer { found: u64 = 120, expected: u32 = 123, tolerance: u32 = 2 }
            = "data.lengths-differ": ("the sequence has {}, that of the first deserializer {expected}; they may differ by {tolerance}", number_of(found, "sample"))
            => in manual "Fix the data, or raise {LENGTH_TOLERANCE}.",
        /// A stream of a sequence whose samples join the frames of an utterance has another number of them.
        SamplesAndFrames { found: u64 = 2, expected: u32 = 3 }
            = "data.samples-and-frames": ("the stream has {} in a sequence of {expected}, expected as many, or one for all frames; which frames they belong to is \
                not known", number_of(found, "sample"))
            => in manual "Give each frame its sample, or the sequence a single one.",
        /// Samples of one minibatch have different shapes, and the stream's transforms do not bring them to one.
        ShapesDiffer { found: String = "480x640x3".into(), expected: String = "375x500x3".into() }
            = "data.shapes-differ": "the sample has the shape {found}, those before it in the minibatch have {expected}"; "\
                scale all to one shape, or set {RAGGED} of the stream"
            => "Add a `Scale` of fixed width and height to the stream's transforms, or set {RAGGED_TRUE} of it, where each sample \
                is to have a shape of its own.",
        /// Samples of a stream have different shapes, and its transforms do not bring them to one. A note: it is an error where
        /// they come into one minibatch.
        MixedShapes { found: String = "480x640x3".into(), first: String = "375x500x3".into() }
            = "data.mixed-shapes": "the sample has the shape {found}, the first one of the stream {first}; a minibatch of \
                both is an error"
            => in manual "Add a `Scale` of fixed width and height to the stream's transforms, or set {RAGGED_TRUE} of it, where each sample \
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
            is_of_data: bool = true,
        }
            = "data.budget-spent": "{last}"; ("{}", match (budget, last.least_dim()) {
                (0, Some(least)) => format!(
                    "if the number is right, declare at least {least} columns ({DIM}); {MAX_ERRORS} of the {owner} would leave such \
                        data out, `tesson check` lists all of it"
                ),
                (0, None) if *is_of_data => {
                    format!("{MAX_ERRORS} of the {owner} leaves such data out, `tesson check` lists all of it")
                }
                (0, None) => format!("{MAX_ERRORS} of the {owner} leaves such examples out"),
                (budget, _) => {
                    format!("this is one more than the {budget} faults that {MAX_ERRORS} and {MAX_ERROR_SHARE} forgive")
                }
            })
            => "Fix the data (`tesson check` lists all faults), or raise {MAX_ERRORS}.",
        /// The data changed after it was indexed.
        Changed { what: String = "the sequence is 40 bytes shorter".into() }
            = "data.changed": "the data has changed since it was indexed: {what}"
            => "Open the source again, and delete a stale index cache.",
        /// User-defined code raised an error while it read data.
        User {
            what: String = "the table has no column `x`".into(),
            cause: Cause = Cause(Arc::new(fmt::Error)),
        }
            = "data.user-code": "{what}"
            => in manual "Fix the code; the error has the original one as its cause.",
        /// A sample could not be decoded, or a transform refused it.
        Transform {
            transform: String = "crop".into(),
            cause: Cause = Cause(UserError::from("the image is 3 pixels wide").into()),
        }
            = "data.transform": ("transform `{transform}`: {}", cause.0)
            => in manual "Fix the sample, or the transform; the error has the original one as its cause.",
        /// A sequence has more than one sample in a stream whose one sample is repeated to the length of another stream.
        NotOneSample
            = "data.not-one-sample": "the sequence has several samples, expected one that is repeated"
            => "Store one sample for each sequence, or leave out {EXPAND_TO_UTTERANCE}.",
        /// Any other violation of a format.
        Malformed { what: String = "found 3 columns, expected 4".into() }
            = "data.malformed": "{what}"
            => in manual "Fix the file at the position that the error names.",
        ..
        /// A fault that only one format knows.
        Format(FormatFault)
    }
}

impl DataErrorKind {
    /// The dimension with which the column number would be one.
    fn least_dim(&self) -> Option<u64> {
        match self {
            DataErrorKind::IndexOutOfRange { index, .. } => index.parse::<u64>().ok()?.checked_add(1),
            _ => None,
        }
    }

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
        DataErrorKind::Format(FormatFault(fault.into()))
    }
}

/// A fault of one format: a value of an enum of [`FormatFaults`].
#[derive(Clone, Debug, PartialEq)]
pub struct FormatFault(AnyKind);

impl FormatFault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.code()
    }

    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        self.0.remedy()
    }

    /// The fault as the enum of its format.
    pub fn get<T: FormatFaults>(&self) -> Option<&T> {
        self.0.get()
    }
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
