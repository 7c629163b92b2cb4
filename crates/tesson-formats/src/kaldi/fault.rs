//! What can be wrong with an archive.

use tesson_core::FormatFaults;

tesson_core::error_kinds! {
    /// What is wrong with an archive of Kaldi.
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
            => "Write the archive anew.",
        /// An archive ends within an entry.
        CutOff
            = "kaldi.cut-off": "the archive ends within an entry"
            => "Write the archive anew; it may have been cut off.",
        /// What should be a whole number is none.
        NotANumber { found: String = "x".into() }
            = "kaldi.not-a-number": "found `{found}`, expected a whole number of 32 bits"
            => "Mend the entry.",
        /// An entry has no numbers.
        NoFrames
            = "kaldi.no-frames": "the entry has no numbers, expected one for each frame"
            => "Remove the entry, or align the utterance anew.",
        /// A class is not below the stream's dimension.
        ClassOutOfRange { class: i32 = 120, dim: u32 = 120 }
            = "kaldi.class-out-of-range": "the class is {class}, expected one from 0 and below `dim`, {dim}"
            => "Raise `dim`; `ali-to-pdf` makes classes of transitions.",
    }
}

impl FormatFaults for KaldiFault {}
