//! The examples of the specification, and the fast ways against plain ones. Recorded images are in `tests/cntk_cases.rs`.

use super::super::view::Size;
use super::*;

fn resized<T: Value>(pixels: &[T], size: Size, to: (usize, usize), interpolation: Interpolation) -> Vec<T> {
    let mut out = vec![T::default(); to.0 * to.1 * size.channels];
    let rows = RowsMut { stride: to.0 * size.channels, values: &mut out };
    let target = Target::whole(to.0, to.1);
    resize(View::new(pixels, size), target, interpolation, &mut ResizeScratch::default(), rows);
    out
}

#[test]
fn rows_of_four_pixels_are_those_of_the_specification() {
    use Interpolation::{Cubic, Lanczos, Linear, Nearest};
    let cases: [(Interpolation, &[u8]); 16] = [
        (Nearest, &[10, 30]),
        (Linear, &[105, 140]),
        (Cubic, &[121, 124]),
        (Lanczos, &[135, 111]),
        (Nearest, &[10, 200, 30]),
        (Linear, &[42, 115, 213]),
        (Cubic, &[40, 112, 215]),
        (Lanczos, &[47, 111, 210]),
        (Nearest, &[10, 10, 200, 30, 30, 250]),
        (Linear, &[10, 105, 172, 58, 140, 250]),
        (Cubic, &[0, 121, 188, 39, 124, 255]),
        (Lanczos, &[0, 135, 184, 42, 111, 255]),
        (Nearest, &[10, 10, 200, 200, 30, 30, 250]),
        (Linear, &[10, 78, 186, 115, 46, 171, 250]),
        (Cubic, &[0, 85, 197, 112, 35, 165, 255]),
        (Lanczos, &[0, 98, 201, 111, 31, 153, 255]),
    ];
    for (interpolation, expected) in cases {
        let found = resized(&[10u8, 200, 30, 250], Size::new(1, 4, 1), (expected.len(), 1), interpolation);
        assert_eq!(found, expected, "{interpolation:?}");
    }
    let square = resized(&[10u8, 200, 31, 250], Size::new(2, 2, 1), (3, 3), Linear);
    assert_eq!(square, [10, 105, 200, 21, 123, 225, 31, 140, 250]);
}

/// Pixels without a pattern.
fn noise(n: usize) -> Vec<u8> {
    let mut state = n as u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(n).collect()
}

/// Linear interpolation as the specification has it, value by value.
fn plain_linear(pixels: &[u8], size: Size, to: (usize, usize)) -> Vec<u8> {
    let (mut x, mut y) = (Axis::default(), Axis::default());
    x.prepare(&Span { from: size.width, to: to.0, part: 0..to.0 }, Interpolation::Linear, true);
    y.prepare(&Span { from: size.height, to: to.1, part: 0..to.1 }, Interpolation::Linear, false);
    let c = size.channels;
    let across = |row: usize, dx: usize, channel: usize| -> i32 {
        let tap = |j: usize| {
            i32::from(pixels[(row * size.width + x.sources[2 * dx + j]) * c + channel])
                * i32::from(x.fixed[2 * dx + j])
        };
        tap(0) + tap(1)
    };
    let mut out = Vec::new();
    for dy in 0..to.1 {
        for i in 0..to.0 * c {
            let term = |j: usize| {
                (i32::from(y.fixed[2 * dy + j]) * (across(y.sources[2 * dy + j], i / c, i % c) >> 4)) >> 16
            };
            out.push(((term(0) + term(1) + 2) >> 2).clamp(0, 255) as u8);
        }
    }
    out
}

#[test]
fn linear_interpolation_in_vectors_is_that_of_the_specification() {
    for channels in [1, 2, 3, 4, 5] {
        for (height, width, to) in [
            (1, 1, (5, 4)),
            (2, 3, (1, 1)),
            (7, 9, (14, 3)),
            (40, 31, (16, 17)),
            (5, 200, (67, 11)),
            (8, 8, (4, 4)),
        ] {
            let size = Size::new(height, width, channels);
            let pixels = noise(size.values());
            let found = resized(&pixels, size, to, Interpolation::Linear);
            assert_eq!(found, plain_linear(&pixels, size, to), "{size:?} to {to:?}");
        }
    }
}

