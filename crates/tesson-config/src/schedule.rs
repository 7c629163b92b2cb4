//! Minibatch sizes that change from epoch to epoch (spec/engine.md §14).

use crate::ReaderRefusal;
use tesson_core::ConfigError;

/// The option.
const NAME: &str = "minibatchSize";

/// A minibatch size for each epoch; behind its end the last one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// (minibatch size in samples, number of epochs it holds for), both at least 1. Not empty.
    runs: Vec<(u64, u64)>,
}

impl Schedule {
    /// The schedule of these runs: minibatch size in samples, and for how many epochs.
    ///
    /// # Errors
    /// No runs at all, a size of 0, a run of no epochs.
    pub fn new(runs: Vec<(u64, u64)>) -> Result<Schedule, ConfigError> {
        if runs.is_empty() {
            return Err(ConfigError::refused(NAME, &ReaderRefusal::NoMinibatchSize));
        }
        for &(size, epochs) in &runs {
            if size == 0 {
                return Err(ConfigError::refused(NAME, &ReaderRefusal::EmptyMinibatch));
            }
            if epochs == 0 {
                return Err(ConfigError::out_of_range(NAME, format!("`{size}*0`"), "at least 1 epoch"));
            }
        }
        Ok(Schedule { runs })
    }

    /// One size for all epochs.
    ///
    /// # Errors
    /// A size of 0.
    pub fn constant(samples: u64) -> Result<Schedule, ConfigError> {
        Schedule::new(vec![(samples, 1)])
    }

    /// The minibatch size in samples of an epoch, counted from 0.
    pub fn at(&self, epoch: u64) -> u64 {
        let mut left = epoch;
        for &(size, epochs) in &self.runs {
            match left.checked_sub(epochs) {
                None => return size,
                Some(rest) => left = rest,
            }
        }
        self.runs[self.runs.len() - 1].0
    }

    /// The runs: minibatch size in samples, and for how many epochs. The last one goes on for ever.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }
}

/// Parses a schedule: sizes separated by `:`, each with an optional `*epochs`, such as `128*2:1024`.
///
/// # Errors
/// Anything else, sizes of 0, runs of no epochs.
pub fn parse(text: &str) -> Result<Schedule, ConfigError> {
    let runs = text.split(':').map(|item| run(item, text)).collect::<Result<Vec<_>, _>>()?;
    Schedule::new(runs)
}

/// Two schedules as one: both values, and for how many epochs they hold together. Neither is empty; the last values hold for all
/// later epochs.
pub(crate) fn by_epoch(first: &[(u64, u64)], second: &[(u64, u64)]) -> Vec<(u64, u64, u64)> {
    let mut both = Vec::new();
    let (mut i, mut j) = (0, 0);
    let (mut left_of_first, mut left_of_second) = (first[0].1, second[0].1);
    loop {
        let is_last = (i + 1 == first.len(), j + 1 == second.len());
        let epochs = match is_last {
            (true, true) => 1,
            (true, false) => left_of_second,
            (false, true) => left_of_first,
            (false, false) => left_of_first.min(left_of_second),
        };
        both.push((first[i].0, second[j].0, epochs));
        for (runs, at, left, is_last) in
            [(first, &mut i, &mut left_of_first, is_last.0), (second, &mut j, &mut left_of_second, is_last.1)]
        {
            *left = left.saturating_sub(epochs);
            if *left == 0 && !is_last {
                *at += 1;
                *left = runs[*at].1;
            }
        }
        if is_last == (true, true) {
            return both;
        }
    }
}

/// Values, and for how many epochs each holds, as [`parse`] takes them.
pub(crate) fn text(runs: &[(u64, u64)]) -> String {
    let run = |&(value, epochs): &(u64, u64)| match epochs {
        1 => format!("{value}"),
        _ => format!("{value}*{epochs}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(":")
}

fn run(item: &str, text: &str) -> Result<(u64, u64), ConfigError> {
    let (size, epochs) = item.split_once('*').unwrap_or((item, "1"));
    let number = |part: &str| {
        part.trim().parse::<u64>().map_err(|_| {
            let place = if item == text { String::new() } else { format!(" in `{text}`") };
            // Digits alone are a number, only a larger one.
            let is_number = !part.trim().is_empty() && part.trim().bytes().all(|b| b.is_ascii_digit());
            let expected = if is_number {
                "`size` or `size*epochs` in whole numbers below 2^64"
            } else {
                "`size` or `size*epochs` in whole numbers"
            };
            ConfigError::wrong_form(NAME, format!("`{item}`{place}"), expected)
        })
    };
    Ok((number(size)?, number(epochs)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, first_epochs: &[u64]) {
        let schedule = parse(text).unwrap();
        let found: Vec<u64> = (0..first_epochs.len() as u64).map(|e| schedule.at(e)).collect();
        assert_eq!(found, first_epochs, "{text}");
    }

    #[test]
    fn a_number_that_is_too_large_is_told_the_range() {
        let e = parse("4:18446744073709551616*2").unwrap_err().to_string();
        assert!(e.ends_with("expected `size` or `size*epochs` in whole numbers below 2^64"), "{e}");
        assert!(parse("1k").unwrap_err().to_string().ends_with("in whole numbers"));
    }

    #[test]
    fn the_last_size_holds_for_ever() {
        check("256", &[256, 256, 256]);
        check("128*2:1024", &[128, 128, 1024, 1024]);
        check("1:2*3:4", &[1, 2, 2, 2, 4, 4]);
        check(" 8 * 2 : 16 ", &[8, 8, 16]);
        assert_eq!(parse("128*2:1024").unwrap().at(u64::MAX), 1024);
        assert_eq!(parse("1*18446744073709551615:2").unwrap().at(u64::MAX), 2);
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_the_item() {
        for text in ["", ":", "a", "1*", "*2", "1:2:", "-1", "1.5", "2*3*4"] {
            let e = parse(text).unwrap_err().to_string();
            assert!(e.contains("expected `size` or `size*epochs`"), "{text}: {e}");
        }
        let e = parse("128*x:1").unwrap_err().to_string();
        assert_eq!(
            e,
            "minibatchSize: found `128*x` in `128*x:1`, expected `size` or `size*epochs` in whole numbers"
        );
        assert_eq!(
            parse("128*0").unwrap_err().to_string(),
            "minibatchSize: found `128*0`, expected at least 1 epoch"
        );
        assert!(parse("0").unwrap_err().to_string().contains("0 samples"));
    }
}
