//! One line of labels: where it begins and ends, and its class.

use super::fault::MlfFault;
use super::states::States;
use crate::images::lossy;

/// The unit of the first two columns of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Times if they lie at least a frame apart, else numbers of frames: decided for each line.
    Auto,
    /// Times in units of 100 ns.
    HundredNanoseconds,
    /// Numbers of frames.
    Frames,
}

/// How times become frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) unit: TimeUnit,
    /// The shift of frames in units of 100 ns.
    pub(super) period: f64,
}

/// The largest class.
pub(super) const MAX_CLASS: u32 = 65535;

/// The columns of a line, separated by blanks and tabs.
pub(super) fn columns(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|column| !column.is_empty())
}

impl Times {
    /// The frames of a line, of which `columns` then gives the rest.
    pub(super) fn span<'l>(
        self,
        columns: &mut impl Iterator<Item = &'l [u8]>,
        expected: &'static str,
    ) -> Result<(u32, u32), MlfFault> {
        let few = |found| MlfFault::TooFewColumns { found, expected };
        let first = columns.next().ok_or_else(|| few(0))?;
        let second = columns.next().ok_or_else(|| few(1))?;
        let time = |text| number(text).ok_or_else(|| MlfFault::NotATime { found: lossy(text) });
        let (a, b) = (time(first)?, time(second)?);
        let is_time = match self.unit {
            TimeUnit::Auto => b - a >= self.period - 1.0,
            TimeUnit::HundredNanoseconds => true,
            TimeUnit::Frames => false,
        };
        // Half a frame rounds up; lines that meet round the same number.
        let frame = |x: f64| if is_time { (x / self.period + 0.5).trunc() } else { x.trunc() };
        let (start, end) = (frame(a), frame(b));
        if start < 0.0 || end < start {
            return Err(MlfFault::BadSpan { start: lossy(first), end: lossy(second) });
        }
        // A number of frames that has 32 bits is exact.
        if end > f64::from(u32::MAX) {
            return Err(MlfFault::TooManyFrames { found: format!("{end}") });
        }
        Ok((start as u32, end as u32))
    }

    /// The number of frames of an utterance by its last line: where that ends.
    pub(super) fn end(self, line: &[u8]) -> Result<u32, MlfFault> {
        match self.span(&mut columns(line), "a start and an end")? {
            (_, 0) => Err(MlfFault::NoFrames),
            (_, end) => Ok(end),
        }
    }
}

/// The class of a line whose first two columns have been taken from `columns`.
pub(super) fn class<'l>(
    columns: &mut impl Iterator<Item = &'l [u8]>,
    states: Option<&States>,
) -> Result<u32, MlfFault> {
    let label = columns.next();
    let Some(states) = states else {
        let found = 2 + usize::from(label.is_some());
        let class = columns.next().ok_or(MlfFault::NotFourColumns { found })?;
        let more = columns.count();
        if more > 0 {
            return Err(MlfFault::NotFourColumns { found: 4 + more });
        }
        let in_range = |class: &f64| *class > -1.0 && *class < f64::from(MAX_CLASS) + 1.0;
        return match number(class).filter(in_range) {
            Some(class) => Ok(class as u32),
            None => Err(MlfFault::BadClass { found: lossy(class) }),
        };
    };
    let expected = "a start, an end and the name of a state";
    let label = label.ok_or(MlfFault::TooFewColumns { found: 2, expected })?;
    match states.class(label) {
        Some(class) if class <= MAX_CLASS => Ok(class),
        Some(class) => Err(MlfFault::BadClass { found: class.to_string() }),
        None => Err(MlfFault::UnknownLabel { found: lossy(label) }),
    }
}

