//! BrainScript: the text of CNTK's configurations, as far as readers need it.
//!
//! | file | subject |
//! |---|---|
//! | `script` | files and arguments, joined to one text whose places are known, without comments; `include=` |
//! | `lex` | blanks, quotes, brackets and their matches |
//! | `parse` | the grammar: text to records, repeated names merged |
//! | `tree` | records while they are still being written |
//! | `variables` | `$name$`, and the tree without them |
//! | `print` | a tree as text again |
//!
//! The grammar is Tesson's own and gives the tree of CNTK 2.7 wherever that one's is sensible. Everything from outside
//! is bounded: nesting, repeat counts, and what variables make of a text.

mod lex;
mod parse;
mod print;
mod script;
#[cfg(test)]
mod tests;
mod tree;
mod variables;

use tesson_core::{ConfigError, Section, nearest};

use crate::reader::is_reader;
use tree::{Node, Record};

pub use print::print;
pub use script::{ReadFile, Script};
pub use variables::{Environment, Variables};

/// The variables that a text asks for, and the names that stand at its top.
///
/// # Errors
/// Faults of the syntax, as [`parse`] reports them; variables are not replaced.
pub(crate) fn names(script: &Script) -> Result<(Vec<&str>, Vec<String>), ConfigError> {
    let top = parse::parse(script)?.entries.into_iter().map(|entry| entry.name).collect();
    Ok((variables::names(script.as_str()).collect(), top))
}

/// The path of a section in an argument that the files do not have, and the nearest section that they have. Merging makes such a
/// section, and nothing looks into it. Arguments that are only a part of the text, and whole readers, are left alone.
///
/// # Errors
/// Faults of the syntax of the files, as [`parse`] reports them; variables are not replaced.
pub(crate) fn misspelt_section(
    files: &Script,
    argument: &str,
) -> Result<Option<(String, String)>, ConfigError> {
    let mut alone = Script::new();
    alone.argument(argument);
    match parse::parse(&alone) {
        Ok(given) => {
            let is_variable =
                |path: &str| variables::names(files.as_str()).any(|n| n.eq_ignore_ascii_case(path));
            Ok(misspelt_in(&given, &parse::parse(files)?).filter(|(path, _)| !is_variable(path)))
        }
        Err(_) => Ok(None),
    }
}

fn misspelt_in(given: &Record, there: &Record) -> Option<(String, String)> {
    for entry in &given.entries {
        // A name may have points in it, but then it is a variable at the top, and no path.
        let (name, is_path) = match entry.name.split_once('.') {
            Some((first, _)) => (first, true),
            None => (entry.name.as_str(), false),
        };
        match (&entry.value, there.get(name)) {
            (_, Some(Node::Record(_))) if is_path => {
                return Some((entry.name.clone(), in_brackets(&entry.name, there)));
            }
            (Node::Record(_), Some(_)) if is_reader(name) => {}
            (Node::Record(inner), Some(Node::Record(there))) => {
                if let Some((path, meant)) = misspelt_in(inner, there) {
                    return Some((format!("{name}.{path}"), meant));
                }
            }
            (Node::Record(inner), None) if !is_whole(inner) => {
                let sections = there.entries.iter().filter(|e| matches!(e.value, Node::Record(_)));
                if let Some(near) = nearest(name, sections.map(|e| e.name.as_str())) {
                    return Some((name.to_owned(), near.to_owned()));
                }
            }
            _ => {}
        }
    }
    None
}

/// A path as the sections that it means, each by the nearest name.
fn in_brackets(path: &str, there: &Record) -> String {
    let (mut around, mut names) = (Some(there), Vec::new());
    for name in path.split('.') {
        let known = |around: &&Record| around.get(name).is_none();
        let near =
            around.filter(known).and_then(|a| nearest(name, a.entries.iter().map(|e| e.name.as_str())));
        let name = near.unwrap_or(name);
        around = match around.and_then(|around| around.get(name)) {
            Some(Node::Record(inner)) => Some(inner),
            _ => None,
        };
        names.push(name);
    }
    let last = names.pop().unwrap_or_default();
    let inner = format!("{last}=…{}", "]".repeat(names.len()));
    names.iter().rev().fold(inner, |inner, name| format!("{name}=[{inner}"))
}

/// True if a section holds a reader that needs no other section.
fn is_whole(section: &Record) -> bool {
    let is_given = |reader: &Record| ["readerType", "deserializers"].iter().any(|n| reader.get(n).is_some());
    let readers = section.entries.iter().filter(|entry| is_reader(&entry.name));
    // A reader by reference, such as `reader = $r$`, is taken for one.
    readers.into_iter().any(|entry| match &entry.value {
        Node::Record(reader) => is_given(reader),
        _ => true,
    })
}

/// The tree of a configuration: repeated names merged, variables replaced. All values are texts, lists or sections.
///
/// # Errors
/// A text that is no configuration, with file, line and column: brackets and quotes without a match, names without a value and
/// values without a name, variables that are nowhere or need themselves, and what is too large to be meant.
pub fn parse(script: &Script, variables: &Variables<'_>) -> Result<Section, ConfigError> {
    variables::replaced(&parse::parse(script)?, script, variables)
}
