//! A table of the inputs and commands that each option is for. The command line is checked against it before anything
//! is opened, help shows it, and a test looks up every option in it.

use std::io::ErrorKind;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory};

use crate::args::Cli;
use crate::data;
use crate::failure::Failure;
use crate::input_kind::InputKind;

/// A set of kinds of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kinds(u16);

impl Kinds {
    const NONE: Kinds = Kinds(0);

    const fn of(kinds: &[InputKind]) -> Kinds {
        let (mut set, mut i) = (0, 0);
        while i < kinds.len() {
            set |= 1 << kinds[i] as u16;
            i += 1;
        }
        Kinds(set)
    }

    const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    fn has(self, kind: InputKind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    fn are_all_in(self, other: Kinds) -> bool {
        self.0 & !other.0 == 0
    }

    /// The kinds in words, several together where they have one: `configurations and data files`.
    fn describe(self) -> String {
        let mut left = self;
        let mut words = Vec::new();
        for (kinds, name) in GROUPS {
            if *kinds != Kinds::NONE && kinds.are_all_in(left) {
                words.push(*name);
                left = Kinds(left.0 & !kinds.0);
            }
        }
        match words.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "no input".to_owned(),
        }
    }
}

const SCRIPT: Kinds = Kinds::of(&[InputKind::BrainScript]);
const CONFIGURATION: Kinds = Kinds::of(&[InputKind::BrainScript, InputKind::Dictionary]);
const TEXT: Kinds = Kinds::of(&[InputKind::Text]);
const BINARY: Kinds = Kinds::of(&[InputKind::Binary]);
const LISTED: Kinds = Kinds::of(&[InputKind::Listed]);
const DATA: Kinds = TEXT.and(BINARY);
/// The inputs that become a source of minibatches.
const CORPUS: Kinds = CONFIGURATION.and(DATA).and(LISTED);
const RECORDS: Kinds = Kinds::of(&[InputKind::Records]);
const DATASET: Kinds = Kinds::of(&[InputKind::Dataset]);
const CSV: Kinds = Kinds::of(&[InputKind::Csv]);
const LIBSVM: Kinds = Kinds::of(&[InputKind::LibSvm]);
const JSON_LINES: Kinds = Kinds::of(&[InputKind::JsonLines]);
const TABLE: Kinds = CSV.and(LIBSVM).and(JSON_LINES);
const ALL: Kinds = CORPUS.and(RECORDS).and(DATASET).and(TABLE);

/// Names of sets, the larger ones first.
const GROUPS: &[(Kinds, &str)] = &[
    (CONFIGURATION, "configurations"),
    (SCRIPT, "BrainScript"),
    (DATA.and(LISTED), "data files"),
    (TEXT, "text files"),
    (BINARY, "binary files"),
    (LISTED, "lists"),
    (TABLE, "tables"),
    (CSV, "CSV"),
    (LIBSVM, "libsvm"),
    (JSON_LINES, "JSON lines"),
    (RECORDS, "files of records"),
    (DATASET, "prepared datasets"),
];

/// The inputs that each command takes.
const COMMANDS: &[(&str, Kinds)] = &[
    ("read", CORPUS.and(DATASET)),
    ("info", CORPUS.and(DATASET).and(RECORDS)),
    ("plan", CORPUS.and(DATASET)),
    ("show", CORPUS),
    ("check", CORPUS.and(DATASET).and(RECORDS)),
    ("index", CORPUS.and(DATASET).and(RECORDS)),
    ("config", CONFIGURATION),
    ("convert", CORPUS.and(RECORDS).and(TABLE)),
    ("bench", CORPUS),
    ("report", CORPUS.and(DATASET)),
];

/// Options by their names in the declaration, the commands that use them (none: all), and the inputs for which they mean
/// something there. An option may have several lines; a command without one refuses it.
type Rule = (&'static [&'static str], &'static [&'static str], Kinds);

