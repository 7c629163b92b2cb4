//! The attributes, which the header declares.

use std::sync::Arc;

use tesson_core::{Element, Shape};

use super::date::{DEFAULT, DateFormat};
use super::words::{Text, Word, Words};
use crate::options::TableOptions;
use crate::table::{Field, FieldKind};
use crate::text::shown;

/// The attributes of a file, and where its rows begin.
pub(super) struct Header {
    pub(super) attributes: Vec<Attribute>,
    /// Position behind the line `@data`.
    pub(super) end: usize,
    /// Lines up to there.
    pub(super) lines: u64,
}

/// An attribute as a field, and how its values are read.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) field: Field,
    pub(super) kind: AttributeKind,
}

/// The values of an attribute.
#[derive(Clone, Debug)]
pub(super) enum AttributeKind {
    Number,
    Text,
    /// One of some names: these, and their numbers in the order of the names.
    Nominal {
        names: Arc<[String]>,
        sorted: Vec<u32>,
    },
    Date(DateFormat),
    /// Values that are not read.
    Other,
}

/// A fault of a header, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeaderFault {
    pub(super) what: String,
    pub(super) offset: u64,
    pub(super) line: u64,
}

impl Attribute {
    /// The text of a value that a sparse row leaves out.
    pub(super) fn zero(&self) -> &[u8] {
        match &self.kind {
            AttributeKind::Nominal { names, .. } => names[0].as_bytes(),
            AttributeKind::Text => b"",
            _ => b"0",
        }
    }
}

/// True if a text is ARFF: it begins with a relation, perhaps after comments.
pub fn begins(text: &[u8]) -> bool {
    let text = text.strip_prefix(&[0xef, 0xbb, 0xbf][..]).unwrap_or(text);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && line[0] != b'%');
    first.and_then(|line| line.get(..9)).is_some_and(|word| word.eq_ignore_ascii_case(b"@relation"))
}

impl Header {
    /// Reads the beginning of a file, from `mark` on; `None` if it ends before the header does.
    pub(super) fn read(
        text: &[u8],
        mark: usize,
        is_all: bool,
        options: &TableOptions,
    ) -> Result<Option<Header>, HeaderFault> {
        let (mut attributes, mut relations, mut at, mut lines) = (Vec::new(), Vec::new(), mark, 0);
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map(|length| at + length + 1);
            if end.is_none() && !is_all {
                return Ok(None);
            }
            let end = end.unwrap_or(text.len());
            let fault = |what: String| HeaderFault { what, offset: at as u64, line: lines };
            let line = text[at..end].trim_ascii();
            if memchr::memchr(b'\r', line).is_some() {
                return Err(fault(
                    "found a carriage return within a line, expected a line feed behind each".into(),
                ));
            }
            let length = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            let (keyword, rest) = line.split_at(length);
            match keyword.to_ascii_lowercase().as_slice() {
                b"" | b"@relation" => {}
                [b'%', ..] => {}
                b"@attribute" => {
                    let attribute = attribute(rest, options).map_err(fault)?;
                    let is_relation =
                        matches!(&attribute.field.kind, FieldKind::Other(kind) if kind == RELATION);
                    let name = attribute.field.name.clone();
                    if relations.is_empty() {
                        attributes.push(attribute);
                    }
                    if is_relation {
                        relations.push(name);
                    }
                }
                b"@end" if relations.pop().is_some() => {}
                b"@data" => {
                    if let Some(open) = relations.first() {
                        return Err(fault(format!("found `@data`, expected `@end {open}` before it")));
                    }
                    if attributes.is_empty() {
                        return Err(fault("found `@data`, expected an `@attribute` before it".into()));
                    }
                    return Ok(Some(Header { attributes, end, lines: lines + 1 }));
                }
                _ => {
                    return Err(fault(format!(
                        "found `{}`, expected `@attribute` or `@data`",
                        shown(keyword)
                    )));
                }
            }
            (at, lines) = (end, lines + 1);
        }
        if is_all {
            let what = "the file ends, expected `@data`".to_owned();
            return Err(HeaderFault { what, offset: text.len() as u64, line: lines });
        }
        Ok(None)
    }
}

const RELATION: &str = "a relation";

