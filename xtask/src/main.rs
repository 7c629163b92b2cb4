//! The workshop: everything around the product that has logic, in plain Rust without dependencies.
//!
//! `cargo xtask help` lists the jobs. Each job is one entry of [`JOBS`] and one file.

#![forbid(unsafe_code)]
// A command-line tool speaks on standard output.
#![allow(clippy::print_stdout)]

mod demo;
mod jobs;
mod licences;
mod links;
mod manifest;
mod python;
mod readme;
mod run;
mod source_text;
mod suite;
mod tally;
mod tidy;
mod words;

use std::process::ExitCode;

/// A job: its name, what follows it on the command line, one sentence, and what it does with those arguments.
struct Job {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&[String]) -> ExitCode,
}

const JOBS: &[Job] = &[
    Job {
        name: "demo",
        arguments: "",
        help: "Read the digits in examples/ and show their first minibatches; needs nothing but Rust.",
        run: demo::main,
    },
    Job {
        name: "test",
        arguments: "[STEP…]",
        help: "Everything CI does, or only these steps of it; `cargo xtask test --list` names them.",
        run: suite::main,
    },
    Job {
        name: "tidy",
        arguments: "",
        help: "The rules of the house that no compiler checks; part of `test`.",
        run: tidy::main,
    },
    Job {
        name: "venv",
        arguments: "",
        help: "Make .venv, install what the Python tests need, build the extension into it; part of `test`.",
        run: python::main,
    },
    Job {
        name: "manual",
        arguments: "",
        help: "Write docs/options.md and docs/errors.md from the tables in the code; a test compares them.",
        run: jobs::manual,
    },
    Job {
        name: "api",
        arguments: "",
        help: "Write docs/public-api.txt, the public items of the façade; a test compares them.",
        run: jobs::api,
    },
    Job {
        name: "bench",
        arguments: "[MEGABYTES]",
        help: "Make the corpora of bench/ and measure them all (release build); not part of CI.",
        run: jobs::bench,
    },
    Job {
        name: "miri",
        arguments: "[CRATE…]",
        help: "Run the tests of kernels, pools and what opens no files under Miri (nightly); not part of CI.",
        run: jobs::miri,
    },
    Job {
        name: "fuzz",
        arguments: "[TARGET [SECONDS]]",
        help: "Fuzz one target, or each for a minute (nightly, cargo-fuzz); not part of CI.",
        run: jobs::fuzz,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        help();
        return ExitCode::from(2);
    };
    if ["help", "-h", "--help"].contains(&name.as_str()) {
        help();
        return ExitCode::SUCCESS;
    }
    match JOBS.iter().find(|job| job.name == name) {
        Some(job) => (job.run)(rest),
        None => {
            eprintln!("unknown job `{name}`\n");
            help();
            ExitCode::from(2)
        }
    }
}

fn help() {
    println!("cargo xtask JOB\n");
    for job in JOBS {
        println!("  {:<26}  {}", format!("{} {}", job.name, job.arguments), job.help);
    }
}

/// Names of all jobs, for checks of what documents tell people to type.
fn job_names() -> impl Iterator<Item = &'static str> {
    JOBS.iter().map(|job| job.name).chain(["help"])
}
