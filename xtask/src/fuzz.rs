//! `cargo xtask fuzz`: fuzzes targets one after the other, a line for each and a summary.
//!
//! The installed compiler is enough: coverage is stable, and `RUSTC_BOOTSTRAP` permits the rest. A sanitizer is left out, so that all
//! machines find the same: unsafe code is Miri's to check, and the C libraries would not be instrumented.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{has_cargo_command, output, program, root, target};

/// The seconds for each target by default.
const SECONDS: u64 = 60;

/// The most seconds for one input; one that takes longer is a finding.
const LONGEST_INPUT: u64 = 20;

/// Fuzzes one target or all, each for the given seconds, with as many targets at once as cores.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let all = all_targets();
    let (targets, seconds) = match chosen(arguments, &all) {
        Ok(chosen) => chosen,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    if !has_cargo_command("fuzz") {
        eprintln!("cargo-fuzz is missing; install it with: cargo install cargo-fuzz --locked");
        return ExitCode::from(2);
    }
    // Building all targets at once is faster than each in turn, and shows build errors before hours have passed.
    let only = if let [one] = targets { Some(one.as_str()) } else { None };
    // Without the limit that tests have: on a busy machine a build of all targets takes longer.
    if !cargo_fuzz("build").args(only).status().is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    let runs = fuzz_all(targets, seconds);
    println!("\nSummary");
    targets.iter().zip(&runs).for_each(|(target, run)| println!("{target:20} {}", run.shown()));
    let failed = runs.iter().filter(|run| !run.success).count();
    println!("{} targets, {failed} failed", runs.len());
    ExitCode::from(u8::from(failed > 0))
}

/// Fuzzes the targets, one a core, and returns their runs in the order of the targets.
fn fuzz_all(targets: &[String], seconds: u64) -> Vec<Run> {
    let cores = thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut runs = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(at) else { return runs };
            println!("[{}/{}] {target}: {seconds} s", at + 1, targets.len());
            let run = fuzz(target, seconds);
            println!("[{}/{}] {target}: {}", at + 1, targets.len(), run.shown());
            runs.push((at, run));
        }
    };
    let mut runs: Vec<(usize, Run)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().expect("a worker does not panic"));
        joined.flatten().collect()
    });
    runs.sort_by_key(|(at, _)| *at);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The requested targets and seconds: `[TARGET] [SECONDS]`.
fn chosen<'a>(arguments: &[String], all: &'a [String]) -> Result<(&'a [String], u64), String> {
    let (seconds, names) = match arguments.split_last().map(|(last, rest)| (last.parse(), rest)) {
        Some((Ok(seconds), rest)) => (seconds, rest),
        _ => (SECONDS, arguments),
    };
    match names {
        [] => Ok((all, seconds)),
        [name] => match all.iter().position(|target| target == name) {
            Some(at) => Ok((&all[at..=at], seconds)),
            None => Err(format!("no target `{name}`, expected one of: {}", all.join(", "))),
        },
        _ => Err("expected: cargo xtask fuzz [TARGET] [SECONDS]".into()),
    }
}

/// The targets by name: each is a file.
fn all_targets() -> Vec<String> {
    let files = std::fs::read_dir(root().join("fuzz/fuzz_targets")).into_iter().flatten().flatten();
    let name = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut targets: Vec<String> = files.filter_map(|file| name(&file.path())).collect();
    targets.sort();
    targets
}

fn cargo_fuzz(job: &str) -> Command {
    let mut command = program("cargo");
    command.args(["fuzz", job, "--sanitizer", "none"]).env("RUSTC_BOOTSTRAP", "1");
    command
}

/// The result of fuzzing a target.
struct Run {
    success: bool,
    executions: u64,
    took: Duration,
    /// The input that failed, or a slow one.
    find: Option<String>,
    output: String,
}

impl Run {
    fn shown(&self) -> String {
        let seconds = self.took.as_secs_f64();
        let rate = self.executions as f64 / seconds.max(1.0);
        let end = match (&self.find, self.success) {
            (None, true) => "ok".into(),
            // Written by a run that goes on: the slowest input so far, below the limit.
            (Some(slow), true) => format!("ok, slow: {slow}"),
            (Some(find), false) => format!("FAIL {find}"),
            (None, false) => "FAIL".into(),
        };
        format!("{} executions in {seconds:.0} s, {rate:.0} a second, {end}", self.executions)
    }
}

fn fuzz(target: &str, seconds: u64) -> Run {
    // Inputs that the run finds are kept beside the build output: the committed corpus has only chosen inputs.
    let kept = kept_corpus(target);
    let begin = Instant::now();
    let mut command = cargo_fuzz("run");
    // Some targets write files, in memory if the system has a folder for that.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        command.env("TMPDIR", memory);
    }
    command.arg(target).arg(&kept).arg(Path::new("fuzz/corpus").join(target)).arg("--").args([
        format!("-max_total_time={seconds}"),
        format!("-timeout={LONGEST_INPUT}"),
        "-print_final_stats=1".into(),
    ]);
    let (success, output) = match std::fs::create_dir_all(&kept) {
        Ok(()) => output(&mut command),
        Err(e) => (false, format!("{}: {e}", kept.display())),
    };
    let run = Run {
        success,
        executions: value_of(&output, "stat::number_of_executed_units:")
            .and_then(|n| n.parse().ok())
            .unwrap_or(0),
        took: begin.elapsed(),
        find: value_of(&output, "Test unit written to").map(str::to_owned),
        output,
    };
    if !run.success {
        let lines: Vec<&str> = run.output.lines().collect();
        lines[lines.len().saturating_sub(60)..].iter().for_each(|line| println!("{line}"));
    }
    run
}

fn kept_corpus(name: &str) -> PathBuf {
    target().join("fuzz-corpus").join(name)
}

/// The last word of the last line that says this.
fn value_of<'a>(output: &'a str, what: &str) -> Option<&'a str> {
    output.lines().rev().find(|line| line.contains(what))?.split_whitespace().last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_seconds_can_be_left_out() {
        let all = ["a".to_owned(), "b".to_owned()];
        let check = |arguments: &[&str], targets: &[&str], seconds| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let (found, found_seconds) = chosen(&arguments, &all).unwrap();
            assert_eq!(
                (found, found_seconds),
                (&targets.iter().map(ToString::to_string).collect::<Vec<_>>()[..], seconds)
            );
        };
        check(&[], &["a", "b"], SECONDS);
        check(&["b"], &["b"], SECONDS);
        check(&["600"], &["a", "b"], 600);
        check(&["a", "5"], &["a"], 5);
        let unknown = chosen(&["c".to_owned()], &all).unwrap_err();
        assert_eq!(unknown, "no target `c`, expected one of: a, b");
        assert!(chosen(&["a".to_owned(), "b".to_owned()], &all).is_err());
    }

    #[test]
    fn what_a_run_came_to_is_read_from_its_output() {
        let output = "#8 NEW cov: 5\nTest unit written to fuzz/artifacts/a/crash-1\nstat::number_of_executed_units: 1234\n";
        assert_eq!(value_of(output, "stat::number_of_executed_units:"), Some("1234"));
        assert_eq!(value_of(output, "Test unit written to"), Some("fuzz/artifacts/a/crash-1"));
        assert_eq!(value_of("", "stat::number_of_executed_units:"), None);
    }

    #[test]
    fn every_target_is_a_file() {
        assert!(all_targets().iter().any(|target| target == "ctf_index"));
    }
}
