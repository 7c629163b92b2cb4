//! Samples made of recordings, which stay in memory as they are in their files. In front of the frames of each stands a byte
//! that says how values are stored, and, where they are scaled, both vectors that scale them.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use tesson_core::Kernels;
use tesson_core::{Draw, Input, InputValues, Output, SampleType, Scratch, Transform, UserError};

use super::header::Encoding;
use crate::utterance::window::{FrameValue, Recorded, Window};

/// Decodes frames of recordings, each with those around it.
pub(super) struct Frames(pub(super) Window);

impl Transform for Frames {
    fn name(&self) -> &str {
        "htk frames"
    }

    fn identity(&self) -> String {
        self.0.identity("frames")
    }

    fn output(&self, input: &SampleType) -> Result<SampleType, String> {
        self.0.sample_type(input)
    }

    fn sees_context(&self) -> bool {
        true
    }

    fn draws(&self) -> bool {
        false
    }

    fn reads(&self, recording: &[u8], frames: Range<usize>) -> Option<Range<usize>> {
        let encoding = Encoding::of(*recording.first()?)?;
        let Window { left, right, values } = self.0;
        let (before, frame) =
            (1 + encoding.scale_bytes(values) as usize, encoding.frame_bytes(values) as usize);
        let end = frames.end.saturating_add(right as usize).saturating_mul(frame);
        let start = before + frames.start.saturating_sub(left as usize).saturating_mul(frame);
        Some(start..end.saturating_add(before).min(recording.len()))
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
        self.0.samples(&recording, input.own, output, scratch)
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

    /// Appends the values of 16-bit numbers, scaled if the file says how.
    #[inline(always)]
    fn decode_halves<T: FrameValue>(
        &self,
        bytes: &[u8],
        half: fn([u8; 2]) -> i16,
        word: fn([u8; 4]) -> u32,
        into: &mut Vec<T>,
    ) {
        let halves = bytes.as_chunks::<2>().0.iter().map(|&two| f32::from(half(two)));
        if !self.encoding.is_scaled() {
            into.extend(halves.map(T::of_f32));
            return;
        }
        let (divisors, added) = self.scale.split_at(self.scale.len() / 2);
        let pairs = floats(divisors, word).zip(floats(added, word)).cycle();
        into.extend(halves.zip(pairs).map(|(x, (a, b))| T::of_f32((x + b) / a)));
    }
}

impl Recorded for Recording<'_> {
    fn n_frames(&self) -> usize {
        self.frames.len() / self.encoding.frame_bytes(self.values as u32) as usize
    }

    fn decode<T: FrameValue>(&self, frames: Range<usize>, into: &mut Vec<T>) -> Result<(), UserError> {
        let frame = self.encoding.frame_bytes(self.values as u32) as usize;
        let bytes = &self.frames[frames.start * frame..frames.end * frame];
        #[cfg(target_arch = "x86_64")]
        if Kernels::in_use() >= Kernels::Avx2 {
            #[allow(unsafe_code)]
            // SAFETY: the processor has the instructions: levels that it lacks are not in use.
            unsafe {
                self.append_avx2(bytes, into)
            };
            return Ok(());
        }
        self.append(bytes, into);
        Ok(())
    }
}

impl Recording<'_> {
    /// Like [`Recording::append`], with an instruction that turns the bytes of eight values around at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn append_avx2<T: FrameValue>(&self, bytes: &[u8], into: &mut Vec<T>) {
        self.append(bytes, into);
    }

    /// Appends the values of these bytes of frames.
    #[inline(always)]
    fn append<T: FrameValue>(&self, bytes: &[u8], into: &mut Vec<T>) {
        match (self.encoding.has_halves(), self.encoding.is_big_endian()) {
            (false, true) => into.extend(floats(bytes, u32::from_be_bytes).map(T::of_f32)),
            (false, false) => into.extend(floats(bytes, u32::from_le_bytes).map(T::of_f32)),
            (true, true) => self.decode_halves(bytes, i16::from_be_bytes, u32::from_be_bytes, into),
            (true, false) => self.decode_halves(bytes, i16::from_le_bytes, u32::from_le_bytes, into),
        }
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
        (0..window.frames())
            .try_for_each(|_| recording.decode(0..1, into))
            .expect("bytes are always numbers");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pattern of bits is a number, also those that are none, whose bits must not change.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn values_are_the_same_with_and_without_vectors() {
        if Kernels::in_use() < Kernels::Avx2 {
            return;
        }
        // Frames of three values, so that lengths are no multiple of a vector, from any address.
        let bytes: Vec<u8> = (0..12 * 11u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        for encoding in (0..=u8::MAX).filter_map(Encoding::of) {
            let scale = &bytes[..encoding.scale_bytes(3) as usize];
            let frame = encoding.frame_bytes(3) as usize;
            for n in 0..=10 {
                let recording = Recording { encoding, scale, frames: &bytes[n..], values: 3 };
                let frames = &bytes[n..n + n * frame];
                let (mut plain, mut vectors) = (Vec::<f32>::new(), Vec::<f32>::new());
                recording.append(frames, &mut plain);
                #[allow(unsafe_code)]
                // SAFETY: the processor has the instructions, as asked above.
                unsafe {
                    recording.append_avx2(frames, &mut vectors);
                }
                let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&plain), bits(&vectors), "{n} frames");
                assert_eq!(plain.len(), 3 * n);
            }
        }
    }
}
