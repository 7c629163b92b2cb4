//! Why a plan cannot be made: calls, options and states that nothing can be read with.

use std::fmt;

use tesson_core::{Error, UsageError};

use crate::share::MAX_SAMPLES;
use crate::spec::ENDLESS;

tesson_core::error_kinds! {
    /// Why a plan cannot be made.
    pub enum PlanRefusal {
        /// The minibatch size is 0, or beyond what can be counted.
        MinibatchSize {
            /// Samples asked for.
            samples: u64 = 0,
        } = "plan.minibatch-size": "Ask for minibatches of at least one sample.",
        /// The number of workers is 0.
        NoWorkers = "plan.no-workers": "Give the number of workers, at least 1.",
        /// The rank is not below the number of workers.
        Rank {
            /// The rank.
            rank: u64 = 4,
            /// The number of workers.
            workers: u64 = 4,
        } = "plan.rank": "Number the workers from 0.",
        /// The corpus has no samples.
        NoSamples = "plan.no-samples": "Check that the deserializer reads the file that is meant.",
        /// The data are limited to no samples.
        LimitOfNothing = "plan.limit-of-nothing": "Set `maxSamples` or `epochSize` to at least 1.",
        /// The data end after more samples than can be counted.
        LimitTooLarge {
            /// Samples.
            end: u64 = u64::MAX,
        } = "plan.limit-too-large": "Leave the limit out to read without an end.",
        /// A worker gets no data, because there are fewer chunks than workers.
        RankWithoutData {
            /// The worker.
            rank: u64 = 3,
            /// The number of workers.
            workers: u64 = 4,
            /// Chunks of the corpus.
            chunks: u64 = 2,
            /// Sequences of the corpus.
            sequences: u64 = 100,
        } = "plan.rank-without-data": "Take fewer workers, or smaller chunks.",
        /// Minibatches are limited to no sequences.
        NoSequences = "plan.no-sequences": "Set `minibatchSizeInSequences` to at least 1.",
        /// Buckets have room for nothing.
        EmptyBuckets = "plan.empty-buckets": "Set `bucketing` to at least 1.",
        /// Bucketing is asked for in an order that is not shuffled.
        BucketingNeedsShuffling {
            /// The order.
            order: &'static str = "as stored",
        } = "plan.bucketing-needs-shuffling": "Set `randomize`, or leave `bucketing` out.",
        /// Bucketing is asked for of a deserializer that is not composable, whose sequences have an order of their own.
        BucketingNeedsComposable = "plan.bucketing-needs-composable": "Set `composable = true`, or leave `bucketing` out.",
        /// Equal steps are asked for of a deserializer that is not composable, whose workers have timelines of their own.
        EqualStepsNeedComposable = "plan.equal-steps-need-composable": "Set `composable = true`, or `sharing = \"position\"`.",
        /// The randomization window has room for nothing.
        EmptyWindow {
            /// What it counts.
            unit: &'static str = "chunks",
        } = "plan.empty-window": "Set `randomizationWindow` to at least 1.",
        /// The corpus has more sequences than a randomization window can shuffle.
        TooManyForWindow {
            /// Sequences of the corpus.
            sequences: u64 = 5_000_000_000,
        } = "plan.too-many-for-window": "Set `randomize = \"global\"`, which shuffles any number.",
        /// Memory is too small for the sequences of a minibatch.
        TooManySequences {
            /// Samples asked for.
            samples: u64 = 100_000,
            /// Sequences that there is memory for.
            most: u64 = 4096,
        } = "plan.too-many-sequences": "Choose smaller minibatches, or raise `memoryLimit`.",
        /// No minibatch of a whole sweep has a sequence for each worker.
        NoSequenceForEachWorker {
            /// Samples asked for.
            samples: u64 = 2,
            /// The number of workers.
            workers: u64 = 4,
        } = "plan.no-sequence-for-each-worker": "Choose larger minibatches.",
        /// A position alone does not say where each rank is in an order with a timeline of its own.
        PositionAlone {
            /// Samples since the start.
            position: u64 = 120,
        } = "plan.position-alone": "Restore a whole state.",
        /// The state is that of one rank, but sharing by position resumes from the states of all.
        StateOfOneRank {
            /// The rank.
            rank: u64 = 1,
            /// The number of workers.
            workers: u64 = 4,
        } = "plan.state-of-one-rank": "Combine the states of all ranks with `merge_states`.",
        /// The state's next sequence is not in the corpus.
        StateSequence {
            /// Its number.
            sequence: u64 = 120,
            /// Sequences of the corpus.
            n: u64 = 100,
        } = "plan.state-sequence": "Restore a state of this corpus.",
        /// The state's next entry is not in its window.
        StateEntry {
            /// Its number.
            entry: u64 = 120,
            /// Entries of the window.
            n: u64 = 100,
        } = "plan.state-entry": "Restore a state of this corpus.",
        /// The state's window begins after the last chunk.
        StateWindow {
            /// The chunk.
            place: u64 = 12,
            /// Chunks of the corpus.
            n: u64 = 10,
        } = "plan.state-window": "Restore a state of this corpus.",
        /// The state's steps are of sequences that are not in the corpus.
        StateSteps {
            /// The first sequence of the steps.
            begin: u64 = 0,
            /// The sequence after the last.
            end: u64 = 100,
            /// Sequences of the corpus, by the state.
            of: u64 = 100,
            /// Sequences of the corpus.
            n: u64 = 90,
        } = "plan.state-steps": "Restore a state of this corpus.",
        /// Sizes or workers change while equal steps of a sweep are still due.
        StepsUnderWay {
            /// The step that is due, from 1.
            step: u64 = 3,
            /// Steps of the sweep.
            of: u64 = 12,
            /// The size of the steps.
            size: String = "64 samples".into(),
            /// Workers of the steps.
            workers: u64 = 4,
            /// The size asked for.
            asked: String = "32 samples".into(),
            /// Workers of the call.
            asked_workers: u64 = 4,
        } = "plan.steps-under-way": "Change sizes and workers where a sweep ends.",
        /// Equal steps are asked for in minibatches that cross the end of a sweep, or on timelines of each rank's own.
        EqualStepsNeedSweeps = "plan.equal-steps-need-sweeps": "Set `sharing = \"position\"`.",
        /// More workers than equal steps are counted for.
        TooManyWorkers {
            /// The number of workers.
            workers: u64 = 100_000,
            /// The largest number.
            most: u64 = 65_536,
        } = "plan.too-many-workers": "Take fewer workers, or set `sharing = \"position\"`.",
        /// Some workers get nothing, so that no step has data for all.
        MoreWorkersThanData {
            /// The number of workers.
            workers: u64 = 4,
            /// Chunks or sequences that they share.
            owners: u64 = 2,
        } = "plan.more-workers-than-data": "Take fewer workers, or set `sharing = \"position\"`.",
        /// Truncated minibatches have fewer rows than there are workers.
        MoreWorkersThanRows {
            /// The number of workers.
            workers: u64 = 4,
            /// Rows of a minibatch.
            rows: u64 = 2,
        } = "plan.more-workers-than-rows": "Take fewer workers, or larger minibatches.",
        /// No step of a whole sweep has data for all workers.
        NoStepForAll {
            /// The number of workers.
            workers: u64 = 4,
        } = "plan.no-step-for-all": "Take fewer workers or smaller chunks, or set `sharing = \"position\"`.",
        /// The split of a prepared dataset has no records.
        NoData = "plan.no-data": "Choose a split with records.",
        /// The passes of another number of shuffles are given.
        ShufflePasses {
            /// Shuffles found.
            found: usize = 1,
            /// Shuffles of the stream.
            expected: usize = 2,
        } = "plan.shuffle-passes": "Restore a state of the same operations.",
        /// A pass cannot begin, because the one before it has no end.
        NeverBegins {
            /// The number of the pass.
            traversal: u64 = 1,
        } = "plan.never-begins": "Limit the passes with `repeat(n)` or `take(n)`.",
        /// The share of a dataset is not below the number of shares.
        NoSuchShare {
            /// The share.
            index: u64 = 4,
            /// The number of shares.
            count: u64 = 4,
        } = "plan.no-such-share": "Number the shares from 0.",
    }
}

