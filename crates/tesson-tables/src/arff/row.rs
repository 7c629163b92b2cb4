//! The values of a row, all or only some of them.

use super::words::{Text, Word, Words, Wrong};
use crate::fault::TableFault;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// As it is written.
    Given(Text),
    /// A question mark without quotes.
    Missing,
    /// None, in a row that lists those that are not zero.
    Zero,
}

/// The values of a row.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) values: Vec<Value>,
    /// The weight behind the values.
    pub(super) weight: Option<Text>,
    /// Texts that had escapes.
    pub(super) unescaped: Vec<u8>,
    /// Values beyond those that a row has, which are counted alone.
    more: usize,
}

impl Row {
    /// Reads the row of a line, which has `n` values.
    pub(super) fn read(&mut self, line: &[u8], n: usize) -> Result<(), TableFault> {
        self.values.clear();
        self.unescaped.clear();
        self.more = 0;
        self.weight = None;
        let mut words = Words::new(line);
        let first = self.next(&mut words)?;
        let next = if first == Some(Word::Open) {
            self.sparse(&mut words, line, n)?
        } else {
            self.dense(&mut words, first, line, n)?
        };
        let next = if next == Some(Word::Comma) { self.next(&mut words)? } else { next };
        match next {
            None => Ok(()),
            Some(Word::Open) => self.weight(&mut words),
            Some(_) => Err(bad("found more behind the row, expected its weight as `{0.5}`")),
        }
    }

    fn next(&mut self, words: &mut Words<'_>) -> Result<Option<Word>, TableFault> {
        words.next(&mut self.unescaped).map_err(bad)
    }

    /// All values, from a word on; returns the word behind them.
    fn dense(
        &mut self,
        words: &mut Words<'_>,
        first: Option<Word>,
        line: &[u8],
        n: usize,
    ) -> Result<Option<Word>, TableFault> {
        let (mut word, mut is_after_comma) = (first, true);
        loop {
            match word {
                Some(Word::Comma) if is_after_comma => {
                    return Err(bad("found no value between commas, expected `?` for a missing one"));
                }
                Some(Word::Comma) => {}
                Some(Word::Plain(_) | Word::Quoted(_)) if self.values.len() == n => self.more += 1,
                Some(Word::Plain(text)) if text.of(line, &self.unescaped) == b"?" => {
                    self.values.push(Value::Missing)
                }
                Some(Word::Plain(text) | Word::Quoted(text)) => self.values.push(Value::Given(text)),
                Some(Word::Open | Word::Close) | None => break,
            }
            is_after_comma = word == Some(Word::Comma);
            word = self.next(words)?;
        }
        let found = self.values.len() + self.more;
        if found != n {
            return Err(TableFault::FieldCount { found, expected: n });
        }
        if is_after_comma && word.is_none() {
            return Err(bad("found no value behind the last comma, expected `?` for a missing one"));
        }
        Ok(word)
    }

    /// Values by their numbers, up to a brace; returns the word behind it.
    fn sparse(&mut self, words: &mut Words<'_>, line: &[u8], n: usize) -> Result<Option<Word>, TableFault> {
        const PAIR: Wrong =
            "found no pair, expected the number of an attribute and its value, as in `{0 1, 3 x}`";
        let (mut before, mut is_first) = (None, true);
        self.values.resize(n, Value::Zero);
        loop {
            let word = match self.next(words)? {
                Some(Word::Comma) if !is_first => self.next(words)?,
                word => word,
            };
            let number = match word {
                Some(Word::Close) => return self.next(words),
                Some(Word::Plain(text)) => std::str::from_utf8(text.of(line, &self.unescaped)).ok(),
                _ => None,
            };
            let index: u64 = number.and_then(|number| number.parse().ok()).ok_or_else(|| bad(PAIR))?;
            if before.is_some_and(|before| index <= before) {
                let before = before.unwrap_or_default();
                return Err(TableFault::IndexOrder { index, before });
            }
            if index >= n as u64 {
                return Err(TableFault::AttributeNumber { index, attributes: n as u64 });
            }
            self.values[index as usize] = match self.next(words)? {
                Some(Word::Plain(text)) if text.of(line, &self.unescaped) == b"?" => Value::Missing,
                Some(Word::Plain(text) | Word::Quoted(text)) => Value::Given(text),
                _ => return Err(bad(PAIR)),
            };
            (before, is_first) = (Some(index), false);
        }
    }

    /// The weight behind a brace.
    fn weight(&mut self, words: &mut Words<'_>) -> Result<(), TableFault> {
        let found = [self.next(words)?, self.next(words)?, self.next(words)?];
        let [Some(Word::Plain(text)), Some(Word::Close), None] = found else {
            return Err(bad("found no weight in the braces behind the row, expected one as in `{0.5}`"));
        };
        self.weight = Some(text);
        Ok(())
    }
}

fn bad(what: Wrong) -> TableFault {
    TableFault::BadLine { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, n: usize) -> Result<String, TableFault> {
        let mut row = Row::default();
        row.read(line.as_bytes(), n)?;
        let text =
            |text: Text| String::from_utf8_lossy(text.of(line.as_bytes(), &row.unescaped)).into_owned();
        let shown = row.values.iter().map(|value| match value {
            Value::Given(given) => text(*given),
            Value::Missing => "-".into(),
            Value::Zero => "0".into(),
        });
        let weight = row.weight.map(|weight| format!(" of {}", text(weight)));
        Ok(shown.collect::<Vec<_>>().join("|") + &weight.unwrap_or_default())
    }

    #[test]
    fn rows_are_dense_or_sparse_and_may_have_a_weight() {
        for (line, expected) in [
            ("1, 'a b' ,?", "1|a b|-"),
            ("1 2\t'?'", "1|2|?"),
            ("1,2,3,{0.5}", "1|2|3 of 0.5"),
            ("1,2,3 {7}", "1|2|3 of 7"),
            ("{}", "0|0|0"),
            ("{1 x, 2 ?}", "0|x|-"),
            ("{0 1 2 'b'} , {.25}", "1|0|b of .25"),
        ] {
            assert_eq!(of(line, 3).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn rows_that_are_none_are_told() {
        for line in [
            "1,,2",
            "1,2,",
            ",1,2",
            "1,2,3,",
            "1,2,3,{",
            "1,2,3,{a b}",
            "{0}",
            "{x 1}",
            "{0 1",
            "{,0 1}",
            "{0 1} 2",
        ] {
            assert!(of(line, 3).is_err(), "{line}");
        }
        assert_eq!(of("1,2", 3), Err(TableFault::FieldCount { found: 2, expected: 3 }));
        assert_eq!(of("1,2,3,'x',?,", 3), Err(TableFault::FieldCount { found: 5, expected: 3 }));
        assert_eq!(of("{1 2, 1 3}", 3), Err(TableFault::IndexOrder { index: 1, before: 1 }));
        assert_eq!(of("{3 1}", 3), Err(TableFault::AttributeNumber { index: 3, attributes: 3 }));
    }
}
