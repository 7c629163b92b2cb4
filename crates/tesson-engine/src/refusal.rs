//! Refusals of the engine: configurations, calls and states that it cannot read with.

use tesson_core::{Error, OptionName, OptionSetting, UsageError};

const AUGMENTATION_CNTK: OptionSetting = OptionName::set_to("augmentation", "\"cntk\"");
const AUGMENTATION_SEQUENCE: OptionSetting = OptionName::set_to("augmentation", "\"sequence\"");
const CHUNK_SIZE_IN_BYTES: OptionName = OptionName::new("chunkSizeInBytes");
const EXCLUDE_KEYS: OptionName = OptionName::new("excludeKeys");
const HASH_SEQUENCE_KEYS: OptionName = OptionName::new("hashSequenceKeys");
const MAX_ERRORS: OptionName = OptionName::new("maxErrors");
const MAX_MISSING: OptionName = OptionName::new("maxMissing");
const MAX_SWEEPS_1: OptionSetting = OptionName::set_to("maxSweeps", "1");
const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const PRIMARY: OptionName = OptionName::new("primary");
const RANDOMIZE_FALSE: OptionSetting = OptionName::set_to("randomize", "false");
const RIGHT_SPLICE: OptionName = OptionName::new("rightSplice");
const SHARING_POSITION: OptionSetting = OptionName::set_to("sharing", "\"position\"");
const STRICT_KEYS_FALSE: OptionSetting = OptionName::set_to("strictKeys", "false");
const TRUNCATED: OptionName = OptionName::new("truncated");
const UNIQUE_KEYS_FALSE: OptionSetting = OptionName::set_to("uniqueKeys", "false");

const DEFINES_MB_SIZE: OptionName = OptionName::new("definesMBSize");
const FRAME_PERIOD: OptionName = OptionName::new("framePeriod");
const RAGGED: OptionName = OptionName::new("ragged");

