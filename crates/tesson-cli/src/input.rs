//! Turning arguments into the configuration of a source.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tesson::config::load as load_config;
use tesson::{ConfigError, Error, OpenOptions, Purpose, Source};
use tesson_config::reader::{Reader, check_before_modules};
use tesson_config::{Choices, Loaded};
use tesson_config::{SourceConfig, assignment, bytes, lower, set_value};
use tesson_core::Registry;
use tesson_core::{ConfigSpan, FoundStream, Name, Section, Value, nearest};
use tesson_engine::DEFAULT_MEMORY_LIMIT;
use tesson_plan::Limit;

use crate::args::{Common, InputArgs, OrderArgs};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::input_kind::{InputKind, is_configuration};
use crate::lists::Listed;
use crate::progress::{Progress, note};
use crate::{data, log, stream_proposal};

/// The configuration that the arguments describe.
pub(crate) fn config(common: &Common, extensions: &dyn Extensions) -> Result<SourceConfig, Failure> {
    let input = &common.input;
    let path = &input.input;
    let is_config = matches!(input.kind, InputKind::BrainScript | InputKind::Dictionary);
    let (mut tree, base_dir) = match input.kind {
        InputKind::BrainScript | InputKind::Dictionary => from_config(input)?,
        InputKind::Binary => (from_binary(input)?, None),
        InputKind::Listed => (from_listed(path)?, None),
        InputKind::Dataset => (from_dataset(common)?, None),
        _ => (from_streams(input)?, None),
    };
    let registry = extensions.registry();
    put_options(&mut tree, common, &registry)?;
    for (path, value) in assignments(input)?.iter().filter(|_| !is_config) {
        let given = ConfigSpan::argument(format!("--set {path}"));
        set_value(&mut tree, path, value.clone(), Some(&given))?;
    }
    check_before_modules(&tree, &registry).map_err(|e| named(e.located_in(&tree), path))?;
    let folder = input.base_dir.as_deref().or(base_dir.as_deref().map(Path::new));
    extensions.resolve(&mut tree, folder).map_err(|e| named(e.located_in(&tree), path))?;
    let mut config = lower(&tree, &registry).map_err(|e| named(e.located_in(&tree), path))?;
    if let Some(folder) = folder {
        config.resolve_paths(folder, &registry)?;
    }
    Ok(config)
}

/// Opens a source on the configuration that the arguments describe, changed by `adjust`.
pub(crate) fn open_adjusted(
    common: &Common,
    extensions: &dyn Extensions,
    adjust: impl FnOnce(&mut SourceConfig),
) -> Result<(SourceConfig, Source), Failure> {
    let mut config = config(common, extensions)?;
    adjust(&mut config);
    log::show(config.trace_level);
    let source = open(&config, &common.input)?;
    Ok((config, source))
}

/// Ends the data after one sweep, where neither the configuration nor the command line says where they end.
pub(crate) fn end_after_a_sweep(config: &mut SourceConfig, has_end: bool) {
    if config.minibatches.limit == Limit::Endless && !has_end {
        config.minibatches.limit = Limit::Sweeps(1);
    }
}

/// The failure for an error of a configuration; names the file if the error has no location in it.
fn named(e: ConfigError, path: &Path) -> Failure {
    match e.at {
        None if is_configuration(path) => Failure::Usage(format!("{}: {e}", path.display())),
        _ => e.into(),
    }
}

/// Refuses streams that occur nowhere in the data, and with `sizes` also dimensions on the command line that no
/// sample has: they make empty minibatches, or zeros.
pub(crate) fn expect_streams(source: &Source, input: &InputArgs, sizes: bool) -> Result<(), Failure> {
    if input.allow_empty {
        return Ok(());
    }
    let path = input.input.display();
    for mismatch in source.mismatches()? {
        let stream = &source.streams()[mismatch.stream];
        let what = match mismatch.found {
            FoundStream::Nothing { name, declared, others } => {
                // The first rows of one of the files say why all of them have none.
                let no_name = others.is_empty().then(|| files(input).ok()).flatten();
                match no_name.and_then(|files| stream_proposal::blank_after_pipe(files.first()?)) {
                    Some(what) => return Err(Failure::Usage(what)),
                    None => absent(&stream.name, &name, &declared, &others, input),
                }
            }
            // A configuration may mean that samples are filled up.
            FoundStream::Dim { .. } if !sizes || input.streams.is_empty() => continue,
            FoundStream::Dim { declared, found } => format!(
                "--stream {name}:{declared}: the samples in the first rows have {least}{found} values; give `--stream \
                 {name}:{found}{form}`, or `--allow-empty` to read on all the same",
                name = stream.name,
                least = if stream.sparse { "at least " } else { "" },
                form = if stream.sparse { ":sparse" } else { "" },
            ),
        };
        return Err(Failure::Usage(format!("{path}: {what}")));
    }
    Ok(())
}

