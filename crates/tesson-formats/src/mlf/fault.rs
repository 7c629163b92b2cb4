//! Faults of master label files.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

const DIM: OptionName = OptionName::new("dim");
const FRAME_PERIOD: OptionName = OptionName::new("framePeriod");
const LABEL_MAPPING_FILE: OptionName = OptionName::new("labelMappingFile");
const TIME_UNIT: OptionName = OptionName::new("timeUnit");

tesson_core::error_kinds! {
    /// A fault of a master label file, or of the list of its states.
    pub enum MlfFault {
        /// The file does not begin with a header.
        NoHeader { found: String = "x.lab".into() }
            = "mlf.no-header": "the file begins with `{found}`, expected the header `#!MLF!#`"
            => "Check that this is a master label file; binary ones are read with `HTKMLFBinaryDeserializer`.",
        /// The name of an entry is not in quotes. The entry is left out.
        BadName { found: String = "x.lab".into() }
            = "mlf.bad-name": "found `{found}`, expected the name of an utterance in quotes; it has no labels"
            => in manual "Write the name in quotes, such as `\"*/x.lab\"`.",
        /// An entry has no labels. It is left out.
        NoLabels
            = "mlf.no-labels": "the entry has no labels"
            => "Write the labels, or remove the entry.",
        /// The file ends within an entry, which is left out.
        NoEnd
            = "mlf.no-end": "the file ends before the line `.` that ends this entry; it has no labels"
            => in manual "End the entry with a line of a single dot; the file may have been cut off.",
        /// A key is no number.
        KeyNotANumber { found: String = "7-a".into() }
            = "mlf.key-not-a-number": "the key is `{found}`, expected digits alone, since keys are numbers"
            => "Name utterances by numbers, or set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}.",
        /// A line of labels has too few columns.
        TooFewColumns { found: usize = 2, expected: &'static str = "a start, an end and the name of a state" }
            = "mlf.too-few-columns": ("found {}, expected {expected}", number_of(found, "column"))
            => "Write all columns, separated by blanks.",
        /// Without a list of states, a line of labels has not exactly four columns.
        NotFourColumns { found: usize = 3 }
            = "mlf.not-four-columns": ("found {}, expected 4, of which the last is the number of a class", number_of(found, "column"))
            => "Give the names of states with {LABEL_MAPPING_FILE}, or write the number of the class in column 4.",
        /// The start or end of a label is no number.
        NotATime { found: String = "x".into() }
            = "mlf.not-a-time": "found `{found}`, expected a time in units of 100 ns, or the number of a frame"
            => "Fix the line; a missing `.` before the next name looks like this, too.",
        /// A label begins before the utterance, or ends before it begins.
        BadSpan { start: String = "3".into(), end: String = "2".into() }
            = "mlf.bad-span": "the label lasts from {start} to {end}, expected a start from 0 and an end that is not \
                before it"
            => "Fix the times.",
        /// The labels of an utterance end at frame 0.
        NoFrames
            = "mlf.no-frames": "the labels end at frame 0, expected at least one frame"
            => "Fix the times; they are in units of 100 ns.",
        /// An utterance has more frames than can be counted.
        TooManyFrames { found: String = "9999999999".into() }
            = "mlf.too-many-frames": "the labels last for {found} frames, expected less than 2^32"
            => "Fix the times, or say what they are with {TIME_UNIT}.",
        /// A label is not in the list of states.
        UnknownLabel { found: String = "zz".into() }
            = "mlf.unknown-label": "found the label `{found}`, which {LABEL_MAPPING_FILE} does not list"
            => "Add the label to the list of states, or fix it.",
        /// A class is no number from 0 to 65535.
        BadClass { found: String = "-1".into() }
            = "mlf.bad-class": "the class is `{found}`, expected a number from 0 to 65535"
            => "Fix the number.",
        /// A class is not below the stream's dimension.
        ClassOutOfRange { class: u32 = 120, dim: u32 = 120 }
            = "mlf.class-out-of-range": "the class is {class}, expected one below {DIM}, {dim}"
            => "Raise {DIM}, or fix the label.",
        /// A label does not begin where the one before it ends, or the first one not at 0.
        Gap { found: u32 = 3, expected: u32 = 2 }
            = "mlf.gap": "the label begins at frame {found}, expected {expected}, where the one before it ends; labels \
                of less than a frame are read as numbers of frames unless {TIME_UNIT} says otherwise"
            => in manual "Fix the times, or set {TIME_UNIT} or {FRAME_PERIOD}.",
        /// The labels of a binary file do not add up.
        FramesDiffer { found: u64 = 5, declared: u32 = 6 }
            = "mlf.frames-differ": ("the utterance has labels for {}, {declared} are declared", number_of(found, "frame"))
            => "Rewrite the file.",
        /// A state occurs twice in the list of states.
        StateTwice { name: String = "sil".into(), first: u64 = 1 }
            = "mlf.state-twice": "the state `{name}` is in line {first}, too"
            => "Remove one of the lines; the number of a state is that of its line.",
        /// A file is no binary master label file.
        NotBinary { found: String = "#!M".into() }
            = "mlf.not-binary": "the file begins with `{found}`, expected `MLF`"
            => "Read text files with `HTKMLFDeserializer`.",
        /// A binary file is of a version that is not known.
        UnknownVersion { found: i16 = 3 }
            = "mlf.unknown-version": "the file has version {found}, expected 1 or 2"
            => "Write the file in version 2.",
        /// A binary file ends within an entry.
        CutOff
            = "mlf.cut-off": "the file ends within an entry"
            => "Rewrite the file; it may have been cut off.",
        /// A list names no label files.
        NoFiles
            = "mlf.no-files": "the list names no label file"
            => "Name a file on each line of the list.",
        /// A line of the list of label files is no UTF-8.
        NotUtf8 { found: String = "\\xff".into() }
            = "mlf.not-utf-8": "the name `{found}` is no UTF-8"
            => "Write the list in UTF-8.",
    }
}

impl FormatFaults for MlfFault {}
