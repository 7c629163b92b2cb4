//! `cargo xtask test`: what CI runs, step by step, each with a time budget; the last line is the sum of all counts.

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::run::{answer, cargo, has_cargo_command, passes, program, tee};
use crate::tally::Tally;
use crate::{built_once, licences, python, readme, tidy};

/// A step of the suite. The budgets hold for two cores that build from nothing, and add up to less than 25 minutes.
struct Step {
    name: &'static str,
    help: &'static str,
    budget_s: u64,
    run: fn() -> Tally,
}

const fn step(name: &'static str, budget_s: u64, run: fn() -> Tally, help: &'static str) -> Step {
    Step { name, help, budget_s, run }
}

const STEPS: &[Step] = &[
    step("tidy", 5, tidy::check, "the rules of the house"),
    step("once", 10, built_once::check, "the tests and the Python package share what is compiled"),
    step("format", 20, format, "rustfmt changes nothing"),
    step("clippy", 150, clippy, "clippy warns of nothing"),
    step("rust", 700, rust, "unit tests, integration tests, conformance"),
    step("pure-rust", 70, pure_rust, "JPEG without C code: how far its pixels are off, and a build of it"),
    step("doctest", 60, doctests, "examples in documentation"),
    step("doc", 70, doc, "rustdoc warns of nothing"),
    step("python", 235, python::tests, "pytest: API, examples, conformance, doctests"),
    step("jax", 50, python::jax, "tesson.jax, and training that is killed"),
    step(
        "torch",
        10,
        python::torch,
        "tesson.torch, if PyTorch is installed in .venv; `--torch` runs all of it",
    ),
    step("ray", 5, python::ray, "tesson.ray, if Ray is installed in .venv; `--ray` runs all of it"),
    step("stubs", 60, python::stubs, "stubs agree with the module; mypy agrees with the package"),
    step("readme", 40, readme::check, "what README.md and the manual tell to type works"),
    step("licences", 10, licences::check, "dependencies have licences that deny.toml allows"),
];

/// Steps that a flag of the step's name runs in place of the one of that name.
const WHOLE_STEPS: &[Step] = &[
    step("torch", 900, python::all_of_torch, "tesson.torch, and training that is killed 50 times"),
    step(
        "ray",
        900,
        python::all_of_ray,
        "tesson.ray, workers of Ray Train that are killed 50 times, and a cluster that loses a node",
    ),
];

/// A tool, the test for its presence, and a text about the effect of its absence and how to install it.
type Tool = (&'static str, fn() -> bool, &'static str);

const TOOLS: &[Tool] = &[
    ("rustfmt", || has_cargo_command("fmt"), "the step `format` fails; rustup component add rustfmt"),
    ("clippy", || has_cargo_command("clippy"), "the step `clippy` fails; rustup component add clippy"),
    (
        "cargo-nextest",
        || has_cargo_command("nextest"),
        "`cargo test` runs the tests, one binary after the other; cargo install cargo-nextest --locked",
    ),
    (
        "cargo-deny",
        || has_cargo_command("deny"),
        "only licences are checked, not advisories; cargo install cargo-deny --locked",
    ),
    (
        "nasm",
        // On other processors the C compiler assembles the vector code.
        || cfg!(not(target_arch = "x86_64")) || answer(program("nasm").arg("-v")).is_some(),
        "JPEG is decoded without SIMD, to the same pixels; apt install nasm, brew install nasm, then cargo clean -p \
         mozjpeg-sys",
    ),
];

/// Runs all steps, or those named.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let whole = |step: &str| WHOLE_STEPS.iter().find(|whole| whole.name == step);
    let (flags, arguments): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|a| a.strip_prefix("--").is_some_and(|name| whole(name).is_some()));
    if arguments.iter().any(|a| *a == "--list") {
        list();
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = arguments.iter().find(|a| !STEPS.iter().any(|s| s.name == ***a)) {
        eprintln!("unknown step `{unknown}`; `cargo xtask test --list` names them");
        return ExitCode::from(2);
    }
    say_what_is_missing();
    let chosen = STEPS.iter().filter_map(|step| {
        let is_flag = flags.iter().any(|flag| flag.strip_prefix("--") == Some(step.name));
        let is_named = arguments.is_empty() || arguments.iter().any(|a| *a == step.name);
        if is_flag { whole(step.name) } else { is_named.then_some(step) }
    });
    let results: Vec<(&Step, Tally, Duration)> = chosen.map(run_step).collect();
    summary(&results)
}

