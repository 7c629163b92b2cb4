//! From the tree that a user wrote to what it means.

use std::path::PathBuf;

use tesson_core::{ConfigError, Element, KeyType, Options, Registry, Section, Value, split_type};
use tesson_plan::{Ending, EqualSteps, LastSequence, Limit, MissingKeys, Sharing, Window};

use crate::reader::no_size;
use crate::source::{
    DEFAULT_WINDOW, DeserializerConfig, FULL_DATA_SWEEP, INFINITELY_REPEAT, Randomize, SourceConfig,
    StoreKind, Truncation,
};
use crate::{READER_OPTIONS, Schedule, bytes, inherit, schedule, transforms};

/// What the configuration of a reader means. Options that are left out have their defaults.
///
/// Options of deserializers are matched by name against their format's table; their values are looked at when the
/// format makes the deserializer.
///
/// # Errors
/// Unknown options, values of another kind, options that exclude each other, and what [`SourceConfig::check`] refuses.
pub fn lower(tree: &Section, registry: &Registry) -> Result<SourceConfig, ConfigError> {
    let config = understand(tree, registry)?;
    config.check()?;
    Ok(config)
}

/// The same for what cannot be opened, too.
pub(crate) fn understand(tree: &Section, registry: &Registry) -> Result<SourceConfig, ConfigError> {
    if let (None, Some((name, _))) = (tree.get("deserializers"), tree.entry("type")) {
        let what = "found the options of a deserializer, expected those of a reader; write `{\"deserializers\": [ … ]}` around them";
        return Err(ConfigError::new("type", what).at(name.place().cloned()));
    }
    let options = Options::new(&READER_OPTIONS, tree, "")?;
    let mut all = deserializers(&options, registry)?;
    if let Some(place) = primary(&options, &all)? {
        all[..=place].rotate_right(1);
    }
    let mut config = SourceConfig::new(all);
    (config.randomize, config.randomization_window) = order(&options)?;
    config.randomization_seed = whole(&options, "randomizationSeed")?;
    config.sharing = sharing(&options)?;
    config.cross_sweep_ends = options.bool("crossSweepEnds")?;
    config.local_timeline = options.bool("localTimeline")?;
    config.epoch_size = options.whole("epochSize")?.filter(|&samples| samples > 0);
    config.minibatch_size = minibatch_size(&options)?;
    config.minibatch_size_in_sequences = options.whole("minibatchSizeInSequences")?;
    config.bucketing = bucketing(&options, &config)?;
    config.equal_steps = equal_steps(&options)?;
    if options.given("crossSweepEnds").is_none() && config.equal_steps.is_some() {
        config.cross_sweep_ends = config.resolved_sharing() == Sharing::Position;
    }
    config.limit = limit(&options, config.epoch_size)?;
    config.ending = ending(&options)?;
    config.frame_mode = options.bool("frameMode")?;
    config.transforms = transforms::lower(&options)?;
    config.registry = registry.clone();
    config.truncation = truncation(&options)?;
    config.precision = precision(&options, &config.deserializers)?;
    config.use_numeric_sequence_keys = match options.given("useNumericSequenceKeys") {
        Some(_) => options.bool("useNumericSequenceKeys")?,
        None => !config.deserializers.iter().any(|d| d.format.keys == KeyType::Text),
    };
    config.hash_sequence_keys = options.bool("hashSequenceKeys")?;
    config.missing_keys = missing_keys(&options)?;
    config.unique_keys = options.bool("uniqueKeys")?;
    config.max_errors = whole(&options, "maxErrors")?;
    config.max_error_share = max_error_share(&options)?;
    config.quarantine = options.text("quarantine")?.map(PathBuf::from);
    config.cache_index = options.bool("cacheIndex")?;
    config.trace_level = trace_level(&options, &config.deserializers)?;
    config.prefetch = options.bool("prefetch")?;
    config.memory_limit = memory_limit(&options)?;
    config.threads = threads(&options)?;
    config.store = store(&options)?;
    look_at_the_rest(&options)?;
    Ok(config)
}

fn deserializers(options: &Options<'_>, registry: &Registry) -> Result<Vec<DeserializerConfig>, ConfigError> {
    let name = "deserializers";
    let entries: &[Value] = match options.given(name) {
        Some(Value::List(entries)) => entries,
        Some(one @ Value::Section(_)) => std::slice::from_ref(one),
        Some(other) => {
            let what = format!("found {}, expected a list of sections", other.describe());
            return Err(ConfigError::new(name, what));
        }
        None => return Err(ConfigError::new(name, "required option is missing")),
    };
    entries.iter().enumerate().map(|(i, v)| deserializer(v, format!("{name}[{i}]"), registry)).collect()
}

