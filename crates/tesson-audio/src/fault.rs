//! The faults of lists of recordings and of the files that they list.

use tesson_core::{FormatFaults, OptionName, OptionSetting, number_of};

const MEMORY_LIMIT: OptionName = OptionName::new("memoryLimit");
const MAX_SECONDS: OptionName = OptionName::new("maxSeconds");
const MIN_SECONDS: OptionName = OptionName::new("minSeconds");
const ROOT: OptionName = OptionName::new("root");
const USE_NUMERIC_SEQUENCE_KEYS: OptionName = OptionName::new("useNumericSequenceKeys");
const USE_NUMERIC_SEQUENCE_KEYS_FALSE: OptionSetting = OptionName::set_to("useNumericSequenceKeys", "false");

const SAMPLE_RATE: OptionName = OptionName::new("sampleRate");

tesson_core::error_kinds! {
    /// A fault of recordings or of their list.
    pub enum AudioFault {
        /// A line of a list has a key alone.
        NoPath { found: String = "u1".into() }
            = "audio.no-path": "found `{found}`, expected a key, a blank and the path of a recording"
            => "Complete the line, or remove it.",
        /// A line of a list is a command.
        Command { found: String = "sox a.wav -t wav - |".into() }
            = "audio.command": "found the command `{found}`, expected the path of a recording"
            => "Commands of lists are not run: write what it makes to a file, and list that.",
        /// A line of a list has more bytes than memory has room for.
        LongLine { limit: u64 = 33_619_968 }
            = "audio.long-line": "the line has more than {limit} bytes, which is as much as this {MEMORY_LIMIT} has room for"
            => "Check that the file is a list of recordings, or raise {MEMORY_LIMIT}.",
        /// A list names more recordings than memory has room for.
        ListBeyondMemory { lines: u64 = 3_000_000, bytes: u64 = 67_108_864, limit: u64 = 67_108_864, needed: u64 = 223_000_000 }
            = "audio.list-beyond-memory": "the recordings of the first {lines} lines of the list take {bytes} bytes, and {MEMORY_LIMIT} \
                is {limit}; all of it needs about {needed}"
            => in manual "Set {MEMORY_LIMIT} to the value that the message names and as much again for the recordings, or read the list in parts.",
        /// A line of a list is not UTF-8.
        NotUtf8 { found: String = "u1 caf\\xe9.wav".into() }
            = "audio.not-utf-8": "`{found}` is not UTF-8"
            => "Convert the list to UTF-8, or rename the file.",
        /// The key of a recording is no number, where keys are numbers.
        NotNumericKey { key: String = "u1".into() }
            = "audio.not-numeric-key": "the key `{key}` is not a whole number, and {USE_NUMERIC_SEQUENCE_KEYS} is set"
            => "Set {USE_NUMERIC_SEQUENCE_KEYS_FALSE}, or name recordings by numbers.",
        /// A key occurs again.
        DuplicateKey { key: String = "u1".into(), first: u32 = 3 }
            = "audio.duplicate-key": "the key `{key}` occurs again, first in line {first}"
            => "Rename one of the recordings, or remove it.",
        /// No recording is left to be read.
        NothingToRead { listed: u64 = 0 }
            = "audio.nothing-to-read": "no recording is left of {listed} that are listed"
            => "Check the list, {MIN_SECONDS} and {MAX_SECONDS}.",
        /// A file cannot be read.
        Unreadable { what: String = "No such file or directory (os error 2)".into() }
            = "audio.unreadable": "the recording cannot be read: {what}"
            => "Correct the path. Relative ones start at the list's own folder, or at {ROOT}.",
        /// A file is neither WAV nor FLAC.
        NotAudio { what: String = "it begins with `OggS`".into() }
            = "audio.not-audio": "the file is no recording in WAV or FLAC: {what}"
            => "Convert the file to WAV or FLAC.",
        /// The samples of a WAV file are compressed, or of an unknown kind.
        OtherEncoding { found: String = "IMA ADPCM (format 17)".into() }
            = "audio.other-encoding": "the WAV file holds {found}, expected whole numbers, floats of 32 or 64 bits, A-law or µ-law"
            => "Convert the file to whole numbers of 16 bits, or to FLAC.",
        /// A file is damaged.
        Corrupt { what: String = "frame header CRC mismatch".into() }
            = "audio.corrupt": "the recording is damaged: {what}"
            => "Replace the file, or remove it from the list.",
        /// A file has fewer or more samples than its header declares.
        OtherLength { found: u64 = 5, expected: u64 = 8 }
            = "audio.other-length": "the recording has {found} samples, expected {expected}, which its header declares"
            => "Replace the file, which is damaged or cut off.",
        /// A file has another rate than the others.
        OtherRate { found: u32 = 44100, expected: u32 = 16000 }
            = "audio.other-rate": "the recording has {found} samples a second, expected {expected}"
            => "Convert it, or give the rate of all recordings as {SAMPLE_RATE}.",
        /// A file is shorter than one frame.
        TooShort { samples: u64 = 100, window: u32 = 400 }
            = "audio.too-short": "the recording has {samples} samples, fewer than one frame of {window}"
            => "Remove it from the list, or set {MIN_SECONDS}.",
        /// A file has more frames than can be counted.
        TooLong { samples: u64 = 1_000_000_000_000 }
            = "audio.too-long": "the recording declares {samples} samples, more than a sequence can have"
            => "Cut it into several recordings.",
        /// A file is another one than when the source was opened.
        Changed { found: u64 = 5, expected: u64 = 8 }
            = "audio.changed": "the recording has {found} frames, expected {expected} as when the source was opened"
            => "Open the source again.",
    }
}

impl FormatFaults for AudioFault {}

const FRAME_MODE_FALSE: OptionSetting = OptionName::set_to("frameMode", "false");
const LOWEST_FREQUENCY: OptionName = OptionName::new("lowestFrequency");

tesson_core::error_kinds! {
    /// Why options of recordings are refused.
    pub enum AudioRefusal {
        /// Frames of recordings are to be sequences.
        FrameMode
            = "audio.frame-mode": "recordings are sequences, their frames cannot be"; "set {FRAME_MODE_FALSE}"
            => "Set {FRAME_MODE_FALSE}.",
        /// A time holds too few samples.
        FewSamples { seconds: f64 = 0.0001, samples: u32 = 1, least: u32 = 2 }
            = "audio.few-samples": ("{seconds} seconds are {}, expected {least} at least", number_of(samples, "sample"))
            => in manual "Give a longer time.",
        /// The highest frequency is not above the lowest one.
        NoBand { highest: f64 = 20.0, lowest: f64 = 64.0 }
            = "audio.no-band": "found {highest}, expected more than {LOWEST_FREQUENCY}, {lowest}"
            => in manual "Give a highest frequency above {LOWEST_FREQUENCY}.",
    }
}
