//! Options that exclude each other, or need each other.

use tesson_core::{OptionName, OptionSetting};

const AUGMENTATION: OptionName = OptionName::new("augmentation");
const BUCKETING: OptionName = OptionName::new("bucketing");
const CROSS_SWEEP_ENDS: OptionName = OptionName::new("crossSweepEnds");
const DROP_LAST: OptionName = OptionName::new("dropLast");
const EPOCH_SIZE: OptionName = OptionName::new("epochSize");
const EQUAL_STEPS: OptionName = OptionName::new("equalSteps");
const FRAME_MODE: OptionName = OptionName::new("frameMode");
const HASH_SEQUENCE_KEYS: OptionName = OptionName::new("hashSequenceKeys");
const LOCAL_TIMELINE: OptionName = OptionName::new("localTimeline");
const MAX_EPOCHS: OptionName = OptionName::new("maxEpochs");
const MAX_SAMPLES: OptionName = OptionName::new("maxSamples");
const MAX_SAMPLES_END: OptionName = OptionName::new("maxSamplesEnd");
const MAX_SWEEPS: OptionName = OptionName::new("maxSweeps");
const OUTER_JOIN: OptionName = OptionName::new("outerJoin");
const RANDOMIZATION_WINDOW_IN_CHUNKS: OptionName = OptionName::new("randomizationWindowInChunks");
const RANDOMIZATION_WINDOW_IN_SAMPLES: OptionName = OptionName::new("randomizationWindowInSamples");
const RANDOMIZE: OptionName = OptionName::new("randomize");
const RIGHT_SPLICE: OptionName = OptionName::new("rightSplice");
const SHARING_CHUNK: OptionSetting = OptionName::set_to("sharing", "\"chunk\"");
const SHARING_POSITION: OptionSetting = OptionName::set_to("sharing", "\"position\"");
const STRICT_KEYS: OptionName = OptionName::new("strictKeys");
const TRUNCATED: OptionName = OptionName::new("truncated");
const TRUNCATION_LENGTH: OptionName = OptionName::new("truncationLength");
const TRUNCATION_SLOTS: OptionName = OptionName::new("truncationSlots");
const USE_NUMERIC_SEQUENCE_KEYS: OptionName = OptionName::new("useNumericSequenceKeys");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