/// Where in the list the deserializer is that `primary` means: by number, type or one of its streams.
fn primary(options: &Options<'_>, all: &[DeserializerConfig]) -> Result<Option<usize>, ConfigError> {
    let name = "primary";
    let Some(wanted) = options.text(name)? else { return Ok(None) };
    let is_meant = |(i, d): (usize, &DeserializerConfig)| {
        let streams = d.options.get("input");
        let has_stream = matches!(streams, Some(Value::Section(streams)) if streams.get(&wanted).is_some());
        (wanted == i.to_string() || wanted == d.format.name || has_stream).then_some(i)
    };
    let meant: Vec<usize> = all.iter().enumerate().filter_map(is_meant).collect();
    let what = match meant[..] {
        [one] => return Ok(Some(one)),
        [] => format!("found `{wanted}`, expected the number, type or a stream of a deserializer"),
        _ => format!("found `{wanted}`, which {} deserializers are; their numbers count from 0", meant.len()),
    };
    Err(ConfigError::new(name, what))
}

fn deserializer(value: &Value, path: String, registry: &Registry) -> Result<DeserializerConfig, ConfigError> {
    let Value::Section(section) = value else {
        return Err(ConfigError::new(path, format!("found {}, expected a section", value.describe())));
    };
    let (name, options) = split_type(section, &path)?;
    let format = registry.find(name, &format!("{path}.type")).map_err(|e| of_module(e, section))?;
    let options = inherit::pushed_down(options, format.options);
    Options::new(format.options, &options, path.clone())?;
    Ok(DeserializerConfig { format, options, path })
}

/// The same, saying who knows more if the section names a module: which types that registers only Python can tell.
fn of_module(mut e: ConfigError, section: &Section) -> ConfigError {
    if let Some(Value::Text(module)) = section.get("module") {
        e.what.push_str(&format!(
            "; if the Python module `{module}` registers it, read it in Python: `python -m tesson`, `MinibatchSource.from_config`"
        ));
    }
    e
}

fn order(options: &Options<'_>) -> Result<(Randomize, Window), ConfigError> {
    let window = window(options)?;
    Ok(match (randomize(options)?, window) {
        (Randomize::Window, None) => (Randomize::Off, DEFAULT_WINDOW),
        (order, window) => (order, window.unwrap_or(DEFAULT_WINDOW)),
    })
}

/// The order. The window may still turn it off.
pub(crate) fn randomize(options: &Options<'_>) -> Result<Randomize, ConfigError> {
    let name = "randomize";
    let given = options.given(name);
    if let Some(Value::Text(word)) = given {
        match word.to_ascii_lowercase().as_str() {
            "none" => return Ok(Randomize::Off),
            "auto" | "window" => return Ok(Randomize::Window),
            "global" => return Ok(Randomize::Global),
            _ => {}
        }
    }
    match options.bool(name) {
        Ok(true) => Ok(Randomize::Window),
        Ok(false) => Ok(Randomize::Off),
        Err(e) => {
            let found = given.map(Value::describe).unwrap_or_default();
            let what = format!("found {found}, expected `true`, `false` or `global`");
            Err(ConfigError::new(e.path, what))
        }
    }
}

/// The window; `None` if its size is 0, which turns shuffling off.
fn window(options: &Options<'_>) -> Result<Option<Window>, ConfigError> {
    let size = options.whole("randomizationWindow")?;
    let in_samples = options.bool("sampleBasedRandomizationWindow")?;
    let (chunks, samples) =
        (options.whole("randomizationWindowInChunks")?, options.whole("randomizationWindowInSamples")?);
    let window = match (size, chunks, samples) {
        (None, None, None) if in_samples => return Err(no_size()),
        (None, None, None) => DEFAULT_WINDOW,
        (Some(n), None, None) if in_samples => Window::Samples(n),
        (Some(n), None, None) => Window::Chunks(n),
        (None, Some(1..), Some(1..)) => {
            let what = "the window is given in chunks and in samples; one of the two must be 0";
            return Err(ConfigError::new("randomizationWindowInSamples", what));
        }
        (None, None | Some(0), Some(n)) => Window::Samples(n),
        (None, Some(n), _) => Window::Chunks(n),
        (Some(_), _, _) => {
            let what = "the window is given twice; leave out `randomizationWindowInChunks` and `…InSamples`";
            return Err(ConfigError::new("randomizationWindow", what));
        }
    };
    Ok(Some(window).filter(|w| !matches!(w, Window::Chunks(0) | Window::Samples(0))))
}