/// The number that a text begins with: a sign, digits, a fraction, an exponent. `None` where there is none.
fn number(text: &[u8]) -> Option<f64> {
    let n = digits(text, 0);
    if n == text.len() && (1..=15).contains(&n) {
        return Some(text.iter().fold(0, |number: u64, digit| 10 * number + u64::from(digit - b'0')) as f64);
    }
    let start = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let mut end = digits(text, start);
    let mut n_digits = end - start;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(text, end + 1);
        n_digits += fraction - end - 1;
        end = fraction;
    }
    if n_digits == 0 {
        return None;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(text, end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// The first position from `at` on without a digit.
fn digits(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: Times = Times { unit: TimeUnit::Auto, period: 100_000.0 };

    fn span(times: Times, line: &str) -> Result<(u32, u32), String> {
        times.span(&mut columns(line.as_bytes()), "more").map_err(|e| e.to_string())
    }

    #[test]
    fn a_number_ends_where_its_text_stops_being_one() {
        for (text, expected) in [
            ("12", Some(12.0)),
            ("-3", Some(-3.0)),
            ("+4.5x", Some(4.5)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e2", Some(100.0)),
            ("1e", Some(1.0)),
            ("1e+", Some(1.0)),
            ("2E-1z", Some(0.2)),
            ("0x10", Some(0.0)),
            ("12345678901234567", Some(12345678901234567.0)),
            (".", None),
            ("-", None),
            ("x", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn times_and_numbers_of_frames_are_told_apart_for_each_line() {
        for (line, expected) in [
            ("0 200000 s", (0, 2)),
            ("2 4 t", (2, 4)),
            ("0 99999 s", (0, 1)),
            ("0 99998 s", (0, 99998)),
            ("0 50000 s", (0, 50000)),
            ("50000 400000 s", (1, 4)),
            ("149999 350000 s", (1, 4)),
            ("2 2 s", (2, 2)),
            ("-0.5 3 s", (0, 3)),
            (" 0\t1e5  s", (0, 1)),
        ] {
            assert_eq!(span(AUTO, line), Ok(expected), "{line}");
        }
        let times = Times { unit: TimeUnit::HundredNanoseconds, period: 50_000.0 };
        assert_eq!(span(times, "50000 50000"), Ok((1, 1)));
        assert_eq!(span(times, "50000 125000"), Ok((1, 3)));
        let frames = Times { unit: TimeUnit::Frames, ..times };
        assert_eq!(span(frames, "0 200000"), Ok((0, 200_000)));
        assert_eq!(span(Times { period: 50_000.0, ..AUTO }, "0 50000"), Ok((0, 1)));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for (line, expected) in [
            ("", "found 0 columns, expected more"),
            ("3", "found 1 column, expected more"),
            ("a 3", "found `a`, expected a time in units of 100 ns, or the number of a frame"),
            ("3 2", "from 3 to 2"),
            ("-1 3", "from -1 to 3"),
            ("0 99999999999999999", "for 1000000000000 frames"),
            ("0 1e999", "for inf frames"),
        ] {
            let found = span(AUTO, line).unwrap_err();
            assert!(found.contains(expected), "{line}: {found}");
        }
        assert_eq!(AUTO.end(b"0 0 s"), Err(MlfFault::NoFrames));
        assert!(matches!(AUTO.end(b"1 0 s"), Err(MlfFault::BadSpan { .. })));
    }

    #[test]
    fn a_class_is_the_number_of_a_state_or_in_column_four() {
        let states = States::parse(b"sil\naa\n").unwrap();
        let of = |line: &str, states| class(&mut columns(line.as_bytes()), states).map_err(|e| e.to_string());
        assert_eq!(of("aa 0.5 more", Some(&states)), Ok(1));
        assert!(of("bb", Some(&states)).unwrap_err().contains("`bb`"));
        assert!(of("", Some(&states)).unwrap_err().contains("found 2 columns"));
        assert_eq!(of("any 65535", None), Ok(65535));
        assert_eq!(of("any 3.9x", None), Ok(3));
        for (line, expected) in
            [("any", "found 3"), ("a 1 2", "found 5"), ("a -1", "`-1`"), ("a 65536", "`65536`")]
        {
            assert!(of(line, None).unwrap_err().contains(expected), "{line}");
        }
    }
}