/// `plan` with a certificate, which takes of a prepared dataset what a report does, in addition to the options of `plan`.
const WITH_CERTIFICATE: &str = "plan --certificate";
/// Commands that read or plan in an order.
const ORDERED: &[&str] = &["read", "info", "plan", "show", "bench", "report"];
/// The commands that read minibatches, or show their contents.
const BATCHED: &[&str] = &["read", "plan", "bench"];
/// Commands that take a corpus.
const OPENING: &[&str] = &["read", "info", "plan", "show", "check", "index", "convert", "bench", "report"];

const RULES: &[Rule] = &[
    (&["input", "json"], &[], ALL),
    // Input.
    (&["arguments", "extended_variables"], &[], SCRIPT),
    (&["arguments"], &["info", "check", "index"], RECORDS),
    (&["arguments"], &["read", "info", "plan", "check", "index"], DATASET),
    (&["section"], &[], CONFIGURATION),
    (&["set"], &[], CORPUS),
    (&["streams"], OPENING, TEXT),
    (&["aliases"], OPENING, DATA),
    (&["rules", "allow_empty"], OPENING, TEXT.and(CONFIGURATION)),
    (&["max_errors"], &["read", "bench", "convert", "report"], TEXT.and(LISTED).and(CONFIGURATION)),
    (&["quarantine"], &["read", "bench", "convert"], CORPUS),
    (&["exclude_keys"], BATCHED, CORPUS),
    (&["base_dir"], OPENING, CONFIGURATION),
    // Resources.
    (&["threads"], OPENING, CORPUS),
    (&["threads"], &["read"], DATASET),
    (&["memory_limit"], OPENING, CORPUS.and(RECORDS)),
    (&["memory_limit"], &["read", "check", "index"], DATASET),
    // Order and workers.
    (
        &["randomize", "shuffle", "seed", "window", "bucketing", "minibatch_size_in_sequences", "batch_size"],
        ORDERED,
        CORPUS,
    ),
    (&["drop_last"], BATCHED, CORPUS),
    (&["sweeps", "samples", "equal_steps", "sharing", "take", "workers", "rank"], BATCHED, CORPUS),
    (&["sweeps", "take"], &["read", "plan"], DATASET),
    (&["workers", "rank"], &["read"], DATASET),
    // Prepared datasets.
    (&["split", "shuffle_files", "op", "global_seed"], &["read", "plan"], DATASET),
    (&["read_config"], &["read", "plan", "info"], DATASET),
    (&["data_dir"], &["read", "plan", "info"], DATASET),
    (&["on_damage", "at", "start_at", "include_buffers", "force"], &["read"], DATASET),
    (&["numbers", "files", "epochs"], &["plan"], DATASET),
    // Options of single commands.
    (&["epochs", "minibatch_size", "state", "save_state"], &["read"], CORPUS.and(DATASET)),
    (&["minibatch_size"], &["info", "bench", "report"], CORPUS),
    (&["stats"], &["info"], CORPUS.and(DATASET)),
    (&["output", "all", "no_timing"], &["report"], CORPUS.and(DATASET)),
    (&["workers", "equal_steps", "sharing", "drop_last", "exclude_keys"], &["report"], CORPUS),
    (&["minibatch_size", "batch_size", "workers", "split", "data_dir"], &["report"], DATASET),
    // A report is of the loader's order, and so is the certificate.
    (&["randomize", "shuffle", "seed", "window", "bucketing"], &["report", WITH_CERTIFICATE], DATASET),
    (&["minibatch", "batch_size", "workers"], &[WITH_CERTIFICATE], DATASET),
    (&["certificate"], &["plan"], CORPUS.and(DATASET)),
    (&["minibatch"], &["plan"], CORPUS),
    (&["layout", "preview"], &["read"], CORPUS),
    (&["no_pictures", "color"], &["read", "show"], CORPUS),
    (&["key", "sweep"], &["show", "plan"], CORPUS),
    (&["io"], &["plan"], CORPUS),
    (&["step"], &["plan"], CORPUS),
    (&["seconds", "runs"], &["bench"], CORPUS),
    (&["list"], &["check"], CORPUS.and(RECORDS).and(DATASET)),
    (&["cache_dir"], &["index"], RECORDS.and(DATASET)),
    (&["to"], &["config"], CONFIGURATION),
    // Conversion.
    (&["from", "to", "force", "verify"], &["convert"], ALL),
    (&["precision", "chunk_size"], &["convert"], CORPUS.and(TABLE)),
    (&["group_size", "uncompressed"], &["convert"], RECORDS),
    (&["header", "delimiter", "sparse"], &["convert"], CSV),
    (&["label_column", "stream_columns"], &["convert"], CSV.and(JSON_LINES)),
    (&["one_hot", "key_column"], &["convert"], TABLE),
    (&["dim"], &["convert"], LIBSVM.and(JSON_LINES)),
    (&["zero_based"], &["convert"], LIBSVM),
];

