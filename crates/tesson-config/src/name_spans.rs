//! Where the names of a tree stand in the text that it was parsed from, for parsers that do not say so.

use std::collections::BTreeMap;
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
        let lines: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let file: Arc<str> = file.into();
        let place = |path: &str| {
            let offset = *self.0.get(path)?;
            let line = lines.partition_point(|&start| start <= offset);
            let column = text.get(lines[line - 1]..offset)?.chars().count() + 1;
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            Some(ConfigSpan { file: file.clone(), line: number(line), column: number(column) })
        };
        in_section(tree, "", &place);
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
