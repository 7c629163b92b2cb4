//! How fast JPEG files become pixels, beside the bare library, on one thread: `cargo bench -p tesson-image`.
//!
//! Pictures of 500 x 375 pixels with colours at half the resolution, as cameras make them. Prints a line of JSON for each
//! way: the bare library, into memory that is used again; decoding as datasets do it, into such memory; and that without
//! SIMD, which is no slower where the assembler `nasm` was missing when the library was built. Ways take turns, and the best
//! of their rounds counts.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::process::Command;
use std::time::Instant;

use mozjpeg::{ColorSpace, Compress, DctMethod, Decompress};
use tesson_image::decode::{Depth, Want, decode};

const SIZE: (usize, usize) = (500, 375);
const PICTURES: usize = 32;
const ROUNDS: usize = 15;
/// What the library itself looks at to leave SIMD out.
const WITHOUT_SIMD: &str = "JSIMD_FORCENONE";

/// Slopes, edges and noise, so that there is something to decode in most blocks.
fn picture(seed: usize) -> Vec<u8> {
    let mut noise = seed as u32 + 1;
    let mut value = |x: usize, y: usize, c: usize| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let edge = if (x / 40 + y / 30 + seed).is_multiple_of(3) { 60 } else { 0 };
        let slope = (x * (c + 1) / 6 + y * (3 - c) / 5) % 140;
        (20 + slope + edge + (noise >> 27) as usize) as u8
    };
    let mut pixels = Vec::with_capacity(SIZE.0 * SIZE.1 * 3);
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            pixels.extend((0..3).map(|c| value(x, y, c)));
        }
    }
    pixels
}

fn file(seed: usize) -> Vec<u8> {
    let mut made = Compress::new(ColorSpace::JCS_RGB);
    made.set_fastest_defaults();
    made.set_size(SIZE.0, SIZE.1);
    made.set_quality(90.0);
    made.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&picture(seed)).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

fn as_datasets_do(file: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let want = Want { channels: Some(3), depth: Depth::Eight, limit: 1 << 30 };
    decode(file, want, out).expect("the file is whole");
}

fn bare(file: &[u8], out: &mut Vec<u8>) {
    out.resize(SIZE.0 * SIZE.1 * 3, 0);
    let mut started = Decompress::new_mem(file).expect("a JPEG file");
    started.dct_method(DctMethod::IntegerFast);
    let mut started = started.to_colorspace(ColorSpace::JCS_RGB).expect("colours");
    started.read_scanlines_into::<u8>(out).expect("the file is whole");
    started.finish().expect("the file is whole");
}

/// Seconds for all files.
fn time(files: &[Vec<u8>], decode: fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) -> f64 {
    let start = Instant::now();
    for file in files {
        decode(file, out);
        std::hint::black_box(&out);
    }
    start.elapsed().as_secs_f64()
}

fn main() {
    let files: Vec<Vec<u8>> = (0..PICTURES).map(file).collect();
    let bytes: usize = files.iter().map(Vec::len).sum();
    let mut out = Vec::new();
    let (mut ours, mut library) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        library = library.min(time(&files, bare, &mut out));
        ours = ours.min(time(&files, as_datasets_do, &mut out));
    }
    let report = |name: &str, seconds: f64| {
        println!(
            "{{\"bench\": \"jpeg, {name}\", \"pictures_per_s\": {:.0}, \"mb_per_s\": {:.1}, \"of_library\": {:.3}}}",
            PICTURES as f64 / seconds,
            bytes as f64 / seconds / 1e6,
            library / seconds,
        );
    };
    if std::env::var_os(WITHOUT_SIMD).is_some() {
        report("the same, without SIMD", ours);
        return;
    }
    report("the library", library);
    report("as datasets do it", ours);
    let this = std::env::current_exe().expect("a running program has a path");
    Command::new(this).env(WITHOUT_SIMD, "1").status().expect("it runs once more");
}
