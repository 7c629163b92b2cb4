//! Frames on either side of a frame: how many there are (spec/speech.md §5.3), and samples made of recordings.

use std::fmt;
use std::ops::Range;

use tesson_core::identity::Identity;
use tesson_core::{
    ConfigError, Options, Output, OutputValues, SampleType, Scratch, Section, UserError, Value,
};

/// The option `contextWindow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenWindow {
    /// It is not given.
    None,
    /// One number.
    Single(u32),
    /// The frames before and after.
    Pair(u32, u32),
}

/// The frames of a sample, and the values of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) left: u32,
    pub(crate) right: u32,
    /// Values in a frame.
    pub(crate) values: u32,
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
    pub(crate) fn sides(self) -> Option<(u32, u32)> {
        match self {
            GivenWindow::None => Some((0, 0)),
            GivenWindow::Single(n) => (n % 2 == 1).then_some((n / 2, n / 2)),
            GivenWindow::Pair(left, right) => Some((left, right)),
        }
    }

    /// The window where frames have so many values, and `dim` is that of a frame or of all frames; `None` where nothing fits.
    pub(crate) fn resolve(self, dim: u64, values: u32) -> Option<Window> {
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

/// The values of a frame as the option `dim` says; 0 for `auto`.
pub(crate) fn dim(stream: &Options<'_>) -> Result<u64, ConfigError> {
    if matches!(stream.given("dim"), Some(Value::Text(text)) if text.eq_ignore_ascii_case("auto")) {
        return Ok(0);
    }
    stream.whole_within("dim", 1..=i32::MAX as u64)
}

/// Adds the values of a frame to a description.
pub(crate) fn describe_dim(dim: u64, section: &mut Section) -> Result<(), ConfigError> {
    section.push("dim", if dim == 0 { Value::Text("auto".into()) } else { Value::Whole(dim.into()) });
    Ok(())
}

impl Window {
    /// The identity of samples that are made by it, under the name of what they are made of.
    pub(crate) fn identity(&self, of: &'static str) -> String {
        let Window { left, right, values } = self;
        Identity::new(of, 1).field("values", values).field("left", left).field("right", right).text()
    }

    /// The type of samples that are made by it.
    ///
    /// # Errors
    /// Samples of more values than memory has addresses.
    pub(crate) fn sample_type(&self, input: &SampleType) -> Result<SampleType, String> {
        let len = usize::try_from(self.sample_len()).map_err(|_| "samples are too large".to_owned())?;
        Ok(input.clone().with_values(input.floats()).with_dims([Some(len)]))
    }

    /// Frames in a sample.
    pub(crate) fn frames(&self) -> u64 {
        1 + u64::from(self.left) + u64::from(self.right)
    }

    /// Values in a sample.
    pub(crate) fn sample_len(&self) -> u64 {
        self.frames().saturating_mul(self.values.into())
    }

    /// The frames of `n` that these and those around them are.
    pub(crate) fn around(&self, own: Range<u32>, n: u32) -> Range<u32> {
        own.start.saturating_sub(self.left)..own.end.saturating_add(self.right).min(n)
    }
}

/// A recording as it lies in memory, of frames that have as many values each as the window says.
pub(crate) trait Recorded {
    /// Number of frames.
    fn n_frames(&self) -> usize;

    /// Appends the values of frames.
    ///
    /// # Errors
    /// The fault in them, where that has not shown before.
    fn decode<T: FrameValue>(&self, frames: Range<usize>, into: &mut Vec<T>) -> Result<(), UserError>;
}

/// A type of values that frames are decoded to.
pub(crate) trait FrameValue: Copy + Default + Send + Sync + 'static {
    /// The value of a 32-bit number.
    fn of_f32(value: f32) -> Self;

    /// The value of a 64-bit number.
    fn of_f64(value: f64) -> Self;
}

impl FrameValue for f32 {
    fn of_f32(value: f32) -> f32 {
        value
    }

    fn of_f64(value: f64) -> f32 {
        value as f32
    }
}

impl FrameValue for f64 {
    fn of_f32(value: f32) -> f64 {
        value.into()
    }

    fn of_f64(value: f64) -> f64 {
        value
    }
}

/// Decoded frames that a thread keeps.
struct Decoded<T>(Vec<T>);

impl Window {
    /// Gives the samples of a recording, each a frame with those around it.
    ///
    /// # Errors
    /// Those of the recording.
    pub(crate) fn samples(
        &self,
        recording: &impl Recorded,
        own: Range<usize>,
        output: Output<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        match output.values {
            OutputValues::F32(into) => self.append(recording, own, into, scratch),
            OutputValues::F64(into) => self.append(recording, own, into, scratch),
            _ => Err("it makes floats".into()),
        }
    }

    /// Appends the values of samples. Frames beyond an end repeat the one at the end.
    fn append<T: FrameValue>(
        &self,
        recording: &impl Recorded,
        own: Range<usize>,
        into: &mut Vec<T>,
        scratch: &mut Scratch,
    ) -> Result<(), UserError> {
        if self.frames() == 1 {
            return recording.decode(own, into);
        }
        let (left, right, dim) = (self.left as usize, self.right as usize, self.values as usize);
        let kept = scratch.format.take().and_then(|any| any.downcast::<Decoded<T>>().ok());
        let mut decoded = kept.unwrap_or_else(|| Box::new(Decoded(Vec::new())));
        let first = own.start.saturating_sub(left);
        let end = own.end.saturating_add(right).min(recording.n_frames());
        decoded.0.clear();
        recording.decode(first..end, &mut decoded.0)?;
        let frames = |range: Range<usize>| &decoded.0[range.start * dim..range.end * dim];
        for t in own {
            let (from, to) = (t.saturating_sub(left), (t + right + 1).min(end));
            (t..left).for_each(|_| into.extend_from_slice(frames(0..1)));
            into.extend_from_slice(frames(from - first..to - first));
            (to..t + right + 1).for_each(|_| into.extend_from_slice(frames(end - first - 1..end - first)));
        }
        scratch.format = Some(decoded);
        Ok(())
    }
}

tesson_core::error_kinds! {
    /// Why a window of frames is refused.
    pub enum WindowRefusal {
        /// A sample has more values than are counted.
        TooManyValues { values: u64 = 2_000_000_000, left: u32 = 5, right: u32 = 5 }
            = "window.too-many-values": "{values} values in a frame and {left}:{right} frames around it are too many"
            => in manual "Take fewer frames around each one.",
    }
}
