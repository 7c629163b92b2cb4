//! `tesson convert`: sequences from one format to another.

use std::fs;
use std::path::{Path, PathBuf};

use tesson::Source;
use tesson::config::{Randomize, SourceConfig, bytes};
use tesson::convert::{
    self, ConvertError, Corpus, Csv, Form, JsonLines, Sequences, StreamColumns, StreamSpec, Svm,
    TableOptions, Written,
};
use tesson_core::Element;
use tesson_plan::Limit;

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::host::Host;
use crate::output::{Output, count, size};
use crate::progress::Progress;
use crate::{input, log, records};

pub(crate) fn run(args: &ConvertArgs, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    let mut args = args.clone();
    let Some(output) = args.input.arguments.pop() else {
        return Err(Failure::Usage("the file to be written is missing, name it behind the input".into()));
    };
    args.output = output.into();
    if input::files(&args.input)?.iter().any(|file| same_file(file, &args.output)) {
        let what = "input and output are one file";
        return Err(Failure::Usage(format!("{}: {what}", args.input.input.display())));
    }
    match records::convert(&args, out)? {
        Some(()) => Ok(()),
        None => convert(&args, host, out),
    }
}

fn convert(args: &ConvertArgs, host: &dyn Host, out: &mut Output) -> Result<(), Failure> {
    let form = form(args)?;
    let mut opened = open(args, host)?;
    let written = {
        let progress = Progress::bytes("converting", opened.bytes);
        convert::write(&mut *opened.sequences, &args.output, form, &mut |read| progress.at(read))?
    };
    if args.verify {
        // The first reading is closed, so that the second has the memory to itself.
        drop(opened);
        let mut again = open(args, host)?;
        let progress = Progress::bytes("verifying", again.bytes);
        let report = &mut |read| progress.at(read);
        convert::verify(&mut *again.sequences, &args.output, form, &written, report)?;
    }
    if out.is_json() { json(args, &written, out) } else { text(args, form, &written, out) }
}

/// Sequences that are to be converted, and the bytes that they come from.
struct Opened {
    sequences: Box<dyn Sequences>,
    bytes: u64,
}

/// What the output is to be.
fn form(args: &ConvertArgs) -> Result<Form, Failure> {
    let kind = args.to.clone().unwrap_or_else(|| input::extension(&args.output));
    match kind.as_str() {
        "ctf" | "txt" => Ok(Form::Text),
        "cbf" => match &args.chunk_size {
            None => Ok(Form::BINARY),
            Some(text) => match bytes::parse(text) {
                Some(chunk_bytes) if chunk_bytes > 0 => Ok(Form::Binary { chunk_bytes }),
                _ => Err(Failure::Usage(format!(
                    "--chunk-size {text}: expected a size in bytes such as `32MiB`"
                ))),
            },
        },
        other => {
            let what =
                format!("{}: found the format `{other}`, expected `ctf` or `cbf`", args.output.display());
            Err(Failure::Usage(format!("{what}; name it with --to")))
        }
    }
}

