//! `$name$` (spec/brainscript.md §5): each variable is looked up along the path to where it stands, the outermost level
//! first.

use std::collections::HashMap;
use std::rc::Rc;

use tesson_core::{ConfigError, Name, Section, Value, nearest};

use super::script::Script;
use super::tree::{Node, Record};
use crate::Result;
use crate::TextFault;

/// A variable of the environment by its name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The kinds of variables that are replaced, beside names of the configuration.
#[derive(Clone, Copy, Default)]
pub struct Variables<'a> {
    /// True if `$name|value$` gives a default and `$env:NAME$` an environment variable. In CNTK both are plain text.
    pub extended: bool,
    /// The environment; without one every `$env:NAME$` is undefined.
    pub environment: Option<Environment<'a>>,
}

/// The tree of a record, variables replaced.
pub(super) fn replaced(root: &Record, script: &Script, variables: &Variables<'_>) -> Result<Section> {
    let mut replacer =
        Replacer { script, variables, texts: HashMap::new(), active: Vec::new(), room: MOST_BYTES };
    replacer.section(root, &[])
}

/// Variables of variables of variables. Real chains have three links.
const MOST_LINKS: usize = 50;

/// Bytes that the tree may have: a few variables that name each other twice can ask for any number. Each node is charged what
/// it takes when it is printed, at least, and the same however it came about: so what is accepted is accepted again as print.
const MOST_BYTES: usize = 64 << 20;

/// The memory that an entry, an item, a text or word, and a section or list take, beside their texts.
const ENTRY: usize = 96;
const ITEM: usize = 32;
const WORD: usize = 32;
const GROUP: usize = 64;

struct Replacer<'a> {
    script: &'a Script,
    variables: &'a Variables<'a>,
    /// Texts that are worked out already, by the node they stand in.
    texts: HashMap<*const Node, Rc<str>>,
    /// Variables that are being worked out, and where they are wanted.
    active: Vec<*const Node>,
    room: usize,
}

/// The records from the outermost to the one that a value stands in.
type Levels<'l, 'a> = &'l [&'a Record];

impl<'a> Replacer<'a> {
    fn section(&mut self, record: &'a Record, around: Levels<'_, 'a>) -> Result<Section> {
        let mut levels = around.to_vec();
        levels.push(record);
        let mut section = Section::default();
        for entry in &record.entries {
            self.take(entry.name.len() + ENTRY, entry.at)?;
            let value = self.value(&entry.value, &levels, entry.at)?;
            section.push(Name::at(entry.name.clone(), self.script.place(entry.at)), value);
        }
        Ok(section)
    }

    /// The value of a node. `at` is where to point if something is wrong with it.
    fn value(&mut self, node: &'a Node, levels: Levels<'_, 'a>, at: usize) -> Result<Value> {
        match node {
            Node::True => self.take(WORD + "true".len(), at)?,
            Node::Code | Node::Broken(_) => self.take(WORD, at)?,
            Node::Record(_) | Node::List(_) => self.take(GROUP, at)?,
            Node::Text(_) => {}
        }
        Ok(match node {
            Node::True => Value::Text("true".into()),
            Node::Code | Node::Broken(_) => Value::Code,
            Node::Record(record) => Value::Section(self.section(record, levels)?),
            Node::List(items) => Value::List(self.items(items, levels, at)?),
            Node::Text(range) => match self.tree_of(node, levels)? {
                Some(tree) => tree,
                None => {
                    let text = self.text(node, levels)?;
                    self.take(text.len() + WORD, range.start)?;
                    Value::Text(text.to_string())
                }
            },
        })
    }

