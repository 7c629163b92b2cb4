//! Which records are readers: those called `reader` or `cvReader`, at any depth.

use crate::TextFault;
use tesson_core::{ConfigSpan, Name, Section, Value, nearest};

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
    /// True if it is a trainer's second reader.
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

/// The error of a tree without a reader: the section that was probably meant to be one, with its span.
pub(crate) fn without_reader(tree: &Section) -> (Option<ConfigSpan>, TextFault) {
    if tree.0.is_empty() {
        return (None, TextFault::Empty);
    }
    let place = |name: &Name| name.span().cloned();
    if let Some((name, _)) = tree.entry("deserializers").or(tree.entry("readerType")) {
        return (place(name), TextFault::OutsideOfReader { name: name.to_string() });
    }
    if let Some(name) = meant(tree) {
        return (place(name), TextFault::LikeReader { name: name.to_string() });
    }
    // Data that were given for a configuration are one name a line, of any length.
    let is_name = |name: &str| {
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) && name.len() <= 64
    };
    let names: Vec<&str> = tree.0.iter().take(5).map(|(name, _)| name.as_str()).collect();
    if names.iter().all(|name| is_name(name)) {
        (None, TextFault::NoReader { there: names.join(", ") })
    } else {
        (None, TextFault::NoConfiguration)
    }
}

/// The section that looks like a reader: by its name, or by what it holds.
fn meant(section: &Section) -> Option<&Name> {
    section.0.iter().find_map(|(name, value)| {
        let Value::Section(inner) = value else { return None };
        let is_like = nearest(name, ["reader", "cvReader"]).is_some()
            || ["deserializers", "readerType"].iter().any(|option| inner.get(option).is_some());
        if is_like { Some(name) } else { meant(inner) }
    })
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

/// True if a section of this name is a reader.
pub(crate) fn is_reader(name: &str) -> bool {
    ["reader", "cvReader"].iter().any(|n| n.eq_ignore_ascii_case(name))
}
