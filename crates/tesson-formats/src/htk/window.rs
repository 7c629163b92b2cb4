//! Frames on either side of a frame: how many there are (spec of speech, §5.3), and samples made of recordings.
//!
//! Recordings stay in memory as they are in their files. In front of the frames of each stands a byte that says how values
//! are stored, and, where they are scaled, both vectors that scale them.

use std::fmt;
use std::ops::Range;

use tesson_core::identity::Identity;
use tesson_core::{
    Draw, Input, InputValues, Output, OutputValues, SampleType, Scratch, Transform, UserError,
};

use super::header::Encoding;

/// The option `contextWindow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenWindow {
    /// It is not given.
    None,
    /// One number.
    Single(u32),
    /// The frames before and after.
    Pair(u32, u32),
}

/// The frames of a sample, and the values of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) left: u32,
    pub(super) right: u32,
    /// Values in a frame.
    pub(super) values: u32,
}

impl fmt::Display for GivenWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GivenWindow::None => f.write_str("not given"),
            GivenWindow::Single(n) => n.fmt(f),
            GivenWindow::Pair(left, right) => write!(f, "{left}:{right}"),
        }
    }
}

impl GivenWindow {
    /// Frames before and after where each is said, or by CNTK's reading of one number: the frames in all, an odd number.
    pub(super) fn sides(self) -> Option<(u32, u32)> {
        match self {
            GivenWindow::None => Some((0, 0)),
            GivenWindow::Single(n) => (n % 2 == 1).then_some((n / 2, n / 2)),
            GivenWindow::Pair(left, right) => Some((left, right)),
        }
    }

    /// The window where frames have so many values, and `dim` is that of a frame or of all frames; `None` where nothing fits.
    pub(super) fn resolve(self, dim: u64, values: u32) -> Option<Window> {
        let window = |left: u32, right: u32| Some(Window { left, right, values });
        let of = u64::from(values);
        let frames = |left: u32, right: u32| 1 + u64::from(left) + u64::from(right);
        let sides = self.sides();
        if let Some((left, right)) = sides
            && dim == of
        {
            return window(left, right);
        }
        let (times, rest) = (dim / of, dim % of);
        if rest != 0 {
            return None;
        }
        match (self, sides) {
            (_, Some((0, 0))) if times % 2 == 1 => {
                let side = u32::try_from(times / 2).ok()?;
                window(side, side)
            }
            (_, Some((left, right))) if times == frames(left, right) => window(left, right),
            // As the published documentation reads one number.
            (GivenWindow::Single(n), _) if times == frames(n, n) => window(n, n),
            _ => None,
        }
    }
}

impl Window {
    /// Frames in a sample.
    pub(super) fn frames(&self) -> u64 {
        1 + u64::from(self.left) + u64::from(self.right)
    }

    /// Values in a sample.
    pub(super) fn sample_len(&self) -> u64 {
        self.frames().saturating_mul(self.values.into())
    }

    /// The frames of `n` that these and those around them are.
    pub(super) fn around(&self, own: Range<u32>, n: u32) -> Range<u32> {
        own.start.saturating_sub(self.left)..own.end.saturating_add(self.right).min(n)
    }
}

/// Decodes frames of recordings, each with those around it.
pub(super) struct Frames(pub(super) Window);

/// What a thread keeps: decoded frames.
#[derive(Default)]
struct Decoded(Vec<f32>);

impl Transform for Frames {
    fn name(&self) -> &str {
        "htk frames"
    }

    fn identity(&self) -> String {
        let Window { left, right, values } = self.0;
        Identity::new("frames", 1).field("values", values).field("left", left).field("right", right).text()
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        let len = usize::try_from(self.0.sample_len()).map_err(|_| "samples are too large".to_owned())?;
        Ok(input.clone().with_values(input.floats()).with_dims([Some(len)]))
    }

    fn sees_context(&self) -> bool {
        true
    }

    fn draws(&self) -> bool {
        false
    }

    fn apply(
        &self,
        input: Input<'_>,
        output: Output<'_>,
        _draw: &mut Draw<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        if input.own.is_empty() {
            // A sequence of a chunk that cannot be read.
            return Ok(());
        }
        let InputValues::Encoded(bytes) = input.values else { return Err("it takes recordings".into()) };
        let recording = Recording::new(bytes, self.0.values as usize).ok_or("it takes recordings")?;
        match output.values {
            OutputValues::F32(into) if self.0.frames() == 1 => recording.decode(input.own, into),
            OutputValues::F32(into) => {
                self.each_sample(&recording, input.own, scratch, |run| into.extend_from_slice(run));
            }
            OutputValues::F64(into) => {
                let widened = |run: &[f32]| into.extend(run.iter().map(|&x| f64::from(x)));
                self.each_sample(&recording, input.own, scratch, widened);
            }
            _ => return Err("it makes floats".into()),
        }
        Ok(())
    }
}

