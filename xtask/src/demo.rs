//! `cargo xtask demo`: a first look that needs nothing but Rust.

use std::process::ExitCode;

use crate::run::{cargo, tee};

/// The steps of the demo: a sentence, and the arguments of `tesson`.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "What is in the data: 1437 handwritten digits of 8 x 8 pixels, as text.",
        &["info", "examples/digits/digits.json"],
    ),
    (
        "The first minibatches, in an order that the seed decides; this build is not optimised, so not yet at full speed.",
        &["read", "examples/digits/digits.json", "--minibatch-size", "256"],
    ),
    (
        "Which sequences come when is known without reading them.",
        &["plan", "examples/digits/digits.json", "--minibatch", "8", "--take", "4"],
    ),
];

const NEXT: &str = "\
What to try next:
  cargo install --path crates/tesson-cli                             the command, as fast as it is
  tesson read examples/digits/digits.json --minibatch-size 2 --take 1 --json
  tesson read --help
  cargo xtask venv && .venv/bin/python examples/train_softmax.py     trains on these digits, stops, and resumes
  cargo xtask test                                                   runs everything that is tested";

/// The arguments with which the command is built for the demo, which should not take minutes.
const QUICKLY: &[&str] = &["--profile", "demo", "--no-default-features"];

/// Shows it.
pub(crate) fn main(_: &[String]) -> ExitCode {
    println!("building the command, within a minute or so");
    ExitCode::from(u8::from(!run(QUICKLY)))
}

/// Shows it with a command built with these arguments; false if something did not work.
pub(crate) fn run(build: &[&str]) -> bool {
    let all = SHOWN.iter().all(|(sentence, arguments)| {
        println!("\n# {sentence}");
        let mut command = cargo(&["run", "--quiet", "--package", "tesson-cli", "--bin", "tesson"]);
        tee(command.args(build).arg("--").args(*arguments)).success
    });
    println!("\n{NEXT}");
    all
}
