//! Features of speech: how fast archives of frames become minibatches, beside a bare loop that reads and swaps the same bytes,
//! and copies frames around each one.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::{open, report, round};

pub(crate) const USAGE: &str = "
  tesson-bench speech make FOLDER MEGABYTES      write archives of frames of 80 values, big-endian, and their list
  tesson-bench speech measure FOLDER [ROUNDS [WAY]]  reading them on one thread, all ways or one, beside reading and swapping
                                                 alone, in turns
  tesson-bench speech open UTTERANCES            opening a list of so many utterances, alone and with labels as text";

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// Values in a frame.
const DIM: usize = 80;

/// Utterances in an archive.
const IN_ARCHIVE: usize = 200;

/// Frames of an utterance in a list that is only opened.
const FRAMES: u32 = 400;

/// States that frames are labelled with.
const STATES: u32 = 120;

/// Samples of a minibatch.
const SAMPLES: u64 = 4096;

/// Runs a job; false if there is none of this name.
pub(crate) fn run(words: &[&str]) -> Answer<bool> {
    match words {
        ["make", folder, megabytes] => make(Path::new(folder), megabytes.parse()?)?,
        ["measure", folder, rest @ ..] => {
            measure(Path::new(folder), rest.first().map_or(Ok(7), |n| n.parse())?, rest.get(1).copied())?;
        }
        ["open", utterances] => open_list(utterances.parse()?)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The header of a file of `frames` frames of 32-bit floats.
fn header(frames: u32) -> Vec<u8> {
    let numbers = [frames.to_be_bytes(), 100_000u32.to_be_bytes()].concat();
    [numbers, [(4 * DIM as u16).to_be_bytes(), 9u16.to_be_bytes()].concat()].concat()
}

/// Writes archives with fixed contents; an existing folder is left as it is.
pub(crate) fn make(folder: &Path, megabytes: u64) -> Answer<()> {
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let (mut random, mut list, mut written, mut utterance) = (crate::corpus::Random(80), String::new(), 0, 0);
    let mut labels = String::from("#!MLF!#\n");
    for archive in 0.. {
        let path = folder.join(format!("arch{archive:03}.chunk"));
        let mut frames = 0;
        for _ in 0..IN_ARCHIVE {
            let n = 200 + random.below(1001) as u32;
            writeln!(list, "utt{utterance:06}.mfc={}[{frames},{}]", path.display(), frames + n - 1)?;
            label(&format!("utt{utterance:06}"), n, &mut labels);
            (frames, utterance) = (frames + n, utterance + 1);
        }
        let values = (0..frames as usize * DIM).map(|_| random.unit() as f32 - 0.5);
        let mut file = std::io::BufWriter::new(fs::File::create(&path)?);
        file.write_all(&header(frames))?;
        values.map(f32::to_be_bytes).try_for_each(|value| file.write_all(&value))?;
        file.flush()?;
        written += u64::from(frames) * 4 * DIM as u64;
        if written >= megabytes * 1_000_000 {
            break;
        }
    }
    fs::write(folder.join("train.scp"), list)?;
    fs::write(folder.join("train.mlf"), labels)?;
    write_states(folder)?;
    Ok(())
}

fn write_states(folder: &Path) -> std::io::Result<()> {
    fs::write(folder.join("states"), (0..STATES).map(|i| format!("s{i}\n")).collect::<String>())
}

/// Appends the labels of an utterance of so many frames, a state for ten of them each.
fn label(name: &str, frames: u32, labels: &mut String) {
    let _ = writeln!(labels, "\"{name}.lab\"");
    for start in (0..frames).step_by(10) {
        let (end, state) = ((start + 10).min(frames), (start / 10 + frames) % STATES);
        let _ = writeln!(labels, "{start}00000 {end}00000 s{state}");
    }
    labels.push_str(".\n");
}

fn measure(folder: &Path, rounds: usize, way: Option<&str>) -> Answer<()> {
    let mut ways = vec![
        ("utterances", 0, false, json!(false)),
        ("utterances, 11 frames", 5, false, json!(false)),
        ("frames", 0, true, json!(false)),
        ("frames, 11 frames", 5, true, json!(false)),
        ("utterances, randomized", 0, false, json!(true)),
        ("frames, randomized", 0, true, json!(true)),
    ];
    ways.retain(|(name, ..)| way.is_none_or(|way| way == *name));
    let (mut limits, mut results) = ([Vec::new(), Vec::new()], vec![Vec::new(); ways.len()]);
    for _ in 0..rounds {
        limits[0].push(bare(folder, 0)?);
        limits[1].push(bare(folder, 5)?);
        for ((_, side, by_frame, randomize), results) in ways.iter().zip(&mut results) {
            let config = config(folder, *side, *by_frame, randomize);
            let start = Instant::now();
            let mut source = open(&config)?;
            let mut samples = 0;
            while let Some(minibatch) = source.next_minibatch(SAMPLES)? {
                samples += minibatch.streams()[0].n_samples();
            }
            drop(source);
            results.push(samples as f64 / start.elapsed().as_secs_f64());
        }
    }
    let best = limits.each_ref().map(|rates| rates.iter().copied().fold(0.0, f64::max));
    let line = |name: &str, rates: &[f64], best: f64| {
        let figures = |&rate: &f64| vec![("frames_s", round(rate)), ("of_limit", round(rate / best))];
        report("speech", name, &[name, "1 thread"], rates.iter().map(figures).collect());
    };
    line("read and swapped alone", &limits[0], best[0]);
    line("the same, 11 frames a sample", &limits[1], best[1]);
    for ((name, side, ..), rates) in ways.iter().zip(&results) {
        line(name, rates, best[usize::from(*side > 0)]);
    }
    Ok(())
}

/// Reading the archives with the labels of their frames.
pub(crate) fn labelled(folder: &Path, by_frame: bool, randomize: &Value) -> Value {
    let mut config = config(folder, 0, by_frame, randomize);
    let labels = labels_config(&folder.join("train.mlf"), folder);
    config["deserializers"].as_array_mut().expect("a list").push(labels);
    config
}

/// Reading the archives, with so many frames on either side of each.
pub(crate) fn config(folder: &Path, side: usize, by_frame: bool, randomize: &Value) -> Value {
    json!({
        "deserializers": [{"type": "HTKFeatureDeserializer", "input": {"x": {
            "scpFile": folder.join("train.scp"), "dim": DIM, "contextWindow": [side, side],
        }}}],
        "frameMode": by_frame, "randomize": randomize, "randomizationWindow": 8,
        "maxSweeps": 1, "threads": 1,
    })
}

/// The frames a second of a bare loop that reads all archives in pieces, turns their bytes into numbers, and writes
/// each frame with `side` frames on either side.
fn bare(folder: &Path, side: usize) -> Answer<f64> {
    let (start, mut frames) = (Instant::now(), 0);
    let (mut bytes, mut values) = (vec![0; SAMPLES as usize * 4 * DIM], vec![0f32; SAMPLES as usize * DIM]);
    let mut samples: Vec<f32> = Vec::with_capacity(SAMPLES as usize * DIM * (2 * side + 1));
    let mut archives: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        archives.extend(Some(path).filter(|path| path.extension().is_some_and(|e| e == "chunk")));
    }
    for path in archives {
        let mut file = fs::File::open(path)?;
        file.read_exact(&mut [0; 12])?;
        loop {
            let mut n = 0;
            while n < bytes.len() {
                match file.read(&mut bytes[n..])? {
                    0 => break,
                    more => n += more,
                }
            }
            for (value, four) in values.iter_mut().zip(bytes[..n].as_chunks::<4>().0) {
                *value = f32::from_be_bytes(*four);
            }
            let (read, last) = (n / (4 * DIM), (n / (4 * DIM)).saturating_sub(1));
            if side > 0 {
                samples.clear();
                for t in 0..read {
                    let (from, to) = (t.saturating_sub(side), (t + side).min(last));
                    (t..side).for_each(|_| samples.extend_from_slice(&values[..DIM]));
                    samples.extend_from_slice(&values[from * DIM..(to + 1) * DIM]);
                    (to..t + side).for_each(|_| samples.extend_from_slice(&values[last * DIM..][..DIM]));
                }
            }
            std::hint::black_box((&values, &samples));
            frames += read;
            if n < bytes.len() {
                break;
            }
        }
    }
    Ok(frames as f64 / start.elapsed().as_secs_f64())
}

/// The deserializer of labels, whose states are listed in a folder.
fn labels_config(file: &Path, folder: &Path) -> Value {
    json!({"type": "HTKMLFDeserializer", "input": {"y": {
        "mlfFile": file, "labelMappingFile": folder.join("states"), "dim": STATES}}})
}

/// Opening a list of utterances, each a range in one of a few archives; then with their labels, forty lines of text each.
fn open_list(utterances: usize) -> Answer<()> {
    let folder = std::env::temp_dir().join(format!("tesson-bench-speech-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let archive = |i: usize| folder.join(format!("{}.htk", i / 1000));
    let key = |i: usize| format!("speaker{}/utt{i:07}", i % 99);
    let lines =
        (0..utterances).map(|i| format!("{}.mfc={}[0,{}]\n", key(i), archive(i).display(), FRAMES - 1));
    fs::write(folder.join("l.scp"), lines.collect::<String>())?;
    fs::write(archive(0), [header(FRAMES), vec![0; FRAMES as usize * 4 * DIM]].concat())?;
    let mut labels = std::io::BufWriter::new(fs::File::create(folder.join("l.mlf"))?);
    labels.write_all(b"#!MLF!#\n")?;
    let mut text = String::new();
    for i in 0..utterances {
        text.clear();
        label(&key(i), FRAMES, &mut text);
        labels.write_all(text.as_bytes())?;
    }
    labels.flush()?;
    write_states(&folder)?;
    let features = json!({"type": "HTKFeatureDeserializer",
        "input": {"x": {"scpFile": folder.join("l.scp"), "dim": DIM}}});
    let labels = labels_config(&folder.join("l.mlf"), &folder);
    for (name, deserializers) in
        [("open", json!([features])), ("open with labels", json!([features, labels]))]
    {
        let config =
            json!({"deserializers": deserializers, "randomize": false, "maxSweeps": 1, "threads": 1});
        let mut results = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            let mut source = open(&config)?;
            let indexed = source.indexed()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            let bytes = indexed.index.bytes() + indexed.corpus.facts().memory;
            results.push(vec![("ms", ms), ("bytes_an_utterance", bytes as f64 / utterances as f64)]);
        }
        report("speech", name, &["open", &utterances.to_string()], results);
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}
