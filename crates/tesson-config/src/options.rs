//! The options of a reader, those around its deserializers.

use tesson_core::{Augmentation, Element, OptionKind, OptionTable, Words, option_table};
use tesson_plan::{EqualSteps, LastSequence, Sharing};

use crate::source::{Randomize, StoreKind};

/// Words of `randomize`.
pub(crate) static ORDERS: Words<Randomize, 6> = Words::new([
    ("true", Randomize::Window),
    ("false", Randomize::Off),
    ("auto", Randomize::Window),
    ("window", Randomize::Window),
    ("none", Randomize::Off),
    ("global", Randomize::Global),
]);

/// Words of `sharing`.
pub(crate) static SHARING: Words<Sharing, 2> =
    Words::new([("chunk", Sharing::Chunk), ("position", Sharing::Position)]);

/// Words of `equalSteps`.
pub(crate) static EQUAL_STEPS: Words<Option<EqualSteps>, 4> = Words::new([
    ("false", None),
    ("drop", Some(EqualSteps::Drop)),
    ("repeat", Some(EqualSteps::Repeat)),
    ("empty", Some(EqualSteps::Empty)),
]);

/// Words of `maxSamplesEnd`.
pub(crate) static ENDS: Words<LastSequence, 3> = Words::new([
    ("after", LastSequence::Whole),
    ("before", LastSequence::LeftOut),
    ("inside", LastSequence::Cut),
]);

/// Words of `precision`.
pub(crate) static PRECISIONS: Words<Element, 4> = Words::new([
    ("float", Element::F32),
    ("double", Element::F64),
    ("float32", Element::F32),
    ("float64", Element::F64),
]);

/// Words of `augmentation`.
pub(crate) static AUGMENTATIONS: Words<Augmentation, 2> =
    Words::new([("sequence", Augmentation::Sequence), ("cntk", Augmentation::Cntk)]);

/// Words of `store`.
pub(crate) static STORES: Words<StoreKind, 2> =
    Words::new([("file", StoreKind::File), ("mmap", StoreKind::Mmap)]);