/// The error for a stream with a name that occurs nowhere in the data; shows the names that occur.
fn absent(stream: &str, name: &str, declared: &[String], others: &[String], input: &InputArgs) -> String {
    let there: Vec<String> = declared.iter().chain(others).map(|name| format!("`|{name}`")).collect();
    let there = if there.is_empty() { "no inputs".to_string() } else { there.join(", ") };
    let near = nearest(name, others.iter().map(String::as_str));
    let meant = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let other = near.or(others.first().map(String::as_str)).unwrap_or("NAME");
    let remedy = if input.streams.is_empty() {
        format!("the stream's `alias = {other}`")
    } else {
        format!("`--alias {stream}={other}`")
    };
    format!(
        "stream `{stream}`: no row has `|{name}`, there are {there}{meant}; give its name in the file by {remedy}, or \
         `--allow-empty` to read it without samples"
    )
}

/// Memory that reading may take.
pub(crate) fn memory_limit(input: &InputArgs) -> Result<u64, Failure> {
    let Some(text) = &input.memory_limit else { return Ok(DEFAULT_MEMORY_LIMIT) };
    let wrong = || Failure::Usage(format!("--memory-limit {text}: expected a size in bytes such as `2GiB`"));
    bytes::parse(text).filter(|&limit| limit > 0).ok_or_else(wrong)
}

/// Samples of a minibatch of the first epoch, for a command without a schedule.
pub(crate) fn first_size(given: Option<u64>, config: &SourceConfig) -> u64 {
    given.unwrap_or_else(|| config.minibatches.default_sizes().at(0))
}

/// Makes buckets of the size of minibatches, where the command line asks for buckets without saying of which size.
pub(crate) fn size_buckets(config: &mut SourceConfig, order: &OrderArgs, minibatch_size: Option<u64>) {
    if order.bucketing.as_deref() == Some("true") && config.order.bucketing.is_some() {
        config.order.bucketing = minibatch_size.or(config.order.bucketing);
    }
}

/// The configuration in a file, with its arguments.
pub(crate) fn load(input: &InputArgs) -> Result<Loaded, Failure> {
    let path = &input.input;
    let name = utf8(path)?;
    if !is_configuration(path) {
        let what = "expected a configuration (*.cntk, *.bs, *.json, *.toml)";
        return Err(Failure::Usage(format!("{name}: {what}")));
    }
    let choices = Choices {
        arguments: input.arguments.clone(),
        overrides: assignments(input)?,
        override_option: Some("--set"),
        extended_variables: input.extended_variables,
    };
    Ok(load_config(name, &choices)?)
}

/// The paths and values of `--set`.
fn assignments(input: &InputArgs) -> Result<Vec<(String, Value)>, Failure> {
    let one = |text: &String| {
        assignment(text).map_err(|e| e.at(Some(ConfigSpan::argument(format!("--set {text}")))))
    };
    Ok(input.set.iter().map(one).collect::<Result<_, _>>()?)
}

/// Opens a source, with a spinner meanwhile.
pub(crate) fn open(config: &SourceConfig, input: &InputArgs) -> Result<Source, Failure> {
    let _progress = Progress::spinner("opening");
    let source = tesson::open(config).map_err(|e| explained(e, input))?;
    expect_streams(&source, input, true)?;
    Ok(source)
}

/// Files whose sizes are looked up, at most.
const MOST_FILES: usize = 10_000;

/// Bytes of the files that a source reads, where they are known and not too many to ask for.
pub(crate) fn stored_bytes(source: &Source) -> Option<u64> {
    let files: Vec<&Path> = source.files().take(MOST_FILES + 1).collect();
    let sizes = files.iter().map(|file| data::size(file).ok()).collect::<Option<Vec<u64>>>();
    sizes.filter(|sizes| sizes.len() <= MOST_FILES).map(|sizes| sizes.iter().sum())
}

