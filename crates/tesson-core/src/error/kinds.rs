//! The kinds of errors that are not about data.

use super::{Expected, Found};
use crate::OptionName;

crate::error_kinds! {
    /// Why storage cannot be read or written.
    pub enum StoreErrorKind {
        /// A file, or another place where bytes are kept, does not exist.
        NotFound
            = "store.not-found": "entity not found"
            => "Check the path, and the folder that relative paths start from.",
        /// The operating system does not permit the access.
        PermissionDenied
            = "store.permission-denied": "permission denied"
            => "Check the permissions of the file and of its folders.",
        /// A file ends before the bytes that are to be read.
        EndsEarly
            = "store.ends-early": "unexpected end of file"
            => "Copy the file again and reopen the source: the file was truncated, or has become shorter.",
        /// Access was interrupted or timed out, also when it was repeated.
        Interrupted
            = "store.interrupted": "timed out"
            => "Check the connection to the storage, and try again.",
        /// Storage cannot be read or written for another reason.
        Unreadable
            = "store.unreadable": "invalid input parameter"
            => "Check the path and the storage; the message has the system's reason.",
    }
}

crate::error_kinds! {
    /// Why a configuration cannot be opened: what any option can be refused for.
    pub enum ConfigErrorKind {
        /// An option does not exist.
        UnknownOption { name: String = "epochsize".into(), nearest: Option<OptionName> = Some("epochSize".into()) }
            = "config.unknown-option": "unknown option `{name}`",
                (if let Some(nearest) = nearest => "did you mean {nearest}?")
            => in manual "Correct the name; docs/options.md lists all options.",
        /// A required option has no value.
        MissingOption { expected: &'static str = "" }
            = "config.missing-option": "required option is missing{expected}"
            => "Give the option a value; docs/options.md describes it.",
        /// There is no deserializer or transform of this type.
        UnknownType {
            name: String = "Crop2".into(),
            known: String = "Crop, Scale".into(),
            nearest: Option<String> = Some("Crop".into()),
        }
            = "config.unknown-type": ("unknown type `{name}`{}", match nearest {
                Some(_) => String::new(),
                None => format!(", expected one of {known}"),
            }), (if let Some(nearest) = nearest => "did you mean `{nearest}`?")
            => "Correct the name of the type.",
        /// The options need a feature that was left out of this build.
        NotAvailable { name: &'static str = "AudioDeserializer", feature: &'static str = "audio" }
            = "config.not-available": "`{name}` needs the feature `{feature}`, which this build does not have"
            => "Build with the feature, which is on by default.",
        /// The value of an option is of another type than the option.
        WrongType { found: Found = "`many`".into(), expected: Expected = "a whole number".into() }
            = "config.wrong-type": "found {found}, expected {expected}"
            => in manual "Give a value of the option's type; docs/options.md has it.",
        /// The value of an option is a number, or several, outside of the option's limits.
        OutOfRange { found: Found = "`0`".into(), expected: Expected = "at least 1".into() }
            = "config.out-of-range": "found {found}, expected {expected}"
            => in manual "Give a number within the limits that the message names.",
        /// The value of an option is a word that the option does not have.
        UnknownWord { found: Found = "`green`".into(), expected: Expected = Expected::OneOf(&["nchw", "nhwc"]) }
            = "config.unknown-word": "found {found}, expected {expected}"
            => in manual "Give one of the words that the message names.",
        /// The value of an option is a text of another form than the option expects.
        WrongForm { found: Found = "`much`".into(), expected: Expected = "a size in bytes such as `2GiB` or `512MB`".into() }
            = "config.wrong-form": "found {found}, expected {expected}"
            => in manual "Write the value in the form that the message names.",
        /// An option lists nothing, or has an empty value.
        NothingGiven { found: Found = "no file".into(), expected: Expected = "at least one".into() }
            = "config.nothing-given": "found {found}, expected {expected}"
            => in manual "Give at least one.",
        /// One of two options is expected, and neither is given.
        NeitherGiven { other: OptionName = OptionName::new("mlfFileList") }
            = "config.neither-given": "neither this nor {other} is given"
            => in manual "Give one of the two options.",
        /// Of two options that say the same, only one can be given.
        BothGiven { other: OptionName = OptionName::new("scpFile") }
            = "config.both-given": "{other} is given, too"; "give one of the two"
            => "Leave out one of the two options.",
        /// Vector code is to be kept to a level that the machine does not have.
        LackingKernels { name: String = "avx512".into(), has: String = "`plain`, `avx2`".into() }
            = "config.lacking-kernels": "found `{name}`, which this machine lacks; it has {has}"
            => in manual "Choose one of the levels that the message names, or do not set `TESSON_KERNELS`.",
        /// There is no such level of vector code.
        UnknownKernels { name: String = "avx3".into(), has: String = "`plain`, `avx2`".into() }
            = "config.unknown-kernels": "found `{name}`, expected one of {has}"
            => in manual "Choose one of the levels that the message names, or do not set `TESSON_KERNELS`.",
        /// The name of a stream is longer than names may be.
        LongStreamName { beginning: String = "aaaaaaaaaaaaaaaaaaaa…".into(), found: usize = 5000, most: usize = 4096 }
            = "config.long-stream-name": "the name of stream `{beginning}` has {found} bytes, expected {most} at most"
            => in manual "Shorten the name.",
    }
}

crate::error_kinds! {
    /// Why a saved state cannot be restored.
    pub enum ResumeErrorKind {
        /// A saved state does not belong to this source.
        OtherSource {
            what: String = "the randomization seed".into(),
            state: String = "1".into(),
            source: String = "2".into(),
        }
            = "resume.other-source": "the state does not belong to this source: {what} is {state} in the state and \
                {source} here"; "restore it into a source of the same data and options"
            => "Restore the state into a source of the same data and options.",
        /// A saved state is that of another worker, or of another number of workers.
        OtherShare {
            what: String = "the share of the data".into(),
            state: String = "rank 1 of 4 workers".into(),
            source: String = "rank 1 of 2".into(),
        }
            = "resume.other-share": "the state does not belong to this worker: {what} is {state} in the state and \
                {source} here"; "to change the workers, combine the states of all ranks with `merge_states`"
            => "Combine the states of all ranks with `merge_states`, and restore the result.",
        /// A saved state was written by a release whose states or orders this one does not have.
        OtherVersion {
            what: String = "the version of the order `global`".into(),
            state: String = "1".into(),
            source: String = "2".into(),
        }
            = "resume.other-version": "the state is of another release: {what} is {state}, expected {source}"; "resume with the \
                release that saved it, or start a new run"
            => "Resume with the release of Tesson that saved the state, or start a new run.",
        /// The bytes or the text are not a state, or one that was damaged.
        Unreadable {
            what: String = "`sweep`".into(),
            state: String = "-1".into(),
            source: String = "a number from 0 to 2^64 - 1".into(),
        }
            = "resume.unreadable": "this is not a valid state: {what} is {state}, expected {source}"; "restore the state exactly \
                as it was saved"
            => "Restore the state exactly as it was saved.",
        /// States that are to be merged are not those of all ranks of one run.
        NotAllRanks {
            what: String = "the number of states".into(),
            state: String = "2".into(),
            source: String = "that of the workers, 3".into(),
        }
            = "resume.not-all-ranks": "the states cannot be merged: {what} is {state}, expected {source}"; "merge the states of \
                all ranks of one run, each once"
            => "Merge the states of all ranks of one run, each once.",
    }
}

crate::error_kinds! {
    /// Why a call has no result.
    pub enum CallErrorKind {
        /// A call can never succeed.
        Invalid { what: String = "the source is closed".into() }
            = "usage.invalid-call": "{what}"
            => in manual "Correct the call; the source is as it was before.",
        /// Reading was cancelled: the source was closed, or the caller interrupted it.
        Cancelled
            = "read.cancelled": "reading was cancelled"
            => in manual "Open the source again to read on.",
    }
}