/// The options of a reader section, with the defaults of CNTK's Python interface.
pub static READER_OPTIONS: OptionTable = option_table! {
    "deserializers": OptionKind::Formats, required
        => "What to read: a list of sections, each with a `type` and the options of that type.",
    "primary": OptionKind::Text, optional
        => "Which of several deserializers comes first, streams too, and gives chunks and order: its number from 0, its type \
            or one of its streams.",
    "randomize": ORDERS.kind(), "true"
        => "The order of each sweep: shuffled within a window (`true`, `auto`, `window`), as stored (`false`, `none`), or \
            shuffled as a whole (`global`).",
    "randomizationSeed": OptionKind::Whole, "0"
        => "Seed of the order of the first sweep; each further sweep adds 1.",
    "randomizationWindow": OptionKind::Whole, optional
        => "Size of the shuffling window, in chunks, or in samples with `sampleBasedRandomizationWindow`; 128 chunks where \
            no window is given; 0 turns shuffling off.",
    "sampleBasedRandomizationWindow": OptionKind::Bool, "false"
        => "Whether `randomizationWindow` counts samples instead of chunks; without `randomizationWindow` the window is then the \
            whole data set.",
    "randomizationWindowInChunks": OptionKind::Whole, optional
        => "Size of the shuffling window in chunks; with `randomizationWindowInSamples` 0 too, shuffling is off.",
    "randomizationWindowInSamples": OptionKind::Whole, optional
        => "Size of the shuffling window in samples.",
    "sharing": SHARING.kind(), optional
        => "How workers share the data: each takes whole chunks, as the reference does, or every n-th sequence of each \
            minibatch (`position`, the default of `global` order and of `bucketing`).",
    "crossSweepEnds": OptionKind::Bool, "true"
        => "Whether a minibatch may hold the end of one sweep and the beginning of the next; not with `equalSteps` under \
            sharing by chunk.",
    "equalSteps": EQUAL_STEPS.kind(), "false"
        => "Whether all workers get the same number of minibatches of each sweep: what not all have data for is left out \
            (`drop`), or who has run out gets its own sequences again (`repeat`) or empty minibatches (`empty`).",
    "localTimeline": OptionKind::Bool, "true"
        => "Whether each worker cuts its share of a minibatch by itself, or all by the samples of all.",
    "maxSweeps": OptionKind::Whole, "18446744073709551615"
        => "Sweeps until the end of the data; 2^64-1 is no end.",
    "maxSamples": OptionKind::Whole, "18446744073709551615"
        => "Samples until the end of the data, over all workers; 2^64-1 is no end, 2^64-2 one sweep.",
    "minibatchSize": OptionKind::Text, optional
        => "Samples of a minibatch over all workers where a call does not say, or a schedule over epochs such as \
            `128*2:1024`.",
    "minibatchSizeInSequences": OptionKind::Whole, optional
        => "Sequences of a minibatch over all workers, at most; beside a size in samples the smaller limit wins, without one \
            it is the size.",
    "bucketing": OptionKind::Text, "false"
        => "Puts sequences of similar length together, within what a window takes in: samples of a bucket, best the size of \
            a minibatch, or `true` for `minibatchSize`, `minibatchSizeInSequences` or 256.",
    "epochSize": OptionKind::Whole, "0"
        => "Samples of an epoch over all workers, at whose end a minibatch ends, too; 0 is one sweep.",
    "maxEpochs": OptionKind::Whole, optional
        => "Epochs until the end of the data, in place of `maxSweeps` and `maxSamples`.",
    "transforms": OptionKind::Object, optional
        => "What is done with the samples of streams: a section with a list of transforms for each.",
    "augmentation": AUGMENTATIONS.kind(), "sequence"
        => "Random draws of transforms: those of each sequence, the same at any size, rank and after a resume (`sequence`), or \
            `cntk`, for comparisons with the reference, whose draws depend on all minibatches before: no state can be \
            restored, one minibatch is made at a time, and an interrupted call has to be repeated before one of another size.",
    "maxSamplesEnd": ENDS.kind(), "after"
        => "Where the data end if `maxSamples` lies inside a sequence: after it, as in the reference, before it, or inside, \
            which cuts it.",
    "dropLast": OptionKind::Bool, "false"
        => "Whether the last minibatch of the data is left out if more would have fit into it.",
    "frameMode": OptionKind::Bool, "false"
        => "Whether every sequence is one sample; longer ones are refused, or split into frames if features of speech come first.",
    "truncated": OptionKind::Bool, optional
        => "Whether sequences are cut into pieces of `truncationLength` samples; the default is whether that or `truncationSlots` is given.",
    "truncationLength": OptionKind::Whole, "0"
        => "Samples of a sequence in one minibatch when truncating; 0 is off.",
    "truncationSlots": OptionKind::Whole, "0"
        => "In place of `truncationLength`: pieces side by side in a minibatch, whose size divided by this is their length, also \
            where sizes change from epoch to epoch.",
    "rightSplice": OptionKind::Whole, "0"
        => "Samples by which a piece of a truncated sequence repeats the end of the piece before it.",
    "keepSparse": OptionKind::Bool, "false"
        => "Whether sparse streams stay sparse when truncating; the reference makes them dense.",
    "precision" | "dtype": PRECISIONS.kind(), "float"
        => "The type of all values.",
    "useNumericSequenceKeys": OptionKind::Bool, "true"
        => "Whether sequence keys are numbers; otherwise they are texts.",
    "hashSequenceKeys": OptionKind::Bool, "false"
        => "Whether text keys become 64-bit hashes (djb2), which are then the keys of the sequences.",
    "strictKeys": OptionKind::Bool, "false"
        => "Whether reading several deserializers is refused if one lacks a key of the first; otherwise such sequences are \
            left out and counted.",
    "outerJoin": OptionKind::Bool, "false"
        => "Whether sequences that another deserializer lacks are kept, without samples in its streams.",
    "maxMissing": OptionKind::Real, "1"
        => "The share of the first deserializer's sequences, from 0 to 1, that another one may lack; reading is refused where \
            one lacks more.",
    "uniqueKeys": OptionKind::Bool, "false"
        => "Whether reading is refused if the only deserializer has a key more than once, or any but the first of several; \
            otherwise the first sequence of the key is the one that is joined.",
    "excludeKeys": OptionKind::Keys, optional
        => "A list of keys, or the name of a file with a key in each line: their sequences are left out, as invalid ones are, so \
            that all others keep their minibatch; a state resumes under any list.",
    "maxErrors": OptionKind::Whole, "0"
        => "Faults that leave a sequence out before reading fails, in all deserializers that have no `maxErrors` of their own.",
    "maxErrorShare": OptionKind::Real, "0"
        => "Share of the sequences passed, from 0 to 1, that may be faulty in all, where `maxErrors` forgives fewer.",
    "quarantine": OptionKind::Path, optional
        => "A file to which a line of JSON is appended for every fault that is forgiven: what it is, file, line, byte, \
            stream and key.",
    "cacheIndex": OptionKind::Bool, "false"
        => "Whether indexes are kept in files beside their inputs: the default for all deserializers.",
    "traceLevel": OptionKind::Whole, optional
        => "What is logged: 0 errors, 1 warnings (the default), 2 information too.",
    "prefetch": OptionKind::Bool, "true"
        => "Whether minibatches are made before they are asked for.",
    "memoryLimit": OptionKind::Bytes, optional
        => "Bytes of memory for index, order, decoded data and minibatches together, such as `2GiB`.",
    "threads": OptionKind::Whole, "0"
        => "Worker threads; 0 is one a core.",
    "store": STORES.kind(), "file"
        => "How files are read; `mmap` maps them and is only for files that will not change.",
    "multiThreadedDeserialization" | "multithreadedDeserializer": OptionKind::Bool, optional
        => "Accepted without effect: deserialization always uses all threads.",
    "checkData": OptionKind::Bool, optional
        => "Accepted without effect: keys are always reconciled.",
    "verbosity": OptionKind::Whole, "0"
        => "Accepted without effect, see `traceLevel`.",
    "pathsRelativeTo": OptionKind::OneOf(&["workingDirectory", "config"]), "workingDirectory"
        => "What relative file names start from: the working directory, or the folder of the configuration's file.",
    "module": OptionKind::Text, optional
        => "The Python module that registers the type, which is imported and so runs its code: read such configurations from \
            people you trust alone; without effect beside a built-in type.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_name_and_one_sentence() {
        let mut names: Vec<&str> = READER_OPTIONS.0.iter().flat_map(|o| o.names()).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        assert_eq!(names.len(), n);
        for o in READER_OPTIONS.0 {
            assert!(o.help.ends_with('.') && !o.help.contains(". "), "{}: {}", o.name, o.help);
        }
    }
}
