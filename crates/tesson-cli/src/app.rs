//! The command from its arguments to its exit code.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};
use tesson::Error;

use crate::args::{Cli, Command, DataCommand, InputArgs, WorkerArgs};
use crate::extensions::{Extensions, NoExtensions};
use crate::failure::Failure;
use crate::input_kind::InputKind;
use crate::lists::Listed;
use crate::output::Output;
use crate::progress::note;
use crate::{
    bench, certificate, check, config, convert, data, dataset, index, info, input, interrupt, option_rules,
    plan, read, records, report, shell, show, state, stream_proposal,
};

/// Runs the command. `args` begin with the program's name. Returns the exit code: 0, 1 (an error of data or storage)
/// or 2 (an error of usage or configuration).
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    main_with(&NoExtensions, args)
}

/// Runs the command in a program that adds custom formats, like [`main`].
pub fn main_with(extensions: &dyn Extensions, args: impl Iterator<Item = OsString>) -> i32 {
    let declared = option_rules::declaration();
    let args: Vec<OsString> = args.collect();
    let words = args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let parsed = declared.clone().try_get_matches_from(args);
    let parsed = parsed.and_then(|given| Ok((Cli::from_arg_matches(&given)?, given)));
    let (mut cli, given) = match parsed {
        Ok(parsed) => parsed,
        Err(e) => {
            // The pipe that reads help may close early, too.
            let _ = e.print();
            return e.exit_code();
        }
    };
    let mut out = Output::new(cli.command.is_json());
    if let Command::Data(command) = &mut cli.command {
        command.common().input.words = words;
    }
    let done = match &mut cli.command {
        Command::Data(command) => {
            check_options(command, &declared, &given).and_then(|()| run(command, extensions, &mut out))
        }
        Command::State(args) => state::run(args, &mut out),
        Command::Completions { shell } => shell::completions(*shell, &mut out),
        Command::Man { folder } => shell::man(folder.as_deref(), &mut out),
    };
    match done.and_then(|()| Ok(out.flush()?)) {
        Ok(()) | Err(Failure::Closed) => 0,
        Err(failure) => {
            let mut words = |text| in_words_of_options(text, &mut cli.command);
            let (text, remedy) = (words(failure.to_string()), failure.remedy().map(&mut words));
            report(&failure, &text, remedy, &mut out);
            failure.exit_code()
        }
    }
}

/// Finds the kind of the input, refuses options that it does not use, and finds the streams of text where none are declared.
fn check_options(
    command: &mut DataCommand,
    declared: &clap::Command,
    given: &ArgMatches,
) -> Result<(), Failure> {
    let (name, given) = given.subcommand().expect("a command is required");
    if matches!(command, DataCommand::Report(_)) && report::are_two(&command.common().input)? {
        return Ok(());
    }
    let spare = usize::from(matches!(command, DataCommand::Convert(_)));
    let from = match command {
        DataCommand::Convert(args) => args.from.clone(),
        _ => None,
    };
    let is_conversion = matches!(command, DataCommand::Convert(_));
    // Other commands look at records as they are; these need their examples.
    let reads = matches!(
        command,
        DataCommand::Read(_)
            | DataCommand::Plan(_)
            | DataCommand::Show(_)
            | DataCommand::Bench(_)
            | DataCommand::Report(_)
    );
    let common = command.common();
    let (worker, path) = (common.worker, common.input.input.clone());
    let kind = InputKind::of(&path, common.dataset.data_dir.is_some(), from.as_deref(), !is_conversion);
    let kind = if kind == InputKind::Records && reads && Listed::of(&path).is_some() {
        InputKind::Listed
    } else {
        kind
    };
    common.input.kind = kind;
    // Of a missing file nothing is known but its name: that it is missing is the first thing to say.
    let may_be_several = kind == InputKind::BrainScript && path.to_string_lossy().contains('+');
    if kind != InputKind::Dataset
        && !data::exists(&path)
        && !tesson_engine::file_patterns::is_pattern(&path.to_string_lossy())
        && !may_be_several
    {
        return missing(command, &path, given);
    }
    option_rules::check(name, declared, given, &path, kind, spare)?;
    check_worker(worker)?;
    // What these write lasts, and depends on the sizes of streams.
    if !matches!(command, DataCommand::Convert(_) | DataCommand::Index(_)) {
        find_streams(&mut command.common().input);
    }
    Ok(())
}

/// Declares the streams of a text file by its first rows, where the command line declares none.
fn find_streams(input: &mut InputArgs) {
    if input.kind != InputKind::Text || !input.streams.is_empty() || !input.aliases.is_empty() {
        return;
    }
    // What is wrong with the files is said when they are opened.
    let Some(file) = input::files(input).ok().and_then(|files| files.into_iter().next()) else { return };
    let found = stream_proposal::streams(&file);
    found.doubt.iter().for_each(|doubt| note(&format!("{}: {doubt}", file.display())));
    input.streams = found.streams;
}

/// Refuses a rank that no worker has.
fn check_worker(worker: WorkerArgs) -> Result<(), Failure> {
    let (workers, rank) = (worker.workers.n, worker.rank());
    if let Some(found) = worker.workers.rank.filter(|found| *found != rank) {
        let what = format!(
            "found {rank}, but the launcher says {found}; leave it out, or give the number of workers"
        );
        return Err(Failure::Usage(format!("--rank: {what}")));
    }
    let expected = match workers {
        1 => "expected 0, as there is one worker; give their number with `--workers N`".to_owned(),
        n => format!("expected a rank from 0 to {}, as `--workers` is {n}", n - 1),
    };
    if rank < workers { Ok(()) } else { Err(Failure::Usage(format!("--rank: found {rank}, {expected}"))) }
}