impl fmt::Display for PlanRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PlanRefusal::*;
        match self {
            MinibatchSize { samples } => {
                write!(f, "the minibatch size is {samples} samples, from 1 to {MAX_SAMPLES} are possible")
            }
            NoWorkers => f.write_str("the number of workers is 0, at least 1 is expected"),
            Rank { rank, workers } => {
                write!(f, "the rank is {rank}, expected one below the number of workers, {workers}")
            }
            NoSamples => f.write_str("the corpus has no samples"),
            LimitOfNothing => f.write_str("the data are limited to 0 samples, at least 1 is expected"),
            LimitTooLarge { end } => write!(f, "the data end after {end} samples, at most {ENDLESS} are possible"),
            RankWithoutData { rank, workers, chunks, sequences } => write!(
                f,
                "rank {rank} of {workers} gets no data: there are {chunks} chunks with {sequences} sequences; take fewer \
                 workers or smaller chunks"
            ),
            NoSequences => f.write_str("minibatches of 0 sequences are asked for, at least 1 is expected"),
            EmptyBuckets => f.write_str("buckets are to hold 0 samples or sequences, at least 1 is expected"),
            BucketingNeedsShuffling { order } => {
                write!(f, "bucketing is for shuffled orders, this one is {order}")
            }
            BucketingNeedsComposable => f.write_str(
                "sequences of a deserializer that is not composable have an order of their own; make it composable",
            ),
            EqualStepsNeedComposable => f.write_str(
                "workers of a deserializer that is not composable have timelines of their own; make it composable, or set \
                 `sharing = \"position\"`",
            ),
            EmptyWindow { unit } => write!(f, "the randomization window is 0 {unit}, at least 1 is expected"),
            TooManyForWindow { sequences } => write!(
                f,
                "{sequences} sequences are too many for a randomization window (`randomize = \"global\"` shuffles any number)"
            ),
            TooManySequences { samples, most } => write!(
                f,
                "a minibatch of {samples} samples would hold more than {most} sequences, for which memory is too small; \
                 choose a smaller size or a larger `memoryLimit`"
            ),
            NoSequenceForEachWorker { samples, workers } => write!(
                f,
                "no minibatch of {samples} samples of a whole sweep has a sequence for each of {workers} workers; choose a \
                 larger size"
            ),
            PositionAlone { position } => write!(
                f,
                "position {position} says nothing on a timeline of each rank's own, a whole state is expected"
            ),
            StateOfOneRank { rank, workers } => write!(
                f,
                "the state is that of rank {rank} of {workers} under sharing by chunk; sharing by position resumes from all \
                 ranks' states together, see `merge_states`"
            ),
            StateSequence { sequence, n } => {
                write!(f, "the state's next sequence is {sequence}, the corpus has {n}")
            }
            StateEntry { entry, n } => write!(f, "the state's next entry is {entry}, its window has {n}"),
            StateWindow { place, n } => {
                write!(f, "the state's window begins at chunk {place}, the corpus has {n}")
            }
            StateSteps { begin, end, of, n } => {
                write!(f, "the state's steps are of sequences {begin} to {end} of {of}, the corpus has {n}")
            }
            StepsUnderWay { step, of, size, workers, asked, asked_workers } => write!(
                f,
                "step {step} of {of} equal ones is due, of {size} for {workers} workers, and the call asks for {asked} for \
                 {asked_workers}; sizes and workers may change where the sweep ends"
            ),
            EqualStepsNeedSweeps => f.write_str(
                "equal steps are for minibatches that end with their sweep, on the timeline of all ranks; share by position",
            ),
            TooManyWorkers { workers, most } => {
                write!(f, "{workers} workers are to take equal steps, at most {most} are possible")
            }
            MoreWorkersThanData { workers, owners } => write!(
                f,
                "{workers} workers share {owners} chunks or sequences: some get none, and no step has data for all; take \
                 fewer workers, or share by position"
            ),
            MoreWorkersThanRows { workers, rows } => {
                write!(f, "{workers} workers share {rows} rows, each needs one")
            }
            NoStepForAll { workers } => write!(
                f,
                "no step of a whole sweep has data for all {workers} workers; take fewer, smaller chunks, or share by position"
            ),
            NoData => f.write_str("the split corresponds to no data"),
            ShufflePasses { found, expected } => {
                write!(f, "found the passes of {found} shuffles, the stream has {expected}")
            }
            NeverBegins { traversal } => {
                write!(f, "traversal {traversal} never begins, those before it have no end")
            }
            NoSuchShare { index, count } => {
                write!(f, "share {index} is none of the {count} shares 0 … {}", count.saturating_sub(1))
            }
        }
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