    fn items(&mut self, items: &'a [(Node, u64)], levels: Levels<'_, 'a>, at: usize) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        for (item, count) in items {
            let at = if let Node::Text(range) = item { range.start } else { at };
            let before = self.room;
            self.take(ITEM, at)?;
            let value = self.value(item, levels, at)?;
            // A variable that is repeated may be a section: all of it stands there again.
            let size = before - self.room;
            let more = usize::try_from(count - 1).ok().and_then(|n| n.checked_mul(size));
            self.take(more.unwrap_or(usize::MAX), at)?;
            values.extend(std::iter::repeat_n(value, *count as usize));
        }
        Ok(values)
    }

    /// The section or list that a text is nothing but the variable of.
    fn tree_of(&mut self, node: &'a Node, levels: Levels<'_, 'a>) -> Result<Option<Value>> {
        let Node::Text(range) = node else { return Ok(None) };
        let text = &self.script.as_str()[range.clone()];
        let Some(variable) = variable(text, self.variables.extended).filter(|v| v.len == text.len()) else {
            return Ok(None);
        };
        let Some((found, depth)) = find(variable.name, levels) else { return Ok(None) };
        let levels = &levels[..depth];
        self.enter(found, variable.name, range.start)?;
        let value = match found {
            Node::Record(_) | Node::List(_) => self.value(found, levels, range.start).map(Some),
            Node::Text(_) => self.tree_of(found, levels),
            Node::Broken(error) => Err(ConfigError::clone(error)),
            Node::True | Node::Code => Ok(None),
        };
        self.active.pop();
        value
    }

    /// A node's text.
    fn text(&mut self, node: &'a Node, levels: Levels<'_, 'a>) -> Result<Rc<str>> {
        let Node::Text(range) = node else { return Ok("true".into()) };
        if let Some(known) = self.texts.get(&std::ptr::from_ref(node)) {
            return Ok(Rc::clone(known));
        }
        let raw = &self.script.as_str()[range.clone()];
        let (mut text, mut rest) = (String::new(), raw);
        while let Some(dollar) = rest.find('$') {
            text.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            let taken = match variable(rest, self.variables.extended) {
                Some(variable) => {
                    let at = range.start + raw.len() - rest.len();
                    let value = self.look_up(&variable, levels, at)?;
                    self.take(value.len(), at)?;
                    text.push_str(&value);
                    variable.len
                }
                None => {
                    text.push('$');
                    1
                }
            };
            rest = &rest[taken..];
        }
        text.push_str(rest);
        let text: Rc<str> = text.into();
        self.texts.insert(node, Rc::clone(&text));
        Ok(text)
    }

    fn look_up(&mut self, variable: &Variable<'_>, levels: Levels<'_, 'a>, at: usize) -> Result<Rc<str>> {
        let name = variable.name;
        if let Some((found, depth)) = find(name, levels) {
            self.enter(found, name, at)?;
            let text = match found {
                Node::Text(_) | Node::True => self.text(found, &levels[..depth]),
                Node::Broken(error) => Err(ConfigError::clone(error)),
                _ => Err(self.script.error(at, &TextFault::VariableKind { name: name.to_owned() })),
            };
            self.active.pop();
            return text;
        }
        let from_environment = name.strip_prefix("env:").and_then(|n| (self.variables.environment?)(n));
        match (from_environment, variable.default) {
            (Some(value), _) => Ok(value.into()),
            (None, Some(default)) => Ok(default.into()),
            (None, None) => Err(self.script.error(at, &undefined(name, levels))),
        }
    }

    /// Begins to work out a variable.
    fn enter(&mut self, node: &'a Node, name: &str, at: usize) -> Result<()> {
        if self.active.contains(&std::ptr::from_ref(node)) {
            return Err(self.script.error(at, &TextFault::CircularVariable { name: name.to_owned() }));
        }
        if self.active.len() == MOST_LINKS {
            let fault = TextFault::LongChain { name: name.to_owned(), most: MOST_LINKS };
            return Err(self.script.error(at, &fault));
        }
        self.active.push(node);
        Ok(())
    }

    fn take(&mut self, bytes: usize, at: usize) -> Result<()> {
        let too_large = || self.script.error(at, &TextFault::TooLargeAsWhole);
        self.room = self.room.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }
}

/// The value of a name, and how many levels there are around it.
fn find<'a>(name: &str, levels: Levels<'_, 'a>) -> Option<(&'a Node, usize)> {
    let mut depths = 1..;
    levels.iter().zip(&mut depths).find_map(|(record, depth)| Some((record.get(name)?, depth)))
}

fn undefined(name: &str, levels: Levels<'_, '_>) -> TextFault {
    let names: Vec<&str> =
        levels.iter().flat_map(|record| record.entries.iter().map(|e| e.name.as_str())).collect();
    TextFault::UndefinedVariable { name: name.to_owned(), nearest: nearest(name, names).map(str::to_owned) }
}

/// The names of the variables that a text asks for.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('$').filter_map(|(at, _)| Some(variable(&text[at..], true)?.name))
}

/// A variable at the beginning of a text.
struct Variable<'t> {
    name: &'t str,
    default: Option<&'t str>,
    /// Bytes from dollar to dollar.
    len: usize,
}

fn variable(text: &str, extended: bool) -> Option<Variable<'_>> {
    let inside = text.strip_prefix('$')?;
    let environment = if extended && inside.starts_with("env:") { "env:".len() } else { 0 };
    let end = environment + inside[environment..].find(|c| !in_name(c)).unwrap_or(inside.len() - environment);
    let begins = inside[environment..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let (name, rest) = inside.split_at(end);
    let default = if extended { rest.strip_prefix('|').and_then(|r| r.split_once('$')) } else { None };
    let default = default.map(|(default, _)| default);
    let behind = default.map_or(0, |d| 1 + d.len());
    (begins && rest[behind..].starts_with('$')).then_some(Variable { name, default, len: end + behind + 2 })
}

fn in_name(c: char) -> bool {
    !",/<>?;':\"[]{}\\|!@#%^&*()+=~` \t\n$".contains(c)
}