impl Frames {
    /// Gives the values of samples, in as long runs as there are. Frames beyond an end repeat the one at the end.
    fn each_sample(
        &self,
        recording: &Recording<'_>,
        own: Range<usize>,
        scratch: &mut Scratch,
        mut take: impl FnMut(&[f32]),
    ) {
        let Window { left, right, .. } = self.0;
        let (left, right, dim) = (left as usize, right as usize, recording.values);
        let kept = scratch.format.take().and_then(|any| any.downcast::<Decoded>().ok());
        let mut decoded = kept.unwrap_or_default();
        let first = own.start.saturating_sub(left);
        let end = own.end.saturating_add(right).min(recording.n_frames());
        decoded.0.clear();
        recording.decode(first..end, &mut decoded.0);
        let frames = |range: Range<usize>| &decoded.0[range.start * dim..range.end * dim];
        for t in own {
            let (from, to) = (t.saturating_sub(left), (t + right + 1).min(end));
            (t..left).for_each(|_| take(frames(0..1)));
            take(frames(from - first..to - first));
            (to..t + right + 1).for_each(|_| take(frames(end - first - 1..end - first)));
        }
        scratch.format = Some(decoded);
    }
}

/// A recording as it lies in memory.
struct Recording<'a> {
    encoding: Encoding,
    /// The vectors that scale values: the divisor, then what is added.
    scale: &'a [u8],
    frames: &'a [u8],
    values: usize,
}

impl<'a> Recording<'a> {
    /// `None` for bytes that are none.
    fn new(bytes: &'a [u8], values: usize) -> Option<Recording<'a>> {
        let (&first, rest) = bytes.split_first()?;
        let encoding = Encoding::of(first)?;
        let (scale, frames) = rest.split_at_checked(encoding.scale_bytes(values as u32) as usize)?;
        Some(Recording { encoding, scale, frames, values })
    }

    fn n_frames(&self) -> usize {
        self.frames.len() / self.encoding.frame_bytes(self.values as u32) as usize
    }

    /// Appends the values of frames.
    fn decode(&self, frames: Range<usize>, into: &mut Vec<f32>) {
        let frame = self.encoding.frame_bytes(self.values as u32) as usize;
        let bytes = &self.frames[frames.start * frame..frames.end * frame];
        match (self.encoding.has_halves(), self.encoding.is_big_endian()) {
            (false, true) => into.extend(floats(bytes, u32::from_be_bytes)),
            (false, false) => into.extend(floats(bytes, u32::from_le_bytes)),
            (true, true) => self.decode_halves(bytes, i16::from_be_bytes, u32::from_be_bytes, into),
            (true, false) => self.decode_halves(bytes, i16::from_le_bytes, u32::from_le_bytes, into),
        }
    }

    /// Appends the values of 16-bit numbers, scaled if the file says how.
    fn decode_halves(
        &self,
        bytes: &[u8],
        half: fn([u8; 2]) -> i16,
        word: fn([u8; 4]) -> u32,
        into: &mut Vec<f32>,
    ) {
        let halves = bytes.as_chunks::<2>().0.iter().map(|&two| f32::from(half(two)));
        if !self.encoding.is_scaled() {
            into.extend(halves);
            return;
        }
        let (divisors, added) = self.scale.split_at(self.scale.len() / 2);
        let pairs = floats(divisors, word).zip(floats(added, word)).cycle();
        into.extend(halves.zip(pairs).map(|(x, (a, b))| (x + b) / a));
    }
}

/// Bytes as 32-bit floats.
fn floats<'a>(
    bytes: &'a [u8],
    word: impl Fn([u8; 4]) -> u32 + Copy + 'a,
) -> impl Iterator<Item = f32> + Clone + 'a {
    bytes.as_chunks::<4>().0.iter().map(move |&four| f32::from_bits(word(four)))
}

/// The samples of a recording that repeats its only frame: all there is where a frame has none around it.
pub(super) fn only_sample(recording: &[u8], window: Window, into: &mut Vec<f32>) {
    if let Some(recording) = Recording::new(recording, window.values as usize) {
        (0..window.frames()).for_each(|_| recording.decode(0..1, into));
    }
}
