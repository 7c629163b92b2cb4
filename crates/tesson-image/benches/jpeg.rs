//! The speed of decoding JPEG files, compared with the bare library, on one thread: `cargo bench -p tesson-image`.
//!
//! Images of 500 x 375 pixels with colours at half the resolution, as cameras make them. Prints a line of JSON for
//! each way: the bare library, into reused memory; decoding as datasets do it, into reused memory; and the latter
//! without SIMD, which is no slower if the library was built without the assembler `nasm`. The ways take turns, and
//! the best round of each counts.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

mod images;

use std::process::Command;
use std::time::Instant;

use images::{IMAGES, ROUNDS, SIZE, file};
use mozjpeg::{ColorSpace, DctMethod, Decompress};
use tesson_image::decode::{Depth, Want, decode};

/// The variable by which the library turns SIMD off.
const WITHOUT_SIMD: &str = "JSIMD_FORCENONE";

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
    let files: Vec<Vec<u8>> = (0..IMAGES).map(file).collect();
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
            IMAGES as f64 / seconds,
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