/// Does something that works through the bytes of a source, such as making its index, and shows how far it is.
pub(crate) fn while_working<T>(source: &mut Source, what: &str, act: impl FnOnce(&mut Source) -> T) -> T {
    let (stats, total) = (source.stats_reader(), stored_bytes(source));
    let before = stats.read().bytes_indexed;
    Progress::watching(what, total, move || stats.read().bytes_indexed - before, || act(source))
}

/// Opens an input for a conversion, which need not be a source of minibatches.
pub(crate) fn open_to_convert(config: &SourceConfig, input: &InputArgs) -> Result<Source, Failure> {
    let _progress = Progress::spinner("opening");
    OpenOptions::to(Purpose::Conversion).open(config).map_err(|e| explained(e, input))
}

/// An error of opening in terms of the command line: a file beside the configuration, a limit.
pub(crate) fn explained(e: Error, input: &InputArgs) -> Failure {
    if let Some(failure) = beside(&e, input) {
        return failure;
    }
    match e {
        Error::Config(e) if e.path == "memoryLimit" && input.memory_limit.is_some() => {
            e.at(Some(ConfigSpan::argument("--memory-limit"))).into()
        }
        other => other.into(),
    }
}

/// Adds a remedy to an error if the missing file lies beside the configuration.
fn beside(e: &Error, input: &InputArgs) -> Option<Failure> {
    let Error::Store(missing) = e else { return None };
    let folder = input.input.parent().filter(|p| !p.as_os_str().is_empty())?;
    let is_beside = missing.source.kind() == ErrorKind::NotFound
        && is_configuration(&input.input)
        && data::exists(&folder.join(&missing.file));
    let hint = format!(
        "{}: {}; it lies beside the configuration, add `--base-dir {}`",
        missing.file.display(),
        missing.source,
        folder.display()
    );
    is_beside.then_some(Failure::File(hint))
}

/// The reader in a configuration, and the folder of its relative names.
fn from_config(input: &InputArgs) -> Result<(Section, Option<String>), Failure> {
    let loaded = load(input)?;
    let section = input.section.as_deref();
    let reader = loaded.reader(section).map_err(|e| match (e, section) {
        (Error::Config(e), Some(section)) if e.at.is_none() => {
            let file = input.input.display();
            Failure::Usage(format!("--section {section}: {file}: {e}"))
        }
        (Error::Config(e), _) => named(e, &input.input),
        (e, _) => e.into(),
    })?;
    warn(&reader);
    let base_dir = loaded.base_dir(&reader).map(str::to_owned);
    Ok((reader.section, base_dir))
}

/// Warns of unused options.
pub(crate) fn warn(reader: &Reader) {
    for what in reader.complaints() {
        note(&format!("warning: {what}"));
    }
}

/// A reader of one binary file, which knows its streams.
fn from_binary(input: &InputArgs) -> Result<Section, Failure> {
    let path = &input.input;
    let mut streams = Section::default();
    for given in &input.aliases {
        let (stream, name) = alias_of(given)?;
        streams.push(stream, Value::Section(section([("alias", text(name))])));
    }
    reader("CNTKBinaryFormatDeserializer", path, streams)
}

/// A reader of what is known by its content.
fn from_listed(path: &Path) -> Result<Section, Failure> {
    let gone = || Failure::file(path, ErrorKind::NotFound.into());
    let reader = Listed::of(path).ok_or_else(gone)?.reader(utf8(path)?);
    Ok(tesson_config::json::parse(&reader.to_string())?)
}

/// A reader of the splits of a prepared dataset, as minibatches.
fn from_dataset(common: &Common) -> Result<Section, Failure> {
    let path = utf8(&common.input.input)?;
    // As `read_tfds` has them in Python.
    let mut options = section([
        ("type", text("TFDSDeserializer")),
        ("keepTypes", Value::Bool(true)),
        ("order", text("tfds")),
    ]);
    match &common.dataset.data_dir {
        Some(folder) => {
            options.push("name", text(path));
            options.push("dataDir", text(utf8(folder)?));
        }
        None => options.push("directory", text(path)),
    }
    if let Some(split) = common.dataset.split.first() {
        options.push("split", text(split));
    }
    Ok(section([("deserializers", Value::List(vec![Value::Section(options)]))]))
}

