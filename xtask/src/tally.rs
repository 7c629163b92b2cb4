//! The numbers of checks that passed, failed and were skipped, read from the summaries of test runners.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// Counts of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// One check that passed or failed.
    pub(crate) fn one(passed: bool) -> Tally {
        Tally { passed: passed.into(), failed: (!passed).into(), skipped: 0 }
    }

    /// Adds a failure if the program failed without counting one: a build that breaks has no summary.
    pub(crate) fn of_program(self, success: bool) -> Tally {
        if success || self.failed > 0 { self } else { self + Tally::one(false) }
    }

    /// Sums up all summary lines of `cargo test`, `cargo nextest run` or pytest.
    pub(crate) fn read(output: &str) -> Tally {
        let by_nextest = output.lines().any(is_summary_of_nextest);
        // Nextest shows the output of a failed test, which ends with its own summary.
        let is_summary = if by_nextest { is_summary_of_nextest } else { is_summary };
        output.lines().filter(|line| is_summary(line)).map(read_line).sum()
    }
}

/// `Summary [ 0.1s] 4 tests run: 3 passed, …`
fn is_summary_of_nextest(line: &str) -> bool {
    line.trim_start().starts_with("Summary [")
}

/// `test result: ok. 3 passed; …` or `== 3 passed, 1 skipped in 0.12s ==`.
fn is_summary(line: &str) -> bool {
    let line = line.trim().trim_matches('=').trim();
    // Longer runs end in "61.02s (0:01:01)".
    let seconds = line.split(" (").next().unwrap_or(line);
    let pytest =
        seconds.ends_with('s') && line.contains(" in ") && line.starts_with(|c: char| c.is_ascii_digit());
    line.starts_with("test result: ") || pytest
}

fn read_line(line: &str) -> Tally {
    let words: Vec<&str> = line.split([' ', ',', ';', '(', ')', '=']).filter(|w| !w.is_empty()).collect();
    words.windows(2).filter_map(|pair| Some(count(pair[0].parse().ok()?, pair[1]))).sum()
}

fn count(n: u64, word: &str) -> Tally {
    match word {
        "passed" => Tally { passed: n, ..Tally::default() },
        // "timed out" and "exec failed" are nextest's.
        "failed" | "error" | "errors" | "timed" | "exec" | "xpassed" => {
            Tally { failed: n, ..Tally::default() }
        }
        "skipped" | "ignored" | "xfailed" => Tally { skipped: n, ..Tally::default() },
        _ => Tally::default(),
    }
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(all: I) -> Tally {
        all.fold(Tally::default(), Add::add)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, passed: u64, failed: u64, skipped: u64) {
        assert_eq!(Tally::read(output), Tally { passed, failed, skipped }, "{output}");
    }

    #[test]
    fn summaries_of_cargo_test_add_up() {
        let first =
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.10s";
        let second = "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        check(&format!("{first}\nrunning 6 tests\n{second}\n"), 7, 2, 1);
    }

    #[test]
    fn the_summary_of_nextest_is_read() {
        check(
            "     Summary [   1.234s] 120 tests run: 118 passed (2 slow), 1 failed, 1 timed out, 3 skipped",
            118,
            2,
            3,
        );
        check("     Summary [   0.004s] 5 tests run: 5 passed, 0 skipped", 5, 0, 0);
    }

    #[test]
    fn what_a_failed_test_printed_is_not_counted_again() {
        let printed = "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 15 filtered out";
        check(
            &format!("{printed}\n     Summary [   0.004s] 5 tests run: 4 passed, 1 failed, 0 skipped"),
            4,
            1,
            0,
        );
    }

    #[test]
    fn the_summary_of_pytest_is_read() {
        check(
            "===== 1 failed, 12 passed, 1 skipped, 1 xfailed, 2 warnings, 1 error in 0.34s =====",
            12,
            2,
            2,
        );
        check("12 passed in 61.02s (0:01:01)", 12, 0, 0);
    }

    #[test]
    fn other_lines_count_nothing() {
        check("3 passed the ball in time\n     Running unittests src/lib.rs\nno tests ran in 0.01s", 0, 0, 0);
    }

    #[test]
    fn a_program_that_fails_without_a_summary_is_one_failure() {
        assert_eq!(Tally::default().of_program(false), Tally::one(false));
        let counted = Tally { passed: 3, failed: 2, skipped: 0 };
        assert_eq!(counted.of_program(false), counted);
        assert_eq!(counted.of_program(true), counted);
    }
}
