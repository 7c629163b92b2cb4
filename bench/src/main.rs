//! Benchmarks of Tesson; `bench/README.md` says how to run them. Prints one JSON line a measurement.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)]

mod convert;
mod corpus;
mod images;
mod profile;
mod speech;
mod tables;
mod tfds;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use corpus::Kind;
use serde_json::{Value, json};
use tesson::{Demand, Source};

const USAGE: &str = "usage:
  tesson-bench corpus KIND MEGABYTES FILE        write a corpus (KIND: dense, mnist, sparse, seq); FILE.cbf is binary, made of FILE.ctf
  tesson-bench limit FILE [ROUNDS]               bare reads of the file in pieces, into one buffer
  tesson-bench read KIND FILE [OPTIONS]          all minibatches of a sweep (or more), MB of the file a second; FILE.cbf is binary
  tesson-bench first KIND FILE [OPTIONS]         opening and the first minibatch, milliseconds
  tesson-bench step KIND FILE [OPTIONS]          minibatches of one sequence, microseconds each
  tesson-bench convert KIND FILE OUT [OPTIONS]   reading FILE, converting it to OUT, writing as many bytes there, in turns
options: --randomize window|global  --window CHUNKS  --threads N  --rounds N  --minibatch N  --sweeps N  --memory-limit BYTES  --cache  --mmap";

#[derive(Clone)]
struct Options {
    randomize: Option<String>,
    window: Option<u64>,
    threads: u64,
    rounds: usize,
    minibatch: u64,
    sweeps: u64,
    memory_limit: Option<u64>,
    cache: bool,
    mmap: bool,
}

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["corpus", kind, megabytes, file] => {
            let (kind, file) = (Kind::parse(kind).ok_or(USAGE)?, Path::new(file));
            let is_binary = file.extension().is_some_and(|extension| extension == "cbf");
            let text = if is_binary { file.with_extension("ctf") } else { file.to_owned() };
            if !is_binary || !text.exists() {
                corpus::write(kind, megabytes.parse()?, &text)?;
            }
            if is_binary {
                convert::write_binary(&config(kind, &text.to_string_lossy(), &parse(&[])?), file)?;
            }
        }
        ["limit", file, rest @ ..] => limit(Path::new(file), rest.first().map_or(Ok(5), |n| n.parse())?)?,
        [what @ ("read" | "first" | "step"), kind, file, rest @ ..] => {
            let options = parse(rest)?;
            let config = config(Kind::parse(kind).ok_or(USAGE)?, file, &options);
            let measure = match *what {
                "read" => read,
                "first" => first,
                _ => step,
            };
            let mut results = Vec::new();
            for _ in 0..options.rounds {
                results.push(measure(&config, &options, std::fs::metadata(file)?.len())?);
            }
            report(what, kind, &words, results);
        }
        ["convert", kind, file, output, rest @ ..] => {
            let options = parse(rest)?;
            let config = config(Kind::parse(kind).ok_or(USAGE)?, file, &options);
            let bytes = std::fs::metadata(file)?.len();
            let round = |_| convert::round(&config, &options, bytes, Path::new(output));
            report("convert", kind, &words, (0..options.rounds).map(round).collect::<Result<_, _>>()?);
        }
        words if profile::run(words, parse)? => {}
        ["tfds", rest @ ..] if tfds::run(rest)? => {}
        ["images", rest @ ..] if images::run(rest)? => {}
        ["speech", rest @ ..] if speech::run(rest)? => {}
        ["tables", rest @ ..] if tables::run(rest)? => {}
        _ => {
            let parts = [
                ("prepared datasets", tfds::USAGE),
                ("pictures", images::USAGE),
                ("speech", speech::USAGE),
                ("where the time goes", profile::USAGE),
                ("tables", tables::USAGE),
            ];
            let parts = parts.map(|(what, usage)| format!("\n{what}:{usage}"));
            let usage = format!("{USAGE}{}", parts.concat());
            return Err(usage.into());
        }
    }
    Ok(())
}

