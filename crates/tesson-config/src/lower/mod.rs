//! From the tree that a user wrote to what it means.

mod deserializers;
mod order;

use std::path::PathBuf;

use tesson_core::{ConfigError, FaultRules, Options, Registry, RuntimeSpec, Section, Value};
use tesson_plan::{Ending, JoinRules, Limit, MissingKeys, SegmentLength, Sharing, Truncation};

pub(crate) use deserializers::sections;
pub(crate) use order::{WHOLE_SET, randomize};

use crate::options::{AUGMENTATIONS, ENDS, EQUAL_STEPS, SHARING, STORES};
use crate::source::transforms;
use crate::source::{
    DeserializerConfig, DeserializerDefaults, ExcludedKeys, FULL_DATA_SWEEP, INFINITELY_REPEAT,
    MinibatchConfig, OrderConfig, SourceConfig,
};
use crate::{ConfigConflict, READER_OPTIONS, Schedule, bytes, schedule};

/// Resolves the configuration of a reader. Options that are left out have their defaults.
///
/// Options of deserializers are matched by name against their format's table; their values are looked at when the
/// format makes the deserializer.
///
/// # Errors
/// Unknown options, values of another kind, options that exclude each other, and what [`SourceConfig::check`] refuses.
pub fn lower(tree: &Section, registry: &Registry) -> Result<SourceConfig, ConfigError> {
    let config = lower_unchecked(tree, registry)?;
    config.check()?;
    Ok(config)
}

/// Resolves the configuration of a reader without [`SourceConfig::check`], to describe it rather than open it.
pub(crate) fn lower_unchecked(tree: &Section, registry: &Registry) -> Result<SourceConfig, ConfigError> {
    if let (None, Some((name, _))) = (tree.get("deserializers"), tree.entry("type")) {
        let what = "found the options of a deserializer, expected those of a reader; write `{\"deserializers\": [ … ]}` around them";
        return Err(ConfigError::new("type", what).at(name.span().cloned()));
    }
    deserializers::refuse_their_options(tree, registry)?;
    let options = Options::new(&READER_OPTIONS, tree, "")?;
    resolve(&options, deserializers::in_order(&options, registry)?, registry)
}

/// The complete configuration of these deserializers. Every option of the reader is read here, and nowhere else.
pub(crate) fn resolve(
    options: &Options<'_>,
    deserializers: Vec<DeserializerConfig>,
    registry: &Registry,
) -> Result<SourceConfig, ConfigError> {
    let (randomize, window) = order::order(options)?;
    let epoch_size = options.whole_if_given("epochSize")?.filter(|&samples| samples > 0);
    let seed = options.whole("randomizationSeed")?;
    let sharing = options.word_if_given("sharing", &SHARING)?;
    let cross_sweep_ends = options.bool("crossSweepEnds")?;
    let local_timeline = options.bool("localTimeline")?;
    let size = minibatch_size(options)?;
    let size_in_sequences = options.whole_if_given("minibatchSizeInSequences")?;
    let equal_steps = options.word("equalSteps", &EQUAL_STEPS)?;
    let limit = limit(options, epoch_size)?;
    let ending =
        Ending { last_sequence: options.word("maxSamplesEnd", &ENDS)?, drop_last: options.bool("dropLast")? };
    let frame_mode = options.bool("frameMode")?;
    let transforms = transforms::lower(options)?;
    let augmentation = options.word("augmentation", &AUGMENTATIONS)?;
    let truncation = truncation(options)?;
    let precision = deserializers::precision(options, &deserializers)?;
    let numeric_keys = deserializers::numeric_keys(options, &deserializers)?;
    let mut config = SourceConfig {
        order: OrderConfig { randomize, seed, window, sharing, local_timeline, bucketing: None, equal_steps },
        minibatches: MinibatchConfig { size, size_in_sequences, cross_sweep_ends, epoch_size, limit, ending },
        transforms,
        augmentation,
        registry: registry.clone(),
        truncation,
        join: JoinRules {
            hash_keys: options.bool("hashSequenceKeys")?,
            missing: missing_keys(options)?,
            max_missing: share(options, "maxMissing")?,
            repeated: !options.bool("uniqueKeys")?,
        },
        exclude_keys: excluded_keys(options)?,
        faults: FaultRules {
            max_errors: options.whole("maxErrors")?,
            share: share(options, "maxErrorShare")?,
            report: options.text_if_given("quarantine")?.map(PathBuf::from),
        },
        defaults: DeserializerDefaults {
            precision,
            frame_mode,
            numeric_keys,
            cache_index: options.bool("cacheIndex")?,
        },
        trace_level: deserializers::trace_level(options, &deserializers)?,
        runtime: RuntimeSpec {
            prefetch: options.bool("prefetch")?,
            memory_limit: memory_limit(options)?,
            threads: threads(options)?,
        },
        store: options.word("store", &STORES)?,
        deserializers,
    };
    config.order.bucketing = bucketing(options, &config.minibatches)?;
    if options.given("crossSweepEnds").is_none() && equal_steps.is_some() {
        config.minibatches.cross_sweep_ends = config.order.resolved_sharing() == Sharing::Position;
    }
    check_options_without_effect(options)?;
    Ok(config)
}