/// The attribute that a line declares, from its name on.
fn attribute(line: &[u8], options: &TableOptions) -> Result<Attribute, String> {
    let (mut words, mut unescaped) = (Words::new(line), Vec::new());
    let mut next = || -> Result<Option<(Word, String)>, String> {
        let Some(word) = words.next(&mut unescaped)? else { return Ok(None) };
        let text = |text: Text| {
            let text = text.of(line, &unescaped).to_vec();
            String::from_utf8(text).map_err(|_| "found text that is no UTF-8; convert the file")
        };
        let shown = match word {
            Word::Plain(one) | Word::Quoted(one) => text(one)?,
            Word::Comma | Word::Open | Word::Close => String::new(),
        };
        Ok(Some((word, shown)))
    };
    let Some((Word::Plain(_) | Word::Quoted(_), name)) = next()? else {
        return Err("found no name of an attribute, expected one as in `@attribute age numeric`".into());
    };
    let declared = options.declared(&name);
    let is_text = declared.is_some_and(Element::is_string);
    let flat = |element: Element| FieldKind::Flat(declared.unwrap_or(element), Shape::new([]));
    let field = |kind: FieldKind| Field::new(&name, kind);
    const TYPES: &str =
        "expected numeric, real, integer, string, date, relational or names as in `{yes, no}`";
    let attribute = match next()? {
        Some((Word::Open, _)) => {
            let mut names: Vec<String> = Vec::new();
            loop {
                match next()? {
                    Some((Word::Plain(_) | Word::Quoted(_), value)) => names.push(value),
                    Some((Word::Comma, _)) => {}
                    Some((Word::Close, _)) => break,
                    _ => {
                        return Err(format!(
                            "the names of `{name}` do not end, expected `}}` in the same line"
                        ));
                    }
                }
            }
            let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
            sorted.sort_unstable_by_key(|&i| names[i as usize].as_str());
            let twice = sorted.windows(2).find(|pair| names[pair[0] as usize] == names[pair[1] as usize]);
            if let Some(pair) = twice {
                return Err(format!("`{name}` has the name `{}` twice", names[pair[0] as usize]));
            }
            if names.is_empty() {
                return Err(format!("`{name}` has no names in its braces, expected at least one"));
            }
            let names: Arc<[String]> = names.into();
            // Streams of another type are made of the numbers, but texts of the names.
            let mut field =
                field(FieldKind::Flat(if is_text { Element::Text } else { Element::I64 }, Shape::new([])));
            if is_text {
                field.kind = flat(Element::Text);
            } else {
                field.classes = Arc::clone(&names);
            }
            Attribute { field, kind: AttributeKind::Nominal { names, sorted } }
        }
        Some((Word::Plain(_), kind)) => match kind.to_ascii_lowercase().as_str() {
            "numeric" | "real" => Attribute { field: field(flat(Element::F64)), kind: AttributeKind::Number },
            "integer" => Attribute { field: field(flat(Element::I64)), kind: AttributeKind::Number },
            "string" => Attribute { field: field(flat(Element::Text)), kind: AttributeKind::Text },
            "relational" => {
                Attribute { field: field(FieldKind::Other(RELATION.into())), kind: AttributeKind::Other }
            }
            "date" => {
                let form = match next()? {
                    Some((Word::Plain(_) | Word::Quoted(_), form)) => form,
                    _ => DEFAULT.into(),
                };
                return Ok(date(&name, &form, declared));
            }
            _ => return Err(format!("found the type `{kind}` of `{name}`, {TYPES}")),
        },
        _ => return Err(format!("found no type of `{name}`, {TYPES}")),
    };
    // What is behind is a weight of the attribute, which no reader but Weka's learners has a use for.
    match next()? {
        None | Some((Word::Open, _)) => Ok(attribute),
        Some((_, more)) => {
            Err(format!("found `{more}` behind the type of `{name}`, expected the end of the line"))
        }
    }
}

/// An attribute of times of a form.
fn date(name: &str, form: &str, declared: Option<Element>) -> Attribute {
    match (DateFormat::new(form), declared.filter(|element| element.is_string())) {
        (_, Some(text)) => {
            let kind = FieldKind::Flat(text, Shape::new([]));
            Attribute { field: Field::new(name, kind), kind: AttributeKind::Text }
        }
        (Ok(form), None) => {
            let mut field = Field::new(name, FieldKind::Flat(Element::I64, Shape::new([])));
            field.unit = Some("timestamp[ms]".into());
            Attribute { field, kind: AttributeKind::Date(form) }
        }
        (Err(letters), None) => {
            let found = format!("times as `{form}`, of which `{letters}` is not read");
            Attribute { field: Field::new(name, FieldKind::Other(found)), kind: AttributeKind::Other }
        }
    }
}
