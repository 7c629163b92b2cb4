//! `tesson convert`: sequences from one format to another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tesson::Element;
use tesson::config::Randomize;
use tesson_config::{SourceConfig, bytes};
use tesson_convert::{
    ConvertError, Corpus, Csv, Form, JsonLines, Sequences, StreamColumns, StreamSpec, Svm, TableOptions,
    Written,
};
use tesson_formats::mlf::write::LabelForm;
use tesson_plan::Limit;

use crate::args::ConvertArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input_kind::{InputKind, extension};
use crate::output::{Output, count, size};
use crate::progress::{Progress, note};
use crate::stream_proposal::stream_option;
use crate::{data, input, interrupt, log};

/// Takes the output from the words after the input, and removes it if a signal ends the command.
pub(crate) fn prepare(args: &ConvertArgs) -> Result<ConvertArgs, Failure> {
    let mut args = args.clone();
    let Some(output) = args.common.input.arguments.pop() else {
        let example = format!("`tesson convert {} OUT.cbf`", args.common.input.input.display());
        return Err(Failure::Usage(format!(
            "the output file is missing: give it after the input, {example}"
        )));
    };
    args.output = output.into();
    if args.output == Path::new("-") {
        let what = "the output is a file, it cannot be written to standard output";
        return Err(Failure::Usage(format!("-: {what}; give its name, such as `out.cbf`")));
    }
    if data::is_folder(&args.output) {
        let example = args.output.join("out.cbf");
        let what = format!("found a folder, expected the name of a file such as `{}`", example.display());
        return Err(Failure::Usage(format!("{}: {what}", args.output.display())));
    }
    args.to = args.to.map(|to| to.to_ascii_lowercase());
    interrupt::remove_unfinished_files().map_err(|e| {
        let remedy = "end other processes of this user, or raise their limit (`ulimit -u`)";
        Failure::File(format!("no thread can be started that awaits signals: {e}; {remedy}"))
    })?;
    Ok(args)
}

pub(crate) fn run(args: &ConvertArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let kind = kind_of_output(args)?;
    let mut opened = open(args, kind, extensions)?;
    let form = form(args, kind, &opened)?;
    let inputs: Vec<PathBuf> = opened.files.iter().chain([&args.common.input.input]).cloned().collect();
    let existing = args.existing();
    tesson_convert::check_output(&args.output, &inputs, existing)?;
    let written = {
        let progress = Progress::bytes("converting", opened.bytes);
        tesson_convert::write(&mut *opened.sequences, &args.output, existing, form, &mut |read| {
            progress.at(read)
        })?
    };
    if args.verify {
        // The first reading is closed, so that the second has the memory to itself.
        drop(opened);
        let mut again = open(args, kind, extensions)?;
        let progress = Progress::bytes("verifying", again.bytes);
        let report = &mut |read| progress.at(read);
        tesson::convert::verify(&mut *again.sequences, &args.output, form, &written, report)?;
    }
    show(args, form, &written, out)
}

/// Sequences that are to be converted, the files that they come from, and their size.
struct Opened {
    sequences: Box<dyn Sequences>,
    files: Vec<PathBuf>,
    bytes: u64,
    /// True if the beginnings of phones are marked in labels.
    boundaries: bool,
}

impl Opened {
    fn new(sequences: Box<dyn Sequences>, files: Vec<PathBuf>) -> Result<Opened, Failure> {
        let bytes = files.iter().map(|path| data::size(path)).sum::<Result<u64, Failure>>()?;
        Ok(Opened { sequences, files, bytes, boundaries: false })
    }
}

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    Text,
    Binary,
    Labels(LabelForm),
}