#[test]
fn a_mirrored_image_is_resized_as_its_mirrored_copy_is() {
    let size = Size::new(9, 13, 3);
    let pixels = noise(size.values());
    let mut copy = Vec::new();
    View::new(&pixels, size).mirrored().append_to(&mut Vec::new(), &mut copy, |v| v);
    let floats: Vec<f32> = pixels.iter().map(|&v| f32::from(v) - 100.0).collect();
    let float_copy: Vec<f32> = copy.iter().map(|&v| f32::from(v) - 100.0).collect();
    for interpolation in
        [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic, Interpolation::Lanczos]
    {
        for to in [(7, 5), (26, 18), (13, 9), (13, 4)] {
            let n = to.0 * to.1 * 3;
            let (target, stride) = (Target::whole(to.0, to.1), to.0 * 3);
            let (mut found, mut found_floats) = (vec![0; n], vec![0.0; n]);
            let view = View::new(&pixels, size).mirrored();
            let rows = RowsMut { values: &mut found, stride };
            resize(view, target, interpolation, &mut ResizeScratch::default(), rows);
            assert_eq!(found, resized(&copy, size, to, interpolation), "{interpolation:?} {to:?}");
            let view = View::new(&floats, size).mirrored();
            let rows = RowsMut { values: &mut found_floats, stride };
            resize(view, target, interpolation, &mut ResizeScratch::default(), rows);
            assert_eq!(
                found_floats,
                resized(&float_copy, size, to, interpolation),
                "{interpolation:?} {to:?}"
            );
        }
    }
}

#[test]
fn a_window_of_a_resized_image_is_cut_from_the_whole() {
    let size = Size::new(20, 31, 3);
    let pixels = noise(size.values());
    let (width, height) = (25, 14);
    let window = Rect { x: 5, y: 3, width: 13, height: 8 };
    for interpolation in
        [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic, Interpolation::Lanczos]
    {
        let whole = resized(&pixels, size, (width, height), interpolation);
        let mut expected = Vec::new();
        let view = View::new(&whole, Size::new(height, width, 3)).cut(window);
        view.append_to(&mut Vec::new(), &mut expected, |v| v);
        let mut found = vec![0; expected.len()];
        let rows = RowsMut { values: &mut found, stride: window.width * 3 };
        let target = Target { width, height, window };
        resize(View::new(&pixels, size), target, interpolation, &mut ResizeScratch::default(), rows);
        assert_eq!(found, expected, "{interpolation:?}");
    }
}

#[test]
fn floats_halve_in_the_order_of_the_reference() {
    let values = [1e8f32, 1.0, -1e8, 1.0, 0.5, 3.0, 2.0, 7.0];
    let pixels: Vec<f32> = values.iter().chain(values.iter().rev()).copied().collect();
    let found = resized(&pixels, Size::new(2, 8, 1), (4, 1), Interpolation::Linear);
    let mean =
        |x: usize| ((pixels[2 * x] + pixels[2 * x + 1]) + (pixels[8 + 2 * x] + pixels[8 + 2 * x + 1])) * 0.25;
    assert_eq!(found, [0, 1, 2, 3].map(mean));
}

#[test]
fn what_was_resized_before_changes_nothing() {
    let (size, target) = (Size::new(7, 9, 3), Target::whole(4, 5));
    let values: Vec<u8> = (0..size.values()).map(|i| (i * 31 % 251) as u8).collect();
    let resized = |how: Interpolation, scratch: &mut ResizeScratch<u8>| {
        let mut out = vec![0; 4 * 5 * 3];
        resize(View::new(&values, size), target, how, scratch, RowsMut { values: &mut out, stride: 12 });
        out
    };
    let all = [
        Interpolation::Linear,
        Interpolation::Nearest,
        Interpolation::Cubic,
        Interpolation::Lanczos,
        Interpolation::Antialiased(Filter::Linear),
    ];
    let mut shared = ResizeScratch::default();
    for before in all {
        for how in all {
            resized(before, &mut shared);
            assert_eq!(
                resized(how, &mut shared),
                resized(how, &mut ResizeScratch::default()),
                "{before:?}, {how:?}"
            );
        }
    }
}
