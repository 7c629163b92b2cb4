//! Options that a table knows, and those that are unused.

use tesson_core::{Name, OptionKind, OptionTable, Registry, Section, Value, nearest};

use super::Ignored;

/// The entries of a section that its table knows; the others are added to `ignored` by their paths.
pub(super) fn known(
    section: &Section,
    table: &'static OptionTable,
    registry: &Registry,
    path: &str,
    ignored: &mut Vec<Ignored>,
) -> Section {
    // A section around streams may hold what they do not say.
    let streams = table.0.iter().find_map(|spec| match spec.kind {
        OptionKind::Streams(table) => Some(table),
        _ => None,
    });
    let mut kept = Section::default();
    for (name, value) in &section.0 {
        let path = format!("{path}.{name}");
        let kind = table.find(name).map(|spec| spec.kind);
        let value = match kind {
            Some(OptionKind::Unused) => None,
            Some(OptionKind::Sections(table)) => Some(entries(value, table, false, registry, &path, ignored)),
            Some(OptionKind::Streams(table)) => Some(entries(value, table, true, registry, &path, ignored)),
            Some(OptionKind::Transforms) => Some(transforms(value, registry, &path, ignored)),
            Some(_) => Some(value.clone()),
            None => streams.and_then(|t| t.find(name)).map(|_| value.clone()),
        };
        match value {
            Some(value) => kept.push(name.clone(), value),
            None => {
                ignored.push(Ignored { path, near: nearest(name, table.names()).filter(|_| kind.is_none()) })
            }
        }
    }
    kept
}

/// A section of sections that have one table. With `plain`, what one does not say may stand beside them.
fn entries(
    value: &Value,
    table: &'static OptionTable,
    plain: bool,
    registry: &Registry,
    path: &str,
    ignored: &mut Vec<Ignored>,
) -> Value {
    let Value::Section(section) = value else { return value.clone() };
    let mut kept = Section::default();
    for (name, value) in &section.0 {
        let path = format!("{path}.{name}");
        match value {
            Value::Section(inner) => {
                kept.push(name.clone(), Value::Section(known(inner, table, registry, &path, ignored)));
            }
            _ if plain && table.find(name).is_none() => {
                ignored.push(Ignored { path, near: nearest(name, table.names()) });
            }
            other => kept.push(name.clone(), other.clone()),
        }
    }
    Value::Section(kept)
}

fn transforms(value: &Value, registry: &Registry, path: &str, ignored: &mut Vec<Ignored>) -> Value {
    let items = match value {
        Value::List(items) => items.as_slice(),
        one @ Value::Section(_) => std::slice::from_ref(one),
        other => return other.clone(),
    };
    let kept = items.iter().enumerate().map(|(i, item)| match item {
        Value::Section(section) => {
            Value::Section(typed(section, &format!("{path}[{i}]"), ignored, registry, |name| {
                Some(registry.find_transform(name, "").ok()?.options)
            }))
        }
        other => other.clone(),
    });
    Value::List(kept.collect())
}

/// The known entries of a section that says its own type. One of an unknown type is left for others to refuse.
pub(super) fn typed(
    section: &Section,
    path: &str,
    ignored: &mut Vec<Ignored>,
    registry: &Registry,
    table: impl Fn(&str) -> Option<&'static OptionTable>,
) -> Section {
    let kind = section.entry("type");
    let Some((name, Value::Text(kind))) = kind else { return section.clone() };
    let Some(table) = table(kind) else { return section.clone() };
    let own = |name: &Name| !["type", "module"].iter().any(|n| n.eq_ignore_ascii_case(name));
    let options = Section(section.0.iter().filter(|(name, _)| own(name)).cloned().collect());
    let mut kept = known(&options, table, registry, path, ignored);
    kept.0.insert(0, (Name::at("type", name.span().cloned()), Value::Text(kind.clone())));
    kept
}
