//! Images: how fast a map of JPEG files becomes minibatches, beside a bare loop that decodes and resizes the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mozjpeg::{ColorSpace, DctMethod, Decompress};
use serde_json::{Value, json};

use crate::{open, report, round};

pub(crate) const USAGE: &str = "
  tesson-bench images make FOLDER [N]            write N JPEG files of 500 by 375 pixels
  tesson-bench images measure FOLDER [ROUNDS]    reading those of a folder, beside decoding and resizing alone, in turns";

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// The height and width of delivered images.
const SIDE: usize = 224;

/// Runs a job; false if there is none of this name.
pub(crate) fn run(words: &[&str]) -> Answer<bool> {
    match words {
        ["make", folder, rest @ ..] => {
            make(Path::new(folder), rest.first().map_or(Ok(300), |n| n.parse())?)?;
        }
        ["measure", folder, rest @ ..] => {
            measure(Path::new(folder), rest.first().map_or(Ok(7), |n| n.parse())?)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes files with fixed contents; an existing folder is left as it is.
fn make(folder: &Path, n: usize) -> Answer<()> {
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let mut random = crate::corpus::Random(7);
    for i in 0..n {
        fs::write(folder.join(format!("{i:05}.jpg")), crate::tfds::image(&mut random)?)?;
    }
    Ok(())
}

/// The JPEG files of a folder, by name.
fn files(folder: &Path) -> Answer<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jpg") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err("the folder has no files *.jpg".into()) } else { Ok(files) }
}

fn measure(folder: &Path, rounds: usize) -> Answer<()> {
    let files = files(folder)?;
    let map = std::env::temp_dir().join(format!("tesson-bench-{}.txt", std::process::id()));
    let lines = files.iter().enumerate().map(|(i, file)| format!("{}\t{}\n", file.display(), i % 10));
    fs::write(&map, lines.collect::<String>())?;
    let scale = json!({"type": "Scale", "width": SIDE, "height": SIDE, "channels": 3});
    let normalized = json!([
        {"type": "Crop", "cropType": "RandomSide", "sideRatio": "0.5:1", "jitterType": "UniRatio", "hflip": true},
        scale,
        {"type": "Normalize", "divisor": 255.0, "mean": "0.4:0.45:0.48", "std": "0.22:0.22:0.23"},
        {"type": "Transpose"},
    ]);
    let ways = [
        ("resized, uint8", json!({"transforms": [scale], "dtype": "uint8"})),
        ("cropped, mirrored, normalized", json!({"transforms": normalized})),
    ];
    for threads in [1, 2] {
        let mut limits = Vec::new();
        let mut results: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
        for _ in 0..rounds {
            limits.push(files.len() as f64 / bare(&files, threads)?);
            for ((_, stream), results) in ways.iter().zip(&mut results) {
                results.push(files.len() as f64 / read(&map, stream, threads)?);
            }
        }
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let of_limit = |rates: &[f64]| round(best(rates) / best(&limits));
        let line = |name: &str, rates: &[f64]| {
            let words = [name, &format!("{threads} threads")];
            let of_limit = of_limit(rates);
            report(
                "images",
                name,
                &words,
                rates.iter().map(|&rate| vec![("images_s", rate), ("of_limit", of_limit)]).collect(),
            );
        };
        line("decoded and resized alone", &limits);
        for ((name, _), rates) in ways.iter().zip(&results) {
            line(name, rates);
        }
    }
    fs::remove_file(map)?;
    Ok(())
}

/// Seconds for a sweep over the images of a map.
fn read(map: &Path, stream: &Value, threads: usize) -> Answer<f64> {
    let config = json!({
        "deserializers": [{
            "type": "ImageDeserializer",
            "file": map,
            "input": {"x": stream, "y": {"labelDim": 10}},
        }],
        "maxSweeps": 1,
        "randomize": false,
        "threads": threads,
    });
    let mut source = open(&config)?;
    // The first minibatch opens threads and reserves memory.
    let first = source.next_minibatch(1)?;
    let start = Instant::now();
    let mut n = 0;
    while let Some(minibatch) = source.next_minibatch(32)? {
        n += minibatch.n_sequences();
        std::hint::black_box(minibatch.streams().len());
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(first);
    Ok(seconds * (n + 1) as f64 / n as f64)
}

/// Seconds for reading, decoding and resizing all files, and nothing else, into memory that is used again.
fn bare(files: &[PathBuf], threads: usize) -> Answer<f64> {
    let start = Instant::now();
    let part = files.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let jobs: Vec<_> = files
            .chunks(part)
            .map(|files| scope.spawn(move || bare_part(files).map_err(|e| e.to_string())))
            .collect();
        jobs.into_iter().try_for_each(|job| job.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    Ok(start.elapsed().as_secs_f64())
}

fn bare_part(files: &[PathBuf]) -> Answer<()> {
    use std::io::Read;
    let (mut file, mut pixels, mut out) = (Vec::new(), Vec::new(), vec![0; SIDE * SIDE * 3]);
    let mut rows = [vec![0; SIDE * 3], vec![0; SIDE * 3]];
    for path in files {
        file.clear();
        fs::File::open(path)?.read_to_end(&mut file)?;
        let mut started = Decompress::new_mem(&file)?;
        started.dct_method(DctMethod::IntegerSlow);
        let mut started = started.to_colorspace(ColorSpace::JCS_EXT_BGR)?;
        let (width, height) = (started.width(), started.height());
        pixels.resize(width * height * 3, 0);
        started.read_scanlines_into::<u8>(&mut pixels)?;
        started.finish()?;
        resize(&pixels, width, height, &mut rows, &mut out);
        std::hint::black_box(&out);
    }
    Ok(())
}

/// Two by two taps with weights of 7 bits: the least that resizing can be.
fn resize(pixels: &[u8], width: usize, height: usize, rows: &mut [Vec<u16>; 2], out: &mut [u8]) {
    let tap = |to: usize, from: usize| {
        let at = ((to as f32 + 0.5) * from as f32 / SIDE as f32 - 0.5).max(0.0);
        let low = (at as usize).min(from - 1);
        (low, (low + 1).min(from - 1), ((at - low as f32) * 128.0) as u16)
    };
    let columns: Vec<_> = (0..SIDE).map(|x| tap(x, width)).collect();
    let mut held = [usize::MAX; 2];
    for (y, out) in out.chunks_exact_mut(SIDE * 3).enumerate() {
        let (top, bottom, weight) = tap(y, height);
        for row in [top, bottom] {
            if held[row % 2] != row {
                held[row % 2] = row;
                let from = &pixels[row * width * 3..][..width * 3];
                for (to, &(a, b, w)) in rows[row % 2].chunks_exact_mut(3).zip(&columns) {
                    let (a, b) = (&from[3 * a..][..3], &from[3 * b..][..3]);
                    to[0] = u16::from(a[0]) * (128 - w) + u16::from(b[0]) * w;
                    to[1] = u16::from(a[1]) * (128 - w) + u16::from(b[1]) * w;
                    to[2] = u16::from(a[2]) * (128 - w) + u16::from(b[2]) * w;
                }
            }
        }
        blend(&rows[top % 2], &rows[bottom % 2], weight, out);
    }
}

#[inline(never)]
fn blend(top: &[u16], bottom: &[u16], weight: u16, out: &mut [u8]) {
    for ((to, &a), &b) in out.iter_mut().zip(top).zip(bottom) {
        *to = ((u32::from(a) * u32::from(128 - weight) + u32::from(b) * u32::from(weight)) >> 14) as u8;
    }
}
