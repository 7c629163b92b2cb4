//! The options of a reader, those around its deserializers.

use tesson_core::{OptionKind, OptionSpec, OptionTable};

const fn option(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: OptionKind,
    default: Option<&'static str>,
    help: &'static str,
) -> OptionSpec {
    OptionSpec { name, aliases, kind, default, help }
}

/// The options of a reader section, with the defaults of CNTK's Python interface.
pub static READER_OPTIONS: OptionTable = OptionTable(&[
    option(
        "deserializers",
        &[],
        OptionKind::Formats,
        None,
        "What to read: a list of sections, each with a `type` and the options of that type.",
    ),
    option(
        "primary",
        &[],
        OptionKind::Text,
        Some(""),
        "Which of several deserializers comes first, streams too, and gives chunks and order: its number from 0, its type \
         or one of its streams.",
    ),
    option(
        "randomize",
        &[],
        OptionKind::OneOf(&["true", "false", "auto", "window", "none", "global"]),
        Some("true"),
        "The order of each sweep: shuffled within a window (`true`, `auto`, `window`), as stored (`false`, `none`), or \
         shuffled as a whole (`global`).",
    ),
    option(
        "randomizationSeed",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Seed of the order of the first sweep; each further sweep adds 1.",
    ),
    option(
        "randomizationWindow",
        &[],
        OptionKind::Whole,
        Some(""),
        "Size of the shuffling window, in chunks, or in samples with `sampleBasedRandomizationWindow`; 128 chunks where \
         no window is given; 0 turns shuffling off.",
    ),
    option(
        "sampleBasedRandomizationWindow",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether `randomizationWindow`, which has to be given then, counts samples instead of chunks; 4611686018427387903 \
         samples are the whole set.",
    ),
    option(
        "randomizationWindowInChunks",
        &[],
        OptionKind::Whole,
        Some(""),
        "Size of the shuffling window in chunks; with `randomizationWindowInSamples` 0 too, shuffling is off.",
    ),
    option(
        "randomizationWindowInSamples",
        &[],
        OptionKind::Whole,
        Some(""),
        "Size of the shuffling window in samples.",
    ),
    option(
        "sharing",
        &[],
        OptionKind::OneOf(&["chunk", "position"]),
        Some(""),
        "How workers share the data: each takes whole chunks, as the reference does, or every n-th sequence of each \
         minibatch (`position`, the default of `global` order and of `bucketing`).",
    ),
    option(
        "crossSweepEnds",
        &[],
        OptionKind::Bool,
        Some("true"),
        "Whether a minibatch may hold the end of one sweep and the beginning of the next; not with `equalSteps` under \
         sharing by chunk.",
    ),
    option(
        "equalSteps",
        &[],
        OptionKind::OneOf(&["false", "drop", "repeat", "empty"]),
        Some("false"),
        "Whether all workers get the same number of minibatches of each sweep: what not all have data for is left out \
         (`drop`), or who has run out gets its own sequences again (`repeat`) or empty minibatches (`empty`).",
    ),
    option(
        "localTimeline",
        &[],
        OptionKind::Bool,
        Some("true"),
        "Whether each worker cuts its share of a minibatch by itself, or all by the samples of all.",
    ),
    option(
        "maxSweeps",
        &[],
        OptionKind::Whole,
        Some("18446744073709551615"),
        "Sweeps until the end of the data; 2^64-1 is no end.",
    ),
    option(
        "maxSamples",
        &[],
        OptionKind::Whole,
        Some("18446744073709551615"),
        "Samples until the end of the data, over all workers; 2^64-1 is no end, 2^64-2 one sweep.",
    ),
    option(
        "minibatchSize",
        &[],
        OptionKind::Text,
        Some(""),
        "Samples of a minibatch over all workers where a call does not say, or a schedule over epochs such as \
         `128*2:1024`.",
    ),
    option(
        "minibatchSizeInSequences",
        &[],
        OptionKind::Whole,
        Some(""),
        "Sequences of a minibatch over all workers, at most; beside a size in samples the smaller limit wins, without one \
         it is the size.",
    ),
    option(
        "bucketing",
        &[],
        OptionKind::Text,
        Some("false"),
        "Puts sequences of similar length together, within what a window takes in: samples of a bucket, best the size of a \
         minibatch, or `true` for `minibatchSize`, `minibatchSizeInSequences` or 256.",
    ),
    option(
        "epochSize",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Samples of an epoch over all workers, at whose end a minibatch ends, too; 0 is one sweep.",
    ),
    option(
        "maxEpochs",
        &[],
        OptionKind::Whole,
        Some(""),
        "Epochs until the end of the data, in place of `maxSweeps` and `maxSamples`.",
    ),
    option(
        "transforms",
        &[],
        OptionKind::Object,
        Some(""),
        "What is done with the samples of streams: a section with a list of transforms for each.",
    ),
    option(
        "maxSamplesEnd",
        &[],
        OptionKind::OneOf(&["after", "before", "inside"]),
        Some("after"),
        "Where the data end if `maxSamples` lies inside a sequence: after it, as in the reference, before it, or inside, \
         which cuts it.",
    ),
    option(
        "dropLast",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether the last minibatch of the data is left out if more would have fit into it.",
    ),
    option(
        "frameMode",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether every sequence is one sample; longer ones are refused.",
    ),
    option(
        "truncated",
        &[],
        OptionKind::Bool,
        Some(""),
        "Whether sequences are cut into pieces of `truncationLength` samples; the default is whether that is given.",
    ),
    option(
        "truncationLength",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Samples of a sequence in one minibatch when truncating; 0 is off.",
    ),
    option(
        "rightSplice",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Samples by which a piece of a truncated sequence repeats the end of the piece before it.",
    ),
    option(
        "keepSparse",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether sparse streams stay sparse when truncating; the reference makes them dense.",
    ),
    option(
        "precision",
        &["dtype"],
        OptionKind::OneOf(&["float", "double", "float32", "float64"]),
        Some("float"),
        "The type of all values.",
    ),
    option(
        "useNumericSequenceKeys",
        &[],
        OptionKind::Bool,
        Some("true"),
        "Whether sequence keys are numbers; otherwise they are texts.",
    ),
    option(
        "hashSequenceKeys",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether text keys become 64-bit hashes (djb2), which are then the keys of the sequences.",
    ),
    option(
        "strictKeys",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether reading several deserializers is refused if one lacks a key of the first; otherwise such sequences are \
         left out and counted.",
    ),
    option(
        "outerJoin",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether sequences that another deserializer lacks are kept, without samples in its streams.",
    ),
    option(
        "uniqueKeys",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether reading is refused if the only deserializer has a key more than once, or any but the first of several; \
         otherwise the first sequence of the key is the one that is joined.",
    ),
    option(
        "maxErrors",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Invalid sequences that are left out before reading fails; faults of text have a budget in their deserializer.",
    ),
    option(
        "maxErrorShare",
        &[],
        OptionKind::Real,
        Some("0"),
        "Share of the sequences passed, from 0 to 1, that may be faulty in all, where `maxErrors` forgives fewer.",
    ),
    option(
        "quarantine",
        &[],
        OptionKind::Path,
        Some(""),
        "A file to which a line of JSON is appended for every fault that is forgiven: what it is, file, line, byte, \
         stream and key.",
    ),
    option(
        "cacheIndex",
        &[],
        OptionKind::Bool,
        Some("false"),
        "Whether indexes are kept in files beside their inputs: the default for all deserializers.",
    ),
    option(
        "traceLevel",
        &[],
        OptionKind::Whole,
        Some(""),
        "What is logged: 0 errors, 1 warnings (the default), 2 information too.",
    ),
    option(
        "prefetch",
        &[],
        OptionKind::Bool,
        Some("true"),
        "Whether minibatches are made before they are asked for.",
    ),
    option(
        "memoryLimit",
        &[],
        OptionKind::Bytes,
        Some(""),
        "Bytes of memory for index, order, decoded data and minibatches together, such as `2GiB`.",
    ),
    option("threads", &[], OptionKind::Whole, Some("0"), "Worker threads; 0 is one a core."),
    option(
        "store",
        &[],
        OptionKind::OneOf(&["file", "mmap"]),
        Some("file"),
        "How files are read; `mmap` maps them and is only for files that will not change.",
    ),
    option(
        "multiThreadedDeserialization",
        &["multithreadedDeserializer"],
        OptionKind::Bool,
        Some(""),
        "Accepted without effect: deserialization always uses all threads.",
    ),
    option(
        "checkData",
        &[],
        OptionKind::Bool,
        Some(""),
        "Accepted without effect: keys are always reconciled.",
    ),
    option(
        "verbosity",
        &[],
        OptionKind::Whole,
        Some("0"),
        "Accepted without effect: 0 to 3, see `traceLevel`.",
    ),
    option(
        "pathsRelativeTo",
        &[],
        OptionKind::OneOf(&["workingDirectory", "config"]),
        Some("workingDirectory"),
        "What relative file names start from: the working directory, or the folder of the configuration's file.",
    ),
    option(
        "module",
        &[],
        OptionKind::Text,
        Some(""),
        "The Python module that registers the type, which is imported and so runs its code: read such configurations from people you trust alone; without effect beside a built-in type.",
    ),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_one_name_and_one_sentence() {
        let mut names: Vec<&str> =
            READER_OPTIONS.0.iter().flat_map(|o| o.aliases.iter().copied().chain([o.name])).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        assert_eq!(names.len(), n);
        for o in READER_OPTIONS.0 {
            assert!(o.help.ends_with('.') && !o.help.contains(". "), "{}: {}", o.name, o.help);
        }
    }
}
