//! Index and decoding of text files, one thread, from memory: `ctf [FILE STREAM:FORMAT:DIM…]`, a JSON line a figure.
//!
//! Without a file, four small corpora are made: dense floats, dense small integers, sparse lines, sequences of short
//! lines.
//!
//! `ctf instructions CORPUS WAY KERNELS ROUNDS` does the work of one figure a number of times, without measuring it, and
//! prints its samples: `cargo xtask instructions` counts what the processor does.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use tesson_core::{
    ByteRun, Chunk, Defects, Deserializer, Element, Fetch, Format, InMemory, Indexed, Kernels, OneCore,
    Options, ReaderDefaults, Scratch, Section, SequenceSelection, Value,
};
use tesson_formats::cbf;
use tesson_formats::ctf::FORMAT;
use tesson_formats::write::{SequenceWriter, StreamSpec};

type Memory = InMemory<Vec<u8>>;

const ONE_CORE: OneCore = OneCore { memory: u64::MAX };

fn main() {
    // Cargo's own arguments begin with a dash.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if let [job, corpus, way, kernels, rounds] = &args[..]
        && job == "instructions"
    {
        return work(corpus, way, kernels, rounds.parse().unwrap());
    }
    match args.split_first() {
        Some((file, streams)) => measure(file, std::fs::read(file).unwrap(), streams),
        None => made(2000).into_iter().for_each(|(name, text, streams)| {
            measure(name, text.into_bytes(), &words(streams));
        }),
    }
}