/// The replacement for an option, for inputs that lack it.
const INSTEAD: &[(&str, Kinds, &str)] = &[
    ("streams", CONFIGURATION, "a configuration has its streams in `input`, change them with `--set`"),
    ("streams", BINARY, "a binary file declares its streams, rename them with `--alias`"),
    ("streams", CSV.and(JSON_LINES), "choose the columns of a stream with `--streams NAME=COLUMNS`"),
    ("streams", LIBSVM, "the streams are `labels` and `features`"),
    ("aliases", CONFIGURATION, "set `alias` of the stream with `--set deserializers[0].input.NAME.alias=…`"),
    ("max_errors", BINARY, "the format has no faults that can be forgiven"),
    ("arguments", Kinds::of(&[InputKind::Dictionary]), "set values by their paths with `--set PATH=VALUE`"),
    (
        "arguments",
        DATA,
        "only a BrainScript configuration has arguments; several files are one input as a pattern such as 'part-*.ctf', in quotes",
    ),
    ("extended_variables", Kinds::of(&[InputKind::Dictionary]), "JSON and TOML have no variables"),
    ("base_dir", DATA, "give the path of the file itself"),
    ("randomize", DATASET, "shuffle with `--shuffle-files` and `--op shuffle=BUFFER`"),
    ("shuffle", DATASET, "shuffle with `--shuffle-files` and `--op shuffle=BUFFER`"),
    ("batch_size", DATASET, "examples are read one by one; end with `--take N`"),
    (
        "seed",
        DATASET,
        "give `--read-config shuffle_seed=N` for files, `--op shuffle={\"buffer_size\": N, \"seed\": N}` for examples",
    ),
    ("window", DATASET, "give the buffer of a shuffle, `--op shuffle=BUFFER`"),
    ("samples", DATASET, "end with `--take N` examples"),
    ("minibatch", DATASET, "examples are shown one by one; end with `--take N`"),
    ("set", DATASET, "give fields of ReadConfig with `--read-config NAME=VALUE`"),
    ("sharing", DATASET, "examples are always shared by position"),
    ("split", CONFIGURATION, "set `split` of a `TFDSDeserializer`, `--set deserializers[0].split=SPLIT`"),
    ("shuffle_files", CORPUS, "shuffle with `--randomize`"),
    (
        "op",
        CORPUS,
        "shuffle with `--randomize`, end with `--take`, `--sweeps` or `--samples`, share with `--workers`",
    ),
    ("global_seed", CORPUS, "seed the order with `--seed N`"),
    ("on_damage", TEXT.and(CONFIGURATION), "forgive faults with `--max-errors N`"),
    ("start_at", CORPUS, "resume from a state with `--state FILE`"),
    ("epochs", CORPUS, "end with `--sweeps N`"),
    ("data_dir", CORPUS, "it is for the name of a dataset, such as `mnist`"),
    ("cache_dir", CORPUS, "its index lies beside the file"),
    ("label_column", LIBSVM, "the label is the first word of a row"),
    ("stream_columns", LIBSVM, "the streams are `labels` and `features`"),
    ("sparse", LIBSVM, "its features are sparse"),
    ("stream_columns", TEXT, "declare streams with `--stream`"),
    ("stream_columns", CONFIGURATION, "a configuration has its streams in `input`, change them with `--set`"),
    ("stream_columns", BINARY, "a binary file declares its streams, rename them with `--alias`"),
    ("header", CORPUS, "declare a table with `--from csv`"),
    ("delimiter", CORPUS, "declare a table with `--from csv`"),
];

