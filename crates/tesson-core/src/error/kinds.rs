//! The kinds of errors that are not about data.

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
            => "Copy the file again, and open the source anew: it was cut off, or has become shorter.",
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
    /// Why a configuration cannot be opened.
    pub enum ConfigErrorKind {
        /// An option does not exist.
        UnknownOption { name: String = "epochsize".into(), hint: String = ", did you mean `epochSize`?".into() }
            = "config.unknown-option": "unknown option `{name}`{hint}"
            => "Correct the name; docs/options.md lists all options.",
        /// A required option has no value.
        MissingOption { expected: &'static str = "" }
            = "config.missing-option": "required option is missing{expected}"
            => "Give the option a value; docs/options.md describes it.",
        /// There is no deserializer or transform of this type.
        UnknownType { name: String = "Crop2".into(), hint: String = ", did you mean `Crop`?".into() }
            = "config.unknown-type": "unknown type `{name}`{hint}"
            => "Correct the name of the type.",
        /// The options need a feature that was left out of this build.
        NotAvailable { name: &'static str = "AudioDeserializer", feature: &'static str = "audio" }
            = "config.not-available": "`{name}` needs the feature `{feature}`, which this build does not have"
            => "Build with the feature, which is on by default.",
        /// An option has a value that cannot be used.
        InvalidOption { what: String = "found `many`, expected a whole number".into() }
            = "config.invalid-option": "{what}"
            => "Correct the option that the message names; docs/options.md lists all of them.",
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
                {source} here; restore it into a source of the same data and options"
            => "Restore the state into a source of the same data and options.",
        /// A saved state is that of another worker, or of another number of workers.
        OtherShare {
            what: String = "the share of the data".into(),
            state: String = "rank 1 of 4 workers".into(),
            source: String = "rank 1 of 2".into(),
        }
            = "resume.other-share": "the state does not belong to this worker: {what} is {state} in the state and \
                {source} here; to change the workers, combine the states of all ranks with `merge_states`"
            => "Combine the states of all ranks with `merge_states`, and restore the result.",
        /// A saved state was written by a release whose states or orders this one does not have.
        OtherVersion {
            what: String = "the version of the order `global`".into(),
            state: String = "1".into(),
            source: String = "2".into(),
        }
            = "resume.other-version": "the state is of another release: {what} is {state}, expected {source}; resume with the \
                release that saved it, or start a new run"
            => "Resume with the release of Tesson that saved the state, or start a new run.",
        /// The bytes or the text are not a state, or one that was damaged.
        Unreadable {
            what: String = "`sweep`".into(),
            state: String = "-1".into(),
            source: String = "a number from 0 to 2^64 - 1".into(),
        }
            = "resume.unreadable": "this is not a valid state: {what} is {state}, expected {source}; restore the state exactly \
                as it was saved"
            => "Restore the state exactly as it was saved.",
        /// States that are to be merged are not those of all ranks of one run.
        NotAllRanks {
            what: String = "the number of states".into(),
            state: String = "2".into(),
            source: String = "that of the workers, 3".into(),
        }
            = "resume.not-all-ranks": "the states cannot be merged: {what} is {state}, expected {source}; merge the states of \
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
            => "Correct the call; the source is as it was before.",
        /// Reading was cancelled: the source was closed, or the caller interrupted it.
        Cancelled
            = "read.cancelled": "reading was cancelled"
            => "Open the source anew to read on.",
    }
}