fn list() {
    for step in STEPS {
        println!("{:<9} {} (budget {} s)", step.name, step.help, step.budget_s);
    }
}

fn say_what_is_missing() {
    for (name, _, without) in TOOLS.iter().filter(|(_, is_there, _)| !is_there()) {
        println!("missing: {name}: without it {without}");
    }
    if let Err(missing) = python::find() {
        println!("missing: {missing}");
    }
}

fn run_step(step: &Step) -> (&Step, Tally, Duration) {
    println!("\n=== {}: {} (budget {} s)", step.name, step.help, step.budget_s);
    let started = Instant::now();
    let tally = (step.run)();
    (step, tally, started.elapsed())
}

fn summary(results: &[(&Step, Tally, Duration)]) -> ExitCode {
    println!("\n=== summary");
    for (step, tally, took) in results {
        let late = if took.as_secs() > step.budget_s { "  OVER BUDGET" } else { "" };
        println!("{:<9} {:>5.0} of {:>3} s  {tally}{late}", step.name, took.as_secs_f64(), step.budget_s);
    }
    let total: Tally = results.iter().map(|(_, tally, _)| *tally).sum();
    println!("{total}");
    ExitCode::from(u8::from(total.failed > 0))
}

fn format() -> Tally {
    passes(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Tally {
    let all = ["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"];
    let mut without_features = cargo(&["clippy"]);
    without_features.args(HAVE_FEATURES.iter().flat_map(|name| ["--package", name]));
    without_features.args(["--lib", "--bins", "--no-default-features", "--", "-D", "warnings"]);
    let mut images = cargo(&["clippy", "--package", "tesson-image", "--tests"]);
    images.args(["--no-default-features", "--", "-D", "warnings"]);
    passes(&mut cargo(&all)) + passes(&mut without_features) + passes(&mut images)
}

/// The crates with features that may be left out, as in the demo.
const HAVE_FEATURES: &[&str] = &[
    "tesson-audio",
    "tesson-image",
    "tesson-formats",
    "tesson-tables",
    "tesson-tfds",
    "tesson-prepared",
    "tesson",
    "tesson-cli",
];

// The extension has no Rust tests and is built by maturin; without it the tests build nothing of Python's.
// Features are named as the extension's graph has them, so that both share what is compiled; `built_once` checks it.
pub(crate) const TESTED: &[&str] =
    &["--workspace", "--exclude", "tesson-py", "--no-default-features", "--features", "tesson-cli/default"];

fn rust() -> Tally {
    let runner: &[&str] = if has_cargo_command("nextest") {
        &["nextest", "run", "--no-fail-fast", "--no-tests", "pass"]
    } else {
        // Not `--all-targets`: that would run the benchmarks.
        &["test", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"]
    };
    let outcome = tee(cargo(runner).args(TESTED).env(SEED, random_seed()));
    Tally::read(&outcome.output).of_program(outcome.success)
}

/// The only step that compiles the feature `pure-rust`: with `codecs`, to compare both decoders, and in place of it.
fn pure_rust() -> Tally {
    let image = ["--package", "tesson-image", "--features", "pure-rust"];
    let outcome = tee(cargo(&["test", "--test", "jpeg_rust"]).args(image));
    let compared = Tally::read(&outcome.output).of_program(outcome.success);
    let features = ["--no-default-features", "--features", "pure-rust"];
    compared + passes(cargo(&["check", "--package", "tesson-cli"]).args(features))
}

/// The variable that decides which cases property tests draw.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The seed from the environment, as in CI, or a fresh one. It is printed, so that a failure can be reproduced.
fn random_seed() -> String {
    let seed = std::env::var(SEED).unwrap_or_else(|_| RandomState::new().hash_one(SEED).to_string());
    println!("property tests draw their cases with {SEED}={seed}");
    seed
}

fn doctests() -> Tally {
    let outcome = tee(cargo(&["test", "--doc", "--no-fail-fast"]).args(TESTED));
    Tally::read(&outcome.output).of_program(outcome.success)
}

fn doc() -> Tally {
    // The library `tesson` and the program `tesson` would be written to the same page.
    let command = &mut cargo(&["doc", "--workspace", "--lib", "--no-deps"]);
    passes(command.env("RUSTDOCFLAGS", "-D warnings"))
}
