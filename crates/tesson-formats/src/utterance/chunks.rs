//! Chunks of utterances, and which of their frames are wanted.

use std::fmt;
use std::ops::Range;

use tesson_core::{CompactLengths, ConfigError, Index, Options, SequenceSelection};

/// The size that an utterance adds to a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) frames: u32,
    pub(crate) bytes: u64,
}

/// The size that a chunk may have before the utterance that goes beyond it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    frames: u64,
    bytes: u64,
}

/// Frames of a chunk, at most: they are counted with 32 bits, those of its last utterance too.
const MOST_FRAMES: u64 = 1 << 30;

impl Most {
    /// As `chunkSizeInFrames` and `chunkSizeInBytes` say.
    ///
    /// # Errors
    /// Numbers that are too small or too large.
    pub(crate) fn of(options: &Options<'_>) -> Result<Most, ConfigError> {
        let frames = options.whole_within("chunkSizeInFrames", 1..=MOST_FRAMES)?;
        let bytes = options.whole_if_given("chunkSizeInBytes")?.unwrap_or(u64::MAX);
        if bytes == 0 {
            return Err(ConfigError::out_of_range(options.path("chunkSizeInBytes"), "0", "at least 1"));
        }
        Ok(Most { frames, bytes })
    }
}

/// The form of an identity: frames, and bytes where they are limited.
impl fmt::Display for Most {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            u64::MAX => self.frames.fmt(f),
            bytes => write!(f, "{}/{bytes}", self.frames),
        }
    }
}

/// Cuts chunks of utterances, each as soon as it has more frames or bytes than it should (spec/speech.md §5.2): the
/// index, and the number of each chunk's first utterance, and of all. Each frame is a sequence, or each utterance.
pub(crate) fn cut(n: usize, size: impl Fn(usize) -> Size, most: Most, by_frame: bool) -> (Index, Vec<u32>) {
    let (mut index, mut chunks) = (Index::new(), vec![0]);
    let (mut lengths, mut frames, mut bytes) = (Vec::new(), 0, 0);
    for i in 0..n {
        let of = size(i);
        frames += u64::from(of.frames);
        bytes += of.bytes;
        lengths.push(of.frames);
        if frames <= most.frames && bytes <= most.bytes && i + 1 < n {
            continue;
        }
        index.push(
            if by_frame { CompactLengths::constant(1, frames as u32) } else { CompactLengths::new(&lengths) },
            bytes,
        );
        chunks.push(i as u32 + 1);
        lengths.clear();
        (frames, bytes) = (0, 0);
    }
    index.seal();
    (index, chunks)
}

/// Calls `each` with the utterance and the frame of it that each selected sequence of a chunk is, where frames are sequences:
/// those of the utterances from `first` on, which have so many `frames`.
pub(crate) fn each_frame(
    first: usize,
    frames: impl Fn(usize) -> u32,
    wanted: SequenceSelection<'_>,
    mut each: impl FnMut(usize, u32),
) {
    let (mut utterance, mut before) = (first, 0);
    let mut take = |sequence: u32| {
        while sequence - before >= frames(utterance) {
            before += frames(utterance);
            utterance += 1;
        }
        each(utterance, sequence - before);
    };
    match wanted {
        SequenceSelection::Range(range) => range.for_each(&mut take),
        SequenceSelection::List(list) => list.iter().for_each(|&i| take(i)),
    }
}

/// The utterances that selected sequences of a chunk are, where utterances are sequences.
pub(crate) fn each_utterance(
    utterances: Range<usize>,
    wanted: SequenceSelection<'_>,
    mut each: impl FnMut(usize),
) {
    match wanted {
        SequenceSelection::Range(range) => range.for_each(|i| each(utterances.start + i as usize)),
        SequenceSelection::List(list) => list.iter().for_each(|&i| each(utterances.start + i as usize)),
    }
}
