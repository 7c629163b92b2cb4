//! Where the time of a row goes: the passes of the benchmarks under `perf`, whose samples are sorted by what the sampled
//! function does, or else their instructions under valgrind, and the counters that a source has without either.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tesson::{Demand, Stats};

use crate::corpus::Kind;
use crate::{Options, config, convert, corpus, open, speech};

pub(crate) const USAGE: &str = "
  tesson-bench profile ROW FOLDER [OPTIONS]      where the time of a row goes, as a table; corpora are written to the folder. ROW: dense,
                                                 mnist, sparse, seq, the same with .cbf, utterances, context (11 frames each), frames,
                                                 labelled (frames), or all of them in order and in windows
  tesson-bench pass ROW FOLDER [OPTIONS]         the passes alone, to be watched by another program";

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

/// Size of each corpus, in million bytes.
const MEGABYTES: u64 = 50;

/// Samples of a second.
const FREQUENCY: &str = "4999";

/// Functions of a row that are named.
const NAMED: usize = 12;

const ROWS: [&str; 12] = [
    "dense",
    "mnist",
    "sparse",
    "seq",
    "dense.cbf",
    "mnist.cbf",
    "sparse.cbf",
    "seq.cbf",
    "utterances",
    "context",
    "frames",
    "labelled",
];

/// Purposes of functions, each with parts of their names. The first that fits counts; a function that the compiler has put into
/// its caller counts as that one.
const IN_KERNEL: [(&str, &[&str]); 3] = [
    ("reading", &["copy_to", "copy_page_to", "filemap", "movs", "read", "page_cache"]),
    (
        "memory",
        &[
            "fault",
            "clear_",
            "page",
            "folio",
            "zap",
            "map",
            "vma",
            "mm_",
            "mem_cgroup",
            "lru",
            "rmqueue",
            "tlb",
        ],
    ),
    ("waking", &["futex", "sched", "switch", "wake", "spin", "timer", "idle"]),
];
const IN_PROGRAM: [(&str, &[&str]); 8] = [
    ("copying", &["memcpy", "memmove", "memset"]),
    ("allocation", &["malloc", "free", "calloc", "realloc", "alloc::", "arena", "sysmalloc"]),
    ("packing", &["tesson_memory", "tesson_engine::pack", "sample_values", "batch_keys"]),
    ("planning", &["tesson_plan", "deliver::plan", "deliver::planning"]),
    ("decoding", &["tesson_formats", "tesson_core"]),
    ("transforms", &["tesson_engine::transform"]),
    ("engine", &["tesson_engine", "tesson::"]),
    ("locks", &["futex", "mutex", "condvar", "pthread", "syscall"]),
];
const REST: &str = "rest";

