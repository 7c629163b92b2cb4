//! The command from its arguments to its exit code.

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::host::{Alone, Host};
use crate::output::Output;
use crate::progress::note;
use crate::{bench, check, config, convert, dataset, index, info, line, plan, read, show};

/// Runs the command. `args` are the program's name and what follows it; returns the exit code: 0, 1 (an error of data or
/// storage) or 2 (an error of usage or configuration).
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    main_within(&Alone, args)
}

/// The same inside of a program that has formats of its own.
pub fn main_within(host: &dyn Host, args: impl Iterator<Item = OsString>) -> i32 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            // Help is asked for with pipes that close early, too.
            let _ = e.print();
            return e.exit_code();
        }
    };
    let mut out = Output::new(cli.command.json());
    match run(&cli.command, host, &mut out).and_then(|()| Ok(out.flush()?)) {
        Ok(()) | Err(Failure::Closed) => 0,
        Err(failure) => {
            report(&failure, &mut out);
            failure.exit_code()
        }
    }
}

fn run(command: &Command, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Read(args) if dataset::is_named(&args.input, &args.dataset) => dataset::read(args, out),
        Command::Read(args) => read::run(args, host, out),
        Command::Info(args) if dataset::is_named(&args.input, &args.dataset) => {
            dataset::info(&args.input, &args.dataset, out)
        }
        Command::Info(args) => info::run(args, host, out),
        Command::Plan(args) if dataset::is_named(&args.input, &args.dataset) => dataset::plan(args, out),
        Command::Plan(args) => plan::run(args, host, out),
        Command::Show(args) => show::run(args, host, out),
        Command::Check(args) => check::run(args, host, out),
        Command::Index(args) => index::run(args, host, out),
        Command::Config(args) => config::run(args, host, out),
        Command::Convert(args) => convert::run(args, host, out),
        Command::Bench(args) => bench::run(args, host, out),
    }
}

/// Says what went wrong: to people on standard error, to programs as the last line of the answer.
fn report(failure: &Failure, out: &mut Output) {
    if matches!(failure, Failure::FaultsFound) {
        // They are listed already.
        let _ = out.flush();
        return;
    }
    if out.is_json() {
        // Where standard output itself fails, standard error below still says why.
        let _ = out.line(&line::error(&failure.to_string()));
    }
    let _ = out.flush();
    note(&format!("error: {failure}"));
}

impl Command {
    fn json(&self) -> bool {
        match self {
            Command::Read(args) => args.input.json,
            Command::Info(args) => args.input.json,
            Command::Plan(args) => args.input.json,
            Command::Show(args) => args.input.json,
            Command::Check(args) => args.input.json,
            Command::Index(args) => args.input.json,
            Command::Config(args) => args.json,
            Command::Convert(args) => args.input.json,
            Command::Bench(args) => args.input.json,
        }
    }
}
