//! Why a plan cannot be made: calls, options and states that nothing can be read with.

use tesson_core::{Error, OptionName, OptionSetting, UsageError};

use crate::share::MAX_SAMPLES;
use crate::spec::ENDLESS;

/// The result of what plans can refuse.
pub(crate) type Result<T, E = PlanRefusal> = std::result::Result<T, E>;

const BUCKETING: OptionName = OptionName::new("bucketing");
const DROP_LAST: OptionName = OptionName::new("dropLast");
const EPOCH_SIZE: OptionName = OptionName::new("epochSize");
const LIMIT_IN_SAMPLES: OptionName = OptionName::new("maxSamples");
const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const MINIBATCH_SIZE_IN_SEQUENCES: OptionName = OptionName::new("minibatchSizeInSequences");
const RANDOMIZATION_WINDOW: OptionName = OptionName::new("randomizationWindow");
const RANDOMIZE: OptionName = OptionName::new("randomize");
const RANDOMIZE_GLOBAL: OptionSetting = OptionName::set_to("randomize", "\"global\"");
const SHARING_POSITION: OptionSetting = OptionName::set_to("sharing", "\"position\"");

tesson_core::error_kinds! {
    /// Why a plan cannot be made.
    pub enum PlanRefusal {
        /// The minibatch size is 0, or beyond what can be counted.
        MinibatchSize { samples: u64 = 0 }
            = "plan.minibatch-size": "the minibatch size is {samples} samples, from 1 to {MAX_SAMPLES} are possible"
            => "Ask for minibatches of at least one sample, and of no more than can be counted.",
        /// The number of workers is 0.
        NoWorkers
            = "plan.no-workers": "the number of workers is 0, at least 1 is expected"
            => "Give the number of workers, at least 1.",
        /// The rank is not below the number of workers.
        Rank { rank: u64 = 4, workers: u64 = 4 }
            = "plan.rank": "the rank is {rank}, expected one below the number of workers, {workers}"
            => "Number the workers from 0.",
        /// The corpus has no samples.
        NoSamples
            = "plan.no-samples": "the corpus has no samples"
            => "Check that the deserializer reads the file that is meant.",
        /// The data are limited to no samples.
        LimitOfNothing
            = "plan.limit-of-nothing": "the data are limited to 0 samples, at least 1 is expected"
            => "Set {LIMIT_IN_SAMPLES} or {EPOCH_SIZE} to at least 1.",
        /// The data end after more samples than can be counted.
        LimitTooLarge { end: u64 = u64::MAX }
            = "plan.limit-too-large": "the data end after {end} samples, at most {ENDLESS} are possible"
            => "Leave the limit out to read without an end.",
        /// A worker gets no data, because there are fewer chunks than workers.
        RankWithoutData { rank: u64 = 3, workers: u64 = 4, chunks: u64 = 2, sequences: u64 = 100 }
            = "plan.rank-without-data": "rank {rank} of {workers} gets no data: there are {chunks} chunks with \
                {sequences} sequences"; "take fewer workers or smaller chunks"
            => "Take fewer workers, or smaller chunks.",
        /// Minibatches are limited to no sequences.
        NoSequences
            = "plan.no-sequences": "minibatches of 0 sequences are asked for, at least 1 is expected"
            => "Set {MINIBATCH_SIZE_IN_SEQUENCES} to at least 1.",
        /// Buckets have room for nothing.
        EmptyBuckets
            = "plan.empty-buckets": "buckets are to hold 0 samples or sequences, at least 1 is expected"
            => "Set {BUCKETING} to at least 1.",
        /// Bucketing is asked for in an order that is not shuffled.
        BucketingNeedsShuffling { order: &'static str = "as stored" }
            = "plan.bucketing-needs-shuffling": "bucketing is for shuffled orders, this one is {order}"
            => "Set {RANDOMIZE}, or leave {BUCKETING} out.",
        /// Bucketing is asked for of a deserializer that is not composable, whose sequences have an order of their own.
        BucketingNeedsComposable
            = "plan.bucketing-needs-composable": "sequences of a deserializer that is not composable have an order \
                of their own"; "make it composable"
            => "Set `composable = true`, or leave {BUCKETING} out.",
        /// Equal steps are asked for of a deserializer that is not composable, whose workers have timelines of their own.
        EqualStepsNeedComposable
            = "plan.equal-steps-need-composable": "workers of a deserializer that is not composable have timelines \
                of their own"; "make it composable, or set {SHARING_POSITION}"
            => "Set `composable = true`, or {SHARING_POSITION}.",
        /// The randomization window has room for nothing.
        EmptyWindow { unit: &'static str = "chunks" }
            = "plan.empty-window": "the randomization window is 0 {unit}, at least 1 is expected"
            => "Set {RANDOMIZATION_WINDOW} to at least 1.",
        /// The corpus has more sequences than a randomization window can shuffle.
        TooManyForWindow { sequences: u64 = 5_000_000_000 }
            = "plan.too-many-for-window": "{sequences} sequences are too many for a randomization window \
                ({RANDOMIZE_GLOBAL} shuffles any number)"
            => "Set {RANDOMIZE_GLOBAL}, which shuffles any number.",
        /// Memory is too small for the sequences of a minibatch.
        TooManySequences { samples: u64 = 100_000, most: u64 = 4096 }
            = "plan.too-many-sequences": "a minibatch of {samples} samples would hold more than {most} sequences, \
                for which memory is too small"; "choose a smaller size or a larger {MEMORY_LIMIT}"
            => "Choose smaller minibatches, or raise {MEMORY_LIMIT}.",
        /// No minibatch of a whole sweep has a sequence for each worker.
        NoSequenceForEachWorker { samples: u64 = 2, workers: u64 = 4 }
            = "plan.no-sequence-for-each-worker": "no minibatch of {samples} samples of a whole sweep has a \
                sequence for each of {workers} workers"; "choose a larger size"
            => "Choose larger minibatches.",
        /// A sweep has fewer sequences than fill a minibatch, and minibatches that are not full are dropped.
        NoFullMinibatch { sequences: u64 = 100 }
            = "plan.no-full-minibatch": "a whole sweep of {sequences} sequences fills no minibatch, and the last one is dropped"; "choose a smaller size, or leave out {DROP_LAST}"
            => "Choose smaller minibatches, or leave out {DROP_LAST}.",
        /// A position alone does not determine where each rank is in an order with a timeline of its own.
        PositionAlone { position: u64 = 120 }
            = "plan.position-alone": "position {position} does not determine where ranks with timelines of their own are, a whole \
                state is expected"
            => "Restore a whole state.",
        /// The state is that of one rank, but sharing by position resumes from the states of all.
        StateOfOneRank { rank: u64 = 1, workers: u64 = 4 }
            = "plan.state-of-one-rank": "the state is that of rank {rank} of {workers} under sharing by chunk"; "\
                sharing by position resumes from all ranks' states together, see `merge_states`"
            => "Combine the states of all ranks with `merge_states`.",
        /// The state's next sequence is not in the corpus.
        StateSequence { sequence: u64 = 120, n: u64 = 100 }
            = "plan.state-sequence": "the state's next sequence is {sequence}, the corpus has {n}"
            => "Restore a state of this corpus.",
        /// The state's next entry is not in its window.
        StateEntry { entry: u64 = 120, n: u64 = 100 }
            = "plan.state-entry": "the state's next entry is {entry}, its window has {n}"
            => "Restore a state of this corpus.",
        /// The state's window begins after the last chunk.
        StateWindow { place: u64 = 12, n: u64 = 10 }
            = "plan.state-window": "the state's window begins at chunk {place}, the corpus has {n}"
            => "Restore a state of this corpus.",
        /// The state's steps are of sequences that are not in the corpus.
        StateSteps { begin: u64 = 0, end: u64 = 100, of: u64 = 100, n: u64 = 90 }
            = "plan.state-steps": "the state's steps are of sequences {begin} to {end} of {of}, the corpus has {n}"
            => "Restore a state of this corpus.",
        /// Sizes or workers change while equal steps of a sweep are still due.
        StepsUnderWay {
            step: u64 = 3,
            of: u64 = 12,
            size: String = "64 samples".into(),
            workers: u64 = 4,
            asked: String = "32 samples".into(),
            asked_workers: u64 = 4,
        }
            = "plan.steps-under-way": "step {step} of {of} equal ones is due, of {size} for {workers} workers, and \
                the call asks for {asked} for {asked_workers}; sizes and workers may change where the sweep ends"
            => in manual "Change sizes and workers where a sweep ends.",
        /// Equal steps are asked for in minibatches that cross the end of a sweep, or on timelines of each rank's own.
        EqualStepsNeedSweeps
            = "plan.equal-steps-need-sweeps": "equal steps are for minibatches that end with their sweep, on the \
                timeline of all ranks"; "share by position"
            => "Set {SHARING_POSITION}.",
        /// More workers than equal steps are counted for.
        TooManyWorkers { workers: u64 = 100_000, most: u64 = 65_536 }
            = "plan.too-many-workers": "{workers} workers are to take equal steps, at most {most} are possible"
            => "Take fewer workers, or set {SHARING_POSITION}.",
        /// Some workers get nothing, so that no step has data for all.
        MoreWorkersThanData { workers: u64 = 4, owners: u64 = 2 }
            = "plan.more-workers-than-data": "{workers} workers share {owners} chunks or sequences: some get none, \
                and no step has data for all"; "take fewer workers, or share by position"
            => "Take fewer workers, or set {SHARING_POSITION}.",
        /// Truncated minibatches have fewer rows than there are workers.
        MoreWorkersThanRows { workers: u64 = 4, rows: u64 = 2 }
            = "plan.more-workers-than-rows": "{workers} workers share {rows} rows, each needs one"
            => "Take fewer workers, or larger minibatches.",
        /// No step of a whole sweep has data for all workers.
        NoStepForAll { workers: u64 = 4 }
            = "plan.no-step-for-all": "no step of a whole sweep has data for all {workers} workers"; "take fewer, \
                smaller chunks, or share by position"
            => "Take fewer workers or smaller chunks, or set {SHARING_POSITION}.",
        /// The split of a prepared dataset has no records.
        NoData
            = "plan.no-data": "the split corresponds to no data"
            => "Choose a split with records.",
        /// The passes of another number of shuffles are given.
        ShufflePasses { found: usize = 1, expected: usize = 2 }
            = "plan.shuffle-passes": "found the passes of {found} shuffles, the stream has {expected}"
            => "Restore a state of the same operations.",
        /// A pass cannot begin, because the one before it has no end.
        NeverBegins { traversal: u64 = 1 }
            = "plan.never-begins": "traversal {traversal} never begins, those before it have no end"
            => "Limit the passes with `repeat(n)` or `take(n)`.",
        /// The share of a dataset is not below the number of shares.
        NoSuchShare { index: u64 = 4, count: u64 = 4 }
            = "plan.no-such-share": ("share {index} is none of the {count} shares 0 … {}", count.saturating_sub(1))
            => "Number the shares from 0.",
    }
}

impl From<PlanRefusal> for UsageError {
    fn from(refusal: PlanRefusal) -> UsageError {
        UsageError::refused(&refusal)
    }
}

impl From<PlanRefusal> for Error {
    fn from(refusal: PlanRefusal) -> Error {
        UsageError::from(refusal).into()
    }
}
