//! Recorded cases of CNTK 2.7, as far as decoding and transforms decide them: which pixels come out of which file.
//!
//! Cases and images that need more than this crate are counted as skipped.

#![cfg(feature = "codecs")]
#![allow(clippy::print_stdout, reason = "what was skipped is said")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tesson_core::{SampleType, ValueType};
use tesson_image::imdecode::{Color as Channels, ImdecodeOptions, imdecode};
use tesson_image::transform::Interpolation;
use tesson_image::transform::canvas::PipelineScratch;
use tesson_image::transform::color::Color;
use tesson_image::transform::crop::{Crop, CropKind, CropSize};
use tesson_image::transform::intensity::Intensity;
use tesson_image::transform::mean::Mean;
use tesson_image::transform::pipeline::{Pipeline, StoreScratch};
use tesson_image::transform::random::CntkRandom;
use tesson_image::transform::scale::{Scale, ScaleMode};
use tesson_image::transform::step::Step;
use tesson_image::transform::transpose::Transpose;
use tesson_image::transform::view::View;

/// Cases that other parts decide: maps, labels, options.
const OTHER_PARTS: &[&str] =
    &["error-label-not-a-number", "error-label-out-of-range", "error-one-column", "error-side-ratio-range"];

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file of the case")).expect("JSON")
}

/// The first two numbers of an option that may be text, such as `0.5:1`.
fn pair(options: &Value, name: &str, default: f64) -> [f64; 2] {
    match &options[name] {
        Value::Null => [default; 2],
        Value::String(text) => {
            let numbers: Vec<f64> = text.split(':').map(|n| n.parse().expect("a number")).collect();
            [numbers[0], *numbers.last().expect("a number")]
        }
        number => [number.as_f64().expect("a number"); 2],
    }
}

fn crop(options: &Value) -> Crop {
    let ratio = |name| pair(options, name, 0.0).map(|x| x as f32);
    let [width, height] = pair(options, "cropSize", 0.0).map(|x| x as usize);
    let size = match (width * height, ratio("sideRatio"), ratio("areaRatio")) {
        (1.., ..) => CropSize::Pixels(width, height),
        (_, [0.0, 0.0], [0.0, 0.0]) => CropSize::Whole,
        (_, [0.0, 0.0], area) => CropSize::AreaRatio(area),
        (_, side, _) => CropSize::SideRatio(side),
    };
    let kind = match options["cropType"].as_str().unwrap_or("Center") {
        "Center" => CropKind::Center,
        "MultiView10" => CropKind::MultiView10,
        _ => CropKind::Random,
    };
    Crop {
        kind,
        size,
        aspect_ratio: pair(options, "aspectRatio", 1.0).map(|x| x as f32),
        jitter: options["jitterType"] == "UniRatio",
        hflip: options["hflip"].as_bool().unwrap_or(kind == CropKind::Random),
    }
}

fn scale(options: &Value) -> Scale {
    let number = |name: &str| options[name].as_u64().expect("a number") as usize;
    let interpolation = match options["interpolations"].as_str() {
        Some("nearest") => Interpolation::Nearest,
        Some("cubic") => Interpolation::Cubic,
        Some("lanczos") => Interpolation::Lanczos,
        _ => Interpolation::Linear,
    };
    let mode = match options["scaleMode"].as_str() {
        Some("crop") => ScaleMode::Crop,
        Some("pad") => ScaleMode::Pad(options["padValue"].as_u64().map(|value| [value as u32; 4])),
        _ => ScaleMode::Fill,
    };
    Scale::new([number("width"), number("height")], number("channels"), mode, [interpolation])
        .expect("a usable size")
}

fn step(folder: &Path, options: &Value) -> Arc<dyn Step> {
    let real = |name: &str| options[name].as_f64().unwrap_or(0.0);
    let file =
        |name: &str| std::fs::read(folder.join(options[name].as_str().expect("a path"))).expect("a file");
    match options["type"].as_str().expect("a type") {
        "Crop" => Arc::new(crop(options)),
        "Scale" => Arc::new(scale(options)),
        "Mean" => Arc::new(Mean::from_file(&file("meanFile")).expect("a mean")),
        "Color" => Arc::new(Color {
            brightness: real("brightnessRadius"),
            contrast: real("contrastRadius"),
            saturation: real("saturationRadius"),
        }),
        "Intensity" => Arc::new(
            Intensity::from_file(real("intensityStdDev"), &file("intensityFile")).expect("axes of colour"),
        ),
        "Transpose" => Arc::new(Transpose),
        other => panic!("transform {other}"),
    }
}