/// True if a path could be the name of a dataset.
fn is_plain(path: &Path) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    path.to_str().is_some_and(is_name)
}

/// Reports a missing input that was probably meant as something else: the name of a dataset, or the output. Any other
/// missing input is reported when it is opened.
fn missing(command: &DataCommand, path: &Path, given: &ArgMatches) -> Result<(), Failure> {
    if let DataCommand::Convert(args) = command
        && let Some(output) = args.common.input.arguments.last().filter(|output| Path::new(output).is_file())
    {
        return Err(Failure::Usage(format!(
            "{}: there is no such file, and `{output}` exists; expected the input first, then the output",
            path.display()
        )));
    }
    let is_given = |id: &&str| {
        matches!(given.try_contains_id(id), Ok(true))
            && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    match ["split", "shuffle_files", "op", "read_config"].into_iter().find(is_given) {
        option if option.is_some() || is_plain(path) => Err(Failure::File(format!(
            "{}; a prepared dataset is given by its folder, such as `mnist/3.0.1`, or by its name with `--data-dir DIR`",
            Failure::file(path, data::entry(path).err().unwrap_or(ErrorKind::NotFound.into()))
        ))),
        _ => Ok(()),
    }
}

fn run(command: &mut DataCommand, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    use InputKind::{Dataset, Records};

    tesson_engine::kernels_from_environment().map_err(|e| Failure::Tesson(e.into()))?;
    interrupt::outlive_large_files().map_err(|e| Failure::File(format!("signals cannot be caught: {e}")))?;
    let kind = command.common().input.kind;
    match (command, kind) {
        (DataCommand::Read(args), Dataset) => dataset::read(args, out),
        (DataCommand::Read(args), _) => read::run(args, extensions, out),
        (DataCommand::Info(args), Dataset) => {
            dataset::info(&args.common, out)?;
            if args.stats {
                report::stats(&args.common, args.minibatch_size, extensions, out)
            } else {
                Ok(())
            }
        }
        (DataCommand::Info(args), Records) => {
            records::info(&records::files(&args.common.input)?, out)?;
            let mut examples = args.clone();
            examples.common.input.kind = InputKind::Listed;
            // Records may hold anything, and then there is no more to say.
            let are_examples = !out.is_json() && Listed::of(&args.common.input.input).is_some();
            match are_examples.then(|| info::run(&examples, extensions, out)) {
                None | Some(Err(Failure::Tesson(_))) => Ok(()),
                Some(done) => done,
            }
        }
        (DataCommand::Info(args), _) => info::run(args, extensions, out),
        (DataCommand::Plan(args), _) if args.certificate.is_some() => certificate::run(args, extensions, out),
        (DataCommand::Report(args), _) => report::run(args, extensions, out),
        (DataCommand::Plan(args), Dataset) => dataset::plan(args, out),
        (DataCommand::Plan(args), _) => plan::run(args, extensions, out),
        (DataCommand::Check(args), Dataset) => dataset::check(args, out),
        (DataCommand::Check(args), Records) => {
            records::check(&records::files(&args.common.input)?, args.list, out)
        }
        (DataCommand::Check(args), _) => check::run(args, extensions, out),
        (DataCommand::Index(args), Dataset) => {
            records::index(&dataset::files(&args.common.input)?, args, out)
        }
        (DataCommand::Index(args), Records) => {
            records::index(&records::files(&args.common.input)?, args, out)
        }
        (DataCommand::Index(args), _) => index::run(args, extensions, out),
        (DataCommand::Convert(args), Records) => records::convert(&convert::prepare(args)?, out),
        (DataCommand::Convert(args), _) => convert::run(&convert::prepare(args)?, extensions, out),
        (DataCommand::Show(args), _) => show::run(args, extensions, out),
        (DataCommand::Config(args), _) => config::run(args, extensions, out),
        (DataCommand::Bench(args), _) => bench::run(args, extensions, out),
    }
}

/// A message with the options of the command line instead of those of configurations, where the input has none.
fn in_words_of_options(text: String, command: &mut Command) -> String {
    let Command::Data(command) = command else { return text };
    let owner = match command.common().input.kind {
        InputKind::Text => "deserializer",
        InputKind::Listed => "reader",
        _ => return text,
    };
    let text = text.replace("columns (`dim`)", "columns (`--stream NAME:DIM:sparse`)");
    match &**command {
        DataCommand::Read(_) | DataCommand::Bench(_) | DataCommand::Convert(_) => {
            text.replace(&format!("`maxErrors` of the {owner}"), "`--max-errors N`")
        }
        _ => text,
    }
}

/// Reports a failure, with its text and remedy in the words of the command line: to people on standard error, to programs as the last line of the answer.
fn report(failure: &Failure, text: &str, remedy: Option<String>, out: &mut Output) {
    if matches!(failure, Failure::FaultsFound) {
        // They are listed already.
        let _ = out.flush();
        return;
    }
    if out.is_json() {
        let mut line = serde_json::json!({"error": text});
        if let Some(code) = failure.code() {
            line["code"] = code.into();
        }
        if let Some(remedy) = remedy {
            line["remedy"] = remedy.into();
        }
        if let Failure::Tesson(Error::Config(e)) = failure {
            line["path"] = e.path.clone().into();
        }
        // Where standard output itself fails, standard error below still says why.
        let _ = out.json(&line);
    }
    let _ = out.flush();
    note(&format!("error: {text}"));
}