tesson_core::error_kinds! {
    /// Reasons why the engine refuses a configuration, a call or a state.
    pub enum EngineRefusal {
        /// The index and the plan take the memory limit alone.
        IndexBeyondMemory { index: u64 = 60_000, plan: u64 = 40_000, limit: u64 = 65_536 }
            = "engine.index-beyond-memory": "the index takes {index} bytes and the plan up to {plan}, the limit is \
                {limit}"; ("at least {} are needed", index.saturating_add(*plan).saturating_add(1))
            => "Raise {MEMORY_LIMIT} to the value that the message names, or read in an order that needs less.",
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
            => in manual "Raise {MEMORY_LIMIT} beyond the value that the message names, read in an order that needs less, or read the list in parts.",
        /// A minibatch is larger than fits beside what making it takes.
        BatchBeyondMemory { bytes: u64 = 60_000_000, most: u64 = 50_331_648, limit: u64 = 80_000_000 }
            = "engine.batch-beyond-memory": "the minibatch takes {bytes} bytes, at most {most} fit into this \
                {MEMORY_LIMIT}"; "choose a smaller size, or a {MEMORY_LIMIT} of {limit}"
            => "Choose smaller minibatches, or raise {MEMORY_LIMIT} to the value that the message names.",
        /// A minibatch is larger than fits beside the memory that making one of its samples takes.
        SampleBesideBatch { bytes: u64 = 60_000_000, most: u64 = 58_720_256, limit: u64 = 68_571_429 }
            = "engine.sample-beside-batch": "the minibatch and making one of its samples take {bytes} bytes, at most {most} \
                fit into this {MEMORY_LIMIT}"; "choose a smaller size, or a {MEMORY_LIMIT} of {limit}"
            => "Choose smaller minibatches, or raise {MEMORY_LIMIT} to the value that the message names.",
        /// A truncated minibatch and the sequences in its slots are larger than fits beside what making it takes.
        SlotsBeyondMemory {
            slots: usize = 48,
            bytes: u64 = 60_000_000,
            most: u64 = 50_331_648,
            limit: u64 = 80_000_000,
        }
            = "engine.slots-beyond-memory": "a minibatch and the sequences in its {slots} slots take {bytes} bytes, \
                at most {most} fit into this {MEMORY_LIMIT}"; "choose a smaller size, or a {MEMORY_LIMIT} of {limit}"
            => "Choose smaller minibatches, or raise {MEMORY_LIMIT} to the value that the message names.",
        /// A truncated minibatch has more slots than memory has room for.
        TooManySlots { samples: u64 = 1_000_000_000, length: u64 = 10, slots: u64 = 100_000_000 }
            = "engine.too-many-slots": "a minibatch of {samples} samples in segments of {length} has {slots} slots, \
                for which memory is too small"; "choose a smaller size or a larger {MEMORY_LIMIT}"
            => "Choose smaller minibatches, or raise {MEMORY_LIMIT}.",
        /// Segments are not longer than what they repeat of the segment before.
        SpliceTooLong { splice: u64 = 20, samples: u64 = 64, slots: u64 = 4, length: u64 = 16 }
            = "engine.splice-too-long": "{RIGHT_SPLICE} is {splice}, and a minibatch of {samples} samples in {slots} slots has \
                segments of {length}"; "choose a larger size or a smaller {RIGHT_SPLICE}"
            => "Choose larger minibatches, or a smaller {RIGHT_SPLICE}.",
        /// A truncated minibatch has fewer slots than there are workers to share them.
        TooFewSlots { workers: u64 = 3, samples: u64 = 7, length: u64 = 3, slots: u64 = 2 }
            = "engine.too-few-slots": "{workers} workers share the slots of a minibatch, of which a size of {samples} \
                samples in segments of {length} has {slots}"; "choose a larger size or fewer workers"
            => "Choose larger minibatches, or take fewer workers.",
        /// The number of slots changes while sequences in them are not finished.
        SlotsInUse { slots: u64 = 2, asked: u64 = 3 }
            = "engine.slots-in-use": "unfinished sequences wait in {slots} slots, the call asks for {asked}"; "keep the \
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
            => "Set {TRUNCATED}, or plan whole sequences.",
        /// One pass is asked for of data that are not read as stored, once and from the beginning.
        NotOnePass
            = "engine.not-one-pass": "only data that are read as stored, once and from the beginning, can be read in one \
                pass"
            => "Read minibatches, or set {RANDOMIZE_FALSE} and {MAX_SWEEPS_1}.",
        /// The name of a file is a pattern, and a wrong one.
        BadPattern { pattern: String = "part-{1..}.ctf".into(), reason: String = "expected a number after `..`".into() }
            = "engine.bad-pattern": "the pattern `{pattern}`: {reason}"
            => in manual "Correct the pattern.",
        /// The name of a file is a pattern, and no file matches it.
        NoFileMatches { pattern: String = "part-*.ctf".into() }
            = "engine.no-file-matches": "the pattern `{pattern}`: no file matches it"
            => in manual "Check the folder and the pattern.",
        /// The system starts no thread.
        NoThread { reason: String = "resource temporarily unavailable".into() }
            = "engine.no-thread": "no worker thread can be started: {reason}"; "end other threads, or raise the limit of \
                threads"
            => "End other threads, or raise the limit of threads.",
        /// A worker thread panicked.
        WorkerPanicked
            = "engine.worker-panicked": "a worker thread of Tesson panicked"; "this is a defect, please report it"
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
                segments"; "leave out {RAGGED}, or {TRUNCATED}"
            => "Leave out {RAGGED}, or {TRUNCATED}.",
        /// Something is asked for that CNTK's random draws, which run on from the source's first minibatch, do not allow.
        DrawsOfHistory { what: &'static str = "no state can be saved or restored" }
            = "engine.draws-of-history": "{what} with {AUGMENTATION_CNTK}: its random draws depend on all \
                minibatches that the source has made"; "set {AUGMENTATION_SEQUENCE}"
            => "Set {AUGMENTATION_SEQUENCE}, or read from the start.",
        /// A deserializer's stream has a name that is not allowed.
        StreamName { what: String = "a stream's name has 2000 bytes, at most 1024 are possible".into() }
            = "engine.stream-name": "{what}"
            => "Rename the stream.",
        /// Two deserializers have a stream of one name.
        StreamTwice { stream: String = "x".into(), other: usize = 0 }
            = "engine.stream-twice": "stream `{stream}` is in `deserializers[{other}]` too"; "give one of them \
                another name if they are to be joined by key, or list files that follow each other in one deserializer"
            => "Rename one of the streams if they are to be joined by key, or list files that follow each other in one deserializer.",
        /// Two streams define the size of minibatches.
        SizeDefinedTwice { other: usize = 0 }
            = "engine.size-defined-twice": "a stream of `deserializers[{other}]` has {DEFINES_MB_SIZE} already, one \
                stream may"
            => "Set {DEFINES_MB_SIZE} of one stream only.",
        /// A stream that is repeated to the length of the first deserializer's sequences is in the first deserializer.
        RepeatedStreamFirst { stream: String = "speaker".into() }
            = "engine.repeated-stream-first": "stream `{stream}` is repeated to the length of the first deserializer's \
                sequences"; "put another one first"
            => "Put the deserializer whose sequences have the length first.",
        /// The first deserializer has sequences only beside those of another one.
        NeedsAnotherFirst { format: &'static str = "HTKMLFDeserializer" }
            = "engine.needs-another-first": "`{format}` only adds to the sequences of another deserializer"; "put that one \
                first"
            => "Put the deserializer of features first, or name it with {PRIMARY}.",
        /// A deserializer is to count in frames of another one's, and no other says how long they are.
        NoFramePeriod
            = "engine.no-frame-period": "{FRAME_PERIOD} is `auto`, and no deserializer's data say how long their frames are"
            => "Give {FRAME_PERIOD} in units of 100 ns, such as `100000` for 10 ms.",
        /// A deserializer has more sequences than can be joined.
        TooManyToJoin { n: u64 = 5_000_000_000, most: u64 = 4_294_967_294 }
            = "engine.too-many-to-join": "{n} sequences cannot be joined, at most {most} can"
            => "Read the data in several parts.",
        /// Finding keys takes more than half of the memory limit.
        KeysBeyondMemory { needed: u64 = 60_000, limit: u64 = 32_768 }
            = "engine.keys-beyond-memory": "finding keys takes {needed} bytes, half of the limit is {limit}"
            => "Raise {MEMORY_LIMIT} to twice what the message names, or set {HASH_SEQUENCE_KEYS}.",
        /// Sequences that one key joins many times do not fit into memory together.
        JoinBeyondMemory
            = "engine.join-beyond-memory": "the joined sequences that lie together do not fit into memory, as one key \
                joins large sequences many times"; "choose a larger {MEMORY_LIMIT} or a smaller {CHUNK_SIZE_IN_BYTES}"
            => "Raise {MEMORY_LIMIT}, or lower {CHUNK_SIZE_IN_BYTES}.",
        /// Keys occur again, which `uniqueKeys` excludes.
        RepeatedKeys { n: u64 = 1, deserializer: usize = 1, first: String = ": `4` at b (byte 0) and at b (byte 12)".into() }
            = "engine.repeated-keys": "expected each key once in `deserializers[{deserializer}]`, found {n} again{first}"
            => "Remove the sequences that repeat a key, or set {UNIQUE_KEYS_FALSE}.",
        /// Sequences are missing in another deserializer, which `strictKeys` excludes.
        MissingKeys { missing: u64 = 1, of: u64 = 4, deserializer: usize = 1, keys: String = "`2`".into() }
            = "engine.missing-keys": "{missing} of {of} sequences of `deserializers[0]` are not in \
                `deserializers[{deserializer}]`: {keys}"
            => "Add the missing sequences, or set {STRICT_KEYS_FALSE}.",
        /// Utterances have fewer frames in another deserializer than in the first one, and more of them than `maxErrors` forgives.
        TooFewFrames { short: u64 = 3, max_errors: u64 = 0, key: String = "s1/u7".into(), found: u32 = 2, expected: u32 = 5 }
            = "engine.too-few-frames": "utterance `{key}` has {found} frames here, and {expected} in `deserializers[0]`; such \
                utterances: {short}, {MAX_ERRORS} is {max_errors}"
            => in manual "Give the utterance as many frames in every deserializer, or raise {MAX_ERRORS}, which leaves such utterances out.",
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
            => "Add the missing sequences, or raise {MAX_MISSING}.",
        /// A key is asked for that no sequence has.
        UnknownKey { key: String = "s1/u77".into(), n: u64 = 1000, like: String = "s1/u7".into() }
            = "engine.unknown-key": "there is no sequence with the key `{key}` among {n}; one is `{like}`"
            => in manual "Give a key as the data hold it.",
        /// All sequences are left out.
        AllExcluded { n: u64 = 1000 }
            = "engine.all-excluded": "{EXCLUDE_KEYS} names the keys of all {n} sequences, none is left"
            => "Leave at least one key out of {EXCLUDE_KEYS}.",
        /// All sequences of a rank are left out or invalid.
        NothingLeft { rank: u64 = 3, workers: u64 = 4 }
            = "engine.nothing-left": "rank {rank} of {workers} has no sequence left in any sweep: all of its share are invalid or \
                excluded"
            => "Take fewer workers, or leave fewer keys out with {EXCLUDE_KEYS}.",
        /// So few truncated sequences that the slots of a rank stay empty.
        SlotsWithoutRank { sweep: u64 = 0, samples: u64 = 60, slots: u64 = 15, workers: u64 = 3 }
            = "engine.slots-without-rank": "sweep {sweep} has too few sequences for {slots} rows side by side ({samples} samples): one of \
                {workers} ranks has none of them"
            => "Take fewer ranks or fewer rows, or longer pieces.",
        /// A stream is asked for that a batch does not have.
        UnknownStream { stream: String = "feature".into(), known: String = "features, labels".into(), hint: String = ", did you mean `features`?".into() }
            = "engine.unknown-stream": "no stream `{stream}`, there are {known}{hint}"
            => "Name one of the streams.",
        /// A stream is asked for as values of a type that it does not have.
        OtherStreamType {
            stream: String = "features".into(),
            is: String = "dense float32 [64]".into(),
            asked: String = "dense float64".into(),
        }
            = "engine.other-stream-type": "stream `{stream}` is {is}, asked for as {asked}"
            => "Ask for the stream as it is.",
        /// A stream is asked for as one sample an example, and an example has another number.
        SeveralSamples { stream: String = "features".into(), key: String = "7".into(), n: u32 = 3 }
            = "engine.several-samples": "stream `{stream}` has {n} samples in the example with the key {key}, expected 1"; "ask for a \
                ragged stream"
            => "Ask for the stream as a ragged one.",
        /// A rank has nothing to repeat in a step that other ranks have examples for.
        NothingToRepeat { rank: u64 = 3, workers: u64 = 4, epoch: u64 = 0 }
            = "engine.nothing-to-repeat": "all examples of rank {rank} of {workers} in epoch {epoch} are invalid or excluded, and the \
                other ranks have some"
            => "Repair the data, or take fewer ranks.",
        /// An epoch is asked for after the last one.
        EpochsRead { epochs: u64 = 3 }
            = "engine.epochs-read": "all {epochs} epochs have been read"; "make a loader with more epochs, or load a state"
            => "Make a loader with more epochs, or load a state of an earlier one.",
        /// A minibatch is asked for that comes after the end of the data.
        StepBeyondEnd { step: u64 = 900, steps: u64 = 812 }
            = "engine.step-beyond-end": "step {step} is asked for, the data end after {steps} minibatches, which are numbered \
                from 0"
            => "Ask for a smaller step, or read more sweeps.",
        /// Minibatches of all ranks are to be skipped at once, each of which has a position of its own.
        SkipOfAllRanks { workers: u64 = 4 }
            = "engine.skip-of-all-ranks": "each of {workers} workers that share by chunk has a position of its own, and no rank \
                is named"
            => "Name the rank, or set {SHARING_POSITION}.",
        /// A schedule of sizes is given for truncated minibatches, whose rows are as many until the data end.
        TruncatedSchedule
            = "engine.truncated-schedule": "truncated minibatches of several sizes or numbers of slots are asked for, one \
                of each is expected"
            => "Give one size, and one number of slots.",
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