/// A line of a map: the label, and the file, or nothing if an archive holds it.
struct Image {
    label: u64,
    file: Option<Vec<u8>>,
    is_plain: bool,
}

fn map(folder: &Path, deserializer: &Value) -> Vec<Image> {
    let name = deserializer["file"].as_str().expect("a path");
    let text = std::fs::read_to_string(folder.join(name)).expect("a map");
    let is_base64 = deserializer["type"] == "Base64ImageDeserializer";
    let directory = name.rsplit_once('/').map_or(".", |(directory, _)| directory);
    let keyed = text.lines().next().is_some_and(|line| line.split('\t').count() > 2);
    let image = |line: &str| {
        let mut columns: Vec<&str> = line.split('\t').collect();
        if columns.len() > 2 && (!is_base64 || keyed) {
            columns.remove(0);
        }
        let (label, file) = if is_base64 {
            (columns[0], Some(base64(columns[1])))
        } else {
            let path = columns[0].replacen("...", directory, usize::from(columns[0].starts_with("...")));
            (columns[1], std::fs::read(folder.join(path)).ok())
        };
        let digits: String =
            label.trim_start().trim_start_matches('+').chars().take_while(char::is_ascii_digit).collect();
        Image { label: digits.parse().expect("a label"), file, is_plain: !is_base64 }
    };
    text.lines().map(image).collect()
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|b| ALPHABET.iter().position(|a| *a == b));
    let bits: Vec<bool> = digits.flat_map(|d| (0..6).rev().map(move |i| d >> i & 1 == 1)).collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |n, bit| n << 1 | u8::from(*bit))).collect()
}

/// The number of images that agreed, and of those that could not be tested.
#[derive(Debug, Default)]
struct Tally {
    agree: usize,
    skipped: usize,
}

fn run(folder: &Path) -> Tally {
    let case = json(&folder.join("case.json"));
    let deserializers = case["source"]["deserializers"].as_array().expect("deserializers");
    let is_image = |d: &&Value| d["type"].as_str().is_some_and(|name| name.ends_with("ImageDeserializer"));
    let deserializer = deserializers.iter().find(is_image).expect("pictures");
    let inputs = deserializer["input"].as_object().expect("inputs");
    let (stream, input) =
        inputs.iter().find(|(_, i)| i.get("transforms").is_some()).expect("a stream of pictures");
    let (labels, _) = inputs.iter().find(|(_, i)| i.get("labelDim").is_some()).expect("a stream of labels");
    let transforms = input["transforms"].as_array().expect("transforms");
    let seeds = transforms.iter().map(|t| t["seed"].as_u64().unwrap_or(0) as u32).collect();
    let pipeline = Pipeline::new(transforms.iter().map(|t| step(folder, t)).collect()).expect("an order");
    let color = if deserializer["grayscale"] == true { Channels::Gray } else { Channels::Bgr };
    let copies = if deserializer["multiViewCrop"] == true { 10 } else { 1 };
    let images = map(folder, deserializer);
    let in_order = case["source"]["randomize"] != true && deserializers.len() == 1;

    let (mut random, mut scratch) = (CntkRandom::new(seeds), PipelineScratch::<f32>::default());
    let (mut store, mut pixels) = (StoreScratch::default(), Vec::new());
    let (mut tally, mut next) = (Tally::default(), 0);
    let expected = std::fs::read_to_string(folder.join("expected.jsonl")).expect("answers");
    for line in expected.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let sequences =
            |name: &str| line["streams"][name]["sequences"].as_array().cloned().unwrap_or_default();
        for (index, (sample, label)) in sequences(stream).iter().zip(sequences(labels)).enumerate() {
            let label = label[0][0][0].as_u64().expect("a label");
            let (i, copy) = if in_order {
                (next / copies % images.len(), next % copies)
            } else {
                (images.iter().position(|p| p.label == label).expect("a line of the label"), 0)
            };
            next += 1;
            assert_eq!(images[i].label, label);
            let Some(file) = &images[i].file else {
                tally.skipped += 1;
                continue;
            };
            let mut options = ImdecodeOptions::new(color);
            options.apply_orientation = images[i].is_plain;
            options.accept_truncated = true;
            let size =
                imdecode(file, &options, &mut pixels).unwrap_or_else(|e| panic!("{folder:?}, line {i}: {e}"));
            let view = View::new(&pixels, size);
            let transformed = pipeline.apply(view, copy as u32, random.at_index(index), &mut scratch);
            let transformed = transformed.unwrap_or_else(|e| panic!("{folder:?}, line {i}: {e}"));
            let mut found = Vec::new();
            transformed.append_reals(pipeline.is_transposed(), &mut store, &mut found);
            let values = sample[0].as_array().expect("values").iter();
            let expected: Vec<f32> = values.map(|x| x.as_f64().expect("a number") as f32).collect();
            let first = found.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(
                (found.len(), first),
                (expected.len(), None),
                "{folder:?}, line {i}, copy {copy}: values"
            );
            tally.agree += 1;
        }
    }
    tally
}