/// A reader of one file.
fn reader(deserializer: &str, file: &Path, streams: Section) -> Result<Section, Failure> {
    let deserializer = section([
        ("type", text(deserializer)),
        ("file", text(utf8(file)?)),
        ("input", Value::Section(streams)),
    ]);
    Ok(section([("deserializers", Value::List(vec![Value::Section(deserializer)]))]))
}

/// The files that match the input, at least one; a pattern may match several.
pub(crate) fn files(input: &InputArgs) -> Result<Vec<PathBuf>, Failure> {
    Ok(tesson_engine::file_patterns::matching(&data::stores(), utf8(&input.input)?, "file")?)
}

fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str()
        .ok_or_else(|| Failure::Usage(format!("{}: the name is no UTF-8, rename the file", path.display())))
}

fn alias_of(given: &str) -> Result<(&str, &str), Failure> {
    given
        .split_once('=')
        .ok_or_else(|| Failure::Usage(format!("--alias {given}: expected STREAM=NAME such as `features=x`")))
}

/// A reader of one text file.
fn from_streams(input: &InputArgs) -> Result<Section, Failure> {
    let path = &input.input;
    // A missing file is the likelier slip than a missing stream.
    let files = files(input)?;
    if data::entry(&files[0]).map_err(|e| Failure::file(&files[0], e))?.is_folder() {
        return Err(Failure::file(&files[0], ErrorKind::IsADirectory.into()));
    }
    if input.streams.is_empty() {
        return Err(Failure::Usage(stream_proposal::missing_streams(&files[0])));
    }
    let mut streams = Section::default();
    for text in &input.streams {
        let (name, stream) = stream(text)?;
        if streams.get(&name).is_some() {
            let what = format!("found two streams `{name}`, expected each once; leave one out");
            return Err(Failure::Usage(format!("--stream {text}: {what}")));
        }
        streams.push(
            Name::at(name, Some(ConfigSpan::argument(format!("--stream {text}")))),
            Value::Section(stream),
        );
    }
    for text in &input.aliases {
        alias(&mut streams, text)?;
    }
    reader("CNTKTextFormatDeserializer", path, streams)
}

/// Parses a stream as it is written on the command line: `features:784`, `labels:10:sparse`, or `x` with the size of
/// its first sample.
fn stream(given: &str) -> Result<(String, Section), Failure> {
    let wrong = |what: &str| {
        let expected = "expected NAME:DIM or NAME:DIM:sparse such as `labels:10:sparse`";
        Failure::Usage(format!("--stream {given}: {what}, {expected}"))
    };
    if given.trim().contains(char::is_whitespace) {
        return Err(wrong("found a blank; each stream has an option `--stream` of its own"));
    }
    let parts: Vec<&str> = given.trim().split(':').collect();
    let (name, dim, form) = match parts[..] {
        [name] => (name, "auto", "dense"),
        [name, dim] => (name, dim, "dense"),
        [name, dim, form] => (name, dim, form),
        _ => return Err(wrong("found more than three parts")),
    };
    if name.is_empty() {
        return Err(wrong("found no name"));
    }
    if let Some(odd) = name.chars().find(|c| ['=', ',', ';', '|'].contains(c)) {
        return Err(wrong(&format!("found `{odd}` in the name")));
    }
    if !["dense", "sparse"].contains(&form) {
        return Err(wrong(&format!("found `{form}`")));
    }
    let dim = match (dim, form) {
        ("auto", "dense") => text(dim),
        _ => whole(dim.parse().map_err(|_| wrong(&format!("found the size `{dim}`")))?),
    };
    Ok((name.to_owned(), section([("format", text(form)), ("dim", dim)])))
}

fn alias(streams: &mut Section, given: &str) -> Result<(), Failure> {
    let (stream, name) = alias_of(given)?;
    let known = streams.0.iter().position(|(n, _)| n.as_str() == stream);
    match known.map(|i| &mut streams.0[i].1) {
        Some(Value::Section(options)) => options.push("alias", text(name)),
        _ => {
            if streams.get(name).is_some() {
                let what = "streams are declared by the name that they are to have";
                return Err(Failure::Usage(format!(
                    "--alias {given}: there is no stream `{stream}`, but one `{name}`; {what}: `--stream {stream}:…`"
                )));
            }
            let near = nearest(stream, streams.0.iter().map(|(n, _)| n.as_str()));
            let hint = near.map_or_else(
                || "give it with --stream first".to_string(),
                |n| format!("did you mean `{n}={name}`?"),
            );
            return Err(Failure::Usage(format!("--alias {given}: there is no stream `{stream}`, {hint}")));
        }
    }
    Ok(())
}