fn kind_of_output(args: &ConvertArgs) -> Result<OutputKind, Failure> {
    let name = args.to.clone().unwrap_or_else(|| extension(&args.output));
    let without_chunks = |kind: OutputKind, what: &str| match &args.chunk_size {
        None => Ok(kind),
        Some(size) => Err(Failure::Usage(format!(
            "--chunk-size {size}: {} is a file {what}, the option is for the binary format (`--to cbf`); chunks are those of `chunkSizeInBytes` where it is read",
            args.output.display()
        ))),
    };
    match name.as_str() {
        "ctf" | "txt" => without_chunks(OutputKind::Text, "in CNTK's text format"),
        "cbf" => Ok(OutputKind::Binary),
        "mlf" => without_chunks(OutputKind::Labels(LabelForm::Text), "of labels"),
        "bmlf" => without_chunks(OutputKind::Labels(LabelForm::Binary), "of labels"),
        other => {
            let output = args.output.display();
            let found = match (args.to.is_some(), other) {
                (true, other) => format!("--to {other}: found the format `{other}`"),
                (false, "") => format!("{output}: the name has no extension that says the format"),
                (false, other) => format!("{output}: found the format `{other}`"),
            };
            Err(Failure::Usage(format!(
                "{found}, expected `ctf` or `cbf`, or for labels of speech `mlf` or `bmlf`; name it with --to"
            )))
        }
    }
}

/// The form of the output.
fn form(args: &ConvertArgs, kind: OutputKind, opened: &Opened) -> Result<Form, Failure> {
    match (kind, &args.chunk_size) {
        (OutputKind::Text, _) => Ok(Form::Text),
        (OutputKind::Labels(form), _) => Ok(Form::Labels { form, boundaries: opened.boundaries }),
        (OutputKind::Binary, None) => Ok(Form::binary_of(opened.bytes)),
        (OutputKind::Binary, Some(text)) => match bytes::parse(text) {
            Some(chunk_bytes) if chunk_bytes > 0 => Ok(Form::Binary { chunk_bytes }),
            _ => Err(Failure::Usage(format!(
                "--chunk-size {text}: found `{text}`, expected a size in bytes such as `32MiB`"
            ))),
        },
    }
}

/// Opens the input at its beginning.
fn open(args: &ConvertArgs, kind: OutputKind, extensions: &dyn Extensions) -> Result<Opened, Failure> {
    let path = &args.common.input.input;
    let declared = args.from.clone().unwrap_or_else(|| extension(path));
    let in_table = |e| match e {
        ConvertError::Usage(what) => Failure::Usage(format!("{}: {what}", path.display())),
        other => other.into(),
    };
    let sequences: Box<dyn Sequences> = match args.common.input.kind {
        InputKind::Csv => {
            Box::new(Csv::open(&data::stores(), path, &table(args, declared == "tsv")?).map_err(in_table)?)
        }
        InputKind::LibSvm => Box::new(
            Svm::open(&data::stores(), path, &table(args, false)?, args.zero_based).map_err(in_table)?,
        ),
        InputKind::JsonLines => {
            Box::new(JsonLines::open(&data::stores(), path, &table(args, false)?).map_err(in_table)?)
        }
        _ => return corpus(args, kind, extensions),
    };
    Opened::new(sequences, vec![path.clone()])
}

fn table(args: &ConvertArgs, tabs: bool) -> Result<TableOptions, Failure> {
    let delimiter = match args.delimiter.as_deref() {
        None if tabs => b'\t',
        None => b',',
        Some("\\t" | "tab") => b'\t',
        Some(text) => match text.as_bytes() {
            [one] => *one,
            _ => {
                return Err(Failure::Usage(format!(
                    "--delimiter {text}: found {} characters, expected one, or `tab`",
                    text.chars().count()
                )));
            }
        },
    };
    let streams: Result<Vec<_>, String> =
        args.stream_columns.iter().map(|text| StreamColumns::parse(text)).collect();
    let mut options = TableOptions::default();
    options.header = args.header;
    options.delimiter = delimiter;
    options.label = args.label_column.clone();
    options.one_hot = args.one_hot;
    options.sparse = args.sparse;
    options.key = args.key_column.clone();
    options.streams = streams.map_err(|e| Failure::Usage(format!("--streams: {e}")))?;
    options.dim = args.dim;
    // An explicit type requests rounding to its nearest numbers.
    options.rounded = args.precision.is_some();
    options.element = if args.precision.as_deref() == Some("double") { Element::F64 } else { Element::F32 };
    Ok(options)
}

