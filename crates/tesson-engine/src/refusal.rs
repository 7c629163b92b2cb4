//! Refusals of the engine: configurations, calls and states that it cannot read with.

use tesson_core::{Error, UsageError};

tesson_core::error_kinds! {
    /// Reasons why the engine refuses a configuration, a call or a state.
    pub enum EngineRefusal {
        /// The index and the plan take the memory limit alone.
        IndexBeyondMemory { index: u64 = 60_000, plan: u64 = 40_000, limit: u64 = 65_536 }
            = "engine.index-beyond-memory": ("the index takes {index} bytes and the plan up to {plan}, the limit is \
                {limit}; at least {} are needed", index.saturating_add(*plan).saturating_add(1))
            => "Raise `memoryLimit` to the value that the message names, or read in an order that needs less.",
        /// The data kept of a list of files, and the order of these, take the memory limit alone.
        ListBeyondMemory {
            list: String = "map.txt".into(),
            n: u64 = 3_000_000,
            index: u64 = 80_000_000,
            plan: u64 = 24_000_000,
            limit: u64 = 67_108_864,
        }
            = "engine.list-beyond-memory": ("{list} lists {n} files, which take {index} bytes, and their order up to {plan}; \
                the limit is {limit}; more than {} are needed", index.saturating_add(*plan))
            => "Raise `memoryLimit` beyond the value that the message names, read in an order that needs less, or read the list in parts.",
        /// A minibatch is larger than fits beside what making it takes.
        BatchBeyondMemory { bytes: u64 = 60_000_000, most: u64 = 50_331_648, limit: u64 = 80_000_000 }
            = "engine.batch-beyond-memory": "the minibatch takes {bytes} bytes, at most {most} fit into this \
                `memoryLimit`; choose a smaller size, or a `memoryLimit` of {limit}"
            => "Choose smaller minibatches, or raise `memoryLimit` to the value that the message names.",
        /// A truncated minibatch and the sequences in its slots are larger than fits beside what making it takes.
        SlotsBeyondMemory {
            slots: usize = 48,
            bytes: u64 = 60_000_000,
            most: u64 = 50_331_648,
            limit: u64 = 80_000_000,
        }
            = "engine.slots-beyond-memory": "a minibatch and the sequences in its {slots} slots take {bytes} bytes, \
                at most {most} fit into this `memoryLimit`; choose a smaller size, or a `memoryLimit` of {limit}"
            => "Choose smaller minibatches, or raise `memoryLimit` to the value that the message names.",
        /// A truncated minibatch has more slots than memory has room for.
        TooManySlots { samples: u64 = 1_000_000_000, length: u64 = 10, slots: u64 = 100_000_000 }
            = "engine.too-many-slots": "a minibatch of {samples} samples in segments of {length} has {slots} slots, \
                for which memory is too small; choose a smaller size or a larger `memoryLimit`"
            => "Choose smaller minibatches, or raise `memoryLimit`.",
        /// Segments are not longer than what they repeat of the segment before.
        SpliceTooLong { splice: u64 = 20, samples: u64 = 64, slots: u64 = 4, length: u64 = 16 }
            = "engine.splice-too-long": "`rightSplice` is {splice}, and a minibatch of {samples} samples in {slots} slots has \
                segments of {length}; choose a larger size or a smaller `rightSplice`"
            => "Choose larger minibatches, or a smaller `rightSplice`.",
        /// A truncated minibatch has fewer slots than there are workers to share them.
        TooFewSlots { workers: u64 = 3, samples: u64 = 7, length: u64 = 3, slots: u64 = 2 }
            = "engine.too-few-slots": "{workers} workers share the slots of a minibatch, of which a size of {samples} \
                samples in segments of {length} has {slots}; choose a larger size or fewer workers"
            => "Choose larger minibatches, or take fewer workers.",
        /// The number of slots changes while sequences in them are not finished.
        SlotsInUse { slots: u64 = 2, asked: u64 = 3 }
            = "engine.slots-in-use": "unfinished sequences wait in {slots} slots, the call asks for {asked}; keep the \
                size and the workers until the data end, or restore a state in which none waits"
            => "Keep the size and the workers until the data end, or restore a state in which no sequence waits.",
        /// A state holds a sequence that the corpus has not.
        StateSlotSequence { sequence: u64 = 120, n: u64 = 100 }
            = "engine.state-slot-sequence": "the state's slots hold sequence {sequence}, the corpus has {n}"
            => "Restore the state on the corpus it was saved for.",
        /// A state stands in a sequence after its end.
        StateSlotCursor { slot: usize = 1, cursor: u32 = 7 }
            = "engine.state-slot-cursor": "slot {slot} of the state stands at sample {cursor} of a shorter sequence"
            => "Restore the state on the corpus it was saved for.",
        /// Segments are asked for of a source that delivers whole sequences.
        NotTruncated
            = "engine.not-truncated": "whole sequences are read, there are no segments to be planned"
            => "Set `truncated`, or plan whole sequences.",
        /// One pass is asked for of data that are not read as stored, once and from the beginning.
        NotOnePass
            = "engine.not-one-pass": "only data that are read as stored, once and from the beginning, can be read in one \
                pass"
            => "Read minibatches, or set `randomize = false` and `maxSweeps = 1`.",
        /// The system starts no thread.
        NoThread { reason: String = "resource temporarily unavailable".into() }
            = "engine.no-thread": "no worker thread can be started: {reason}; end other threads, or raise the limit of \
                threads"
            => "End other threads, or raise the limit of threads.",
        /// A worker thread panicked.
        WorkerPanicked
            = "engine.worker-panicked": "a worker thread of Tesson panicked; this is a defect, please report it"
            => "Report it with the panic's message.",
        /// Threads of this process are asked for in a copy of it that a fork made.
        Forked { subject: &'static str = "the source" }
            = "engine.forked": "{subject} was opened before a fork, and its threads did not survive it: open a new one \
                in this process, and restore the state"
            => "Open a new source in each process, and restore the state.",
        /// Transforms are given for a stream that no deserializer has.
        TransformOfUnknownStream { known: String = "features, labels".into() }
            = "engine.transform-of-unknown-stream": "there is no such stream, there are {known}"
            => "Name one of the streams.",
        /// A stream's transforms do not fit its samples or each other.
        TransformMismatch { what: String = "`crop`: found float32 [10], expected encoded samples".into() }
            = "engine.transform-mismatch": "{what}"
            => "Change the transform that the message names, or their order.",
        /// Samples that each have a shape of their own are asked for together with truncated sequences.
        RaggedTruncated { stream: String = "features".into() }
            = "engine.ragged-truncated": "the samples of stream `{stream}` are ragged, and such are not cut into rows of \
                segments; leave out `ragged`, or `truncated`"
            => "Leave out `ragged`, or `truncated`.",
        /// Something is asked for that CNTK's random draws, which run on from the source's first minibatch, do not allow.
        DrawsOfHistory { what: &'static str = "no state can be saved or restored" }
            = "engine.draws-of-history": "{what} with `augmentation = \"cntk\"`: its random draws depend on all \
                minibatches that the source has made; set `augmentation = \"sequence\"`"
            => "Set `augmentation = \"sequence\"`, or read from the start.",
        /// A deserializer's stream has a name that is not allowed.
        StreamName { what: String = "a stream's name has 2000 bytes, at most 1024 are possible".into() }
            = "engine.stream-name": "{what}"
            => "Rename the stream.",
        /// Two deserializers have a stream of one name.
        StreamTwice { stream: String = "x".into(), other: usize = 0 }
            = "engine.stream-twice": "stream `{stream}` is in `deserializers[{other}]` too; give one of them \
                another name if they are to be joined by key, or list files that follow each other in one deserializer"
            => "Rename one of the streams if they are to be joined by key, or list files that follow each other in one deserializer.",
        /// Two streams define the size of minibatches.
        SizeDefinedTwice { other: usize = 0 }
            = "engine.size-defined-twice": "a stream of `deserializers[{other}]` has `definesMBSize` already, one \
                stream may"
            => "Set `definesMBSize` of one stream only.",
        /// A stream that is repeated to the length of the first deserializer's sequences is in the first deserializer.
        RepeatedStreamFirst { stream: String = "speaker".into() }
            = "engine.repeated-stream-first": "stream `{stream}` is repeated to the length of the first deserializer's \
                sequences; put another one first"
            => "Put the deserializer whose sequences have the length first.",
        /// The first deserializer has sequences only beside those of another one.
        NeedsAnotherFirst { format: &'static str = "HTKMLFDeserializer" }
            = "engine.needs-another-first": "`{format}` only adds to the sequences of another deserializer; put that one \
                first"
            => "Put the deserializer of features first, or name it with `primary`.",
        /// A deserializer is to count in frames of another one's, and no other says how long they are.
        NoFramePeriod
            = "engine.no-frame-period": "`framePeriod` is `auto`, and no deserializer's data say how long their frames are"
            => "Give `framePeriod` in units of 100 ns, such as `100000` for 10 ms.",
        /// A deserializer has more sequences than can be joined.
        TooManyToJoin { n: u64 = 5_000_000_000, most: u64 = 4_294_967_294 }
            = "engine.too-many-to-join": "{n} sequences cannot be joined, at most {most} can"
            => "Read the data in several parts.",
        /// Finding keys takes more than half of the memory limit.
        KeysBeyondMemory { needed: u64 = 60_000, limit: u64 = 32_768 }
            = "engine.keys-beyond-memory": "finding keys takes {needed} bytes, half of the limit is {limit}"
            => "Raise `memoryLimit` to twice what the message names, or set `hashSequenceKeys`.",
        /// Sequences that one key joins many times do not fit into memory together.
        JoinBeyondMemory
            = "engine.join-beyond-memory": "the joined sequences that lie together do not fit into memory, as one key \
                joins large sequences many times; choose a larger `memoryLimit` or a smaller `chunkSizeInBytes`"
            => "Raise `memoryLimit`, or lower `chunkSizeInBytes`.",
        /// Keys occur again, which `uniqueKeys` excludes.
        RepeatedKeys { n: u64 = 1, deserializer: usize = 1, first: String = ": `4` at b (byte 0) and at b (byte 12)".into() }
            = "engine.repeated-keys": "expected each key once in `deserializers[{deserializer}]`, found {n} again{first}"
            => "Remove the sequences that repeat a key, or set `uniqueKeys = false`.",
        /// Sequences are missing in another deserializer, which `strictKeys` excludes.
        MissingKeys { missing: u64 = 1, of: u64 = 4, deserializer: usize = 1, keys: String = "`2`".into() }
            = "engine.missing-keys": "{missing} of {of} sequences of `deserializers[0]` are not in \
                `deserializers[{deserializer}]`: {keys}"
            => "Add the missing sequences, or set `strictKeys = false`.",
        /// Utterances have fewer frames in another deserializer than in the first one, and more of them than `maxErrors` forgives.
        TooFewFrames { short: u64 = 3, max_errors: u64 = 0, key: String = "s1/u7".into(), found: u32 = 2, expected: u32 = 5 }
            = "engine.too-few-frames": "utterance `{key}` has {found} frames here, and {expected} in `deserializers[0]`; such \
                utterances: {short}, `maxErrors` is {max_errors}"
            => "Give the utterance as many frames in every deserializer, or raise `maxErrors`, which leaves such utterances out.",
        /// A larger share of sequences is missing than `maxMissing` allows.
        TooManyMissing {
            missing: u64 = 120,
            of: u64 = 1000,
            deserializer: usize = 1,
            most: f64 = 0.1,
            keys: String = "`s1/u7`, `s1/u8`".into(),
        }
            = "engine.too-many-missing": "{missing} of {of} sequences of `deserializers[0]` are not in \
                `deserializers[{deserializer}]`, at most a share of {most} may be: {keys}"
            => "Add the missing sequences, or raise `maxMissing`.",
        /// A key is asked for that no sequence has.
        UnknownKey { key: String = "s1/u77".into(), n: u64 = 1000, like: String = "s1/u7".into() }
            = "engine.unknown-key": "there is no sequence with the key `{key}` among {n}; one is `{like}`"
            => "Give a key as the data hold it.",
        /// All sequences are left out.
        AllExcluded { n: u64 = 1000 }
            = "engine.all-excluded": "`excludeKeys` names the keys of all {n} sequences, none is left"
            => "Leave at least one key out of `excludeKeys`.",
        /// All sequences of a rank are left out or invalid.
        NothingLeft { rank: u64 = 3, workers: u64 = 4 }
            = "engine.nothing-left": "rank {rank} of {workers} has no sequence left in any sweep: all of its share are invalid or \
                excluded"
            => "Take fewer workers, or leave fewer keys out with `excludeKeys`.",
        /// A minibatch is asked for that comes after the end of the data.
        StepBeyondEnd { step: u64 = 900, steps: u64 = 812 }
            = "engine.step-beyond-end": "step {step} is asked for, the data end after {steps} minibatches, which are numbered \
                from 0"
            => "Ask for a smaller step, or read more sweeps.",
        /// Minibatches of all ranks are to be skipped at once, each of which has a position of its own.
        SkipOfAllRanks { workers: u64 = 4 }
            = "engine.skip-of-all-ranks": "each of {workers} workers that share by chunk has a position of its own, and no rank \
                is named"
            => "Name the rank, or set `sharing = \"position\"`.",
        /// A schedule of sizes is given for truncated minibatches, whose rows are as many until the data end.
        TruncatedSchedule
            = "engine.truncated-schedule": "truncated minibatches of several sizes are asked for, one size is expected"
            => "Give one size.",
        /// No key is in all deserializers.
        NoCommonKey { examples: String = "key `1` is not in `deserializers[1]`".into() }
            = "engine.no-common-key": "the deserializers have no key in common: {examples}"
            => "Check that the files belong together and that keys are read from the same field.",
    }
}

impl From<EngineRefusal> for UsageError {
    fn from(refusal: EngineRefusal) -> UsageError {
        UsageError::refused(&refusal)
    }
}

impl From<EngineRefusal> for Error {
    fn from(refusal: EngineRefusal) -> Error {
        UsageError::from(refusal).into()
    }
}
