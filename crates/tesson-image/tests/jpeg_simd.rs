//! JPEG: pixels are the same with SIMD and without.

#![cfg(feature = "codecs")]

use std::process::Command;

use mozjpeg::{ColorSpace, Compress};
use tesson_image::decode::{Depth, Want, decode};

/// The variable by which the library turns SIMD off, read once in a process.
const WITHOUT_SIMD: &str = "JSIMD_FORCENONE";

/// A file of noise, in which every coefficient of every block differs from 0.
fn file(width: usize, height: usize, quality: f32, sampling: (u8, u8)) -> Vec<u8> {
    let mut state = (width * 31 + height) as u32;
    let noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let pixels: Vec<u8> = std::iter::repeat_with(noise).take(width * height * 3).collect();
    let mut made = Compress::new(ColorSpace::JCS_RGB);
    made.set_fastest_defaults();
    made.set_size(width, height);
    made.set_quality(quality);
    made.set_chroma_sampling_pixel_sizes(sampling, sampling);
    let mut started = made.start_compress(Vec::new()).expect("memory takes everything");
    started.write_scanlines(&pixels).expect("as many lines as there are");
    started.finish().expect("memory takes everything")
}

/// FNV-1a over the pixels of images of many sizes, qualities and samplings of colours. Each process makes the files
/// itself, so the digest also shows that the compressor is the same with and without SIMD.
fn digest() -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for (width, height) in [(1, 1), (7, 9), (8, 8), (17, 16), (31, 33), (64, 48), (131, 97), (500, 375)] {
        for quality in [5.0, 40.0, 75.0, 90.0, 98.0, 100.0] {
            for sampling in [(1, 1), (2, 1), (1, 2), (2, 2)] {
                for channels in [1, 3] {
                    let want = Want { channels: Some(channels), depth: Depth::Eight, limit: 1 << 30 };
                    let mut pixels = Vec::new();
                    decode(&file(width, height, quality, sampling), want, &mut pixels)
                        .expect("the file is whole");
                    for byte in pixels {
                        digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                    }
                }
            }
        }
    }
    digest
}

#[test]
fn pixels_do_not_depend_on_simd() {
    let said = format!("digest {:016x}", digest());
    if std::env::var_os(WITHOUT_SIMD).is_some() {
        // The other process reads this.
        println!("{said}");
        return;
    }
    let again = ["--exact", "pixels_do_not_depend_on_simd", "--nocapture"];
    let mut other = Command::new(std::env::current_exe().unwrap());
    let without = other.args(again).env(WITHOUT_SIMD, "1").output().unwrap();
    let without = String::from_utf8_lossy(&without.stdout).into_owned();
    assert!(without.contains(&said), "with SIMD {said}, without:\n{without}");
}
