//! The workshop: everything around the product that has logic, in plain Rust without dependencies.
//!
//! `cargo xtask help` lists the jobs. Each job is one entry of [`JOBS`] and one file.

#![forbid(unsafe_code)]
// A command-line tool speaks on standard output.
#![allow(clippy::print_stdout)]

mod bench;
mod built_once;
mod decisions;
mod demo;
mod doc_starts;
mod fuzz;
mod instructions;
mod jobs;
mod licences;
mod links;
mod manifest;
mod optimised_package;
mod python;
mod readme;
mod references;
mod releases;
mod run;
mod shapes;
mod site;
mod source_text;
mod step_instructions;
mod suite;
mod tally;
mod tidy;
mod wheel;
mod words;

use std::process::ExitCode;

/// A job: its name, and the function that runs it with the arguments after the name.
type Job = (&'static str, fn(&[String]) -> ExitCode);

const JOBS: &[Job] = &[
    ("demo", demo::main),
    ("test", suite::main),
    ("tidy", tidy::main),
    ("venv", python::main),
    ("manual", jobs::manual),
    ("api", jobs::api),
    ("site", site::main),
    ("bench", bench::main),
    ("instructions", instructions::main),
    ("gpu", jobs::gpu),
    ("miri", jobs::miri),
    ("neon", jobs::neon),
    ("fuzz", fuzz::main),
    ("wheel", wheel::main),
];

const HELP: &str = "\
cargo xtask JOB

  demo                        Read the digits in examples/ and show their first minibatches; needs nothing but Rust.
  test [STEP…] [--torch] [--ray]  Everything CI does, or only these steps (`--list` names them); with all tests of PyTorch or Ray on request.
  tidy                        The rules of the house that no compiler checks; part of `test`.
  venv                        Make .venv, install what the Python tests need, build the extension into it; part of `test`.
  manual                      Write docs/options.md, docs/errors.md, docs/order-vectors.json and Python's keywords from the code; tests compare them.
  api                         Write docs/public-api.txt, the public items of the façade; a test compares them.
  site                        Build the manual as a site in target/site (MkDocs, from the network once); a job of its own in CI.
  bench [MEGABYTES] [PART…]   Measure all of bench/ or some parts, beside the peers that are installed, and write bench/runs/DATE-MACHINE.md; not part of CI.
  instructions [--write] [PART…]  Count the instructions of the text kernels (`kernels`) and of steps through Python (`steps`) by valgrind, and compare them with bench/instructions.txt; kernels are a job of their own in CI.
  gpu [ARGUMENTS]             Check loaders that feed a GPU and measure a training step; needs PyTorch in .venv, skipped without a GPU.
  miri [CRATE…]               Run the tests of kernels, pools and what opens no files under Miri (nightly); not part of CI.
  neon                        Run the tests of kernels on ARM, emulated on other processors (QEMU); not part of CI.
  fuzz [TARGET] [SECONDS]     Fuzz one target, or each, by default for a minute (cargo-fuzz); not part of CI.
  wheel                       Build the wheel for users and test it with every CPython on this machine; not part of CI.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        println!("{HELP}");
        return ExitCode::from(2);
    };
    if ["help", "-h", "--help"].contains(&name.as_str()) {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match JOBS.iter().find(|job| job.0 == name) {
        Some((_, run)) => run(rest),
        None => {
            eprintln!("unknown job `{name}`\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

/// The names of all jobs, for checks of the commands in documents.
fn job_names() -> impl Iterator<Item = &'static str> {
    JOBS.iter().map(|job| job.0).chain(["help"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_job() {
        let listed = HELP.lines().skip(2).filter_map(|line| line.split_whitespace().next());
        assert!(listed.eq(JOBS.iter().map(|job| job.0)));
    }
}
