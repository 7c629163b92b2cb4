//! Faults of archives.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const ROOT: OptionName = OptionName::new("root");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

const DIM: OptionName = OptionName::new("dim");
const MAX_SEQUENCE_SIZE: OptionName = OptionName::new("maxSequenceSize");

tesson_core::error_kinds! {
    /// A fault of an archive of Kaldi.
    pub enum KaldiFault {
        /// An entry does not begin with a key.
        NoKey { found: String = "\\0B\\x04".into() }
            = "kaldi.no-key": "found `{found}`, expected a key and a blank after it"
            => "Check that this is an archive; it may be damaged.",
        /// An entry is no vector of whole numbers.
        NotAnAlignment
            = "kaldi.not-an-alignment": "the entry is no vector of 32-bit whole numbers"
            => "Write alignments as archives of whole numbers, such as those of `ali-to-pdf`.",
        /// The size of an entry is negative.
        BadSize { found: i64 = -1 }
            = "kaldi.bad-size": "the entry declares {found} numbers"
            => "Rewrite the archive.",
        /// An archive ends within an entry.
        CutOff
            = "kaldi.cut-off": "the archive ends within an entry"
            => "Rewrite the archive; it may be truncated.",
        /// A whole number was expected, another text was found.
        NotANumber { found: String = "x".into() }
            = "kaldi.not-a-number": "found `{found}`, expected a whole number of 32 bits"
            => "Fix the entry.",
        /// An entry has no numbers.
        NoFrames
            = "kaldi.no-frames": "the entry has no numbers, expected one for each frame"
            => "Remove the entry, or align the utterance again.",
        /// A matrix has no rows.
        NoRows
            = "kaldi.no-rows": "the matrix has no rows, expected one for each frame"
            => "Remove the entry from the archive or the script file, or extract its features again.",
        /// An entry is no matrix.
        NotAMatrix { found: String = "\\x04".into() }
            = "kaldi.not-a-matrix": "found `{found}`, expected a matrix or a vector of floating-point numbers"
            => "Name an archive of features, such as those of `make_mfcc.sh`; alignments have a deserializer of their own.",
        /// Rows of a matrix in text differ in length.
        RaggedRow { found: u32 = 12, expected: u32 = 13 }
            = "kaldi.ragged-row": ("the row has {}, expected {expected} as in the first one", number_of(found, "number"))
            => "Fix the row.",
        /// The matrix has another number of columns than the stream.
        OtherDim { found: u32 = 40, expected: u32 = 13 }
            = "kaldi.other-dim": ("the matrix has {}, expected {DIM}, {expected}", number_of(found, "column"))
            => "Set {DIM} to the number of columns.",
        /// A range of a script file is outside its matrix.
        RangeBeyondMatrix { last: u32 = 500, has: u32 = 420 }
            = "kaldi.range-beyond-matrix": "the range ends with row or column {last}, expected one below {has}"
            => "Fix the range; a range may end up to 3 frames after the last one.",
        /// A range in a script file is invalid.
        BadRange { found: String = "[5:3]".into() }
            = "kaldi.bad-range": "found the range `{found}`, expected one such as `[0:99]` or `[0:99,0:12]`"
            => "Fix the range: first and last row, then first and last column, both part of it.",
        /// A line of a script file names no file.
        NoFile { found: String = "utt1".into() }
            = "kaldi.no-file": "found `{found}`, expected a key, a blank and a file"
            => "Fix the line.",
        /// A line of a script file names a command.
        Command { found: String = "gunzip -c a.gz |".into() }
            = "kaldi.command": "found the command `{found}`, expected the name of a file"
            => "Run the command, and list the file that it writes; commands are not run.",
        /// A line of a script file is no text.
        NotUtf8 { found: String = "utt\u{fffd}".into() }
            = "kaldi.not-utf8": "found `{found}`, expected text in UTF-8"
            => "Convert the script file to UTF-8.",
        /// A key stands for two utterances.
        DuplicateKey { key: String = "utt1".into() }
            = "kaldi.duplicate-key": "the key `{key}` occurs again"
            => "Give each utterance a key of its own.",
        /// A key is no number, where keys have to be.
        NotNumericKey { key: String = "utt1".into() }
            = "kaldi.not-numeric-key": "the key `{key}` is no number"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}.",
        /// A file that a script file lists cannot be read.
        Unreadable { what: String = "No such file or directory".into() }
            = "kaldi.unreadable": "the file cannot be read: {what}"
            => "Check the path; relative ones start from the working directory, or from {ROOT}.",
        /// There is no utterance.
        NothingToRead { found: u64 = 12 }
            = "kaldi.nothing-to-read": "no utterance is left of {found}"
            => "Check the files, and {MAX_SEQUENCE_SIZE}.",
        /// A class is not below the stream's dimension.
        ClassOutOfRange { class: i32 = 120, dim: u32 = 120 }
            = "kaldi.class-out-of-range": "the class is {class}, expected one from 0 and below {DIM}, {dim}"
            => "Raise {DIM}; `ali-to-pdf` makes classes of transitions.",
    }
}

impl FormatFaults for KaldiFault {}

tesson_core::error_kinds! {
    /// Why options of Kaldi's formats are refused.
    pub enum KaldiRefusal {
        /// A command stands where the name of a file is expected.
        Command { command: String = "copy-feats ark:a.ark ark:- |".into() }
            = "kaldi.command-as-file": "found the command `{command}`, expected the name of a file"; "commands are not run, read the file \
                that it writes"
            => "Run the command, and name the file that it writes.",
    }
}
