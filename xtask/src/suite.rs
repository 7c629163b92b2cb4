//! `cargo xtask test`: what CI runs, step by step, each with a time budget; the last line is the sum of all counts.

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::run::{Outcome, answer, cargo, has_cargo_command, program, tee};
use crate::tally::Tally;
use crate::{licences, python, readme, tidy};

/// A step of the suite. The budgets hold for two cores that build from nothing, and add up to less than 25 minutes.
struct Step {
    name: &'static str,
    help: &'static str,
    budget_s: u64,
    run: fn() -> Tally,
}

const STEPS: &[Step] = &[
    Step { name: "tidy", help: "the rules of the house", budget_s: 5, run: tidy::check },
    Step { name: "format", help: "rustfmt changes nothing", budget_s: 30, run: format },
    Step { name: "clippy", help: "clippy warns of nothing", budget_s: 300, run: clippy },
    Step { name: "rust", help: "unit tests, integration tests, conformance", budget_s: 600, run: rust },
    Step { name: "doctest", help: "examples in documentation", budget_s: 120, run: doctests },
    Step { name: "doc", help: "rustdoc warns of nothing", budget_s: 90, run: doc },
    Step {
        name: "python",
        help: "pytest: API, examples, conformance, doctests",
        budget_s: 300,
        run: python::tests,
    },
    Step {
        name: "stubs",
        help: "stubs agree with the module; mypy agrees with the package",
        budget_s: 60,
        run: python::stubs,
    },
    Step { name: "readme", help: "what README.md tells to type works", budget_s: 60, run: readme::check },
    Step {
        name: "licences",
        help: "dependencies have licences that deny.toml allows",
        budget_s: 10,
        run: licences::check,
    },
];

/// A tool, how to see that it is there, and how to get it.
struct Tool {
    name: &'static str,
    is_there: fn() -> bool,
    /// What happens without it.
    without: &'static str,
    install: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt",
        is_there: || has_cargo_command("fmt"),
        without: "the step `format` fails",
        install: "rustup component add rustfmt",
    },
    Tool {
        name: "clippy",
        is_there: || has_cargo_command("clippy"),
        without: "the step `clippy` fails",
        install: "rustup component add clippy",
    },
    Tool {
        name: "cargo-nextest",
        is_there: || has_cargo_command("nextest"),
        without: "`cargo test` runs the tests, one binary after the other",
        install: "cargo install cargo-nextest --locked",
    },
    Tool {
        name: "cargo-deny",
        is_there: || has_cargo_command("deny"),
        without: "only licences are checked, not advisories",
        install: "cargo install cargo-deny --locked",
    },
    Tool {
        name: "nasm",
        // Elsewhere the C compiler assembles what there is.
        is_there: || cfg!(not(target_arch = "x86_64")) || answer(program("nasm").arg("-v")).is_some(),
        without: "JPEG is decoded without SIMD, to the same pixels",
        install: "apt install nasm, brew install nasm; then cargo clean -p mozjpeg-sys",
    },
];

/// Runs all steps, or those named.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|a| a == "--list") {
        list();
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = arguments.iter().find(|a| !STEPS.iter().any(|s| s.name == **a)) {
        eprintln!("unknown step `{unknown}`; `cargo xtask test --list` names them");
        return ExitCode::from(2);
    }
    say_what_is_missing();
    let chosen = STEPS.iter().filter(|s| arguments.is_empty() || arguments.iter().any(|a| a == s.name));
    let results: Vec<(&Step, Tally, Duration)> = chosen.map(run_step).collect();
    summary(&results)
}

fn list() {
    for step in STEPS {
        println!("{:<9} {} (budget {} s)", step.name, step.help, step.budget_s);
    }
}

fn say_what_is_missing() {
    for tool in TOOLS.iter().filter(|t| !(t.is_there)()) {
        println!("missing: {} ({}); install it with: {}", tool.name, tool.without, tool.install);
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

fn one(outcome: &Outcome) -> Tally {
    Tally::one(outcome.success)
}

fn format() -> Tally {
    one(&tee(&mut cargo(&["fmt", "--all", "--check"])))
}

fn clippy() -> Tally {
    let all = ["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"];
    let mut without_features = cargo(&["clippy"]);
    without_features.args(HAVE_FEATURES.iter().flat_map(|name| ["--package", name]));
    without_features.args(["--lib", "--bins", "--no-default-features", "--", "-D", "warnings"]);
    one(&tee(&mut cargo(&all))) + one(&tee(&mut without_features))
}

/// The crates that may be built without some of what they do, as the demo is.
const HAVE_FEATURES: &[&str] =
    &["tesson-image", "tesson-formats", "tesson-tfds", "tesson-prepared", "tesson", "tesson-cli"];

// The extension has no Rust tests and is built by maturin; without it the tests build nothing of Python's.
const TESTED: &[&str] = &["--workspace", "--exclude", "tesson-py"];

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

/// The variable that decides which cases property tests draw.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The seed that the environment gives, as CI does, or a fresh one. It is printed: a failure comes again with it.
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
    one(&tee(command.env("RUSTDOCFLAGS", "-D warnings")))
}
