//! The literals of Python that headers consist of.

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Whole(u64),
    Bool(bool),
    /// A tuple or a list.
    Items(Vec<Literal>),
    /// A dictionary whose keys are texts.
    Dict(Vec<(String, Literal)>),
}

/// Containers within each other, at most: parsing is recursive.
const DEEPEST: u32 = 16;

/// Parses one literal, with blanks around it.
///
/// # Errors
/// The position of what is none, with what was found there.
pub(super) fn parse(text: &str) -> Result<Literal, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let literal = parser.literal()?;
    parser.skip_blanks();
    if parser.at < text.len() { Err(parser.unexpected("the end")) } else { Ok(literal) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn unexpected(&self, expected: &str) -> String {
        let found: String = self.rest().chars().take(12).collect();
        format!("found `{found}` at position {} of it, expected {expected}", self.at)
    }

    /// Passes over a character, after blanks.
    fn take(&mut self, c: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn literal(&mut self) -> Result<Literal, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it has more than {DEEPEST} containers within each other"));
        }
        self.skip_blanks();
        let literal = match self.rest().chars().next() {
            Some('\'' | '"') => Literal::Text(self.string()?),
            Some('0'..='9') => Literal::Whole(self.whole()?),
            Some('(') => self.items('(', ')')?,
            Some('[') => self.items('[', ']')?,
            Some('{') => self.dict()?,
            _ if self.take_word("True") => Literal::Bool(true),
            _ if self.take_word("False") => Literal::Bool(false),
            _ => {
                return Err(self.unexpected("a text, a number, True, False, a tuple, a list or a dictionary"));
            }
        };
        self.depth -= 1;
        Ok(literal)
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = &self.text[self.at..=self.at];
        let text = &self.text[self.at + 1..];
        match text.find(quote) {
            // NumPy writes none of these into types and names that it can read.
            Some(end) if !text[..end].contains('\\') => {
                self.at += end + 2;
                Ok(text[..end].to_owned())
            }
            Some(_) => Err(self.unexpected("a text without escapes")),
            None => Err(self.unexpected("a text that ends")),
        }
    }

    fn whole(&mut self) -> Result<u64, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let n = rest[..end].parse().map_err(|_| self.unexpected("a number below 2^64"))?;
        self.at += end;
        // Python 2 wrote long numbers so.
        self.take_word("L");
        Ok(n)
    }

    fn items(&mut self, open: char, close: char) -> Result<Literal, String> {
        self.take(open);
        let (mut items, mut has_comma) = (Vec::new(), false);
        while !self.take(close) {
            if !items.is_empty() && !has_comma {
                return Err(self.unexpected("a comma"));
            }
            items.push(self.literal()?);
            has_comma = self.take(',');
        }
        // `(5)` is a number.
        match items.len() {
            1 if open == '(' && !has_comma => Ok(items.remove(0)),
            _ => Ok(Literal::Items(items)),
        }
    }

    fn dict(&mut self) -> Result<Literal, String> {
        self.take('{');
        let (mut entries, mut has_comma) = (Vec::new(), true);
        while !self.take('}') {
            if !has_comma {
                return Err(self.unexpected("a comma"));
            }
            self.skip_blanks();
            if !self.rest().starts_with(['\'', '"']) {
                return Err(self.unexpected("a text as key"));
            }
            let key = self.string()?;
            if !self.take(':') {
                return Err(self.unexpected("a colon"));
            }
            entries.push((key, self.literal()?));
            has_comma = self.take(',');
        }
        Ok(Literal::Dict(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_read() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n";
        let expected = Literal::Dict(vec![
            ("descr".into(), Literal::Text("<f8".into())),
            ("fortran_order".into(), Literal::Bool(false)),
            ("shape".into(), Literal::Items(vec![Literal::Whole(3), Literal::Whole(4)])),
        ]);
        assert_eq!(parse(text), Ok(expected));
        let shape = |text: &str| parse(text).map(|l| if let Literal::Items(i) = l { i.len() } else { 99 });
        assert_eq!(
            (shape("()"), shape("(5,)"), shape("(5L, 6)"), shape("(5)")),
            (Ok(0), Ok(1), Ok(2), Ok(99))
        );
    }

    #[test]
    fn other_texts_are_refused_with_their_position() {
        let refused = |text: &str| parse(text).expect_err("it is none");
        assert_eq!(refused("{'a': 1 'b': 2}"), "found `'b': 2}` at position 8 of it, expected a comma");
        assert_eq!(refused("{'a': 'x}"), "found `'x}` at position 6 of it, expected a text that ends");
        assert_eq!(refused("(1, 2"), "found `` at position 5 of it, expected a comma");
        assert_eq!(
            refused("99999999999999999999"),
            "found `999999999999` at position 0 of it, expected a number below 2^64"
        );
        assert_eq!(refused(&"(".repeat(1_000_000)), "it has more than 16 containers within each other");
        assert_eq!(refused("1 2"), "found `2` at position 2 of it, expected the end");
    }
}