fn sharing(options: &Options<'_>) -> Result<Option<Sharing>, ConfigError> {
    Ok(options.text("sharing")?.map(|word| match word.as_str() {
        "position" => Sharing::Position,
        _ => Sharing::Chunk,
    }))
}

fn missing_keys(options: &Options<'_>) -> Result<MissingKeys, ConfigError> {
    match (options.bool("strictKeys")?, options.bool("outerJoin")?) {
        (false, false) => Ok(MissingKeys::LeaveOut),
        (false, true) => Ok(MissingKeys::Empty),
        (true, false) => Ok(MissingKeys::Refuse),
        (true, true) => {
            let what = "sequences with missing keys are kept by `outerJoin`; only one of the two may be set";
            Err(ConfigError::new("strictKeys", what))
        }
    }
}

fn minibatch_size(options: &Options<'_>) -> Result<Option<Schedule>, ConfigError> {
    let name = "minibatchSize";
    let text = match options.given(name) {
        None => return Ok(None),
        Some(Value::List(items)) => {
            let items: Vec<String> =
                items.iter().map(|i| i.describe().trim_matches('`').to_string()).collect();
            items.join(":")
        }
        Some(_) => options.text(name)?.unwrap_or_default(),
    };
    schedule::parse(&text).map(Some)
}

fn equal_steps(options: &Options<'_>) -> Result<Option<EqualSteps>, ConfigError> {
    Ok(match options.text("equalSteps")?.as_deref() {
        Some("drop") => Some(EqualSteps::Drop),
        Some("repeat") => Some(EqualSteps::Repeat),
        Some("empty") => Some(EqualSteps::Empty),
        _ => None,
    })
}

/// Samples of a bucket.
fn bucketing(options: &Options<'_>, config: &SourceConfig) -> Result<Option<u64>, ConfigError> {
    let name = "bucketing";
    let text = options.text(name)?.unwrap_or_default();
    match text.to_ascii_lowercase().as_str() {
        "false" => Ok(None),
        "true" => Ok(Some(config.default_sizes().at(0))),
        number => number.parse().map(Some).map_err(|_| {
            let what = format!("found `{text}`, expected `true`, `false` or a number of samples");
            ConfigError::new(options.path(name), what)
        }),
    }
}

fn limit(options: &Options<'_>, epoch_size: Option<u64>) -> Result<Limit, ConfigError> {
    let (sweeps, samples) = (whole(options, "maxSweeps")?, whole(options, "maxSamples")?);
    if let Some(epochs) = options.whole("maxEpochs")? {
        if (sweeps, samples) != (INFINITELY_REPEAT, INFINITELY_REPEAT) {
            let what = "`maxSweeps` or `maxSamples` is given, too; only one of the three may be";
            return Err(ConfigError::new("maxEpochs", what));
        }
        return Ok(match epoch_size {
            None => Limit::Sweeps(epochs),
            Some(_) if epochs == 0 => Limit::Sweeps(0),
            Some(samples) => Limit::Samples(samples.saturating_mul(epochs)),
        });
    }
    match (sweeps, samples) {
        (INFINITELY_REPEAT, INFINITELY_REPEAT) => Ok(Limit::Endless),
        (INFINITELY_REPEAT, FULL_DATA_SWEEP) => Ok(Limit::Sweeps(1)),
        (INFINITELY_REPEAT, samples) => Ok(Limit::Samples(samples)),
        (sweeps, INFINITELY_REPEAT) => Ok(Limit::Sweeps(sweeps)),
        (sweeps, samples) => {
            let what =
                format!("found {samples} beside `maxSweeps` {sweeps}; only one of the two may be given");
            Err(ConfigError::new("maxSamples", what))
        }
    }
}

fn ending(options: &Options<'_>) -> Result<Ending, ConfigError> {
    let last_sequence = match options.text("maxSamplesEnd")?.as_deref() {
        Some("before") => LastSequence::LeftOut,
        Some("inside") => LastSequence::Cut,
        _ => LastSequence::Whole,
    };
    Ok(Ending { last_sequence, drop_last: options.bool("dropLast")? })
}