/// Decodes a small corpus a number of times.
fn work(corpus: &str, way: &str, kernels: &str, rounds: usize) {
    if Kernels::choose(kernels).is_err() {
        return println!("lacks {kernels}");
    }
    let (_, text, streams) = made(40).into_iter().find(|(name, ..)| *name == corpus).unwrap();
    let samples = text.lines().count();
    let memory = InMemory::new(text.into_bytes());
    let mut ctf = open(&words(streams));
    ctf.prepare(&memory).unwrap();
    let (mut scratch, mut chunk) = (Scratch::default(), Chunk::empty());
    match way {
        "in-order" => {
            let pieces = pieces(&*ctf, &memory);
            for _ in 0..rounds {
                decode(&*ctf, &pieces, &memory, &mut scratch, &mut chunk);
            }
        }
        "index" => {
            for _ in 0..rounds {
                ctf.index(&memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
            }
        }
        "chunks" => {
            let indexed = ctf.index(&memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
            for _ in 0..rounds {
                load_all(&indexed, &memory, &mut scratch, &mut chunk);
            }
        }
        "binary" => {
            let memory = binary(&*ctf, &memory, &words(streams));
            let mut cbf = opened(&cbf::FORMAT, []);
            cbf.prepare(&memory).unwrap();
            let indexed = cbf.index(&memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
            for _ in 0..rounds {
                load_all(&indexed, &memory, &mut scratch, &mut chunk);
            }
        }
        _ => panic!("no way {way}"),
    }
    println!("samples {samples}");
}

fn load_all(indexed: &Indexed, memory: &Memory, scratch: &mut Scratch, chunk: &mut Chunk) {
    for c in indexed.index.chunk_ids() {
        let all = SequenceSelection::Range(0..indexed.index.chunk(c).n_sequences);
        indexed.corpus.load(c, all, memory, scratch, chunk).unwrap();
    }
}

/// A binary file of a corpus's sequences.
fn binary(ctf: &dyn Deserializer, memory: &Memory, streams: &[String]) -> Memory {
    let stream = |word: &String| {
        let parts: Vec<&str> = word.split(':').collect();
        StreamSpec {
            name: parts[0].to_string(),
            sparse: parts[1] == "sparse",
            dim: parts[2].parse().ok(),
            element: Element::F32,
            classes: [].into(),
        }
    };
    let streams: Vec<StreamSpec> = streams.iter().map(stream).collect();
    let mut bytes = Vec::new();
    let mut writer = cbf::write::Writer::new(&mut bytes, &streams, 1 << 20).unwrap();
    let indexed = ctf.index(memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
    let (mut scratch, mut chunk) = (Scratch::default(), Chunk::empty());
    for c in indexed.index.chunk_ids() {
        let all = SequenceSelection::Range(0..indexed.index.chunk(c).n_sequences);
        indexed.corpus.load(c, all, memory, &mut scratch, &mut chunk).unwrap();
        writer.append(writer.encoder().encode(&chunk).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    InMemory::new(bytes)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_string).collect()
}

/// The pieces of a megabyte that data in order are decoded by, with their bytes; none if the format has no such way.
fn pieces(ctf: &dyn Deserializer, memory: &Memory) -> Vec<(ByteRun, Vec<u8>)> {
    let Some(decoder) = ctf.streaming() else { return Vec::new() };
    let mut cut: Vec<(ByteRun, Vec<u8>)> = Vec::new();
    let mut bytes = Vec::new();
    while let Some(piece) = decoder.cut(cut.last().map(|(p, _)| *p), 1 << 20, memory, &mut bytes).unwrap() {
        let range = piece.offset..piece.offset + piece.bytes;
        memory.read_after(piece.resource, range, 0, &mut bytes).unwrap();
        cut.push((piece, bytes.clone()));
    }
    cut
}

fn decode(
    ctf: &dyn Deserializer,
    pieces: &[(ByteRun, Vec<u8>)],
    memory: &Memory,
    scratch: &mut Scratch,
    chunk: &mut Chunk,
) {
    let decoder = ctf.streaming().unwrap();
    for (piece, bytes) in pieces {
        decoder.decode(*piece, bytes, memory, scratch, chunk).unwrap();
    }
}

fn measure(name: &str, bytes: Vec<u8>, streams: &[String]) {
    let memory = InMemory::new(bytes);
    let mut ctf = open(streams);
    ctf.prepare(&memory).unwrap();
    let indexed = ctf.index(&memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
    report(name, "index", &memory, || {
        ctf.index(&memory, &ONE_CORE, &mut Defects::Refuse).unwrap();
    });
    let mut scratch = Scratch::default();
    let mut chunk = Chunk::empty();
    let pieces = pieces(&*ctf, &memory);
    if !pieces.is_empty() {
        report(name, "decode pieces of 1 MiB", &memory, || {
            decode(&*ctf, &pieces, &memory, &mut scratch, &mut chunk);
        });
    }
    let chunks: Vec<u32> = indexed.index.chunk_ids().map(|c| indexed.index.chunk(c).n_sequences).collect();
    report(name, "load chunks", &memory, || {
        for (c, &n) in indexed.index.chunk_ids().zip(&chunks) {
            indexed
                .corpus
                .load(c, SequenceSelection::Range(0..n), &memory, &mut scratch, &mut chunk)
                .unwrap();
        }
    });
    let rows: Vec<Vec<u32>> = chunks.iter().map(|&n| (0..n).step_by(2).collect()).collect();
    report(name, "load every second sequence, all bytes counted", &memory, || {
        for (c, rows) in indexed.index.chunk_ids().zip(&rows) {
            indexed.corpus.load(c, SequenceSelection::List(rows), &memory, &mut scratch, &mut chunk).unwrap();
        }
    });
    let held = indexed.index.bytes() + indexed.corpus.facts().memory;
    let n = indexed.index.n_sequences();
    println!(
        "{{\"corpus\":\"{name}\",\"sequences\":{n},\"index_bytes_a_sequence\":{:.3}}}",
        held as f64 / n as f64
    );
}

/// The mean of half a second of rounds, in processor time where the system tells it: neighbours do not count then.
fn report(name: &str, what: &str, memory: &Memory, mut job: impl FnMut()) {
    job();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut rounds = 0;
    let seconds = loop {
        job();
        rounds += 1;
        let wall = start.elapsed().as_secs_f64();
        let seconds = cpu.zip(cpu_seconds()).map_or(wall, |(from, to)| to - from);
        // The system counts in ticks of milliseconds.
        if seconds > 0.5 {
            break seconds / f64::from(rounds);
        }
    };
    let rate = memory.bytes.len() as f64 / seconds / 1e6;
    println!("{{\"corpus\":\"{name}\",\"what\":\"{what}\",\"seconds\":{seconds:.6},\"MB_s\":{rate:.0}}}");
}

/// Time this thread has run.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(stat.split(' ').next()?.parse::<u64>().ok()? as f64 / 1e9)
}

fn open(streams: &[String]) -> Box<dyn Deserializer> {
    let text = |t: &str| Value::Text(t.to_string());
    let input = streams.iter().map(|word| {
        let parts: Vec<&str> = word.split(':').collect();
        let entries = [("format", text(parts[1])), ("dim", text(parts[2]))];
        (parts[0].to_string(), Value::Section(entries.into_iter().collect()))
    });
    opened(&FORMAT, [("input", Value::Section(input.collect()))])
}

fn opened(
    format: &Format,
    options: impl IntoIterator<Item = (&'static str, Value)>,
) -> Box<dyn Deserializer> {
    let file = ("file", Value::Text("bench.ctf".to_string()));
    let section = Section::from_iter(options.into_iter().chain([file]));
    let defaults = ReaderDefaults {
        element: Element::F32,
        frame_mode: false,
        numeric_keys: true,
        cache_index: false,
        forgives: false,
    };
    (format.open)(&Options::new(format.options, &section, "").unwrap(), &defaults).unwrap()
}

/// The corpora: names, texts and streams, the dense ones of so many lines.
fn made(lines: usize) -> Vec<(&'static str, String, &'static str)> {
    use std::fmt::Write;
    let mut state = 1u64;
    let mut draw = move |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let (mut dense, mut small, mut sparse, mut seq) =
        (String::new(), String::new(), String::new(), String::new());
    for _ in 0..lines {
        write!(dense, "|labels {}:1 |features", draw(10)).unwrap();
        write!(small, "|labels {}:1 |features", draw(10)).unwrap();
        for i in 0..784 {
            write!(dense, " {:.5}", draw(4_000_000) as f64 / 1e6 - 2.0).unwrap();
            write!(small, " {}", if i % 28 < 20 { 0 } else { draw(256) }).unwrap();
        }
        dense.push('\n');
        small.push('\n');
    }
    for i in 0..lines * 50 {
        for name in ["|src", "|tgt"] {
            write!(sparse, "{name}").unwrap();
            let mut column = 0;
            for _ in 0..7 {
                column += draw(13_000);
                write!(sparse, " {column}:1").unwrap();
                column += 1;
            }
            sparse.push(if name == "|tgt" { '\n' } else { ' ' });
        }
        for _ in 0..1 + draw(20) {
            writeln!(seq, "{i} |word {}:1 |tag {}:1", draw(50_000), draw(45)).unwrap();
        }
    }
    vec![
        ("dense", dense, "labels:sparse:10 features:dense:784"),
        ("mnist", small, "labels:sparse:10 features:dense:784"),
        ("sparse", sparse, "src:sparse:95589 tgt:sparse:95589"),
        ("seq", seq, "word:sparse:50000 tag:sparse:45"),
    ]
}
