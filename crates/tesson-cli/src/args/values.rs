//! Values of options, parsed with the command line so that an error names the option.

use tesson::config::Schedule;

use super::common::Workers;

/// A count or a number from 0.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a whole number from 0 to 2^64-1"))
}

/// A count of at least 1.
pub(super) fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| format!("found `{text}`, expected a whole number from 1 to 2^64-1"))
}

/// A number of workers, or the launcher that says it.
pub(super) fn workers(text: &str) -> Result<Workers, String> {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(Workers { n: positive(text)?, rank: None });
    }
    let found = tesson::world(text).map_err(|e| e.to_string())?;
    Ok(Workers { n: found.size, rank: Some(found.rank) })
}

/// A time.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| format!("found `{text}`, expected a number of seconds above 0"))
}

/// A size for each epoch.
pub(super) fn schedule(text: &str) -> Result<Schedule, String> {
    tesson_config::schedule::parse(text).map_err(|e| e.message())
}

/// An epoch and a place in it.
pub(super) fn start(text: &str) -> Result<(u64, u64), String> {
    let number =
        |text: &str| text.parse().map_err(|_| format!("found `{text}`, expected a number from 0 on"));
    let (epoch, place) = text.split_once(':').unwrap_or(("0", text));
    Ok((number(epoch)?, number(place)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_place_or_an_epoch_and_a_place() {
        assert_eq!(start("7"), Ok((0, 7)));
        assert_eq!(start("2:7"), Ok((2, 7)));
        for text in ["", ":", "1:", "-1", "1:2:3"] {
            assert!(start(text).is_err(), "{text}");
        }
    }
}
