//! Feature files of HTK, named by a script file, with context windows. Its options are understood; the reader is still to
//! be written.

use tesson_core::{
    ConfigError, Format, KeyType, OptionKind, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
    option_table,
};

use crate::options::{DEFINES_SIZE, VERBOSITY, not_built, only_stream};

/// The registry's entry.
pub static FORMAT: Format = Format::new(
    "HTKFeatureDeserializer",
    "Features of speech: HTK parameter files, named by a script file.",
    &OPTIONS,
    |options, _| not_built(FORMAT.name, options),
)
.with_describe(describe)
.with_keys(KeyType::Text);

/// One entry of `input`.
static STREAM: OptionTable = option_table! {
    "scpFile": OptionKind::Path, required
        => "The script file: an utterance a line.",
    "dim": OptionKind::Whole, required
        => "Values in a sample, or in one frame of its window.",
    "contextWindow": OptionKind::Numbers, "1"
        => "Frames of a sample: an odd number of them in all, or how many `left:right` of the frame itself.",
    "prefixPathInSCP": OptionKind::Text, optional
        => "Put before the file names of the script file.",
    "expandToUtterance": OptionKind::Bool, "false"
        => "Whether utterances are one frame, repeated as often as the first deserializer's sequence is long.",
    "maxSequenceSize" | "maxSequenceLength": OptionKind::Whole, optional
        => "Utterances with more frames are left out.",
    DEFINES_SIZE,
    "type": OptionKind::Text, optional
        => "Accepted from older configurations, where it is `real`.",
};

/// The options of the deserializer. Those of its stream may stand around that, too.
static OPTIONS: OptionTable = option_table! {
    "input": OptionKind::Streams(&STREAM), required
        => "One section, named as the stream.",
    VERBOSITY,
};

/// Resolves the options.
fn describe(
    options: &Options<'_>,
    _setting: &ReaderDefaults,
    _registry: &Registry,
) -> Result<Section, ConfigError> {
    let (name, stream) = only_stream(options)?;
    let (left, right) = context_window(&stream)?;
    let text = |name: &str| Ok(Value::Text(stream.text_if_given(name)?.unwrap_or_default()));
    let mut section = Section::from_iter([
        ("scpFile", text("scpFile")?),
        ("dim", Value::Whole(stream.whole_if_given("dim")?.unwrap_or_default().into())),
        ("left", Value::Whole(left.into())),
        ("right", Value::Whole(right.into())),
        ("prefixPathInSCP", text("prefixPathInSCP")?),
        ("expandToUtterance", Value::Bool(stream.bool("expandToUtterance")?)),
        ("definesMBSize", Value::Bool(stream.bool("definesMBSize")?)),
    ]);
    if let Some(most) = stream.whole_if_given("maxSequenceSize")? {
        section.push("maxSequenceSize", Value::Whole(most.into()));
    }
    Ok(Section::from_iter([("input", Value::Section(Section::from_iter([(name, Value::Section(section))])))]))
}

/// Frames to the left and to the right (spec of speech, .5.3).
fn context_window(options: &Options<'_>) -> Result<(u64, u64), ConfigError> {
    let numbers = options.numbers_if_given("contextWindow")?.unwrap_or_default();
    let wrong = || {
        let what = "expected an odd number of frames such as `11`, or two numbers such as `5:5`";
        ConfigError::new(options.path("contextWindow"), what)
    };
    let whole = |x: f64| if x >= 0.0 && x.fract() == 0.0 && x < 1e9 { Ok(x as u64) } else { Err(wrong()) };
    match numbers[..] {
        [n] => match whole(n)? {
            n if n % 2 == 1 => Ok((n / 2, n / 2)),
            _ => Err(wrong()),
        },
        [left, right] => Ok((whole(left)?, whole(right)?)),
        _ => Err(wrong()),
    }
}