/// Opens an input that the other commands read, too: a configuration, a text file with its streams, a binary file.
fn corpus(args: &ConvertArgs, kind: OutputKind, extensions: &dyn Extensions) -> Result<Opened, Failure> {
    let mut config = input::config(&args.common, extensions)?;
    let mut boundaries = false;
    if matches!(kind, OutputKind::Labels(_)) {
        (config, boundaries) = config.labels_config()?;
    }
    config.order.randomize = Randomize::Off;
    config.minibatches.limit = Limit::Sweeps(1);
    log::show(config.trace_level);
    let doubles = doubles(&mut config, args)?;
    let source = match kind {
        OutputKind::Labels(_) => input::open_to_convert(&config, &args.common.input)?,
        _ => input::open(&config, &args.common.input)?,
    };
    let element = config.defaults.precision;
    let files = source.files().map(Path::to_path_buf).collect();
    let corpus = Corpus::new(source, |stream| match &doubles {
        Some(names) if !names.contains(&stream.name) => Element::F32,
        _ => element,
    });
    Ok(Opened { boundaries, ..Opened::new(Box::new(corpus), files)? })
}

/// Reads a binary file in double precision if any of its streams has it, and returns the names of those streams.
/// `None` if the precision is given, and for all other inputs.
fn doubles(config: &mut SourceConfig, args: &ConvertArgs) -> Result<Option<Vec<String>>, Failure> {
    match args.precision.as_deref() {
        Some("double") => config.defaults.precision = Element::F64,
        Some(_) => config.defaults.precision = Element::F32,
        None if args.common.input.kind == InputKind::Binary => {
            let all =
                tesson_convert::binary_elements(&data::stores(), &input::files(&args.common.input)?[0])?;
            let doubles: Vec<String> =
                all.into_iter().filter(|(_, e)| *e == Element::F64).map(|(name, _)| name).collect();
            if !doubles.is_empty() && config.defaults.precision == Element::F32 {
                config.defaults.precision = Element::F64;
                let aliases = || args.common.input.aliases.iter().filter_map(|alias| alias.split_once('='));
                let renamed = |name: String| {
                    let alias = aliases().find(|(_, field)| *field == name);
                    alias.map_or(name, |(stream, _)| stream.to_owned())
                };
                return Ok(Some(doubles.into_iter().map(renamed).collect()));
            }
        }
        None => {}
    }
    Ok(None)
}

fn show(args: &ConvertArgs, form: Form, written: &Written, out: &mut Output) -> Result<(), Failure> {
    let stream = |stream: &StreamSpec| {
        serde_json::json!({
            "name": stream.name, "dim": stream.dim, "dtype": stream.element.name(), "sparse": stream.sparse,
        })
    };
    let json = serde_json::json!({
        "output": args.output.to_string_lossy(),
        "bytes": written.bytes,
        "sequences": written.sequences,
        "samples": written.samples,
        "streams": written.streams.iter().map(stream).collect::<Vec<_>>(),
        "keysKept": written.lost_key.is_none(),
        "verified": args.verify,
    });
    if let Some(key) = &written.lost_key {
        note(&format!(
            "warning: {}: the binary format keeps no keys, sequences have the numbers 0, 1, … instead, as the one with the key \
             `{key}`; to join them with others by key, write text (`--to ctf`)",
            args.output.display()
        ));
    }
    let mut pairs = vec![
        ("output", format!("{} ({})", args.output.display(), size(written.bytes))),
        ("sequences", count(written.sequences)),
        ("samples", count(written.samples)),
    ];
    if form == Form::Text {
        let option = |s: &StreamSpec| stream_option(&s.name, s.dim.unwrap_or_default(), s.sparse);
        let mut options: Vec<String> = written.streams.iter().map(option).collect();
        options.extend(written.text_keys.then(|| "--set useNumericSequenceKeys=false".to_owned()));
        pairs.push(("streams", options.join(" ")));
    }
    if args.verify {
        let types: BTreeSet<&str> = written.streams.iter().map(|s| s.element.name()).collect();
        let types: Vec<&str> = types.into_iter().collect();
        pairs.push(("verified", format!("every sequence, bit for bit in {}", types.join(" and "))));
    }
    Ok(out.answer(&json, &pairs)?)
}

impl From<ConvertError> for Failure {
    fn from(e: ConvertError) -> Failure {
        match e {
            ConvertError::Input(e) => e.into(),
            ConvertError::Usage(what) => Failure::Usage(what),
            ConvertError::File { file, source } => Failure::file(&file, source),
            other => Failure::File(other.to_string()),
        }
    }
}