fn missing_keys(options: &Options<'_>) -> Result<MissingKeys, ConfigError> {
    match (options.bool("strictKeys")?, options.bool("outerJoin")?) {
        (false, false) => Ok(MissingKeys::LeaveOut),
        (false, true) => Ok(MissingKeys::Empty),
        (true, false) => Ok(MissingKeys::Refuse),
        (true, true) => Err(ConfigError::refused("strictKeys", &ConfigConflict::StrictOuterJoin)),
    }
}

pub(crate) fn minibatch_size(options: &Options<'_>) -> Result<Option<Schedule>, ConfigError> {
    let name = "minibatchSize";
    let text = match options.given(name) {
        None => return Ok(None),
        Some(Value::List(items)) => {
            let items: Vec<String> =
                items.iter().map(|i| i.describe().trim_matches('`').to_string()).collect();
            items.join(":")
        }
        Some(_) => options.text(name)?,
    };
    schedule::parse(&text).map(Some)
}

/// Keys of sequences to leave out.
fn excluded_keys(options: &Options<'_>) -> Result<ExcludedKeys, ConfigError> {
    let name = "excludeKeys";
    let wrong = |found: &Value| {
        let what = format!("found {}, expected a list of keys, or the name of a file", found.describe());
        ConfigError::new(name, what)
    };
    match options.given(name) {
        None => Ok(ExcludedKeys::Listed(Vec::new())),
        Some(Value::Text(file)) => Ok(ExcludedKeys::File(file.into())),
        Some(Value::List(keys)) => {
            let text = |key: &Value| match key {
                Value::Text(text) => Ok(text.clone()),
                Value::Whole(number) => Ok(number.to_string()),
                other => Err(wrong(other)),
            };
            keys.iter().map(text).collect::<Result<_, _>>().map(ExcludedKeys::Listed)
        }
        Some(other) => Err(wrong(other)),
    }
}

/// Samples of a bucket.
fn bucketing(options: &Options<'_>, minibatches: &MinibatchConfig) -> Result<Option<u64>, ConfigError> {
    let name = "bucketing";
    let text = options.text(name)?;
    match text.to_ascii_lowercase().as_str() {
        "false" => Ok(None),
        "true" => Ok(Some(minibatches.default_sizes().at(0))),
        number => number.parse().map(Some).map_err(|_| {
            let what = format!("found `{text}`, expected `true`, `false` or a number of samples");
            ConfigError::new(options.path(name), what)
        }),
    }
}

fn limit(options: &Options<'_>, epoch_size: Option<u64>) -> Result<Limit, ConfigError> {
    let (sweeps, samples) = (options.whole("maxSweeps")?, options.whole("maxSamples")?);
    if let Some(epochs) = options.whole_if_given("maxEpochs")? {
        if (sweeps, samples) != (INFINITELY_REPEAT, INFINITELY_REPEAT) {
            return Err(ConfigError::refused("maxEpochs", &ConfigConflict::EpochsAndOtherLimit));
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
            Err(ConfigError::refused("maxSamples", &ConfigConflict::SamplesAndSweeps { samples, sweeps }))
        }
    }
}

fn truncation(options: &Options<'_>) -> Result<Option<Truncation>, ConfigError> {
    let length = options.whole("truncationLength")?;
    let slots = options.whole("truncationSlots")?;
    if length > 0 && slots > 0 {
        let path = options.path("truncationSlots");
        return Err(ConfigError::refused(path, &ConfigConflict::LengthAndSlots { length, slots }));
    }
    let right_splice = options.whole("rightSplice")?;
    // Python says only how long (0 is off), BrainScript says whether; then the length alone means nothing.
    let is_given = length > 0 || slots > 0;
    let on = if options.given("truncated").is_some() { options.bool("truncated")? } else { is_given };
    let length = if slots > 0 { SegmentLength::BySlots(slots) } else { SegmentLength::Samples(length) };
    let keep_sparse = options.bool("keepSparse")?;
    Ok(on.then_some(Truncation { length, right_splice, keep_sparse }))
}

fn memory_limit(options: &Options<'_>) -> Result<Option<u64>, ConfigError> {
    let name = "memoryLimit";
    let Some(text) = options.text_if_given(name)? else { return Ok(None) };
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
    let n = options.whole(name)?;
    match usize::try_from(n) {
        Ok(n) if n <= MOST_THREADS => Ok(n),
        _ => Err(ConfigError::new(options.path(name), format!("found {n}, expected at most {MOST_THREADS}"))),
    }
}

/// An option that is a share.
fn share(options: &Options<'_>, name: &str) -> Result<f64, ConfigError> {
    let share = options.real(name)?;
    match share {
        0.0..=1.0 => Ok(share),
        _ => {
            Err(ConfigError::new(options.path(name), format!("found {share}, expected a share from 0 to 1")))
        }
    }
}

/// More threads than any machine has cores: a larger number is a slip of the pen, and would take all memory for stacks.
const MOST_THREADS: usize = 4096;

/// Options without effect still have to be of their kind.
fn check_options_without_effect(options: &Options<'_>) -> Result<(), ConfigError> {
    options.bool("multiThreadedDeserialization")?;
    options.bool("checkData")?;
    options.text_if_given("module")?;
    // The caller knows where the file lies.
    options.text_if_given("pathsRelativeTo")?;
    options.whole("verbosity")?;
    Ok(())
}
