//! Records while they are being written: names are found by a table, variables are not replaced yet.

use std::collections::HashMap;
use std::ops::Range;

use tesson_core::ConfigError;

/// Named values in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) entries: Vec<Entry>,
    /// Places in `entries`, by name in lower case.
    by_name: HashMap<String, usize>,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// As it was first spelt.
    pub(super) name: String,
    /// Where the value that holds was written.
    pub(super) at: usize,
    pub(super) value: Node,
}

/// A value, with its texts as they stand in the script.
#[derive(Debug)]
pub(super) enum Node {
    Text(Range<usize>),
    /// The value of a name without a value.
    True,
    /// Items, each with the number of times it stands there.
    List(Vec<(Node, u64)>),
    Record(Record),
    Code,
    /// A section that is no configuration, in which no reader lies: networks may have any name. The error is raised
    /// where the section is read.
    Broken(Box<ConfigError>),
}

impl Record {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.by_name.get(&name.to_ascii_lowercase()).map(|&i| &self.entries[i].value)
    }

    /// Takes the record of this name out, to be merged with and put back.
    pub(super) fn take_record(&mut self, name: &str) -> Option<Record> {
        let i = *self.by_name.get(&name.to_ascii_lowercase())?;
        match &mut self.entries[i].value {
            Node::Record(record) => Some(std::mem::take(record)),
            _ => None,
        }
    }

    /// Puts a value in the place of the one of this name, or at the end (spec/brainscript.md §4).
    pub(super) fn put(&mut self, name: &str, at: usize, value: Node) {
        match self.by_name.get(&name.to_ascii_lowercase()) {
            Some(&i) => {
                let entry = &mut self.entries[i];
                // What is merged keeps its place: it begins there.
                let merged = matches!((&entry.value, &value), (Node::Record(_), Node::Record(_)));
                entry.at = if merged { entry.at } else { at };
                entry.value = value;
            }
            None => {
                self.by_name.insert(name.to_ascii_lowercase(), self.entries.len());
                self.entries.push(Entry { name: name.to_string(), at, value });
            }
        }
    }
}
