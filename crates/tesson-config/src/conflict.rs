//! Options that exclude each other, or need each other.

tesson_core::error_kinds! {
    /// Why options of a configuration do not go together.
    pub enum ConfigConflict {
        /// Keys are to be hashed and are numbers.
        HashedNumbers
            = "config.hashed-numbers": "only text keys are hashed, `useNumericSequenceKeys` must be false with it"
            => "Set `useNumericSequenceKeys = false`, or leave `hashSequenceKeys` out.",
        /// The data are to end inside a sequence, and epochs end after one.
        EpochsEndAfterSequences
            = "config.epochs-end-after-sequences": "a sequence across the end of an epoch is given whole; leave it \
                out, or `epochSize`"
            => "Leave `maxSamplesEnd` or `epochSize` out.",
        /// Buckets are asked for, and the order is as stored.
        BucketsAsStored
            = "config.buckets-as-stored": "data that are read as stored stay in their order; set `randomize`, or \
                leave it out"
            => "Set `randomize`, or leave `bucketing` out.",
        /// Buckets are asked for, and sequences are truncated.
        BucketsOfPieces
            = "config.buckets-of-pieces": "pieces of truncated sequences are of one length; leave it out"
            => "Leave `bucketing` or the truncation out.",
        /// Truncated minibatches shared by position are to be repeated.
        RepeatedRows
            = "config.repeated-rows": "rows of another worker continue inside sequences whose beginning this one has \
                not had; choose `drop` or `empty`, or `sharing = \"chunk\"`"
            => "Set `equalSteps` to `drop` or `empty`, or `sharing = \"chunk\"`.",
        /// The last minibatch is to be dropped, and steps are equal.
        LastStepDropped
            = "config.last-step-dropped": "with `equalSteps` a last minibatch counts as a step for all workers; \
                leave it out"
            => "Leave `dropLast` or `equalSteps` out.",
        /// Minibatches are to cross the ends of sweeps, and steps are equal.
        StepsAcrossSweeps
            = "config.steps-across-sweeps": "equal steps end with their sweep; leave it out, or set \
                `sharing = \"position\"`"
            => "Leave `crossSweepEnds` out, or set `sharing = \"position\"`.",
        /// All workers are to cut minibatches together, and steps are equal.
        StepsOfAllWorkers
            = "config.steps-of-all-workers": "equal steps are cut by each worker itself; leave it out, or set \
                `sharing = \"position\"`"
            => "Leave `localTimeline` out, or set `sharing = \"position\"`.",
        /// Two deserializers of one format have the same streams.
        SameStreams { other: String = "deserializers[0]".into(), list: String = "file = [\"a.ctf\", \"b.ctf\"]".into() }
            = "config.same-streams": "`{other}` has the same streams; files that follow each other are listed in one \
                deserializer, `{list}`, and under other names their sequences would be joined by key"
            => "List the files in one deserializer; if they are to be joined by key, give their streams other names.",
        /// An epoch is smaller than a minibatch.
        EpochTooShort { samples: u64 = 100, least: u64 = 256 }
            = "config.epoch-too-short": "found {samples} samples, expected at least the size of a minibatch, {least}"
            => "Choose longer epochs or smaller minibatches.",
        /// Sequences of one sample are to be truncated.
        TruncatedFrames
            = "config.truncated-frames": "sequences of one sample cannot be truncated; choose either this or `truncated`"
            => "Leave `frameMode` or `truncated` out.",
        /// Pieces of sequences are to be transformed with CNTK's random draws.
        TruncatedDraws
            = "config.truncated-draws": "the draws of `cntk` belong to whole sequences of a minibatch, and `truncated` \
                cuts them; leave it out"
            => "Leave `augmentation` or `truncated` out.",
        /// Pieces of sequences are to repeat as much as they are long.
        SpliceTooLong { splice: u64 = 20, length: u64 = 20 }
            = "config.splice-too-long": "found {splice}, expected less than `truncationLength` ({length})"
            => "Set `rightSplice` to less than `truncationLength`.",
        /// The length of pieces is given, and also how many a minibatch has side by side.
        LengthAndSlots { length: u64 = 20, slots: u64 = 8 }
            = "config.length-and-slots": "found {slots} beside `truncationLength` {length}; pieces have a length of their own, \
                or that of a minibatch divided by its slots"
            => "Leave `truncationLength` or `truncationSlots` out.",
        /// The slots of truncation change from epoch to epoch, and all workers are to take equal steps.
        StepsOfOtherSlots
            = "config.steps-of-other-slots": "equal steps are counted with one number of slots, and those of `truncationSlots` \
                change from epoch to epoch; leave it out"
            => "Leave `equalSteps` out, or give one number of `truncationSlots`.",
        /// Sequences with missing keys are to be refused and to be kept.
        StrictOuterJoin
            = "config.strict-outer-join": "sequences with missing keys are kept by `outerJoin`; only one of the two \
                may be set"
            => "Set `strictKeys` or `outerJoin`, not both.",
        /// The end of the data is given in epochs and otherwise.
        EpochsAndOtherLimit
            = "config.epochs-and-other-limit": "`maxSweeps` or `maxSamples` is given, too; only one of the three may be"
            => "Give one of `maxEpochs`, `maxSweeps` and `maxSamples`.",
        /// The end of the data is given in samples and in sweeps.
        SamplesAndSweeps { samples: u64 = 1000, sweeps: u64 = 2 }
            = "config.samples-and-sweeps": "found {samples} beside `maxSweeps` {sweeps}; only one of the two may be given"
            => "Give `maxSamples` or `maxSweeps`.",
        /// The window is given in chunks and in samples.
        WindowInTwoUnits
            = "config.window-in-two-units": "the window is given in chunks and in samples; one of the two must be 0"
            => "Set one of `randomizationWindowInChunks` and `randomizationWindowInSamples` to 0.",
        /// The window is given by two options.
        WindowTwice
            = "config.window-twice": "the window is given twice; leave out `randomizationWindowInChunks` and `…InSamples`"
            => "Give the window by one option.",
    }
}
