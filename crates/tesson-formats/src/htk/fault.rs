//! Faults of script files and the files that they list.

use tesson_core::{FormatFaults, OptionName, OptionSetting};

const ROOT: OptionName = OptionName::new("root");
const USE_NUMERIC_SEQUENCE_KEYS: OptionName = OptionName::new("useNumericSequenceKeys");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

const ALLOW_KINDS: OptionName = OptionName::new("allowKinds");
const CONTEXT_WINDOW: OptionName = OptionName::new("contextWindow");
const DIM: OptionName = OptionName::new("dim");
const EXPAND_TO_UTTERANCE: OptionName = OptionName::new("expandToUtterance");
const MAX_SEQUENCE_SIZE: OptionName = OptionName::new("maxSequenceSize");
const ON_DUPLICATE: OptionName = OptionName::new("onDuplicate");
const VERIFY: OptionName = OptionName::new("verify");

tesson_core::error_kinds! {
    /// A fault of features of speech.
    pub enum HtkFault {
        /// A line of a script file has a range of frames and no name in front of the file.
        NoName { found: String = "a.htk[0,99]".into() }
            = "htk.no-name": "found `{found}`, expected `name=file[first,last]`"
            => "Put the name of the utterance and `=` in front of the file.",
        /// A line of a script file names no file.
        NoFile { found: String = "u1=".into() }
            = "htk.no-file": "found `{found}`, expected `name=file[first,last]` or `name=file`"
            => "Name the file after `=`, or remove the line.",
        /// The range of frames in a line of a script file is not two whole numbers in brackets.
        BadRange { found: String = "[0,x]".into() }
            = "htk.bad-range": "the range is `{found}`, expected `[first,last]` with whole numbers of frames"
            => "Write the numbers of the first and the last frame, counted from 0, or leave the range out to read the whole file.",
        /// The last frame of a range is before its first one.
        RangeBackward { first: u32 = 5, last: u32 = 3 }
            = "htk.range-backward": "the range ends at frame {last}, before it begins at frame {first}"
            => "Exchange the two numbers: both frames are part of the range.",
        /// Text follows the range in a line of a script file.
        TextAfterRange { found: String = " x".into() }
            = "htk.text-after-range": "found `{found}` after the range, expected the end of the line"
            => "Remove what follows the bracket, blanks too.",
        /// A path in a script file is not UTF-8.
        NotUtf8 { found: String = "caf\\xe9.htk".into() }
            = "htk.not-utf-8": "the path `{found}` is not UTF-8"
            => "Convert the script file to UTF-8, or rename the file.",
        /// A line of a script file is longer than any path.
        LongLine { most: u64 = 65536 }
            = "htk.long-line": "the line is longer than {most} bytes"
            => "Check that this is a script file, with a line for each utterance.",
        /// The key of an utterance is no number, where keys are numbers.
        NotNumericKey { key: String = "u1".into() }
            = "htk.not-numeric-key": "the key `{key}` is not a whole number, and {USE_NUMERIC_SEQUENCE_KEYS} is set"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}, or name utterances by numbers.",
        /// A key occurs again, and `onDuplicate` is `error`.
        DuplicateKey { key: String = "u1".into(), first: u32 = 3 }
            = "htk.duplicate-key": "the key `{key}` occurs again, first in line {first}"
            => "Rename one of the utterances, or set {ON_DUPLICATE} to `first` or `drop`.",
        /// No utterance is left to be read.
        NothingToRead { listed: u64 = 0 }
            = "htk.nothing-to-read": "no utterance is left of {listed} that are listed"
            => "Check the script file, {MAX_SEQUENCE_SIZE}, and whether all keys occur several times.",
        /// An utterance of a stream that is repeated for each frame of another has more than one frame.
        NotOneFrame { frames: u32 = 7 }
            = "htk.not-one-frame": "the utterance has {frames} frames, expected 1, as {EXPAND_TO_UTTERANCE} is set"
            => "List one frame for each utterance, or leave {EXPAND_TO_UTTERANCE} out.",
        /// A file that a script file lists cannot be read.
        Unreadable { what: String = "No such file or directory (os error 2)".into() }
            = "htk.unreadable": "the file cannot be read: {what}"
            => "Correct the path. Relative ones start at the working directory, or at {ROOT}.",
        /// A file is shorter than its header.
        ShortFile { found: u64 = 5, expected: u64 = 12 }
            = "htk.short-file": "the file has {found} bytes, expected a header of {expected}"
            => "Make the file again, or remove its lines from the script file.",
        /// A file holds another kind of parameters than those that are read.
        Kind { found: String = "WAVEFORM".into() }
            = "htk.kind": "the file holds `{found}`, expected MFCC, FBANK, USER or PLP"
            => "Make features of it first, or list the kind in {ALLOW_KINDS} to read its numbers as they are.",
        /// The bytes of a frame are no whole number of values.
        SampleSize { found: u16 = 9, value: u32 = 4 }
            = "htk.sample-size": "a frame has {found} bytes, expected a multiple of {value} above 0"
            => "Make the file again: its header is wrong, or it is no parameter file.",
        /// A file is not of the kind, size of frames or period of the first one.
        OtherKind { found: String = "MFCC_E, 13 values, period 100000".into(), expected: String = "MFCC, 12 values, period 100000".into() }
            = "htk.other-kind": "the file holds {found}, the first one {expected}"
            => "List files of one kind; others need a deserializer of their own.",
        /// The size of a sample fits neither the frames nor the window.
        Dim { dim: u64 = 26, values: u32 = 13, window: String = "1".into() }
            = "htk.dim": "{DIM} is {dim} and {CONTEXT_WINDOW} {window}, which does not fit frames of {values} values"
            => "Set {DIM} to the values of one frame, or to those of all frames of the window.",
        /// A range goes beyond the frames of its file.
        RangeBeyondFile { first: u32 = 0, last: u32 = 20, frames: u32 = 20 }
            = "htk.range-beyond-file": "the range [{first},{last}] is beyond the {frames} frames of the file"
            => "Correct the range: frames count from 0, and the last one is part of it.",
        /// A file ends before frames that its header declares.
        EndsEarly { frame: u64 = 7, end: u64 = 364, size: u64 = 300 }
            = "htk.ends-early": "frame {frame} ends at byte {end}, and the file has {size} bytes"
            => "Copy or make the file again: it is cut off.",
        /// The header of a file declares another number of frames than it holds.
        FrameCount { declared: u32 = 20, held: u64 = 21 }
            = "htk.frame-count": "the header declares {declared} frames, the file holds {held}"
            => "Make the file again, or leave out {VERIFY}.",
        /// A file without a range has no frames, or more than a sequence may have.
        WholeFile { frames: u32 = 0 }
            = "htk.whole-file": "the file has {frames} frames, which cannot be read as one utterance"
            => "Give a range of frames, or remove the line.",
        /// The utterances of a source have more text in their keys than can be kept.
        TooManyKeys
            = "htk.too-many-keys": "the keys of all utterances are longer than 4 GiB together"
            => "Read the utterances in several sources, or set {USE_NUMERIC_SEQUENCE_KEYS}.",
    }
}

impl FormatFaults for HtkFault {}
