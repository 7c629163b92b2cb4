//! Which records are readers: those called `reader` or `cvReader`, at any depth.

use tesson_core::{Name, Section, Value};

/// A reader's section, and the sections around it.
#[derive(Clone, Debug)]
pub struct Found<'t> {
    /// The names on the way there: `Train/reader`.
    pub path: String,
    /// The sections around it, the outermost first.
    pub outer: Vec<&'t Section>,
    /// The section.
    pub section: &'t Section,
}

impl Found<'_> {
    /// Whether it is a trainer's second reader.
    pub(super) fn validates(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.eq_ignore_ascii_case("cvReader")
    }
}

/// The readers of a configuration, in the order they are written in. There is none within another.
pub fn find(tree: &Section) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    within(tree, "", &mut Vec::new(), &mut found);
    found
}

fn within<'t>(section: &'t Section, path: &str, outer: &mut Vec<&'t Section>, found: &mut Vec<Found<'t>>) {
    outer.push(section);
    for (name, value) in &section.0 {
        let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
        match value {
            Value::Section(section) if is_reader(name) => {
                found.push(Found { path, outer: outer.clone(), section });
            }
            Value::Section(section) => within(section, &path, outer, found),
            Value::List(items) => in_list(items, &path, outer, found),
            _ => {}
        }
    }
    outer.pop();
}

fn in_list<'t>(items: &'t [Value], path: &str, outer: &mut Vec<&'t Section>, found: &mut Vec<Found<'t>>) {
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}[{i}]");
        match item {
            Value::Section(section) => within(section, &path, outer, found),
            Value::List(items) => in_list(items, &path, outer, found),
            _ => {}
        }
    }
}

fn is_reader(name: &Name) -> bool {
    ["reader", "cvReader"].iter().any(|n| n.eq_ignore_ascii_case(name))
}
