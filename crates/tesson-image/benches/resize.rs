//! The speed of turning JPEG files into images of one size, compared with decoding alone, on one thread: `cargo
//! bench -p tesson-image --bench resize`.
//!
//! Images of 500 x 375 pixels with colours at half the resolution are decoded as OpenCV decodes them, cut to a
//! random rectangle or not, resized to 224 x 224 and stored in 8 bits, or channels first in floats. Prints a line of
//! JSON for each way; the ways take turns, and the best round of each counts. All memory is reused.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

mod images;

use std::sync::Arc;
use std::time::Instant;

use images::{IMAGES, ROUNDS, SIZE, file};
use mozjpeg::{ColorSpace, Decompress};
use tesson_image::imdecode::{Color, ImdecodeOptions, imdecode};
use tesson_image::transform::Interpolation;
use tesson_image::transform::canvas::PipelineScratch;
use tesson_image::transform::crop::{Crop, CropKind, CropSize};
use tesson_image::transform::pipeline::{Pipeline, StoreScratch};
use tesson_image::transform::random::CntkRandom;
use tesson_image::transform::scale::{Scale, ScaleMode};
use tesson_image::transform::step::Step;
use tesson_image::transform::transpose::Transpose;
use tesson_image::transform::view::{Size, View};

#[derive(Default)]
struct Memory {
    pixels: Vec<u8>,
    pipeline: PipelineScratch<f32>,
    store: StoreScratch<f32>,
    bytes: Vec<u8>,
    reals: Vec<f32>,
}

fn library(file: &[u8], memory: &mut Memory) {
    memory.pixels.resize(SIZE.0 * SIZE.1 * 3, 0);
    let started = Decompress::new_mem(file).expect("a JPEG file");
    let mut started = started.to_colorspace(ColorSpace::JCS_EXT_BGR).expect("colours");
    started.read_scanlines_into::<u8>(&mut memory.pixels).expect("the file is whole");
    started.finish().expect("the file is whole");
}

fn decoded(file: &[u8], memory: &mut Memory) -> Size {
    imdecode(file, &ImdecodeOptions::new(Color::Bgr), &mut memory.pixels).expect("the file is whole")
}

/// Transforms the image that was decoded last.
fn transform(pipeline: &Pipeline, size: Size, random: &mut CntkRandom, memory: &mut Memory) {
    let Memory { pixels, pipeline: scratch, store, bytes, reals } = memory;
    bytes.clear();
    reals.clear();
    let found = pipeline.apply(View::new(pixels, size), 0, random, scratch).expect("it fits");
    if pipeline.is_transposed() || !found.append_bytes(false, store, bytes) {
        found.append_reals(pipeline.is_transposed(), store, reals);
    }
}

fn scale(interpolation: Interpolation) -> Arc<dyn Step> {
    Arc::new(Scale::new([224, 224], 3, ScaleMode::Fill, [interpolation]).expect("a usable size"))
}

fn random_crop() -> Arc<dyn Step> {
    let size = CropSize::AreaRatio([0.3, 1.0]);
    let aspect_ratio = [0.75, 1.333];
    Arc::new(Crop { kind: CropKind::Random, size, aspect_ratio, jitter: true, hflip: true })
}

/// Its name, whether decoding is timed with it, and its steps.
type Way = (&'static str, bool, Vec<Arc<dyn Step>>);

fn main() {
    let files: Vec<Vec<u8>> = (0..IMAGES).map(file).collect();
    let ways: Vec<Way> = vec![
        ("decode, resize, uint8", true, vec![scale(Interpolation::Linear)]),
        ("decode, random crop, resize, uint8", true, vec![random_crop(), scale(Interpolation::Linear)]),
        (
            "decode, random crop, resize, float32 channels first",
            true,
            vec![random_crop(), scale(Interpolation::Linear), Arc::new(Transpose)],
        ),
        ("resize alone, nearest", false, vec![scale(Interpolation::Nearest)]),
        ("resize alone, linear", false, vec![scale(Interpolation::Linear)]),
        ("resize alone, cubic", false, vec![scale(Interpolation::Cubic)]),
        ("resize alone, lanczos", false, vec![scale(Interpolation::Lanczos)]),
    ];
    let mut memory = Memory::default();
    let mut random = CntkRandom::new(vec![1, 2, 3]);
    let pipelines: Vec<Pipeline> =
        ways.iter().map(|(_, _, steps)| Pipeline::new(steps.clone()).expect("an order")).collect();
    let (mut bare, mut decode) = (f64::INFINITY, f64::INFINITY);
    let mut best = vec![f64::INFINITY; ways.len()];
    let time = |work: &mut dyn FnMut(&[u8])| {
        let start = Instant::now();
        files.iter().for_each(|file| work(file));
        start.elapsed().as_secs_f64()
    };
    for _ in 0..ROUNDS {
        bare = bare.min(time(&mut |file| library(file, &mut memory)));
        decode = decode.min(time(&mut |file| _ = decoded(file, &mut memory)));
        for (i, (_, with_decoding, _)) in ways.iter().enumerate() {
            let mut size = decoded(&files[0], &mut memory);
            best[i] = best[i].min(time(&mut |file| {
                if *with_decoding {
                    size = decoded(file, &mut memory);
                }
                transform(&pipelines[i], size, &mut random, &mut memory);
            }));
        }
    }
    let report = |name: &str, seconds: f64| {
        let (images, us) = (IMAGES as f64 / seconds, seconds * 1e6 / IMAGES as f64);
        let share = bare / seconds;
        println!(
            "{{\"bench\": \"{name}\", \"pictures_per_s\": {images:.0}, \"us\": {us:.1}, \"of_library\": {share:.3}}}"
        );
    };
    report("the library", bare);
    report("decode", decode);
    ways.iter().zip(best).for_each(|((name, ..), seconds)| report(name, seconds));
}
