//! Options that several transforms have in common.

use std::fmt::Display;
use std::path::PathBuf;

use tesson_core::{ConfigError, OptionKind, OptionName, OptionSpec, Options, Value};

use super::fill::Fill;
use crate::image_transforms::refused;

/// The seed of a transform's own random numbers.
pub(crate) const SEED: OptionSpec =
    OptionSpec::optional("seed", OptionKind::Whole, "Seed of this transform's random numbers, below 2^32.");

/// The seed of a transform; 0 if none is given or the transform has no such option.
pub(crate) fn seed(options: &Options<'_>) -> Result<u64, ConfigError> {
    match options.table().find("seed") {
        Some(_) => Ok(seed_if_given(options)?.unwrap_or(0)),
        None => Ok(0),
    }
}

/// The seed of a transform, if one is given.
pub(crate) fn seed_if_given(options: &Options<'_>) -> Result<Option<u64>, ConfigError> {
    match options.whole_if_given("seed")? {
        Some(seed) if u32::try_from(seed).is_err() => {
            Err(ConfigError::out_of_range(options.path("seed"), format!("`{seed}`"), "a number below 2^32"))
        }
        seed => Ok(seed),
    }
}

/// The first two numbers of an option; a single one counts for both.
pub(crate) fn pair(options: &Options<'_>, name: &str) -> Result<[f64; 2], ConfigError> {
    let numbers = options.numbers(name)?;
    match numbers[..] {
        [one] => Ok([one, one]),
        [first, second, ..] => Ok([first, second]),
        [] => Err(ConfigError::nothing_given(options.path(name), "an empty list", "one number or two")),
    }
}

/// Two numbers above 0 and up to `most`, the smaller one first.
pub(crate) fn range(options: &Options<'_>, name: &str, most: f64) -> Result<[f64; 2], ConfigError> {
    let [smallest, largest] = pair(options, name)?;
    if 0.0 < smallest && smallest <= largest && largest <= most {
        return Ok([smallest, largest]);
    }
    let limit = if most.is_finite() { format!(" ≤ {most}") } else { String::new() };
    let expected = format!("0 < smallest ≤ largest{limit}");
    Err(ConfigError::out_of_range(options.path(name), format!("`{smallest}:{largest}`"), expected))
}

/// A number of an option that is a share.
pub(crate) fn share(options: &Options<'_>, name: &str) -> Result<f64, ConfigError> {
    let share = options.real(name)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(ConfigError::out_of_range(options.path(name), format!("`{share}`"), "a number from 0 to 1"))
}

/// The fill of a part of an image.
pub(crate) fn fill(options: &Options<'_>) -> Result<Fill, ConfigError> {
    let values: Vec<f32> = options.numbers("value")?.into_iter().map(|x| x as f32).collect();
    Fill::new(values).map_err(|fault| refused(options, "value", &fault))
}

/// A file name as a value, empty where there is none.
pub(crate) fn path(file: Option<&PathBuf>) -> Value {
    Value::Text(file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default())
}

/// The smallest and the largest number, as identities have them.
pub(crate) fn limits<T: Display>([least, most]: [T; 2]) -> String {
    format!("{least}:{most}")
}

/// Two numbers as a value.
pub(crate) fn reals([first, second]: [f64; 2]) -> Value {
    Value::List(vec![Value::Real(first), Value::Real(second)])
}

const SIDE_RATIO: OptionName = OptionName::new("sideRatio");
const CHANNELS: OptionName = OptionName::new("channels");

tesson_core::error_kinds! {
    /// Why options of a transform of images are refused.
    pub enum OptionRefusal {
        /// The size of a crop is given in two ways.
        TwoRatios
            = "transform.two-ratios": "{SIDE_RATIO} is given too, only one of the two may be"
            => in manual "Give one of the two ratios.",
        /// The size of a crop is no number of pixels.
        CropSize
            = "transform.crop-size": "expected whole numbers of pixels from 0"
            => in manual "Give whole numbers of pixels.",
        /// The values around an image that is padded do not fit its channels.
        PadValue { found: String = "1:2".into(), channels: usize = 3 }
            = "transform.pad-value": "found `{found}`, expected -1, a whole number from 0 to 2147483647, or one of each channel \
                ({CHANNELS} = {channels})"
            => in manual "Give one value, or one for each channel.",
    }
}
