//! Where the names of a tree stand in the text that it was parsed from, for parsers that do not say so.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tesson_core::{ConfigSpan, Name, Section, Value};

/// Bytes before names, by the names' paths: `deserializers[0].input.x`. Of names that a text has twice the last one.
#[derive(Debug, Default)]
pub(crate) struct Offsets(BTreeMap<String, usize>);

impl Offsets {
    pub(crate) fn insert(&mut self, path: String, offset: usize) {
        self.0.insert(path, offset);
    }

    /// Gives the names of a tree their places in a text, which `file` names.
    pub(crate) fn put(&self, tree: &mut Section, text: &str, file: &str) {
        let file: Arc<str> = file.into();
        let places = self.places(text);
        let place = |path: &str| {
            let &(line, column) = places.get(self.0.get(path)?)?;
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            Some(ConfigSpan { file: file.clone(), line: number(line), column: number(column) })
        };
        in_section(tree, "", &place);
    }

    /// Lines and columns, from 1, of all offsets: found in one pass, as thousands of names may stand in one line.
    fn places(&self, text: &str) -> HashMap<usize, (usize, usize)> {
        let mut offsets: Vec<usize> = self.0.values().copied().collect();
        offsets.sort_unstable();
        let (mut at, mut line, mut column) = (0, 1, 1);
        let mut places = HashMap::with_capacity(offsets.len());
        for offset in offsets {
            let Some(passed) = text.get(at..offset) else { continue };
            if let Some(feed) = passed.rfind('\n') {
                line += passed.matches('\n').count();
                column = 1 + passed[feed + 1..].chars().count();
            } else {
                column += passed.chars().count();
            }
            at = offset;
            places.insert(offset, (line, column));
        }
        places
    }
}

/// The path of a name in the section at a path.
pub(crate) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn in_section(section: &mut Section, path: &str, place: &dyn Fn(&str) -> Option<ConfigSpan>) {
    for (name, value) in &mut section.0 {
        let path = joined(path, name);
        *name = Name::at(name.as_str(), place(&path));
        in_value(value, &path, place);
    }
}

fn in_value(value: &mut Value, path: &str, place: &dyn Fn(&str) -> Option<ConfigSpan>) {
    match value {
        Value::Section(section) => in_section(section, path, place),
        Value::List(items) => {
            items.iter_mut().enumerate().for_each(|(i, item)| in_value(item, &format!("{path}[{i}]"), place));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_have_lines_and_columns_in_characters() {
        let text = "é = 1, ü = 2\nab\n\n  c";
        let mut offsets = Offsets::default();
        for (name, expected) in [("é", (1, 1)), ("ü", (1, 8)), ("b", (2, 2)), ("c", (4, 3))] {
            offsets.insert(name.into(), text.find(name).unwrap());
            let found = offsets.places(text)[&text.find(name).unwrap()];
            assert_eq!(found, expected, "{name}");
        }
        // One within a character has no place, and does not keep others from theirs.
        offsets.insert("within".into(), 1);
        assert_eq!(offsets.places(text).len(), 4);
    }
}
