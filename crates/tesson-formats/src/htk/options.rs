//! The options of feature files, and what they mean.

use tesson_core::{
    ConfigError, OptionKind, OptionSpec, OptionTable, Options, ReaderDefaults, Registry, Section, Value,
};

use crate::options::{only_stream, option};

/// One entry of `input`.
static STREAM: OptionTable = OptionTable(&[
    option("scpFile", OptionKind::Path, None, "The script file: an utterance a line."),
    option("dim", OptionKind::Whole, None, "Values in a sample, or in one frame of its window."),
    option(
        "contextWindow",
        OptionKind::Numbers,
        Some("1"),
        "Frames of a sample: an odd number of them in all, or how many `left:right` of the frame itself.",
    ),
    option("prefixPathInSCP", OptionKind::Text, Some(""), "Put before the file names of the script file."),
    option(
        "expandToUtterance",
        OptionKind::Bool,
        Some("false"),
        "Whether utterances are one frame, repeated as often as the first deserializer's sequence is long.",
    ),
    OptionSpec {
        name: "maxSequenceSize",
        aliases: &["maxSequenceLength"],
        kind: OptionKind::Whole,
        default: Some(""),
        help: "Utterances with more frames are left out.",
    },
    option("definesMBSize", OptionKind::Bool, Some("false"), "Whether this stream is what lengths count."),
    option("type", OptionKind::Text, Some(""), "Accepted from older configurations, where it is `real`."),
]);

/// The options of the deserializer. Those of its stream may stand around that, too.
pub(crate) static OPTIONS: OptionTable = OptionTable(&[
    option("input", OptionKind::Streams(&STREAM), None, "One section, named as the stream."),
    option("verbosity", OptionKind::Whole, Some(""), "Accepted without effect."),
]);

/// What the options mean.
pub(crate) fn describe(
    options: &Options<'_>,
    _setting: &ReaderDefaults,
    _registry: &Registry,
) -> Result<Section, ConfigError> {
    let (name, stream) = only_stream(options)?;
    let (left, right) = context_window(&stream)?;
    let text = |name: &str| Ok(Value::Text(stream.text(name)?.unwrap_or_default()));
    let mut section = Section::from_iter([
        ("scpFile", text("scpFile")?),
        ("dim", Value::Whole(stream.whole("dim")?.unwrap_or_default().into())),
        ("left", Value::Whole(left.into())),
        ("right", Value::Whole(right.into())),
        ("prefixPathInSCP", text("prefixPathInSCP")?),
        ("expandToUtterance", Value::Bool(stream.bool("expandToUtterance")?)),
        ("definesMBSize", Value::Bool(stream.bool("definesMBSize")?)),
    ]);
    if let Some(most) = stream.whole("maxSequenceSize")? {
        section.push("maxSequenceSize", Value::Whole(most.into()));
    }
    Ok(Section::from_iter([("input", Value::Section(Section::from_iter([(name, Value::Section(section))])))]))
}

/// Frames to the left and to the right (spec of speech, §5.3).
fn context_window(options: &Options<'_>) -> Result<(u64, u64), ConfigError> {
    let numbers = options.numbers("contextWindow")?.unwrap_or_default();
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
