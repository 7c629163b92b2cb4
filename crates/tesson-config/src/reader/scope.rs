//! Where the options of a reader are looked up (spec/brainscript.md §7): its section, then every section around it,
//! outwards.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tesson_core::{Name, OptionKind, OptionSpec, OptionTable, Section, Value};

use super::{Found, Ignored};

/// A section and those around it. It remembers which of the section's own entries have been read.
pub(super) struct Scope<'t> {
    pub(super) own: &'t Section,
    /// The innermost first.
    outer: Vec<&'t Section>,
    read: RefCell<BTreeSet<String>>,
}

impl<'t> Scope<'t> {
    pub(super) fn new(found: &Found<'t>) -> Scope<'t> {
        let outer = found.outer.iter().rev().copied().collect();
        Scope { own: found.section, outer, read: RefCell::default() }
    }

    /// The scope of a section within this one.
    pub(super) fn inner(&self, section: &'t Section) -> Scope<'t> {
        let outer = std::iter::once(self.own).chain(self.outer.iter().copied()).collect();
        Scope { own: section, outer, read: RefCell::default() }
    }

    /// The sections around this one, the innermost first.
    pub(super) fn around(&self) -> impl Iterator<Item = &'t Section> + '_ {
        self.outer.iter().copied()
    }

    /// The value of an option, given here or around; `default` and the empty text count as not given.
    pub(super) fn find(&self, spec: &OptionSpec) -> Option<(&'t Name, &'t Value)> {
        spec.names().for_each(|name| self.know(name));
        let levels = std::iter::once(self.own).chain(self.outer.iter().copied());
        let mut given = levels.flat_map(|level| spec.names().find_map(|name| level.entry(name)));
        given.find(|(_, value)| is_given(value, spec.kind == OptionKind::Bool))
    }

    /// The text given for a name that no table holds.
    pub(super) fn find_text(&self, name: &str) -> Option<&'t str> {
        self.know(name);
        let mut levels = std::iter::once(self.own).chain(self.outer.iter().copied());
        levels.find_map(|level| match level.get(name) {
            Some(Value::Text(text)) if !text.is_empty() && text != "default" => Some(text.as_str()),
            _ => None,
        })
    }

    /// An entry of the section itself.
    pub(super) fn own(&self, name: &str) -> Option<(&'t Name, &'t Value)> {
        self.know(name);
        self.own.entry(name).filter(|(_, value)| is_given(value, false))
    }

    /// Counts an entry as read.
    pub(super) fn know(&self, name: &str) {
        self.read.borrow_mut().insert(name.to_ascii_lowercase());
    }

    /// The section's own entries that have not been read.
    pub(super) fn unread(&self) -> impl Iterator<Item = &'t Name> + '_ {
        let read = self.read.borrow();
        let unread = self.own.0.iter().map(|(name, _)| name);
        unread.filter(|name| !read.contains(&name.to_ascii_lowercase())).collect::<Vec<_>>().into_iter()
    }

    /// The given options of a table, under their first names.
    pub(super) fn given(&self, table: &OptionTable, wanted: impl Fn(&str) -> bool) -> Section {
        let mut given = Section::default();
        self.copy(table, wanted, &mut given);
        given
    }

    /// The unused options of the section, which stands at this name, as parts of the reader.
    pub(super) fn ignored(&self, section: &str) -> impl Iterator<Item = Ignored> {
        self.unread().map(move |name| Ignored { path: format!("{section}.{name}"), near: None })
    }

    /// Copies what is given for options of a table into a section, under their first names. `wanted` says for which.
    pub(super) fn copy(&self, table: &OptionTable, wanted: impl Fn(&str) -> bool, into: &mut Section) {
        for spec in table.0.iter().filter(|spec| spec.kind != OptionKind::Unused && wanted(spec.name)) {
            if let Some((name, value)) = self.find(spec) {
                into.push(Name::at(spec.name, name.span().cloned()), value.clone());
            }
        }
    }
}

fn is_given(value: &Value, empty_is_false: bool) -> bool {
    !matches!(value, Value::Text(t) if t == "default" || (t.is_empty() && !empty_is_false))
}