/// The declaration of the command line. The help of an option that is not for all inputs names those that it is for.
pub(crate) fn declaration() -> Command {
    let mut declared = Cli::command();
    for (name, takes) in COMMANDS {
        declared = declared.mut_subcommand(name, |command| {
            let ids: Vec<String> = command.get_arguments().map(|a| a.get_id().to_string()).collect();
            ids.into_iter().fold(command, |command, id| {
                let kinds = Kinds(kinds(name, &id).0 & takes.0);
                command.mut_arg(&id, |argument| {
                    // A number below 0 is a value that its option refuses, and no option itself.
                    let is_valued = argument.get_action().takes_values() && argument.get_long().is_some();
                    // `-h` has the command's own options, `--help` all of them.
                    let is_shared = argument.get_help_heading().is_some();
                    let argument = argument.allow_negative_numbers(is_valued).hide_short_help(is_shared);
                    match argument.get_help().map(ToString::to_string) {
                        _ if (*name, &*id) == ("config", "input") => argument
                            .value_name("CONFIG")
                            .help("A configuration (*.cntk, *.bs, *.json, *.toml)"),
                        _ if (*name, &*id) == ("convert", "input") => argument.help(
                            "What is converted: a configuration, a file in CNTK's text or binary format, a table (*.csv, *.tsv, *.svm, \
                             *.jsonl), or a file of records (*.tfrecord*, *.array_record*)",
                        ),
                        _ if kinds == Kinds::NONE => argument.hide(true),
                        Some(help) if kinds != *takes => {
                            argument.help(format!("{help} [{}]", kinds.describe()))
                        }
                        _ => argument,
                    }
                })
            })
        });
    }
    declared
}

/// The inputs for which an option of a command means something.
fn kinds(command: &str, option: &str) -> Kinds {
    let applies = |(options, commands, _): &&Rule| {
        options.contains(&option) && (commands.is_empty() || commands.contains(&command))
    };
    RULES.iter().filter(applies).fold(Kinds::NONE, |all, rule| all.and(rule.2))
}

/// Refuses an input that the command does not take, and the first option given that the input does not use. `spare`:
/// words after the input that do not belong to it, such as the output.
pub(crate) fn check(
    command: &str,
    declared: &Command,
    given: &ArgMatches,
    path: &Path,
    kind: InputKind,
    spare: usize,
) -> Result<(), Failure> {
    let found = format!("{} is {}", path.display(), kind.describe());
    let takes = COMMANDS.iter().find(|(name, _)| *name == command).map_or(ALL, |(_, kinds)| *kinds);
    if !takes.has(kind) {
        if kind == InputKind::Dataset && !data::exists(&path.join("dataset_info.json")) {
            return Err(Failure::file(path, ErrorKind::IsADirectory.into()));
        }
        let expected = format!("`tesson {command}` takes {}", takes.describe());
        return Err(Failure::Usage(format!("{found}; {expected}; {}", way_to(command, kind, path))));
    }
    kind.refuse_foreign(path)?;
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let has_certificate = command == "plan" && is_given("certificate");
    for argument in declared.find_subcommand(command).into_iter().flat_map(Command::get_arguments) {
        let id = argument.get_id().as_str();
        let n_given = given.get_raw(id).map_or(0, Iterator::count);
        let is_given = is_given(id) && (id != "arguments" || n_given > spare);
        let more = if has_certificate { kinds(WITH_CERTIFICATE, id) } else { Kinds::NONE };
        let kinds = Kinds(kinds(command, id).and(more).0 & takes.0);
        if !is_given || kinds.has(kind) {
            continue;
        }
        let name = match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => {
                let first = given.get_raw(id).and_then(|mut words| words.next()).unwrap_or_default();
                format!("argument `{}`", first.to_string_lossy())
            }
        };
        let remedy = INSTEAD.iter().find(|(option, of, _)| *option == id && of.has(kind));
        let remedy = remedy.map_or("leave it out", |(_, _, remedy)| remedy);
        let expected = if kinds == Kinds::NONE {
            format!("`tesson {command}` does not use it")
        } else {
            format!("the option is for {}", kinds.describe())
        };
        return Err(Failure::Usage(format!("{name}: {found}, {expected}; {remedy}")));
    }
    Ok(())
}

