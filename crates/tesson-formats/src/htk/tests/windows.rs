//! Windows, and samples made of recordings, against a plain reading of the specification.

use proptest::prelude::*;
use tesson_core::{Draw, Input, InputValues, Output, OutputValues, Scratch, Transform};

use crate::htk::frames::Frames;
use crate::htk::header::{Header, HeaderRules};
use crate::utterance::window::{GivenWindow, Window};

#[test]
fn dim_is_that_of_one_frame_or_of_all() {
    use GivenWindow::{None as Without, Pair, Single};
    let window = |left, right, values| Some(Window { left, right, values });
    for (given, dim, values, expected) in [
        (Without, 2, 2, window(0, 0, 2)),
        (Without, 6, 2, window(1, 1, 2)),
        (Single(1), 6, 2, window(1, 1, 2)),
        (Pair(0, 0), 363, 33, window(5, 5, 33)),
        (Without, 4, 2, None),
        (Without, 5, 2, None),
        (Single(5), 2, 2, window(2, 2, 2)),
        (Pair(1, 2), 2, 2, window(1, 2, 2)),
        // The whole dimension with a window.
        (Pair(1, 1), 6, 2, window(1, 1, 2)),
        (Single(3), 6, 2, window(1, 1, 2)),
        (Single(3), 14, 2, window(3, 3, 2)),
        (Single(4), 18, 2, window(4, 4, 2)),
        (Single(4), 2, 2, None),
        (Pair(1, 1), 4, 2, None),
    ] {
        assert_eq!(given.resolve(dim, values), expected, "{given:?}, {dim} over {values}");
    }
}

/// A header of `frames` frames, and the recording behind it as it lies in memory.
fn recording(kind: u16, big: bool, values: usize, body: &[u8]) -> Vec<u8> {
    let width = if kind & 0o2000 != 0 { 2 } else { 4 };
    let numbers = [(9u32, 4), (100_000, 4), ((values * width) as u32, 2), (kind.into(), 2)];
    let mut bytes = Vec::new();
    for (number, n) in numbers {
        if big {
            bytes.extend_from_slice(&number.to_be_bytes()[4 - n..])
        } else {
            bytes.extend_from_slice(&number.to_le_bytes()[..n])
        }
    }
    let header = Header::parse(&bytes, 1 << 20, &HeaderRules::new(None, 0)).unwrap();
    [&[header.encoding.byte()], body].concat()
}

fn samples(window: Window, bytes: &[u8], own: std::ops::Range<usize>) -> Vec<f32> {
    let mut out = Vec::new();
    let input = Input::new(InputValues::Encoded(bytes), &[]).with_own(own);
    let output = Output::new(OutputValues::F32(&mut out));
    let mut words = std::iter::empty();
    let draw = &mut Draw::from_words(&mut words);
    Frames(window).apply(input, output, draw, &mut Scratch::default()).unwrap();
    out
}

proptest! {
    #[test]
    fn samples_are_the_frames_around_each(
        (left, right) in (0u32..4, 0u32..4), values in 1usize..4, n in 1usize..7, big: bool, first in 0usize..7, len in 1usize..7,
    ) {
        let first = first.min(n - 1);
        let own = first..(first + len).min(n);
        let value = |frame: usize, k: usize| (10 * frame + k) as f32;
        let bits = (0..n * values).map(|i| value(i / values, i % values).to_bits());
        let body: Vec<u8> = bits.flat_map(|b| if big { b.to_be_bytes() } else { b.to_le_bytes() }).collect();
        let bytes = recording(9, big, values, &body);
        let frames = own.clone().flat_map(|t| {
            (-i64::from(left)..=i64::from(right)).map(move |j| (t as i64 + j).clamp(0, n as i64 - 1) as usize)
        });
        let expected: Vec<f32> = frames.flat_map(|t| (0..values).map(move |k| value(t, k))).collect();
        let window = Window { left, right, values: values as u32 };
        prop_assert_eq!(samples(window, &bytes, own), expected);
    }
}

#[test]
fn compressed_values_are_scaled_one_component_at_a_time() {
    let (a, b) = ([2.0f32, 0.0], [1.0f32, 3.0]);
    for big in [true, false] {
        let float = |x: f32| if big { x.to_be_bytes() } else { x.to_le_bytes() };
        let half = |x: i16| if big { x.to_be_bytes() } else { x.to_le_bytes() };
        let mut body: Vec<u8> = a.iter().chain(&b).flat_map(|&x| float(x)).collect();
        body.extend([5i16, -3, -6, 7].iter().flat_map(|&x| half(x)));
        let bytes = recording(6 | 0o2000, big, 2, &body);
        let window = Window { left: 0, right: 0, values: 2 };
        let found = samples(window, &bytes, 0..2);
        assert!(found[1].is_nan(), "0 / 0");
        assert_eq!([found[0], found[2], found[3]], [3.0, -2.5, f32::INFINITY]);
    }
}