/// An option of the command line, the path of the option of configurations that it sets, and the value given.
pub(crate) type Configured = (&'static str, &'static str, Option<Value>);

/// The options of the command line that set options of configurations.
pub(crate) fn configured(Common { input, order, .. }: &Common) -> [Configured; 14] {
    let words = |given: &Option<String>| given.as_deref().map(text);
    // Text has a budget of its own; what is known by its content shares the reader's.
    let max_errors = if input.kind == InputKind::Listed { "maxErrors" } else { "deserializers[0].maxErrors" };
    [
        ("rules", "deserializers[0].rules", words(&input.rules)),
        ("max-errors", max_errors, input.max_errors.map(whole)),
        ("quarantine", "quarantine", words(&input.quarantine)),
        ("exclude-keys", "excludeKeys", words(&input.exclude_keys)),
        ("threads", "threads", input.threads.map(whole)),
        ("memory-limit", "memoryLimit", words(&input.memory_limit)),
        ("randomize", "randomize", words(&order.randomize)),
        ("seed", "randomizationSeed", order.seed.map(whole)),
        ("sweeps", "maxSweeps", order.sweeps.map(whole)),
        ("samples", "maxSamples", order.samples.map(whole)),
        (
            "minibatch-size-in-sequences",
            "minibatchSizeInSequences",
            order.minibatch_size_in_sequences.map(whole),
        ),
        ("bucketing", "bucketing", words(&order.bucketing)),
        ("equal-steps", "equalSteps", words(&order.equal_steps)),
        ("sharing", "sharing", words(&order.sharing)),
    ]
}

/// Sets the options of a loader: batches of examples that end with their sweep.
fn put_batches(tree: &mut Section, common: &Common) -> Result<(), Failure> {
    let Common { input, order, worker, .. } = common;
    if order.drop_last {
        put(tree, "drop-last", "dropLast", Some(Value::Bool(true)))?;
    }
    let Some(examples) = order.batch_size else { return Ok(()) };
    put(tree, "batch-size", "minibatchSizeInSequences", Some(whole(examples)))?;
    put(tree, "batch-size", "crossSweepEnds", Some(Value::Bool(false)))?;
    put(tree, "batch-size", "sharing", Some(text("position")))?;
    if worker.workers.n > 1 && !order.drop_last {
        put(tree, "batch-size", "equalSteps", Some(text("repeat")))?;
    }
    let is_config = matches!(input.kind, InputKind::BrainScript | InputKind::Dictionary);
    put(tree, "batch-size", "randomize", (!is_config).then_some(Value::Bool(false)))
}

/// Sets the order that `--shuffle` asks for.
fn put_shuffle(tree: &mut Section, window: &str) -> Result<(), Failure> {
    let order = if window == "whole" { text("global") } else { Value::Bool(true) };
    put(tree, "shuffle", "randomize", Some(order))?;
    if window == "whole" { Ok(()) } else { put_window(tree, "shuffle", window) }
}

fn put_options(tree: &mut Section, common: &Common, registry: &Registry) -> Result<(), Failure> {
    put_batches(tree, common)?;
    if let Some(window) = &common.order.shuffle {
        put_shuffle(tree, window)?;
    }
    if let Some(window) = &common.order.window {
        put_window(tree, "window", window)?;
    }
    if common.order.sweeps.is_some() || common.order.samples.is_some() {
        // Another end takes the place of the configured one.
        remove(tree, &["maxSweeps", "maxSamples", "maxEpochs"]);
    }
    for (option, path, value) in configured(common) {
        let path =
            if option == "max-errors" && counts_on_reader(tree, registry) { "maxErrors" } else { path };
        put(tree, option, path, value)?;
    }
    Ok(())
}