/// The remedy for an input that a command does not take.
fn way_to(command: &str, kind: InputKind, path: &Path) -> String {
    let path = path.display();
    match kind {
        InputKind::Csv | InputKind::LibSvm | InputKind::JsonLines => {
            format!("convert it first, `tesson convert {path} OUT.ctf`, see `tesson convert --help`")
        }
        InputKind::Records => {
            "give the folder of the prepared dataset that it belongs to; for the records of a single file there are `tesson info`, `check`, `index` and `convert`".to_owned()
        }
        InputKind::Dataset if command == "convert" => {
            "convert a configuration with a `TFDSDeserializer`, or single files of records".to_owned()
        }
        InputKind::Dataset => {
            "give a configuration with a `TFDSDeserializer`, or use `tesson read`, `info`, `plan`, `check` or `index`"
                .to_owned()
        }
        _ => "name a configuration (*.cntk, *.bs, *.json, *.toml)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, Parser};
    use std::collections::BTreeSet;

    use super::*;
    use crate::input;

    /// Arguments with an option of a command, and everything that the command or the option requires.
    fn with(command: &Command, option: &clap::Arg) -> Vec<String> {
        let mut words = vec!["tesson".to_owned(), command.get_name().to_owned(), "input".to_owned()];
        let id = option.get_id().as_str();
        let (value, more): (&str, &[&str]) = match id {
            "arguments" => ("a=b", &[]),
            "streams" => ("x:1", &[]),
            "aliases" | "set" | "stream_columns" => ("x=1", &[]),
            "read_config" => ("shuffle_seed=1", &[]),
            "op" => ("take=1", &[]),
            "on_damage" => ("skip", &[]),
            "color" => ("never", &[]),
            "precision" => ("float", &[]),
            "to" if command.get_name() == "config" => ("json", &[]),
            "force" if command.get_name() == "read" => ("", &["--state=x"]),
            "include_buffers" => ("", &["--save-state=x"]),
            "layout" => ("", &["--json"]),
            _ => ("1", &[]),
        };
        match (option.get_long(), option.get_action()) {
            (Some(long), ArgAction::SetTrue) => words.push(format!("--{long}")),
            (Some(long), _) => words.push(format!("--{long}={value}")),
            (None, _) if id == "input" => {}
            (None, _) => words.push(value.to_owned()),
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        if command.get_name() == "show" && id != "key" {
            words.push("--key=1".to_owned());
        }
        words
    }

    #[test]
    fn every_option_of_every_command_is_refused_by_name_for_the_inputs_that_do_not_use_it() {
        let declared = declaration();
        for (name, takes) in COMMANDS {
            let command = declared.find_subcommand(name).expect("the commands of the table are declared");
            for option in command.get_arguments().filter(|o| o.get_id() != "help") {
                let id = option.get_id().as_str();
                let words = with(command, option);
                let matches = declared.clone().try_get_matches_from(&words);
                let matches = matches.unwrap_or_else(|e| panic!("{words:?}: {e}"));
                let given = matches.subcommand_matches(name).expect("it was named");
                for kind in InputKind::ALL.into_iter().filter(|kind| takes.has(*kind)) {
                    let found = check(name, &declared, given, Path::new("input"), kind, 0);
                    let uses = kinds(name, id).has(kind);
                    // Another option that this one requires may be refused before it.
                    if uses && id != "layout" {
                        assert!(found.is_ok(), "{words:?} of {kind:?}: {found:?}");
                    }
                    if !uses {
                        let message = found.expect_err("the input does not use it").to_string();
                        let long =
                            option.get_long().map_or("argument `a=b`".to_owned(), |l| format!("--{l}"));
                        assert!(message.starts_with(&format!("{long}: input is ")), "{message}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_command_is_in_the_table_and_every_line_of_the_table_is_an_option() {
        let mut declared = declaration();
        declared.build();
        let names: BTreeSet<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let without_data = ["state", "completions", "man", "help"];
        let commands = || declared.get_subcommands().filter(|c| !without_data.contains(&c.get_name()));
        assert_eq!(commands().map(Command::get_name).collect::<BTreeSet<_>>(), names);
        for (option, of) in RULES.iter().flat_map(|(options, of, _)| options.iter().map(move |o| (o, of))) {
            let has = |c: &&Command| c.get_arguments().any(|a| a.get_id() == *option);
            let having: Vec<&str> = commands().filter(has).map(Command::get_name).collect();
            assert!(!having.is_empty(), "no command has `{option}`");
            let has_all = of.iter().all(|&name| {
                let command = if name == WITH_CERTIFICATE { "plan" } else { name };
                having.contains(&command)
            });
            assert!(has_all, "`{option}` of {of:?}, found in {having:?}");
        }
        for (option, kinds, _) in INSTEAD {
            let used = commands().all(|c| self::kinds(c.get_name(), option).0 & kinds.0 == kinds.0);
            assert!(!used, "`{option}` has a way round where it is used");
        }
    }

    #[test]
    fn help_says_what_an_option_is_for() {
        let mut declared = declaration();
        let read = declared.find_subcommand_mut("read").expect("declared").render_long_help().to_string();
        assert!(
            read.contains("[prepared datasets]") && read.contains("[configurations and data files]"),
            "{read}"
        );
        let info = declared.find_subcommand_mut("info").expect("declared").render_long_help().to_string();
        assert!(!info.contains("--sweeps") && !info.contains("--split"), "{info}");
    }

    #[test]
    fn options_stand_under_the_heading_of_prepared_datasets_if_they_are_for_these() {
        let declared = declaration();
        for (name, _) in COMMANDS {
            let command = declared.find_subcommand(name).expect("declared");
            for option in command.get_arguments().filter(|o| !o.is_hide_set() && o.get_id() != "help") {
                let id = option.get_id().as_str();
                let is_under = option.get_help_heading() == Some("Prepared datasets");
                assert!(!is_under || kinds(name, id).are_all_in(DATASET), "`{id}` of `{name}`");
            }
        }
    }

    #[test]
    fn usage_and_help_call_an_argument_by_one_name() {
        let mut declared = declaration();
        declared.build();
        for (name, _) in COMMANDS {
            let command = declared.find_subcommand_mut(name).expect("declared");
            let usage = command.render_usage().to_string();
            let input =
                command.get_arguments().find(|a| a.get_id() == "input").expect("every command has it");
            let value = input.get_value_names().expect("it has one")[0].as_str();
            assert!(usage.contains(&format!("<{value}>")), "{usage}");
        }
    }

    /// The words in backticks.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    #[test]
    fn short_help_has_the_own_options_of_a_command_and_long_help_all() {
        let mut read = declaration().find_subcommand("read").expect("declared").clone();
        let (short, long) = (read.render_help().to_string(), read.render_long_help().to_string());
        for (option, is_short) in [
            ("--minibatch-size <", true),
            ("--save-state <", true),
            ("--memory-limit <", false),
            ("--seed <", false),
        ] {
            assert_eq!((short.contains(option), long.contains(option)), (is_short, true), "{option}");
        }
        assert!(short.lines().count() < 60 && short.contains("Examples:"), "{short}");
    }

    #[test]
    fn help_agrees_with_the_option_tables() {
        use tesson_config::READER_OPTIONS;
        use tesson_core::{OptionDefault, OptionKind};

        let mut cli = Cli::try_parse_from(["tesson", "read", "x.ctf"]).expect("an input is enough");
        let crate::args::Command::Data(command) = &mut cli.command else { panic!("it reads data") };
        let common = command.common();
        let read = Cli::command().find_subcommand("read").expect("declared").clone();
        let registry = tesson::registry();
        let text = registry.find("CNTKTextFormatDeserializer", "").expect("a built-in format").options;
        for (long, path, _) in input::configured(common) {
            let option =
                path.rsplit('.').next().and_then(|name| READER_OPTIONS.find(name).or(text.find(name)));
            let option = option.unwrap_or_else(|| panic!("--{long} sets `{path}`, which is no option"));
            let argument = read.get_arguments().find(|a| a.get_long() == Some(long));
            let argument = argument.unwrap_or_else(|| panic!("no command has --{long}"));
            assert!(argument.get_default_values().is_empty(), "--{long}: the default is the option's");
            let help = argument.get_help().expect("every option has help").to_string();
            if let OptionKind::OneOf(words) = option.kind {
                let mut shown = quoted(&help).peekable();
                assert!(
                    shown.peek().is_some() && shown.all(|word| words.contains(&word)),
                    "--{long}: {help}"
                );
            }
            if let Some(before) = help.find(" (default)").map(|end| &help[..end]) {
                let OptionDefault::Value(default) = option.default else { panic!("`{path}` has no default") };
                assert_eq!(quoted(before).last(), Some(default), "--{long}: {help}");
            }
            let value = argument.get_value_names().map(|names| names[0].as_str());
            let is_whole = option.kind == OptionKind::Whole;
            assert_eq!(value == Some("N"), is_whole, "--{long}: {value:?} of {:?}", option.kind);
            assert_eq!(value == Some("BYTES"), option.kind == OptionKind::Bytes, "--{long}: {value:?}");
        }
    }

    #[test]
    fn what_to_write_instead_of_an_option_is_possible_for_the_input() {
        let mut declared = declaration();
        declared.build();
        for (option, of, remedy) in INSTEAD {
            for text in quoted(remedy).filter(|text| text.starts_with("--")) {
                let long = text.trim_start_matches('-').split([' ', '=']).next().expect("a name");
                let is_possible = |kind: InputKind| {
                    declared.get_subcommands().any(|command| {
                        let known =
                            command.get_arguments().find(|argument| argument.get_long() == Some(long));
                        known
                            .is_some_and(|known| kinds(command.get_name(), known.get_id().as_str()).has(kind))
                    })
                };
                // A table is declared by `--from`, whatever the name says.
                let meant = InputKind::ALL.into_iter().filter(|kind| of.has(*kind) || long == "from");
                assert!(meant.into_iter().all(is_possible), "`{text}` instead of `{option}`");
            }
        }
    }

    #[test]
    fn sets_of_inputs_have_names() {
        assert_eq!(CORPUS.describe(), "configurations and data files");
        assert_eq!(SCRIPT.and(TEXT).and(CSV).describe(), "BrainScript, text files and CSV");
        assert_eq!(
            CORPUS.and(RECORDS).and(TABLE).describe(),
            "configurations, data files, tables and files of records"
        );
    }
}