/// Runs a job; false if there is none of this name.
pub(crate) fn run(words: &[&str], options: impl Fn(&[&str]) -> Answer<Options>) -> Answer<bool> {
    match words {
        ["profile", "all", folder, rest @ ..] => {
            for row in ROWS {
                let row_alone = [&["profile", row, folder], rest].concat();
                profile(row, Path::new(folder), &options(rest)?, &row_alone)?;
                let in_windows = [rest, &["--randomize", "window"]].concat();
                let row_alone = [&["profile", row, folder], &in_windows[..]].concat();
                profile(row, Path::new(folder), &options(&in_windows)?, &row_alone)?;
            }
        }
        ["profile", row, folder, rest @ ..] => profile(row, Path::new(folder), &options(rest)?, words)?,
        ["pass", row, folder, rest @ ..] => {
            let options = options(rest)?;
            let config = row_config(row, Path::new(folder), &options)?;
            for _ in 0..options.rounds {
                pass(&config, &options)?;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The configuration of a row. Writes its corpus first if there is none.
fn row_config(row: &str, folder: &Path, options: &Options) -> Answer<Value> {
    std::fs::create_dir_all(folder)?;
    if let "utterances" | "context" | "frames" | "labelled" = row {
        let archives = folder.join("speech");
        speech::make(&archives, MEGABYTES)?;
        let randomize = json!(options.randomize.is_some());
        let mut config = match row {
            "context" => speech::config(&archives, 5, false, &randomize),
            "labelled" => speech::labelled(&archives, true, &randomize),
            _ => speech::config(&archives, 0, row == "frames", &randomize),
        };
        config["threads"] = json!(options.threads);
        config["maxSweeps"] = json!(options.sweeps);
        return Ok(config);
    }
    let (name, is_binary) = row.strip_suffix(".cbf").map_or((row, false), |name| (name, true));
    let kind = Kind::parse(name).ok_or(USAGE)?;
    let text = folder.join(format!("{name}.ctf"));
    if !text.exists() {
        corpus::write(kind, MEGABYTES, &text)?;
    }
    if !is_binary {
        return Ok(config(kind, &text.to_string_lossy(), options));
    }
    let binary = folder.join(row);
    if !binary.exists() {
        let in_order = Options { randomize: None, sweeps: 1, ..options.clone() };
        convert::write_binary(&config(kind, &text.to_string_lossy(), &in_order), &binary)?;
    }
    Ok(config(kind, &binary.to_string_lossy(), options))
}

/// Figures of a pass.
struct Pass {
    opening: f64,
    seconds: f64,
    faults: u64,
    stats: Stats,
}

/// Opening and all minibatches.
fn pass(config: &Value, options: &Options) -> Answer<Pass> {
    let (start, faults) = (Instant::now(), page_faults());
    let mut source = open(config)?;
    let demand = Demand { samples: options.minibatch, workers: 1, rank: 0 };
    let mut opening = None;
    while source.next(demand)?.is_some() {
        opening.get_or_insert_with(|| start.elapsed().as_secs_f64());
    }
    let stats = source.stats();
    drop(source);
    let (seconds, faults) = (start.elapsed().as_secs_f64(), page_faults() - faults);
    Ok(Pass { opening: opening.unwrap_or(seconds), seconds, faults, stats })
}

/// Prints the table of a row.
fn profile(row: &str, folder: &Path, options: &Options, words: &[&str]) -> Answer<()> {
    let config = row_config(row, folder, options)?;
    let mut passes = (0..options.rounds).map(|_| pass(&config, options)).collect::<Answer<Vec<Pass>>>()?;
    passes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let Pass { opening, seconds, faults, stats } = &passes[passes.len() / 2];
    println!("\n## `tesson-bench {}`\n", words.join(" "));
    println!(
        "The median of {} passes: {:.1} ms for {} minibatches of {} sequences and {} samples; {:.2} ms to the first; {} waits of {:.1} ms \
         in all; {faults} page faults; {} blocks and {} single sequences loaded.\n",
        passes.len(),
        seconds * 1e3,
        stats.minibatches,
        stats.sequences,
        stats.samples,
        opening * 1e3,
        stats.stalls,
        stats.stalled_us as f64 / 1e3,
        stats.blocks_loaded,
        stats.rows_loaded,
    );
    match sampled(folder, words) {
        Ok(samples) => print!("{}", tables(&samples, "samples")),
        Err(why) => {
            println!(
                "No samples: {why}. Instructions of one pass instead, which know no AVX-512, no kernel, no waiting:\n"
            );
            match counted(folder, words) {
                Ok(counts) => print!("{}", tables(&counts, "instructions")),
                Err(why) => println!("By function: left out, {why}."),
            }
        }
    }
    Ok(())
}

/// Instructions of one of the passes in a process of its own, by function.
fn counted(folder: &Path, words: &[&str]) -> Answer<Vec<Sample>> {
    let data = folder.join("callgrind.out");
    let mut passes = Command::new("valgrind");
    passes.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", data.display()));
    passes.arg(std::env::current_exe()?).arg("pass").args(&words[1..]).args(["--rounds", "1"]);
    let output = passes.output().map_err(|e| format!("`valgrind` does not start: {e}"))?;
    if !output.status.success() {
        return Err(format!("`valgrind` failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    let output =
        Command::new("callgrind_annotate").args(["--auto=no", "--threshold=100"]).arg(&data).output()?;
    std::fs::remove_file(&data)?;
    let counts: Vec<Sample> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(Sample::of_callgrind).collect();
    if counts.is_empty() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("`callgrind_annotate` names no function: {why}").into());
    }
    Ok(counts)
}

/// Samples of the same passes in a process of their own, by function.
fn sampled(folder: &Path, words: &[&str]) -> Answer<Vec<Sample>> {
    let data: PathBuf = folder.join("perf.data");
    let mut passes = Command::new("perf");
    passes.args(["record", "--quiet", "--event", "cpu-clock", "--freq", FREQUENCY, "--output"]).arg(&data);
    passes.arg("--").arg(std::env::current_exe()?).arg("pass").args(&words[1..]);
    let output = passes.output().map_err(|e| format!("`perf` does not start: {e}"))?;
    if !output.status.success() {
        return Err(
            format!("`perf record` failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    let mut report = Command::new("perf");
    report.args([
        "report",
        "--stdio",
        "--quiet",
        "--fields",
        "sample,sym",
        "--field-separator",
        "\t",
        "--input",
    ]);
    let output = report.arg(&data).output()?;
    std::fs::remove_file(&data)?;
    let samples: Vec<Sample> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(Sample::parse).collect();
    if samples.is_empty() {
        return Err(
            format!("`perf report` has none: {}", String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    Ok(samples)
}

/// Samples or instructions of a function.
#[derive(Debug, PartialEq)]
struct Sample {
    count: u64,
    in_kernel: bool,
    function: String,
}

impl Sample {
    /// A line of the report: a count, a mark, and the function.
    fn parse(line: &str) -> Option<Sample> {
        let (count, function) = line.trim().split_once('\t')?;
        let (mark, function) = function.trim().split_once(' ')?;
        Some(Sample {
            count: count.trim().parse().ok()?,
            in_kernel: mark == "[k]",
            function: function.trim().to_owned(),
        })
    }

    /// A line of valgrind's list: a count and its share, and the function behind its file, with its library.
    fn of_callgrind(line: &str) -> Option<Sample> {
        let (count, rest) = line.trim().split_once(" (")?;
        let count = count.replace(',', "").parse().ok()?;
        let (_, function) = rest.split_once(")  ")?;
        // The totals of the program have no file in front.
        let (_, function) = function.split_once(':')?;
        let function = match function.rfind(" [").filter(|_| function.ends_with(']')) {
            Some(library) => &function[..library],
            None => function,
        };
        Some(Sample { count, in_kernel: false, function: function.to_owned() })
    }

    fn purpose(&self) -> &'static str {
        let all: &[(&'static str, &[&str])] = if self.in_kernel { &IN_KERNEL } else { &IN_PROGRAM };
        let fits = |(_, parts): &&(&str, &[&str])| parts.iter().any(|part| self.function.contains(part));
        all.iter().find(fits).map_or(REST, |(purpose, _)| purpose)
    }
}

/// A table of what samples or instructions are for, and one of their functions.
fn tables(samples: &[Sample], counted: &str) -> String {
    let all: u64 = samples.iter().map(|sample| sample.count).sum();
    let share = |count: u64| count as f64 * 100.0 / all as f64;
    let purposes = summed(samples, |sample| (sample.in_kernel, sample.purpose()));
    let mut text = format!("| {all} {counted} | % |\n|---|---|\n");
    for ((in_kernel, purpose), count) in purposes {
        let place = if in_kernel { "kernel: " } else { "" };
        let _ = writeln!(text, "| {place}{purpose} | {:.1} |", share(count));
    }
    let _ = writeln!(text, "\n| function | % |\n|---|---|");
    // Valgrind counts a function for each file that what is inlined in it comes from.
    for (function, count) in summed(samples, |sample| &sample.function).into_iter().take(NAMED) {
        let _ = writeln!(text, "| `{function}` | {:.1} |", share(count));
    }
    text
}

/// The counts of samples that are alike, added up, the most first.
fn summed<'a, K: Ord>(samples: &'a [Sample], key: impl Fn(&'a Sample) -> K) -> Vec<(K, u64)> {
    let mut counts = BTreeMap::new();
    for sample in samples {
        *counts.entry(key(sample)).or_insert(0) += sample.count;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Page faults of this process so far that needed no disk; 0 where the system does not say.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold anything; it ends with the last bracket.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    fields.split_whitespace().nth(7).and_then(|faults| faults.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_sorted_by_what_their_functions_are_for() {
        let sample = |line| Sample::parse(line).expect("a count, a mark and a name");
        let purposes = [
            ("   12\t[k] _copy_to_iter", "reading"),
            ("1\t[k] clear_page_erms", "memory"),
            ("1\t[.] __memmove_avx512_unaligned_erms", "copying"),
            ("1\t[.] tesson_formats::ctf::parse::line", "decoding"),
            ("1\t[.] tesson_engine::pack::sequence::append", "packing"),
            ("1\t[.] <tesson_plan::planner::Planner>::next_batch", "planning"),
            ("1\t[.] main", REST),
        ];
        for (line, purpose) in purposes {
            assert_eq!(sample(line).purpose(), purpose, "{line}");
        }
        assert_eq!(
            sample(purposes[0].0),
            Sample { count: 12, in_kernel: true, function: "_copy_to_iter".into() }
        );
        assert_eq!(Sample::parse("# Total Lost Samples: 0"), None);
    }

    #[test]
    fn instructions_are_read_from_the_list_of_valgrind() {
        let line = "12,345 ( 6.52%)  /rustc/x/core.rs:<[u8]>::copy::<tesson_plan::Slot> [/opt/tesson-bench]";
        let expected =
            Sample { count: 12_345, in_kernel: false, function: "<[u8]>::copy::<tesson_plan::Slot>".into() };
        assert_eq!(Sample::of_callgrind(line), Some(expected));
        assert_eq!(
            Sample::of_callgrind("  7 ( 0.1%)  ???:main").map(|sample| sample.function),
            Some("main".into())
        );
        for line in ["126,679 (100.0%)  PROGRAM TOTALS", "Ir               file:function", ""] {
            assert_eq!(Sample::of_callgrind(line), None, "{line}");
        }
    }

    #[test]
    fn shares_are_of_all_samples() {
        let samples = ["6\t[k] _copy_to_iter", "1\t[.] memcpy", "1\t[.] memcpy"]
            .map(|line| Sample::parse(line).expect("a sample"));
        let text = tables(&samples, "samples");
        assert!(text.contains("| kernel: reading | 75.0 |") && text.contains("| copying | 25.0 |"), "{text}");
        assert!(text.contains("| `memcpy` | 25.0 |"), "{text}");
    }
}