/// Opens the input at its beginning.
fn open(args: &ConvertArgs, host: &dyn Host) -> Result<Opened, Failure> {
    let files = input::files(&args.input)?;
    let size = |path: &PathBuf| Ok(fs::metadata(path).map_err(|e| Failure::file(path, e))?.len());
    let bytes = files.iter().map(size).sum::<Result<u64, Failure>>()?;
    let path = &args.input.input;
    let kind = args.from.clone().unwrap_or_else(|| input::extension(path));
    let sequences: Box<dyn Sequences> = match kind.as_str() {
        "csv" | "tsv" => Box::new(Csv::open(path, &table(args, kind == "tsv")?)?),
        "svm" | "libsvm" | "svmlight" => Box::new(Svm::open(path, &table(args, false)?, args.zero_based)?),
        "jsonl" | "ndjson" => Box::new(JsonLines::open(path, &table(args, false)?)?),
        _ => return corpus(args, bytes, host),
    };
    Ok(Opened { sequences, bytes })
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

fn table(args: &ConvertArgs, tabs: bool) -> Result<TableOptions, Failure> {
    let delimiter = match args.delimiter.as_deref() {
        None if tabs => b'\t',
        None => b',',
        Some("\\t" | "tab") => b'\t',
        Some(text) => match text.as_bytes() {
            [one] => *one,
            _ => return Err(Failure::Usage(format!("--delimiter {text}: expected one character, or `tab`"))),
        },
    };
    let streams: Result<Vec<_>, String> =
        args.stream_columns.iter().map(|text| StreamColumns::parse(text)).collect();
    Ok(TableOptions {
        header: args.header,
        delimiter,
        label: args.label_column.clone(),
        one_hot: args.one_hot,
        sparse: args.sparse,
        key: args.key_column.clone(),
        streams: streams.map_err(|e| Failure::Usage(format!("--streams: {e}")))?,
        dim: args.dim,
        element: if args.precision.as_deref() == Some("double") { Element::F64 } else { Element::F32 },
    })
}

/// Opens what the other commands read, too: a configuration, a text file with its streams, a binary file.
fn corpus(args: &ConvertArgs, bytes: u64, host: &dyn Host) -> Result<Opened, Failure> {
    for (given, option) in [
        (args.header, "--header"),
        (args.sparse, "--sparse"),
        (args.zero_based, "--zero-based"),
        (args.delimiter.is_some(), "--delimiter"),
        (args.label_column.is_some(), "--label-column"),
        (args.one_hot.is_some(), "--one-hot"),
        (args.key_column.is_some(), "--key-column"),
        (args.dim.is_some(), "--dim"),
        (!args.stream_columns.is_empty(), "--streams"),
    ] {
        if given {
            let what = "is for tables (csv, svm, jsonl); name the format with --from";
            return Err(Failure::Usage(format!("{option} {what}")));
        }
    }
    let mut config = input::config(&args.input, None, host)?;
    config.randomize = Randomize::Off;
    config.limit = Limit::Sweeps(1);
    log::show(config.trace_level);
    let doubles = doubles(&mut config, args)?;
    let source = Source::open(&config).map_err(|e| input::beside(&e, &args.input).unwrap_or(e.into()))?;
    let element = config.precision;
    let corpus = Corpus::new(source, |stream| match &doubles {
        Some(names) if !names.contains(&stream.name) => Element::F32,
        _ => element,
    });
    Ok(Opened { sequences: Box::new(corpus), bytes })
}

/// Reads a binary file in double precision if any of its streams has it, and returns the names of those that do; `None`
/// where the precision is given, and for everything else.
fn doubles(config: &mut SourceConfig, args: &ConvertArgs) -> Result<Option<Vec<String>>, Failure> {
    match args.precision.as_deref() {
        Some("double") => config.precision = Element::F64,
        Some(_) => config.precision = Element::F32,
        None if input::is_binary(&args.input.input, &input::extension(&args.input.input)) => {
            let all = convert::binary_elements(&input::files(&args.input)?[0])?;
            let doubles: Vec<String> =
                all.into_iter().filter(|(_, e)| *e == Element::F64).map(|(name, _)| name).collect();
            if !doubles.is_empty() && config.precision == Element::F32 {
                config.precision = Element::F64;
                let renamed = |name: String| {
                    args.input
                        .aliases
                        .iter()
                        .find_map(|alias| {
                            alias
                                .split_once('=')
                                .filter(|(_, field)| *field == name)
                                .map(|(stream, _)| stream.to_owned())
                        })
                        .unwrap_or(name)
                };
                return Ok(Some(doubles.into_iter().map(renamed).collect()));
            }
        }
        None => {}
    }
    Ok(None)
}

/// A stream as other commands take it.
fn option(stream: &StreamSpec) -> String {
    let sparse = if stream.sparse { ":sparse" } else { "" };
    format!("--stream {}:{}{sparse}", stream.name, stream.dim.unwrap_or_default())
}

fn text(args: &ConvertArgs, form: Form, written: &Written, out: &mut Output) -> Result<(), Failure> {
    out.pair("output", &format!("{} ({})", args.output.display(), size(written.bytes)))?;
    out.pair("sequences", &count(written.sequences))?;
    out.pair("samples", &count(written.samples))?;
    if form == Form::Text {
        out.pair("streams", &written.streams.iter().map(option).collect::<Vec<_>>().join(" "))?;
    }
    if args.verify {
        out.pair("verified", "every sequence, bit for bit")?;
    }
    Ok(())
}

fn json(args: &ConvertArgs, written: &Written, out: &mut Output) -> Result<(), Failure> {
    let stream = |stream: &StreamSpec| {
        serde_json::json!({
            "name": stream.name, "dim": stream.dim, "dtype": stream.element.name(), "sparse": stream.sparse,
        })
    };
    let answer = serde_json::json!({
        "output": args.output.to_string_lossy(),
        "bytes": written.bytes,
        "sequences": written.sequences,
        "samples": written.samples,
        "streams": written.streams.iter().map(stream).collect::<Vec<_>>(),
        "verified": args.verify,
    });
    out.line(&answer.to_string())?;
    Ok(())
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
