//! From the tree that a user wrote to what it means.

mod deserializers;
mod order;

use tesson_core::{ConfigError, Expected, OptionSet, Options, Registry, Section, Value};
use tesson_plan::{Limit, MissingKeys, Sharing};

pub(crate) use deserializers::{numeric_keys, precision, sections, trace_level};
pub(crate) use order::{WHOLE_SET, order, randomize};

use crate::source::{
    DeserializerConfig, ExcludedKeys, FULL_DATA_SWEEP, INFINITELY_REPEAT, MinibatchConfig, ReaderContext,
    SourceConfig,
};
use crate::{ConfigConflict, READER_OPTIONS, ReaderRefusal, Schedule, schedule};

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
        let refusal = ReaderRefusal::OptionsOfDeserializer;
        return Err(ConfigError::refused("type", &refusal).at(name.span().cloned()));
    }
    deserializers::refuse_their_options(tree, registry)?;
    let options = Options::new(READER_OPTIONS, tree, "")?;
    resolve(&options, deserializers::in_order(&options, registry)?, registry)
}

/// The complete configuration of these deserializers.
pub(crate) fn resolve(
    options: &Options<'_>,
    deserializers: Vec<DeserializerConfig>,
    registry: &Registry,
) -> Result<SourceConfig, ConfigError> {
    let reader = ReaderContext { deserializers, registry: registry.clone() };
    let mut config = SourceConfig::read(options, &reader)?;
    config.order.bucketing = bucketing(options, &config.minibatches)?;
    if options.given("crossSweepEnds").is_none() && config.order.equal_steps.is_some() {
        config.minibatches.cross_sweep_ends = config.order.resolved_sharing() == Sharing::Position;
    }
    Ok(config)
}

pub(crate) fn missing_keys(options: &Options<'_>) -> Result<MissingKeys, ConfigError> {
    match (options.bool("strictKeys")?, options.bool("outerJoin")?) {
        (false, false) => Ok(MissingKeys::LeaveOut),
        (false, true) => Ok(MissingKeys::Empty),
        (true, false) => Ok(MissingKeys::Refuse),
        (true, true) => Err(ConfigError::refused("strictKeys", &ConfigConflict::StrictOuterJoin)),
    }
}

pub(crate) fn minibatch_size(options: &Options<'_>) -> Result<Option<Schedule>, ConfigError> {
    schedule_text(options, "minibatchSize")?.map(|text| schedule::parse(&text)).transpose()
}

/// A schedule as text, also where it is written as a list; `None` if it is not given.
fn schedule_text(options: &Options<'_>, name: &str) -> Result<Option<String>, ConfigError> {
    match options.given(name) {
        None => Ok(None),
        Some(Value::List(items)) => {
            let items: Vec<String> =
                items.iter().map(|i| i.describe().trim_matches('`').to_string()).collect();
            Ok(Some(items.join(":")))
        }
        Some(_) => options.text(name).map(Some),
    }
}

/// Keys of sequences to leave out.
pub(crate) fn excluded_keys(options: &Options<'_>) -> Result<ExcludedKeys, ConfigError> {
    let name = "excludeKeys";
    let wrong = |found: &Value| ConfigError::wrong_type(name, found, "a list of keys, or the name of a file");
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
pub(crate) fn bucketing(
    options: &Options<'_>,
    minibatches: &MinibatchConfig,
) -> Result<Option<u64>, ConfigError> {
    let name = "bucketing";
    let text = options.text(name)?;
    match text.to_ascii_lowercase().as_str() {
        "false" => Ok(None),
        "true" => Ok(Some(minibatches.default_sizes().at(0))),
        number => number.parse().map(Some).map_err(|_| {
            let expected = Expected::TruthOr("a number of samples");
            ConfigError::wrong_form(options.path(name), format!("`{text}`"), expected)
        }),
    }
}

pub(crate) fn limit(options: &Options<'_>, epoch_size: Option<u64>) -> Result<Limit, ConfigError> {
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

/// The slots of truncation by epoch; `None` if they are not given, or 0. Neighbours differ.
pub(crate) fn truncation_slots(options: &Options<'_>) -> Result<Option<Schedule>, ConfigError> {
    let name = "truncationSlots";
    let text = schedule_text(options, name)?.filter(|text| text.contains([':', '*']));
    let Some(text) = text else {
        let slots = options.whole(name)?;
        return if slots > 0 { Schedule::constant(slots).map(Some) } else { Ok(None) };
    };
    let by_epoch = schedule::parse(&text).map_err(|_| {
        let expected = "a number of slots, or numbers by epoch such as `4*2:16`";
        ConfigError::wrong_form(options.path(name), format!("`{text}`"), expected)
    })?;
    let mut slots: Vec<(u64, u64)> = Vec::new();
    for &(number, epochs) in by_epoch.runs() {
        match slots.last_mut() {
            Some((same, so_far)) if *same == number => *so_far = so_far.saturating_add(epochs),
            _ => slots.push((number, epochs)),
        }
    }
    Schedule::new(slots).map(Some)
}
