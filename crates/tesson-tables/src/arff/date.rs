//! Times in the forms that headers give, which are those of Java's `SimpleDateFormat`.

/// A form of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateFormat {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(u8),
    /// A number: its letter, and how many digits it has where another number follows.
    Number {
        letter: u8,
        width: Option<usize>,
    },
    /// A year of two digits, likewise.
    ShortYear {
        width: Option<usize>,
    },
}

/// The form of attributes that name none.
pub(super) const DEFAULT: &str = "yyyy-MM-dd'T'HH:mm:ss";

/// The letters of a form that are numbers.
const LETTERS: &[u8] = b"yMdHmsS";

/// Digits of a number, at most, but for one whose form says how many it has.
const MOST_DIGITS: usize = 9;

/// Numbers are below this one, whatever zeros stand in front of them.
const LARGEST: i64 = 1_000_000_000;

impl DateFormat {
    /// The form that a text describes.
    ///
    /// # Errors
    /// The letters that are not read.
    pub(super) fn new(text: &str) -> Result<DateFormat, String> {
        let (bytes, mut parts, mut at) = (text.as_bytes(), Vec::new(), 0);
        while at < bytes.len() {
            let byte = bytes[at];
            if byte == b'\'' {
                at = quoted(bytes, at + 1, &mut parts).ok_or("'")?;
                continue;
            }
            if !byte.is_ascii_alphabetic() {
                parts.push(Part::Literal(byte));
                at += 1;
                continue;
            }
            let n = bytes[at..].iter().take_while(|other| **other == byte).count();
            at += n;
            // Months of three letters have names.
            if !LETTERS.contains(&byte) || byte == b'M' && n > 2 {
                return Err(text[at - n..at].to_owned());
            }
            let width = bytes.get(at).is_some_and(u8::is_ascii_alphabetic).then_some(n);
            parts.push(match (byte, n) {
                (b'y', 2) => Part::ShortYear { width },
                (letter, _) => Part::Number { letter, width },
            });
        }
        Ok(DateFormat { parts })
    }

    /// The milliseconds from 1970 to a time; `None` if the text is none of this form.
    pub(super) fn parse(&self, text: &[u8]) -> Option<i64> {
        let (mut rest, mut time) = (text.trim_ascii(), Time::default());
        for part in &self.parts {
            match part {
                Part::Literal(byte) => rest = rest.strip_prefix(&[*byte])?,
                Part::Number { letter, width } => {
                    let (n, _, behind) = number(rest, *width)?;
                    time.set(*letter, n);
                    rest = behind;
                }
                Part::ShortYear { width } => {
                    let (n, digits, behind) = number(rest, *width)?;
                    let century = if n < 69 { 2000 } else { 1900 };
                    time.set(b'y', if digits == 2 { century + n } else { n });
                    rest = behind;
                }
            }
        }
        if rest.is_empty() { time.milliseconds() } else { None }
    }
}

/// Appends the literals from a quote on; returns where they end. Two quotes stand for one.
fn quoted(bytes: &[u8], mut at: usize, parts: &mut Vec<Part>) -> Option<usize> {
    let first = at;
    loop {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'\'', _) if at == first => {
                parts.push(Part::Literal(b'\''));
                return Some(at + 1);
            }
            (b'\'', Some(b'\'')) => at += 1,
            (b'\'', _) => return Some(at + 1),
            _ => {}
        }
        parts.push(Part::Literal(bytes[at]));
        at += 1;
    }
}

/// The number at the beginning of a text, the number of its digits, and the text behind it.
fn number(text: &[u8], width: Option<usize>) -> Option<(i64, usize, &[u8])> {
    let n = text.iter().take(width.unwrap_or(MOST_DIGITS)).take_while(|byte| byte.is_ascii_digit()).count();
    if n == 0 || width.is_some_and(|width| width != n) {
        return None;
    }
    let (digits, behind) = text.split_at(n);
    let add = |number: i64, digit: &u8| {
        Some(number * 10 + i64::from(digit - b'0')).filter(|number| *number < LARGEST)
    };
    Some((digits.iter().try_fold(0, add)?, n, behind))
}

#[derive(Clone, Copy, Debug)]
struct Time {
    year: i64,
    month: i64,
    day: i64,
    /// Hour, minute, second, millisecond.
    clock: [i64; 4],
}

impl Default for Time {
    fn default() -> Time {
        Time { year: 1970, month: 1, day: 1, clock: [0; 4] }
    }
}

impl Time {
    fn set(&mut self, letter: u8, n: i64) {
        match letter {
            b'y' => self.year = n,
            b'M' => self.month = n,
            b'd' => self.day = n,
            b'H' => self.clock[0] = n,
            b'm' => self.clock[1] = n,
            b's' => self.clock[2] = n,
            _ => self.clock[3] = n,
        }
    }

    fn milliseconds(self) -> Option<i64> {
        let Time { year, month, day, clock: [hour, minute, second, millisecond] } = self;
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days_of_month = match month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let is_time = (1..=12).contains(&month)
            && (1..=days_of_month).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60
            && millisecond < 1000;
        if !is_time {
            return None;
        }
        let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
        // Milliseconds have room for some 292 million years.
        seconds.checked_mul(1000)?.checked_add(millisecond)
    }
}

/// The days from 1970 to a date of the Gregorian calendar. Years begin with March here, so that a leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_1970() {
        for (form, text, expected) in [
            (DEFAULT, "1970-01-01T00:00:00", Some(0)),
            (DEFAULT, "2001-04-03T12:12:12", Some(986_299_932_000)),
            (DEFAULT, "1969-12-31T23:59:59", Some(-1000)),
            ("yyyy-MM-dd HH:mm:ss.SSS", "2000-02-29 1:2:3.004", Some(951_786_123_004)),
            ("yyyyMMdd", "19700102", Some(86_400_000)),
            ("dd.MM.yy", "1.1.70", Some(0)),
            ("dd.MM.yy", "01.01.68", Some(3_092_601_600_000)),
            ("dd.MM.yy", "1.1.1970", Some(0)),
            ("HH''mm'o''clock'", "1'30o'clock", Some(5_400_000)),
            ("y", "0001", Some(-62_135_596_800_000)),
            ("yyyyMMdd", "1970012", Some(86_400_000)),
            ("yyyyMMdd", "197001", None),
            ("yyyy-MM-dd", "2001-02-29", None),
            ("yyyy-MM-dd", "1900-02-29", None),
            ("yyyy-MM-dd", "2001-13-01", None),
            ("HH:mm", "24:00", None),
            ("HH:mm", "1:2x", None),
            ("yyyy", "", None),
            (DEFAULT, "292000000-01-01T00:00:00", Some(9_214_567_816_780_800_000)),
            (DEFAULT, "999999999-01-01T00:00:00", None),
            ("yyyyyyyyyyyyyyyyyyyyMM", "9999999999999999999901", None),
            ("yyyyyyyyyyyyyyyyyyyyMM", "0000000000000000197001", Some(0)),
        ] {
            assert_eq!(DateFormat::new(form).unwrap().parse(text.as_bytes()), expected, "{form} {text}");
        }
    }

    #[test]
    fn letters_that_are_not_read_are_told() {
        for (form, letters) in [("yyyy-MMM", "MMM"), ("hh:mm a", "hh"), ("HH z", "z"), ("'open", "'")] {
            assert_eq!(DateFormat::new(form), Err(letters.to_owned()), "{form}");
        }
    }
}