tesson_core::error_kinds! {
    /// Why options of a configuration do not go together.
    pub enum ConfigConflict {
        /// Keys are to be hashed and are numbers.
        HashedNumbers
            = "config.hashed-numbers": "only text keys are hashed, {USE_NUMERIC_SEQUENCE_KEYS} must be false with it"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}, or leave {HASH_SEQUENCE_KEYS} out.",
        /// The data are to end inside a sequence, and epochs end after one.
        EpochsEndAfterSequences
            = "config.epochs-end-after-sequences": "a sequence across the end of an epoch is given whole"; "leave it \
                out, or {EPOCH_SIZE}"
            => "Leave {MAX_SAMPLES_END} or {EPOCH_SIZE} out.",
        /// Buckets are asked for, and the order is as stored.
        BucketsAsStored
            = "config.buckets-as-stored": "data that are read as stored stay in their order"; "set {RANDOMIZE}, or \
                leave it out"
            => "Set {RANDOMIZE}, or leave {BUCKETING} out.",
        /// Buckets are asked for, and sequences are truncated.
        BucketsOfPieces
            = "config.buckets-of-pieces": "pieces of truncated sequences are of one length"; "leave it out"
            => "Leave {BUCKETING} or the truncation out.",
        /// Truncated minibatches shared by position are to be repeated.
        RepeatedRows
            = "config.repeated-rows": "rows of another worker continue inside sequences whose beginning this one has \
                not had"; "choose `drop` or `empty`, or {SHARING_CHUNK}"
            => "Set {EQUAL_STEPS} to `drop` or `empty`, or {SHARING_CHUNK}.",
        /// The last minibatch is to be dropped, and steps are equal.
        LastStepDropped
            = "config.last-step-dropped": "with {EQUAL_STEPS} a last minibatch counts as a step for all workers"; "\
                leave it out"
            => "Leave {DROP_LAST} or {EQUAL_STEPS} out, or let minibatches end with their sweep and workers share by position.",
        /// Minibatches are to cross the ends of sweeps, and steps are equal.
        StepsAcrossSweeps
            = "config.steps-across-sweeps": "equal steps end with their sweep"; "leave it out, or set \
                {SHARING_POSITION}"
            => "Leave {CROSS_SWEEP_ENDS} out, or set {SHARING_POSITION}.",
        /// All workers are to cut minibatches together, and steps are equal.
        StepsOfAllWorkers
            = "config.steps-of-all-workers": "equal steps are cut by each worker itself"; "leave it out, or set \
                {SHARING_POSITION}"
            => "Leave {LOCAL_TIMELINE} out, or set {SHARING_POSITION}.",
        /// Two deserializers of one format have the same streams.
        SameStreams { other: String = "deserializers[0]".into(), list: String = "file = [\"a.ctf\", \"b.ctf\"]".into() }
            = "config.same-streams": "`{other}` has the same streams"; "files that follow each other are listed in one \
                deserializer, `{list}`, and under other names their sequences would be joined by key"
            => "List the files in one deserializer; if they are to be joined by key, give their streams other names.",
        /// An epoch is smaller than a minibatch.
        EpochTooShort { samples: u64 = 100, least: u64 = 256 }
            = "config.epoch-too-short": "found {samples} samples, expected at least the size of a minibatch, {least}"
            => "Choose longer epochs or smaller minibatches.",
        /// Sequences of one sample are to be truncated.
        TruncatedFrames
            = "config.truncated-frames": "sequences of one sample cannot be truncated"; "choose either this or {TRUNCATED}"
            => "Leave {FRAME_MODE} or {TRUNCATED} out.",
        /// Pieces of sequences are to be transformed with CNTK's random draws.
        TruncatedDraws
            = "config.truncated-draws": "the draws of `cntk` belong to whole sequences of a minibatch, and {TRUNCATED} \
                cuts them"; "leave it out"
            => "Leave {AUGMENTATION} or {TRUNCATED} out.",
        /// Pieces of sequences are to repeat as much as they are long.
        SpliceTooLong { splice: u64 = 20, length: u64 = 20 }
            = "config.splice-too-long": "found {splice}, expected less than {TRUNCATION_LENGTH} ({length})"
            => "Set {RIGHT_SPLICE} to less than {TRUNCATION_LENGTH}.",
        /// The length of pieces is given, and also how many a minibatch has side by side.
        LengthAndSlots { length: u64 = 20, slots: u64 = 8 }
            = "config.length-and-slots": "found {slots} beside {TRUNCATION_LENGTH} {length}; pieces have a length of their own, \
                or that of a minibatch divided by its slots"
            => in manual "Leave {TRUNCATION_LENGTH} or {TRUNCATION_SLOTS} out.",
        /// The slots of truncation change from epoch to epoch, and all workers are to take equal steps.
        StepsOfOtherSlots
            = "config.steps-of-other-slots": "equal steps are counted with one number of slots, and those of {TRUNCATION_SLOTS} \
                change from epoch to epoch"; "leave it out"
            => "Leave {EQUAL_STEPS} out, or give one number of {TRUNCATION_SLOTS}.",
        /// Sequences with missing keys are to be refused and to be kept.
        StrictOuterJoin
            = "config.strict-outer-join": "sequences with missing keys are kept by {OUTER_JOIN}; only one of the two \
                may be set"
            => in manual "Set {STRICT_KEYS} or {OUTER_JOIN}, not both.",
        /// The end of the data is given in epochs and otherwise.
        EpochsAndOtherLimit
            = "config.epochs-and-other-limit": "{MAX_SWEEPS} or {MAX_SAMPLES} is given, too; only one of the three may be"
            => in manual "Give one of {MAX_EPOCHS}, {MAX_SWEEPS} and {MAX_SAMPLES}.",
        /// The end of the data is given in samples and in sweeps.
        SamplesAndSweeps { samples: u64 = 1000, sweeps: u64 = 2 }
            = "config.samples-and-sweeps": "found {samples} beside {MAX_SWEEPS} {sweeps}; only one of the two may be given"
            => in manual "Give {MAX_SAMPLES} or {MAX_SWEEPS}.",
        /// The window is given in chunks and in samples.
        WindowInTwoUnits
            = "config.window-in-two-units": "the window is given in chunks and in samples"; "one of the two must be 0"
            => "Set one of {RANDOMIZATION_WINDOW_IN_CHUNKS} and {RANDOMIZATION_WINDOW_IN_SAMPLES} to 0.",
        /// The window is given by two options.
        WindowTwice
            = "config.window-twice": "the window is given twice"; "leave out {RANDOMIZATION_WINDOW_IN_CHUNKS} and `…InSamples`"
            => "Give the window by one option.",
    }
}