/// True if faults of the first deserializer count towards the reader's budget.
fn counts_on_reader(tree: &Section, registry: &Registry) -> bool {
    let Some(Value::List(deserializers)) = tree.get("deserializers") else { return false };
    let Some(Value::Section(first)) = deserializers.first() else { return false };
    let Some(Value::Text(name)) = first.get("type") else { return false };
    registry.find(name, "").is_ok_and(|format| format.options.find("maxErrors").is_none())
}

/// Removes options, whatever the case of their names.
fn remove(tree: &mut Section, names: &[&str]) {
    tree.0.retain(|(name, _)| !names.iter().any(|n| n.eq_ignore_ascii_case(name)));
}

/// Sets an option of the configuration to the value of an option of the command line, if that was given.
fn put(tree: &mut Section, option: &str, path: &str, value: Option<Value>) -> Result<(), Failure> {
    if let Some(value) = value {
        set_value(tree, path, value, Some(&ConfigSpan::argument(format!("--{option}"))))?;
    }
    Ok(())
}

fn put_window(tree: &mut Section, option: &str, window: &str) -> Result<(), Failure> {
    let (size, in_samples) = match window.strip_suffix("samples") {
        Some(size) => (size.trim(), true),
        None => (window.strip_suffix("chunks").unwrap_or(window).trim(), false),
    };
    let size: u64 = size.parse().map_err(|_| {
        Failure::Usage(format!(
            "--{option} {window}: found `{size}`, expected a number of chunks, or of samples as in `50000samples`"
        ))
    })?;
    remove(tree, &["randomizationWindowInChunks", "randomizationWindowInSamples"]);
    put(tree, option, "randomizationWindow", Some(whole(size)))?;
    put(tree, option, "sampleBasedRandomizationWindow", Some(Value::Bool(in_samples)))
}

fn section<const N: usize>(entries: [(&str, Value); N]) -> Section {
    entries.into_iter().collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn whole(n: u64) -> Value {
    Value::Whole(n.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tesson_config::json;

    fn check(given: &str, expected: &str) {
        let (name, stream) = stream(given).unwrap();
        let found = section([(name.as_str(), Value::Section(stream))]);
        assert_eq!(found, json::parse(expected).unwrap(), "{given}");
    }

    #[test]
    fn a_stream_is_a_name_a_size_and_a_form() {
        check("x:784", r#"{"x": {"format": "dense", "dim": 784}}"#);
        check("x:784:dense", r#"{"x": {"format": "dense", "dim": 784}}"#);
        check("y:10:sparse", r#"{"y": {"format": "sparse", "dim": 10}}"#);
        check("z", r#"{"z": {"format": "dense", "dim": "auto"}}"#);
        for wrong in ["", ":3", "x:", "x:three", "x:3:odd", "x:3:sparse:4", "x:-1"] {
            let e = stream(wrong).unwrap_err().to_string();
            assert!(e.contains("expected NAME:DIM"), "{wrong}: {e}");
        }
    }

    #[test]
    fn an_alias_belongs_to_a_stream() {
        let mut streams = json::parse(r#"{"features": {"dim": 3}}"#).unwrap();
        alias(&mut streams, "features=x").unwrap();
        assert_eq!(streams, json::parse(r#"{"features": {"dim": 3, "alias": "x"}}"#).unwrap());
        let e = alias(&mut streams, "featurs=x").unwrap_err().to_string();
        assert_eq!(e, "--alias featurs=x: there is no stream `featurs`, did you mean `features=x`?");
        assert!(alias(&mut streams, "x").unwrap_err().to_string().contains("expected STREAM=NAME"));
    }

    #[test]
    fn a_window_counts_chunks_unless_it_says_samples() {
        let window = |text: &str| {
            let mut tree = json::parse(r#"{"randomizationWindowInChunks": 3}"#).unwrap();
            put_window(&mut tree, "window", text).map(|()| tree)
        };
        let chunks =
            json::parse(r#"{"randomizationWindow": 7, "sampleBasedRandomizationWindow": false}"#).unwrap();
        let samples =
            json::parse(r#"{"randomizationWindow": 7, "sampleBasedRandomizationWindow": true}"#).unwrap();
        assert_eq!(window("7").unwrap(), chunks);
        assert_eq!(window("7chunks").unwrap(), chunks);
        assert_eq!(window("7 samples").unwrap(), samples);
        assert!(window("x").unwrap_err().to_string().contains("--window x"));
    }
}