#[test]
fn decoded_and_transformed_images_are_those_of_the_reference() {
    for case in tesson_case_lookup::cases("cntk/image") {
        let name = case.short_name();
        if !OTHER_PARTS.contains(&name) && !DEVIATIONS.contains(&name) {
            let Tally { agree, skipped } = run(&case.path);
            println!("{}: {agree} pictures agree, {skipped} skipped", case.name);
        }
    }
}

/// Cases where this crate differs from the reference on purpose, or that end in an error of it; tested below.
const DEVIATIONS: &[&str] = &["error-corrupt-jpeg", "error-pad-does-not-fit", "mean-size-mismatch"];

fn in_case(name: &str) -> PathBuf {
    tesson_case_lookup::case(&format!("cntk/image/{name}"))
}

fn decoded(path: &Path) -> Result<tesson_image::transform::view::Size, String> {
    let file = std::fs::read(path).expect("a file of the case");
    imdecode(&file, &ImdecodeOptions::new(Channels::Bgr), &mut Vec::new()).map_err(|e| e.to_string())
}

#[test]
fn truncated_jpeg_files_are_errors_unless_they_are_accepted() {
    let folder = in_case("jpeg-truncated");
    assert_eq!(decoded(&folder.join("cut.jpg")), Err("JPEG: the file is cut".into()));
    assert!(decoded(&folder.join("whole.jpg")).is_ok());
    let folder = in_case("error-corrupt-jpeg");
    let mut options = ImdecodeOptions::new(Channels::Bgr);
    options.accept_truncated = true;
    let file = std::fs::read(folder.join("c.jpg")).expect("a file of the case");
    assert!(imdecode(&file, &options, &mut Vec::new()).is_err());
    assert!(decoded(&folder.join("c.jpg")).is_err());
}

#[test]
fn a_mean_of_another_size_is_refused_before_any_image() {
    let folder = in_case("mean-size-mismatch");
    let case = json(&folder.join("case.json"));
    let transforms = &case["source"]["deserializers"][0]["input"]["features"]["transforms"];
    let steps = transforms.as_array().expect("transforms").iter().map(|t| step(&folder, t)).collect();
    let input = SampleType::dense(ValueType::U8, [None, None, Some(3)]);
    let error = Pipeline::new(steps).expect("an order").output(&input, ValueType::F32).unwrap_err();
    assert_eq!(error.fault.to_string(), "the mean image has 12x8 pixels, the image 6x4");
}

#[test]
fn a_wide_image_fits_a_wide_target() {
    let folder = in_case("error-pad-does-not-fit");
    let case = json(&folder.join("case.json"));
    let options = &case["source"]["deserializers"][0]["input"]["features"]["transforms"][0];
    let pipeline = Pipeline::new(vec![step(&folder, options)]).expect("an order");
    let mut pixels = Vec::new();
    let file = std::fs::read(folder.join("w.bmp")).expect("a file of the case");
    let size = imdecode(&file, &ImdecodeOptions::new(Channels::Bgr), &mut pixels).expect("a picture");
    let (mut random, mut scratch) = (CntkRandom::new(vec![0]), PipelineScratch::<f32>::default());
    let found = pipeline.apply(View::new(&pixels, size), 0, &mut random, &mut scratch).expect("it fits");
    assert_eq!((found.size().width, found.size().height), (8, 4));
}