fn truncation(options: &Options<'_>) -> Result<Option<Truncation>, ConfigError> {
    let length = whole(options, "truncationLength")?;
    let right_splice = whole(options, "rightSplice")?;
    // Python says only how long (0 is off), BrainScript says whether; then the length alone means nothing.
    let on = if options.given("truncated").is_some() { options.bool("truncated")? } else { length > 0 };
    let keep_sparse = options.bool("keepSparse")?;
    Ok(on.then_some(Truncation { length, right_splice, keep_sparse }))
}

/// The type of values: one for the whole reader, though a deserializer may be where it is written.
fn precision(options: &Options<'_>, deserializers: &[DeserializerConfig]) -> Result<Element, ConfigError> {
    let name = "precision";
    let reader = element(options, name)?;
    let mut found = options.given(name).map(|_| reader);
    for d in deserializers.iter().filter(|d| d.format.options.find(name).is_some()) {
        let own = Options::new(d.format.options, &d.options, d.path.clone())?;
        if own.given(name).is_none() {
            continue;
        }
        let own_element = element(&own, name)?;
        if found.is_some_and(|f| f != own_element) {
            let what = format!("found {}, the reader has another; one holds for all", own_element.name());
            return Err(ConfigError::new(own.path(name), what));
        }
        found = Some(own_element);
    }
    Ok(found.unwrap_or(reader))
}

fn element(options: &Options<'_>, name: &str) -> Result<Element, ConfigError> {
    Ok(match options.text(name)?.as_deref() {
        Some("double" | "float64") => Element::F64,
        _ => Element::F32,
    })
}

/// The reader's own level, else that of the first deserializer that has one, else warnings.
fn trace_level(options: &Options<'_>, deserializers: &[DeserializerConfig]) -> Result<u8, ConfigError> {
    let name = "traceLevel";
    if let Some(level) = options.whole(name)? {
        return level_of(level, options.path(name));
    }
    for d in deserializers.iter().filter(|d| d.format.options.find(name).is_some()) {
        let own = Options::new(d.format.options, &d.options, d.path.clone())?;
        if own.given(name).is_some() {
            return level_of(whole(&own, name)?, own.path(name));
        }
    }
    Ok(1)
}

fn level_of(level: u64, path: String) -> Result<u8, ConfigError> {
    match level {
        0..=2 => Ok(level as u8),
        _ => Err(ConfigError::new(path, format!("found {level}, expected 0, 1 or 2"))),
    }
}

fn memory_limit(options: &Options<'_>) -> Result<Option<u64>, ConfigError> {
    let name = "memoryLimit";
    let Some(text) = options.text(name)? else { return Ok(None) };
    match bytes::parse(&text) {
        Some(bytes) if bytes > 0 => Ok(Some(bytes)),
        _ => {
            let what = format!("found `{text}`, expected a size in bytes such as `2GiB` or `512MB`");
            Err(ConfigError::new(options.path(name), what))
        }
    }
}

fn threads(options: &Options<'_>) -> Result<usize, ConfigError> {
    let name = "threads";
    let n = whole(options, name)?;
    match usize::try_from(n) {
        Ok(n) if n <= MOST_THREADS => Ok(n),
        _ => Err(ConfigError::new(options.path(name), format!("found {n}, expected at most {MOST_THREADS}"))),
    }
}

fn max_error_share(options: &Options<'_>) -> Result<f64, ConfigError> {
    let name = "maxErrorShare";
    let share = options.real(name)?.unwrap_or(0.0);
    match share {
        0.0..=1.0 => Ok(share),
        _ => {
            Err(ConfigError::new(options.path(name), format!("found {share}, expected a share from 0 to 1")))
        }
    }
}

/// More threads than any machine has cores: a larger number is a slip of the pen, and would take all memory for stacks.
const MOST_THREADS: usize = 4096;

fn store(options: &Options<'_>) -> Result<StoreKind, ConfigError> {
    Ok(match options.text("store")?.as_deref() {
        Some("mmap") => StoreKind::Mmap,
        _ => StoreKind::File,
    })
}

/// Options without effect still have to be what they say.
fn look_at_the_rest(options: &Options<'_>) -> Result<(), ConfigError> {
    options.bool("multiThreadedDeserialization")?;
    options.bool("checkData")?;
    options.text("module")?;
    // Who reads the file knows where it lies.
    options.text("pathsRelativeTo")?;
    let verbosity = whole(options, "verbosity")?;
    if verbosity > 3 {
        return Err(ConfigError::new("verbosity", format!("found {verbosity}, expected 0 to 3")));
    }
    Ok(())
}

fn whole(options: &Options<'_>, name: &str) -> Result<u64, ConfigError> {
    Ok(options.whole(name)?.unwrap_or(0))
}