fn parse(words: &[&str]) -> Result<Options, Box<dyn std::error::Error>> {
    let mut options = Options {
        randomize: None,
        window: None,
        threads: 0,
        rounds: 5,
        minibatch: 256,
        sweeps: 1,
        memory_limit: None,
        cache: false,
        mmap: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or(format!("{word} needs a value"));
        match *word {
            "--randomize" => options.randomize = Some(value()?.to_string()),
            "--window" => options.window = Some(value()?.parse()?),
            "--threads" => options.threads = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            "--minibatch" => options.minibatch = value()?.parse()?,
            "--sweeps" => options.sweeps = value()?.parse()?,
            "--memory-limit" => options.memory_limit = Some(value()?.parse()?),
            "--cache" => options.cache = true,
            "--mmap" => options.mmap = true,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

fn config(kind: Kind, file: &str, options: &Options) -> Value {
    let deserializer = if file.ends_with(".cbf") {
        // The file itself declares its streams.
        json!({"type": "CNTKBinaryFormatDeserializer", "file": file})
    } else {
        json!({
            "type": "CNTKTextFormatDeserializer",
            "file": file,
            "input": kind.input(),
            "cacheIndex": options.cache,
        })
    };
    let mut config = json!({
        "deserializers": [deserializer],
        "maxSweeps": options.sweeps,
        "threads": options.threads,
        "store": if options.mmap { "mmap" } else { "file" },
    });
    config["randomize"] = match options.randomize.as_deref() {
        None => json!(false),
        Some("window") => json!(true),
        Some(other) => json!(other),
    };
    if let Some(chunks) = options.window {
        config["randomizationWindow"] = json!(chunks);
    }
    if let Some(limit) = options.memory_limit {
        config["memoryLimit"] = json!(limit);
    }
    config
}

pub(crate) fn open(config: &Value) -> Result<Source, tesson::Error> {
    tesson::open(&tesson::config::from_json(&config.to_string())?)
}

type Measured = Result<Vec<(&'static str, f64)>, Box<dyn std::error::Error>>;

/// Whole sweeps, end to end: opening, all minibatches packed, every value within reach.
fn read(config: &Value, options: &Options, bytes: u64) -> Measured {
    let (start, processor) = (Instant::now(), processor_seconds());
    let mut source = open(config)?;
    let demand = Demand { samples: options.minibatch, workers: 1, rank: 0 };
    let (mut sequences, mut samples) = (0, 0);
    while let Some(minibatch) = source.next(demand)? {
        sequences += minibatch.n_sequences();
        samples += minibatch.streams()[0].n_samples();
    }
    let (stats, seconds) = (source.stats(), start.elapsed().as_secs_f64());
    // Ending its threads and giving its memory back is part of the work.
    drop(source);
    let mb = (bytes * options.sweeps) as f64 / 1e6;
    Ok(vec![
        ("MB_s", mb / seconds),
        ("MB_processor_s", mb / (processor_seconds() - processor)),
        ("sequences_s", sequences as f64 / seconds),
        ("samples_s", samples as f64 / seconds),
        ("peak_rss_MB", peak_rss()),
        ("rows_loaded", stats.rows_loaded as f64),
        ("blocks_loaded", stats.blocks_loaded as f64),
    ])
}

/// Opening and the first minibatch.
fn first(config: &Value, options: &Options, _: u64) -> Measured {
    let start = Instant::now();
    let mut source = open(config)?;
    let opened = start.elapsed().as_secs_f64();
    source.next_minibatch(options.minibatch)?;
    Ok(vec![("ms", start.elapsed().as_secs_f64() * 1e3), ("open_ms", opened * 1e3)])
}

/// Minibatches of one sequence, after a warm-up.
fn step(config: &Value, _: &Options, _: u64) -> Measured {
    const STEPS: u32 = 20_000;
    let mut source = open(config)?;
    for _ in 0..1000 {
        source.next_minibatch(1)?;
    }
    let start = Instant::now();
    for _ in 0..STEPS {
        source.next_minibatch(1)?;
    }
    Ok(vec![("us", start.elapsed().as_secs_f64() * 1e6 / f64::from(STEPS))])
}

/// Measures reading alone.
fn limit(file: &Path, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Read;
    let mut buffer = vec![0; 512 << 10];
    let mut results = Vec::new();
    for _ in 0..rounds {
        let mut input = std::fs::File::open(file)?;
        let (start, mut bytes) = (Instant::now(), 0);
        loop {
            match input.read(&mut buffer)? {
                0 => break,
                n => bytes += n,
            }
        }
        results.push(vec![("MB_s", bytes as f64 / start.elapsed().as_secs_f64() / 1e6)]);
    }
    report("limit", "read", &[], results);
    Ok(())
}

/// Median and best of each figure.
pub(crate) fn report(what: &str, kind: &str, words: &[&str], results: Vec<Vec<(&'static str, f64)>>) {
    let mut line = json!({"what": what, "kind": kind, "command": words.join(" "), "rounds": results.len()});
    for (i, (name, _)) in results[0].iter().enumerate() {
        let mut values: Vec<f64> = results.iter().map(|r| r[i].1).collect();
        values.sort_by(f64::total_cmp);
        line[*name] = json!({"median": round(values[values.len() / 2]), "min": round(values[0]), "max": round(values[values.len() - 1])});
    }
    println!("{line}");
}

pub(crate) fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

/// Processor time of all threads of this process so far.
pub(crate) fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Peak resident memory of this process, in million bytes; 0 if the system does not report it.
pub(crate) fn peak_rss() -> f64 {
    let status = std::fs::read_to_string(PathBuf::from("/proc/self/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kib| kib * 1024.0 / 1e6)
}
